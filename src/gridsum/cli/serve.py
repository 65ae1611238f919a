"""`gridsum serve`: the page that shows a network at work, and its API."""

import ipaddress
from collections.abc import Sequence
from typing import Any

from gridsum.cli.output import tell
from gridsum.cli.parsing import Parser, UsageError, add_device, called_now, whole_number
from gridsum.serve.limits import Limits, meanings
from gridsum.serve.server import TOKEN, listen, read_token
from gridsum.serve.server import run as run_server

_PORTS, _MOST = 1 << 16, 1 << 31
_PARSED = {"workers": (1, 65), "max_waiting": (0, _MOST)}


def _parser() -> Parser:
    parser = Parser(
        "serve",
        "Serve a page on which a network can be watched at work: how it lays a sum out on its grid, carries, "
        "and stops; where its attention looks; how its digits are represented. The API behind the page is "
        "described at /docs.",
        "gridsum serve [--port N] [--model MODEL]... [options]",
        "A request beyond a limit is answered with a message that names it. Work whose\n"
        "client has gone is given up.\n\n"
        "examples:\n"
        "  gridsum serve\n"
        "  gridsum serve --port 9000 --model base --model runs/mine/seed-3\n"
        "  gridsum serve --host 0.0.0.0 --max-digits 50 --workers 4",
    )
    several: dict[str, Any] = {"action": "append", "default": []}
    for name, metavar, told, how in (
        ("host", "ADDRESS", "where to listen; 0.0.0.0 lets other machines in", {"default": "127.0.0.1"}),
        ("port", "N", "0 for a free one", {"type": whole_number(0, _PORTS), "default": 8000}),
        ("model", "MODEL", "a shipped model's name, the folder of one trained seed, a weights file or the JSON of a "
         "rule; repeat it to serve several, the first being the default (default: all shipped models)", several),
        ("host-name", "NAME", "a name that clients may ask this server by, beside localhost and its addresses; repeat "
         "it for several", several),
        ("token-file", "FILE", f"a file with a token that every request must carry; the variable {TOKEN} may hold it "
         "instead (default: none)", {}),
    ):  # fmt: skip
        default = f" (default: {how['default']})" if how.get("default") else ""
        parser.add_argument(f"--{name}", metavar=metavar, help=told + default, **how)
    for name, meaning in meanings().items():
        default, bounds = getattr(Limits, name), _PARSED.get(name, (1, _MOST))
        told = f"{meaning} (default: {default})"
        how: dict[str, Any] = {"type": whole_number(*bounds), "default": default, "metavar": "N"}
        parser.add_argument(f"--{name.replace('_', '-')}", help=told, **how)
    add_device(parser, "cpu")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    names, token = _names(options.model), read_token(options.token_file, tell)
    limits = Limits(**{name: getattr(options, name) for name in meanings()})
    try:
        import uvicorn  # noqa: F401

        from gridsum.serve.app import create_app
        from gridsum.serve.guard import Access
    except ModuleNotFoundError as missing:
        raise UsageError(
            f"the page needs {missing.name}, which is not installed; pip install 'gridsum[serve]'"
        ) from None
    from gridsum.api.loading import load

    with listen(options.host, options.port) as listener:
        models = [load(name, device=options.device) for name in names]
        app = create_app(models, limits, Access(options.host_name, token))
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        tell(f"gridsum serves {', '.join(names)} on {address} (Ctrl+C stops it)")
        if not ipaddress.ip_address(host).is_loopback:
            tell(f"other machines that {'have its token' if token else 'can reach this one'} may ask it, too")
        run_server(app, limits, listener)
        tell("stopped")
    return 0


def _names(given: Sequence[str]) -> list[str]:
    from gridsum.model.store import shipped

    names = [called_now(name) for name in given or shipped()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"model {twice!r} is named twice; name it once")
    return names
