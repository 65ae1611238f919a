"""`gridsum reproduce --variants exact`: from nothing to proofs, the chosen run measured, and shipped if asked for."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.progress import progress
from gridsum.cli import FAILED
from gridsum.cli.evaluate import source_commit
from gridsum.cli.output import print_text, tell, unwritable
from gridsum.cli.parsing import UsageError, pick_device
from gridsum.config.exact import ExactConfig
from gridsum.config.fields import override

if TYPE_CHECKING:
    from gridsum.training.exact import Progress

STAGES = ("train", "measure", "ship")
_SEEDS, _QUICK_SEEDS = tuple(range(10)), (0, 1)
_QUICK_SAMPLES = 2
_QUICK = {
    "rule.bits": 4,
    "rule.width": 16,
    "rule.hidden": 16,
    "rule.groups": 4,
    "discovery.batch": 8,
    **{f"phases.{name}.steps": 4 for name in ("place", "soft", "anneal", "hard", "robust")},
    "consolidation.problems": 400,
    "consolidation.steps": 10,
    "consolidation.rounds": 1,
}
"""The same in seconds; nothing is learned in it."""


def reproduce(options: argparse.Namespace) -> int:
    """The stages that were asked for; what is done is kept and skipped."""
    from gridsum.cli.workers import do_by_workers
    from gridsum.model.store import SHIPPED
    from gridsum.study import proved
    from gridsum.study.sweep import Discover
    from gridsum.training.exact import train_exact
    from gridsum.training.folders import holds_exact

    stages = options.only or STAGES[:-1]
    unknown = [stage for stage in stages if stage not in STAGES]
    if unknown:
        raise UsageError(f"the study of exact has no stage {unknown[0]!r}; it has {', '.join(STAGES)}")
    folder = Path(options.out or ("out/quick" if options.quick else "results")) / proved.EXACT
    seeds = options.seeds or (_QUICK_SEEDS if options.quick else _SEEDS)
    config = override(ExactConfig(), _QUICK) if options.quick else ExactConfig()
    if options.dry_run:
        done = len(proved.outcomes(folder, seeds))
        print_text(
            f"train and prove {len(seeds)} seeds: {done} done; measure: {len(proved.SUITES)} suites; in {folder}\n"
        )
        return 0
    try:
        with progress() as shown:

            def report(now: "Progress") -> None:
                shown.update(now.phase, now.done, now.of, now.news)

            if "train" in stages and options.on is not None:
                fleet = Discover(folder.parent, folder.name, config, seeds)
                do_by_workers([fleet], folder.parent, options, shown, lambda: None)
            elif "train" in stages:
                device, resume = pick_device(options.device), holds_exact(folder)
                train_exact(config, seeds, folder, device, resume, report, shown.note)
            found = proved.outcomes(folder, seeds)
            if not found:
                raise UsageError(
                    f"{folder} holds no runs yet; begin with: gridsum reproduce --variants exact --only train"
                )
            right = sum(result["proved"] for result in found)
            shown.note(f"gridsum: {right} of {len(found)} runs are proved")
            if tuple(stages) == ("train",):
                return 0
            if not right:
                tell("gridsum: nothing is measured, as no run is proved")
                return 0 if options.quick else FAILED
            seed = proved.chosen(found)
            records = proved.measure(
                folder,
                seed,
                _QUICK_SAMPLES if options.quick else None,
                options.commit or source_commit(),
                lambda suite, done, of: shown.update(f"{suite}:", done, of, unit="problems measured"),
            )
            wrong = sum(record.samples - record.sequences_right for record in records)
            shown.note(f"gridsum: seed {seed} is chosen; {wrong} of {sum(r.samples for r in records)} sums wrong")
            if "ship" in stages:
                place = SHIPPED if options.ship_to is None else Path(options.ship_to)
                proved.ship(folder, seed, records, place)
                shown.note(f"gridsum: {place} holds seed {seed} as exact now")
    except OSError as error:
        raise unwritable(error.filename or folder, error) from None
    return 0
