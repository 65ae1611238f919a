"""Which device to compute on."""

import torch


def pick_device(device: str) -> torch.device:
    """The device that `auto`, `cpu` or `cuda[:N]` names."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ValueError(f"there is no device {device!r}; use auto, cpu or cuda") from None
    if chosen.type not in ("cpu", "cuda"):
        raise ValueError(f"gridsum runs on cpu and cuda, not on {device!r}")
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("no CUDA device can be used here; use --device cpu")
    return chosen
