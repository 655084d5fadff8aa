"""Ask a brain questions mined from its own pages and compare the results with a saved run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory
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
from gbrain.store import evaluation_data, models
from gbrain.store.pages import count_pages
from gbrain.types import Progress, Scope, Verdict, no_progress

# Drops of nDCG@10 up to this much are ignored.
TOLERANCE = 0.02
# Largest p-value of a drop that counts; divided by the number of kinds for a single kind.
SIGNIFICANCE_LEVEL = 0.05

_RESULT_LIMIT = 10
# The self-test's queries must not appear in the recorded queries of the user.
_UNRECORDED = {"record_queries": "off"}


class SelftestResult(NamedTuple):
    """A question and its page's rank, from 1 to 10 or None; `first` is the top page's slug.

    An unanswerable question has rank 1 if it is graded as such.
    """

    question: MinedQuestion
    rank: int | None
    first: str | None

    @property
    def scores(self) -> Scores:
        expected = [self.question.slug] if self.rank else []
        others = [""] * ((self.rank or 1) - 1 if self.first else 0)
        ranking = [*others, *expected] or [""] * bool(self.first)
        return score_ranking(ranking, ranking, {self.question.slug: 1})


class SelftestState(NamedTuple):
    """What results depend on; `settings` are those that differ from their defaults."""

    program: str
    model: str | None
    pages: int
    settings: dict[str, str]


class Baseline(NamedTuple):
    """A saved run: when it was made, in what state, and its results."""

    made_at: str
    state: SelftestState
    results: tuple[SelftestResult, ...]


class KindComparison(NamedTuple):
    """Mean nDCG@10 of the questions of a kind (None: all) in the baseline and now."""

    kind: QuestionKind | None
    before: float
    now: float
    comparison: Comparison
    worse: bool


class RankChange(NamedTuple):
    """A question whose page has another rank than `before`."""

    result: SelftestResult
    before: int | None


class SelftestReport(NamedTuple):
    """One run of the self-test, compared with the baseline if there is one.

    `changes` has the overall comparison first; `lost` and `gained` the largest rank change first.
    `dropped` counts questions of the baseline that are no longer valid.
    """

    results: tuple[SelftestResult, ...]
    state: SelftestState
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
        """Yield (kind, number of questions, mean scores) of each kind, then of all (None)."""
        for kind in (*QUESTION_KINDS, None):
            of_kind = [one.scores for one in self.results if kind in (None, one.question.kind)]
            if of_kind:
                yield kind, len(of_kind), mean_scores(of_kind)


def run_selftest(
    brain: Brain,
    *,
    limit: int = MAX_QUESTIONS_PER_KIND,
    tolerance: float = TOLERANCE,
    baseline: Baseline | None = None,
    progress: Progress = no_progress,
) -> SelftestReport:
    """Ask at most `limit` questions of each kind, those of the baseline that are still valid first.

    Raises NotFound when no question can be mined from the pages.
    """
    started = perf_counter()
    known = [one.question for one in baseline.results] if baseline else []
    with brain.database.read_transaction() as connection:
        if known:
            questions = refresh_questions(connection, known, limit)
        else:
            questions = mine_questions(connection, limit)
    if not questions:
        raise NotFound(
            "No page has enough text to make test questions from",
            hint="gbrain import DIR imports a folder of notes.",
            code="no_questions",
        )
    results = ask_questions(brain, questions, progress)
    return build_report(
        results, brain_state(brain), baseline, tolerance=tolerance, seconds=perf_counter() - started
    )


def ask_questions(
    brain: Brain, questions: Sequence[MinedQuestion], progress: Progress = no_progress
) -> tuple[SelftestResult, ...]:
    """Return the result of each question, asked as `gbrain query` would and not recorded."""
    results: list[SelftestResult] = []
    with ExitStack() as stack:
        copy: Brain | None = None
        for question in questions:
            asked = brain
            if question.kind == "fresh":
                copy = copy or stack.enter_context(_open_copy(brain))
                copy.put(question.slug, question.drawn_from.encode())
                asked = copy
            results.append(_ask(asked, question))
            progress(len(results), len(questions))
    return tuple(results)


def _ask(brain: Brain, question: MinedQuestion) -> SelftestResult:
    scope = Scope(exclude=(question.exclude,) if question.exclude else ())
    answer = brain.query(question.text, scope=scope, limit=_RESULT_LIMIT, changes=_UNRECORDED)
    slugs = [hit.slug for hit in answer.hits]
    rank = slugs.index(question.slug) + 1 if question.slug in slugs else None
    if question.kind == "month" and rank:
        shown = answer.hits[rank - 1].date or ""
        rank = rank if shown.startswith(question.expects or "") else None
    elif question.kind == "unanswerable":
        rank = 1 if _names_what_is_missing(answer.verdict, question.expects or "") else None
    return SelftestResult(question, rank, slugs[0] if slugs else None)


def _names_what_is_missing(verdict: Verdict, word: str) -> bool:
    """Tell whether an answer is graded nothing, or partial with the missing word named."""
    named = word.casefold() in " ".join(verdict.reasons).casefold()
    return verdict.grade == "nothing" or (verdict.grade == "partial" and named)


@contextmanager
def _open_copy(brain: Brain) -> Iterator[Brain]:
    """Yield a temporary copy of the brain, in which notes can be written."""
    with TemporaryDirectory(prefix="gbrain-selftest-") as folder:
        copied = brain.backup(Path(folder) / "brain.db")
        with Brain.open(copied.file) as copy:
            yield copy


def brain_state(brain: Brain) -> SelftestState:
    """Return the program version, model, number of pages and settings of a brain."""
    with brain.database.read_transaction() as connection:
        model = models.active_model(connection)
        pages = count_pages(connection)
    return SelftestState(
        __version__, model.name if model else None, pages, dict(brain.stored_settings)
    )


# --- comparison ------------------------------------------------------------------------------


def build_report(
    results: tuple[SelftestResult, ...],
    state: SelftestState,
    baseline: Baseline | None,
    *,
    tolerance: float,
    seconds: float,
) -> SelftestReport:
    """Return the report of a run; questions with the same id are compared in pairs."""
    before = {one.question.id: one for one in baseline.results} if baseline else {}
    pairs = [(before[one.question.id], one) for one in results if one.question.id in before]
    kinds = [kind for kind in QUESTION_KINDS if any(one.question.kind == kind for _, one in pairs)]
    changes = []
    for kind in (None, *kinds) if pairs else ():
        of_kind = [pair for pair in pairs if kind in (None, pair[1].question.kind)]
        level = SIGNIFICANCE_LEVEL / (len(kinds) if kind else 1)
        changes.append(_compare_kind(kind, of_kind, tolerance, level))
    moved = [RankChange(now, then.rank) for then, now in pairs if then.rank != now.rank]
    moved.sort(key=lambda one: (_gain(one), one.result.question.slug))
    return SelftestReport(
        results,
        state,
        seconds,
        baseline,
        tuple(changes),
        tuple(one for one in moved if _gain(one) < 0),
        tuple(one for one in reversed(moved) if _gain(one) > 0),
        len(before) - len(pairs),
    )


def _compare_kind(
    kind: QuestionKind | None,
    pairs: Sequence[tuple[SelftestResult, SelftestResult]],
    tolerance: float,
    level: float,
) -> KindComparison:
    then = [_ndcg(before.rank) for before, _ in pairs]
    now = [_ndcg(after.rank) for _, after in pairs]
    comparison = compare(now, then)
    worse = comparison.difference < -tolerance and comparison.p_value < level
    return KindComparison(kind, sum(then) / len(then), sum(now) / len(now), comparison, worse)


def _ndcg(rank: int | None) -> float:
    """Return nDCG@10 of a question with a single relevant page."""
    return 1 / log2(rank + 1) if rank else 0.0


def _gain(change: RankChange) -> float:
    return _ndcg(change.result.rank) - _ndcg(change.before)


# --- saved runs ------------------------------------------------------------------------------


def save_baseline(brain: Brain, report: SelftestReport) -> None:
    """Save this run as the one that later runs are compared with."""
    state = report.state
    document = {
        "program": state.program,
        "pages": state.pages,
        "settings": state.settings,
        "asked": [[*one.question, one.rank] for one in report.results],
    }
    with brain.database.write_transaction() as connection:
        evaluation_data.save_baseline(
            connection, timestamp(), state.model, json.dumps(document, ensure_ascii=False)
        )


def load_baseline(brain: Brain) -> Baseline | None:
    """Return the latest saved run, or None if there is none or it cannot be parsed."""
    with brain.database.read_transaction() as connection:
        row = evaluation_data.latest_baseline(connection)
    if row is None:
        return None
    try:
        document = json.loads(row.results)
        state = SelftestState(
            str(document["program"]), row.model, int(document["pages"]), dict(document["settings"])
        )
        return Baseline(row.made_at, state, tuple(map(_parse_result, document["asked"])))
    except (ValueError, TypeError, KeyError):
        return None


def _parse_result(values: list[object]) -> SelftestResult:
    *fields, rank = values
    name, kind, text, slug, drawn_from = map(str, fields[:5])
    if not (rank is None or (isinstance(rank, int) and 1 <= rank <= _RESULT_LIMIT)):
        raise ValueError("not a rank of the self-test")
    if kind not in QUESTION_KINDS:
        raise ValueError("not a kind of question")
    # A run of an earlier version has no field `expects`.
    exclude, expects, *_ = [
        None if value is None else str(value) for value in (*fields[5:7], None, None)
    ]
    question = MinedQuestion(name, kind, text, slug, drawn_from, exclude, expects)
    return SelftestResult(question, rank, None)
