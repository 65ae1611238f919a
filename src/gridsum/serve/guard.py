"""What every request passes before the API sees it: which host it names, how much it sends."""

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


def knows(host: str, names: Sequence[str]) -> bool:
    """Whether a Host header names this server: localhost, a numeric address, or one of its names.

    A browser that somebody else's page has tricked into asking us names somebody else's host, never an address.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return name in ("localhost", *map(str.lower, names)) or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


class Guard:
    """Refuses what may not be asked, and protects the page."""

    def __init__(self, app: ASGIApp, most: int, host_names: Sequence[str]) -> None:
        self._app, self._most, self._host_names = app, most, host_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (self._refusal(scope, Headers(scope=scope)) or self._app)(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> ASGIApp | None:
        """What is answered to a request that may not be made."""
        address = len(scope["raw_path"]) + len(scope["query_string"])
        if address + sum(len(name) + len(value) for name, value in headers.raw) > _HEAD:
            return _refused(431, f"the headers and the address have more than {_HEAD:,} bytes", connection="close")
        if not knows(headers.get("host", ""), self._host_names):
            return _refused(421, "this server does not go by that name; start it with --host-name NAME")
        if "transfer-encoding" in headers or int(headers.get("content-length", 0)) > self._most:
            why = f"the request has more than {self._most:,} bytes, or does not say how many; ask for less at once"
            return _refused(413, why, connection="close")
        return None


def _refused(status: int, why: str, **headers: str) -> ASGIApp:
    return JSONResponse({"error": why}, status, headers)
