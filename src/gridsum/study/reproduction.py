"""What `gridsum reproduce` consists of: training runs of variants, `exact` and baselines, and what is measured of each.

FOLDER/NAME/                  a variant, or one with -overtrained; exact; a baseline with its setting
FOLDER/NAME/validation.jsonl  records of the problems that models are chosen by
FOLDER/NAME/summary.json      its logs in few numbers
FOLDER/block-N/               the same of the variants once more, from seeds of its own
FOLDER/again/                 the same from the first seeds, by later code, if it has been done
FOLDER/manifest.json          checksums of the weights
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath

from gridsum.baselines.baseline import find_baseline
from gridsum.config.fields import override
from gridsum.config.paper import ConfigError
from gridsum.config.registry import BASELINES, find
from gridsum.config.variants import PAPER_VARIANTS, variant
from gridsum.evaluation.records import NOTHING
from gridsum.evaluation.suites import COLLECTIONS, Suite
from gridsum.io.names import did_you_mean
from gridsum.study.jobs import Asked, Job, Sheet, Train, Way, jobs_of

OVERTRAINED = {"base": "terms", "noGroups": "digits"}
"""The variants whose best runs the paper overtrains, and what it shows each of them for."""
OVERTRAINING_WEIGHT, OVERTRAINING_EPOCHS = 5e-4, 300
EXACT, ALL_BASELINES = "exact", "baselines"
SETTINGS = ("matched", "native")

ON_EVERY_GRID: Way = ("every", "soft")
"""What models are chosen by, and the orderings decided."""
AS_PUBLISHED: Way = ("published", "soft")
"""What the paper's numbers are of."""
BY_A_RULE: Way = (NOTHING, "hard")
BY_A_BASELINE: Way = (NOTHING, NOTHING)
LEAKY_DIGITS = 100
"""Of terms so long, soft placement loses positions where it leaks; so they are placed hard, too."""


def _each_once(*suites: Suite) -> tuple[Suite, ...]:
    return tuple({suite.name: suite for suite in suites}.values())


REPORTED = _each_once(*COLLECTIONS["all"], *COLLECTIONS["terms"])
"""The suites of the paper's tables and of its figure of accuracy against terms."""
OF_EXACT = _each_once(*COLLECTIONS["all"], *COLLECTIONS["structured"])
"""The paper's suites, and sums that random digits hardly make."""
_MORE_OF_BASELINES = (
    *("2x5", "2x8", "2x10", "2x20", "2x50", "2x200", "4x5", "5x5", "6x5", "8x5", "10x5"),
    *("nines+1:2x[1,10]", "nines+1:2x[1,100]"),
)
VALIDATION_SEED = 7
"""Of the problems that models are chosen by, which no table reports."""

BASELINE_RECORDS = "records/baselines.jsonl"
BLOCK, AGAIN = "block-", "again"
"""Folders of replications: with further seeds, and with the first ones once more."""
_QUICK_SAMPLES = 2
_QUICK_EPOCHS = {"training.epochs": 2, "training.steps_per_epoch": 1, "training.batch": 8}
_QUICK_PAPER = {
    **_QUICK_EPOCHS,
    "training.checkpoint_epochs": 1,
    "model.width": 16,
    "model.groups": 4,
    "model.heads": 16,
    "model.step_hidden": 32,
    "model.max_steps": 8,
}
_QUICK_EXACT = {
    "rule.bits": 4,
    "rule.width": 16,
    "rule.hidden": 16,
    "rule.groups": 4,
    "discovery.batch": 8,
    **{f"phases.{name}.steps": 4 for name in ("place", "soft", "bits", "long")},
    "consolidation.problems": 400,
    "consolidation.steps": 10,
    "consolidation.rounds": 1,
}
_QUICK_SUITES = (
    *("2x15", "2x100", "2x602", "[1,4]x[1,10]", "[5,6]x[1,10]", "[7,10]x[1,10]", "5x5", "6x5", "examples"),
    *(suite.name for suite in COLLECTIONS["validation"]),
)


def _all_ways(suite: Suite) -> tuple[Way, ...]:
    if suite.expressions:
        return (ON_EVERY_GRID,)
    placements = ("soft", "hard") if suite.space.digits[1] >= LEAKY_DIGITS else ("soft",)
    return tuple((grids, placement) for placement in placements for grids in ("every", "published"))


def baseline_suites(name: str, setting: str) -> tuple[Suite, ...]:
    """What a baseline is measured on: the paper's table, more digits and terms, long carries; or what its task says."""
    config = find_baseline(name).configure(setting)
    task, network = config.learns, find_baseline(name).network(config)
    more = map(Suite.parse, _MORE_OF_BASELINES if task.most_terms is None else task.suites)
    suites = _each_once(*(COLLECTIONS["comparison"] if task.most_terms is None else ()), *more)
    return tuple(suite for suite in suites if network.fits(suite.space))


def named(names: Iterable[str]) -> tuple[str, ...]:
    """What these names of `--variants` stand for: variants, exact, and baselines as NAME/SETTING."""
    found: list[str] = []
    for name in names:
        alone, _, setting = name.partition("/")
        if name in (*PAPER_VARIANTS, EXACT) or (alone in BASELINES and setting in SETTINGS):
            found.append(name)
        elif name == ALL_BASELINES or name in BASELINES:
            found += [f"{one}/{setting}" for setting in SETTINGS for one in BASELINES if name in (ALL_BASELINES, one)]
        else:
            known = (*PAPER_VARIANTS, EXACT, ALL_BASELINES, *BASELINES)
            advice = f"there are {', '.join(known)}; a baseline also as NAME/native and NAME/matched"
            raise ConfigError(f"unknown variant {name!r}; {did_you_mean(name, known, advice)}")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True)
class Reproduction:
    """Some of what can be trained, from some seeds."""

    variants: tuple[str, ...]
    seeds: tuple[int, ...]
    quick: bool = False
    setting: str | None = None
    """Another interpretation of the paper than the default."""
    blocks: tuple[int, ...] = (0,)
    """Block N has the seeds N times as far on; the best runs of each block are chosen and overtrained."""

    @property
    def paper(self) -> tuple[str, ...]:
        return tuple(name for name in self.variants if name in PAPER_VARIANTS)

    @property
    def baselines(self) -> tuple[str, ...]:
        return tuple(name for name in self.variants if "/" in name)

    def jobs(self) -> list[Job]:
        """All but the report, in the order they are done."""
        standard = [self._standard(name, block) for block in self.blocks for name in self.paper]
        overtrained = [self._overtrained(training) for training in standard if training.subject in OVERTRAINED]
        jobs = [*jobs_of(standard), *jobs_of(overtrained)]
        found = sorted(jobs, key=lambda job: job.stage == "measure")  # which nothing waits for
        if EXACT in self.variants:
            config = find(EXACT).configure(changes=_QUICK_EXACT if self.quick else {})
            sheet = Sheet("measure", f"records/{EXACT}.jsonl", self._asked(OF_EXACT, BY_A_RULE), proved_alone=True)
            found += jobs_of([Train(EXACT, config, self.seeds, (sheet,))])
        return found + jobs_of([self._baseline(*name.split("/")) for name in self.baselines])

    def _standard(self, variant_name: str, block: int) -> Train:
        config = override(variant(variant_name, self.setting), _QUICK_PAPER if self.quick else {})
        name = f"{BLOCK}{block}/{variant_name}" if block else variant_name
        validate, measure = self._sheets(name)
        if block:  # of what is not overtrained there, Table VI alone is told
            measure = replace(measure, asked=self._asked(COLLECTIONS["ablation"], ON_EVERY_GRID))
        seeds = tuple(seed + block * len(self.seeds) for seed in self.seeds)
        # Overtraining goes on with the optimiser's moments.
        return Train(name, config, seeds, (validate, measure), keep_checkpoint=variant_name in OVERTRAINED)

    def _sheets(self, name: str) -> tuple[Sheet, Sheet]:
        validation = self._asked(COLLECTIONS["validation"], ON_EVERY_GRID)
        validate = Sheet("validate", f"{name}/validation.jsonl", validation, VALIDATION_SEED)
        return validate, Sheet("measure", records_of(name), self._asked(REPORTED))

    def _overtrained(self, standard: Train) -> Train:
        name = overtrained_name(standard.name)
        epochs = 1 if self.quick else OVERTRAINING_EPOCHS
        config = override(standard.config, {"objective.weight": OVERTRAINING_WEIGHT, "training.epochs": epochs})
        sheets, a_seed_for_each_aim = self._sheets(name), standard.seeds[:2]
        return Train(name, config, a_seed_for_each_aim, sheets, standard, "overtrain", False)

    def _baseline(self, name: str, setting: str) -> Train:
        config = find(name).configure(setting, changes=_QUICK_EPOCHS if self.quick else {})
        folder, every = f"{name}-{setting}", baseline_suites(name, setting)
        suites = [replace(suite, samples=128 if suite.space.digits[1] > 300 else 256) for suite in every]
        sheet = Sheet("measure", BASELINE_RECORDS, self._asked(suites, BY_A_BASELINE), model=folder)
        return Train(folder, config, self.seeds, (sheet,))

    def _asked(self, suites: Iterable[Suite], *ways: Way) -> tuple[Asked, ...]:
        """In these ways; where none is named, in all that the paper's networks are measured in."""
        if self.quick:
            some = [suite for suite in suites if suite.name in _QUICK_SUITES]
            few = [1 if suite.space.digits[1] >= LEAKY_DIGITS else _QUICK_SAMPLES for suite in some]
            suites = [s if s.expressions else replace(s, samples=count) for s, count in zip(some, few, strict=True)]
        return tuple(Asked(suite, way) for suite in suites for way in ways or _all_ways(suite))


def records_of(name: str) -> str:
    """The file with the records of a training run, in the folder that its own lies in."""
    return str(PurePath(name).parent / "records" / f"{PurePath(name).name}.jsonl")


def overtrained_name(name: str) -> str:
    return f"{name}-overtrained"
