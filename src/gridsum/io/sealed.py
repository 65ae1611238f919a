"""Tensors in a safetensors file, which cannot run code, with what it is and a checksum of all it holds. That finds
damage; against malice stand the checks of whoever builds something from it."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

# safetensors writes several entries of metadata in no fixed order; with one, equal content is an equal file.
_ABOUT = "gridsum"
_CHECKSUM = "sha256"


class SealError(ValueError):
    """A file that is not what was written; the message says in which way."""


def seal(tensors: Mapping[str, Tensor], about: dict[str, Any]) -> bytes:
    """The content of a file that holds the tensors, and what is said about them."""
    held = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    about = json.loads(json.dumps(about))  # as it will be read
    return save(held, {_ABOUT: json.dumps(about | {_CHECKSUM: _checksum(held, about)})})


def about_file(path: Path, form: str | None = None) -> dict[str, Any]:
    """What a file, of this format if one is named, says of its tensors, without reading them."""
    return _open(path, form, whole=False)[1]


def checksum_of(path: Path) -> str:
    """What a file says that its checksum is; whether that is so, `unseal` looks."""
    return str(about_file(path).get(_CHECKSUM))


def unseal(path: Path, form: str) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file of this format and what it says of them, if both are as they were written."""
    held, about = _open(path, form, whole=True)
    if about.pop(_CHECKSUM, None) != _checksum(held, about):
        raise SealError("its content does not fit its checksum")
    return held, about


def difference(found: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> str | None:
    """In which tensor two sets of them differ by name, shape or type, in words; None where they are alike."""

    def told(tensor: Tensor | None) -> str:
        return "absent" if tensor is None else f"{list(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"

    for name in sorted(found.keys() | expected.keys()):
        is_now, should_be = (told(tensors.get(name)) for tensors in (found, expected))
        if is_now != should_be:
            return f"{name} is {is_now} but should be {should_be}"
    return None


def _open(path: Path, form: str | None, whole: bool) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors of a file, if the whole is wanted, and what it says of them."""
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            held = {name: file.get_tensor(name) for name in file.keys() if whole}  # noqa: SIM118
    except FileNotFoundError:
        raise
    except (SafetensorError, OSError, ValueError, RuntimeError) as error:
        raise SealError(f"it is not a whole safetensors file: {error}") from None
    try:
        about = json.loads(metadata.get(_ABOUT, "null"))
    except (ValueError, RecursionError) as error:
        raise SealError(f"what it says of itself cannot be read: {error}") from None
    if not isinstance(about, dict):
        raise SealError("it is a safetensors file, but not one that gridsum wrote")
    if form is not None and about.get("format") != form:
        raise SealError(f"its format is {about.get('format')!r}, not {form!r}")
    return held, about


def _checksum(tensors: Mapping[str, Tensor], about: dict[str, Any]) -> str:
    total = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        total.update(json.dumps([name, str(tensor.dtype), list(tensor.shape)]).encode())
        total.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return total.hexdigest()
