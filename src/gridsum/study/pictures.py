"""The figures beside a reproduction's pages: what each shows, and how it is drawn of what the folder holds."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gridsum.analysis import FigureError
from gridsum.analysis.ring import rings_of
from gridsum.api.loading import load
from gridsum.evaluation.records import read
from gridsum.model.store import StoreError, load_runs, locate, shipped_records
from gridsum.study.baselines import PICTURE
from gridsum.study.reproduction import BASELINE_RECORDS, Reproduction, records_of
from gridsum.study.results import Results
from gridsum.study.tables import numbers
from gridsum.training.folders import seed_folder

CAPTIONS = {
    "numbers.svg": "All 52 numbers of Tables III and IV: the paper's, and every replication's.",
    "carries.svg": "Sums of 2x10 in which one carry crosses so many columns.",
    "terms.svg": "Steps and accuracy against terms (Fig. 2).",
    "training.svg": "Steps during training: Explore-Reinforce (base), KL (ponderReg) (Fig. 3).",
    "placement.svg": "Actions and the resulting grid of 523+102+9416= (Fig. 4).",
    "attention.png": "A position-based and a content-based rule of attention (Fig. 5).",
    "ring.png": "Digit vectors on two principal components, by seed (Fig. 6).",
}
"""What the figures beside a page show; pictures of very many points are smaller as pixels."""
_EXPRESSION = "523+102+9416"


def draw_figures(results: Results, page: Path, asked: Reproduction, tell: Callable[[str], None]) -> None:
    """Every figure that there are data and libraries for; the others are left out, and why is said."""
    try:
        from gridsum.figures import save
    except ImportError as error:
        tell(f"the figures are left out: {error}")
        return
    paths = [page.parent / PICTURE] if asked.baselines else []
    for path in paths + ([page.parent / "figures" / name for name in CAPTIONS] if asked.paper else []):
        try:
            save(_drawn(path.stem, results), path)
            tell(f"wrote {path}")
        except (FigureError, StoreError, FileNotFoundError) as why:  # weights, too, need not be kept
            tell(f"left out ({path.stem}): {why}")


def drawn_at(page: Path) -> dict[str, str]:
    """The figures that lie beside a page, by name: as the page shows them, each with what is seen there."""
    shown = [name for name in CAPTIONS if (page.parent / "figures" / name).exists()]
    return {Path(name).stem: f"![Figure](figures/{name})\n\n{CAPTIONS[name]}\n" for name in shown}


def _drawn(name: str, results: Results) -> Any:
    from gridsum import figures

    folder = results.folder
    match name:
        case "comparison":  # all baselines, beside `exact` and `base`
            ours = map(shipped_records, ("exact", "base"))
            return figures.plot_baselines(read([*ours, folder / BASELINE_RECORDS]))
        case "numbers":
            return figures.plot_numbers(numbers(results.replications()))
        case "carries":
            return figures.plot_carries(read([shipped_records("exact"), *sorted(folder.glob("**/records/*.jsonl"))]))
        case "terms":
            paths = [folder / records_of(name) for name in ("base-overtrained", "base")]
            return figures.plot_terms(read([path for path in paths if path.exists()][:1]))
        case "training":
            return figures.plot_training([folder / name for name in ("base", "ponderReg")])
        case "ring":
            return figures.plot_rings(rings_of(load_runs("base", locate(str(folder / "base")))))
        case "placement":
            return load(_chosen(results, "base")).trace(_EXPRESSION).plot("placement")
    # noGroups, whose heads see all features, has content-based heads; base may have none.
    model = load(_chosen(results, "noGroups", "base"))
    return figures.plot_attention(model.trace(_EXPRESSION).inside, model.network.step.attention)


def _chosen(results: Results, *names: str) -> str:
    """The folder of the run that stands for the first of these variants that has one."""
    run = next((run for run in map(results.standing_for, names) if run is not None), None)
    return str(results.folder / names[0] if run is None else seed_folder(run.place, run.seeds[0]))
