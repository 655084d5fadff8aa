"""Run a command in this process: its standard streams, its exit code, errors that are bugs."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress

from gbrain.locations import is_url
from gbrain.server.client import brain_option

# EX_SOFTWARE of sysexits.h.
EXIT_INTERNAL_ERROR = 70
EXIT_INTERRUPTED = 130

# Commands that run without Typer if their options allow it.
_QUICK_COMMANDS = ("search", "query")


def main() -> None:
    """Run the command of this process and end it."""
    _replace_closed_streams()
    register_json_escape()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="json_escape")  # type: ignore[union-attr]
    code = run_command(sys.argv[1:])
    # The brain is closed, and the normal shutdown of the interpreter would only cost time.
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass
    except OSError as error:
        # An error while printing has already been reported.
        if not code:
            from gbrain.cli.errors import report, system_error

            report(system_error(error), as_json="--json" in sys.argv)
            code = 1
    with suppress(OSError):
        sys.stderr.flush()
    os._exit(code)


def _replace_closed_streams() -> None:
    """Put the null device where a standard stream is closed, so that no other file gets its number.

    Reading such an input and writing to such an output fails; messages are dropped.
    """
    for number, (name, flags, mode) in enumerate(
        (("stdin", os.O_WRONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w"))
    ):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, flags)
            if handle != number:
                os.dup2(handle, number)
            raw = io.FileIO(number, mode, closefd=False)
            buffer = io.BufferedReader(raw) if mode == "r" else io.BufferedWriter(raw)
            setattr(sys, name, io.TextIOWrapper(buffer, encoding="utf-8"))


def register_json_escape() -> None:
    """Let streams escape what they cannot encode.

    A file name may contain bytes that are not valid in any encoding, and a locale may lack the
    characters of a page.
    """
    codecs.register_error("json_escape", _escape_characters)


def _escape_characters(error: UnicodeError) -> tuple[str, int]:
    """Return characters that an output cannot encode as JSON writes them: \\u00e9."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = zip(units[::2], units[1::2], strict=True)
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in pairs), error.end


def run_command(words: list[str]) -> int:
    """Run the command and return its exit code; an unexpected error is reported in one line."""
    try:
        code = _run_quickly(words) if words and words[0] in _QUICK_COMMANDS else None
        if code is not None:
            return code
        from gbrain.cli.app import program

        program().main(words)
    except SystemExit as end:
        # The reader of the output closed it, as head does: Typer and Rich would exit with 1.
        if isinstance(end.__context__, BrokenPipeError):
            return 0
        return end.code if isinstance(end.code, int) else 0
    except Exception as error:
        from gbrain.cli.errors import internal_error, report

        if os.environ.get("GBRAIN_DEBUG"):
            raise
        report(internal_error(error), as_json="--json" in words)
        return EXIT_INTERNAL_ERROR
    return 0


def _run_quickly(words: list[str]) -> int | None:
    """Run a query without Typer and return its exit code; None if Typer has to read its words."""
    if is_url(brain_option(words) or os.environ.get("GBRAIN_DB", "")):
        return None
    from gbrain.cli.answers import run_query
    from gbrain.cli.quick_options import read_query

    query = read_query(words)
    if query is None:
        return None
    try:
        return run_query(query.command, query.text, query.given, query.options, db=query.db)
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Exception as error:
        from gbrain.cli.errors import explain_error, report

        explained = explain_error(error, None, words)
        if explained is None:
            raise
        report(explained, as_json="--json" in words)
        return explained.exit_code
