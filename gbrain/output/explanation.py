"""The whole trace of a query: a document for machines, and one screen for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gbrain.explanation import WhyNot
from gbrain.output import screen
from gbrain.output.charts import bar
from gbrain.output.json import Document, answer_document
from gbrain.output.text import one_line
from gbrain.pipeline import Workings
from gbrain.ranking.fusion import parts_by_page
from gbrain.text.query_text import describe
from gbrain.types import Answer, Found, Ranked, Scope

# Lines of a lane that fit on one screen.
_SHOWN = 5


def explanation_document(answer: Answer, work: Workings, missing: WhyNot | None) -> Document:
    """Everything that the stages did, with the numbers to do it again by hand."""
    query = work.query
    answered = answer_document(answer, trace=True)
    return {
        "query": {
            "text": query.text,
            "understood": describe(query),
            "meaning": query.meaning,
            "terms": [
                {"words": list(term.words), "prefix": term.prefix, "quoted": term.quoted,
                 "also": list(term.also)}
                for term in query.terms
            ],
            "scope": _scope(query.scope),
            "intent": work.intent._asdict() if work.intent else None,
            "periods": [[period.first, period.last] for period in work.boosted.periods],
        },
        "mode": answer.mode,
        "short_circuit": {
            "how": work.small.how,
            "pages": [candidate.slug for candidate in work.small.candidates],
        },
        "lanes": {
            lane: [
                {"rank": candidate.rank, "slug": candidate.slug, "score": candidate.score}
                for candidate in found.pages
            ]
            for lane, found in work.lanes.found.items()
        },
        "fusion": {
            "merge": answer.merge,
            "weights": dict(work.weights),
            "pages": [
                {"slug": page.slug, "parts": parts, "score": page.score}
                for page, parts in zip(work.fused, _parts_of(work), strict=True)
            ],
        },
        "superseded": list(answer.superseded),
        "boosts": [
            {"slug": page.slug, "factors": dict(page.boosts), "score": page.score}
            for page in work.boosted.ranked
            if page.boosts
        ],
        "rerank": {
            "how": work.reranked.how,
            "skipped": work.reranked.skipped,
            "notice": work.reranked.notice,
            "pages": [
                {"slug": page.slug, "opinion": page.lanes["rerank"].score, "score": page.score}
                for page in work.reranked.ranked
                if "rerank" in page.lanes
            ],
        }
        if work.reranked
        else None,
        "cut": {
            "below_floor": list(work.cut.below_floor),
            "below_threshold": list(work.cut.below_threshold),
            "kept": len(work.cut.kept),
            "shown": len(answer.hits),
        },
        "verdict": answered["verdict"],
        "results": answered["results"],
        "trace": answered["trace"],
        "took_ms": answered["took_ms"],
        "why_not": missing._asdict() if missing else None,
    }  # fmt: skip


def _scope(scope: Scope) -> Document:
    """The filters that are set."""
    empty = Scope()
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in scope._asdict().items()
        if value != getattr(empty, name) and name != "tree"
    }


def _parts_of(work: Workings) -> list[dict[str, float]]:
    """What each lane adds for each fused page, weighted."""
    lanes = work.lanes.found
    if not lanes:
        return [{} for _ in work.fused]
    parts = parts_by_page(lanes, work.weights, work.plan.merge, work.plan.settings)
    return [parts[page.page_id] for page in work.fused]


def show_explanation(
    answer: Answer, work: Workings, missing: WhyNot | None, *, pager: bool = True
) -> None:
    """Headings stand out on a terminal, plain lines go to a pipe."""
    sections = _sections(answer, work, missing)
    if not screen.on_terminal():
        for heading, lines in sections:
            screen.write("\n".join([heading, *(f"  {line}" for line in lines)]))
        return
    from rich.text import Text

    from gbrain.output.pager import paged

    with paged(terminal := screen.console(), wanted=pager):
        for heading, lines in sections:
            terminal.print(Text(heading, style="bold cyan"))
            for line in lines:
                terminal.print(Text(f"  {line}", overflow="fold"))


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"


def _sections(
    answer: Answer, work: Workings, missing: WhyNot | None
) -> Iterator[tuple[str, list[str]]]:
    if missing:
        lines = [f"{missing.slug} was lost at: {missing.stage}", missing.reason]
        lines = [f"{missing.slug}: {missing.reason}"] if missing.stage == "shown" else lines
        yield "Why not", [*lines, *([missing.remedy] if missing.remedy else [])]
    yield "Query", list(_query_lines(answer, work))
    small = work.small
    names = ", ".join(candidate.slug for candidate in small.candidates[:_SHOWN])
    yield "Short-circuit", [f"{small.how}: {names}" if names else "the query is no page's name"]
    if work.lanes.found:
        for lane, found in work.lanes.found.items():
            yield f"Lane {lane}, {_pages(len(found.pages))}", list(_lane_lines(found))
        title = f"Fusion by {work.plan.merge}, {_pages(len(work.fused))}"
        yield title, list(_fusion_lines(work))
    factors = list(_boost_lines(work.boosted.ranked))
    if factors or answer.superseded:
        dropped = [f"{slug} is superseded and left out" for slug in answer.superseded]
        yield "Boosts", [*factors, *dropped]
    if work.reranked:
        yield f"Rerank by {work.reranked.how}", list(_rerank_lines(work))
    yield "Cut", list(_cut_lines(answer, work))
    yield (
        f"Verdict: {answer.verdict.grade} ({answer.verdict.confidence:.2f})",
        list(answer.verdict.reasons),
    )
    yield f"Time, {answer.took_ms:.1f} ms", list(_time_lines(answer))


def _query_lines(answer: Answer, work: Workings) -> Iterator[str]:
    query = work.query
    yield f"text        {one_line(query.text)}"
    read = f" → {answer.read_as}" if answer.read_as else ""
    yield f"understood  {one_line(describe(query) + read)}"
    also = [
        f"{' '.join(term.words)} also {', '.join(term.also)}" for term in query.terms if term.also
    ]
    if also:
        yield f"aliases     {one_line('; '.join(also))}"
    if query.meaning != query.text:
        yield f"embedded    {one_line(query.meaning)}"
    scope = _scope(query.scope)
    if scope:
        yield "scope       " + one_line(
            ", ".join(f"{name} {value}" for name, value in scope.items())
        )
    if work.intent:
        yield f"intent      {work.intent.kind}"
    for period in work.boosted.periods:
        yield f"time        {period.first} to {period.last}"


def _lane_lines(found: Found) -> Iterator[str]:
    for candidate in found.pages[:_SHOWN]:
        yield f"{candidate.rank:>3}  {candidate.score:9.4f}  {candidate.slug}"
    if len(found.pages) > _SHOWN:
        yield f"  …  {found.pages[-1].score:9.4f}  {found.pages[-1].slug}"


def _fusion_lines(work: Workings) -> Iterator[str]:
    settings, merge = work.plan.settings, work.plan.merge
    if merge == "set-union":
        yield f"score = best part + {settings.both_bonus:g} × the others (parts from 0 to 1, "
        yield f"vector with {settings.passage_bonus:g} × what its best passage has in both lanes)"
    elif merge == "set-union-rank":
        yield f"score = best of 1/rank, + {settings.rank_bonus:g} when in two lanes"
    elif merge == "rrf":
        yield f"score = sum of weight / ({settings.rrf_k} + rank)"
    else:
        yield "score = sum of weight × part (parts from 0 to 1)"
    for place, (page, parts) in enumerate(zip(work.fused, _parts_of(work), strict=True), 1):
        if place > _SHOWN:
            break
        yield f"{place:>3}  {_arithmetic(parts, work)} = {page.score:.4f}  {page.slug}"


def _arithmetic(parts: Mapping[str, float], work: Workings) -> str:
    named = [f"{lane} {part:.4f}" for lane, part in sorted(parts.items(), key=lambda p: -p[1])]
    settings = work.plan.settings
    if work.plan.merge == "set-union":
        return " + ".join([named[0], *(f"{settings.both_bonus:g} × {part}" for part in named[1:])])
    if work.plan.merge == "set-union-rank":
        return named[0] + (f" + {settings.rank_bonus:g}" if len(named) > 1 else "")
    return " + ".join(named)


def _boost_lines(ranked: Sequence[Ranked]) -> Iterator[str]:
    for page in [page for page in ranked if page.boosts][: 2 * _SHOWN]:
        factors = " × ".join(f"{name} {factor:.4g}" for name, factor in page.boosts.items())
        yield f"{factors} → {page.score:.4f}  {page.slug}"


def _rerank_lines(work: Workings) -> Iterator[str]:
    reranked = work.reranked
    if reranked is None:
        return
    if reranked.skipped or reranked.notice:
        yield reranked.notice or f"skipped: {reranked.skipped}"
    for place, page in enumerate(reranked.ranked[:_SHOWN], 1):
        if "rerank" in page.lanes:
            opinion = page.lanes["rerank"].score
            yield f"{place:>3}  opinion {opinion:.4f} → {page.score:.4f}  {page.slug}"


def _cut_lines(answer: Answer, work: Workings) -> Iterator[str]:
    yield f"{_pages(len(work.cut.kept))} kept, {len(answer.hits)} shown"
    for why, slugs in (
        ("relevance_floor", work.cut.below_floor),
        ("threshold", work.cut.below_threshold),
    ):
        if slugs:
            yield f"below {why}: {', '.join(slugs[:_SHOWN])}{' …' if len(slugs) > _SHOWN else ''}"
    for hit in answer.hits[:_SHOWN]:
        yield f"{hit.rank:>3}  {hit.score:9.4f}  {hit.slug}"


def _time_lines(answer: Answer) -> Iterator[str]:
    longest = max((stage.ms for stage in answer.trace.stages), default=0)
    for stage in answer.trace.stages:
        detail = ", ".join(
            f"{name} {value}" for name, value in stage.detail.items() if value is not None
        )
        share = bar(stage.ms, longest, 12)
        yield f"{stage.name:14} {stage.ms:8.2f} ms {share:12} {one_line(detail)}"
