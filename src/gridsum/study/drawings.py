"""Which figures a reproduction can draw, and of what; `gridsum figure` draws them."""

from pathlib import Path

from gridsum.model.store import WEIGHTS
from gridsum.study.reproduction import OVERTRAINED, records_of
from gridsum.study.results import Results
from gridsum.training.folders import seed_folder

CAPTIONS = {
    "numbers.svg": "All 52 numbers of Tables III and IV: the paper's, and every replication's.",
    "leakage.svg": "What each run's placement loses, and how long the terms are that it adds.",
    "carries.svg": "Sums of 2x10 in which one carry crosses so many columns.",
    "terms.svg": "Steps and accuracy against terms (Fig. 2).",
    "training.svg": "Steps during training: Explore-Reinforce (base), KL (ponderReg) (Fig. 3).",
    "placement.svg": "Actions and the resulting grid of 523+102+9416= (Fig. 4).",
    "attention.png": "A position-based and a content-based rule of attention (Fig. 5).",
    "ring.png": "Digit vectors on two principal components, by seed (Fig. 6).",
}
"""What the figures beside a page show; pictures of very many points are smaller as pixels."""


def drawn_at(page: Path) -> dict[str, tuple[Path, str]]:
    """The figures that lie beside a page: by name, where, and what each shows."""
    places = {page.parent / "figures" / name: caption for name, caption in CAPTIONS.items()}
    return {path.stem: (path, caption) for path, caption in places.items() if path.exists()}


def options_of(name: str, results: Results) -> list[str]:
    """The options that a figure is made with; none where there is nothing to draw it from: weights need not be kept."""
    folder, trained = results.folder, results.trained
    if name in ("numbers", "leakage"):
        return ["--runs", str(folder)] if any(map(results.standing_for, OVERTRAINED)) else []
    if name == "carries":
        return ["--records", "exact", *map(str, sorted(folder.glob("**/records/*.jsonl")))]
    if name == "terms":
        paths = [records_of("base-overtrained"), records_of("base")]
        return next((["--records", str(folder / path)] for path in paths if (folder / path).exists()), [])
    if name == "training":
        both = ("base", "ponderReg")
        return ["--runs", *(str(folder / name) for name in both)] if {*both} <= {*trained} else []
    # noGroups, whose heads see all features, has content-based heads; base may have none.
    names = {"ring": (), "attention": ("noGroups", "base"), "placement": ("base",)}[name]
    run = next((run for run in map(results.standing_for, names) if run is not None), None)
    place = folder / "base" if run is None else seed_folder(folder / run.training.name, run.seed)
    return ["--model", str(place)] if any(place.rglob(WEIGHTS)) else []
