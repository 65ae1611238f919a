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
    """Whether a Host header names this server: localhost, a numeric address, or one of its names. A browser that
    somebody else's page has tricked into asking us names somebody else's host."""
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        return name in ("localhost", *map(str.lower, names)) or bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def guarded(app: ASGIApp, most: int, host_names: Sequence[str]) -> ASGIApp:
    """Refuses what may not be asked, and protects the page."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def protected(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = _refused(scope, most, host_names) if scope["type"] == "http" else None
        await (refused or app)(scope, receive, protected)

    return answer


def _refused(scope: Scope, most: int, host_names: Sequence[str]) -> ASGIApp | None:
    """What is answered to a request that may not be made."""
    headers, address = Headers(scope=scope), len(scope["raw_path"]) + len(scope["query_string"])
    close = {"connection": "close"}
    if address + sum(len(name) + len(value) for name, value in headers.raw) > _HEAD:
        why = f"the headers and the address have more than {_HEAD:,} bytes"
        return JSONResponse({"error": why}, 431, close)
    if not knows(headers.get("host", ""), host_names):
        return JSONResponse({"error": "this server does not go by that name; start it with --host-name NAME"}, 421)
    if "transfer-encoding" in headers or int(headers.get("content-length", 0)) > most:
        why = f"the request has more than {most:,} bytes, or does not say how many; ask for less at once"
        return JSONResponse({"error": why}, 413, close)
    return None
