"""What the user can fix: every error carries a code, a message, a hint and an exit code."""

from __future__ import annotations

from functools import partial
from typing import Self


class GbrainError(Exception):
    """Raised by the library; the command line turns it into a message, a hint and an exit code.

    `code` is a stable snake_case word for scripts, `hint` the next step for a person.
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
        """An error may come from another process, pickled."""
        return partial(type(self), hint=self.hint, code=self.code), (self.message,)

    @property
    def full_message(self) -> str:
        """The message and the hint in one line."""
        return f"{self.message.rstrip('.')}. {self.hint}"


class UsageError(GbrainError):
    """The command was called with words that make no sense together."""

    code = "usage"
    exit_code = 2


class NotFound(GbrainError):
    """The thing the user named is not in the brain."""

    code = "not_found"


class BadPage(GbrainError):
    """A page's text cannot be taken in; the message names the line."""

    code = "bad_page"


class BadSetting(GbrainError):
    """A setting is unknown or its value is out of range."""

    code = "bad_setting"


class Conflict(GbrainError):
    """Somebody else changed the page first."""

    code = "conflict"


class BadBrain(GbrainError):
    """The file is not a brain, is newer than the program, read-only, locked or damaged."""

    code = "bad_brain"


class ModelUnavailable(GbrainError):
    """The embedding model is missing, altered or cannot be loaded."""

    code = "model_unavailable"
