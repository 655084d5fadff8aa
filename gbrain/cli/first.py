"""`init demo completion`: the first minutes."""

from __future__ import annotations

import os
import tempfile
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain, default_path
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.output import screen
from gbrain.output.progress import progress
from gbrain.output.text import answer_text

command = Module()

SAMPLE = Path(__file__).parent.parent / "sample"

_SHOWN = (
    ("search", "river ai", "A page's own name answers at once."),
    ("search", "sqlite backup", "Words, wherever they stand."),
    ("query", "who's lukewarm on cloud RAG?", "Meaning: no page says these words."),
    ("query", "what happened in April with Alice?", "Timeline entries are found by themselves."),
)


@command.command("init", epilog=examples("gbrain init", "gbrain init --db ~/notes.db"))
def init(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Make an empty brain; one that is there is left as it is."""
    place = db or default_path()
    existed = place.exists()
    open_brain(place, make=True).close()
    if json:
        screen.write_json({"path": str(place), "created": not existed})
    elif not quiet:
        screen.say(f"{place} is {'there already' if existed else 'ready'}.")
        screen.say("Next: gbrain import DIR takes in a folder of notes.")


@command.command("demo", epilog=examples("gbrain demo", "gbrain demo --keep ~/demo.db"))
def demo(
    keep: Annotated[Path | None, typer.Option(help="Keep the demo brain in this file.")] = None,
) -> None:
    """Build a small brain from sample pages in a temporary place and ask it questions."""
    with tempfile.TemporaryDirectory(prefix="gbrain-demo-") as place:
        path = keep or Path(place, "demo.db")
        with Brain.open(path, make=True) as brain:
            report = brain.take_in(SAMPLE)
            pages = report.count("create") + report.unchanged
            with progress("Embedding", quiet=False) as show:
                brain.embed(progress=show)
            screen.write(f"A brain of {pages} sample pages, built offline in {path}\n")
            for kind, text, why in _SHOWN:
                _show(brain, kind, text, why)
    screen.write("Now your own: gbrain import DIR, then gbrain query 'your question'.")


def _show(brain: Brain, kind: str, text: str, why: str) -> None:
    answer = brain.search(text, limit=3) if kind == "search" else brain.query(text, limit=3)
    heading = f'$ gbrain {kind} "{text}" -n 3'
    if screen.on_terminal():
        from gbrain.output.terminal import show_answer

        screen.console().print(f"[bold green]{heading}[/]  [dim]{why}[/]\n")
        show_answer(answer)
        screen.write("")
    else:
        screen.write(f"{heading}\n# {why}\n{answer_text(answer)}\n")


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@command.command(
    "completion",
    epilog=examples("gbrain completion bash >> ~/.bashrc", "gbrain completion fish | source"),
)
def completion(
    shell: Annotated[Shell | None, typer.Argument(help="Else the shell you are in.")] = None,
) -> None:
    """Print a script that completes commands and options in your shell."""
    from typer._completion_shared import get_completion_script

    name = shell.value if shell else Path(os.environ.get("SHELL", "bash")).name
    if name not in Shell.__members__:
        name = "bash"
    screen.write(
        get_completion_script(prog_name="gbrain", complete_var="_GBRAIN_COMPLETE", shell=name)
    )
