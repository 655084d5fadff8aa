"""The self-test: a brain asked with its own words, scored, and compared with how it once did."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import log2
from time import perf_counter
from typing import NamedTuple

from gbrain import __version__
from gbrain.brain import Brain, timestamp
from gbrain.errors import NotFound
from gbrain.evaluate.metrics import Comparison, Scores, compare, mean_scores, score_ranking
from gbrain.evaluate.question_mining import (
    MAX_QUESTIONS_PER_KIND,
    QUESTION_KINDS,
    MinedQuestion,
    QuestionKind,
    mine_questions,
    refresh_questions,
)
from gbrain.store import baselines, models
from gbrain.types import Progress, Scope, no_progress

TOLERANCE = 0.02
# How sure a loss must be before it is one; each kind by itself must be surer.
SIGNIFICANCE_LEVEL = 0.05

_DEPTH = 10
# Asking oneself is no use of the brain.
_UNRECORDED = {"record_queries": "off"}


class SelftestResult(NamedTuple):
    """A question and where its page came, from 1 to 10 or None; `first` is the page on top."""

    question: MinedQuestion
    rank: int | None
    first: str | None

    @property
    def scores(self) -> Scores:
        right = [self.question.slug] if self.rank else []
        others = [""] * ((self.rank or 1) - 1 if self.first else 0)
        ranking = [*others, *right] or [""] * bool(self.first)
        return score_ranking(ranking, ranking, {self.question.slug: 1})


class BrainState(NamedTuple):
    """What answers may depend on: the program, the model, the pages, and settings that differ from
    their defaults."""

    program: str
    model: str | None
    pages: int
    settings: dict[str, str]


class Baseline(NamedTuple):
    """An earlier run: when, in what state, and where each question's page came."""

    made_at: str
    state: BrainState
    asked: tuple[SelftestResult, ...]


class KindComparison(NamedTuple):
    """How the questions of a kind (None: all) are answered now beside the baseline, by nDCG@10."""

    kind: QuestionKind | None
    before: float
    now: float
    compared: Comparison
    worse: bool


class RankChange(NamedTuple):
    """A question whose page came at `before` once and comes at another place now."""

    asked: SelftestResult
    before: int | None


class SelftestReport(NamedTuple):
    """One run of the self-test, with the comparison if there is a baseline.

    `changes` begin with the overall one; `lost` and `gained` with the question that moved most.
    `dropped` counts questions of the baseline that are no longer fair.
    """

    asked: tuple[SelftestResult, ...]
    state: BrainState
    seconds: float
    baseline: Baseline | None
    changes: tuple[KindComparison, ...]
    lost: tuple[RankChange, ...]
    gained: tuple[RankChange, ...]
    dropped: int

    @property
    def worse(self) -> bool:
        return any(change.worse for change in self.changes)

    def by_kind(self) -> Iterator[tuple[QuestionKind | None, int, Scores]]:
        """(kind, questions, means) of each kind that has questions, then of all."""
        for kind in (*QUESTION_KINDS, None):
            of_kind = [one.scores for one in self.asked if kind in (None, one.question.kind)]
            if of_kind:
                yield kind, len(of_kind), mean_scores(of_kind)


def run_selftest(
    brain: Brain,
    *,
    most: int = MAX_QUESTIONS_PER_KIND,
    tolerance: float = TOLERANCE,
    baseline: Baseline | None = None,
    progress: Progress = no_progress,
) -> SelftestReport:
    """Asks at most `most` questions of each kind, the baseline's own where they still hold.

    Raises NotFound when the pages give no question.
    """
    began = perf_counter()
    known = [one.question for one in baseline.asked] if baseline else []
    with brain.database.read_transaction() as connection:
        questions = (
            refresh_questions(connection, known, most)
            if known
            else mine_questions(connection, most)
        )
    if not questions:
        raise NotFound(
            "There is nothing to ask: no page says enough",
            hint="gbrain import DIR brings a folder of notes in.",
            code="no_questions",
        )
    asked = ask_questions(brain, questions, progress)
    return build_report(
        asked, brain_state(brain), baseline, tolerance=tolerance, seconds=perf_counter() - began
    )


def ask_questions(
    brain: Brain, questions: Sequence[MinedQuestion], progress: Progress = no_progress
) -> tuple[SelftestResult, ...]:
    """Each question answered as `gbrain query` would, with nothing recorded."""
    asked: list[SelftestResult] = []
    for question in questions:
        scope = Scope(exclude=(question.exclude,) if question.exclude else ())
        answer = brain.query(question.text, scope=scope, limit=_DEPTH, changes=_UNRECORDED)
        slugs = [hit.slug for hit in answer.hits]
        rank = slugs.index(question.slug) + 1 if question.slug in slugs else None
        asked.append(SelftestResult(question, rank, slugs[0] if slugs else None))
        progress(len(asked), len(questions))
    return tuple(asked)


def brain_state(brain: Brain) -> BrainState:
    with brain.database.read_transaction() as connection:
        model = models.active_model(connection)
        pages = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
    return BrainState(
        __version__, model.name if model else None, pages, dict(brain.stored_settings)
    )


# --- the comparison --------------------------------------------------------------------------


def build_report(
    asked: tuple[SelftestResult, ...],
    state: BrainState,
    baseline: Baseline | None,
    *,
    tolerance: float,
    seconds: float,
) -> SelftestReport:
    """The report of a run; questions are compared pairwise, by their ids."""
    before = {one.question.id: one for one in baseline.asked} if baseline else {}
    pairs = [(before[one.question.id], one) for one in asked if one.question.id in before]
    kinds = [kind for kind in QUESTION_KINDS if any(one.question.kind == kind for _, one in pairs)]
    changes = []
    for kind in (None, *kinds) if pairs else ():
        of_kind = [pair for pair in pairs if kind in (None, pair[1].question.kind)]
        level = SIGNIFICANCE_LEVEL / (len(kinds) if kind else 1)
        changes.append(_change(kind, of_kind, tolerance, level))
    moved = [RankChange(now, then.rank) for then, now in pairs if then.rank != now.rank]
    moved.sort(key=lambda one: (_gain(one), one.asked.question.slug))
    return SelftestReport(
        asked,
        state,
        seconds,
        baseline,
        tuple(changes),
        tuple(one for one in moved if _gain(one) < 0),
        tuple(one for one in reversed(moved) if _gain(one) > 0),
        len(before) - len(pairs),
    )


def _change(
    kind: QuestionKind | None,
    pairs: Sequence[tuple[SelftestResult, SelftestResult]],
    tolerance: float,
    level: float,
) -> KindComparison:
    then = [_value(before.rank) for before, _ in pairs]
    now = [_value(after.rank) for _, after in pairs]
    result = compare(now, then)
    worse = result.difference < -tolerance and result.p_value < level
    return KindComparison(kind, sum(then) / len(then), sum(now) / len(now), result, worse)


def _value(rank: int | None) -> float:
    """nDCG@10 of a question that one page answers."""
    return 1 / log2(rank + 1) if rank else 0.0


def _gain(moved: RankChange) -> float:
    return _value(moved.asked.rank) - _value(moved.before)


# --- what is kept ----------------------------------------------------------------------------


def save_baseline(brain: Brain, report: SelftestReport) -> None:
    """Makes this run the one that later ones are compared with."""
    state = report.state
    document = {
        "program": state.program,
        "pages": state.pages,
        "settings": state.settings,
        "asked": [[*one.question, one.rank] for one in report.asked],
    }
    with brain.database.write_transaction() as connection:
        baselines.save_baseline(
            connection, timestamp(), state.model, json.dumps(document, ensure_ascii=False)
        )


def load_baseline(brain: Brain) -> Baseline | None:
    """The latest run that was kept; None if there is none or it cannot be read."""
    with brain.database.read_transaction() as connection:
        row = baselines.latest_baseline(connection)
    if row is None:
        return None
    try:
        document = json.loads(row.results)
        state = BrainState(
            str(document["program"]), row.model, int(document["pages"]), dict(document["settings"])
        )
        return Baseline(row.made_at, state, tuple(map(_asked, document["asked"])))
    except (ValueError, TypeError, KeyError):
        return None


def _asked(values: list[object]) -> SelftestResult:
    *written, rank = values
    name, kind, text, slug, drawn_from = map(str, written[:5])
    if kind not in QUESTION_KINDS or not (
        rank is None or (isinstance(rank, int) and 1 <= rank <= _DEPTH)
    ):
        raise ValueError("no such question")
    exclude = str(written[5]) if written[5] is not None else None
    return SelftestResult(MinedQuestion(name, kind, text, slug, drawn_from, exclude), rank, None)
