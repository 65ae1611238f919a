"""Sizes of a network so small that a training run of it takes a moment."""

SMALLEST = {
    "training.batch": 4,
    "model.width": 16,
    "model.groups": 4,
    "model.heads": 16,
    "model.step_hidden": 16,
    "model.placement_hidden": 16,
    "model.context_heads": 4,
    "model.context_hidden": 16,
    "model.halting_hidden": 16,
}
