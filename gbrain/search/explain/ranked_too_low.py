"""Pages that were found and stand too far behind: the stage that put them there."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

from gbrain.search.explain.remedies import (
    ExplainedQuery,
    Lost,
    Remedy,
    boost,
    either,
    limit,
    nth,
    setting,
)
from gbrain.search.explain.score_breakdown import scores_by_page
from gbrain.search.pipeline import StageResults
from gbrain.types import Ranked


def lost(asked: ExplainedQuery, page_id: int) -> Lost | None:
    """The last stage that moved the page behind the hits, or the limit; None if not found."""
    work = asked.work
    last = place_of(work.threshold.kept, page_id)
    if last is None:
        return None
    orders = list(_orders(work))
    places = [place_of(ranked, page_id) or last for _, ranked in orders]
    stage, before, after = "limit", places[0], last
    for (name, _), one, other in zip(orders[1:], places, places[1:], strict=False):
        if one <= work.query.limit < other:
            stage, before, after = name, one, other
    shown = len(asked.answered.hits)
    pages = f"{len(work.threshold.kept)} pages, {shown} {'is' if shown == 1 else 'are'} shown"
    if stage == "limit":
        moved = f" It was {nth(before)} after fusion." if before != last else ""
        return "limit", f"It is {nth(last)} of {pages}.{moved}", either(limit(last))
    who, remedy = {"boost": _boost, "rerank": _rerank, "variety": _variety}[stage](asked, page_id)
    fell = f"{who} took it from {nth(before)} to {nth(after)} of {pages}."
    now = f" It is {nth(last)} in the end." if last != after else ""
    return stage, fell + now, either(remedy, limit(last))


def place_of(ranked: Sequence[Ranked], page_id: int) -> int | None:
    return next((place for place, page in enumerate(ranked, 1) if page.page_id == page_id), None)


def factors(page: Ranked, names: Collection[str]) -> str:
    """Some of a page's boosts as a person writes them."""
    return " and ".join(f"{name} × {page.boosts[name]:.4g}" for name in names)


def _orders(work: StageResults) -> Iterator[tuple[str, Sequence[Ranked]]]:
    """The pages after each stage that orders them; superseded ones count nowhere."""
    superseded = set(work.boosted.superseded)
    yield "fusion", [page for page in work.fused if page.slug not in superseded]
    yield "boost", work.boosted.ranked
    if work.reranked:
        yield "rerank", work.reranked.ranked
    if work.plan.settings.mmr_lambda < 1:
        yield "variety", work.threshold.kept


def _boost(asked: ExplainedQuery, page_id: int) -> tuple[str, Remedy]:
    work = asked.work
    page = next(page for page in work.boosted.ranked if page.page_id == page_id)
    names = _blamed(work, page)
    remedy = Remedy()
    if _would_stay(asked, names, page_id):
        for name in names:
            remedy = remedy.joined(boost(asked, name))
    own = [name for name in names if page.boosts.get(name, 1.0) < 1]
    if own:
        return factors(page, own), remedy
    lifted = next(
        other for other in work.boosted.ranked if any(other.boosts.get(n, 1) > 1 for n in names)
    )
    told = factors(lifted, [name for name in names if name in lifted.boosts])
    return f"Boosts of others ({lifted.slug} {told})", remedy


def _would_stay(asked: ExplainedQuery, names: Collection[str], page_id: int) -> bool:
    """Whether the page is a hit without these boosts, whatever later stages make of it."""
    later = asked.work.reranked or asked.work.plan.settings.mmr_lambda < 1
    place = place_of(asked.without_boosts(names).threshold.kept, page_id) if later else 1
    return place is not None and place <= asked.work.query.limit


def _blamed(work: StageResults, page: Ranked) -> Sequence[str]:
    """The fewest boosts without which the page would be among the hits, its own first."""
    everything = sorted({name for other in work.boosted.ranked for name in other.boosts})
    lowering = sorted(
        (name for name, factor in page.boosts.items() if factor < 1), key=page.boosts.__getitem__
    )
    others = [name for name in everything if name not in lowering]
    choices = [*([name] for name in lowering), lowering, *([name] for name in others)]
    enough = (
        names
        for names in choices
        if names and _place_without(names, work, page) <= work.query.limit
    )
    return next(enough, everything)


def _place_without(names: Collection[str], work: StageResults, page: Ranked) -> int:
    """Where a page stands after the boosts but these."""
    fused = scores_by_page(work.fused)

    def order(one: Ranked) -> tuple[float, str]:
        kept = (factor for name, factor in one.boosts.items() if name not in names)
        return -fused[one.page_id] * math.prod(kept), one.slug

    return 1 + sum(order(other) < order(page) for other in work.boosted.ranked)


def _rerank(asked: ExplainedQuery, page_id: int) -> tuple[str, Remedy]:
    reranked = asked.work.reranked
    assert reranked is not None
    page = next(page for page in reranked.ranked if page.page_id == page_id)
    who = "The reranker's opinion of others"
    if "rerank" in page.lanes:
        who = f"The reranker's opinion {page.lanes['rerank'].score:.4f}"
    return f"{who}, of weight {reranked.weight:.4g},", setting(asked, "rerank", "off")


def _variety(asked: ExplainedQuery, _: int) -> tuple[str, Remedy]:
    given = asked.work.plan.settings.mmr_lambda
    who = f"Variety (mmr_lambda {given:g}), for it is like a hit before it,"
    return who, setting(asked, "mmr_lambda", 1.0)
