"""`train-reranker`: learns from what was opened, and keeps what it learned only if it helps."""

from __future__ import annotations

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import GbrainError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.search.rerank.learned import FEATURES, dump_network
from gbrain.search.rerank.training import TrainingQuestion, TrainingResult, train

# With fewer, the gain on unseen questions is within chance whatever was learned.
LEAST_OPENED = 50

command = Module()


@command.command(
    "train-reranker",
    epilog=examples("gbrain train-reranker", "gbrain config set rerank learned"),
)
def train_reranker(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Learn from opened answers how to rank pages; kept only if it helps."""
    with open_brain(db) as brain:
        asked = [TrainingQuestion(*lesson) for lesson in brain.reranker_lessons(len(FEATURES))]
        opened = sum(sum(question.opened) for question in asked if len(question.rows) > 1)
        if opened < LEAST_OPENED:
            raise GbrainError(
                f"Only {opened} opened answers are recorded; {LEAST_OPENED} are needed to learn",
                hint="gbrain config set record_queries on records them, "
                "from each page that is opened after a query.",
                code="too_few_examples",
            )
        trained = train(asked)
        if trained.helps:
            brain.keep_reranker(dump_network(trained.network))
    if json:
        screen.write_json(_document(trained))
    elif not quiet:
        _say(trained)


def _document(trained: TrainingResult) -> dict[str, object]:
    return {
        "questions": trained.questions,
        "opened": trained.opened,
        "mrr_before": round(trained.mrr_before, 4),
        "mrr_after": round(trained.mrr_after, 4),
        "gain_low": round(trained.low, 4),
        "gain_high": round(trained.high, 4),
        "kept": trained.helps,
    }


def _say(trained: TrainingResult) -> None:
    gain = trained.mrr_after - trained.mrr_before
    opened = counted(trained.opened, "opened answer")
    screen.say(f"Learned from {opened} to {counted(trained.questions, 'question')}.")
    screen.say(
        f"On questions it had not seen, MRR {trained.mrr_before:.3f} became "
        f"{trained.mrr_after:.3f}: {gain:+.3f}, 95 % between {trained.low:+.3f} and "
        f"{trained.high:+.3f}."
    )
    screen.say(
        "Kept: gbrain config set rerank learned makes queries use it."
        if trained.helps
        else "Not kept: that is no gain beyond chance. What was learned before still stands."
    )
