"""`model`: the embedding models a brain knows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import GbrainError, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.progress import show_progress
from gbrain.store import models as store
from gbrain.store.models import ModelRow

command = Module()

model = command.group(
    "model",
    help="List, check, add and choose embedding models.",
    epilog=examples("gbrain model list", "gbrain model verify"),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A model the brain knows.")]


@model.command("list", epilog=examples("gbrain model list"))
def list_(json: Json = False, db: Db = None) -> None:
    """Show the models, the active one marked."""
    with open_brain(db) as brain:
        brain.active_model()
        with brain.database.read_transaction() as connection:
            known = store.list_models(connection)
    if json:
        screen.write_json({"models": [_document(row) for row in known]})
        return
    rows = [
        ("*" if row.active else "", row.name, row.dimension, row.max_tokens, row.pooling)
        for row in known
    ]
    screen.write_table(("", "Model", "Numbers", "Tokens", "Pooling"), rows, "No models.")


def _document(row: ModelRow) -> Document:
    return {
        "name": row.name,
        "active": row.active,
        "sha256": row.sha256,
        "pooling": row.pooling,
        "query_prefix": row.query_prefix,
        "passage_prefix": row.passage_prefix,
        "dimension": row.dimension,
        "max_tokens": row.max_tokens,
        "folder": row.folder,
    }


@model.command("verify", epilog=examples("gbrain model verify"))
def verify(
    name: Annotated[str | None, typer.Argument(help="Else the active one.")] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Compare a model's files with what was recorded of them."""
    from gbrain.models.files import verify_hashes as verify_files

    with open_brain(db) as brain:
        row = _named(brain, name) if name else brain.active_model()
        verify_files(brain.model_spec(row))
    if json:
        screen.write_json({"name": row.name, "ok": True, "sha256": row.sha256})
    elif not quiet:
        screen.say(f"{row.name} is intact.")


def _named(brain: Brain, name: str) -> ModelRow:
    brain.active_model()
    with brain.database.read_transaction() as connection:
        return store.require_model(connection, name)


@model.command(
    "add",
    epilog=examples(
        "gbrain model add ~/models/e5-small --query-prefix 'query: ' --passage-prefix 'passage: '"
    ),
)
def add(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Holds model.onnx, tokenizer.json.")
    ],
    name: Annotated[str | None, typer.Option(help="Else what its files say.")] = None,
    pooling: Annotated[str | None, typer.Option(help="cls or mean.")] = None,
    query_prefix: Annotated[str | None, typer.Option(help="Put before each query.")] = None,
    passage_prefix: Annotated[str | None, typer.Option(help="Put before each passage.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=8, max=10**6, help="Longest text in one go.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Make another ONNX sentence model known, from a folder."""
    from gbrain.models.catalog import spec_from_folder

    spec = spec_from_folder(
        folder.expanduser(),
        name=name,
        pooling=pooling,
        query_prefix=query_prefix,
        passage_prefix=passage_prefix,
        max_tokens=max_tokens,
    )
    with open_brain(db, make=True) as brain:
        brain.active_model()
        brain.add_model(spec)
        row = _named(brain, spec.name)
    if json:
        screen.write_json(_document(row))
    elif not quiet:
        screen.say(f"{spec.name} is known. gbrain model use {spec.name} makes it answer.")


@model.command(
    "use",
    epilog=examples("gbrain model use e5-small && gbrain embed", "gbrain model use e5-small --yes"),
)
def use(
    name: Name,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Even if answers get worse by it.")
    ] = False,
    selftest: Annotated[
        bool, typer.Option("--selftest/--no-selftest", help="Ask the brain's own questions first.")
    ] = True,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Make a model the one that embeds and answers; vectors of the others are kept.

    A model that has all its vectors is compared with the present one on questions mined from the
    pages, and stays unused when answers get worse. For one that has not, how the brain answers now
    is kept, so that gbrain selftest can compare once gbrain embed is done.
    """
    from gbrain.evaluate.model_switch import ModelSwitch, switch_model

    with open_brain(db) as brain:
        before = brain.active_model()
        if selftest:
            with show_progress("Asking", quiet=quiet or json) as show:
                switched = switch_model(brain, name, force=yes, progress=show)
        else:
            switched = ModelSwitch(brain.use_model(name), used=True)
    change = switched.report.changes[0] if switched.report and switched.report.changes else None
    told = f"nDCG@10 {change.before:.3f} → {change.now:.3f}" if change else ""
    if not switched.used:
        raise GbrainError(
            f"With {name} answers get worse: {told} on the brain's own questions. "
            f"{before.name} still answers",
            hint=f"gbrain model use {name} --yes uses it all the same.",
            code="answers_worse",
        )
    if json:
        compared = {"before": change.before, "now": change.now} if change else None
        screen.write_json({**_document(switched.model), "active": True, "selftest": compared})
    elif not quiet:
        screen.say(f"{name} answers from now on{f', {told}' if told else ''}.")
        if change is None:
            later = (
                f"; then gbrain selftest compares with {before.name}"
                if switched.baseline_saved
                else ""
            )
            screen.say(f"gbrain embed makes the vectors that are missing{later}.")


@model.command("remove", epilog=examples("gbrain model remove e5-small"))
def remove(name: Name, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Forget a model and its vectors."""
    with open_brain(db) as brain:
        row = _named(brain, name)
        if row.active:
            raise UsageError(
                f"{name} is the model in use", hint="Choose another with gbrain model use first."
            )
        with brain.database.write_transaction() as connection:
            gone = store.remove_model(connection, row)
    if json:
        screen.write_json({"name": name, "vectors": gone})
    elif not quiet:
        screen.say(f"{name} and its {counted(gone, 'vector')} are gone.")
