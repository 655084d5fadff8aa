"""Errors that users can act on: each has a code, a message, a hint and an exit code."""

from __future__ import annotations

from functools import partial
from typing import Self


class GbrainError(Exception):
    """The base of all errors that gbrain raises on purpose; the command line prints them.

    `code` is a stable snake_case word for scripts, `hint` is the next step for a person.
    """

    code = "error"
    exit_code = 1

    def __init__(self, message: str, *, hint: str, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if code is not None:
            self.code = code

    def __reduce__(self) -> tuple[partial[Self], tuple[str]]:
        """Support pickling: an error may come from a worker process."""
        return partial(type(self), hint=self.hint, code=self.code), (self.message,)

    @property
    def full_message(self) -> str:
        """Return the message and the hint on one line."""
        return f"{self.message.rstrip('.')}. {self.hint}"


def raised_at(error: Exception) -> str:
    """Return the module and line where an exception was raised: `gbrain.brain.pages:12`."""
    where = error.__traceback__
    while where and where.tb_next:
        where = where.tb_next
    return f"{where.tb_frame.f_globals.get('__name__')}:{where.tb_lineno}" if where else "?"


class UsageError(GbrainError):
    """The arguments of a command are invalid."""

    code = "usage"
    exit_code = 2


class NotFound(GbrainError):
    """The brain does not contain what the user named."""

    code = "not_found"


class BadPage(GbrainError):
    """The text of a page cannot be imported; the message names the line."""

    code = "bad_page"


class BadSetting(GbrainError):
    """A setting is unknown or its value is out of range."""

    code = "bad_setting"


class Conflict(GbrainError):
    """The page was changed in the meantime."""

    code = "conflict"


class BadBrain(GbrainError):
    """The file is not a brain, or it is too new, read-only, locked or damaged."""

    code = "bad_brain"


class ModelUnavailable(GbrainError):
    """The embedding model is missing, was modified or cannot be loaded."""

    code = "model_unavailable"


def needs_replica(what: str) -> GbrainError:
    """Return the error for what a shared brain that is searched where it is cannot do."""
    return GbrainError(
        f"{what} is not available with --no-replica",
        hint="Leave out --no-replica: gbrain then works with a copy of the shared brain.",
        code="needs_replica",
    )
