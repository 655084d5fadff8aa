"""Merge settings fitted to a brain: both lanes run once a question, then merged in every way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from gbrain.config import Settings, format_value
from gbrain.errors import GbrainError
from gbrain.evaluate.metrics import ndcg
from gbrain.evaluate.question_mining import stable_choice
from gbrain.evaluate.tune_questions import MIN_QUESTIONS, TuneQuestion
from gbrain.search.fusion import fuse
from gbrain.search.threshold import apply_threshold
from gbrain.types import MergeStrategy, Progress, no_progress

FOLDS = 5

# Only the lanes' ratio changes an order: the keyword lane stays at 1.
_SEMANTIC_WEIGHTS = (0.4, 0.55, 0.75, 1.0, 1.3, 1.8, 2.5)
_BONUSES = (0.0, 0.2, 0.4, 0.6, 0.8)
_RESAMPLES = 10_000
# Where one lane alone is ahead on nearly every question, the questions only say which lane they
# were made from. The lesser lead beside the greater: .35 to .65 on three sets of people's
# questions, .00 to .07 on the questions mined from five brains.
_BALANCED = 0.2
_DEPTH = 10


class MergeSettings(NamedTuple):
    """One way to merge the lanes: the settings that `tune` may change."""

    search_merge_strategy: MergeStrategy
    semantic_weight: float
    keyword_weight: float
    both_bonus: float

    def changes_from(self, other: MergeSettings) -> dict[str, str]:
        """The settings in which they differ, as `config set` takes them."""
        return {
            name: format_value(value)
            for name, value in self._asdict().items()
            if value != getattr(other, name)
        }


class TuneResult(NamedTuple):
    """What was fitted: scores are means of nDCG@10, from 0 to 1.

    `gain` is that of settings chosen without the questions they are measured on, over `present`;
    `low` and `high` enclose it in 95 of 100 resamplings. `best_of` holds the best fit of each
    strategy with its score, best first; `by_fold` what each part of the questions chose.
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
    def gains(self) -> bool:
        """Whether the gain on questions not seen is above zero beyond its uncertainty."""
        return self.low > 0 and self.best != self.present

    @property
    def balanced(self) -> bool:
        """Whether the questions tell the lanes apart: each is ahead of the other on some.

        `ahead` is how much nDCG@10 each lane alone is ahead on the questions that it does better.
        """
        return min(self.ahead.values()) >= _BALANCED * max(self.ahead.values())


def current_merge_settings(settings: Settings) -> MergeSettings:
    return MergeSettings(
        cast(MergeStrategy, settings.search_merge_strategy),
        settings.semantic_weight,
        settings.keyword_weight,
        settings.both_bonus,
    )


def settings_to_try(present: MergeSettings) -> list[MergeSettings]:
    """Every way to merge that is tried, the present one first, then those nearest to it."""
    fits = [
        MergeSettings("set-union", weight, 1.0, bonus)
        for weight in _SEMANTIC_WEIGHTS
        for bonus in _BONUSES
    ]
    for merge in ("blend", "rrf"):
        fits += [
            MergeSettings(merge, weight, 1.0, present.both_bonus) for weight in _SEMANTIC_WEIGHTS
        ]
    fits.sort(key=lambda fit: len(fit.changes_from(present)))
    return list(dict.fromkeys([present, *fits]))


def score_question(case: TuneQuestion, fit: MergeSettings, settings: Settings) -> float:
    """nDCG@10 of the question when its lanes are merged so, the other settings as they are."""
    return ndcg(merge_question(case, fit, settings)[:_DEPTH], case.grades, _DEPTH)


def merge_question(case: TuneQuestion, fit: MergeSettings, settings: Settings) -> list[str]:
    """The slugs that the program would show, best first."""
    own = {"fts": fit.keyword_weight, "vector": fit.semantic_weight}
    weights = {lane: weight * own.get(lane, 1) for lane, weight in case.weights.items()}
    settings = Settings(**{**vars(settings), "both_bonus": fit.both_bonus})
    fused = fuse(case.lanes, weights, fit.search_merge_strategy, settings)
    boosted = [
        page._replace(score=page.score * case.factors.get(page.page_id, 1.0))
        for page in fused
        if page.slug not in case.replaced
    ]
    boosted.sort(key=lambda page: (-page.score, page.slug))
    return [page.slug for page in apply_threshold(boosted, settings).kept]


def tune(
    cases: Sequence[TuneQuestion],
    settings: Settings,
    *,
    folds: int = FOLDS,
    seed: int = 1,
    progress: Progress = no_progress,
) -> TuneResult:
    """The best way to merge, and what settings so chosen gain on questions they were not chosen by.

    Raises GbrainError when there are too few questions to tell.
    """
    groups = sorted({case.group for case in cases})
    if len(cases) < MIN_QUESTIONS or len(groups) < folds:
        raise GbrainError(
            f"{len(cases)} questions are too few to fit anything",
            hint=f"It takes {MIN_QUESTIONS}; more pages give more of them.",
            code="too_few_questions",
        )
    present = current_merge_settings(settings)
    fits = settings_to_try(present)
    table: list[list[float]] = []
    for fit in fits:
        table.append([score_question(case, fit, settings) for case in cases])
        progress(len(table), len(fits))
    dealt = sorted(groups, key=lambda group: stable_choice(f"{seed}\0{group}", 1 << 64))
    fold_of = {group: place % folds for place, group in enumerate(dealt)}
    fold = [fold_of[case.group] for case in cases]
    gains = [0.0] * len(cases)
    by_fold = []
    for held_out in range(folds):
        chosen = _best(table, [at for at, number in enumerate(fold) if number != held_out])
        by_fold.append(fits[chosen])
        for at, number in enumerate(fold):
            if number == held_out:
                gains[at] = table[chosen][at] - table[0][at]
    everything = range(len(cases))
    best = _best(table, everything)
    low, high = _interval([case.group for case in cases], gains, seed)
    return TuneResult(
        questions=len(cases),
        present=present,
        present_score=_mean(table[0], everything),
        best=fits[best],
        best_score=_mean(table[best], everything),
        gain=sum(gains) / len(gains),
        low=low,
        high=high,
        by_fold=tuple(by_fold),
        best_of=tuple(_best_of(fits, table)),
        ahead=_ahead(cases),
    )


def _mean(row: Sequence[float], places: Sequence[int]) -> float:
    return sum(row[at] for at in places) / len(places)


def _best(table: Sequence[Sequence[float]], places: Sequence[int]) -> int:
    """The number of the row with the highest mean; on a tie the one nearest to the present."""
    return max(range(len(table)), key=lambda row: (round(_mean(table[row], places), 9), -row))


def _best_of(
    fits: Sequence[MergeSettings], table: Sequence[Sequence[float]]
) -> Iterator[tuple[MergeSettings, float]]:
    means = [(_mean(row, range(len(row))), -at) for at, row in enumerate(table)]
    seen: set[str] = set()
    for mean, place in sorted(means, reverse=True):
        fit = fits[-place]
        if fit.search_merge_strategy not in seen:
            seen.add(fit.search_merge_strategy)
            yield fit, mean


def _ahead(cases: Sequence[TuneQuestion]) -> dict[str, float]:
    """How much each lane alone is ahead of the other, over the questions it does better."""
    ahead = {"fts": 0.0, "vector": 0.0}
    for case in cases:
        keyword, meaning = (_alone(case, lane) for lane in ("fts", "vector"))
        ahead["fts"] += max(keyword - meaning, 0)
        ahead["vector"] += max(meaning - keyword, 0)
    return ahead


def _alone(case: TuneQuestion, lane: str) -> float:
    pages = case.lanes[lane].pages[:_DEPTH] if lane in case.lanes else ()
    return ndcg([page.slug for page in pages], case.grades, _DEPTH)


def _interval(groups: Sequence[str], gains: Sequence[float], seed: int) -> tuple[float, float]:
    """95 % of the mean gain when whole groups are drawn anew."""
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
