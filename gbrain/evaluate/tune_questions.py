"""Collect questions for tuning, with each lane's results, so that they can be merged many times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.errors import GbrainError, ModelUnavailable
from gbrain.evaluate.datasets import Dataset, Grades
from gbrain.evaluate.question_mining import RANKED_KINDS, mine_questions
from gbrain.store.evaluation_data import opened_pages
from gbrain.store.pages import all_slugs
from gbrain.store.vectors import require_vectors
from gbrain.types import NO_BOOSTS, LaneResult, Progress, Scope

MIN_QUESTIONS = 40

NO_PAGE_BOOSTS: Mapping[int, float] = MappingProxyType({})

_RESULT_LIMIT = 10
# Both lanes at the same weight, and no reranker, which would reorder the merged list.
_BOTH_LANES = {
    "search_mode": "hybrid",
    "keyword_weight": "1",
    "semantic_weight": "1",
    "rerank": "off",
    "record_queries": "off",
}


class TuneQuestion(NamedTuple):
    """A question with everything its hits are merged from.

    Questions of one `group` stay in one fold. `weights` are the lanes' weights that the query's
    intent sets, before the settings'; `boosts` the product of each page's boosts by page id; pages
    in `superseded` are not shown.
    """

    group: str
    grades: Grades
    lanes: Mapping[str, LaneResult]
    weights: Mapping[str, float] = NO_BOOSTS
    boosts: Mapping[int, float] = NO_PAGE_BOOSTS
    superseded: frozenset[str] = frozenset()


class _Source(NamedTuple):
    group: str
    text: str
    scope: Scope
    grades: Grades


def dataset_questions(brain: Brain, dataset: Dataset, progress: Progress) -> list[TuneQuestion]:
    """Return the dataset's questions whose relevant pages are in this brain."""
    with brain.database.read_transaction() as connection:
        slugs = all_slugs(connection)
    sources = []
    for question in dataset.questions:
        relevant = dataset.relevant[question.id]
        grades = {slug: grade for slug, grade in relevant.items() if slug in slugs}
        if grades:
            sources.append(_Source(question.id, question.text, question.scope, grades))
    if not sources:
        raise GbrainError(
            f"None of the pages that answer the questions of {dataset.folder} is in this brain",
            hint="Import the dataset's documents into this brain first: gbrain import DIR",
            code="bad_set",
        )
    return _ask_all(brain, sources, progress)


def opened_questions(brain: Brain, progress: Progress) -> list[TuneQuestion]:
    """Return recorded queries with the pages opened from their hits; none if they are too few."""
    with brain.database.read_transaction() as connection:
        rows = opened_pages(connection)
    opened: dict[str, dict[str, int]] = defaultdict(dict)
    for text, slug in rows:
        opened[text][slug] = 1
    if len(opened) < MIN_QUESTIONS:
        return []
    sources = [_Source(text, text, Scope(), grades) for text, grades in opened.items()]
    return _ask_all(brain, sources, progress)


def mined_questions(brain: Brain, limit: int, progress: Progress) -> list[TuneQuestion]:
    """Return the self-test's questions, grouped by the page that answers them."""
    with brain.database.read_transaction() as connection:
        questions = mine_questions(connection, limit, RANKED_KINDS)
    sources = [
        _Source(
            question.slug,
            question.text,
            Scope(exclude=(question.exclude,) if question.exclude else ()),
            {question.slug: 1},
        )
        for question in questions
    ]
    return _ask_all(brain, sources, progress)


def _ask_all(brain: Brain, sources: Sequence[_Source], progress: Progress) -> list[TuneQuestion]:
    with brain.database.read_transaction() as connection:
        require_vectors(connection, "so there is nothing to tune")
    questions = []
    for source in sources:
        questions.append(_ask(brain, source))
        progress(len(questions), len(sources))
    return questions


def _ask(brain: Brain, source: _Source) -> TuneQuestion:
    """Return a question with the lanes' results; an exact page name counts as a separate lane."""
    answer, stages = brain.query_with_trace(
        source.text, scope=source.scope, limit=_RESULT_LIMIT, changes=_BOTH_LANES
    )
    if stages.name_match.answer:
        lanes = {"sms": LaneResult((stages.name_match.answer,))}
        return TuneQuestion(source.group, source.grades, lanes)
    if answer.mode != "hybrid":
        raise ModelUnavailable(
            answer.notice or "Only the keyword lane could be used",
            hint="gbrain model verify checks the model; gbrain stats shows what is embedded.",
        )
    return TuneQuestion(
        source.group,
        source.grades,
        # Without the chunks, which are not needed for merging and would fill the memory.
        {lane: result._replace(chunks=()) for lane, result in stages.lanes.by_name.items()},
        stages.weights,
        {page.page_id: prod(page.boosts.values()) for page in stages.boosted.ranked if page.boosts},
        frozenset(stages.boosted.superseded),
    )
