"""Every question under every configuration, asked of the whole program and scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

from gbrain.evaluate.configurations import Configuration
from gbrain.evaluate.dataset_cache import DatasetBrain
from gbrain.evaluate.datasets import DatasetQuestion, Grades
from gbrain.evaluate.metrics import Scores, mean_scores, percentile, score_ranking
from gbrain.types import Progress, no_progress

# As many hits as `query` shows, and as many as R@100 wants.
SHOWN, DEEP = 10, 100
# Questions, spread over the set, whose time is taken.
MAX_TIMED_QUESTIONS = 100


class QuestionResult(NamedTuple):
    """What a question got: slugs best first, its figures, and where taken the time in ms."""

    question: DatasetQuestion
    ranking: tuple[str, ...]
    scores: Scores
    ms: float | None
    fell_back: bool


class Run(NamedTuple):
    """One configuration's answers, in the order of the questions."""

    configuration: Configuration
    asked: tuple[QuestionResult, ...]

    @property
    def means(self) -> Scores:
        return mean_scores(asked.scores for asked in self.asked)

    @property
    def timed(self) -> list[float]:
        return [asked.ms for asked in self.asked if asked.ms is not None]

    @property
    def p50_ms(self) -> float | None:
        return percentile(self.timed, 0.5)

    @property
    def p95_ms(self) -> float | None:
        return percentile(self.timed, 0.95)


def run_configurations(
    brain: DatasetBrain,
    questions: Sequence[DatasetQuestion],
    relevant: Mapping[str, Grades],
    configurations: Sequence[Configuration],
    progress: Progress = no_progress,
) -> list[Run]:
    """A run of each configuration over at least one question.

    Configurations take turns at each question, and at going first, so that a machine that is busy
    for a while is slow for all of them alike.
    """
    for configuration in configurations:
        # Whatever is opened on first use is not part of anybody's time.
        brain.query(questions[0].text, scope=questions[0].scope, changes=configuration.values)
    asked: dict[str, list[QuestionResult]] = {
        configuration.name: [] for configuration in configurations
    }
    timed = set(evenly_spaced(len(questions), MAX_TIMED_QUESTIONS))
    for number, question in enumerate(questions):
        first = number % len(configurations)
        for configuration in (*configurations[first:], *configurations[:first]):
            found = _ask(brain, question, relevant[question.id], configuration, number in timed)
            asked[configuration.name].append(found)
        progress(number + 1, len(questions))
    return [
        Run(configuration, tuple(asked[configuration.name])) for configuration in configurations
    ]


def evenly_spaced(count: int, most: int) -> list[int]:
    """Up to `most` of the numbers from 0 to `count`, at even distances."""
    if count <= most:
        return list(range(count))
    return [number * count // most for number in range(most)]


def _ask(
    brain: DatasetBrain,
    question: DatasetQuestion,
    grades: Grades,
    configuration: Configuration,
    timed: bool,
) -> QuestionResult:
    if timed:
        brain.forget()
    began = perf_counter()
    answer = brain.query(
        question.text, scope=question.scope, limit=SHOWN, changes=configuration.values
    )
    ms = (perf_counter() - began) * 1000
    ranking = tuple(hit.slug for hit in answer.hits)
    deeper = ranking
    # A short list has nothing below it, and one that holds every answer needs nothing.
    if len(ranking) == SHOWN and not grades.keys() <= set(ranking):
        deeper = _deeper(brain, question, configuration)
    return QuestionResult(
        question,
        ranking,
        score_ranking(ranking, deeper, grades),
        ms if timed else None,
        answer.fell_back_to_bm25,
    )


def _deeper(
    brain: DatasetBrain, question: DatasetQuestion, configuration: Configuration
) -> tuple[str, ...]:
    """The first hundred when each lane hands over as many."""
    pool = max(configuration.settings.candidate_pool, DEEP)
    changes = {**configuration.values, "candidate_pool": str(pool)}
    answer = brain.query(question.text, scope=question.scope, limit=DEEP, changes=changes)
    return tuple(hit.slug for hit in answer.hits)
