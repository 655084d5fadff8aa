"""The application behind the HTTP server: JSON routes, MCP, and the files of the browser page."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
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
from gbrain.errors import GbrainError, NotFound, UsageError, raised_at
from gbrain.mcp import handlers
from gbrain.mcp.reply import Reply
from gbrain.mcp.server import INSTRUCTIONS, ToolService
from gbrain.mcp.tools import Tool
from gbrain.output.json import Document
from gbrain.server.audit import AuditLog
from gbrain.server.guard import MAX_BODY_BYTES, SESSION_PATH, Guard, OwnAddress, first_part
from gbrain.server.openapi import openapi_document
from gbrain.server.requests import read_arguments, read_object
from gbrain.server.responses import error_response, internal_error, json_response
from gbrain.server.routes import ATTACHMENT, ROUTES, ApiRoute
from gbrain.server.sessions import Sessions
from gbrain.server.tokens import Access, Authenticator

log = logging.getLogger(__name__)

STATIC_FOLDER = Path(__file__).parent / "static"

Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """Answers the routes below /api for callers that differ in what they may do."""

    def __init__(
        self,
        sessions: Sessions,
        authenticator: Authenticator,
        audit: AuditLog,
        *,
        read_only: bool,
    ) -> None:
        self._sessions, self._authenticator, self._audit = sessions, authenticator, audit
        self._read_only = read_only
        self.tools: ToolService | None = None

    def may_write(self, access: Access) -> bool:
        """Return whether a caller may write."""
        return not (self._read_only or access.read_only)

    def handler(self, route: ApiRoute) -> Handler:
        """Return the function that answers requests to a route."""

        async def answer(request: Request) -> Response:
            access: Access = request.scope["access"]
            if not route.writes:
                return json_response(await self._call(route, request, access))
            document = await self._call(route, request, access)
            if self.tools:
                self.tools.start_embedding(document.get("slug"))
            return json_response(document)

        return answer

    async def _call(self, route: ApiRoute, request: Request, access: Access) -> Document:
        if route.writes and not self.may_write(access):
            raise GbrainError(
                "You may only read",
                hint="A token without --read-only is needed, and a server without it.",
                code="read_only",
            )
        arguments = await read_arguments(route, request)
        if route.compares_vectors and self.tools:
            await self.tools.wait_for_new_pages()

        def run(brain: Brain) -> Document:
            if not route.writes:
                return route.run(brain, arguments)
            action = f"{route.method} {route.path.partition('/{')[0]}"
            with self._audit.recording(access.name, action, arguments) as done:
                done.update(route.run(brain, arguments))
            return done

        return await self._sessions.run(access, run, writes=route.writes)

    async def image(self, request: Request) -> Response:
        """Answer with an image that a page shows, from the folder of the page."""
        arguments = await read_arguments(ATTACHMENT, request)
        kind, data = await self._sessions.run(
            request.scope["access"],
            lambda brain: brain.image(arguments["slug"], arguments["path"]),
            writes=False,
        )
        return Response(data, headers={"Cache-Control": "no-store"}, media_type=kind)

    async def exchange(self, request: Request) -> Response:
        """Answer with a token for the code that gbrain ui put into the address of the page.

        `read_only` says that every write will be refused, so that the page offers none.
        """
        code = (await read_object(request)).get("code")
        if not isinstance(code, str):
            raise UsageError("code is missing", hint='For example: {"code": "..."}')
        secret = self._authenticator.exchange_code(code, timestamp())
        if secret is None:
            raise GbrainError(
                "The code is wrong, used or more than a minute old",
                hint="gbrain ui opens the page with a new one.",
                code="unauthorized",
            )
        return json_response({"token": secret, "read_only": self._read_only})

    async def openapi(self, request: Request) -> Response:
        """Answer with the description of all routes."""
        return json_response(openapi_document())


class HttpToolService(ToolService):
    """The MCP tools for callers that differ in what they may do."""

    def __init__(
        self,
        sessions: Sessions,
        api: Api,
        audit: AuditLog,
        background: anyio.abc.TaskGroup,
        *,
        read_only: bool,
        replica: bool,
    ) -> None:
        super().__init__(sessions.writer, background, read_only=read_only, replica=replica)
        self._sessions, self._api, self._audit = sessions, api, audit

    def may_write(self, context: Any) -> bool:
        return self._api.may_write(_access(context))

    async def run(self, context: Any, tool: Tool, arguments: dict[str, Any]) -> Reply:
        access = _access(context)
        if tool.run in _TOOLS_WITH_VECTORS:
            await self.wait_for_new_pages()

        def call(brain: Brain) -> Reply:
            if not tool.writes:
                return tool.run(brain, arguments)
            with self._audit.recording(access.name, tool.name, arguments) as done:
                reply = tool.run(brain, arguments)
                done.update(reply.document)
            return reply

        return await self._sessions.run(access, call, writes=tool.writes)


_TOOLS_WITH_VECTORS = (handlers.query, handlers.ask, handlers.recall, handlers.explain)


def _access(context: Any) -> Access:
    access: Access = context.request.scope["access"]
    return access


class PathEndpoint:
    """Answers all methods of one path; errors are the documents that commands print."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self._handlers = handlers
        if "GET" in handlers:
            self._handlers = {**handlers, "HEAD": handlers["GET"]}

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        handler = self._handlers.get(request.method)
        if handler is None:
            allowed = ", ".join(self._handlers)
            response = error_response(
                UsageError(
                    f"{request.method} is not possible here",
                    hint=f"Use {allowed}.",
                    code="method_not_allowed",
                )
            )
            response.headers["Allow"] = allowed
        else:
            try:
                response = await _until_disconnected(request, handler)
            except GbrainError as error:
                response = error_response(error)
            except Exception as error:
                # The message may quote a page, so only the place goes into the log.
                log.error(
                    "%s failed: %s at %s", request.method, type(error).__name__, raised_at(error)
                )
                response = error_response(internal_error(error))
        await response(scope, receive, send)


async def _until_disconnected(request: Request, handler: Handler) -> Response:
    """Return the response; if the client is gone before it is ready, the call is cancelled."""
    response: Response | None = None
    failure: Exception | None = None
    await request.body()
    async with anyio.create_task_group() as group:

        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch)
        try:
            response = await handler(request)
        except Exception as error:
            failure = error
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    return response or Response(status_code=499)


class PageFiles(StaticFiles):
    """The files of the browser page; what is below /api and no route is an error document."""

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if first_part(scope["path"]) == "api":
            await PathEndpoint(dict.fromkeys(_METHODS, _no_route))(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


async def _no_route(request: Request) -> Response:
    raise NotFound(
        f"There is no route {request.url.path[:200]}", hint="GET /api/openapi.json lists them."
    )


def build_app(
    sessions: Sessions,
    authenticator: Authenticator,
    audit: AuditLog,
    address: OwnAddress,
    *,
    read_only: bool,
    replica: bool = True,
    load_model: bool = False,
) -> ASGIApp:
    """Return the ASGI application; `load_model` spares the first question the loading of it.

    Without a `replica` the brain is a shared one that is only searched.
    """
    api = Api(sessions, authenticator, audit, read_only=read_only)
    service: list[HttpToolService] = []
    server: Server[Any] = Server(
        "gbrain",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=lambda context, parameters: service[0].list_tools(context, parameters),
        on_call_tool=lambda context, parameters: service[0].call_tool(context, parameters),
    )
    # Without sessions of the protocol, each request is authorised by its own token.
    manager = StreamableHTTPSessionManager(
        server, json_response=True, stateless=True, max_request_body_size=MAX_BODY_BYTES
    )

    async def load() -> None:
        # Without a usable model, queries say so and search by keyword.
        with suppress(GbrainError):
            await sessions.run(Access(""), _load_model, writes=False)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        try:
            async with anyio.create_task_group() as background, manager.run():
                tools = HttpToolService(
                    sessions, api, audit, background, read_only=read_only, replica=replica
                )
                service.append(tools)
                api.tools = tools
                tools.start_embedding()
                if load_model:
                    background.start_soon(load)
                yield
                background.cancel_scope.cancel()
        finally:
            sessions.close()

    paths: dict[str, dict[str, Handler]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method] = api.handler(route)
    paths[ATTACHMENT.path] = {"GET": api.image}
    paths[SESSION_PATH] = {"POST": api.exchange}
    paths["/api/openapi.json"] = {"GET": api.openapi}

    class McpEndpoint:
        async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
            # Without sessions there is nothing that a stream of GET could tell.
            if scope["method"] != "POST":
                await PathEndpoint({"POST": _no_route})(scope, receive, send)
                return
            await manager.handle_request(scope, receive, send)

    routes = [Route(path, PathEndpoint(handlers)) for path, handlers in paths.items()]
    app = Starlette(routes=[*routes, Route("/mcp", McpEndpoint())], lifespan=lifespan)
    app.router.redirect_slashes = False
    # Not mounted at "/": the pattern of a mount does not match a path with a newline.
    app.router.default = PageFiles(directory=STATIC_FOLDER, html=True)
    return Guard(app, authenticator, address)


_METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")


def _load_model(brain: Brain) -> None:
    brain.embedder.embed_query("first")
