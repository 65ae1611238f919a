"""The paper's orderings of its variants, tested over training seeds."""

from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.statistics import Finding, Judgement, Pair, findings, judgements
from gridsum.reproduction import rule
from gridsum.reproduction.comparison import p_text
from gridsum.reproduction.results import Results

_LOOKS_IN_0_1_0 = 3
"""How often the claims had been put to the test in 0.1.0 when further seeds were there: with the first ten seeds, again
after one variant had been trained anew, and with all."""
_ABOUT_THE_TEST = (
    "Mann–Whitney's test, exact, two-sided, over training seeds. δ is Cliff's: 1 where every seed of the first is "
    "above every seed of the second, −1 the other way round. p is not corrected; Holm's is, for all comparisons made "
    "and for the looks."
)
_ABOUT_CLAIMS = (
    "A claim holds if all its comparisons do, so it is as sure as the least sure of them (the intersection–union "
    "test). Its p is the largest of theirs, 1 if any comes out even or the other way, and is corrected for the number "
    "of claims and of looks. It is refuted when one of its comparisons is."
)
_BY_THE_RULE = (
    f"Decided once, by the rule in `gridsum/reproduction/rule.py`, when all of seeds {rule.SEEDS[0]} to "
    f"{rule.SEEDS[-1]} of every variant are measured; until then nothing is tested."
)


def _tested(results: Results) -> tuple[dict[Pair, Finding], list[tuple[str, Judgement]], int]:
    """Every comparison, every claim, and how many looks they are corrected for: by the rule, from its records alone."""
    every = [r for trained in results.variants for r in (*trained.measured(rule.WAY), *trained.further)]
    records, looks = rule.counting(every), 1
    if not records:
        records = [r for trained in results.variants for r in (*trained.reported, *trained.further)]
        looks = _LOOKS_IN_0_1_0 if any(trained.further for trained in results.variants) else 1
    elif not rule.decidable(records):
        records = []
    found = findings(records, looks=looks)
    return found, [(claim.text, judged) for claim, judged in judgements(found, looks=looks).items()], looks


def in_brief(results: Results) -> str:
    """A line for each claim."""
    _, judged, _ = _tested(results)
    return "".join(f"- {text}: **{found.verdict}**{_claim_p(found)}\n" for text, found in judged) + (
        f"\n{_BY_THE_RULE}\n" if any(trained.measured(rule.WAY) for trained in results.variants) else ""
    )


def account(results: Results) -> str:
    """The paper's claims on which variant is best, and the comparisons that they consist of."""
    found, _, looks = _tested(results)
    rows = _rows(found)
    if not rows:
        return in_brief(results)
    unmeasured = len(found) - len(rows)
    lacking = f" {unmeasured} comparisons are not measured yet." if unmeasured else ""
    caption = f"{_ABOUT_THE_TEST} Looks: {looks}.{lacking} {_ABOUT_CLAIMS}"
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
        if found.means is None or found.effect is None or found.p is None or found.corrected is None:
            continue
        compared = f"{pair.better} > {pair.worse}", "/".join(map(str, found.seeds))
        means = f"{found.means[0]:.3f} / {found.means[1]:.3f}"
        values = f"{found.effect:+.2f}", p_text(found.p), p_text(found.corrected)
        rows.append((pair.suite, pair.measure, *compared, means, *values, found.verdict))
    return tuple(rows)
