"""The baselines that ours is compared with, each one file; what they share with ours is not written again here."""
