"""The paper's orderings of its variants, tested: as specified, under other readings, and with further seeds."""

import statistics
from collections.abc import Mapping

from gridsum.evaluation import paper
from gridsum.evaluation.records import Record
from gridsum.evaluation.rendering import Table, to_markdown
from gridsum.evaluation.statistics import CLAIMS, Claim, Finding, Judgement, Pair, findings, judgements, pairs_of
from gridsum.evaluation.tables import MISSING, spread, spread_text
from gridsum.reproduction.campaign import FOLLOWED, standard_name
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


def as_specified(results: Results) -> str:
    """The paper's claims on which variant is best, tested over seeds."""
    found = findings_as_specified(results)
    lines = _claim_lines(judgements(found))
    rows = _rows(found)
    if not rows:
        return lines
    caption = f"{_ABOUT_THE_TEST}; {len(found) - len(rows)} are not measured yet. {_ABOUT_CLAIMS}"
    return lines + "\n" + to_markdown(Table("Comparisons", caption, _HEADER, rows))


def findings_as_specified(results: Results) -> dict[Pair, Finding]:
    return findings(record for trained in results.variants for record in trained.reported)


def findings_under(results: Results) -> dict[str, dict[Pair, Finding]]:
    """The comparisons that the paper's orderings consist of, under each reading that any is measured under."""
    by_reading = {reading: findings(_records_under(results, reading)) for reading in measured_readings(results)}
    return {
        reading: found
        for reading, found in by_reading.items()
        if any(finding.verdict != "not measured" for finding in found.values())
    }


def _records_under(results: Results, reading: str) -> list[Record]:
    trained = standing_for(results, reading).values()
    return [record for side in trained if side for record in side.reported]


def findings_with_further_seeds(results: Results) -> dict[Pair, Finding]:
    """The same under the reading that is followed, of the seeds that were there and of those added; empty without any.

    They have been looked at before, with the first seeds alone, so every p counts as often as there were looks.
    """
    names = [standard_name(variant, FOLLOWED) for variant in paper.ABLATION]
    added = [record for name in names if name in results.further for record in results.further[name].reported]
    return findings([*_records_under(results, FOLLOWED), *added], looks=_LOOKS) if added else {}


def under_readings(results: Results) -> str:
    """The paper's orderings under other readings, beside the variants as specified."""
    under = findings_under(results)
    if not under:
        return ""
    sides = (findings_as_specified(results), *under.values())
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
    found = findings_with_further_seeds(results)
    if not found:
        return ""
    seeds = sorted({seed for trained in results.further.values() for seed in trained.seeds})
    asked = f"--ablations {' '.join(results.further)} --ablations-only --seeds {seeds[0]}-{seeds[-1]} --only train"
    folder = f"FOLDER/{FURTHER_SEEDS}"
    start = (
        f"With further seeds under `{FOLLOWED}`: {', '.join(results.further)} also from seeds {seeds[0]} to "
        f"{seeds[-1]} (`gridsum reproduce --out {folder} {asked}`, then `gridsum evaluate`), which were added when the "
        f"first had been tested and count for nothing else. For every verdict p is multiplied by {_LOOKS}, because it "
        "is the second look; as it was not at the first, both together may err half as often again as one.\n\n"
    )
    caption = f"{_ABOUT_THE_TEST}. {_ABOUT_CLAIMS} The column p is neither multiplied nor corrected."
    table = to_markdown(Table("Comparisons with further seeds", caption, _HEADER, _rows(found)))
    return start + _claim_lines(judgements(found, looks=_LOOKS)) + "\n" + table


def verdicts(claim: Claim, results: Results) -> str:
    """A claim in a few words: as specified, then under each reading that decides it or has all that it takes."""
    under = {reading: judgements(found)[claim].verdict for reading, found in findings_under(results).items()}
    told = [judgements(findings_as_specified(results))[claim].verdict]
    told += [f"{verdict} under `{reading}`" for reading, verdict in under.items() if verdict != "not measured"]
    if found := findings_with_further_seeds(results):
        told.append(f"{judgements(found, looks=_LOOKS)[claim].verdict} under `{FOLLOWED}` with further seeds")
    return "; ".join(told)


def _claim_lines(judged: Mapping[Claim, Judgement]) -> str:
    return "".join(f"- {claim.text}: **{found.verdict}**{_claim_p(found)}\n" for claim, found in judged.items())


def _claim_p(judged: Judgement) -> str:
    if judged.p is None or judged.corrected is None:
        return ""
    return f" (p {p_text(judged.p)}, corrected {p_text(judged.corrected)})"


def _rows(found: Mapping[Pair, Finding]) -> tuple[tuple[str, ...], ...]:
    return tuple(_finding_row(finding) for finding in found.values() if finding.p is not None)


def _finding_row(finding: Finding) -> tuple[str, ...]:
    pair = finding.pair
    start = (pair.suite, pair.measure, f"{pair.better} > {pair.worse}", "/".join(map(str, finding.seeds)))
    if finding.means is None or finding.effect is None or finding.p is None or finding.corrected is None:
        return (*start, MISSING, MISSING, MISSING, MISSING, finding.verdict)
    means = f"{finding.means[0]:.3f} / {finding.means[1]:.3f}"
    return (*start, means, f"{finding.effect:+.2f}", p_text(finding.p), p_text(finding.corrected), finding.verdict)


def _verdict_text(claim: Claim, found: Mapping[Pair, Finding]) -> str:
    single = [found[pair].verdict for pair in pairs_of(claim)]
    counts = [f"{single.count('confirmed')} of {len(single)} confirmed"]
    counts += [f"{single.count(so)} {so}" for so in ("refuted", "not measured") if so in single]
    whole = judgements(found)[claim]
    if whole.corrected is not None and whole.verdict != "refuted":
        counts.append(f"corrected p {p_text(whole.corrected)}")
    return f"{'undecided' if whole.verdict == 'not measured' else whole.verdict} ({', '.join(counts)})"


def _digits_text(trained: Trained | None) -> str:
    values = [record.char for record in trained.of(DIGITS_SUITE)] if trained else []
    if not values:
        return MISSING
    return f"{spread_text(spread(values))}, {'reached' if statistics.fmean(values) >= DIGITS_LEAST else 'below'}"
