"""The command train-reranker: learn a ranking from opened pages, save it only if it helps."""

from __future__ import annotations

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import GbrainError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.search.rerank.learned import FEATURES, dump_network
from gbrain.search.rerank.training import TrainingQuestion, TrainingResult, train

# With fewer, the gain on unseen questions is never significant.
MIN_OPENED = 50

command = Module()


@command.command(
    "train-reranker",
    epilog=examples("gbrain train-reranker", "gbrain config set rerank learned"),
)
def train_reranker(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Learn from the pages you opened which results to rank higher; saved only if it helps."""
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
        screen.write_json(_document(trained))
    elif not quiet:
        _print_result(trained)


def _document(trained: TrainingResult) -> dict[str, object]:
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
        f"MRR on held-out questions: {trained.mrr_before:.3f} before, "
        f"{trained.mrr_after:.3f} after ({gain:+.3f}, 95 % interval "
        f"{trained.low:+.3f} to {trained.high:+.3f})."
    )
    screen.say(
        "Saved. To use it: gbrain config set rerank learned"
        if trained.helps
        else "Not saved: the gain is not significant. An earlier trained reranker stays as it is."
    )
