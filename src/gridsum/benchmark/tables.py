"""What was measured, as tables."""

from collections.abc import Sequence
from typing import Any

from gridsum.benchmark.limits import limits
from gridsum.benchmark.measures import series
from gridsum.evaluation.rendering import Table
from gridsum.evaluation.tables import MISSING

Records = Sequence[dict[str, Any]]
_LONG = 1.0
"""Seconds from which on a time has no more decimals than it needs."""


def tables(records: Records, device: str) -> list[Table]:
    """Of profiles, of training, of more digits and of more terms: those that there are records for."""
    found = [_profile(record, device) for record in records if record["measure"] == "profile"]
    chosen = [record for record in records if record["measure"] == "training"]
    if chosen:
        found.append(_training(chosen, device))
    for varied, solved in series(records).items():
        if solved:
            unique = {record[varied]: record for record in solved}
            found.append(_solving(list(unique.values()), varied, _remarks(records, varied), device))
    return found


def _profile(record: dict[str, Any], device: str) -> Table:
    rows = []
    for part in record["parts"]:
        least = limits(record, part)
        bound = max(least, key=lambda name: least[name])
        rows.append(
            (
                part["part"],
                f"{100 * part['share']:.1f} %",
                f"{1e3 * part['seconds']:.2f}",
                f"{part['calls']:,.0f}",
                f"{part['flops'] / 1e9:.2f}",
                f"{part['bytes'] / 1e9:.3f}",
                *(f"{100 * seconds / part['seconds']:.0f} %" for seconds in least.values()),
                bound if least[bound] else MISSING,
            )
        )
    ratio = record["kernel_ms_per_step"] and record["kernel_ms_per_step"] / record["ms_per_step"]
    side = "" if ratio is None else f" Its kernels, one after the other, take {ratio:.2f} of that."
    return Table(
        f"Where the time of a training step of {record['variant']} goes",
        f"{device}; {record['precision']}; {record['runs']} runs. {record['ms_per_step']:.1f} ms a step by the "
        f"clock, of {record['recurrent_steps_computed']:.1f} recurrent steps.{side} The times of the parts are of "
        f"{'kernels' if ratio else 'operations, each the fastest of three'}. Calls: "
        f"{'kernels' if ratio else 'operations of torch'}. GFLOP: of products. GB: read and written, if no cache held "
        "any. Then the least that the part takes by each limit of this machine, as a share of its time: of arithmetic, "
        f"{record['product_rate'] / 1e9:,.0f} GFLOP/s in a large product; of memory, {record['copy_rate'] / 1e9:,.0f} "
        f"GB/s in a copy; of launches, {1e6 * record['call_seconds']:.1f} µs a call. The highest is what bounds it.",
        ("part", "share", "ms", "calls", "GFLOP", "GB", "arithmetic", "memory", "launches", "bound by"),
        tuple(rows),
    )


def _training(records: Records, device: str) -> Table:
    rows = [
        (
            record["variant"],
            str(record["runs"]),
            f"{record['ms_per_step']:.1f}",
            f"{record['ms_per_step_and_run']:.2f}",
            f"{record['recurrent_steps_computed']:.0f}",
            _gigabytes(record["peak_gigabytes"]),
            f"{record['operations_per_step'] / 1e12:.2f}",
            f"{100 * record['share_of_product_rate']:.1f} %",
            f"{record['start_up_seconds']:.0f}",
        )
        for record in records
    ]
    weights = " and ".join(sorted({record["weights"] for record in records}))
    precisions = ", ".join(dict.fromkeys(record["precision"] for record in records))
    return Table(
        "A training step of a fleet",
        f"{device}; {precisions}; {weights} weights. The median step. Recurrent steps: computed, the mean over the two "
        "groups. TFLOP: of products and local attention, forward and backward, for every step computed on the cells of "
        "an average grid. Share: of the rate of a large product in that precision, measured there. Start-up: the first "
        "step, with all that is compiled for it.",
        ("variant", "runs", "ms a step", "a run", "recurrent steps", "GB", "TFLOP", "share", "start-up, s"),
        _without_repeats(rows),
    )


def _without_repeats(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """A variant's name once, in front of its first line."""
    before = [""] + [row[0] for row in rows[:-1]]
    return tuple(("" if row[0] == last else row[0], *row[1:]) for row, last in zip(rows, before, strict=True))


def _solving(records: Records, varied: str, remarks: str, device: str) -> Table:
    rows = [
        (
            f"{record['terms']} × {record['digits']:,}",
            _seconds(record["seconds"]),
            str(record["steps"]),
            f"{1e3 * record['seconds_per_step']:.2f}",
            "yes" if record["right"] else "no",
        )
        for record in records
    ]
    models = ", ".join(dict.fromkeys(record["model"] for record in records))
    return Table(
        f"Solving more {varied}",
        f"{device}; {models}. One sum, the faster of two times, start-up apart.{remarks}",
        ("terms × digits", "seconds", "steps", "ms a step", "right"),
        tuple(rows),
    )


def _remarks(records: Records, varied: str) -> str:
    """The exponent that was fitted; beside the digits also how many short sums are solved a second."""
    ending = f"against {varied}"
    found = [
        f" A step's time grows as {varied} to the power of {record['value']:.2f}, fitted."
        for record in records
        if record["measure"] == "exponent" and record["of"].endswith(ending)
    ]
    if varied == "digits":
        found += [
            f" Of {record['problems']:,} sums of {record['terms']} × {record['digits']} digits together, "
            f"{record['problems_per_second']:,.0f} a second."
            for record in records
            if record["measure"] == "throughput"
        ]
    return "".join(found)


def _gigabytes(value: float | None) -> str:
    return MISSING if value is None else f"{value:.1f}"


def _seconds(value: float) -> str:
    return f"{value:.1f}" if value >= _LONG else f"{value:.3f}"
