"""A server at work: where it listens, which token it asks for, how it stops."""

import logging
import os
import re
import socket
import stat
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
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

    few = FewLines()
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addFilter(few)
    config = uvicorn.Config(
        app,
        http=app.state.connections.protocol,
        ws="none",
        log_level="warning",
        access_log=False,
        timeout_keep_alive=limits.keep_alive_seconds,
        timeout_graceful_shutdown=limits.grace_seconds,
        backlog=_BACKLOG,
    )
    return uvicorn.Server(config)


def serve(app: "FastAPI", limits: Limits, listener: socket.socket) -> None:
    """Serve until a signal comes."""
    allow_files(limits.max_connections)
    with suppress(KeyboardInterrupt):  # which comes or not, as the event loop happens to stand
        make_server(app, limits).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """A socket that is there before the models are loaded: a port in use is told at once."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except (socket.gaierror, UnicodeError):
        raise ServeError(f"there is no address {host!r} here; use 127.0.0.1, or 0.0.0.0 for all") from None
    listener = socket.socket(family, kind)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        reason = (error.strerror or str(error)).lower()
        raise ServeError(
            f"cannot listen on port {port} of {host}: {reason}; choose another with --port, 0 for a free one"
        ) from None
    return listener


def read_token(file: str | None, tell: Callable[[str], None]) -> str | None:
    """The token in a file, or else in the environment; None where there is neither."""
    token, place = os.environ.get(TOKEN), f"the variable {TOKEN}"
    if file is not None:
        token, place = Path(file).read_text(encoding="ascii", errors="replace").strip(), file
        if os.name == "posix" and os.stat(file).st_mode & stat.S_IROTH:
            tell(f"everybody on this machine can read {file}; keep it to yourself with: chmod 600 {file}")
    if token is not None and not re.fullmatch(r"[A-Za-z0-9._~+/=-]{8,}", token):
        raise ServeError(f"{place} holds no token: that is at least 8 letters, digits or any of ._~+/=-")
    return token


def allow_files(connections: int) -> None:
    """Ask the system for as many open files as there may be connections."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, connections + _OTHER_FILES), hard))


class FewLines(logging.Filter):
    """Lets so many lines through in a stretch of time; then one says how many were left out."""

    def __init__(self, lines: int = 20, seconds: float = 60.0) -> None:
        super().__init__()
        self._most, self._stretch = lines, seconds
        self._began, self._seen = -seconds, 0
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        with self._lock:
            now = time.monotonic()
            if now - self._began >= self._stretch:
                left_out = self._seen - self._most
                self._began, self._seen = now, 0
                if left_out > 0:
                    record.msg = f"({left_out} lines were left out before this one) {record.msg}"
            self._seen += 1
            return self._seen <= self._most
