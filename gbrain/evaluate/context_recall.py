"""Measure how much of the relevant text a context contains and its tokens, by token budget."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gbrain.evaluate.configurations import Configuration
from gbrain.evaluate.dataset_cache import DatasetBrain
from gbrain.evaluate.datasets import Dataset, DatasetQuestion
from gbrain.types import Progress, no_progress

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
