"""The page that shows the network at work, and the API behind it (FastAPI; the extra `serve`)."""
