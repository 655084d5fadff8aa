"""Questions with what each lane finds for them, asked once and then merged in many ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import NamedTuple

from gbrain.brain import Brain
from gbrain.errors import GbrainError
from gbrain.evaluate.datasets import Grades, LabelledSet
from gbrain.evaluate.mining import Question, mine
from gbrain.lanes import fts, sms
from gbrain.store import aliases
from gbrain.store.vectors import VectorSpace, active_space, has_vectors
from gbrain.text.query import normalise, read_terms
from gbrain.types import Found, Query, Scope

Progress = Callable[[int, int], None]

FEWEST_QUESTIONS = 40

_DEPTH = 10


class Case(NamedTuple):
    """A question with what each lane found; questions of one `group` are never parted.

    Where a name answers at once, no lane was asked.
    """

    group: str
    grades: Grades
    lanes: dict[str, Found]


def labelled_cases(brain: Brain, labelled: LabelledSet, progress: Progress) -> list[Case]:
    """The set's questions that pages of this brain answer, asked of the brain."""
    with brain.database.reading() as connection:
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


def opened_cases(brain: Brain, progress: Progress) -> list[Case]:
    """Questions that were recorded and the pages that were opened from their answers."""
    with brain.database.reading() as connection:
        rows = connection.execute(
            "SELECT text, slug FROM questions JOIN question_hits ON question_id = questions.id "
            "JOIN pages ON pages.id = page_id WHERE opened_at IS NOT NULL ORDER BY text, slug"
        ).fetchall()
    opened: dict[str, dict[str, int]] = defaultdict(dict)
    for text, slug in rows:
        opened[text][slug] = 1
    if len(opened) < FEWEST_QUESTIONS:
        return []
    return _cases(brain, [(text, text, Scope(), slugs) for text, slugs in opened.items()], progress)


def mined_cases(brain: Brain, most: int, progress: Progress) -> list[Case]:
    """The self-test's questions; those with the same answer are one group."""
    with brain.database.reading() as connection:
        questions = mine(connection, most)
    return _cases(brain, [_mined(question) for question in questions], progress)


def _mined(question: Question) -> tuple[str, str, Scope, Grades]:
    scope = Scope(exclude=(question.exclude,) if question.exclude else ())
    return question.slug, question.text, scope, {question.slug: 1}


def _cases(
    brain: Brain, asked: Sequence[tuple[str, str, Scope, Grades]], progress: Progress
) -> list[Case]:
    brain.database.map_file()
    with brain.database.reading() as connection:
        space = active_space(connection)
        if space is None or not has_vectors(connection, space):
            raise GbrainError(
                "The brain has no vectors, so there is nothing to merge",
                hint="gbrain embed makes them.",
                code="no_vectors",
            )
        cases = []
        for group, text, scope, grades in asked:
            cases.append(Case(group, grades, _lanes(brain, space, text, scope)))
            progress(len(cases), len(asked))
    return cases


def _lanes(brain: Brain, space: VectorSpace, text: str, scope: Scope) -> dict[str, Found]:
    """What the query's stages before the merge find; one lane alone where a name is the answer."""
    from gbrain.lanes import vector

    connection, settings = brain.database.connection, brain.settings
    normal = normalise(text)
    query = Query(normal, read_terms(normal, aliases.all_aliases(connection)), scope, _DEPTH)
    small = sms.look_up(connection, query) if settings.short_circuit else sms.SmallMatch((), None)
    named = {"sms": Found(small.candidates)} if small.candidates else {}
    if small.answer:
        return named
    embedded = brain.embedder.embed_query(normal)
    with closing(brain.database.another()) as second:
        meaning = vector.search((connection, second), space, embedded, query, settings)
    return {"fts": fts.search(connection, query, settings), "vector": meaning, **named}
