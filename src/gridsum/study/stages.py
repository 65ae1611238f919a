"""The stages of `gridsum reproduce` around its jobs: the plan, figures and report."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from gridsum.evaluation.records import read
from gridsum.io.disk import write_atomically
from gridsum.io.limits import duration
from gridsum.model.store import shipped, shipped_records
from gridsum.ops.devices import describe, on_gpu
from gridsum.study import baselines
from gridsum.study.jobs import Job, title
from gridsum.study.report import write_pages
from gridsum.study.reproduction import Reproduction
from gridsum.study.results import Results, keep, load_results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def plan(jobs: Sequence[Job], folder: Path, device: torch.device) -> str:
    """What is done and what is left, with the time it takes."""
    if not jobs:
        return "  nothing of this has a cost"
    lines, total = [], 0.0
    width = max(_SUBJECT_WIDTH, *(len(job.training.name) + 2 for job in jobs))
    for job in jobs:
        state = job.state(folder)
        seconds = 0.0 if state.finished else job.seconds(folder, device)
        total += seconds
        left = "done" if state.finished else f"about {duration(seconds)}" if seconds else "not estimated"
        amount = f"{state.done} of {state.total} {state.unit}"
        lines.append(f"  {job.stage:<11} {job.training.name:<{width}}{amount:<20}{left}")
    done, threads = all(line.endswith("done") for line in lines), torch.get_num_threads()
    rate = "the rate of an H200" if on_gpu(device) else f"the rate of a server's cores, of which it uses {threads}"
    left = f"left: about {duration(total)} on {describe(device).split(';')[0]}, by {rate}"
    return "\n".join([*lines, f"  {'nothing is left to do' if done else left}"])


def draw_figures(folder: Path, page: Path, asked: Reproduction, tell: Tell) -> None:
    """Every figure that there are data and libraries for; the others are left out, and why is said."""
    try:
        from gridsum.figures import save
        from gridsum.study import pictures
    except ImportError as error:
        tell(f"the figures are left out: {error}")
        return
    wanted: dict[Path, Callable[[], Figure]] = {}
    if asked.baselines:
        wanted[page.parent / baselines.PICTURE] = partial(pictures.of_baselines, folder)
    if asked.paper:
        results = _results(folder)
        for path in (page.parent / "figures" / file for file in CAPTIONS):
            wanted[path] = partial(pictures.draw, path.stem, results)
    for path, draw in wanted.items():
        try:
            save(draw(), path)
            tell(f"wrote {path}")
        except pictures.LACKING as why:
            tell(f"left out ({path.stem}): {why}")


def drawn_at(page: Path) -> dict[str, tuple[Path, str]]:
    """The figures that lie beside a page: by name, where, and what each shows."""
    places = {page.parent / "figures" / name: caption for name, caption in CAPTIONS.items()}
    return {path.stem: (path, caption) for path, caption in places.items() if path.exists()}


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
