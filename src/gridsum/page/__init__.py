"""The page: plain files that tell the story of the proved rule and run it, in any browser, without a server."""
