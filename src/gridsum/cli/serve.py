"""Serve a page on which a network can be watched at work: how it lays a sum out on its grid, carries, and stops; where
its attention looks; how its digits are represented. The API behind the page is described at /docs.

A request beyond a limit is answered with a message that names it. Work is
abandoned when its client has gone.

examples:
  gridsum serve
  gridsum serve --port 9000 --model base runs/mine/seed-3
  gridsum serve --host 0.0.0.0 --max-cells 2000
"""

import ipaddress
import socket
from contextlib import suppress

from gridsum.cli.options import Options, Parser, UsageError, add_device, whole_number
from gridsum.cli.output import tell

_GRACE_SECONDS = 10
"""How long requests may continue once the server is told to stop."""


def add_options(parser: Parser) -> None:
    parser.option("--host ADDRESS", "where to listen; 0.0.0.0 lets other machines in", default="127.0.0.1")
    parser.option("--port N", "0 for a free one", type=whole_number(0, 1 << 16), default=8000)
    parser.option(
        "--model MODEL...",
        "shipped models' names, folders of one trained seed, weights files or rules as JSON; the first is the default "
        "(default: all shipped models)",
    )
    told = "names under which clients may reach this server, beside localhost and numeric addresses"
    parser.option("--host-name NAME...", told)
    cells, waiting = whole_number(1, 2**31), whole_number(0, 2**31)
    parser.option("--max-cells N", "the most cells of one grid, rows × columns", type=cells, default=20_000)
    parser.option("--max-waiting N", "the most requests of one client that may wait", type=waiting, default=256)
    add_device(parser, "cpu")


def run(options: Options) -> None:
    try:
        import uvicorn

        from gridsum.serve.app import create_app
    except ModuleNotFoundError as missing:
        raise UsageError(f"the page needs {missing.name}, which is not installed; pip install '.[serve]'") from None
    from gridsum.api.loading import load
    from gridsum.model.store import shipped

    names = list(dict.fromkeys(options.model or shipped()))
    with _listen(options.host, options.port) as listener:
        models = [load(name, device=options.device) for name in names]
        app = create_app(models, options.max_cells, options.max_waiting, options.host_name)
        host, port = listener.getsockname()[:2]
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        tell(f"gridsum serves {', '.join(names)} on {address} (Ctrl+C stops it)")
        if not ipaddress.ip_address(host).is_loopback:
            tell("other machines that can reach this one may ask it, too")
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            log_level="error",  # so that no client can fill a disk
            access_log=False,
            timeout_graceful_shutdown=_GRACE_SECONDS,
        )
        with suppress(KeyboardInterrupt):  # which comes or not, as the event loop happens to stand
            uvicorn.Server(config).run(sockets=[listener])
        tell("stopped")


def _listen(host: str, port: int) -> socket.socket:
    """A socket that is there before the models are loaded: a port in use is told at once."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"there is no address {host!r} here; use 127.0.0.1, or 0.0.0.0 for all") from None
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0].lower()
        why = f"cannot listen on port {port} of {host}: {reason}; choose another with --port, 0 for a free one"
        raise UsageError(why) from None
