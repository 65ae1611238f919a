"""The results page: Markdown made of a campaign's records and logs, and of nothing else."""

import os
import statistics
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from gridsum.evaluation.records import Record
from gridsum.evaluation.verdicts import Standing
from gridsum.reproduction import accounts, comparison, orderings, readings
from gridsum.reproduction.campaign import FOLLOWED, OVERTRAINED, standard_name
from gridsum.reproduction.comparison import HEADLINE
from gridsum.reproduction.results import Results, Trained
from gridsum.variants import PAPER_VARIANTS


def write_page(results: Results, page: Path, command: str, figures: Iterable[tuple[Path, str]] = ()) -> str:
    """The page that will stand at `page`; `figures` are files with what they show."""

    def link(path: Path) -> str:
        return Path(os.path.relpath(path, page.parent)).as_posix()

    standard = [record for trained in results.variants for record in trained.reported]
    parts = [
        "# Results\n",
        f"Made by `{command}` from the records and logs in [{results.folder.name}]({link(results.folder)}); nothing on "
        "this page is written by hand. Ours stand beside the numbers of the paper (arXiv 2207.02536).\n",
        _brief(results),
        _lacking(results),
        *(part for reading in comparison.readings_of_the_best(results) for part in _best(results, reading, link)),
        "## The variants\n",
        "After the standard training, all seeds.\n",
        comparison.table("ablation", standard),
        comparison.mean_standings(results.variants),
        *_variants_as_followed(results),
        "## The paper's orderings\n",
        orderings.as_specified(results),
        orderings.under_readings(results),
        orderings.with_further_seeds(results),
        "## Halting: Explore-Reinforce against KL\n",
        accounts.halting(results),
        "## How runs were chosen\n",
        accounts.selection(results),
        "## Every seed\n",
        accounts.every_seed(results),
        "## What it took\n",
        accounts.cost(results),
        "## Other readings of the paper\n",
        readings.account(results),
        *_pictures(figures, link),
    ]
    return "\n".join(part for part in parts if part)


def _best(results: Results, reading: str | None, link: Callable[[Path], str]) -> list[str]:
    """The best models as specified or under a reading: which they are, Tables III to V, and their standings."""
    best = comparison.best_models(results, reading)
    return [
        *(["## The best models\n"] if reading is None else _introduced(reading)),
        _about_the_best(results, reading),
        _sources(best, link, results),
        *(comparison.table(name, best, reading) for name in ("comparison", "long-digits", "long-terms", "examples")),
        comparison.standings(results, reading),
    ]


def _variants_as_followed(results: Results) -> list[str]:
    """Table VI once more, under the reading that the best models are followed under."""
    variants = readings.variants_under(results, FOLLOWED)
    if not variants:
        return []
    records = [record for trained in variants for record in trained.reported]
    return [
        f"The same under the reading `{FOLLOWED}`, as the published code reads the paper.\n",
        comparison.table("ablation", records, FOLLOWED),
        comparison.mean_standings(variants, FOLLOWED),
    ]


def _introduced(reading: str) -> list[str]:
    return [
        "## The best models, as the published code reads the paper\n",
        f"Trained under the reading `{reading}` (see Other readings of the paper), chosen and trained further as those "
        "above, and measured on grids drawn as in their training.\n",
    ]


def _brief(results: Results) -> str:
    """The page in a few lines."""
    steps = [_steps_of_both(*pair) for pair in accounts.regularisers(results)]
    lines = [
        _standing_of_the_best(results),
        _standing_of_means(results),
        *orderings.in_brief(results),
        f"Recurrent steps during training, under Explore-Reinforce and under KL: {'; '.join(steps)}." if steps else "",
        readings.tally(results),
        readings.digits(results),
    ]
    return "".join(f"- {line}\n" for line in lines if line)


def _standing_of_the_best(results: Results) -> str:
    """How many numbers of Tables III and IV are reached, as specified and under each reading that has best models."""
    single: dict[str | None, list[Standing]] = {
        reading: [cell.comparison.standing for cell in comparison.cells(results, reading)]
        for reading in comparison.readings_of_the_best(results)
    }
    return _told("Tables III and IV, one run", single)


def _standing_of_means(results: Results) -> str:
    """The same of Table VI."""
    variants = {None: results.variants, FOLLOWED: readings.variants_under(results, FOLLOWED)}
    means: dict[str | None, list[Standing]] = {
        reading: [mean.comparison.standing for mean in comparison.means(trained)]
        for reading, trained in variants.items()
    }
    return _told("Table VI, means over seeds", means)


def _told(start: str, standings: Mapping[str | None, list[Standing]]) -> str:
    measured = {reading: found for reading, found in standings.items() if found}
    if not measured:
        return ""
    if set(measured) == {None}:
        return f"{start}: {comparison.tally(measured[None])}"
    told = (
        f"{comparison.counts(found)} (of {len(found)} numbers) "
        + ("as specified" if reading is None else f"under `{reading}`")
        for reading, found in measured.items()
    )
    return f"{start}: {'; '.join(told)}."


def _steps_of_both(explored: Trained, divergence: Trained) -> str:
    means = [statistics.fmean(accounts.mean_steps(trained)) for trained in (explored, divergence)]
    return f"{means[0]:.1f} and {means[1]:.1f} ({explored.name}, {divergence.name})"


def _sources(records: Iterable[Record], link: Callable[[Path], str], results: Results) -> str:
    """Where the numbers stand, and what prints them."""
    names = dict.fromkeys(record.model for record in records)
    files = [link(results.folder / "records" / f"{name}.jsonl") for name in names]
    if not files:
        return ""
    shown = ", ".join(f"[{name}]({file})" for name, file in zip(names, files, strict=True))
    return f"The records: {shown}. `gridsum table comparison --records FILE...` prints the same lines.\n"


def _lacking(results: Results) -> str:
    lacking = accounts.missing(results)
    if not lacking:
        return ""
    return "**Not whole yet.** Missing are:\n\n" + "".join(f"- {what}\n" for what in lacking)


def _about_the_best(results: Results, reading: str | None) -> str:
    lines = []
    for variant in OVERTRAINED:
        name = standard_name(variant, reading)
        chosen = results.chosen(name)
        if not chosen:
            continue
        further = results.overtrained.get(name)
        which = ", ".join(f"seed {seed} (best on {aim})" for aim, seed in chosen.items())
        now = (
            f"trained for {further.config.training.epochs} epochs more at β = {further.config.objective.weight:g}, "
            f"which makes {further.name}"
            if further is not None and further.reported
            else "not overtrained yet, so shown as the standard training left them"
        )
        lines.append(
            f"- {name}: {which}; {now}. Beside the paper's {variant} stands seed {chosen[HEADLINE[variant]]}, the best "
            f"on {HEADLINE[variant]}, which is what the paper shows its {variant} for.\n"
        )
    return (
        "".join(lines)
        or f"No runs of {' or '.join(OVERTRAINED)} have been chosen yet, out of {', '.join(PAPER_VARIANTS)}.\n"
    )


def _pictures(figures: Iterable[tuple[Path, str]], link: Callable[[Path], str]) -> list[str]:
    shown = [f"![{caption}]({link(path)})\n\n{caption}\n" for path, caption in figures]
    return ["## Figures\n", *shown] if shown else []
