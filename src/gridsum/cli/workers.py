"""Those who do the pieces of a campaign or a sweep, where --on names them."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.api.progress import Progress
from gridsum.cli.evaluate import source_commit

if TYPE_CHECKING:
    from gridsum.study.pieces import Piece
    from gridsum.study.workers import Workers


def do_by_workers(
    wanted: "Sequence[Piece]", folder: Path, options: argparse.Namespace, shown: Progress, check: Callable[[], None]
) -> "list[Piece]":
    """Do the pieces by the workers that --on names; returns those that wait for others."""

    def note(text: str) -> None:
        shown.note(f"gridsum: {text}")

    with _workers(options, note) as workers:
        parts = workers.parts(wanted)
        commit = getattr(options, "commit", None) or source_commit()
        where = options.place or folder
        note(f"{len(parts)} pieces on {workers.described}; gridsum status {where} says how far")
        return workers.run(parts, folder, commit, note, check, options.copy)


def _workers(options: argparse.Namespace, note: Callable[[str], None]) -> "Workers":
    from gridsum.study.cluster import Cluster
    from gridsum.study.processes import Processes

    kind, _, most = options.on.partition(":")
    if kind == "processes":
        return Processes(int(most))
    return Cluster(options.on, gpus_per_piece=options.gpus_per_piece, note=note)
