"""Write the page that tells the story of the proved rule and runs it: plain files, without a server, for any web host
or for a browser on this machine.

examples:
  gridsum page --out site
  gridsum page --out site --model base noGroups
"""

from pathlib import Path

from gridsum.cli.options import Options, Parser
from gridsum.cli.output import tell
from gridsum.io.disk import write_atomically
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL


def add_options(parser: Parser) -> None:
    parser.option("--out FOLDER", "where to write; created if it does not exist", required=True)
    told = f"networks of the paper to race {DEFAULT_MODEL} against and to look into (default: {INSIDE_MODEL})"
    parser.option("--model MODEL...", told)


def run(options: Options) -> None:
    place = Path(options.out)
    place.mkdir(parents=True, exist_ok=True)
    from gridsum.api.loading import load
    from gridsum.api.models import PaperModel
    from gridsum.page.site import site

    models = [load(name) for name in dict.fromkeys(options.model or [INSIDE_MODEL]) if name != DEFAULT_MODEL]
    networks = [model.runs for model in models if isinstance(model, PaperModel)]
    files = site(networks)
    for name, content in files.items():
        write_atomically(place / name, content)
    size = sum(map(len, files.values()))
    tell(f"gridsum: wrote {len(files)} files ({size / 1e6:.1f} MB) to {place}; open {place / 'index.html'}")
