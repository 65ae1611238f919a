"""The results page: Markdown made of a campaign's records and logs, and of nothing else."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from gridsum.reproduction import sections
from gridsum.reproduction.campaign import OVERTRAINED, overtrained_name
from gridsum.reproduction.results import Results
from gridsum.reproduction.sections import HEADLINE
from gridsum.variants import VARIANTS


def write_page(results: Results, page: Path, command: str, figures: Iterable[tuple[Path, str]] = ()) -> str:
    """The page that will stand at `page`; `figures` are files with what they show."""

    def link(path: Path) -> str:
        return Path(os.path.relpath(path, page.parent)).as_posix()

    best = sections.best_models(results)
    standard = [record for trained in results.variants for record in trained.reported]
    parts = [
        "# Results\n",
        f"Made by `{command}` from the records and logs in [{results.folder.name}]({link(results.folder)}); nothing on "
        "this page is written by hand. Ours stand beside the numbers of the paper (arXiv 2207.02536).\n",
        _lacking(results),
        "## The best models\n",
        _about_the_best(results),
        sections.table("comparison", best),
        sections.table("long-digits", best),
        sections.table("long-terms", best),
        sections.table("examples", best),
        sections.standings(results),
        "## The variants\n",
        "After the standard training, all seeds.\n",
        sections.table("ablation", standard),
        sections.mean_standings(results),
        "## The paper's orderings\n",
        sections.orderings(results),
        "## Halting: Explore-Reinforce against KL\n",
        sections.halting(results),
        "## How runs were chosen\n",
        sections.selection(results),
        "## Every seed\n",
        sections.every_seed(results),
        "## What it took\n",
        sections.cost(results),
        "## Other readings of the paper\n",
        sections.readings(results),
        *_pictures(figures, link),
    ]
    return "\n".join(part for part in parts if part)


def _lacking(results: Results) -> str:
    lacking = sections.missing(results)
    if not lacking:
        return ""
    return "**Not whole yet.** Missing are:\n\n" + "".join(f"- {what}\n" for what in lacking)


def _about_the_best(results: Results) -> str:
    lines = []
    for name in OVERTRAINED:
        chosen = results.chosen(name)
        if not chosen:
            continue
        further = results.overtrained.get(name)
        which = ", ".join(f"seed {seed} (best on {aim})" for aim, seed in chosen.items())
        now = (
            f"trained for {further.config.training.epochs} epochs more at β = {further.config.objective.weight:g}, "
            f"which makes {overtrained_name(name)}"
            if further is not None and further.reported
            else "not overtrained yet, so shown as the standard training left them"
        )
        lines.append(
            f"- {name}: {which}; {now}. Beside the paper's {name} stands seed {chosen[HEADLINE[name]]}, the best on "
            f"{HEADLINE[name]}, which is what the paper shows its {name} for.\n"
        )
    return (
        "".join(lines) or f"No runs of {' or '.join(OVERTRAINED)} have been chosen yet, out of {', '.join(VARIANTS)}.\n"
    )


def _pictures(figures: Iterable[tuple[Path, str]], link: Callable[[Path], str]) -> list[str]:
    shown = [f"![{caption}]({link(path)})\n\n{caption}\n" for path, caption in figures]
    return ["## Figures\n", *shown] if shown else []
