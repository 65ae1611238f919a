"""The report and its appendix: Markdown made of a reproduction's records and summaries.

A person's notes on them stand in FOLDER/notes.md, and are put into the report as they are.
"""

import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from gridsum.config.variants import PAPER_VARIANTS
from gridsum.evaluation.intervals import MARGIN
from gridsum.evaluation.orderings import Finding, Pair, findings, judgements
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.rendering import TableError, to_markdown
from gridsum.evaluation.tables import TABLES
from gridsum.study import rule, tables
from gridsum.study.reproduction import OVERTRAINED, REPORTED, overtrained_name
from gridsum.study.results import Results, Trained

NOTES, APPENDIX = "notes.md", "appendix/tables.md"
_EVERY_SEED = f"{len(rule.SEEDS)} seeds, on every grid size"
_BY_THE_RULE = (
    f"Decided once, by the rule in `gridsum/study/rule.py`, when all of seeds {rule.SEEDS[0]} to "
    f"{rule.SEEDS[-1]} of every variant are measured; until then nothing is tested.\n"
)


def write_pages(
    results: Results, page: Path, command: str, figures: Iterable[tuple[Path, str]] = ()
) -> dict[Path, str]:
    """The page that will stand at `page`, and its appendix; `figures` are files with what they show."""
    appendix = page.parent / APPENDIX

    def made_from(at: Path) -> str:
        return f"Made by `{command}` from the records in [{results.folder.name}]({_link(results.folder, at)})"

    notes, blocks = results.folder / NOTES, results.replications()
    standard = [record for trained in results.variants for record in trained.measured()]
    words = f"; the words are those of [{NOTES}]({_link(notes, page)})" if notes.exists() else ""
    summary = [
        "# Results\n",
        f"{made_from(page)}{words}. Ours stand beside the numbers of the paper (arXiv 2207.02536).\n",
        f"{tables.CRITERION}\n",
        _brief(results, standard),
        _lacking(results),
        notes.read_text() if notes.exists() else "",
        "## Tables III and IV: the best models\n",
        _about_the_best(results),
        to_markdown(tables.best_models(results)),
        *([to_markdown(tables.replications(blocks))] if len(blocks) > 1 else []),
        "## Table VI: the variants over seeds\n",
        to_markdown(tables.variants(standard)),
        "## The paper's orderings\n",
        _orderings(_tested(results)),
        *(f"![Figure]({_link(path, page)})\n\n{caption}\n" for path, caption in figures),
        f"[The appendix]({APPENDIX}) has these tables with intervals, every mean, and every comparison.\n",
    ]
    more = [
        "# Every table\n",
        f"{made_from(appendix)}; nothing here is written by hand.\n",
        *_tables(results, standard),
    ]
    return {path: "\n".join(filter(None, parts)) for path, parts in ((page, summary), (appendix, more))}


def _link(path: Path, page: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _tables(results: Results, standard: list[Record]) -> list[str]:
    runs = [run for run in map(results.standing_for, OVERTRAINED) if run is not None]
    best = [record for run in runs for record in run.measured()]
    over_all = tables.means(decisive(results))
    others = {path.parent.name: read([path]) for path in sorted(results.folder.glob("*/ablation.jsonl"))}
    return [
        *(_papers(name, best) for name in ("comparison", "long-digits", "long-terms", "examples")),
        to_markdown(tables.overtrained_runs(results)),
        _papers("ablation", standard),
        to_markdown(tables.mean_standings(tables.means(standard), "Our means minus the paper's (Table VI)")),
        to_markdown(tables.mean_standings(over_all, f"The same over {_EVERY_SEED}")) if over_all else "",
        *(to_markdown(tables.variants(records, f"Interpretation {name}")) for name, records in others.items()),
        to_markdown(tables.comparisons(_tested(results))),
    ]


def _papers(name: str, records: list[Record]) -> str:
    """A table of the paper, or a line on what it lacks."""
    try:
        return to_markdown(TABLES[name](records))
    except TableError as why:
        return f"No table `{name}` yet: {why}.\n"


def _brief(results: Results, standard: list[Record]) -> str:
    """The page in a few lines."""
    single, every = tables.cells(results), decisive(results)
    lines = [f"Tables III and IV, one run, margin {MARGIN}: {_tally(single)}. {_by_ceiling(single)}"] if single else []
    for title, records in (("Table VI, means over seeds", standard), (f"The same over {_EVERY_SEED}", every)):
        if found := tables.means(records):
            strict = tables.means(records, by_spread=False)
            matched = sum(one.comparison.standing in tables.MATCHED for one in strict)
            lines.append(
                f"{title}, margin the paper's sd: {_tally(found)}; within {MARGIN}, {matched} are above or matched."
            )
    steps = [mean_steps(results.trained[name]) for name in ("base", "ponderReg") if name in results.trained]
    if len(steps) == 2 and all(steps):
        explored, divergence = map(statistics.fmean, steps)
        lines.append(
            f"Recurrent steps during training: {explored:.1f} under Explore-Reinforce, {divergence:.1f} under KL."
        )
    return "".join(f"- {line}\n" for line in lines)


def _tally(found: Sequence[tables.Cell | tables.Mean]) -> str:
    return tables.tally([one.comparison.standing for one in found])


def _by_ceiling(found: Sequence[tables.Cell]) -> str:
    """How many are matched of the numbers that leave nothing to reach, and of all others."""
    told = []
    for extreme in (True, False):
        those = [one for one in found if (one.known == 0 or one.known >= 0.99) is extreme]
        told += [sum(one.comparison.standing in tables.MATCHED for one in those), len(those)]
    return "Above or matched are {} of the {} that are 0 or at least 0.99, and {} of the other {}.".format(*told)


def mean_steps(trained: Trained) -> list[float]:
    """By seed, over all epochs."""
    return [statistics.fmean(run.steps) for run in trained.summary.runs.values() if run.steps]


def missing(results: Results) -> list[str]:
    """What a whole reproduction has and this one lacks, in words."""
    found = []
    for name in [*PAPER_VARIANTS, *map(overtrained_name, OVERTRAINED)]:
        trained = results.trained.get(name)
        if trained is None:
            found.append(f"the training of {name}")
            continue
        # The log of a run that diverged ends before the others'.
        done = max((run.epochs for run in trained.summary.runs.values()), default=0)
        if done < trained.config.training.epochs:
            found.append(f"epochs {done + 1} to {trained.config.training.epochs} of {name}")
        suites = [suite.name for suite in REPORTED]
        found_on = [record.suite for record in trained.measured()]
        lacking = [suite for suite in suites if found_on.count(suite) < len(trained.seeds)]
        if lacking:
            found.append(f"records of {name} on {'all suites' if lacking == suites else ', '.join(lacking)}")
        if not results.chosen(name):
            found.append(f"the validation of {name}")
    return found


def _lacking(results: Results) -> str:
    lacking = missing(results)
    return "**Not whole yet.** Missing are:\n\n" + "".join(f"- {what}\n" for what in lacking) if lacking else ""


def _about_the_best(results: Results) -> str:
    lines = []
    for variant, aim in OVERTRAINED.items():
        chosen, further = results.chosen(variant), results.overtrained(variant)
        if not chosen:
            lines.append(f"- {variant}: its runs are not validated yet.\n")
            continue
        which = ", ".join(f"seed {seed} is best on {aim}" for aim, seed in chosen.items())
        now = "They are not overtrained yet, so they are shown as the standard training left them."
        if further is not None and further.measured():
            epochs, weight = further.config.training.epochs, further.config.objective.weight
            now = f"Both were trained for {epochs} epochs more at β = {weight:g}."
        lines.append(
            f"- {variant}: {which}, on validation problems. {now} Seed {chosen[aim]} stands beside the paper's.\n"
        )
    return "".join(lines)


def decisive(results: Results) -> list[Record]:
    """The records that the rule is about, of all its seeds; none while one of them is lacking."""
    every = [r for trained in results.variants for r in (*trained.measured(rule.WAY), *trained.extra)]
    records = rule.counting(every)
    return records if rule.decidable(records) else []


def _tested(results: Results) -> dict[Pair, Finding]:
    return findings(decisive(results))


def _orderings(tested: dict[Pair, Finding]) -> str:
    """A line for each claim."""
    lines = []
    for claim, found in judgements(tested).items():
        p = (
            ""
            if found.p is None or found.corrected is None
            else f" (p {tables.p_text(found.p)}, corrected {tables.p_text(found.corrected)})"
        )
        lines.append(f"- {claim.text}: **{found.verdict}**{p}\n")
    return f"{''.join(lines)}\n{_BY_THE_RULE}"
