"""The figures beside a reproduction's pages, drawn of what its folder holds."""

from pathlib import Path

from matplotlib.figure import Figure

from gridsum import figures
from gridsum.analysis import AnalysisError
from gridsum.analysis.curves import terms_curves, training_curve
from gridsum.analysis.ring import rings_of
from gridsum.api.loading import load
from gridsum.evaluation.paper import LONG_TERMS
from gridsum.evaluation.records import read
from gridsum.figures.style import FigureError
from gridsum.model.store import StoreError, load_runs, locate, shipped_records
from gridsum.study.reproduction import BASELINE_RECORDS, records_of
from gridsum.study.results import Results
from gridsum.study.tables import numbers
from gridsum.training.folders import seed_folder

LACKING = (AnalysisError, FigureError, StoreError, FileNotFoundError)
"""What is raised where something is not there that a figure is drawn of; weights need not be kept."""
_EXPRESSION = "523+102+9416"


def draw(name: str, results: Results) -> Figure:
    folder = results.folder
    match name:
        case "numbers":
            return figures.plot_numbers(numbers(results.replications()))
        case "carries":
            return figures.plot_carries(read([shipped_records("exact"), *sorted(folder.glob("**/records/*.jsonl"))]))
        case "terms":
            paths = [folder / records_of(name) for name in ("base-overtrained", "base")]
            return figures.plot_terms(terms_curves(read([path for path in paths if path.exists()][:1])), LONG_TERMS)
        case "training":
            return figures.plot_training([training_curve(folder / name) for name in ("base", "ponderReg")])
        case "ring":
            return figures.plot_rings(rings_of(load_runs("base", locate(str(folder / "base")))))
        case "placement":
            return load(_chosen(results, "base")).trace(_EXPRESSION).plot("placement")
    # noGroups, whose heads see all features, has content-based heads; base may have none.
    model = load(_chosen(results, "noGroups", "base"))
    return figures.plot_attention(model.trace(_EXPRESSION).inside, model.network.step.attention)


def of_baselines(folder: Path) -> Figure:
    """All baselines, beside `exact` and `base`."""
    return figures.plot_baselines(read([*map(shipped_records, ("exact", "base")), folder / BASELINE_RECORDS]))


def _chosen(results: Results, *names: str) -> str:
    """The folder of the run that stands for the first of these variants that has one."""
    run = next((run for run in map(results.standing_for, names) if run is not None), None)
    return str(results.folder / names[0] if run is None else seed_folder(run.training.place, run.seed))
