"""A server at work: where it listens, which token it asks for, how it stops."""

import os
import re
import socket
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from gridsum.serve.limits import Limits

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

TOKEN = "GRIDSUM_TOKEN"
# Connections that the system keeps for the server while it is busy.
_BACKLOG = 2048
# Files and sockets of the process that are not connections.
_OTHER_FILES = 64


class ServeError(ValueError):
    """A server that cannot start; the message says what to do."""


def make_server(app: "FastAPI", limits: Limits) -> "uvicorn.Server":
    import uvicorn

    from gridsum.serve.connections import Connection

    config = uvicorn.Config(
        app,
        http=partial(Connection, limits, {}),  # type: ignore[arg-type]
        ws="none",
        log_level="error",  # so that no client can fill a disk
        access_log=False,
        timeout_keep_alive=limits.read_seconds,
        timeout_graceful_shutdown=limits.grace_seconds,
        backlog=_BACKLOG,
    )
    return uvicorn.Server(config)


def serve(app: "FastAPI", limits: Limits, listener: socket.socket) -> None:
    """Serve until a signal comes, with as many open files as there may be connections, if the system allows them."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limits.max_connections + _OTHER_FILES), hard))
    with suppress(KeyboardInterrupt):  # which comes or not, as the event loop happens to stand
        make_server(app, limits).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A socket that is there before the models are loaded: a port in use is told at once."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except (socket.gaierror, UnicodeError):
        raise ServeError(f"there is no address {host!r} here; use 127.0.0.1, or 0.0.0.0 for all") from None
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0].lower()
        raise ServeError(
            f"cannot listen on port {port} of {host}: {reason}; choose another with --port, 0 for a free one"
        ) from None


def read_token() -> str | None:
    """The token in the environment, if there is one."""
    token = os.environ.get(TOKEN)
    if token is not None and not re.fullmatch(r"[A-Za-z0-9._~+/=-]{8,}", token):
        raise ServeError(f"no token in the variable {TOKEN}: that is at least 8 letters, digits or any of ._~+/=-")
    return token
