"""Documents and errors as HTTP responses; the only mapping of errors to HTTP statuses."""

from __future__ import annotations

from starlette.responses import Response

from gbrain.errors import (
    BadBrain,
    BadPage,
    BadSetting,
    Conflict,
    GbrainError,
    ModelUnavailable,
    NotFound,
    UsageError,
)
from gbrain.output.json import Document, dumps, error_document

_STATUS_BY_CODE = {
    "unauthorized": 401,
    "read_only": 403,
    "forbidden": 403,
    "wrong_host": 421,
    "method_not_allowed": 405,
    "ambiguous_name": 409,
    "timeout": 408,
    "body_too_large": 413,
    "page_too_large": 413,
    "not_json": 415,
    "too_large": 422,
    "headers_too_large": 431,
    "internal": 500,
    "busy": 503,
}
_STATUS_BY_CLASS: tuple[tuple[type[GbrainError], int], ...] = (
    (UsageError, 400),
    (NotFound, 404),
    (Conflict, 409),
    (BadPage, 422),
    (BadSetting, 422),
    (ModelUnavailable, 503),
    (BadBrain, 503),
)


def error_status(error: GbrainError) -> int:
    """Return the HTTP status of an error: by its code, else by its class."""
    if error.code in _STATUS_BY_CODE:
        return _STATUS_BY_CODE[error.code]
    return next((status for kind, status in _STATUS_BY_CLASS if isinstance(error, kind)), 400)


def json_response(document: Document, status: int = 200) -> Response:
    """Return a document as a response that no cache keeps."""
    return Response(
        dumps(document).encode("utf-8", "backslashreplace"),
        status,
        {"Cache-Control": "no-store"},
        "application/json",
    )


def error_response(error: GbrainError) -> Response:
    """Return an error as the document that commands print, with a fitting status."""
    response = Response(
        error_document(error).encode("utf-8", "backslashreplace"),
        error_status(error),
        {"Cache-Control": "no-store"},
        "application/json",
    )
    if response.status_code == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="gbrain"'
    return response


def internal_error(error: Exception) -> GbrainError:
    """Return an unexpected error without its message, which may quote a page."""
    return GbrainError(
        f"The request failed inside gbrain ({type(error).__name__})",
        hint="This is a bug in gbrain; other requests still work.",
        code="internal",
    )
