"""How the operations of the networks are computed, and what they cost.

Each operation stands in a file or folder of its own: its plain definition, which is the paper's equation, and beside it
the form that is fast on a CPU and the one of Triton kernels. One function picks among them (`gridsum.ops.forms`), and
the tests hold every fast form against the plain one.
"""
