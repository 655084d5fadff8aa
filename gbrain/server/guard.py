"""What every request passes first: Host and Origin, its token, the size of its body."""

from __future__ import annotations

import logging
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as AsgiScope

from gbrain.brain import timestamp
from gbrain.errors import GbrainError, raised_at
from gbrain.server.address import is_loopback
from gbrain.server.responses import error_response, internal_error
from gbrain.server.tokens import Authenticator
from gbrain.text.page import MAX_PAGE_BYTES

log = logging.getLogger(__name__)

# A page in JSON, with many of its characters escaped.
MAX_BODY_BYTES = 2 * MAX_PAGE_BYTES
# A code of the browser page is shorter, and its sender is not authenticated yet.
MAX_CODE_BYTES = 1024
MAX_BUFFERED_BYTES = 4 * MAX_BODY_BYTES
MAX_REQUESTS = 100
# Without a token a body is read here alone: those who send theirs slowly must not be in the way of
# requests with a token.
MAX_EXCHANGES = 10
BODY_SECONDS = 30.0
SESSION_PATH = "/api/session"

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

_HINTS = {
    "unauthorized": "Send Authorization: Bearer TOKEN; gbrain token add NAME makes a token.",
    "wrong_host": "Use the address that gbrain serve prints; --allow-host NAME allows another.",
    "forbidden": "Open the page at the address that gbrain prints.",
    "body_too_large": f"The limit is {MAX_BODY_BYTES:,} bytes.",
    "timeout": f"Send the body within {BODY_SECONDS:.0f} seconds.",
    "busy": "Try again in a moment.",
}


class OwnAddress(NamedTuple):
    """The addresses that requests may name: where the server listens, and names of a proxy."""

    host: str
    port: int
    allowed_hosts: tuple[str, ...] = ()

    def is_own_host(self, host: str | None) -> bool:
        """Return whether a Host header names this server.

        A page of another site whose name leads to this machine (DNS rebinding) names that site.
        """
        parts = _split_host(host)
        if parts is None:
            return False
        name, port = parts
        if name in self.allowed_hosts:
            return True
        if port != self.port:
            return False
        if name == self.host.lower() or is_loopback(name):
            return True
        return self._listens_everywhere() and _is_ip(name)

    def is_own_origin(self, origin: str, host: str) -> bool:
        """Return whether a page that sends this Origin comes from this server."""
        try:
            parts = urlsplit(origin)
            name = (parts.hostname or "").lower()
        except ValueError:
            return False
        if parts.scheme not in ("http", "https"):
            return False
        return parts.netloc.lower() == host.lower() or name in self.allowed_hosts

    def _listens_everywhere(self) -> bool:
        return self.host in ("0.0.0.0", "::")


def first_part(path: str) -> str:
    """Return "api" for the path /api and for those below it."""
    return path.removeprefix("/").partition("/")[0]


def _split_host(host: str | None) -> tuple[str, int | None] | None:
    """Return name and port of a Host header; None if it is malformed."""
    if not host:
        return None
    try:
        parts = urlsplit(f"//{host}")
        if parts.path or parts.query or parts.username is not None or not parts.hostname:
            return None
        return parts.hostname.lower(), parts.port
    except ValueError:
        return None


def _is_ip(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Refuses requests before anything of them is used, and adds security headers to responses."""

    def __init__(self, app: ASGIApp, authenticator: Authenticator, address: OwnAddress) -> None:
        self._app, self._authenticator, self._address = app, authenticator, address
        self._requests = 0
        self._exchanges = 0
        self._buffered = 0

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": [*message["headers"], *_RAW_HEADERS]}
            await send(message)

        async def refuse(response: Response) -> None:
            # Nobody reads the rest of the body.
            response.headers["Connection"] = "close"
            await response(scope, receive, send_with_headers)

        body = bytearray()
        exchanges = scope["path"] == SESSION_PATH
        self._requests += 1
        self._exchanges += exchanges
        try:
            if self._requests > MAX_REQUESTS or (exchanges and self._exchanges > MAX_EXCHANGES):
                await refuse(_refusal("Too many requests at once", "busy"))
                return
            refused = self._refuse(scope)
            if refused is not None:
                await refuse(refused)
                return
            if not exchanges and "access" not in scope:
                # A file of the browser page. It needs no body, and anyone may ask for it.
                await self._app(scope, receive, send_with_headers)
                return
            refused = await self._read_body(scope, receive, body)
            if refused is not None:
                await refuse(refused)
                return
            await self._app(scope, _replay(bytes(body), receive), send_with_headers)
        except Exception as error:
            # The message may quote a page, so only the place goes into the log.
            log.error("A request failed: %s at %s", type(error).__name__, raised_at(error))
            if not started:
                await refuse(error_response(internal_error(error)))
        finally:
            self._requests -= 1
            self._exchanges -= exchanges
            self._buffered -= len(body)

    def _refuse(self, scope: AsgiScope) -> Response | None:
        """Return the response to a request that may not pass; None if it may."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host"), headers.get("origin")
        if len(headers.getlist("host")) > 1 or not self._address.is_own_host(host):
            return _refusal("The Host header names another server", "wrong_host")
        if origin is not None and not self._address.is_own_origin(origin, host or ""):
            return _refusal("A page of another site sent this request", "forbidden")
        path: str = scope["path"]
        if first_part(path) not in ("api", "mcp") or path == SESSION_PATH:
            return None
        kind, _, secret = headers.get("authorization", "").partition(" ")
        access = None
        if kind.lower() == "bearer" and secret:
            try:
                access = self._authenticator.authenticate(secret.strip(), timestamp())
            except GbrainError as error:
                return error_response(error)
        if access is None:
            return _refusal("A valid token is needed", "unauthorized")
        scope["access"] = access
        return None

    async def _read_body(
        self, scope: AsgiScope, receive: Receive, body: bytearray
    ) -> Response | None:
        """Add the body of a request to `body`; return the response to one too large or too slow."""
        most = MAX_CODE_BYTES if scope["path"] == SESSION_PATH else MAX_BODY_BYTES
        declared = Headers(scope=scope).get("content-length", "")
        if declared.isdecimal() and int(declared[:19]) > most:
            return _refusal("The body of the request is too large", "body_too_large")
        try:
            with anyio.fail_after(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        break
                    part = message.get("body", b"")
                    body += part
                    self._buffered += len(part)
                    if len(body) > most:
                        return _refusal("The body of the request is too large", "body_too_large")
                    if self._buffered > MAX_BUFFERED_BYTES:
                        return _refusal("Too many large requests at once", "busy")
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            return _refusal("The body of the request came too slowly", "timeout")
        return None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return what gives the body to the application, and then only whether the client is gone."""
    given = False

    async def replay() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay


def _refusal(message: str, code: str) -> Response:
    return error_response(GbrainError(message, hint=_HINTS[code], code=code))
