"""`gridsum animate`: a sum being worked out, as a film."""

from collections.abc import Sequence

from gridsum.cli.figure import load_figures
from gridsum.cli.output import check_writable, tell, write_result
from gridsum.cli.parsing import Parser
from gridsum.cli.watching import add_watching, watch


def _parser() -> Parser:
    parser = Parser(
        "animate",
        "Make a film of a sum being worked out: the input written onto the grid symbol by symbol, the steps, "
        "and the answer, right or wrong.",
        "gridsum animate EXPR --out FILE [options]",
        "examples:\n"
        "  gridsum animate 523+102+9416 --out sum.gif\n"
        "  gridsum animate 99999+1 --model base --halting median --out carry.mp4",
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="FILE",
        help="where to write; its name ends in .gif, or in .mp4 where the program ffmpeg is installed",
    )
    add_watching(parser)
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    figures = load_figures()
    suffix = figures.animation.check_film(options.out)
    check_writable(options.out)
    trace = watch(options)
    write_result(options.out, figures.animation.to_bytes(trace.inside, trace.answer, suffix))
    tell(f"gridsum: wrote {options.out}")
    return 0
