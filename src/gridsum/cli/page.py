"""`gridsum page`: the page as a folder of files that any web host can serve, and any browser can open."""

from collections.abc import Sequence
from pathlib import Path

from gridsum.cli.output import tell
from gridsum.cli.parsing import Parser, UsageError, called_now, load_single
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL


def _parser() -> Parser:
    parser = Parser(
        "page",
        "Write the page that tells the story of the proved rule and runs it: plain files, without a server, for any "
        "web host or for a browser on this machine.",
        "gridsum page --out FOLDER [--model MODEL]... [--address URL]",
        "examples:\n"
        "  gridsum page --out site\n"
        "  gridsum page --out site --address https://example.org/sums\n"
        "  gridsum page --out site --model base --model noGroups",
    )
    parser.add_argument("--out", required=True, metavar="FOLDER", help="where to write; made if it is not there")
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help=f"a network of the paper to race {DEFAULT_MODEL} against and to look into; repeat it for several "
        f"(default: {INSIDE_MODEL})",
    )
    parser.add_argument(
        "--address", metavar="URL", help="where the page will be found; previews of links to it then have a picture"
    )
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    if options.address is not None and not options.address.startswith(("https://", "http://")):
        raise UsageError(f"the address {options.address!r} does not begin with https:// or http://")
    names = dict.fromkeys(called_now(name) for name in options.model or [INSIDE_MODEL])
    from gridsum.page.site import site

    models = [load_single(name, "cpu") for name in names if name != DEFAULT_MODEL]
    files = site(models, options.address)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    size = sum(map(len, files.values()))
    tell(f"gridsum: wrote {len(files)} files ({size / 1e6:.1f} MB) to {folder}; open {folder / 'index.html'}")
    return 0
