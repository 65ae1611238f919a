"""What training minimises: the paper's objective of what a network reads, and that of `exact`."""
