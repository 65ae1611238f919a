"""The numbers that the paper prints (arXiv 2207.02536), as data, by variant and suite."""

from typing import Any, NamedTuple


class Score(NamedTuple):
    """Accuracy by character and by sequence: numbers, or the `Spread` that many models came to."""

    char: Any
    seq: Any


class Spread(NamedTuple):
    """Over ten seeds."""

    mean: float
    sd: float
    best: float


Scores = dict[str, dict[str, Score]]


def _table(text: str) -> Scores:
    """A header of suites, then a line for each variant: of each suite two numbers, or two spreads."""
    header, *lines = (line.split() for line in text.strip().splitlines())
    found: Scores = {}
    for variant, *words in lines:
        size = len(words) // len(header) // 2
        parts = [[*map(float, words[at : at + size])] for at in range(0, len(words), size)]
        each = iter([Spread(*part) if size > 1 else part[0] for part in parts])
        found[variant] = {suite: Score(char, seq) for suite, char, seq in zip(header, each, each, strict=True)}
    return found


COMPARISON = _table("""
          2x15      2x100      2x602      [1,4]x[1,10]  [1,5]x[1,5]  [5,6]x[1,10]  [7,10]x[1,10]
base      1.0 1.0   0.99 0.99  0.98 0.0   1.0 1.0       1.0 1.0      0.99 0.93     0.72 0.25
noGroups  1.0 1.0   0.99 0.99  0.99 0.99  0.99 0.99     0.99 0.99    0.98 0.86     0.54 0.1
""")
"""Table III: the best models, after overtraining."""

LONG_DIGITS = _table("""
          2x[1,1000]  2x1000     2x[1,2000]  2x2000     2x[1,4000]  2x4000
noGroups  0.99 0.99   0.99 0.99  0.99 0.99   0.99 0.81  0.99 0.58   0.86 0.0
""")
"""Table IV, left."""

LONG_TERMS = _table("""
      5x5      6x5        7x5        8x5        9x5        10x5
base  1.0 1.0  0.99 0.98  0.98 0.86  0.84 0.40  0.66 0.09  0.48 0.03
""")
"""Table IV, right."""

EXAMPLES: dict[str, str] = {
    "11134+1+1+1+1+1=": "139",
    "1+1+1+1+1+11134=": "11139",
    "1+1+1+1+1+1+1+11134=": "11140",
    "99999+1=": "100000",
    "999999999+1=": "999000000",
    "999990000+9999+1=": "990000000",
    "1+1+1+1+1+1=": "6",
    "1+1+1+1+1+1+1=": "6",
}
"""Table V: what the paper's network answered; three of the eight are right."""

ABLATION = _table("""
           2x602                               [5,6]x[1,10]                       [7,10]x[1,10]
base       0.23 0.27 0.98  0.00 0.00 0.00    0.93 0.09 0.98  0.72 0.24 0.90    0.51 0.14 0.66  0.09 0.05 0.16
noGroups   0.99 0.00 0.99  0.63 0.34 0.93    0.74 0.26 0.96  0.40 0.27 0.75    0.29 0.13 0.51  0.02 0.02 0.06
SASA       0.70 0.39 0.99  0.20 0.33 0.95    0.81 0.29 0.98  0.60 0.30 0.85    0.45 0.17 0.64  0.05 0.04 0.12
fixedTime  0.44 0.40 0.99  0.12 0.25 0.70    0.76 0.16 0.95  0.36 0.27 0.74    0.27 0.11 0.42  0.01 0.01 0.04
ponderReg  0.19 0.14 0.52  0.00 0.00 0.00    0.93 0.06 0.99  0.69 0.21 0.90    0.54 0.16 0.72  0.09 0.08 0.21
""")
"""Table VI: mean, sd and best of the characters, then of the sequences, over ten seeds after standard training."""
