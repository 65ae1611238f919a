"""The page of results and its appendices: Markdown made of a reproduction's records and summaries.

What a person has to say about them stands in FOLDER/notes.md, and is put on the page as it is.
"""

import os
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.intervals import Standing
from gridsum.evaluation.records import Record
from gridsum.study import accounts, comparison, orderings, rule
from gridsum.study.reproduction import ON_EVERY_GRID, OVERTRAINED
from gridsum.study.results import Results

NOTES = "notes.md"
APPENDICES = {
    "best-models.md": "the best models: Tables III to V with intervals, every number",
    "variants.md": "the variants: Table VI over all seeds, every mean",
    "orderings.md": "the paper's orderings, every comparison",
    "runs.md": "how runs were chosen, every seed, halting, and what training took",
}
"""By file, in the folder `appendix` beside the page."""
_EVERY_SEED = f"all {len(rule.SEEDS)} seeds that decide the orderings, on every grid size"


def write_pages(
    results: Results, page: Path, command: str, figures: Iterable[tuple[Path, str]] = ()
) -> dict[Path, str]:
    """The page that will stand at `page`, and its appendices; `figures` are files with what they show."""

    def link(path: Path) -> str:
        return Path(os.path.relpath(path, page.parent)).as_posix()

    made = f"Made by `{command}` from the records in [{results.folder.name}]({{}}); nothing here is written by hand.\n"
    appendix = page.parent / "appendix"
    folder_from_there = Path(os.path.relpath(results.folder, appendix)).as_posix()
    parts = {
        "best-models.md": _best(results),
        "variants.md": _variants(results),
        "orderings.md": ["# The paper's orderings\n", orderings.account(results)],
        "runs.md": _runs(results),
    }
    pages = {page: "\n".join(part for part in _summary(results, command, link, figures, appendix) if part)}
    for name, texts in parts.items():
        title, *rest = texts
        pages[appendix / name] = "\n".join([title, made.format(folder_from_there), *(part for part in rest if part)])
    return pages


def _summary(
    results: Results,
    command: str,
    link: Callable[[Path], str],
    figures: Iterable[tuple[Path, str]],
    appendix: Path,
) -> list[str]:
    notes = results.folder / NOTES
    standard = comparison.standard_records(results)
    return [
        "# Results\n",
        f"Made by `{command}` from the records in [{results.folder.name}]({link(results.folder)})"
        + (f"; the words are those of [{NOTES}]({link(notes)})" if notes.exists() else "")
        + ". Ours stand beside the numbers of the paper (arXiv 2207.02536).\n",
        _brief(results),
        _lacking(results),
        notes.read_text() if notes.exists() else "",
        "## Tables III and IV: the best models\n",
        _about_the_best(results),
        comparison.best_in_brief(results),
        "## Table VI: the variants over seeds\n",
        comparison.variants_in_brief(standard),
        "## The paper's orderings\n",
        orderings.in_brief(results),
        *_pictures(figures, link),
        "## Appendices\n",
        "".join(f"- [{what}]({link(appendix / name)})\n" for name, what in APPENDICES.items()),
    ]


def _brief(results: Results) -> str:
    """The page in a few lines."""
    single: list[Standing] = [cell.comparison.standing for cell in comparison.cells(results)]
    standard = comparison.standard_records(results)
    means, over_all = _standings(standard), _standings(orderings.decisive(results))
    inside, measured = comparison.inside_the_papers_spread(standard)
    lines = [
        f"Tables III and IV, one run: {comparison.tally(single)}" if single else "",
        f"Table VI, means over seeds: {comparison.tally(means)}" if means else "",
        f"The same over {_EVERY_SEED}: {comparison.tally(over_all)}" if over_all else "",
        f"Whole results on {comparison.ABLATION_SUITES[1]}: {inside} of {measured} variants lie inside the paper's "
        "mean ± sd or above."
        if measured
        else "",
        _steps_of_both(results),
    ]
    return "".join(f"- {line}\n" for line in lines if line)


def _standings(records: Sequence[Record]) -> list[Standing]:
    return [mean.comparison.standing for mean in comparison.means(records)]


def _steps_of_both(results: Results) -> str:
    pair = accounts.regularisers(results)
    if pair is None:
        return ""
    explored, divergence = (statistics.fmean(accounts.mean_steps(trained)) for trained in pair)
    return f"Recurrent steps during training: {explored:.1f} under Explore-Reinforce, {divergence:.1f} under KL."


def _best(results: Results) -> list[str]:
    best = comparison.best_models(results)
    every = comparison.best_models(results, ON_EVERY_GRID)
    return [
        "# The best models\n",
        _about_the_best(results),
        *(comparison.table(name, best) for name in ("comparison", "long-digits", "long-terms", "examples")),
        comparison.standings(results),
        comparison.every_best_run(results),
        *(["## On every grid size\n"] if every else []),
        *(comparison.table(name, every) for name in ("comparison", "long-digits", "long-terms") if every),
    ]


def _variants(results: Results) -> list[str]:
    standard = comparison.standard_records(results)
    others = comparison.other_readings(results.folder).items()
    return [
        "# The variants\n",
        "After the standard training, all seeds.\n",
        comparison.table("ablation", standard),
        comparison.mean_standings(standard),
        comparison.mean_standings(orderings.decisive(results), f"The same over {_EVERY_SEED}"),
        *(comparison.variants_in_brief(records, f"Under the reading {name}") for name, records in others),
    ]


def _runs(results: Results) -> list[str]:
    return [
        "# The runs\n",
        "## How they were chosen\n",
        accounts.selection(results),
        "## Every seed\n",
        accounts.every_seed(results),
        "## Placement: what leaks\n",
        accounts.placement(results),
        "## Halting: Explore-Reinforce against KL\n",
        accounts.halting(results),
        "## What it took\n",
        accounts.cost(results),
    ]


def _lacking(results: Results) -> str:
    lacking = accounts.missing(results)
    if not lacking:
        return ""
    return "**Not whole yet.** Missing are:\n\n" + "".join(f"- {what}\n" for what in lacking)


def _about_the_best(results: Results) -> str:
    lines = []
    for variant in OVERTRAINED:
        chosen = results.chosen(variant)
        if not chosen:
            continue
        further = results.overtrained(variant)
        which = ", ".join(f"seed {seed} is best on {aim}" for aim, seed in chosen.items())
        now = (
            f"These were trained for {further.config.training.epochs} epochs more at β = "
            f"{further.config.objective.weight:g}."
            if further is not None and further.reported
            else "They are not overtrained yet, so they are shown as the standard training left them."
        )
        lines.append(
            f"- {variant}: of its runs {which}, on validation problems. {now} Beside the paper's {variant} stands seed "
            f"{chosen[OVERTRAINED[variant]]}.\n"
        )
    return (
        "".join(lines)
        or f"No runs of {' or '.join(OVERTRAINED)} have been chosen yet, out of {', '.join(PAPER_VARIANTS)}.\n"
    )


def _pictures(figures: Iterable[tuple[Path, str]], link: Callable[[Path], str]) -> list[str]:
    shown = [f"![{caption}]({link(path)})\n\n{caption}\n" for path, caption in figures]
    return ["## Figures\n", *shown] if shown else []
