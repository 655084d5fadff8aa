"""The JSON document of `gbrain explain`: every number that a query's scores are made of."""

from __future__ import annotations

from collections.abc import Iterable

from gbrain.output.json import Document, answer_document
from gbrain.search.explain import score_breakdown
from gbrain.search.explain.why_not import WhyNot
from gbrain.search.pipeline import StageResults
from gbrain.search.threshold import minimum_score
from gbrain.text.query_tree import describe_query
from gbrain.types import Answer, Candidate, LaneResult, Ranked, Scope


def explanation_document(answer: Answer, work: StageResults, missing: WhyNot | None) -> Document:
    """Return the results of all stages, with the numbers to recompute each score."""
    answered = answer_document(answer, trace=True)
    found = work.lanes.by_name
    return {
        "query": _query(answer, work),
        "mode": answer.mode,
        "short_circuit": {
            "how": work.name_match.how,
            "pages": [candidate.slug for candidate in work.name_match.candidates],
        },
        "lanes": {lane: _candidates(found[lane].pages) for lane in found},
        "beyond": {
            lane: _candidates(pages)
            for lane, pages in score_breakdown.pages_beyond_pool(work).items()
        },
        "fusion": _fusion(answer, work),
        "superseded": list(answer.superseded),
        "boosts": _boosts(work),
        "rerank": _rerank(work),
        "noise": [
            {"slug": page.slug, "factor": page.boosts["noise"], "score": page.score}
            for page in work.noisy or ()
        ],
        "cut": _threshold(answer, work),
        "verdict": answered["verdict"],
        "results": answered["results"],
        "trace": answered["trace"],
        "took_ms": answered["took_ms"],
        "why_not": missing._asdict() if missing else None,
    }


def scope_document(scope: Scope) -> Document:
    """Return the filters that are set, by name."""
    empty = Scope()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in scope._asdict().items()
        if value != getattr(empty, name) and name not in ("tree", "periods")
    }


def _query(answer: Answer, work: StageResults) -> Document:
    query = work.query
    return {
        "text": query.text,
        "understood": describe_query(query),
        "read_as": answer.read_as,
        "meaning": query.semantic_text,
        "terms": [
            {"words": list(term.words), "prefix": term.prefix, "quoted": term.quoted,
             "also": list(term.synonyms)}
            for term in query.terms
        ],
        "scope": scope_document(query.scope),
        "intent": work.intent._asdict() if work.intent else None,
        "periods": [[period.first, period.last] for period in work.boosted.periods],
    }  # fmt: skip


def _candidates(pages: Iterable[Candidate]) -> list[Document]:
    return [{"rank": page.rank, "slug": page.slug, "score": page.score} for page in pages]


def _fusion(answer: Answer, work: StageResults) -> Document:
    settings = work.plan.settings
    names = ("both_bonus", "chunk_bonus", "coverage_power", "full_coverage", "literal_bonus",
             "rank_bonus", "rrf_k")  # fmt: skip
    return {
        "merge": answer.merge,
        "by": work.plan.merge,
        "weights": dict(work.weights),
        "setting_weights": settings.lane_weights,
        "intent_factors": score_breakdown.intent_factors(work),
        "constants": {name: getattr(settings, name) for name in names},
        "scales": {lane: _scale(found) for lane, found in work.lanes.by_name.items()},
        "pages": [_fused_page(page, parts) for page, parts in score_breakdown.shares_by_page(work)],
    }


def _scale(found: LaneResult) -> Document:
    pages, passages = score_breakdown.page_scale(found), score_breakdown.chunk_scale(found)
    return {
        "low": pages.low if pages else None,
        "high": pages.high if pages else None,
        "floor": found.lowest_score,
        "passages": passages._asdict() if passages else None,
    }


def _fused_page(page: Ranked, parts: list[score_breakdown.LaneShare]) -> Document:
    shared = next((part.shared for part in parts if part.shared), None)
    return {
        "slug": page.slug,
        "parts": {part.lane: part.total for part in parts},
        "own": {part.lane: part.own for part in parts},
        "shared": {"worth": shared.worth, "scores": dict(shared.scores)} if shared else None,
        "literal": next((part.literal for part in parts if part.literal), None),
        "score": page.score,
    }


def _boosts(work: StageResults) -> list[Document]:
    fused = score_breakdown.scores_by_page(work.fused)
    return [
        {
            "slug": page.slug,
            "fused": fused[page.page_id],
            "factors": dict(page.boosts),
            "score": page.score,
        }
        for page in work.boosted.ranked
        if page.boosts
    ]


def _rerank(work: StageResults) -> Document | None:
    if work.reranked is None:
        return None
    mixed, before = (
        score_breakdown.rerank_mixing(work),
        score_breakdown.scores_by_page(work.boosted.ranked),
    )
    judged = [page for page in work.reranked.ranked if "rerank" in page.lanes]
    head = work.reranked.ranked[: mixed.head] if mixed else []
    return {
        "how": work.reranked.how,
        "skipped": work.reranked.skipped,
        "notice": work.reranked.notice,
        "weight": mixed.weight if mixed else None,
        "mix": mixed.mix if mixed else None,
        "trust": mixed.trust if mixed else None,
        "head": mixed.head if mixed else None,
        "low": mixed.scale.low if mixed else None,
        "high": mixed.scale.high if mixed else None,
        "pages": [
            {
                "slug": page.slug,
                "before": before[page.page_id],
                "opinion": page.lanes["rerank"].score,
                "score": page.score,
            }
            for page in judged
        ],
        "unread": [
            {"place": place, "slug": page.slug, "score": page.score}
            for place, page in enumerate(head, 1)
            if "rerank" not in page.lanes
        ],
    }


def _threshold(answer: Answer, work: StageResults) -> Document:
    settings = work.plan.settings
    return {
        "relevance_floor": settings.relevance_floor,
        "threshold": settings.threshold,
        "bar": minimum_score(work.threshold.kept, settings),
        "below_floor": list(work.threshold.below_floor),
        "below_threshold": list(work.threshold.below_threshold),
        "kept": len(work.threshold.kept),
        "shown": len(answer.hits),
    }
