"""The OpenAPI description of the routes, made from the table of routes and the JSON Schemas."""

from __future__ import annotations

from functools import cache
from typing import Any

from gbrain import __version__
from gbrain.mcp.arguments import arguments_schema, text_schema
from gbrain.output.json import Document
from gbrain.output.schemas import Schema, document_schema
from gbrain.server.guard import SESSION_PATH
from gbrain.server.routes import ATTACHMENT, ROUTES, ApiRoute

_PROBLEMS = {
    400: "The arguments are invalid.",
    401: "The token is missing, wrong, revoked or expired.",
    403: "The token may not do this.",
    404: "There is no such page, version, task or image.",
    408: "The request was too slow.",
    409: "The page has changed, or the name is ambiguous or taken.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host header names another server.",
    422: "The text of the page cannot be used.",
    500: "A bug in gbrain.",
    503: "The brain or the server is busy or cannot be used.",
}
_JSON = "application/json"


@cache
def openapi_document() -> Document:
    """Return the description of all routes below /api."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for route in ROUTES:
        answer = {"description": "The document.", **_content(_add(schemas, route.document))}
        paths.setdefault(_plain(route.path), {})[route.method.lower()] = _operation(route, answer)
    image = {
        "description": "The image.",
        "content": {"image/*": {"schema": {"type": "string", "format": "binary"}}},
    }
    paths[_plain(ATTACHMENT.path)] = {"get": _operation(ATTACHMENT, image)}
    paths[SESSION_PATH] = {"post": _session_operation()}
    paths["/api/openapi.json"] = {
        "get": {
            "operationId": "get_openapi",
            "summary": "Describe all routes.",
            "responses": {"200": {"description": "This document.", **_content({"type": "object"})}},
        }
    }
    error = _add(schemas, "error")
    for operations in paths.values():
        for operation in operations.values():
            for status, about in _PROBLEMS.items():
                operation["responses"][str(status)] = {"description": about, **_content(error)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "gbrain",
            "version": __version__,
            "description": "The JSON documents of gbrain's commands over HTTP.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: ApiRoute, answer: Document) -> Document:
    known, required = route.schema["properties"], route.schema["required"]
    operation: Document = {
        "operationId": f"{route.method.lower()}_{_plain(route.path)[5:]}".translate(_NAME),
        "summary": route.summary,
        "parameters": [
            *({"name": name, "in": "path", "required": True, "schema": {**known[name],
               "minLength": 1}} for name in route.in_path),
            *({"name": name, "in": "query", "required": name in required, "schema": known[name]}
              for name in route.in_query),
        ],
        "responses": {"200": answer},
    }  # fmt: skip
    if route.in_body:
        needed = tuple(name for name in route.in_body if name in required)
        body = arguments_schema(needed, **{name: known[name] for name in route.in_body})
        operation["requestBody"] = {"required": True, **_content(body)}
    return operation


_NAME = str.maketrans({"/": "_", "{": None, "}": None})


def _session_operation() -> Document:
    body = arguments_schema(("code",), code=text_schema("Code that gbrain ui issued.", 200))
    token: Schema = {
        "type": "object",
        "properties": {"token": {"type": "string"}, "read_only": {"type": "boolean"}},
        "required": ["token", "read_only"],
    }
    return {
        "operationId": "post_session",
        "summary": "Exchange the one-time code of the browser page for a token.",
        "security": [],
        "requestBody": {"required": True, **_content(body)},
        "responses": {"200": {"description": "The token.", **_content(token)}},
    }


def _plain(path: str) -> str:
    """Return a path as OpenAPI writes it: {slug} for {slug:path}."""
    return path.replace(":path}", "}")


def _content(schema: Schema) -> Document:
    return {"content": {_JSON: {"schema": schema}}}


def _add(schemas: dict[str, Any], name: str) -> Schema:
    """Add the schema of a document and what it refers to; return a reference to it."""
    schema = dict(document_schema(name))
    schema.pop("$schema")
    for part, definition in schema.pop("$defs", {}).items():
        schemas[part] = _with_local_references(definition)
    schemas[name] = _with_local_references(schema)
    return {"$ref": f"#/components/schemas/{name}"}


def _with_local_references(part: Any) -> Any:
    if isinstance(part, list):
        return [_with_local_references(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        key: value.replace("#/$defs/", "#/components/schemas/")
        if key == "$ref"
        else _with_local_references(value)
        for key, value in part.items()
    }
