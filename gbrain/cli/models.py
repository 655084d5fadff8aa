"""`model` and `train-reranker`: choose and check embedding models, train a reranker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.embedding import describe_switch
from gbrain.cli.open_brain import open_brain
from gbrain.errors import GbrainError, UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.screen import show_progress
from gbrain.store.models import ModelRow

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.evaluate.model_switch import ModelSwitch
    from gbrain.search.rerank.learned import TrainingResult

command = Module()

model = command.group(
    "model",
    help="List, verify, add, use and remove embedding models.",
    epilog=examples("gbrain model list", "gbrain model verify"),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Model; gbrain model list shows them.")]


@model.command("list", epilog=examples("gbrain model list"))
def list_(json: Json = False, db: Db = None) -> None:
    """List the models; * marks the active one, > the one that is being embedded."""
    from gbrain.models.catalog import INSTALL_OPTIONAL, OPTIONAL_MODELS

    with open_brain(db) as brain:
        known = brain.models()
        following = brain.next_model()
    next_id = following[0].id if following else None
    if json:
        screen.write_json({"models": [_document(row, next_id) for row in known]})
        return
    rows = [
        (_mark(row, next_id), row.name, row.dimension, row.max_tokens, row.pooling) for row in known
    ]
    screen.write_table(("", "Model", "Dimension", "Tokens", "Pooling"), rows, "No models.")
    if following:
        screen.say(describe_switch(*following))
    for name in OPTIONAL_MODELS.keys() - {row.name for row in known}:
        screen.say(f"For notes in other languages there is {name}: {INSTALL_OPTIONAL}")


def _mark(row: ModelRow, next_id: int | None) -> str:
    return "*" if row.active else ">" if row.id == next_id else ""


def _document(row: ModelRow, next_id: int | None = None) -> Document:
    return {
        "name": row.name,
        "active": row.active,
        "next": row.id == next_id,
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
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Model (default: the active one).")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Check a model's files against their recorded hash."""
    from gbrain.models.files import verify_hashes as verify_files

    with open_brain(db) as brain:
        row = brain.model(name) if name else brain.active_model()
        verify_files(brain.model_spec(row))
    if json:
        screen.write_json({"name": row.name, "ok": True, "sha256": row.sha256})
    elif not quiet:
        screen.say(f"The files of {row.name} are unchanged.")


@model.command(
    "add",
    epilog=examples(
        "gbrain model add ~/models/e5-small --query-prefix 'query: ' --passage-prefix 'passage: '"
    ),
)
def add(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder with model.onnx and tokenizer.json.")
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of the model (default: from its files)."),
    ] = None,
    pooling: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="Pooling: cls or mean (default: its files)."),
    ] = None,
    query_prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text to put before each query.")
    ] = None,
    passage_prefix: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Text to put before each chunk.")
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=8,
            max=10**6,
            help="Maximum tokens that the model reads.",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add an ONNX sentence embedding model from a folder."""
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
        row = brain.model(spec.name)
    if json:
        screen.write_json(_document(row))
    elif not quiet:
        screen.say(f"Added {spec.name}. gbrain model use {spec.name} makes it the active model.")


@model.command(
    "use",
    epilog=examples(
        "gbrain model use multilingual-e5-small",
        "gbrain model use --undo",
        "gbrain model use e5-small --yes",
    ),
)
def use(
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Model; gbrain model list shows them."),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Go back to the model that was active before.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Use it even if results get worse.")
    ] = False,
    selftest: Annotated[
        bool,
        typer.Option("--selftest/--no-selftest", help="Compare the results of both models first."),
    ] = True,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Embed your notes with a model and make it the active one.

    Until all notes are embedded, queries use the model that was active before. If the command is
    interrupted, gbrain embed continues. The vectors of other models are kept, so that --undo and a
    later switch embed nothing again.

    If all notes are already embedded with the model, it is first compared with the active one on
    questions made from your pages, and refused if results get worse. Otherwise the results of the
    active model are saved; gbrain selftest compares with them.
    """
    if undo == bool(name):
        raise UsageError(
            "Name a model, or use --undo" if not name else "--undo takes no model",
            hint="gbrain model list shows the models.",
        )
    with open_brain(db) as brain:
        if name:
            _use(brain, name, yes, selftest, quiet=quiet, json=json)
        else:
            row = brain.undo_switch()
            if json:
                screen.write_json({**_document(row), "active": True, "selftest": None})
            elif not quiet:
                screen.say(f"{row.name} is the active model.")


def _use(brain: Brain, name: str, yes: bool, selftest: bool, *, quiet: bool, json: bool) -> None:
    """Switch to a model, embed for it if that is needed, and say what happened."""
    from gbrain.cli.embedding import embed_with_progress
    from gbrain.evaluate.model_switch import start_switch, switch_model

    before = brain.active_model()
    if selftest:
        with show_progress("Asking", quiet=quiet or json) as show:
            switched = switch_model(brain, name, force=yes, progress=show)
    else:
        switched = start_switch(brain, name)
    change = switched.report.changes[0] if switched.report and switched.report.changes else None
    result = f"nDCG@10 {change.before:.3f} → {change.now:.3f}" if change else ""
    active = switched.used
    if switched.next:
        if not quiet and not json:
            screen.say(f"Queries use {before.name} until all notes are embedded with {name}.")
        active = embed_with_progress(brain, quiet=quiet or json).switched_to == name
    elif not active:
        raise GbrainError(
            f"Results get worse with {name}: {result} on questions made from your pages. "
            f"{before.name} is still the active model",
            hint=f"gbrain model use {name} --yes uses it anyway.",
            code="answers_worse",
        )
    if json:
        compared = {"before": change.before, "now": change.now} if change else None
        document = _document(switched.model, None if active else switched.model.id)
        screen.write_json({**document, "active": active, "selftest": compared})
    elif not quiet:
        _say_switched(brain, switched, before.name, active=active, result=result)


def _say_switched(
    brain: Brain, switched: ModelSwitch, before: str, *, active: bool, result: str
) -> None:
    name = switched.model.name
    if not active:
        screen.say(f"{before} is still the active model; gbrain embed continues.")
        return
    screen.say(f"{name} is now the active model{f' ({result})' if result else ''}.")
    if brain.backlog().waiting:
        screen.say("Run gbrain embed to compute the missing vectors.")
    elif switched.next:
        compare = f" gbrain selftest compares with {before}." if switched.baseline_saved else ""
        screen.say(f"gbrain model use --undo goes back.{compare}")


@model.command("remove", epilog=examples("gbrain model remove e5-small"))
def remove(name: Name, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Remove a model and its vectors."""
    with open_brain(db) as brain:
        row = brain.model(name)
        following = brain.next_model()
        if following and following[0].id == row.id:
            brain.undo_switch()
        if row.active:
            raise UsageError(
                f"{name} is the active model",
                hint="First choose another one: gbrain model use NAME.",
            )
        removed = brain.remove_model(row)
    if json:
        screen.write_json({"name": name, "vectors": removed})
    elif not quiet:
        screen.say(f"Removed {name} and {counted(removed, 'vector')}.")


# --- train-reranker --------------------------------------------------------------------------


# With fewer, the gain on unseen questions is never significant.
MIN_OPENED = 50


@command.command(
    "train-reranker",
    epilog=examples("gbrain train-reranker", "gbrain config set rerank learned"),
)
def train_reranker(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Train a model to sort results, from the pages you opened.

    The model is saved only if it improves the order of results. To use it, run gbrain config set
    rerank learned.
    """
    from gbrain.search.rerank.learned import FEATURES, TrainingQuestion, dump_network, train

    with open_brain(db) as brain:
        questions = [TrainingQuestion(*lesson) for lesson in brain.reranker_lessons(len(FEATURES))]
        opened = sum(sum(question.opened) for question in questions if len(question.rows) > 1)
        if opened < MIN_OPENED:
            raise GbrainError(
                f"Only {opened} opened pages are recorded; training needs at least {MIN_OPENED}",
                hint="gbrain config set record_queries on records queries and the pages you open "
                "from their results.",
                code="too_few_examples",
            )
        trained = train(questions)
        if trained.helps:
            brain.keep_reranker(dump_network(trained.network))
    if json:
        screen.write_json(_training_document(trained))
    elif not quiet:
        _print_result(trained)


def _training_document(trained: TrainingResult) -> dict[str, object]:
    """Return the outcome as a JSON document."""
    return {
        "questions": trained.questions,
        "opened": trained.opened,
        "mrr_before": round(trained.mrr_before, 4),
        "mrr_after": round(trained.mrr_after, 4),
        "gain_low": round(trained.low, 4),
        "gain_high": round(trained.high, 4),
        "kept": trained.helps,
    }


def _print_result(trained: TrainingResult) -> None:
    gain = trained.mrr_after - trained.mrr_before
    opened = counted(trained.opened, "opened page")
    screen.say(f"Trained on {opened} of {counted(trained.questions, 'question')}.")
    screen.say(
        f"MRR on questions not used to train: {trained.mrr_before:.3f} before, "
        f"{trained.mrr_after:.3f} after ({gain:+.3f}, 95 % interval "
        f"{trained.low:+.3f} to {trained.high:+.3f})."
    )
    screen.say(
        "Saved. To use it: gbrain config set rerank learned"
        if trained.helps
        else "Not saved: there is no gain beyond chance. An earlier reranker stays as it is."
    )
