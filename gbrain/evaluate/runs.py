"""Ask every question of a dataset under every configuration; score and time the results."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

from gbrain.config import Settings, override_settings
from gbrain.errors import UsageError
from gbrain.evaluate.dataset_cache import DatasetBrain
from gbrain.evaluate.datasets import Dataset, DatasetQuestion, Grades
from gbrain.evaluate.metrics import Scores, mean_scores, percentile, score_ranking
from gbrain.profiles import profile_values
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


# --- configurations: sets of settings that differ from the defaults --------------------------

_MODE, _MERGE, _RERANK = "search_mode", "search_merge_strategy", "rerank"
_SHORT_NAMES = {"mode": _MODE, "merge": _MERGE}


class Configuration(NamedTuple):
    """Setting values as `config set` accepts them; other settings are at their defaults."""

    name: str
    values: Mapping[str, str]

    @property
    def settings(self) -> Settings:
        """All settings under this configuration; raises BadSetting for an invalid value."""
        return override_settings(Settings(), self.values)

    @property
    def wants_vectors(self) -> bool:
        settings = self.settings
        return settings.search_mode != "bm25" and settings.semantic_weight > 0


DEFAULT_CONFIGURATION = Configuration("default", {})
STANDARD_CONFIGURATIONS = (
    Configuration("fts", {_MODE: "bm25"}),
    Configuration("semantic", {_MODE: "semantic"}),
    *(
        Configuration(name, {_MODE: "hybrid", _MERGE: name})
        for name in ("set-union", "rrf", "blend")
    ),
)


def configurations_from_options(
    modes: Sequence[str] = (),
    merges: Sequence[str] = (),
    profiles: Sequence[str] = (),
    changes: Sequence[str] = (),
    *,
    rerank: bool = False,
) -> tuple[Configuration, ...]:
    """Return the configurations that the options of `eval` name, the baseline first.

    Each item of `changes` ("rrf_k=20,both_bonus=0.4") and `rerank` adds one configuration. It is
    based on the one that the other options name, or on the defaults if they name none or several.
    """
    named = [*_lane_configurations(modes, merges), *map(_profile_configuration, profiles)]
    base = named[0] if len(named) == 1 else DEFAULT_CONFIGURATION
    more = [_change(base, option.strip(), _parse_pairs(option)) for option in changes]
    if rerank:
        more.append(_change(base, "reranked", {_RERANK: "cross-encoder"}))
    if more and not named:
        named = [DEFAULT_CONFIGURATION]
    by_name = {configuration.name: configuration for configuration in [*named, *more]}
    for configuration in by_name.values():
        # Reports an invalid value before the work begins.
        _ = configuration.settings
    return tuple(by_name.values())


def _lane_configurations(modes: Sequence[str], merges: Sequence[str]) -> list[Configuration]:
    hybrids = [Configuration(merge, {_MODE: "hybrid", _MERGE: merge}) for merge in merges]
    named: list[Configuration] = []
    for mode in modes:
        if mode == "hybrid" and hybrids:
            named += hybrids
        else:
            named.append(Configuration("fts" if mode == "bm25" else mode, {_MODE: mode}))
    return named if modes else hybrids


def _profile_configuration(name: str) -> Configuration:
    return Configuration(name, profile_values(name))


def _change(base: Configuration, name: str, values: Mapping[str, str]) -> Configuration:
    full_name = name if base == DEFAULT_CONFIGURATION else f"{base.name} {name}"
    return Configuration(full_name, {**base.values, **values})


def _parse_pairs(option: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    # A comma separates two settings only where NAME= follows: values may contain commas.
    for pair in re.split(r",(?=\s*\w+\s*=)", option):
        name, equals, value = (field.strip() for field in pair.partition("="))
        if not equals or not name:
            raise UsageError(
                f"--set takes NAME=VALUE, not {pair.strip()!r}",
                hint="For example: --set both_bonus=0.4,rrf_k=20",
            )
        pairs[_SHORT_NAMES.get(name, name)] = value
    return pairs


# --- how much of the relevant text a context contains, by token budget -----------------------

DEFAULT_BUDGETS = (250, 500, 1000, 2000, 4000)


class ContextRecall(NamedTuple):
    """Per question id and token budget, the share of its evidence in the context and its tokens."""

    configuration: Configuration
    budgets: tuple[int, ...]
    by_question: Mapping[str, tuple[float, ...]]
    tokens: Mapping[str, tuple[int, ...]]

    @property
    def means(self) -> tuple[float, ...]:
        """The mean share per budget."""
        return _means(self.by_question)

    @property
    def mean_tokens(self) -> tuple[float, ...]:
        """The mean number of tokens used per budget."""
        return _means(self.tokens)


def _means(by_question: Mapping[str, Sequence[float]]) -> tuple[float, ...]:
    columns = zip(*by_question.values(), strict=True)
    return tuple(math.fsum(column) / len(by_question) for column in columns)


def relevant_texts(evidence: Dataset) -> dict[str, tuple[str, ...]]:
    """Return the relevant texts by question id, each on one line; empty ones are left out."""
    texts = {document.slug: _one_line(document.text) for document in evidence.documents}
    by_question = {
        question: tuple(texts[slug] for slug in grades if texts.get(slug))
        for question, grades in evidence.relevant.items()
    }
    return {question: found for question, found in by_question.items() if found}


def measure_context_recall(
    brain: DatasetBrain,
    questions: Sequence[DatasetQuestion],
    evidence: Mapping[str, Sequence[str]],
    configurations: Sequence[Configuration],
    budgets: Sequence[int],
    progress: Progress = no_progress,
) -> list[ContextRecall]:
    """Return shares and tokens under each configuration; questions need evidence to count."""
    usable = [question for question in questions if evidence.get(question.id)]
    shares: dict[str, dict[str, tuple[float, ...]]] = {c.name: {} for c in configurations}
    tokens: dict[str, dict[str, tuple[int, ...]]] = {c.name: {} for c in configurations}
    for number, question in enumerate(usable, 1):
        texts = evidence[question.id]
        for configuration in configurations:
            contexts = [_context(brain, question, configuration, budget) for budget in budgets]
            shares[configuration.name][question.id] = tuple(
                share_contained(texts, context) for context, _ in contexts
            )
            tokens[configuration.name][question.id] = tuple(used for _, used in contexts)
        progress(number, len(usable))
    return [
        ContextRecall(c, tuple(budgets), shares[c.name], tokens[c.name]) for c in configurations
    ]


def share_contained(texts: Sequence[str], context: str) -> float:
    """Return the share of `texts`, at least one, that `context` contains word for word."""
    return sum(text in context for text in texts) / len(texts)


def _context(
    brain: DatasetBrain, question: DatasetQuestion, configuration: Configuration, budget: int
) -> tuple[str, int]:
    """Return the text of the context on one line, and its tokens."""
    answer = brain.query(
        question.text,
        scope=question.scope,
        depth="auto",
        budget=budget,
        changes=configuration.values,
    )
    text = " ".join(_one_line(chunk.text) for chunk in answer.context or ())
    return text, answer.budget.used if answer.budget else 0


def _one_line(text: str) -> str:
    return " ".join(text.split())
