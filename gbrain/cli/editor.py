"""Run the user's editor on a file."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from gbrain.errors import GbrainError
from gbrain.output.screen import run_in_foreground

_DEFAULT_EDITORS = ("vi", "nano")
_EDITORS_WITH_LINE_OPTION = (
    "vi",
    "vim",
    "nvim",
    "nano",
    "emacs",
    "emacsclient",
    "micro",
    "kak",
    "joe",
    "mg",
)
_EDITORS_THAT_NEED_WAIT = ("code", "code-insiders", "codium", "cursor", "subl", "zed")


def editor_command(environment: Mapping[str, str], *, at_terminal: bool) -> list[str]:
    """Return the command of the editor: $VISUAL, else $EDITOR, else vi or nano at a terminal.

    Raises GbrainError if there is none.
    """
    for name in ("VISUAL", "EDITOR"):
        written = environment.get(name, "").strip()
        if written:
            try:
                return shlex.split(written)
            except ValueError as error:
                raise GbrainError(
                    f"${name} cannot be read: {error}", hint=f"For example: export {name}=nano",
                    code="no_editor",
                ) from None  # fmt: skip
    usual = [name for name in _DEFAULT_EDITORS if shutil.which(name)] if at_terminal else []
    if not usual:
        raise GbrainError("No editor is set", hint="Set one: export EDITOR=nano", code="no_editor")
    return usual[:1]


def editor_arguments(command: list[str], file: Path, line: int | None) -> list[str]:
    """Return the command with the file, the line and the option to wait where they apply."""
    name = Path(command[0]).name
    words = list(command)
    if name in _EDITORS_THAT_NEED_WAIT and not {"-w", "--wait"} & set(words):
        words.append("--wait")
    if line and name in _EDITORS_WITH_LINE_OPTION:
        words.append(f"+{line}")
    return [*words, str(file)]


def edit_file(file: Path, line: int | None = None) -> bytes:
    """Run the editor and return the content of the file; raise GbrainError if that fails."""
    at_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    command = editor_arguments(editor_command(os.environ, at_terminal=at_terminal), file, line)
    try:
        exit_code = run_in_foreground(command)
    except OSError as error:
        raise GbrainError(
            f"Cannot start {command[0]}: {error.strerror}",
            hint="Set another editor: export EDITOR=nano",
            code="no_editor",
        ) from None
    if exit_code:
        raise GbrainError(
            f"{command[0]} ended with code {exit_code}; nothing was written",
            code="editor_failed",
            hint="Save and quit the editor normally to write the page.",
        )  # fmt: skip
    try:
        return file.read_bytes()
    except OSError as error:
        raise GbrainError(
            f"The edited text cannot be read: {error.strerror}",
            hint="Save the text to the same file.",
            code="editor_failed",
        ) from None
