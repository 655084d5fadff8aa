"""An answer to whoever asked: a person at a terminal, a pipe or a script."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gbrain.cli.options import open_brain
from gbrain.errors import GbrainError
from gbrain.output import screen
from gbrain.output.answer_text import (
    answer_text,
    poor_answer_notice,
    read_as_notice,
    superseded_notice,
)
from gbrain.output.json import answer_document
from gbrain.types import Answer


class Seen(NamedTuple):
    """How an answer is to be seen: the options of the same names."""

    json: bool
    verbose: bool
    debug: bool
    pager: bool
    quiet: bool


def show(answer: Answer, db: Path | None, seen: Seen) -> None:
    """Prints the answer; what a terminal shows is remembered in the brain `db`, for `open`."""
    if answer.notice and not seen.quiet:
        screen.say(answer.notice)
    if screen.on_terminal():
        with _remembered(answer, db):
            _show_person(answer, db, seen)
    elif seen.json:
        screen.write_json(answer_document(answer, trace=seen.debug))
    else:
        screen.write(answer_text(answer))
        if not seen.quiet:
            poor = poor_answer_notice(answer) if answer.hits else "Nothing found."
            for remark in filter(None, (read_as_notice(answer), poor, superseded_notice(answer))):
                screen.say(remark)
        if seen.debug:
            for stage in _stages(answer):
                screen.say(stage)


def _show_person(answer: Answer, db: Path | None, seen: Seen) -> None:
    if seen.json:
        screen.write_json(answer_document(answer, trace=seen.debug))
        return
    from gbrain.output.answer_terminal import show_answer

    with open_brain(db) as brain:
        files = brain.page_files(hit.slug for hit in answer.hits)
    there = {slug: file for slug, file in files.items() if file.is_file()}
    footer = None if seen.quiet else "; gbrain open N opens one" if answer.hits else ""
    show_answer(
        answer,
        verbose=seen.verbose,
        debug=seen.debug,
        files=there,
        pager=seen.pager,
        footer=footer,
    )


@contextmanager
def _remembered(answer: Answer, db: Path | None) -> Iterator[None]:
    """Keeps which page has which number, for `open`, while the block shows them."""
    from threading import Thread

    from gbrain.store.usage_log import HitLocation, save_last_hits, try_write

    places = [
        HitLocation(hit.rank, hit.slug, hit.chunk.lines[0] if hit.chunk else None)
        for hit in answer.hits
    ]

    def note() -> None:
        with suppress(GbrainError, sqlite3.Error), open_brain(db) as brain:
            try_write(brain.database, lambda connection: save_last_hits(connection, places))

    noting = Thread(target=note)
    noting.start()
    try:
        yield
    finally:
        noting.join()


def _stages(answer: Answer) -> Iterator[str]:
    for stage in answer.trace.stages:
        detail = ", ".join(f"{name} {value}" for name, value in stage.detail.items())
        yield f"{stage.name:14} {stage.ms:8.2f} ms  {detail}"
