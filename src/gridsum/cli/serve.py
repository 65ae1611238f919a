"""`gridsum serve`: the page that shows a network at work, and its API."""

import ipaddress
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gridsum.cli.output import tell
from gridsum.cli.parsing import Parser, UsageError, add_device, called_now, load_single, whole_number
from gridsum.serve.limits import Limits, meanings

if TYPE_CHECKING:
    import uvicorn

    from gridsum.model.store import Model
    from gridsum.serve.collection import Rule
    from gridsum.serve.workshop import Workshop

_PORTS = 1 << 16
_MOST = 1 << 31
_WORKERS = 64
# Connections that the system keeps for the server while it is busy.
_BACKLOG = 2048
# How long an answer may lie unread by its client.
_WRITE_SECONDS = 30
# Files and sockets of the process that are not connections.
_OTHER_FILES = 64
TOKEN = "GRIDSUM_TOKEN"


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
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="where to listen; 0.0.0.0 lets other machines in (default: 127.0.0.1, this machine only)",
    )
    parser.add_argument(
        "--port", type=whole_number(0, _PORTS), default=8000, metavar="N", help="0 for a free one (default: 8000)"
    )
    parser.add_argument(
        "--model",
        action="append",
        metavar="MODEL",
        help="a shipped model's name, the folder of one trained seed, or a weights file; repeat it to serve "
        "several, the first being the default (default: all shipped models)",
    )
    parser.add_argument(
        "--workers",
        type=whole_number(1, _WORKERS + 1),
        default=4,
        metavar="N",
        help="requests that are worked on in turn, so that short ones overtake long ones; the others wait for "
        "one to end (default: 4)",
    )
    parser.add_argument(
        "--host-name",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that clients may ask this server by, beside localhost and its addresses; repeat it for several",
    )
    parser.add_argument(
        "--token-file",
        metavar="FILE",
        help=f"a file with a token that every request must carry; the variable {TOKEN} may hold it instead "
        "(default: none)",
    )
    for name, default, meaning in (
        ("read", 10, "a request may take to arrive"),
        ("keep-alive", 5, "a connection may be idle between requests"),
        ("grace", 10, "requests may go on when the server is stopped; then they are told so"),
    ):
        parser.add_argument(
            f"--{name}-seconds",
            type=whole_number(1, 3600),
            default=default,
            metavar="N",
            help=f"how long {meaning} (default: {default})",
        )
    for name, meaning in meanings().items():
        default = getattr(Limits, name)
        parser.add_argument(
            f"--{name.replace('_', '-')}",
            type=whole_number(0 if name == "max_waiting" else 1, _MOST),
            default=default,
            metavar="N",
            help=f"the most {meaning} (default: {default})",
        )
    add_device(parser, "cpu")
    return parser


def run(arguments: Sequence[str]) -> int:
    options = _parser().read(arguments)
    try:
        import uvicorn

        from gridsum.serve.app import create_app
    except ModuleNotFoundError as missing:
        if missing.name not in ("fastapi", "uvicorn", "starlette", "pydantic"):
            raise
        raise UsageError(
            f"the page needs {missing.name}, which is not installed; pip install 'gridsum[serve]'"
        ) from None
    from gridsum.serve.connections import Connections
    from gridsum.serve.guard import Access
    from gridsum.serve.metrics import FewLines

    names, token = _names(options.model), _token(options.token_file)
    limits = Limits(**{name: getattr(options, name) for name in meanings()})
    connections = Connections(_room_for(limits.max_connections), options.read_seconds, _WRITE_SECONDS)
    with _listen(options.host, options.port) as listener:
        models = [_load(name, options.device) for name in names]
        app = create_app(models, limits, options.workers, Access(options.host_name, token), connections)
        tell(f"gridsum serves {', '.join(names)} on {_address(listener)} (Ctrl+C stops it)")
        if not _is_loopback(listener):
            asked = "that have its token" if token else "that can reach this one"
            tell(f"other machines {asked} may ask it, too")
        config = uvicorn.Config(
            app,
            http=connections.protocol(),
            log_level="warning",
            access_log=False,
            timeout_keep_alive=options.keep_alive_seconds,
            timeout_graceful_shutdown=options.grace_seconds + 3,
            backlog=_BACKLOG,
        )
        few = FewLines()
        for logger in ("uvicorn.error", "asyncio"):
            logging.getLogger(logger).addFilter(few)
        server = uvicorn.Server(config)
        watch = threading.Thread(target=_stop_in_time, args=(server, app.state.workshop, options.grace_seconds))
        watch.daemon = True
        watch.start()
        with suppress(KeyboardInterrupt):  # which comes or not, as the event loop happens to stand
            server.run(sockets=[listener])
        tell("stopped")
    return 0


def _stop_in_time(server: "uvicorn.Server", workshop: "Workshop", grace: float) -> None:
    """When the server is asked to stop, let what it works on end, and after some time give it up."""
    while not server.should_exit:
        time.sleep(0.05)
    workshop.closing = True
    end = time.monotonic() + grace
    while workshop.taken and time.monotonic() < end:
        time.sleep(0.05)
    workshop.stop()


def _token(file: str | None) -> str | None:
    token = os.environ.get(TOKEN) if file is None else Path(file).read_text(encoding="utf-8").strip()
    if not token and (file is None):
        return None
    if not token or not re.fullmatch(r"[A-Za-z0-9._~+/=-]{8,}", token):
        raise UsageError("a token is at least 8 letters, digits or any of ._~+/=-")
    return token


def _room_for(most: int) -> int:
    """So many connections, or as many as the system gives this process files for."""
    try:
        import resource
    except ImportError:
        return most
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return most if soft == resource.RLIM_INFINITY else max(1, min(most, soft - _OTHER_FILES))


def _load(name: str, device: str) -> "Model | Rule":
    """What serves: the table of a rule, or a network."""
    from gridsum.api.loading import has_rule, rule_model
    from gridsum.model.store import facts_of_file
    from gridsum.serve.collection import Rule

    if not has_rule(name):
        return load_single(name, device)
    found = rule_model(name)
    return Rule(name, found.table, facts_of_file(name, found.weights))


def _names(given: list[str] | None) -> list[str]:
    from gridsum.model.store import shipped

    names = [called_now(name) for name in given or shipped()]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(f"model {twice!r} is named twice; name it once")
    if not names:
        raise UsageError("no models come with this gridsum; train one and name its folder with --model")
    return names


def _listen(host: str, port: int) -> socket.socket:
    """A socket that is there before the models are loaded: a port in use is told at once."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise UsageError(f"there is no address {host!r} here; use 127.0.0.1, or 0.0.0.0 for all") from None
    listener = socket.socket(family, kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise UsageError(
            f"cannot listen on port {port} of {host}: {reason}; choose another with --port, 0 for a free one"
        ) from None
    return listener


def _address(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _is_loopback(listener: socket.socket) -> bool:
    return ipaddress.ip_address(listener.getsockname()[0]).is_loopback
