"""A neural network that discovers column addition on a grid, and the tools to train, measure and see it.

Start with `gridsum.store.load` (a model by name), `gridsum.solving.solve` (its answers to sums) and
`gridsum.solving.trace_expression` (all that happens inside); `gridsum.training.loop.train` and
`gridsum.evaluation.runner.evaluate` are what the command line calls.
"""
