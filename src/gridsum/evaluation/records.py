"""What an evaluation leaves behind: one line of JSON for each model and suite, with its counts.

Tables are made of records alone, so a printed number can be traced to the seed, version and commit it is of.
"""

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gridsum.io.disk import LineError, append_lines, read_objects

EXTERNAL = "external"
"""The variant of what is not a network of ours."""
NOTHING = "–"
"""Stands for what only some models have: halting, placement, grids."""


class RecordError(ValueError):
    """A record that cannot be used; the message says where it stands and what to mend."""


class OnGrid(NamedTuple):
    """What was right on one grid, of problems that follow each other in the suite."""

    rows: int
    columns: int
    problems: int
    sequences_right: int
    chars_right: int
    chars_valid: int
    right_right: int
    """Over problems, the sum of right characters squared; of right times valid; of valid squared."""
    right_valid: int
    valid_valid: int


@dataclass(frozen=True)
class Record:
    model: str
    variant: str
    seed: int | None
    """The training seed; None for what was not trained here."""
    suite: str
    halting: str
    placement: str
    samples: int
    chars_right: int
    chars_valid: int
    sequences_right: int
    steps_mean: float | None
    steps_max: int | None
    evaluation_seed: int
    version: str
    commit: str | None
    answers: tuple[str, ...] | None = None
    """What was answered, for the worked examples only."""
    grids: str = NOTHING
    """Which grids it is of (`gridsum.evaluation.evaluate.Grids`), where there are grids to choose."""
    batches: tuple[OnGrid, ...] | None = None
    """The counts grid by grid; None where they were not kept."""
    given: str | None = None
    """What a baseline was given beside results; None for ours. So is all that follows."""
    parameters: int | None = None
    problems_seen: int | None = None
    """In training."""
    training_seconds: float | None = None
    """Of the whole fleet's training, shared out among its runs."""

    def __post_init__(self) -> None:
        if not 0 <= self.sequences_right <= self.samples or self.samples == 0:
            raise RecordError(f"sequences_right {self.sequences_right} does not fit samples {self.samples}")
        if not 0 <= self.chars_right <= self.chars_valid or self.chars_valid == 0:
            raise RecordError(f"chars_right {self.chars_right} does not fit chars_valid {self.chars_valid}")
        if self.steps_mean is not None and not math.isfinite(self.steps_mean):
            raise RecordError("steps_mean must be a finite number or null")
        for name in ("chars_right", "chars_valid", "sequences_right"):
            if self.batches is not None and sum(getattr(one, name) for one in self.batches) != getattr(self, name):
                raise RecordError(f"{name} {getattr(self, name)} is not the sum of the batches")

    @property
    def way(self) -> tuple[str, str]:
        """How it was measured: on which grids, and by which placement."""
        return self.grids, self.placement

    @property
    def char(self) -> float:
        """Character accuracy."""
        return self.chars_right / self.chars_valid

    @property
    def seq(self) -> float:
        """Sequence accuracy."""
        return self.sequences_right / self.samples


def as_line(record: Record) -> str:
    """A record as a line of a file; what is said of baselines is left out for all others."""
    data = dataclasses.asdict(record).items()
    return json.dumps({name: value for name, value in data if value is not None or name not in _OF_BASELINES}) + "\n"


_OF_BASELINES = ("given", "parameters", "problems_seen", "training_seconds")


def append(path: str | Path, records: Iterable[Record]) -> None:
    """Add the records to the end of a file of records, all of them or, if writing fails, none. What an interrupted
    writer left of a record is removed, so a file that somebody else has named is looked at before, by `check_file`."""
    lines = "".join(map(as_line, records)).encode()
    if lines:
        append_lines(Path(path), lines)


def check_file(path: str | Path) -> None:
    """Refuse to add to a file that does not begin with a record: it is not ours, and its end is not ours to mend."""
    path = Path(path)
    if not path.is_file() or not path.read_bytes().strip(b"\0 \n"):
        return  # yet to be made, empty, or a pipe
    with suppress(LineError, RecordError):
        if next(_records(path), None) is not None:
            return
    raise RecordError(f"{path} does not begin with a record, so none is added to it; name another file")


def read(paths: Iterable[str | Path]) -> list[Record]:
    """The records of all files, in the order they were written, but for what an interrupted writer left of a last."""
    return [record for path in paths for record in _records(Path(path))]


def _records(path: Path) -> Iterator[Record]:
    for number, data in enumerate(read_objects(path), 1):
        try:
            if data.get("batches") is not None:
                data["batches"] = tuple(OnGrid(*batch) for batch in data["batches"])
            if data.get("answers") is not None:
                data["answers"] = tuple(data["answers"])
            record = Record(**data)
        except (TypeError, RecordError) as error:
            raise RecordError(
                f"{path}, line {number}: this is not a record ({error}); delete the line and evaluate that suite again"
            ) from None
        yield record
