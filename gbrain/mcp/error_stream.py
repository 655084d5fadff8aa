"""Answer incoming lines that the MCP SDK cannot read; it ignores them, so the client would wait.

The two stream classes come from a private module of the SDK: they are the types of the streams
that `stdio_server` yields and `Server.run` takes, and no public module exports them.
"""

from __future__ import annotations

import contextvars
import json
from types import TracebackType
from typing import Any, Self

import anyio
from mcp import types
from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

Item = SessionMessage | Exception


class ErrorAnsweringStream:
    """The stream of incoming messages; a line that is no message is answered with an error."""

    def __init__(
        self, incoming: ContextReceiveStream[Item], outgoing: ContextSendStream[SessionMessage]
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    @property
    def last_context(self) -> contextvars.Context | None:
        return self._incoming.last_context

    async def receive(self) -> Item:
        """Return the next message that can be read."""
        while True:
            item = await self._incoming.receive()
            if isinstance(item, ValidationError):
                answer = error_answer(item)
            elif isinstance(item, SessionMessage) and _is_request_without_id(item.message):
                answer = _error(None, types.INVALID_REQUEST, "id must be a string or an integer.")
            else:
                return item
            if answer is not None:
                await self._outgoing.send(SessionMessage(answer))

    async def aclose(self) -> None:
        await self._incoming.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.aclose()


def _is_request_without_id(message: types.JSONRPCMessage) -> bool:
    """Tell whether the SDK took a request for a notification: it drops an id such as 1.5."""
    return isinstance(message, types.JSONRPCNotification) and not message.method.startswith(
        "notifications/"
    )


def error_answer(error: ValidationError) -> types.JSONRPCError | None:
    """Return the answer to an invalid line; None for a blank line and for a notification."""
    line = next((one["input"] for one in error.errors() if one["type"] == "json_invalid"), None)
    if line is None:
        return _answer_message(_message_of(error))
    if not line.strip():
        return None
    try:
        # Python reads some JSON that pydantic refuses, for example lone surrogates.
        return _answer_message(json.loads(line))
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "The line is not JSON.")


def _message_of(error: ValidationError) -> Any:
    """Return the decoded line, which pydantic reports together with the keys that it lacks."""
    inputs = [one["input"] for one in error.errors() if one["type"] in ("missing", "model_type")]
    return inputs[0] if inputs else None


def _answer_message(message: Any) -> types.JSONRPCError | None:
    """Return the answer to JSON that is not a valid message."""
    if not isinstance(message, dict):
        return _error(None, types.INVALID_REQUEST, "The line is not a JSON-RPC message.")
    request_id = message.get("id")
    if not isinstance(message.get("method"), str):
        return _error(request_id, types.INVALID_REQUEST, "The message has no method.")
    if request_id is None:
        return None
    return _error(
        request_id, types.INVALID_PARAMS, "params must be an object, and its texts valid Unicode."
    )


def _error(request_id: Any, code: int, message: str) -> types.JSONRPCError:
    usable = isinstance(request_id, int | str) and not isinstance(request_id, bool)
    error = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id if usable else None, error=error)
