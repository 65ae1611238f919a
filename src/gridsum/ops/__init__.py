"""How the operations of the networks are computed, and what they cost.

Each stands in a folder of its own: the plain definition, which is the paper's equation, beside it the form that is fast
on a CPU and that of Triton kernels. Tests hold these against the plain one; `gridsum.ops.forms` picks.
"""
