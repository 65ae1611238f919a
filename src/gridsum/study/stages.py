"""The stages of `gridsum reproduce` around its jobs: the plan, figures and report."""

from collections.abc import Callable, Sequence
from pathlib import Path

from gridsum.evaluation.records import read
from gridsum.io.disk import write_atomically
from gridsum.model.store import WEIGHTS, shipped, shipped_records
from gridsum.study import baselines
from gridsum.study.jobs import Job, title
from gridsum.study.report import write_pages
from gridsum.study.reproduction import BASELINE_RECORDS, OVERTRAINED, Reproduction, records_of
from gridsum.study.results import Results, keep, load_results
from gridsum.training.folders import seed_folder

_SUBJECT_WIDTH = 24
"""Of the column of training runs in a plan, at least."""
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
Tell = Callable[[str], None]


class ReportError(ValueError):
    """A folder that nothing can be told of; the message says what to do."""


def plan(jobs: Sequence[Job], folder: Path) -> str:
    """What is done and what is left."""
    if not jobs:
        return "  nothing of this is a job"
    lines = []
    width = max(_SUBJECT_WIDTH, *(len(job.training.name) + 2 for job in jobs))
    for job in jobs:
        state = job.state(folder)
        amount = "done" if state.finished else f"{state.done} of {state.total} {state.unit}"
        lines.append(f"  {job.stage:<11} {job.training.name:<{width}}{amount}")
    done = all(line.endswith("done") for line in lines)
    return "\n".join([*lines, *(["  nothing is left to do"] if done else [])])


def draw_figures(
    folder: Path, page: Path, asked: Reproduction, draw: Callable[[list[str]], str | None], tell: Tell
) -> None:
    """Every figure that there are data and libraries for; the others are left out, and why is said.

    `draw` takes the arguments of `gridsum figure`, and returns why it could not be drawn.
    """
    left_out: dict[str, list[str]] = {}
    wanted: dict[Path, list[str]] = {}
    if asked.baselines:
        ours_and_theirs = ["--records", "exact", "base", str(folder / BASELINE_RECORDS)]
        wanted[page.parent / baselines.PICTURE] = ["baselines", *ours_and_theirs]
    if asked.paper:
        results = _results(folder)
        for path in (page.parent / "figures" / file for file in CAPTIONS):
            if options := options_of(path.stem, results):
                wanted[path] = [path.stem, *options]
            else:
                left_out.setdefault("their records or weights are not there yet", []).append(path.stem)
    for path, arguments in wanted.items():
        why = draw([*arguments, "--out", str(path)])
        if why is not None:
            left_out.setdefault(why, []).append(arguments[0])
    for why, names in left_out.items():
        tell(f"left out ({', '.join(names)}): {why}")


def drawn_at(page: Path) -> dict[str, tuple[Path, str]]:
    """The figures that lie beside a page: by name, where, and what each shows."""
    places = {page.parent / "figures" / name: caption for name, caption in CAPTIONS.items()}
    return {path.stem: (path, caption) for path, caption in places.items() if path.exists()}


def options_of(name: str, results: Results) -> list[str]:
    """The options that a figure is made with; none where there is nothing to draw it from: weights need not be kept."""
    folder, trained = results.folder, results.trained
    if name == "numbers":
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


def write_report(folder: Path, page: Path, asked: Reproduction, tell: Tell) -> None:
    """The pages of what was asked for, from what the folder holds by now."""
    made: dict[Path, str] = {}
    if asked.paper:
        results = _results(folder)
        for one in results.replications():
            keep(one)
        lacking = [title(job) for job in asked.jobs() if not job.state(folder).finished]
        made = write_pages(
            results, page, f"gridsum reproduce --out {folder} --only figures report", drawn_at(page), lacking
        )
    if asked.baselines:
        ours = [shipped_records(name) for name in shipped() if shipped_records(name).exists()]
        made |= baselines.pages([*read(ours), *baselines.baseline_records(folder)], folder, page.parent)
    for path, text in made.items():
        write_atomically(path, text.encode())
        tell(f"wrote {path}")


def _results(folder: Path) -> Results:
    results = load_results(folder)
    if not results.trained:
        raise ReportError(f"no training run in {folder} yet; run: gridsum reproduce --out {folder} --only train")
    return results
