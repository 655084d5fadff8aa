"""After an import: suggest the multilingual model for notes that are not in English."""

from __future__ import annotations

import sys

import typer

from gbrain.brain import Brain
from gbrain.importing.import_report import ImportReport
from gbrain.output import screen

# Fewer notes of a known language say little about a brain.
_MIN_NOTES = 5
_MIN_SHARE_TO_SUGGEST, _MIN_SHARE_TO_ASK = 0.25, 0.6


def suggest_model(brain: Brain, report: ImportReport, *, quiet: bool, may_ask: bool) -> None:
    """Say in one line which command to run if a good share of the notes is not in English.

    A new brain of mostly such notes asks on a terminal and switches at once. Nothing is said if the
    active model reads other languages, or if it is one that the user added.
    """
    from gbrain.models.catalog import INSTALL_OPTIONAL, OPTIONAL_MODELS, packaged_models

    created = report.count("create")
    if quiet or not (created or report.count("update")) or not brain.has_english_model():
        return
    share, notes = brain.foreign_share()
    if notes < _MIN_NOTES or share < _MIN_SHARE_TO_SUGGEST:
        return
    name = next(iter(OPTIONAL_MODELS))
    installed = name in {spec.name for spec in packaged_models()}
    is_new = created == brain.list(limit=1)[1] and not brain.has_vectors()
    on_terminal = sys.stdin.isatty() and sys.stderr.isatty() and sys.stdout.isatty()
    if may_ask and installed and is_new and share >= _MIN_SHARE_TO_ASK and on_terminal:
        screen.say("Most of these notes are not in English.")
        if typer.confirm(f"Use {name}, which reads other languages?", default=True, err=True):
            brain.model(name)
            brain.use_model(name)
            return
    first = "" if installed else f"{INSTALL_OPTIONAL} && "
    screen.say(f"{share:.0%} of your notes are not in English: {first}gbrain model use {name}")
