"""Which figures a reproduction can draw, and of what; `gridsum figure` draws them."""

from pathlib import Path
from typing import NamedTuple

from gridsum.model.store import WEIGHTS
from gridsum.study.reproduction import OVERTRAINED, STRUCTURED
from gridsum.study.results import Results
from gridsum.training.folders import seed_folder


class Drawing(NamedTuple):
    """A figure: what `gridsum figure` calls it, the kind of file, and what it shows."""

    name: str
    kind: str
    """Pictures of very many points are smaller as pixels."""
    caption: str

    def options(self, results: Results) -> list[str]:
        """The options that it is made with; none where there is nothing to draw it from: weights need not be kept."""
        folder, trained = results.folder, results.trained
        if self.name == "terms":
            files = [folder / "records" / f"{name}.jsonl" for name in ("base-overtrained", "base")]
            return [option for path in files if path.exists() for option in ("--records", str(path))][:2]
        if self.name == "numbers":
            return ["--runs", str(folder)] if any(map(results.standing_for, OVERTRAINED)) else []
        if self.name == "carries":
            path = folder / STRUCTURED
            return ["--records", str(path)] if path.exists() else []
        if self.name == "training":
            both = ("base", "ponderReg")
            return ["--runs", *(str(folder / name) for name in both)] if {*both} <= {*trained} else []
        if self.name == "ring":
            place = folder / "base"
        else:
            # noGroups, whose heads see all features, has content-based heads; base may have none.
            names = ("noGroups", "base") if self.name == "attention" else ("base",)
            run = next((run for run in map(results.standing_for, names) if run is not None), None)
            place = folder / "base" if run is None else seed_folder(folder / run.training.name, run.seed)
        return ["--model", str(place)] if any(place.rglob(WEIGHTS)) else []


DRAWINGS = (
    Drawing("numbers", "svg", "All 52 numbers of Tables III and IV: the paper's, and every replication's."),
    Drawing("carries", "svg", "Sums of two terms of ten digits in which one carry crosses so many columns."),
    Drawing("terms", "svg", "Steps and accuracy against the number of terms (Fig. 2)."),
    Drawing(
        "training", "svg", "Mean recurrent steps during training, Explore-Reinforce (base) and KL (ponderReg) (Fig. 3)."
    ),
    Drawing("placement", "svg", "Actions and the resulting grid of 523+102+9416= (Fig. 4)."),
    Drawing("attention", "png", "The clearest position-based and content-based rule of the attention (Fig. 5)."),
    Drawing("ring", "png", "Digit vectors on two principal components, by seed (Fig. 6)."),
)


def drawings_at(page: Path) -> dict[Drawing, Path]:
    """The figures, and where each belongs beside a page."""
    return {drawing: page.parent / "figures" / f"{drawing.name}.{drawing.kind}" for drawing in DRAWINGS}
