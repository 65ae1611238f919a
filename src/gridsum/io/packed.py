"""Weights as the wheel carries them: plain safetensors files, packed with xz, a tenth smaller than a zip makes them.

NAME.safetensors      in a checkout, and wherever gridsum writes weights
NAME.safetensors.xz   in a wheel (hatch_build.py packs them); `xz -d` makes the plain file of it
"""

import lzma
from functools import lru_cache
from pathlib import Path

SUFFIX = ".xz"
# Every fourth byte of float32 numbers is alike: that position and the bits before tell what comes.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 2, "lp": 2, "pb": 2}]
# Far more than any model; a small file may unpack to any size.
_MOST_BYTES = 2**28


def pack(content: bytes) -> bytes:
    return lzma.compress(content, filters=_FILTERS)


def plain_or_packed(plain: Path) -> Path:
    """The file, or the packed one in its place."""
    packed = plain.with_name(plain.name + SUFFIX)
    return packed if packed.is_file() and not plain.is_file() else plain


def content(path: Path) -> bytes:
    """What a weights file holds, packed or not."""
    return unpacked(path) if path.suffix == SUFFIX else path.read_bytes()


def unpacked(path: Path) -> bytes:
    """The plain content of a packed file; a file that is none is a ValueError."""
    return _unpacked(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=1)  # a file is asked what it is before it is read
def _unpacked(path: Path, _: int) -> bytes:
    unpacking = lzma.LZMADecompressor()
    try:
        plain = unpacking.decompress(path.read_bytes(), _MOST_BYTES)
    except lzma.LZMAError as error:
        raise ValueError(f"it is not a whole packed file: {error}") from None
    if not unpacking.eof:
        raise ValueError("it is not a whole packed file")
    return plain
