"""Whether a damaged brain file is behind an error that nobody foresaw."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from gbrain.brain import default_path
from gbrain.errors import BadBrain, GbrainError
from gbrain.store.connection import Database, damaged
from gbrain.store.doctor.examine import damage_of
from gbrain.store.doctor.findings import STRANGE


def damage_behind(error: Exception, words: Sequence[str]) -> BadBrain | None:
    """What is wrong with the brain that the words of a command name; None if it is sound.

    A row of a file that somebody else made, or a disk spoilt, can hold anything: not every
    command that reads it has to look for that, if one sees it afterwards.
    """
    if not isinstance(error, (*STRANGE, sqlite3.Error)):
        return None
    try:
        path = _named(words) or default_path()
        with closing(Database(path)) as database:
            found = damage_of(database)
    except BadBrain as refusal:
        return refusal
    except GbrainError:
        return None
    return damaged(path, found) if found else None


def _named(words: Sequence[str]) -> Path | None:
    for word, following in zip(words, (*words[1:], ""), strict=True):
        value = following if word == "--db" else word.removeprefix("--db=")
        if value and value != word:
            return Path(value).expanduser()
    return None
