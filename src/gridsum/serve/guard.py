"""What every request passes before the API sees it: which host it names, whether it may ask, how much it sends."""

import asyncio
import hmac
import ipaddress
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from prometheus_client import CollectorRegistry, Counter, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridsum.serve.connections import Connection

HEADERS = {
    # The browser itself holds the page to its promise that nothing comes from outside.
    "content-security-policy": "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # A new version of gridsum must not meet an old page.
    "cache-control": "no-cache",
}
_HEAD = 1 << 14
"""Bytes of the address and the headers of a request; h11 limits only what does not arrive at once."""
_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_COOKIE = "gridsum-token"
_OPEN = "/health"
"""What may be asked without a token."""


@dataclass(frozen=True)
class Access:
    """Who may ask."""

    host_names: Sequence[str] = ()
    """Names of this server, beside localhost and the addresses it listens on."""
    token: str | None = field(default=None, repr=False)
    """What a request must carry, if anything."""

    def knows(self, host: str, scope: Scope) -> bool:
        """Whether a Host header names this server.

        A page of somebody else's that a browser was tricked into asking us for names somebody else's host.
        """
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
            if name == "localhost" or name in map(str.lower, self.host_names):
                return True
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or str(address) == (scope.get("server") or ("",))[0]

    def allows(self, token: str) -> bool:
        return self.token is not None and hmac.compare_digest(token.encode(), self.token.encode())


class Guard:
    """Refuses what may not be asked, bounds the body, counts, and protects the page."""

    def __init__(self, app: ASGIApp, most: int, access: Access, registry: CollectorRegistry) -> None:
        self._app, self._most, self._access = app, most, access
        self._requests = Counter("gridsum_requests", "Requests answered", ["status"], registry=registry)
        self._seconds = Histogram("gridsum_request_seconds", "Until an answer", buckets=_SECONDS, registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection: Connection = scope["state"]["connection"]
        connection.answering = asyncio.current_task()
        began, started, read = time.perf_counter(), False, 0
        query = scope["query_string"].decode("latin-1")

        async def bounded() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                why = f"the request has more than {self._most:,} bytes; ask for less at once"
                raise HTTPException(413, why, {"connection": "close"})
            return message

        async def guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                self._requests.labels(message["status"]).inc()
                self._seconds.observe(time.perf_counter() - began)
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if "token=" in query and self._access.allows(token := _in_query(query)):
                    headers["set-cookie"] = f"{_COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/"
            await send(message)

        try:
            answer = self._refusal(scope, Headers(scope=scope), query) or self._app
            await answer(scope, bounded, guarded)
        except asyncio.CancelledError:  # the client has gone, or the time to stop is over
            if not started:
                stopped = _refused(503, "the server is being stopped; ask again in a moment", retry_after="1")
                await stopped(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers, query: str) -> ASGIApp | None:
        """What is answered to a request that may not be made."""
        if sum(len(name) + len(value) for name, value in headers.raw) + len(query) > _HEAD:
            return _refused(431, f"the headers and the address have more than {_HEAD:,} bytes", connection="close")
        if not self._access.knows(headers.get("host", ""), scope):
            return _refused(421, "this server does not go by that name; start it with --host-name NAME")
        bearer = headers.get("authorization", "").removeprefix("Bearer ").strip()
        given = (bearer, _in_cookie(headers.get("cookie", "")), _in_query(query))
        if self._access.token is None or scope["path"] == _OPEN or any(map(self._access.allows, given)):
            return None
        why = "this server asks for its token: as 'Authorization: Bearer TOKEN', or once as ?token=TOKEN"
        return _refused(401, why, www_authenticate="Bearer")


def _refused(status: int, why: str, **headers: str) -> ASGIApp:
    return JSONResponse(
        {"error": why, "limit": None}, status, {name.replace("_", "-"): told for name, told in headers.items()}
    )


def _in_query(query: str) -> str:
    return parse_qs(query).get("token", [""])[0]


def _in_cookie(cookie: str) -> str:
    """A token needs no quotes, which the standard library takes very long to undo."""
    pairs = (pair.strip().partition("=") for pair in cookie.split(";"))
    return next((value for name, _, value in pairs if name == _COOKIE), "")
