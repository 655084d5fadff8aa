"""What an assembled context holds of the text that answers a question, by its size."""

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
    """Per question id, the share of its evidence that is in the context of each budget."""

    configuration: Configuration
    budgets: tuple[int, ...]
    by_question: Mapping[str, tuple[float, ...]]

    @property
    def means(self) -> tuple[float, ...]:
        columns = zip(*self.by_question.values(), strict=True)
        return tuple(math.fsum(column) / len(self.by_question) for column in columns)


def relevant_texts(finer: Dataset) -> dict[str, tuple[str, ...]]:
    """The relevant texts by question id, each on one line; empty ones are none."""
    texts = {document.slug: _one_line(document.text) for document in finer.documents}
    found = {
        question: tuple(texts[slug] for slug in grades if texts.get(slug))
        for question, grades in finer.relevant.items()
    }
    return {question: evidence for question, evidence in found.items() if evidence}


def measure_context_recall(
    brain: DatasetBrain,
    questions: Sequence[DatasetQuestion],
    evidence: Mapping[str, Sequence[str]],
    configurations: Sequence[Configuration],
    budgets: Sequence[int],
    progress: Progress = no_progress,
) -> list[ContextRecall]:
    """The shares under each configuration; questions without evidence do not count."""
    asked = [question for question in questions if evidence.get(question.id)]
    shares: dict[str, dict[str, tuple[float, ...]]] = {c.name: {} for c in configurations}
    for number, question in enumerate(asked, 1):
        texts = evidence[question.id]
        for configuration in configurations:
            shares[configuration.name][question.id] = tuple(
                share_contained(texts, _context(brain, question, configuration, budget))
                for budget in budgets
            )
        progress(number, len(asked))
    return [ContextRecall(c, tuple(budgets), shares[c.name]) for c in configurations]


def share_contained(texts: Sequence[str], context: str) -> float:
    """The share of at least one text that stands word for word in `context`, both on one line."""
    return sum(text in context for text in texts) / len(texts)


def _context(
    brain: DatasetBrain, question: DatasetQuestion, configuration: Configuration, budget: int
) -> str:
    answer = brain.query(
        question.text,
        scope=question.scope,
        depth="auto",
        budget=budget,
        changes=configuration.values,
    )
    return " ".join(_one_line(piece.text) for piece in answer.context or ())


def _one_line(text: str) -> str:
    return " ".join(text.split())
