"""What training minimises. `loss` is the paper's objective of what a network reads."""

from gridsum.objective.paper import loss

__all__ = ["loss"]
