"""The report and its appendix: Markdown made of a reproduction's records and summaries.

A person's notes on them stand in FOLDER/notes.md, and are put into the report as they are.
"""

import os
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

from gridsum.evaluation.intervals import CONFIDENCE, MARGIN, STANDINGS
from gridsum.evaluation.orderings import CLAIMS, Finding, Pair, findings, judgements
from gridsum.evaluation.records import Record, read
from gridsum.evaluation.rendering import TableError, to_markdown
from gridsum.evaluation.tables import TABLES
from gridsum.io.disk import write_atomically
from gridsum.study import baselines, rule, tables
from gridsum.study.jobs import title
from gridsum.study.pictures import drawn_at
from gridsum.study.reproduction import AGAIN, OVERTRAINED, Reproduction
from gridsum.study.results import Results, keep, load_results

NOTES, APPENDIX = "notes.md", "appendix/tables.md"
_DEFINED = """A *replication* is the paper's selection done once: seeds are trained, the best of them on validation
problems is trained for 300 epochs more, and measured. There {}.

- Of a number of Tables III and IV: *inside*, the paper's number, as it is rounded, lies between the lowest and the
  highest replication; *above*, all replications exceed it; *below*, none reaches it.
- Of a mean of Table VI, by Welch's {:.0%} interval of the difference, in which the paper's sampling error (ten seeds)
  counts as well: *above*, ours is larger; *matched*, it is at most {} smaller; *below*, it is smaller; *inconclusive*,
  the interval allows both.
"""
_BY_THE_RULE = "Decided once, by the rule in `gridsum/study/rule.py`, of seeds {} to {} of every variant{}.\n"


def write_report(results: Results, page: Path, asked: Reproduction, tell: Callable[[str], None]) -> None:
    made: dict[Path, str] = {}
    if asked.paper:
        for one in results.replications():
            keep(one)
        made = pages(results, page, [title(job) for job in asked.jobs() if not job.state(results.folder).finished])
    if asked.baselines:
        made |= baselines.pages(results.folder, page.parent)
    for path, text in made.items():
        write_atomically(path, text.encode())
        tell(f"wrote {path}")


def pages(results: Results, page: Path, lacking: Sequence[str] = ()) -> dict[Path, str]:
    """The page that will stand at `page`, with the figures beside it, and its appendix; `lacking` are jobs not done."""
    appendix, drawn = page.parent / APPENDIX, drawn_at(page)
    command = f"gridsum reproduce --out {results.folder} --only figures report"

    def made_from(at: Path) -> str:
        return f"Made by `{command}` from the records in [{results.folder.name}]({_link(results.folder, at)})"

    notes, blocks, of_all = results.folder / NOTES, results.replications(), results.of_all_seeds()
    single, over_seeds = tables.numbers(blocks), tables.means(of_all)
    words = f"; the words are those of [{NOTES}]({_link(notes, page)})" if notes.exists() else ""
    done = sum(any(map(one.overtrained, OVERTRAINED)) for one in blocks)
    counted = "is one" if done == 1 else f"are {done}, each of ten seeds of its own" if done else "is none yet"
    summary = [
        "# Results\n",
        f"{made_from(page)}{words}. The paper is arXiv 2207.02536.\n",
        _DEFINED.format(counted, CONFIDENCE, MARGIN),
        _brief(results, single, over_seeds),
        f"**Not whole yet.** Missing are: {', '.join(lacking)}.\n" if lacking else "",
        drawn.pop("numbers", ""),
        notes.read_text() if notes.exists() else "",
        "## Tables III and IV\n",
        to_markdown(tables.best_models(single, "The best models", blocks)),
        "## Table VI\n",
        to_markdown(tables.variants(over_seeds, others=[one for one in of_all if one.suite in tables.FAMILIES])),
        "## The paper's orderings\n",
        _orderings(findings(results.decisive())),
        *drawn.values(),
        f"[Appendix]({APPENDIX}): these tables with intervals, every mean, every comparison.\n",
    ]
    more = ["# Every table\n", f"{made_from(appendix)}; nothing here is written by hand.\n", *_tables(results, blocks)]
    return {path: "\n".join(filter(None, parts)) for path, parts in ((page, summary), (appendix, more))}


def _link(path: Path, page: Path) -> str:
    return Path(os.path.relpath(path, page.parent)).as_posix()


def _tables(results: Results, blocks: Sequence[Results]) -> list[str]:
    runs = [run for run in map(results.standing_for, OVERTRAINED) if run is not None]
    best = [record for run in runs for record in run.measured()]
    standard = [record for trained in results.variants for record in trained.measured()]
    of_all = tables.means(results.of_all_seeds())
    others = {path.parent.name: tables.means(read([path])) for path in sorted(results.folder.glob("*/ablation.jsonl"))}
    hard = tables.numbers(blocks, "hard")
    return [
        *(_papers(name, best) for name in ("comparison", "long-digits", "long-terms", "examples")),
        to_markdown(tables.best_models(hard, f"base-hard and noGroups-hard: {tables.tally(hard)}")),
        _papers("ablation", standard),
        to_markdown(tables.mean_standings(of_all)),
        *(to_markdown(tables.variants(found, f"Table VI, {name}")) for name, found in others.items()),
        to_markdown(tables.comparisons(findings(results.decisive()))),
    ]


def _papers(name: str, records: list[Record]) -> str:
    """A table of the paper, or a line on what it lacks."""
    try:
        return to_markdown(TABLES[name](records))
    except TableError as why:
        return f"No table `{name}` yet: {why}.\n"


def _brief(results: Results, single: Sequence[tables.Number], over_seeds: Sequence[tables.Mean]) -> str:
    lines, again = [], load_results(results.folder / AGAIN)
    if single:
        open_ones = [one for one in single if 0 < one.known < 0.99]
        lines.append(f"Tables III and IV: {tables.tally(single)}.")
        lines.append(f"The same without those that are 0 or at least 0.99: {tables.tally(open_ones)}.")
        if again.trained:
            others = tables.numbers([again, *results.replications()[1:]])
            told = "With seeds 0 to 9 trained once more as the first replication"
            lines.append(f"{told}: {tables.tally(others)}.")
    if over_seeds:
        lines.append(f"Table VI: {tables.tally(over_seeds, STANDINGS)}.")
    by_seed = [results.trained[name].steps.values() for name in ("base", "ponderReg") if name in results.trained]
    steps = [[statistics.fmean(epochs) for epochs in seeds if epochs] for seeds in by_seed]
    if len(steps) == 2 and all(steps):
        explored, divergence = map(statistics.fmean, steps)
        lines.append(f"Steps during training: {explored:.1f} under Explore-Reinforce, {divergence:.1f} under KL.")
    return "".join(f"- {line}\n" for line in lines)


def _orderings(tested: dict[Pair, Finding]) -> str:
    lines, judged = [], judgements(tested)
    for claim in CLAIMS:
        told = "**not measured**"
        if found := judged.get(claim):
            told = f"**{found.verdict}** (p {tables.p_text(found.p)}, corrected {tables.p_text(found.corrected)})"
        lines.append(f"- {claim.text}: {told}\n")
    until = "" if tested else "; until all of them are measured, nothing is tested"
    return f"{''.join(lines)}\n{_BY_THE_RULE.format(rule.SEEDS[0], rule.SEEDS[-1], until)}"
