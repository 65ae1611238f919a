"""How the operations of the networks are computed, and what they cost."""
