"""What a tool gives back: a document for programs and a text for whoever reads no documents."""

from __future__ import annotations

import re
from typing import NamedTuple

from gbrain.errors import GbrainError
from gbrain.output.json import Document, error_fields

_COMMAND = re.compile(r"\bgbrain (search|query|get|put|list|timeline-add|links|stats|explain)\b")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


class Reply(NamedTuple):
    """A tool's answer; `text` says the same in fewer words."""

    document: Document
    text: str


def error_reply(error: GbrainError) -> Reply:
    """What went wrong and what to do about it."""
    about = error_fields(error)
    about["hint"] = hint = for_agents(error.hint)
    return Reply({"error": about}, f"Error ({error.code}): {error.message}\nHint: {hint}")


def for_agents(hint: str) -> str:
    """A hint that names tools and arguments where it named commands and options."""
    hint = hint.replace(" FILE ", " ")
    named = _COMMAND.sub(lambda command: "brain_" + command[1].replace("-", "_"), hint)
    if "gbrain " in named:
        return named
    return _OPTION.sub(lambda option: option[1].replace("-", "_"), named)
