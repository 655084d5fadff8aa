"""Why a page is not in an answer: the stage that lost it, and what would have kept it."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from gbrain.config import Settings
from gbrain.search.explain import not_a_candidate, ranked_too_low
from gbrain.search.explain.remedies import (
    ExplainedQuery,
    Lost,
    QueryAgain,
    Remedy,
    either,
    limit,
    setting,
)
from gbrain.search.pipeline import StageResults
from gbrain.search.threshold import minimum_score
from gbrain.store.connection import Database
from gbrain.store.supersede import find_successor
from gbrain.types import Answer, Ranked

_NONE: Mapping[str, str] = MappingProxyType({})


class WhyNot(NamedTuple):
    """Where a page was lost, or that it was not: `stage` is "shown" then."""

    slug: str
    stage: str
    reason: str
    remedy: str | None


def why_not(
    database: Database,
    settings: Settings,
    query_again: QueryAgain,
    page_id: int,
    slug: str,
    answered: Answer,
    work: StageResults,
    *,
    given: Mapping[str, str] = _NONE,
    **options: Any,
) -> WhyNot:
    """Return the stage at which a page was lost to an answer, the reason and a remedy.

    `options` are those of the query and `settings` the brain's own. `query_again` takes a text and
    options and returns an answer with its stage results. `given` names the option, as written,
    that a setting's value came from.
    """
    asked = ExplainedQuery(query_again, settings, answered, work, options, given)
    with database.read_transaction() as connection:
        lost = (
            _at_once(asked, slug)
            or _superseded(connection, asked, slug)
            or _cut(asked, slug)
            or ranked_too_low.lost(asked, page_id)
            or not_a_candidate.out_of_scope(connection, asked, page_id)
            or not_a_candidate.in_no_lane(connection, asked, page_id)
        )
    return WhyNot(slug, *lost)


def _at_once(asked: ExplainedQuery, slug: str) -> Lost | None:
    """Whether it is shown, or no page but one could be."""
    answered = asked.answered
    shown = next((hit.rank for hit in answered.hits if hit.slug == slug), None)
    if shown is not None:
        return "shown", f"It is hit {shown}.", None
    if not answered.short_circuit:
        return None
    return (
        "short_circuit",
        f"The query is the name of {answered.hits[0].slug}, which answers it at once.",
        either("ask with more words than the name", setting(asked, "short_circuit", False)),
    )


def _superseded(connection: sqlite3.Connection, asked: ExplainedQuery, slug: str) -> Lost | None:
    if slug not in asked.work.boosted.superseded:
        return None
    successor = find_successor(connection, slug) or "Another page"
    return (
        "superseded",
        f"{successor} replaces it: its front matter says superseded_by.",
        "Ask with --include-superseded, or set pinned: true in its front matter.",
    )


def _cut(asked: ExplainedQuery, slug: str) -> Lost | None:
    work, settings = asked.work, asked.work.plan.settings
    ranked = work.reranked.ranked if work.reranked else work.boosted.ranked
    if slug in work.threshold.below_floor:
        place, page = _find(ranked, slug)
        cosine = page.lanes["vector"].score
        reason = (
            f"Only the vector lane found it, with cosine {cosine:.4f}, below relevance_floor "
            f"{settings.relevance_floor:g}."
        )
        return "cut", reason, _more(asked, "relevance_floor", place)
    if slug not in work.threshold.below_threshold:
        return None
    place, page = _find(ranked, slug)
    least, best = (
        minimum_score(work.threshold.kept, settings) or 0.0,
        max(kept.score for kept in work.threshold.kept),
    )
    reason = (
        f"Its score {page.score:.4g} is below {least:.4g}: threshold {settings.threshold:g} of "
        f"the best, {best:.4g}."
    )
    lowered = ranked_too_low.factors(
        page, [name for name, factor in page.boosts.items() if factor < 1]
    )
    reason += f" {lowered} lowered it." if lowered else ""
    return "cut", reason, _more(asked, "threshold", place)


def _find(ranked: Sequence[Ranked], slug: str) -> tuple[int, Ranked]:
    return next((place, page) for place, page in enumerate(ranked, 1) if page.slug == slug)


def _more(asked: ExplainedQuery, name: str, place: int) -> str | None:
    """Without the setting that cuts, and with as many hits as then reach the page.

    Without a profile the places are others.
    """
    remedy = setting(asked, name, 0.0)
    beyond = place > asked.work.query.limit and not remedy.asking
    return either(remedy.joined(limit(place) if beyond else Remedy()))
