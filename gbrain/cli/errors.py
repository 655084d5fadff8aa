"""Errors of a command as the user reads them: a message, a hint and an exit code."""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from gbrain.errors import BadBrain, GbrainError, UsageError, raised_at
from gbrain.messages import did_you_mean, similar_names

# A limit this high is not worth mentioning in an error: it only bounds what can be stored.
UNLIMITED = 10**9


def report(error: GbrainError, *, as_json: bool) -> None:
    """Print an error and its hint to standard error, without passwords."""
    error = _redact(error)
    if as_json:
        from gbrain.output.json import error_document

        print(error_document(error), file=sys.stderr)
        return
    from gbrain.messages import without_newlines

    print(f"Error: {without_newlines(error.message)}", file=sys.stderr)
    print(f"Hint: {without_newlines(error.hint)}", file=sys.stderr)


def _redact(error: GbrainError) -> GbrainError:
    """Return the error without the password of a URL, which a user may have typed anywhere."""
    if not re.search(r"(?i)postgres|password|:/", error.message + error.hint):
        return error
    from gbrain.store.postgres.address import redact

    return GbrainError(redact(error.message), hint=redact(error.hint), code=error.code)


def explain_error(error: Exception, ctx: Any, arguments: Sequence[str]) -> GbrainError | None:
    """Return an error as one that the user can act on, or None if it is a bug of gbrain."""
    explained = _explain(error, ctx, arguments)
    return explained and _say_kept_text(explained, error)


def _say_kept_text(explained: GbrainError, error: Exception) -> GbrainError:
    """Begin the hint with where the text is that the command was given."""
    from gbrain.cli.drafts import KeptText

    notes = [note for note in getattr(error, "__notes__", ()) if isinstance(note, KeptText)]
    explained.hint = " ".join([*notes, explained.hint])
    return explained


def _explain(error: Exception, ctx: Any, arguments: Sequence[str]) -> GbrainError | None:
    if isinstance(error, GbrainError):
        return error
    if isinstance(error, UnicodeEncodeError):
        return UsageError("An argument is not UTF-8", hint="Check the encoding of your terminal.")
    if isinstance(error, OSError):
        return system_error(error)
    if isinstance(error, typer.TyperException):
        from gbrain.cli.drafts import keep_unread

        keep_unread(error, arguments)
        return _usage_error(error, ctx)
    return _find_corruption(error, arguments)


def system_error(error: OSError) -> GbrainError:
    """Return an error of the operating system as an error of gbrain."""
    what = os.fsdecode(error.filename) if error.filename else "The output"
    return GbrainError(
        f"{what} cannot be read or written: {error.strerror or type(error).__name__}",
        hint="Check that the file exists, that you may use it, and that the disk is not full.",
        code="system",
    )


def internal_error(error: Exception) -> GbrainError:
    """Return an unexpected error without its message, which may contain text of a page."""
    explained = GbrainError(
        f"gbrain failed: {type(error).__name__} at {raised_at(error)}",
        hint="This is a bug in gbrain. GBRAIN_DEBUG=1 shows the traceback, "
        "which may contain text of your pages.",
        code="internal",
    )
    return _say_kept_text(explained, error)


# --- wrong usage -----------------------------------------------------------------------------


def _usage_error(error: typer.TyperException, ctx: Any) -> UsageError:
    """Return an error of the argument parser in plain words."""
    own = getattr(error, "ctx", None)
    ctx = own or ctx
    option = getattr(error, "option_name", None)
    parameter = getattr(error, "param", None)
    message, hint = error.format_message(), _help_hint(ctx)
    extra = message.partition("unexpected extra argument")[2].partition("(")[2].rstrip(")")
    if option is not None and own is not None and own.parent is None:
        hint = f"Put options after the command: gbrain COMMAND {option}. Only --db may come before."
    elif option is not None and message.startswith("No such option"):
        message = f"{ctx.command_path} has no option {option.strip()}"
        if not option.lstrip("-").isalpha() and not option.startswith("--"):
            hint = f"Put -- before text that starts with a dash: {ctx.command_path} -- '- text'"
        hint = did_you_mean(
            similar_names(option, getattr(error, "possibilities", None) or ()), hint
        )
    elif option is not None and message.endswith("requires an argument."):
        message = f"{option} needs a value"
    elif type(error).__name__ == "MissingParameter" and parameter is not None:
        message = f"{ctx.command_path} needs {_name_parameter(parameter)}"
        hint = _example(ctx) or hint
    elif type(error).__name__ == "BadParameter" and parameter is not None:
        given = error.message.partition(" is not ")[0]
        taken = _describe_values(parameter)
        if taken:
            message = f"{_name_parameter(parameter)} takes {taken}, not {given}"
    elif extra:
        message = f"{ctx.command_path} does not take this argument: {extra.removeprefix('s) (')}"
    result = UsageError(message, hint=hint)
    result.exit_code = error.exit_code
    return result


def _name_parameter(parameter: Any) -> str:
    """Return an option as it is typed, an argument as the help calls it."""
    if parameter.param_type_name == "option":
        return str(max(parameter.opts, key=len))
    return str(parameter.metavar or parameter.name.upper()).strip("[].")


def _describe_values(parameter: Any) -> str:
    """Return the values that a parameter takes; empty if it takes any text."""
    choices = getattr(parameter.type, "choices", None)
    if choices:
        *others, last = (str(getattr(choice, "value", choice)) for choice in choices)
        return f"{', '.join(others)} or {last}" if others else last
    low, high = getattr(parameter.type, "min", None), getattr(parameter.type, "max", None)
    if low is None:
        return ""
    if high is None or high >= UNLIMITED:
        return f"a number of {low} or more"
    return f"a number from {low} to {high}"


def _example(ctx: Any) -> str:
    """Return a hint with the first example of a command, or nothing if it has none."""
    lines = (ctx.command.epilog or "").split("\n")
    return next((f"For example: {line[2:]}" for line in lines if line.startswith("$ ")), "")


def _help_hint(ctx: Any) -> str:
    """Return a hint that names the help of the command."""
    named = ctx.parent is None and ctx.invoked_subcommand
    words = f"gbrain {ctx.invoked_subcommand}" if named else ctx.command_path
    return f"{words} -h shows the options and examples."


# --- a damaged brain -------------------------------------------------------------------------


def _find_corruption(error: Exception, arguments: Sequence[str]) -> BadBrain | None:
    """Return what is wrong with the brain that a failed command used, or None if it is sound.

    A row of a damaged or foreign file can contain anything. Looking for the cause after an error
    spares every command the checks before.
    """
    from gbrain.brain import default_path
    from gbrain.store.doctor.examine import describe_corruption
    from gbrain.store.doctor.findings import CORRUPTION_ERRORS
    from gbrain.store.sqlite_errors import damaged_error

    if not isinstance(error, (*CORRUPTION_ERRORS, sqlite3.Error)):
        return None
    try:
        path = _path_argument(arguments) or default_path()
        problem = describe_corruption(path)
    except BadBrain as refusal:
        return refusal
    except GbrainError:
        return None
    return damaged_error(path, problem) if problem else None


def _path_argument(arguments: Sequence[str]) -> Path | None:
    """Return the value of --db, if it is given."""
    for word, following in zip(arguments, (*arguments[1:], ""), strict=True):
        value = following if word == "--db" else word.removeprefix("--db=")
        if value and value != word:
            return Path(value).expanduser()
    return None
