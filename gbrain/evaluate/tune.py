"""Find the merge settings that fit a brain: run both lanes once, then merge in many ways."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from gbrain.config import Settings, format_value
from gbrain.errors import GbrainError
from gbrain.evaluate.metrics import ndcg
from gbrain.evaluate.question_wording import stable_choice
from gbrain.evaluate.tune_questions import MIN_QUESTIONS, TuneQuestion
from gbrain.search.fusion import fuse
from gbrain.search.threshold import apply_threshold
from gbrain.types import MergeStrategy, Progress, no_progress

FOLDS = 5

# Only the ratio of the weights changes the order, so the keyword lane stays at 1.
_SEMANTIC_WEIGHTS = (0.4, 0.55, 0.75, 1.0, 1.3, 1.8, 2.5)
_BOTH_BONUSES = (0.0, 0.2, 0.4, 0.6, 0.8)
_RESAMPLES = 10_000
# Questions that one lane nearly always wins only show which lane they were made from. The smaller
# lead divided by the larger: .35 to .65 on three datasets of people's questions, .00 to .07 on
# questions mined from five brains.
_MIN_LEAD_RATIO = 0.2
_RESULT_LIMIT = 10


class MergeSettings(NamedTuple):
    """The settings that `tune` may change."""

    search_merge_strategy: MergeStrategy
    semantic_weight: float
    keyword_weight: float
    both_bonus: float

    def changes_from(self, other: MergeSettings) -> dict[str, str]:
        """Return the settings that differ from `other`, as `config set` accepts them."""
        return {
            name: format_value(value)
            for name, value in self._asdict().items()
            if value != getattr(other, name)
        }


class TuneResult(NamedTuple):
    """The outcome of tuning; scores are means of nDCG@10, from 0 to 1.

    `gain` over `present` is cross-validated: measured on questions that were not used to choose
    the settings. `low` and `high` are its 95 % confidence interval. `best_of` has the best
    settings of each strategy with their score, best first; `by_fold` the choice of each fold.
    `ahead` is the nDCG@10 by which each lane alone leads, summed over the questions it wins.
    """

    questions: int
    present: MergeSettings
    present_score: float
    best: MergeSettings
    best_score: float
    gain: float
    low: float
    high: float
    by_fold: tuple[MergeSettings, ...]
    best_of: tuple[tuple[MergeSettings, float], ...]
    ahead: Mapping[str, float]

    @property
    def is_gain(self) -> bool:
        """Return whether the gain's confidence interval is above zero."""
        return self.low > 0 and self.best != self.present

    @property
    def is_balanced(self) -> bool:
        """Return whether each lane wins a fair share of the questions."""
        return min(self.ahead.values()) >= _MIN_LEAD_RATIO * max(self.ahead.values())


def current_merge_settings(settings: Settings) -> MergeSettings:
    """Return the merge settings among all settings."""
    return MergeSettings(
        cast(MergeStrategy, settings.search_merge_strategy),
        settings.semantic_weight,
        settings.keyword_weight,
        settings.both_bonus,
    )


def settings_to_try(present: MergeSettings) -> list[MergeSettings]:
    """Return the merge settings to try: the present ones, then by number of changes."""
    tried = [
        MergeSettings("set-union", weight, 1.0, bonus)
        for weight in _SEMANTIC_WEIGHTS
        for bonus in _BOTH_BONUSES
    ]
    for strategy in ("blend", "rrf"):
        tried += [
            MergeSettings(strategy, weight, 1.0, present.both_bonus) for weight in _SEMANTIC_WEIGHTS
        ]
    tried.sort(key=lambda merge: len(merge.changes_from(present)))
    return list(dict.fromkeys([present, *tried]))


def score_question(question: TuneQuestion, merge: MergeSettings, settings: Settings) -> float:
    """Return nDCG@10 of the question under these merge settings."""
    return ndcg(
        merge_question(question, merge, settings)[:_RESULT_LIMIT], question.grades, _RESULT_LIMIT
    )


def merge_question(question: TuneQuestion, merge: MergeSettings, settings: Settings) -> list[str]:
    """Return the slugs that a query would show under these merge settings, best first."""
    lane_weights = {"fts": merge.keyword_weight, "vector": merge.semantic_weight}
    weights = {
        lane: weight * lane_weights.get(lane, 1) for lane, weight in question.weights.items()
    }
    settings = Settings(**{**vars(settings), "both_bonus": merge.both_bonus})
    fused = fuse(question.lanes, weights, merge.search_merge_strategy, settings)
    boosted = [
        page._replace(score=page.score * question.boosts.get(page.page_id, 1.0))
        for page in fused
        if page.slug not in question.superseded
    ]
    boosted.sort(key=lambda page: (-page.score, page.slug))
    return [page.slug for page in apply_threshold(boosted, settings).kept]


def tune(
    questions: Sequence[TuneQuestion],
    settings: Settings,
    *,
    folds: int = FOLDS,
    seed: int = 1,
    progress: Progress = no_progress,
) -> TuneResult:
    """Return the best merge settings and their cross-validated gain.

    Raises GbrainError when there are too few questions.
    """
    groups = sorted({question.group for question in questions})
    if len(questions) < MIN_QUESTIONS or len(groups) < folds:
        raise GbrainError(
            f"{len(questions)} questions are too few to tune the settings",
            hint=f"At least {MIN_QUESTIONS} are needed; more pages give more questions.",
            code="too_few_questions",
        )
    present = current_merge_settings(settings)
    tried = settings_to_try(present)
    table: list[list[float]] = []
    for merge in tried:
        table.append([score_question(question, merge, settings) for question in questions])
        progress(len(table), len(tried))
    shuffled = sorted(groups, key=lambda group: stable_choice(f"{seed}\0{group}", 1 << 64))
    fold_of = {group: number % folds for number, group in enumerate(shuffled)}
    fold = [fold_of[question.group] for question in questions]
    gains = [0.0] * len(questions)
    by_fold = []
    for held_out in range(folds):
        chosen = _best(table, [index for index, number in enumerate(fold) if number != held_out])
        by_fold.append(tried[chosen])
        for index, number in enumerate(fold):
            if number == held_out:
                gains[index] = table[chosen][index] - table[0][index]
    everything = range(len(questions))
    best = _best(table, everything)
    low, high = _interval([question.group for question in questions], gains, seed)
    return TuneResult(
        questions=len(questions),
        present=present,
        present_score=_mean(table[0], everything),
        best=tried[best],
        best_score=_mean(table[best], everything),
        gain=sum(gains) / len(gains),
        low=low,
        high=high,
        by_fold=tuple(by_fold),
        best_of=tuple(_best_by_strategy(tried, table)),
        ahead=_lane_leads(questions),
    )


def _mean(row: Sequence[float], indexes: Sequence[int]) -> float:
    return sum(row[index] for index in indexes) / len(indexes)


def _best(table: Sequence[Sequence[float]], indexes: Sequence[int]) -> int:
    """Return the row with the highest mean; on a tie the first, with the fewest changes."""
    return max(range(len(table)), key=lambda row: (round(_mean(table[row], indexes), 9), -row))


def _best_by_strategy(
    tried: Sequence[MergeSettings], table: Sequence[Sequence[float]]
) -> Iterator[tuple[MergeSettings, float]]:
    means = [(_mean(row, range(len(row))), -number) for number, row in enumerate(table)]
    seen: set[str] = set()
    for mean, number in sorted(means, reverse=True):
        merge = tried[-number]
        if merge.search_merge_strategy not in seen:
            seen.add(merge.search_merge_strategy)
            yield merge, mean


def _lane_leads(questions: Sequence[TuneQuestion]) -> dict[str, float]:
    """Return the nDCG@10 by which each lane alone leads, summed over the questions it wins."""
    leads = {"fts": 0.0, "vector": 0.0}
    for question in questions:
        keyword, vector = (_score_lane(question, lane) for lane in ("fts", "vector"))
        leads["fts"] += max(keyword - vector, 0)
        leads["vector"] += max(vector - keyword, 0)
    return leads


def _score_lane(question: TuneQuestion, lane: str) -> float:
    pages = question.lanes[lane].pages[:_RESULT_LIMIT] if lane in question.lanes else ()
    return ndcg([page.slug for page in pages], question.grades, _RESULT_LIMIT)


def _interval(groups: Sequence[str], gains: Sequence[float], seed: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean gain, by bootstrapping whole groups."""
    import numpy as np

    sums: dict[str, float] = defaultdict(float)
    sizes: dict[str, int] = defaultdict(int)
    for group, gain in zip(groups, gains, strict=True):
        sums[group] += gain
        sizes[group] += 1
    total, size = np.array(list(sums.values())), np.array(list(sizes.values()))
    generator = np.random.default_rng(seed)
    means = []
    for _ in range(_RESAMPLES):
        drawn = generator.integers(0, len(total), len(total))
        means.append(total[drawn].sum() / size[drawn].sum())
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
