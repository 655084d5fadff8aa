"""Ask every question of a dataset under every configuration, and score and time the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

from gbrain.evaluate.configurations import Configuration
from gbrain.evaluate.dataset_cache import DatasetBrain
from gbrain.evaluate.datasets import DatasetQuestion, Grades
from gbrain.evaluate.metrics import Scores, mean_scores, percentile, score_ranking
from gbrain.types import Progress, no_progress

# The default number of hits of `query`, and the number that R@100 needs.
RESULT_LIMIT, DEEP_RESULT_LIMIT = 10, 100
MAX_TIMED_QUESTIONS = 100


class QuestionResult(NamedTuple):
    """One question's slugs, best first, with scores; `ms` is None for questions not timed."""

    question: DatasetQuestion
    ranking: tuple[str, ...]
    scores: Scores
    ms: float | None
    fell_back: bool


class Run(NamedTuple):
    """One configuration's results, in the order of the questions."""

    configuration: Configuration
    results: tuple[QuestionResult, ...]

    @property
    def means(self) -> Scores:
        return mean_scores(result.scores for result in self.results)

    @property
    def times_ms(self) -> list[float]:
        return [result.ms for result in self.results if result.ms is not None]

    @property
    def p50_ms(self) -> float | None:
        return percentile(self.times_ms, 0.5)

    @property
    def p95_ms(self) -> float | None:
        return percentile(self.times_ms, 0.95)


def run_configurations(
    brain: DatasetBrain,
    questions: Sequence[DatasetQuestion],
    relevant: Mapping[str, Grades],
    configurations: Sequence[Configuration],
    progress: Progress = no_progress,
) -> list[Run]:
    """Return a run of each configuration over the questions, of which there is at least one.

    Each question is asked under every configuration before the next one, and the configurations
    take turns at going first, so that a machine that is busy for a while slows all of them.
    """
    for configuration in configurations:
        # Opens models and caches, so that no timed query pays for it.
        brain.query(questions[0].text, scope=questions[0].scope, changes=configuration.values)
    results: dict[str, list[QuestionResult]] = {
        configuration.name: [] for configuration in configurations
    }
    timed = set(evenly_spaced(len(questions), MAX_TIMED_QUESTIONS))
    for number, question in enumerate(questions):
        first = number % len(configurations)
        for configuration in (*configurations[first:], *configurations[:first]):
            result = _ask(brain, question, relevant[question.id], configuration, number in timed)
            results[configuration.name].append(result)
        progress(number + 1, len(questions))
    return [
        Run(configuration, tuple(results[configuration.name])) for configuration in configurations
    ]


def evenly_spaced(count: int, limit: int) -> list[int]:
    """Return up to `limit` of the numbers from 0 to `count` - 1, at even distances."""
    if count <= limit:
        return list(range(count))
    return [number * count // limit for number in range(limit)]


def _ask(
    brain: DatasetBrain,
    question: DatasetQuestion,
    grades: Grades,
    configuration: Configuration,
    timed: bool,
) -> QuestionResult:
    if timed:
        brain.forget_last_query()
    started = perf_counter()
    answer = brain.query(
        question.text, scope=question.scope, limit=RESULT_LIMIT, changes=configuration.values
    )
    ms = (perf_counter() - started) * 1000
    ranking = tuple(hit.slug for hit in answer.hits)
    deep_ranking = ranking
    # A list below the limit is complete, and one that contains every relevant page is enough.
    if len(ranking) == RESULT_LIMIT and not grades.keys() <= set(ranking):
        deep_ranking = _ask_deep(brain, question, configuration)
    return QuestionResult(
        question,
        ranking,
        score_ranking(ranking, deep_ranking, grades),
        ms if timed else None,
        answer.fell_back_to_bm25,
    )


def _ask_deep(
    brain: DatasetBrain, question: DatasetQuestion, configuration: Configuration
) -> tuple[str, ...]:
    """Return the first 100 slugs, with at least as many candidates from each lane."""
    pool = max(configuration.settings.candidate_pool, DEEP_RESULT_LIMIT)
    changes = {**configuration.values, "candidate_pool": str(pool)}
    answer = brain.query(
        question.text, scope=question.scope, limit=DEEP_RESULT_LIMIT, changes=changes
    )
    return tuple(hit.slug for hit in answer.hits)
