"""`eval`: how good answers are on a labelled set, under one configuration or several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Json, Quiet
from gbrain.errors import UsageError
from gbrain.evaluate.configurations import (
    DEFAULT_CONFIGURATION,
    STANDARD_CONFIGURATIONS,
    configurations_from_options,
)
from gbrain.evaluate.context_recall import (
    DEFAULT_BUDGETS,
    ContextRecall,
    measure_context_recall,
    relevant_texts,
)
from gbrain.evaluate.dataset_cache import DatasetBrain, open_dataset_brain
from gbrain.evaluate.datasets import Dataset, load_dataset, select_questions
from gbrain.evaluate.evaluation import Evaluation, build_evaluation
from gbrain.evaluate.runs import run_configurations
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.evaluation import (
    evaluation_document,
    evaluation_text,
    latency_points,
    questions_csv,
)
from gbrain.output.progress import show_progress
from gbrain.store.atomic_files import check_markup_target, write_markup

command = Module()

_LARGEST_BUDGET = 1_000_000


def _compared(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel="Configurations")


def _asked(name: str, help: str, metavar: str = "N", low: int | None = None) -> Any:
    return _option(name, metavar, low, help, "Questions")


def _shown(name: str, help: str, metavar: str | None = None, low: int | None = None) -> Any:
    return _option(name, metavar, low, help, "Output")


def _option(name: str, metavar: str | None, low: int | None, help: str, panel: str) -> Any:
    high = None if low is None else 10**9
    return typer.Option(name, metavar=metavar, min=low, max=high, help=help, rich_help_panel=panel)


Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="A set: corpus.jsonl (or a vault folder), queries.jsonl, qrels.tsv."
    ),
]
Modes = Annotated[
    str | None,
    _compared("--modes", metavar="LIST", help="bm25, semantic, hybrid, auto; commas between."),
]
Merges = Annotated[
    str | None,
    _compared(
        "--merge",
        metavar="LIST",
        help="set-union, set-union-rank, rrf, blend: a hybrid configuration each.",
    ),
]
Profiles = Annotated[
    list[str] | None, _compared("--profile", metavar="NAME", help="A profile; repeatable.")
]
Changes = Annotated[
    list[str] | None,
    _compared(
        "--set",
        metavar="NAME=VALUE,...",
        help="One more: settings changed in the only configuration that is named, else in the "
        "defaults; repeatable.",
    ),
]
Rerank = Annotated[bool, _compared("--rerank", help="One more, made likewise: reranked.")]
Evidence = Annotated[
    Path | None,
    _asked(
        "--evidence",
        "A finer set for the same questions: how much of its relevant text is in the context of "
        "--depth auto? Without configurations named, of the defaults only.",
        "DIR",
    ),
]
Context = Annotated[
    str | None,
    _asked("--context", "Token budgets for --evidence; else 250,500,1000,2000,4000.", "LIST"),
]
First = Annotated[int | None, _asked("--limit-queries", "The first N only.", low=1)]
Sample = Annotated[int | None, _asked("--sample", "N of them, drawn by --seed.", low=1)]
Seed = Annotated[int, _asked("--seed", "For --sample and the significance test.", low=0)]
Losses = Annotated[
    int | None,
    _shown(
        "--show-losses", "The N questions that lost most: what was expected, what came.", "N", 1
    ),
]
Plot = Annotated[bool, _shown("--plot", "Draw quality against latency.")]
Svg = Annotated[Path | None, _shown("--svg", "The same plot as an SVG file.", "FILE")]
Csv = Annotated[bool, _shown("--csv", "Print a row per configuration and question.")]
Cache = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Where the brains of sets are kept; else the cache folder."),
]


@command.command(
    "eval",
    epilog=examples(
        "gbrain eval ~/sets/scifact",
        "gbrain eval ~/sets/notes --modes bm25,hybrid --merge set-union,rrf --show-losses 5",
        "gbrain eval ~/sets/notes --set both_bonus=0.4 --set both_bonus=0.8,chunk_weight=1",
        "gbrain eval ~/sets/chats --evidence ~/sets/turns --context 500,1000,4000",
        "gbrain eval ~/sets/notes --sample 100 --json | jq '.configurations[0].ndcg_at_10'",
    ),
)
def eval_(
    folder: Folder,
    modes: Modes = None,
    merge: Merges = None,
    profile: Profiles = None,
    changes: Changes = None,
    rerank: Rerank = False,
    evidence: Evidence = None,
    context: Context = None,
    limit_queries: First = None,
    sample: Sample = None,
    seed: Seed = 1,
    show_losses: Losses = None,
    plot: Plot = False,
    svg: Svg = None,
    csv: Csv = False,
    cache: Cache = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure the answers to a set of questions whose answers are known.

    Compares keywords, meaning and three ways to merge them unless options name
    other configurations. The first is the baseline: the others are tested
    against it by a paired randomisation test of nDCG@10 with 10 000
    permutations.

    Every question is asked of the whole program, within its scope if it has
    one, as gbrain query asks it. Only R@100 is measured apart: a question with
    answers missing from the first ten is asked again for a hundred, with
    candidate_pool at 100 or more.

    Latency is of up to 100 questions spread over the set, in a process that has
    its model open; each is embedded anew for every configuration, the other
    questions once for all.

    The set's brain stays in a cache: a second run embeds nothing.
    """
    _check_output(csv, json, plot, svg)
    budgets = _budgets(context, evidence)
    named = configurations_from_options(
        _listed(modes), _listed(merge), profile or (), changes or (), rerank=rerank
    )
    configurations = named or ((DEFAULT_CONFIGURATION,) if evidence else STANDARD_CONFIGURATIONS)
    labelled = load_dataset(folder)
    questions = select_questions(labelled.questions, limit_queries, sample, seed)
    finer = relevant_texts(load_dataset(evidence)) if evidence else {}
    if evidence and not any(question.id in finer for question in questions):
        raise UsageError(
            f"{evidence} has no answers to questions of {folder}",
            hint="Both sets must name their questions alike.",
        )
    silent = quiet or json or csv
    contexts: list[ContextRecall] = []
    with _open_brain(labelled, cache, quiet) as brain:
        if any(configuration.wants_vectors for configuration in configurations):
            _embed(brain, quiet)
        if not silent:
            screen.say(_about(labelled, len(questions)))
        with show_progress("Asking", quiet=quiet) as show:
            runs = run_configurations(brain, questions, labelled.relevant, configurations, show)
        if evidence:
            with show_progress("Assembling", quiet=quiet) as show:
                contexts = measure_context_recall(
                    brain, questions, finer, configurations, budgets, show
                )
        place = str(brain.path)
    evaluation = build_evaluation(labelled, place, runs, contexts, show_losses, seed)
    _show(evaluation, as_json=json, as_csv=csv, plot=plot, svg=svg)
    if not silent:
        for note in evaluation.notes:
            screen.say(note)


def _check_output(csv: bool, json: bool, plot: bool, svg: Path | None) -> None:
    """Before the work: it is long."""
    if csv and json:
        raise UsageError("--csv and --json do not go together", hint="Take one of them.")
    if plot and (csv or json):
        raise UsageError("--plot draws on the screen", hint="With --csv or --json use --svg FILE.")
    if svg and not svg.absolute().parent.is_dir():
        raise UsageError(f"Cannot write {svg}: there is no such folder", hint="Name another file.")
    if svg:
        check_markup_target(svg)


def _listed(written: str | None) -> list[str]:
    return [word.strip() for word in (written or "").split(",") if word.strip()]


def _budgets(written: str | None, evidence: Path | None) -> tuple[int, ...]:
    if written is None:
        return DEFAULT_BUDGETS
    if evidence is None:
        raise UsageError(
            "--context needs --evidence DIR", hint="DIR is a set that judges smaller pieces."
        )
    words = _listed(written)
    usable = [word.isdecimal() and 1 <= int(word) <= _LARGEST_BUDGET for word in words]
    if not words or not all(usable):
        raise UsageError(
            f"--context takes numbers of tokens, not {written!r}", hint="--context 500,1000"
        )
    return tuple(dict.fromkeys(int(word) for word in words))


def _open_brain(labelled: Dataset, cache: Path | None, quiet: bool) -> DatasetBrain:
    with show_progress("Reading", quiet=quiet) as show:
        return open_dataset_brain(labelled, cache, show)


def _embed(brain: DatasetBrain, quiet: bool) -> None:
    with show_progress("Embedding", quiet=quiet) as show:
        result = brain.embed(progress=show)
    if result.done and not quiet:
        passages = counted(result.done, "passage")
        screen.say(f"{passages} embedded, {result.done / result.seconds:.0f} a second.")


def _about(labelled: Dataset, asked: int) -> str:
    total = len(labelled.questions)
    scoped = any(not question.scope.unlimited for question in labelled.questions)
    within = ", each within its scope" if scoped else ""
    pages, questions = counted(len(labelled.documents), "page"), counted(total, "question")
    some = f"{asked} of {questions}" if asked < total else questions
    return f"{labelled.folder}: {pages}, {some}{within}."


def _show(
    evaluation: Evaluation, *, as_json: bool, as_csv: bool, plot: bool, svg: Path | None
) -> None:
    if svg:
        _write_svg(evaluation, svg)
    if as_json:
        screen.write_json(evaluation_document(evaluation))
    elif as_csv:
        screen.write(questions_csv(evaluation))
    elif screen.on_terminal():
        from gbrain.output.evaluation import show_evaluation

        show_evaluation(evaluation)
    else:
        screen.write(evaluation_text(evaluation))
    if plot:
        from gbrain.output.plots import plot_text

        screen.write(plot_text(latency_points(evaluation), "ms (median)", "nDCG@10"))


def _write_svg(evaluation: Evaluation, file: Path) -> None:
    from gbrain.output.plots import plot_svg

    title = f"{evaluation.labelled.folder.resolve().name}: quality against latency"
    drawn = plot_svg(latency_points(evaluation), title, "median time of a query, ms", "nDCG@10")
    write_markup(file, drawn)
