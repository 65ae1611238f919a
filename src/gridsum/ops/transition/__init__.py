"""The part of a step that looks at one cell at a time, as Triton kernels; its definition is `gridsum.model.paper`'s."""
