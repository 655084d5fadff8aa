"""Explain why a page that a lane found is not a hit: the stage that lost it, and a remedy."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gbrain.config import Settings, SettingValue, find_setting, format_value
from gbrain.search.explain.score_breakdown import scores_by_page
from gbrain.search.pipeline import StageResults
from gbrain.search.threshold import minimum_score, rejects_answer
from gbrain.store.provenance import find_successor
from gbrain.types import Answer, Ranked

# Runs a query of a text with options, and returns its answer and stage results.
QueryAgain = Callable[..., tuple[Answer, StageResults]]
# What to do to keep a page: commands, and phrases that start with "ask".
Steps = tuple[str, ...]
# The stage that lost a page, the reason, and a remedy.
Lost = tuple[str, str, str | None]

_MAX_LIMIT = 1000

# The setting that switches a boost off, and the value that does.
_BOOST_SETTINGS: Mapping[str, tuple[str, SettingValue]] = {
    "wing": ("wing_boost", 1.0),
    "date": ("date_boost", False),
    "exact": ("exact_boost", 1.0),
    "preference": ("preference_boost", False),
    "concrete": ("concrete_boost", False),
    "roll_up": ("concrete_boost", False),
    "long_prose": ("concrete_boost", False),
    "importance": ("importance_boost", False),
    "access": ("access_boost", False),
    "question": ("hypothetical_questions", "off"),
}


class ExplainedQuery(NamedTuple):
    """A query with its answer and stage results, and what is needed to run variants of it.

    `settings` are the brain's, `options` those of the query. `given` names the option that a
    setting's value came from, by setting.
    """

    query_again: QueryAgain
    settings: Settings
    answer: Answer
    results: StageResults
    options: Mapping[str, Any]
    given: Mapping[str, str]

    @property
    def limit(self) -> int:
        return self.results.query.limit

    def run(self, text: str | None = None, **changes: str) -> StageResults:
        """Run the query, or another text, with some settings changed."""
        changed = {**self.options.get("changes", {}), **changes}
        options = {**self.options, "changes": changed}
        return self.query_again(self.answer.query if text is None else text, **options)[1]

    def run_without_boosts(self, names: Collection[str]) -> StageResults:
        """Run the query with these boosts switched off."""
        off = {"recency_tau_days": "0", "recency_half_life_days": "0"} if "recency" in names else {}
        settings = (_BOOST_SETTINGS[name] for name in names if name in _BOOST_SETTINGS)
        off |= {name: format_value(value) for name, value in settings}
        kept = tuple(b for b in self.results.plan.boosts if f"{b.field}:{b.value}" not in names)
        return self._replace(options={**self.options, "boosts": kept}).run(**off)


def join_steps(*parts: Steps) -> Steps:
    """Return all steps together, each once."""
    return tuple(dict.fromkeys(step for part in parts for step in part))


def describe_remedy(*alternatives: Steps) -> str | None:
    """Return the alternatives as one sentence; None if there are none."""
    texts: list[str] = []
    for steps in filter(None, alternatives):
        commands = [step for step in steps if not step.startswith("ask ")]
        asks = [step.removeprefix("ask ") for step in steps if step.startswith("ask ")]
        if asks:
            said = not commands and any("ask " in text for text in texts)
            commands.append(("" if said else "ask ") + " and ".join(asks))
        texts.append(" and ".join(commands))
    sentence = ", or ".join(texts)
    return (
        sentence if sentence.startswith("gbrain ") else sentence[:1].upper() + sentence[1:]
    ) or None


def steps_for_setting(
    explained: ExplainedQuery,
    name: str,
    wanted: SettingValue,
    is_enough: Callable[[Any], bool] | None = None,
) -> Steps:
    """Return the steps that give a setting the value `wanted`, or another that is enough.

    If an option of this query set the value, the query must be asked without it; a command is
    only needed if the brain's own value does not do.
    """
    value = f"{wanted:g}" if isinstance(wanted, float) else format_value(wanted)
    is_default = wanted == find_setting(name).default
    command = f"gbrain config reset {name}" if is_default else f"gbrain config set {name} {value}"
    option = explained.given.get(name)
    if option is None and name in explained.options.get("changes", {}):
        option = f"--{name.replace('_', '-')}"
    if option is None:
        return (command,)
    own = getattr(explained.settings, name)
    does = is_enough(own) if is_enough else own == wanted
    return (f"ask without {option}",) if does else (command, f"ask without {option}")


def steps_for_limit(place: int | None) -> Steps:
    """Return the step that shows the hit at a place; none if the limit cannot be that high."""
    return (f"ask with --limit {place}",) if place and place <= _MAX_LIMIT else ()


def ordinal(number: int) -> str:
    """Return 1st, 2nd, 3rd, 4th, 11th and so on."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10 if number // 10 % 10 != 1 else 0, "th")
    return f"{number}{ending}"


def place_of(ranked: Sequence[Ranked], page_id: int) -> int | None:
    """Return the place of a page in a ranking, counted from 1; None if it is not there."""
    return next((place for place, page in enumerate(ranked, 1) if page.page_id == page_id), None)


def explain_superseded(
    connection: sqlite3.Connection, explained: ExplainedQuery, slug: str
) -> Lost | None:
    """Return which page supersedes this one; None if it was not dropped for that."""
    if slug not in explained.results.boosted.superseded:
        return None
    successor = find_successor(connection, slug) or "Another page"
    return (
        "superseded",
        f"{successor} supersedes it (superseded_by in its front matter).",
        "Ask with --include-superseded, or set pinned: true in its front matter.",
    )


def explain_threshold(explained: ExplainedQuery, slug: str) -> Lost | None:
    """Return the score that a page did not reach; None if no threshold dropped it."""
    results, settings = explained.results, explained.results.plan.settings
    below_floor = slug in results.threshold.below_floor
    verdict = explained.answer.verdict
    rejected = rejects_answer(verdict.grade, settings)
    if rejected and slug in [page.slug for page in results.threshold.kept[: explained.limit]]:
        reason = (
            f"The answer is graded nothing (confidence {verdict.confidence:g}), and with threshold "
            f"{settings.threshold:g} such an answer has no hits."
        )
        return "cut", reason, describe_remedy(steps_for_setting(explained, "threshold", 0.0))
    if not below_floor and slug not in results.threshold.below_threshold:
        return None
    ranked = results.noisy or (
        results.reranked.ranked if results.reranked else results.boosted.ranked
    )
    place, page = next((at, page) for at, page in enumerate(ranked, 1) if page.slug == slug)
    if below_floor:
        name = "relevance_floor"
        reason = (
            "Only the vector lane found it, with similarity "
            f"{page.lanes['vector'].score:.4f}, below relevance_floor {settings.relevance_floor:g}."
        )
    else:
        name = "threshold"
        least = minimum_score(results.threshold.kept, settings) or 0.0
        best = max(kept.score for kept in results.threshold.kept)
        reason = (
            f"Its score {page.score:.4g} is below {least:.4g}: threshold {settings.threshold:g} of "
            f"the best, {best:.4g}."
        )
        lowering = [boost for boost, factor in page.boosts.items() if factor < 1]
        reason += f" {_format_boosts(page, lowering)} lowered it." if lowering else ""
    steps = steps_for_setting(explained, name, 0.0)
    # Without an option such as a profile the places are different ones.
    same_places = not any(step.startswith("ask ") for step in steps)
    if place > explained.limit and same_places:
        steps = join_steps(steps, steps_for_limit(place))
    return "cut", reason, describe_remedy(steps)


def explain_rank(explained: ExplainedQuery, page_id: int) -> Lost | None:
    """Return the last stage that moved a page behind the hits; None if no lane found it."""
    results = explained.results
    last = place_of(results.threshold.kept, page_id)
    if last is None:
        return None
    orders = list(_orders(results))
    places = [place_of(ranked, page_id) or last for _, ranked in orders]
    stage, before, after = "limit", places[0], last
    for (name, _), one, other in zip(orders[1:], places, places[1:], strict=False):
        if one <= explained.limit < other:
            stage, before, after = name, one, other
    shown = len(explained.answer.hits)
    pages = f"{len(results.threshold.kept)} pages, {shown} {'is' if shown == 1 else 'are'} shown"
    if stage == "limit":
        moved = f" It was {ordinal(before)} after fusion." if before != last else ""
        reason = f"It is {ordinal(last)} of {pages}.{moved}"
        return "limit", reason, describe_remedy(steps_for_limit(last))
    explain_stage = {
        "boost": _explain_boosts,
        "rerank": _explain_rerank,
        "noise": _explain_noise,
        "variety": _explain_mmr,
    }
    cause, steps = explain_stage[stage](explained, page_id)
    reason = f"{cause} moved it from {ordinal(before)} to {ordinal(after)} of {pages}."
    reason += f" It is {ordinal(last)} in the end." if last != after else ""
    return stage, reason, describe_remedy(steps, steps_for_limit(last))


def _orders(results: StageResults) -> Iterator[tuple[str, Sequence[Ranked]]]:
    """Yield the ranking after each stage that orders pages, without superseded pages."""
    superseded = set(results.boosted.superseded)
    yield "fusion", [page for page in results.fused if page.slug not in superseded]
    yield "boost", results.boosted.ranked
    if results.reranked:
        yield "rerank", results.reranked.ranked
    if results.noisy:
        yield "noise", results.noisy
    if results.plan.settings.mmr_lambda < 1:
        yield "variety", results.threshold.kept


def _explain_rerank(explained: ExplainedQuery, page_id: int) -> tuple[str, Steps]:
    reranked = explained.results.reranked
    assert reranked is not None
    page = next(page for page in reranked.ranked if page.page_id == page_id)
    cause = "The reranker's scores of other pages"
    if "rerank" in page.lanes:
        cause = f"The reranker's score {page.lanes['rerank'].score:.4f}"
    cause += f" (weight {reranked.weight:.4g})"
    return cause, steps_for_setting(explained, "rerank", "off")


def _explain_noise(explained: ExplainedQuery, page_id: int) -> tuple[str, Steps]:
    page = next(page for page in explained.results.noisy or () if page.page_id == page_id)
    cause = f"Random noise (this page × {page.boosts['noise']:.4g})"
    return cause, steps_for_setting(explained, "noise_sigma", 0.0)


def _explain_mmr(explained: ExplainedQuery, _: int) -> tuple[str, Steps]:
    value = explained.results.plan.settings.mmr_lambda
    cause = f"Similarity to a hit above it (mmr_lambda {value:g})"
    return cause, steps_for_setting(explained, "mmr_lambda", 1.0)


def _explain_boosts(explained: ExplainedQuery, page_id: int) -> tuple[str, Steps]:
    ranked = explained.results.boosted.ranked
    page = next(page for page in ranked if page.page_id == page_id)
    names = _decisive_boosts(explained.results, page)
    steps: Steps = ()
    if _is_hit_without(explained, names, page_id):
        steps = join_steps(*(_steps_for_boost(explained, name) for name in names))
    lowering = [name for name in names if page.boosts.get(name, 1.0) < 1]
    if lowering:
        return _format_boosts(page, lowering), steps
    lifted = next(other for other in ranked if any(other.boosts.get(n, 1) > 1 for n in names))
    factors = _format_boosts(lifted, [name for name in names if name in lifted.boosts])
    return f"Boosts of other pages ({lifted.slug} {factors})", steps


def _format_boosts(page: Ranked, names: Collection[str]) -> str:
    return " and ".join(f"{name} × {page.boosts[name]:.4g}" for name in names)


def _steps_for_boost(explained: ExplainedQuery, name: str) -> Steps:
    """Return the steps that switch a boost off."""
    if name == "recency":
        return ("ask with --no-decay",)
    for custom in explained.results.plan.boosts:
        if f"{custom.field}:{custom.value}" == name:
            return (f"ask without --boost {name}={custom.factor:g}",)
    return steps_for_setting(explained, *_BOOST_SETTINGS[name])


def _is_hit_without(explained: ExplainedQuery, names: Collection[str], page_id: int) -> bool:
    """Return whether the page is a hit without these boosts, after the later stages too."""
    results = explained.results
    # Without the date boost the words of the date are searched: the merge is another one.
    later = results.reranked or results.noisy or results.plan.settings.mmr_lambda < 1
    same_merge = not later
    if same_merge and "date" not in names:
        return True
    place = place_of(explained.run_without_boosts(names).threshold.kept, page_id)
    return place is not None and place <= explained.limit


def _decisive_boosts(results: StageResults, page: Ranked) -> Sequence[str]:
    """Return the fewest boosts without which the page would be a hit, else all of them.

    The page's own boosts are tried before those of others.
    """
    everything = sorted({name for other in results.boosted.ranked for name in other.boosts})
    lowering = sorted(
        (name for name, factor in page.boosts.items() if factor < 1), key=page.boosts.__getitem__
    )
    others = [name for name in everything if name not in lowering]
    for names in [*([name] for name in lowering), lowering, *([name] for name in others)]:
        if names and _place_without(names, results, page) <= results.query.limit:
            return names
    return everything


def _place_without(names: Collection[str], results: StageResults, page: Ranked) -> int:
    """Return the page's place after all boosts but these."""
    fused = scores_by_page(results.fused)

    def order(one: Ranked) -> tuple[float, str]:
        kept = (factor for name, factor in one.boosts.items() if name not in names)
        return -fused[one.page_id] * math.prod(kept), one.slug

    return 1 + sum(order(other) < order(page) for other in results.boosted.ranked)
