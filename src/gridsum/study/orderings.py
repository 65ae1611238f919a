"""The paper's orderings of its variants, tested over training seeds."""

from gridsum.evaluation.orderings import Finding, Judgement, Pair, findings, judgements
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.study import rule
from gridsum.study.comparison import p_text
from gridsum.study.results import Results

_ABOUT_THE_TEST = (
    "Mann–Whitney's test, exact, two-sided, over training seeds. δ is Cliff's: 1 where every seed of the first is "
    "above every seed of the second, −1 the other way round. p is not corrected; Holm's is, for all comparisons made."
)
_ABOUT_CLAIMS = (
    "A claim holds if all its comparisons do, so it is as sure as the least sure of them (the intersection–union "
    "test). Its p is the largest of theirs, 1 if any comes out even or the other way, and is corrected for the number "
    "of claims. It is refuted when one of its comparisons is."
)
_BY_THE_RULE = (
    f"Decided once, by the rule in `gridsum/study/rule.py`, when all of seeds {rule.SEEDS[0]} to "
    f"{rule.SEEDS[-1]} of every variant are measured; until then nothing is tested."
)


def decisive(results: Results) -> list[Record]:
    """The records that the rule is about, of all its seeds; none while one of them is lacking."""
    every = [r for trained in results.variants for r in (*trained.measured(rule.WAY), *trained.extra)]
    records = rule.counting(every)
    return records if rule.decidable(records) else []


def in_brief(results: Results) -> str:
    """A line for each claim."""
    judged = judgements(findings(decisive(results))).items()
    lines = [f"- {claim.text}: **{found.verdict}**{_claim_p(found)}\n" for claim, found in judged]
    return f"{''.join(lines)}\n{_BY_THE_RULE}\n"


def account(results: Results) -> str:
    """The paper's claims on which variant is best, and the comparisons that they consist of."""
    rows = _rows(findings(decisive(results)))
    if not rows:
        return in_brief(results)
    caption = f"{_ABOUT_THE_TEST} {_ABOUT_CLAIMS}"
    header = ("suite", "measure", "comparison", "seeds", "means", "δ", "p", "Holm", "verdict")
    return in_brief(results) + "\n" + to_markdown(Table("Comparisons", caption, header, rows))


def _claim_p(judged: Judgement) -> str:
    if judged.p is None or judged.corrected is None:
        return ""
    return f" (p {p_text(judged.p)}, corrected {p_text(judged.corrected)})"


def _rows(tested: dict[Pair, Finding]) -> tuple[tuple[str, ...], ...]:
    """Every comparison that has been measured."""
    rows = []
    for pair, found in tested.items():
        compared = f"{pair.better} > {pair.worse}", "/".join(map(str, found.seeds))
        means = f"{found.means[0]:.3f} / {found.means[1]:.3f}"
        values = f"{found.effect:+.2f}", p_text(found.p), p_text(found.corrected)
        rows.append((pair.suite, pair.measure, *compared, means, *values, found.verdict))
    return tuple(rows)
