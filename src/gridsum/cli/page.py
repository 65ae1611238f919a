"""`gridsum page`: the page as a folder of files that any web host can serve, and any browser can open."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from gridsum.cli.options import Folder, ModelName, UsageError, Value, option, required, several
from gridsum.cli.output import tell
from gridsum.io.names import DEFAULT_MODEL, INSIDE_MODEL


@dataclass(frozen=True, kw_only=True)
class Options:
    """Write the page that tells the story of the proved rule and runs it: plain files, without a server, for any web
    host or for a browser on this machine.

    examples:
      gridsum page --out site
      gridsum page --out site --address https://example.org/sums
      gridsum page --out site --model base noGroups
      gridsum page --out site --training runs/small/seed-0
    """

    out: Folder = required("where to write; made if it is not there")
    model: tuple[ModelName, ...] = several(
        f"networks of the paper to race {DEFAULT_MODEL} against and to look into (default: {INSIDE_MODEL})"
    )
    address: Annotated[str | None, Value("URL")] = option(
        "where the page will be found; previews of links to it then have a picture"
    )
    source: Annotated[str | None, Value("URL")] = option("where gridsum's source is found; the page then links to it")
    training: Folder | None = option(
        "the folder of one seed of exact whose learning the page shows, trained with --discovery.keep_epochs (default: "
        "the one that comes with gridsum)"
    )


def run(options: Options) -> int:
    folder = Path(options.out)
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; name a folder")
    for address in (options.address, options.source):
        if address is not None and not address.startswith(("https://", "http://")):
            raise UsageError(f"the address {address!r} does not begin with https:// or http://")
    from gridsum.api.loading import load
    from gridsum.api.networks import PaperModel
    from gridsum.page.site import site

    models = [load(name) for name in dict.fromkeys(options.model or [INSIDE_MODEL]) if name != DEFAULT_MODEL]
    training = None
    if options.training is not None:
        from gridsum.page.training import training_script

        training = training_script(Path(options.training))
    networks = [model.runs for model in models if isinstance(model, PaperModel)]
    files = site(networks, options.address, training, options.source)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    size = sum(map(len, files.values()))
    tell(f"gridsum: wrote {len(files)} files ({size / 1e6:.1f} MB) to {folder}; open {folder / 'index.html'}")
    return 0
