"""Messages that the SDK cannot read are answered too: else their sender would wait for ever."""

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


class Answering:
    """The stream of incoming messages without those that are none; they get an error at once."""

    def __init__(
        self, incoming: ContextReceiveStream[Item], outgoing: ContextSendStream[SessionMessage]
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    @property
    def last_context(self) -> contextvars.Context | None:
        return self._incoming.last_context

    async def receive(self) -> Item:
        while isinstance(item := await self._incoming.receive(), ValidationError):
            answer = answer_to(item)
            if answer is not None:
                await self._outgoing.send(SessionMessage(answer))
        return item

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


def answer_to(error: ValidationError) -> types.JSONRPCError | None:
    """The error that the sender of a line is told; None for a blank one and a notification."""
    line = next((one["input"] for one in error.errors() if one["type"] == "json_invalid"), None)
    if line is None:
        return _refused(_message(error))
    if not line.strip():
        return None
    try:
        return _refused(json.loads(line))
    except (ValueError, RecursionError):
        return _error(None, types.PARSE_ERROR, "The line is not JSON.")


def _message(error: ValidationError) -> Any:
    """What the line held: it is told with whatever is missing from it."""
    inputs = [one["input"] for one in error.errors() if one["type"] in ("missing", "model_type")]
    return inputs[0] if inputs else None


def _refused(message: Any) -> types.JSONRPCError | None:
    """The answer to what is JSON, as Python reads it, and still no message."""
    if not isinstance(message, dict):
        return _error(None, types.INVALID_REQUEST, "The line is no JSON-RPC message.")
    number = message.get("id")
    if not isinstance(message.get("method"), str):
        return _error(number, types.INVALID_REQUEST, "The message names no method.")
    if number is None:
        return None
    return _error(
        number, types.INVALID_PARAMS, "params must be an object, and its texts whole characters."
    )


def _error(number: Any, code: int, message: str) -> types.JSONRPCError:
    known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
    about = types.ErrorData(code=code, message=message)
    return types.JSONRPCError(jsonrpc="2.0", id=known, error=about)
