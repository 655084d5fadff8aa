"""The HTTP server: JSON routes, MCP over streamable HTTP and the files of the browser page."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from gbrain import __version__
from gbrain.brain import Brain, timestamp
from gbrain.errors import GbrainError, raised_at
from gbrain.mcp.server import INSTRUCTIONS, ToolService
from gbrain.mcp.session import Session
from gbrain.server.guard import Guard, GuardOptions
from gbrain.server.requests import read_arguments, read_object
from gbrain.server.responses import error_response, internal_error, json_response
from gbrain.server.routes import ROUTES, ApiRoute
from gbrain.server.tokens import Access, Authenticator

log = logging.getLogger(__name__)

STATIC_FOLDER = Path(__file__).parent / "static"
KEEP_ALIVE_SECONDS = 15
SHUTDOWN_SECONDS = 5
MAX_HEADER_BYTES = 16 * 1024
MAX_CONNECTIONS = 200


class HttpOptions(NamedTuple):
    """How to listen: address, certificate files, and whether a proxy does the encryption."""

    host: str = "127.0.0.1"
    port: int = 8420
    read_only: bool = False
    cert: Path | None = None
    key: Path | None = None
    behind_proxy: bool = False


class Listening(NamedTuple):
    """A server that accepts requests: its address, and what issues codes for the browser page."""

    url: str
    authenticator: Authenticator


def serve_http(
    open_brain: Callable[[], Brain],
    options: HttpOptions = HttpOptions(),
    ready: Callable[[Listening], None] = lambda listening: None,
) -> None:
    """Answer requests until the process is stopped; `ready` is called when the port is open."""
    with open_brain() as brain:
        identity = brain.identity()
    authenticator = Authenticator(identity)
    listener = open_listener(options.host, options.port)
    scheme = "https" if options.cert else "http"
    host, port = listener.getsockname()[:2]
    url = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}/"
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(open_brain, authenticator, options, port),
            http="h11",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            limit_concurrency=MAX_CONNECTIONS,
            ssl_certfile=options.cert,
            ssl_keyfile=options.key,
        )
    )
    with listener:
        ready(Listening(url, authenticator))
        server.run(sockets=[listener])


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise GbrainError if the address is taken or unknown."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except BaseException:
            listener.close()
            raise
    except OSError as error:
        raise GbrainError(
            f"Cannot listen on {host}:{port}: {error.strerror}",
            hint="Choose another port: gbrain serve --http 127.0.0.1:8421",
            code="cannot_listen",
        ) from None
    return listener


def build_app(
    open_brain: Callable[[], Brain], authenticator: Authenticator, options: HttpOptions, port: int
) -> ASGIApp:
    """Return the ASGI application; `port` is the one that the Host header must name."""
    session = Session(open_brain)
    service: ToolService | None = None

    async def list_tools(context: Any, parameters: Any) -> Any:
        assert service is not None
        return await service.list_tools(context, parameters)

    async def call_tool(context: Any, parameters: Any) -> Any:
        assert service is not None
        return await service.call_tool(context, parameters)

    server: Server[Any] = Server(
        "gbrain",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        nonlocal service
        async with anyio.create_task_group() as background, manager.run():
            service = ToolService(session, background, read_only=options.read_only)
            service.start_embedding()
            yield
            background.cancel_scope.cancel()
        session.close()

    def endpoint(route: ApiRoute) -> Callable[[Request], Any]:
        async def answer(request: Request) -> Response:
            access: Access = request.scope["access"]
            try:
                if route.writes and (access.read_only or options.read_only):
                    raise GbrainError(
                        "This token may only read",
                        hint="gbrain token add NAME makes one that may write.",
                        code="read_only",
                    )
                arguments = await read_arguments(route, request)
                document = await session.run(
                    lambda brain: route.run(brain, arguments), writes=route.writes
                )
                if route.writes and service is not None:
                    service.start_embedding(document.get("slug"))
                return json_response(document)
            except GbrainError as error:
                return error_response(error)
            except Exception as error:
                # The message may quote a page, so only the place goes into the log.
                log.error("%s failed: %s at %s", route.path, type(error).__name__, raised_at(error))
                return error_response(internal_error(error))

        return answer

    async def exchange(request: Request) -> Response:
        try:
            code = (await read_object(request)).get("code")
        except GbrainError as error:
            return error_response(error)
        secret = authenticator.exchange_code(code, timestamp()) if isinstance(code, str) else None
        if secret is None:
            return error_response(
                GbrainError(
                    "The code is wrong, used or more than a minute old",
                    hint="gbrain ui opens the page with a new one.",
                    code="unauthorized",
                )
            )
        return json_response({"token": secret})

    class McpEndpoint:
        async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
            await manager.handle_request(scope, receive, send)

    routes: list[Any] = [
        *(Route(route.path, endpoint(route), methods=[route.method]) for route in ROUTES),
        Route("/api/session", exchange, methods=["POST"]),
        Route("/mcp", McpEndpoint(), methods=["POST"]),
    ]
    app = Starlette(routes=routes, lifespan=lifespan)
    app.mount("/", StaticFiles(directory=STATIC_FOLDER, html=True))
    return Guard(app, authenticator, GuardOptions(options.host, port, options.behind_proxy))
