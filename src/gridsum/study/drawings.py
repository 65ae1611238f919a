"""Which figures a reproduction can draw, and of what; `gridsum figure` draws them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gridsum.model.store import WEIGHTS
from gridsum.study.results import Results
from gridsum.training.folders import seed_folder


@dataclass(frozen=True)
class Drawing:
    """A figure: its name, the options it is made with (None while they cannot be told), and what it shows."""

    name: str
    """Also what `gridsum figure` calls it."""
    kind: str
    """Of file: pictures of very many points are smaller as pixels."""
    made_of: Callable[[Results], list[str] | None]
    needs: str
    caption: str

    def options(self, results: Results) -> list[str] | None:
        """What it is made with; None while that is not there, or no longer: weights need not be kept."""
        found = self.made_of(results)
        if found is None or (found[0] == "--model" and not any(Path(found[1]).rglob(WEIGHTS))):
            return None
        return found

    def captioned(self, results: Results) -> str:
        """What it shows, and of which runs."""
        options = self.made_of(results)
        if options is None:
            return self.caption
        return f"{self.caption} Drawn from {', '.join(_called(Path(part), results.folder) for part in options[1:])}."


def _called(path: Path, folder: Path) -> str:
    """A file of records, a training or a run, as the page calls it."""
    if path.suffix == ".jsonl":
        return path.stem
    return " of ".join(reversed(path.relative_to(folder).parts)).replace("seed-", "seed ")


def _best_run(results: Results, variant: str) -> Path | None:
    """The folder of the run that stands beside the paper's."""
    run = results.standing_for(variant)
    return None if run is None else seed_folder(results.folder / run.training.name, run.seed)


def _best_base(results: Results) -> list[str] | None:
    run = _best_run(results, "base")
    return None if run is None else ["--model", str(run)]


def _best_with_content_rules(results: Results) -> list[str] | None:
    """noGroups, whose heads see all features, has content-based heads; base may have none."""
    run = _best_run(results, "noGroups")
    return _best_base(results) if run is None else ["--model", str(run)]


def _records_of_the_best(results: Results) -> list[str] | None:
    files = [results.folder / "records" / f"{name}.jsonl" for name in ("base-overtrained", "base")]
    found = next((path for path in files if path.exists()), None)
    return None if found is None else ["--records", str(found)]


def _both_regularisers(results: Results) -> list[str] | None:
    folders = [results.folder / name for name in ("base", "ponderReg")]
    return ["--runs", *map(str, folders)] if all(folder.name in results.trained for folder in folders) else None


def _all_seeds_of_base(results: Results) -> list[str] | None:
    return ["--model", str(results.folder / "base")] if "base" in results.trained else None


_CHOICE = "it needs the weights of a validated run of"
DRAWINGS = (
    Drawing(
        "terms",
        "svg",
        _records_of_the_best,
        "it needs records of base",
        "Steps and accuracy against the number of terms (the paper's Fig. 2).",
    ),
    Drawing(
        "training",
        "svg",
        _both_regularisers,
        "it needs the trainings of base and ponderReg",
        "Mean recurrent steps during training, Explore-Reinforce (base) and KL (ponderReg) (Fig. 3).",
    ),
    Drawing(
        "placement",
        "svg",
        _best_base,
        f"{_CHOICE} base",
        "Action probabilities and the resulting grid of 523+102+9416= (Fig. 4).",
    ),
    Drawing(
        "attention",
        "png",
        _best_with_content_rules,
        f"{_CHOICE} noGroups or base",
        "A position-based and a content-based rule of the attention, the clearest of each by the bits that decide "
        "where a head looks (Fig. 5).",
    ),
    Drawing(
        "ring",
        "png",
        _all_seeds_of_base,
        "it needs the weights of base",
        "Digit vectors on their first two principal components, seed by seed (Fig. 6).",
    ),
)


def drawings_at(page: Path) -> dict[Drawing, Path]:
    """The figures, and where each belongs beside a page."""
    return {drawing: page.parent / "figures" / f"{drawing.name}.{drawing.kind}" for drawing in DRAWINGS}
