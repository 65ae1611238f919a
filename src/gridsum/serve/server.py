"""A server at work: where it listens, how it stops."""

import socket
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

_GRACE_SECONDS = 10
"""How long requests may continue once the server is told to stop."""


class ServeError(ValueError):
    """A server that cannot start; the message says what to do."""


def serve(app: "FastAPI", listener: socket.socket) -> None:
    """Serve until a signal comes."""
    import uvicorn

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


def listen(host: str, port: int) -> socket.socket:
    """A socket that is there before the models are loaded: a port in use is told at once."""
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family)
    except (socket.gaierror, UnicodeError):
        raise ServeError(f"there is no address {host!r} here; use 127.0.0.1, or 0.0.0.0 for all") from None
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (")[0].lower()
        raise ServeError(
            f"cannot listen on port {port} of {host}: {reason}; choose another with --port, 0 for a free one"
        ) from None
