"""SplitMix64 on Python integers, as its authors give it (Steele, Lea and Flood, 2014)."""

from collections.abc import Iterator

GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64


def mix(z: int) -> int:
    z %= _WORD
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % _WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % _WORD
    return z ^ (z >> 31)


def outputs(state: int) -> Iterator[int]:
    """The generator's numbers, as unsigned 64-bit integers."""
    while True:
        state = (state + GOLDEN) % _WORD
        yield mix(state)
