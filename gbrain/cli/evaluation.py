"""The command eval: measure search quality on a dataset under one or several configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gbrain.cli.commands import Json, Module, Quiet, examples, refuse_together
from gbrain.errors import UsageError
from gbrain.evaluate.dataset_cache import DatasetBrain, open_dataset_brain
from gbrain.evaluate.datasets import Dataset, load_dataset, select_questions
from gbrain.evaluate.evaluation import Evaluation, build_evaluation
from gbrain.evaluate.runs import (
    DEFAULT_BUDGETS,
    DEFAULT_CONFIGURATION,
    STANDARD_CONFIGURATIONS,
    ContextRecall,
    configurations_from_options,
    measure_context_recall,
    relevant_texts,
    run_configurations,
)
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.evaluation import (
    evaluation_document,
    evaluation_text,
    latency_points,
    questions_csv,
)
from gbrain.output.screen import show_progress
from gbrain.store.atomic_files import check_markup_target, write_markup

command = Module()

_MAX_BUDGET_TOKENS = 1_000_000


def _configuration_option(*names: str, help: str, metavar: str | None = None) -> Any:
    return typer.Option(*names, metavar=metavar, help=help, rich_help_panel="Configurations")


def _question_option(name: str, help: str, metavar: str = "N", low: int | None = None) -> Any:
    return _option(name, metavar, low, help, "Questions")


def _output_option(name: str, help: str, metavar: str | None = None, low: int | None = None) -> Any:
    return _option(name, metavar, low, help, "Output")


def _option(name: str, metavar: str | None, low: int | None, help: str, panel: str) -> Any:
    high = None if low is None else 10**9
    return typer.Option(name, metavar=metavar, min=low, max=high, help=help, rich_help_panel=panel)


Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        help="Dataset: corpus.jsonl (or notes in a subfolder vault), queries.jsonl and qrels.tsv.",
    ),
]
Modes = Annotated[
    str | None,
    _configuration_option(
        "--modes",
        metavar="LIST",
        help="Search modes to compare: bm25,semantic,hybrid,auto.",
    ),
]
Merges = Annotated[
    str | None,
    _configuration_option(
        "--merge",
        metavar="LIST",
        help="Merge strategies to compare: set-union,set-union-rank,rrf,blend.",
    ),
]
Profiles = Annotated[
    list[str] | None,
    _configuration_option("--profile", metavar="NAME", help="Profile to compare; repeatable."),
]
Changes = Annotated[
    list[str] | None,
    _configuration_option(
        "--set",
        metavar="NAME=VALUE,...",
        help="Add a row with these settings changed; repeatable.",
    ),
]
Rerank = Annotated[
    bool,
    _configuration_option("--rerank", help="Add each row once more with --rerank."),
]
Evidence = Annotated[
    Path | None,
    _question_option(
        "--evidence",
        "Dataset with the same questions and the exact texts that answer them; measures how many "
        "of those texts --depth auto prints.",
        "DIR",
    ),
]
Context = Annotated[
    str | None,
    _question_option(
        "--context", "Token budgets for --evidence (default 250,500,1000,2000,4000).", "LIST"
    ),
]
First = Annotated[
    int | None, _question_option("--limit-queries", "Ask only the first N questions.", low=1)
]
Sample = Annotated[
    int | None, _question_option("--sample", "Ask N questions chosen at random.", low=1)
]
Seed = Annotated[
    int,
    _question_option("--seed", "Seed of random choices (default 1).", low=0),
]
Losses = Annotated[
    int | None,
    _output_option("--show-losses", "Show the N questions that lost the most.", "N", 1),
]
Plot = Annotated[bool, _output_option("--plot", "Plot quality against time on the terminal.")]
Svg = Annotated[Path | None, _output_option("--svg", "Write the plot to an SVG file.", "FILE")]
Csv = Annotated[bool, _output_option("--csv", "Print each question's result as CSV.")]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Where to keep the dataset's brain (default: the cache folder)."
    ),
]


@command.command(
    "eval",
    epilog=examples(
        "gbrain eval ~/sets/scifact",
        "gbrain eval ~/sets/notes --modes bm25,hybrid --show-losses 5",
        "gbrain eval ~/sets/notes --set both_bonus=0.4 --set both_bonus=0.8",
        "gbrain eval ~/sets/chats --evidence ~/sets/turns --context 500,1000,4000",
        "gbrain eval ~/sets/notes --sample 100 --json | jq .configurations",
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
    """Measure search quality with questions and known answers.

    Prints a row for each way to search: how many of the right pages were among the first five
    (R@5), how high they were ranked (nDCG@10: 1 if they always come first), and how long a question
    took. Without options the rows are keyword alone, vector alone, and three ways to merge the two.
    Each row is compared with the first; p is the probability of such a difference by chance alone
    (below 0.05 the difference is probably real).

    Time is measured on up to 100 questions, with the model already loaded. The dataset is imported
    and embedded once; later runs use the same brain.
    """
    _check_output(csv, json, plot, svg)
    budgets = _parse_budgets(context, evidence)
    named = configurations_from_options(
        _split_list(modes), _split_list(merge), profile or (), changes or (), rerank=rerank
    )
    configurations = named or ((DEFAULT_CONFIGURATION,) if evidence else STANDARD_CONFIGURATIONS)
    dataset = load_dataset(folder)
    questions = select_questions(dataset.questions, limit_queries, sample, seed)
    evidence_texts = relevant_texts(load_dataset(evidence)) if evidence else {}
    if evidence and not any(question.id in evidence_texts for question in questions):
        raise UsageError(
            f"{evidence} has no answers to the questions of {folder}",
            hint="Both datasets must use the same question ids.",
        )
    silent = quiet or json or csv
    contexts: list[ContextRecall] = []
    with _open_brain(dataset, cache, quiet) as brain:
        if any(configuration.wants_vectors for configuration in configurations):
            _embed(brain, quiet)
        if not silent:
            screen.say(_describe(dataset, len(questions)))
        with show_progress("Asking", quiet=quiet) as show:
            runs = run_configurations(brain, questions, dataset.relevant, configurations, show)
        if evidence:
            with show_progress("Assembling", quiet=quiet) as show:
                contexts = measure_context_recall(
                    brain, questions, evidence_texts, configurations, budgets, show
                )
        path = str(brain.path)
    evaluation = build_evaluation(dataset, path, runs, contexts, show_losses, seed)
    _show(evaluation, as_json=json, as_csv=csv, plot=plot, svg=svg)
    if not silent:
        for note in evaluation.notes:
            screen.say(note)


def _check_output(csv: bool, json: bool, plot: bool, svg: Path | None) -> None:
    """Raise UsageError for impossible output options before the long work begins."""
    refuse_together({"--csv": csv, "--json": json})
    if plot and (csv or json):
        raise UsageError(
            "--plot cannot be combined with --csv or --json",
            hint="Use --svg FILE instead of --plot.",
        )
    if svg and not svg.absolute().parent.is_dir():
        raise UsageError(
            f"Cannot write {svg}: its folder does not exist",
            hint="Create the folder, or choose another file.",
        )
    if svg:
        check_markup_target(svg)


def _split_list(option: str | None) -> list[str]:
    return [word.strip() for word in (option or "").split(",") if word.strip()]


def _parse_budgets(option: str | None, evidence: Path | None) -> tuple[int, ...]:
    if option is None:
        return DEFAULT_BUDGETS
    if evidence is None:
        raise UsageError(
            "--context needs --evidence DIR",
            hint="DIR is a dataset with the same questions and the texts that answer them.",
        )
    words = _split_list(option)
    usable = [word.isdecimal() and 1 <= int(word) <= _MAX_BUDGET_TOKENS for word in words]
    if not words or not all(usable):
        raise UsageError(
            f"--context takes token budgets, not {option!r}", hint="For example: --context 500,1000"
        )
    return tuple(dict.fromkeys(int(word) for word in words))


def _open_brain(dataset: Dataset, cache: Path | None, quiet: bool) -> DatasetBrain:
    with show_progress("Reading", quiet=quiet) as show:
        return open_dataset_brain(dataset, cache, show)


def _embed(brain: DatasetBrain, quiet: bool) -> None:
    with show_progress("Embedding", quiet=quiet) as show:
        result = brain.embed(progress=show)
    if result.done and not quiet:
        chunks = counted(result.done, "chunk")
        screen.say(f"{chunks} embedded, {result.done / result.seconds:.0f} per second.")


def _describe(dataset: Dataset, asked: int) -> str:
    total = len(dataset.questions)
    scoped = any(not question.scope.unlimited for question in dataset.questions)
    within = ", each within its scope" if scoped else ""
    pages, questions = counted(len(dataset.documents), "page"), counted(total, "question")
    some = f"{asked} of {questions}" if asked < total else questions
    return f"{dataset.folder}: {pages}, {some}{within}."


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

    title = f"{evaluation.dataset.folder.resolve().name}: quality against latency"
    drawn = plot_svg(latency_points(evaluation), title, "median query time, ms", "nDCG@10")
    write_markup(file, drawn)
