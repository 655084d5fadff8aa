"""Read the arguments of a request from its path, query string and body."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request

from gbrain.errors import UsageError
from gbrain.mcp.arguments import check_arguments
from gbrain.output.schemas import Schema
from gbrain.server.routes import ApiRoute

_WORDS = {"true": True, "1": True, "false": False, "0": False}


async def read_arguments(route: ApiRoute, request: Request) -> dict[str, Any]:
    """Return the checked arguments; raise UsageError for one that is unknown or malformed."""
    given: dict[str, Any] = dict(request.path_params)
    known = route.schema["properties"]
    for name in request.query_params:
        if name not in route.in_query:
            # An unknown one is refused below; one that belongs in the body must not work here.
            given[name] = request.query_params[name]
            continue
        given[name] = _from_text(known[name], request.query_params.getlist(name), name)
    for name in given:
        if name in route.in_body:
            raise UsageError(f"{name} belongs in the body", hint=known[name]["description"])
    if route.in_body:
        given |= await read_object(request)
    return check_arguments(route.schema, given)


async def read_object(request: Request) -> dict[str, Any]:
    """Return the JSON object in the body of a request; raise UsageError if it is not one."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise UsageError(
            "The body must be JSON", hint="Send it with Content-Type: application/json.",
            code="not_json",
        )  # fmt: skip
    try:
        data = await request.body()
        body = json.loads(data)
        if b"\\u" in data:
            # A lone surrogate is valid JSON, but no text of a page.
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise UsageError(
            "The body is not valid JSON", hint='For example: {"query": "river ai"}', code="not_json"
        ) from None
    if not isinstance(body, dict):
        raise UsageError("The body must be a JSON object", hint='For example: {"query": "river"}')
    return body


def _from_text(schema: Schema, values: list[str], name: str) -> Any:
    """Return the values of a parameter of the query string as its schema wants them."""
    if schema["type"] == "array":
        return values
    if len(values) > 1:
        raise UsageError(f"{name} is given {len(values)} times", hint="Give it once.")
    text = values[0]
    if schema["type"] == "integer":
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdecimal() and len(digits) < 19:
            return int(text)
    if schema["type"] == "boolean":
        return _WORDS.get(text.lower(), text)
    return text
