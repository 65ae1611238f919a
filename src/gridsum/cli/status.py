"""`gridsum status`: how far a campaign or a sweep is, and where its pieces run."""

from collections.abc import Sequence
from pathlib import Path

from gridsum.cli.output import emit
from gridsum.cli.parsing import Parser


def _parser() -> Parser:
    parser = Parser(
        "status",
        "Show the pieces of a reproduction or a sweep: what is done, what runs where and how long it will still take, "
        "what waits. It reads the folder alone, or what lies at an address, so it can be called on any machine that "
        "sees it.",
        "gridsum status FOLDER [--all]",
        "examples:\n  gridsum status mine\n  gridsum status out/quick --all\n  gridsum status s3://bucket/mine",
    )
    parser.add_argument("folder", metavar="FOLDER", help="the --out of gridsum reproduce or gridsum sweep")
    parser.add_argument("--all", action="store_true", help="also show pieces that are done")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    from gridsum.study.storage import copied, is_address

    if not is_address(options.folder):
        _tell(Path(options.folder), options.all)
        return 0
    with copied(options.folder, "status", whole=False) as copy:
        _tell(copy.folder, options.all)
    return 0


def _tell(folder: Path, everything: bool) -> None:
    from gridsum.study.campaign import holds_campaign, read_campaign
    from gridsum.study.pieces import Piece, pieces
    from gridsum.study.proved import EXACT
    from gridsum.study.sweep import Discover, holds_sweep, read_sweep, sweep_pieces
    from gridsum.study.whereabouts import whereabouts
    from gridsum.training.folders import holds_exact, read_exact_setup

    exact = folder / EXACT
    wanted: list[Piece] = [Discover(folder, EXACT, *read_exact_setup(exact))] if holds_exact(exact) else []
    if holds_sweep(folder):
        wanted += sweep_pieces(folder, *read_sweep(folder))
    elif holds_campaign(folder) or not wanted:
        wanted += pieces(read_campaign(folder))
    places = whereabouts(folder)
    counts = {"done": 0, "running": 0, "waiting": 0, "ready": 0}
    for piece in wanted:
        for part in piece.parts() if not piece.state().finished else [piece]:
            state, place = part.state(), places.get(part.name)
            if state.finished:
                counts["done"] += 1
                told = "done" if everything else ""
            elif place is not None and place.current:
                counts["running"] += 1
                left = place.seconds_left
                told = f"runs on {place.machine} (process {place.process})"
                told += "" if left is None else f", about {left / 60:.0f} min left"
            elif state.waits_for:
                counts["waiting"] += 1
                told = f"waits for {state.waits_for}" if everything else ""
            else:
                counts["ready"] += 1
                told = "not running"
            if told:
                emit(f"{part.name:<44} {state.done:>5} of {state.total} {state.unit:<8} {told}")
    emit("; ".join(f"{count} {name}" for name, count in counts.items()))
