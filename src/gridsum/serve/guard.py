"""What every request passes before the API sees it: which host it names, whether it may ask, how much it sends."""

import hmac
import ipaddress
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridsum.serve.metrics import Metrics

HEADERS = {
    # The browser itself holds the page to its promise that nothing comes from outside.
    "content-security-policy": "default-src 'self'; img-src 'self' blob: data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # A new version of gridsum must not meet an old page.
    "cache-control": "no-cache",
}
TOO_LARGE, UNKNOWN_HOST, NOT_ALLOWED = 413, 421, 401
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
        name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() else host
        name = name.strip("[]").lower().rstrip(".")
        if name == "localhost" or name in (known.lower() for known in self.host_names):
            return True
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return False
        own = (scope.get("server") or ("",))[0]
        return address.is_loopback or str(address) == own

    def allows(self, headers: dict[bytes, bytes], scope: Scope) -> bool:
        if self.token is None or scope["path"] == _OPEN:
            return True
        return any(
            hmac.compare_digest(given.encode(), self.token.encode()) for given in self._given(headers, scope) if given
        )

    def asked_by_address(self, scope: Scope) -> bool:
        """Whether the token stands in the address, as when a person opens the page with it."""
        return self.token is not None and self._in_query(scope) == self.token

    @property
    def cookie(self) -> str:
        return f"{_COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"

    def _given(self, headers: dict[bytes, bytes], scope: Scope) -> tuple[str, ...]:
        bearer = headers.get(b"authorization", b"").decode("latin-1")
        try:
            kept = SimpleCookie(headers.get(b"cookie", b"").decode("latin-1")).get(_COOKIE)
        except CookieError:
            kept = None
        return bearer.removeprefix("Bearer ").strip(), kept.value if kept is not None else "", self._in_query(scope)

    def _in_query(self, scope: Scope) -> str:
        return parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]


class Guard:
    """Refuses what may not be asked and bodies that no request within the limits can have; protects the page."""

    def __init__(self, app: ASGIApp, most: int, access: Access, metrics: Metrics) -> None:
        self._app, self._most, self._access, self._metrics = app, most, access, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, read = time.perf_counter(), 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._most:
                message = f"the request has more than {self._most:,} bytes; ask for less at once"
                raise HTTPException(TOO_LARGE, message, {"connection": "close"})
            return message

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._metrics.answered(message["status"], time.perf_counter() - began)
                known = {name.lower() for name, _ in message["headers"]}
                added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                if self._access.asked_by_address(scope):
                    added.append((b"set-cookie", self._access.cookie.encode()))
                message["headers"] = [*message["headers"], *(pair for pair in added if pair[0] not in known)]
            await send(message)

        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._access.knows(host, scope):
            told = "this server does not go by that name; start it with --host-name NAME"
            await JSONResponse({"error": told, "limit": None}, UNKNOWN_HOST)(scope, receive, guarded)
        elif not self._access.allows(headers, scope):
            told = "this server asks for its token: as 'Authorization: Bearer TOKEN', or once as ?token=TOKEN"
            answer = JSONResponse({"error": told, "limit": None}, NOT_ALLOWED, {"www-authenticate": "Bearer"})
            await answer(scope, receive, guarded)
        else:
            await self._app(scope, counted, guarded)
