"""What training minimises. `loss` is the paper's objective of what a network reads."""

from gridsum.objective.paper import loss, sampled_success

__all__ = ["loss", "sampled_success"]
