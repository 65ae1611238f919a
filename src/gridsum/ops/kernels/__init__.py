"""Triton kernels for a GPU: the same functions as their plain definitions, which the tests hold them against."""
