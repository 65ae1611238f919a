"""The paper's orderings of its variants, tested: as specified, under other readings, and with further seeds."""

import statistics
from collections.abc import Iterable
from typing import NamedTuple

from gridsum.evaluation import paper
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.statistics import CLAIMS, Claim, Finding, Judgement, Pair, findings, judgements, pairs_of
from gridsum.evaluation.tables import MISSING, spread, spread_text
from gridsum.reproduction.campaign import FOLLOWED, is_followed
from gridsum.reproduction.comparison import p_text
from gridsum.reproduction.readings import (
    DIGITS_LEAST,
    DIGITS_SUITE,
    DIGITS_VARIANT,
    measured_readings,
    standing_for,
)
from gridsum.reproduction.results import FURTHER_SEEDS, Results, Trained

_LOOKS = 2
"""How often the claims have been put to the test once further seeds are there."""
_ABOUT_THE_TEST = (
    "Mann–Whitney's test, exact, two-sided, over training seeds. δ is Cliff's: 1 where every seed of the first is "
    "above every seed of the second, −1 the other way round. Holm: p corrected for all comparisons made. The claims "
    f"consist of {', '.join(str(len(pairs_of(claim))) for claim in CLAIMS)} comparisons, some of them shared"
)
_ABOUT_CLAIMS = (
    "A claim holds if all its comparisons do, so it is as sure as the least sure of them (the intersection–union "
    "test): its p is the largest of theirs, 1 if any comes out even or the other way, and is corrected for the number "
    "of claims alone. So it may be confirmed while one of its comparisons, corrected for all of them, is undecided. It "
    "is refuted when one of its comparisons is."
)
_HEADER = ("suite", "measure", "comparison", "seeds", "means", "δ", "p", "Holm", "verdict")


class Tested(NamedTuple):
    """The comparisons that the paper's orderings consist of, and its claims as wholes."""

    findings: dict[Pair, Finding]
    judgements: dict[Claim, Judgement]


def _tested(records: Iterable[Record], looks: int = 1) -> Tested:
    found = findings(records, looks=looks)
    return Tested(found, judgements(found, looks=looks))


def _test_specified(results: Results) -> Tested:
    return _tested(record for trained in results.variants for record in trained.reported)


def _test_readings(results: Results) -> dict[str, Tested]:
    """Under each reading that any comparison is measured under."""
    tested = {reading: _tested(_records_under(results, reading)) for reading in measured_readings(results)}
    return {
        reading: found
        for reading, found in tested.items()
        if any(finding.verdict != "not measured" for finding in found.findings.values())
    }


def _test_with_further_seeds(results: Results) -> Tested | None:
    """Under the reading that is followed, of the seeds that were there and of those added; None without any.

    They have been looked at before, with the first seeds alone, so every p counts as often as there were looks.
    """
    added = [record for name in filter(is_followed, results.further) for record in results.further[name].reported]
    return _tested([*_records_under(results, FOLLOWED), *added], _LOOKS) if added else None


def _records_under(results: Results, reading: str) -> list[Record]:
    trained = standing_for(results, reading).values()
    return [record for side in trained if side for record in side.reported]


def in_brief(results: Results) -> list[str]:
    """A line a claim: as specified, then under each reading that decides it or has all that it takes."""
    specified, under, further = _test_specified(results), _test_readings(results), _test_with_further_seeds(results)
    lines = []
    for claim in CLAIMS:
        so_read = {reading: found.judgements[claim].verdict for reading, found in under.items()}
        told = [specified.judgements[claim].verdict]
        told += [f"{verdict} under `{reading}`" for reading, verdict in so_read.items() if verdict != "not measured"]
        if further:
            told.append(f"{further.judgements[claim].verdict} under `{FOLLOWED}` with further seeds")
        lines.append(f"The paper has it that {claim.text}: {'; '.join(told)}.")
    return lines


def as_specified(results: Results) -> str:
    """The paper's claims on which variant is best, tested over seeds."""
    found = _test_specified(results)
    lines, rows = _claim_lines(found), _rows(found)
    if not rows:
        return lines
    caption = f"{_ABOUT_THE_TEST}; {len(found.findings) - len(rows)} are not measured yet. {_ABOUT_CLAIMS}"
    return lines + "\n" + to_markdown(Table("Comparisons", caption, _HEADER, rows))


def under_readings(results: Results) -> str:
    """The paper's orderings under other readings, beside the variants as specified."""
    under = _test_readings(results)
    if not under:
        return ""
    sides = (_test_specified(results), *under.values())
    rows = [(claim.text, *(_verdict_text(claim, found) for found in sides)) for claim in CLAIMS]
    so_read = (standing_for(results, reading).get(DIGITS_VARIANT) for reading in under)
    trained = (results.trained.get(DIGITS_VARIANT), *so_read)
    known = paper.ABLATION[DIGITS_VARIANT][DIGITS_SUITE].char
    digits = f"{DIGITS_VARIANT} on {DIGITS_SUITE}, characters"
    rows.append((f"{digits} (paper: {spread_text(known)})", *map(_digits_text, trained)))
    caption = (
        "Tested as above, and corrected within one reading; in brackets, how many of a claim's comparisons are "
        "confirmed, refuted or not measured, as variants have not been trained under that reading, and the claim's own "
        f"p. The last line: mean ± sd (best) over seeds, and whether the mean reaches {DIGITS_LEAST}."
    )
    header = ("the paper's claim", "as specified", *under)
    return to_markdown(Table("The orderings under other readings", caption, header, tuple(rows)))


def with_further_seeds(results: Results) -> str:
    """The claims once more, of all seeds together, where some have been added."""
    found = _test_with_further_seeds(results)
    if found is None:
        return ""
    seeds = sorted({seed for trained in results.further.values() for seed in trained.seeds})
    asked = f"--ablations {' '.join(results.further)} --ablations-only --seeds {seeds[0]}-{seeds[-1]} --only train"
    folder = f"FOLDER/{FURTHER_SEEDS}"
    start = (
        f"With further seeds under `{FOLLOWED}`: {', '.join(results.further)} also from seeds {seeds[0]} to "
        f"{seeds[-1]} (`gridsum reproduce --out {folder} {asked}`, then `gridsum evaluate`), which were added when the "
        f"first had been tested and are in no table of means. For every verdict p is multiplied by {_LOOKS}, because "
        "it is the second look; as it was not at the first, both together may err half as often again as one.\n\n"
    )
    caption = f"{_ABOUT_THE_TEST}. {_ABOUT_CLAIMS} The column p is neither multiplied nor corrected."
    table = to_markdown(Table("Comparisons with further seeds", caption, _HEADER, _rows(found)))
    return start + _claim_lines(found) + "\n" + table


def _claim_lines(tested: Tested) -> str:
    judged = tested.judgements.items()
    return "".join(f"- {claim.text}: **{found.verdict}**{_claim_p(found)}\n" for claim, found in judged)


def _claim_p(judged: Judgement) -> str:
    if judged.p is None or judged.corrected is None:
        return ""
    return f" (p {p_text(judged.p)}, corrected {p_text(judged.corrected)})"


def _rows(tested: Tested) -> tuple[tuple[str, ...], ...]:
    """Every comparison that has been measured."""
    rows = []
    for pair, found in tested.findings.items():
        if found.means is None or found.effect is None or found.p is None or found.corrected is None:
            continue
        compared = f"{pair.better} > {pair.worse}", "/".join(map(str, found.seeds))
        means = f"{found.means[0]:.3f} / {found.means[1]:.3f}"
        values = f"{found.effect:+.2f}", p_text(found.p), p_text(found.corrected)
        rows.append((pair.suite, pair.measure, *compared, means, *values, found.verdict))
    return tuple(rows)


def _verdict_text(claim: Claim, tested: Tested) -> str:
    single = [tested.findings[pair].verdict for pair in pairs_of(claim)]
    counts = [f"{single.count('confirmed')} of {len(single)} confirmed"]
    counts += [f"{single.count(so)} {so}" for so in ("refuted", "not measured") if so in single]
    whole = tested.judgements[claim]
    if whole.corrected is not None and whole.verdict != "refuted":
        counts.append(f"corrected p {p_text(whole.corrected)}")
    return f"{'undecided' if whole.verdict == 'not measured' else whole.verdict} ({', '.join(counts)})"


def _digits_text(trained: Trained | None) -> str:
    values = [record.char for record in trained.of(DIGITS_SUITE)] if trained else []
    if not values:
        return MISSING
    return f"{spread_text(spread(values))}, {'reached' if statistics.fmean(values) >= DIGITS_LEAST else 'below'}"
