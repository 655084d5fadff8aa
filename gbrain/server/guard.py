"""What every request passes first: Host and Origin, the token, the size of its body, timeouts."""

from __future__ import annotations

from typing import NamedTuple

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from gbrain.brain import timestamp
from gbrain.errors import GbrainError
from gbrain.server.responses import error_response
from gbrain.server.tokens import Authenticator
from gbrain.text.page import MAX_PAGE_BYTES

# A page in JSON, with most of its characters escaped.
MAX_BODY_BYTES = 2 * MAX_PAGE_BYTES
BODY_SECONDS = 30.0
SEND_SECONDS = 30.0

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_RAW_HEADERS = [(name.lower().encode(), value.encode()) for name, value in _HEADERS.items()]


class GuardOptions(NamedTuple):
    """The address that requests must name, unless a proxy has checked it."""

    host: str
    port: int
    behind_proxy: bool


class Guard:
    """Refuses requests before anything of them is used, and adds security headers to responses."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, options: GuardOptions) -> None:
        self._app, self._authenticator, self._options = app, authenticator, options

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *_RAW_HEADERS]}
            with anyio.fail_after(SEND_SECONDS):
                await send(message)

        response = self._refuse(scope)
        if response is not None:
            await response(scope, receive, send_with_headers)
            return
        await self._app(scope, receive, send_with_headers)

    def _refuse(self, scope: AsgiScope) -> Response | None:
        """Return the response to a request that may not pass; None if it may."""
        headers = Headers(scope=scope)
        if not self._is_own_host(headers.get("host")):
            return _refusal("The Host header names another server", "wrong_host")
        origin = headers.get("origin")
        if origin is not None and not self._is_own_origin(origin, headers.get("host", "")):
            return _refusal("A page of another site sent this request", "forbidden")
        if not scope["path"].startswith(("/api/", "/mcp")) or scope["path"] == "/api/session":
            return None
        kind, _, secret = headers.get("authorization", "").partition(" ")
        access = None
        if kind.lower() == "bearer" and secret:
            access = self._authenticator.authenticate(secret.strip(), timestamp())
        if access is None:
            return _refusal("A valid token is needed", "unauthorized")
        scope["access"] = access
        return None

    def _is_own_host(self, host: str | None) -> bool:
        if self._options.behind_proxy:
            return host is not None
        names = {self._options.host, "127.0.0.1", "localhost", "[::1]"}
        return host is not None and host.lower() in {
            f"{name}:{self._options.port}" for name in names
        }

    def _is_own_origin(self, origin: str, host: str) -> bool:
        return origin.lower() in (f"http://{host.lower()}", f"https://{host.lower()}")


def _refusal(message: str, code: str) -> Response:
    hints = {
        "unauthorized": "Send Authorization: Bearer TOKEN; gbrain token add NAME makes a token.",
        "wrong_host": "Use the address that gbrain serve prints.",
        "forbidden": "Open the page at the address that gbrain prints.",
    }
    return error_response(GbrainError(message, hint=hints[code], code=code))
