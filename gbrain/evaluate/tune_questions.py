"""Questions with what each lane finds for them, asked once and then merged in many ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.errors import GbrainError, ModelUnavailable
from gbrain.evaluate.datasets import Dataset, Grades
from gbrain.evaluate.question_mining import MinedQuestion, mine_questions
from gbrain.store.vectors import active_space, has_vectors
from gbrain.types import NO_BOOSTS, LaneResult, Progress, Scope

MIN_QUESTIONS = 40

NO_FACTORS: Mapping[int, float] = MappingProxyType({})

_DEPTH = 10
# Both lanes at the same weight, whatever the brain's own; a reranker comes after any merge.
_BOTH_LANES = {
    "search_mode": "hybrid",
    "keyword_weight": "1",
    "semantic_weight": "1",
    "rerank": "off",
    "record_queries": "off",
}


class TuneQuestion(NamedTuple):
    """A question with all that its answer is merged from; those of one `group` stay together.

    `weights` is how much the question itself weighs each lane, before the settings do; `factors`
    the product of each page's boosts by its number; pages in `replaced` are not shown.
    """

    group: str
    grades: Grades
    lanes: Mapping[str, LaneResult]
    weights: Mapping[str, float] = NO_BOOSTS
    factors: Mapping[int, float] = NO_FACTORS
    replaced: frozenset[str] = frozenset()


def dataset_questions(brain: Brain, labelled: Dataset, progress: Progress) -> list[TuneQuestion]:
    """The set's questions that pages of this brain answer, asked of the brain."""
    with brain.database.read_transaction() as connection:
        slugs = {row[0] for row in connection.execute("SELECT slug FROM pages")}
    asked = [
        (question.id, question.text, question.scope, grades)
        for question in labelled.questions
        if (grades := _known(labelled.relevant[question.id], slugs))
    ]
    if not asked:
        raise GbrainError(
            f"No page that answers a question of {labelled.folder} is in this brain",
            hint="gbrain tune fits a brain's own settings: import the set's documents first.",
            code="bad_set",
        )
    return _cases(brain, asked, progress)


def _known(grades: Grades, slugs: set[str]) -> Grades:
    return {slug: grade for slug, grade in grades.items() if slug in slugs}


def opened_questions(brain: Brain, progress: Progress) -> list[TuneQuestion]:
    """Questions that were recorded and the pages that were opened from their answers."""
    with brain.database.read_transaction() as connection:
        rows = connection.execute(
            "SELECT text, slug FROM questions JOIN question_hits ON question_id = questions.id "
            "JOIN pages ON pages.id = page_id WHERE opened_at IS NOT NULL ORDER BY text, slug"
        ).fetchall()
    opened: dict[str, dict[str, int]] = defaultdict(dict)
    for text, slug in rows:
        opened[text][slug] = 1
    if len(opened) < MIN_QUESTIONS:
        return []
    return _cases(brain, [(text, text, Scope(), slugs) for text, slugs in opened.items()], progress)


def mined_questions(brain: Brain, most: int, progress: Progress) -> list[TuneQuestion]:
    """The self-test's questions; those with the same answer are one group."""
    with brain.database.read_transaction() as connection:
        questions = mine_questions(connection, most)
    return _cases(brain, [_mined(question) for question in questions], progress)


def _mined(question: MinedQuestion) -> tuple[str, str, Scope, Grades]:
    scope = Scope(exclude=(question.exclude,) if question.exclude else ())
    return question.slug, question.text, scope, {question.slug: 1}


def _cases(
    brain: Brain, asked: Sequence[tuple[str, str, Scope, Grades]], progress: Progress
) -> list[TuneQuestion]:
    with brain.database.read_transaction() as connection:
        space = active_space(connection)
        if space is None or not has_vectors(connection, space):
            raise GbrainError(
                "The brain has no vectors, so there is nothing to merge",
                hint="gbrain embed makes them.",
                code="no_vectors",
            )
    cases = []
    for group, text, scope, grades in asked:
        cases.append(_case(brain, group, text, scope, grades))
        progress(len(cases), len(asked))
    return cases


def _case(brain: Brain, group: str, text: str, scope: Scope, grades: Grades) -> TuneQuestion:
    """What the program finds before it merges; a name that answers at once is a lane alone."""
    answer, work = brain.query_with_trace(text, scope=scope, limit=_DEPTH, changes=_BOTH_LANES)
    if work.name_match.answer:
        return TuneQuestion(group, grades, {"sms": LaneResult((work.name_match.answer,))})
    if answer.mode != "hybrid":
        raise ModelUnavailable(
            answer.notice or "Only keywords could be asked",
            hint="gbrain model verify checks the model, gbrain stats what is embedded.",
        )
    return TuneQuestion(
        group,
        grades,
        # The passages have spoken for their pages; kept, they would fill the memory.
        {lane: found._replace(chunks=()) for lane, found in work.lanes.by_name.items()},
        work.weights,
        {page.page_id: prod(page.boosts.values()) for page in work.boosted.ranked if page.boosts},
        frozenset(work.boosted.superseded),
    )
