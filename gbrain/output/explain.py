"""The whole trace of a query on one screen for people."""

from __future__ import annotations

from collections.abc import Iterator

from gbrain.messages import counted
from gbrain.output import score_format, screen
from gbrain.output.explain_document import scope_document
from gbrain.output.plain_text import one_line, without_newlines
from gbrain.output.plots import bar
from gbrain.output.score_format import number
from gbrain.search import threshold
from gbrain.search.explain import score_breakdown
from gbrain.search.explain.why_not import WhyNot
from gbrain.search.intent import Intent
from gbrain.search.pipeline import StageResults
from gbrain.text.query_tree import describe_query
from gbrain.trace import Detail
from gbrain.types import Answer, LaneResult

# Lines of a lane that fit on one screen.
_SHOWN = 5

# What the retry ladder tells of each rung has lines of its own.
_RUNGS = "rungs"


def show_explanation(
    answer: Answer, work: StageResults, missing: WhyNot | None, *, pager: bool = True
) -> None:
    """Headings stand out on a terminal, plain lines go to a pipe."""
    sections = _sections(answer, work, missing)
    if not screen.on_terminal():
        for heading, lines in sections:
            screen.write("\n".join([heading, *(f"  {without_newlines(line)}" for line in lines)]))
        return
    from rich.text import Text

    from gbrain.output.pager import open_pager

    with open_pager(terminal := screen.console(), wanted=pager):
        for heading, lines in sections:
            terminal.print(Text(heading, style="bold cyan"))
            for line in lines:
                terminal.print(Text(f"  {without_newlines(line)}", overflow="fold"))


def _pages(count: int) -> str:
    return counted(count, "page")


def _sections(
    answer: Answer, work: StageResults, missing: WhyNot | None
) -> Iterator[tuple[str, list[str]]]:
    if missing:
        lines = [f"{missing.slug} was lost at: {missing.stage}", missing.reason]
        lines = [f"{missing.slug}: {missing.reason}"] if missing.stage == "shown" else lines
        yield "Why not", [*lines, *([missing.remedy] if missing.remedy else [])]
    yield "Query", list(_query_lines(answer, work))
    yield "Short-circuit", [_short_circuit(work)]
    for stage in answer.trace.stages:
        if _RUNGS in stage.detail:
            yield "Retry ladder", [one_line(rung) for rung in _listed(stage.detail[_RUNGS])]
    if work.lanes.by_name:
        for lane, found in work.lanes.by_name.items():
            yield f"Lane {lane}, {_pages(len(found.pages))}", list(_lane_lines(found))
        title = f"Fusion by {work.plan.merge}, {_pages(len(work.fused))}"
        yield title, list(_fusion_lines(work))
    factors = list(_boost_lines(work))
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


def _short_circuit(work: StageResults) -> str:
    if not work.plan.settings.short_circuit:
        return "off"
    names = ", ".join(candidate.slug for candidate in work.name_match.candidates[:_SHOWN])
    return f"{work.name_match.how}: {names}" if names else "the query is no page's name"


def _query_lines(answer: Answer, work: StageResults) -> Iterator[str]:
    query = work.query
    yield f"text        {one_line(query.text)}"
    read = f" → {answer.read_as}" if answer.read_as else ""
    yield f"understood  {one_line(describe_query(query) + read)}"
    also = [
        f"{' '.join(term.words)} also {', '.join(term.synonyms)}"
        for term in query.terms
        if term.synonyms
    ]
    if also:
        yield f"aliases     {one_line('; '.join(also))}"
    if query.semantic_text != query.text:
        yield f"embedded    {one_line(query.semantic_text)}"
    scope = scope_document(query.scope)
    if scope:
        yield "scope       " + one_line(
            ", ".join(f"{name} {value}" for name, value in scope.items())
        )
    if work.intent:
        yield f"intent      {', '.join(_intent(work.intent))}"
    factors = score_breakdown.intent_factors(work)
    if factors:
        weights = work.plan.settings.lane_weights
        ran = [lane for lane in factors if lane in work.lanes.by_name]
        told = [f"{lane} {weights[lane]:g} × {factors[lane]:g}" for lane in ran]
        yield f"weights     {', '.join(told)}"
    for period in work.boosted.periods:
        yield f"time        {period.first} to {period.last}"


def _lane_lines(found: LaneResult) -> Iterator[str]:
    for candidate in found.pages[:_SHOWN]:
        yield f"{candidate.rank:>3}  {candidate.score:9.4f}  {candidate.slug}"
    if len(found.pages) > _SHOWN:
        yield f"  …  {found.pages[-1].score:9.4f}  {found.pages[-1].slug}"


def _intent(intent: Intent) -> Iterator[str]:
    """What a question was taken for, in words."""
    if not intent.english:
        yield "not read, the query is not English"
        return
    yield intent.kind
    yield from (name for name in ("preference", "concrete") if getattr(intent, name))
    if intent.shape:
        yield intent.shape


def _fusion_lines(work: StageResults) -> Iterator[str]:
    settings, merge = work.plan.settings, work.plan.merge
    lanes = score_breakdown.active_lanes(work)
    if not work.fused:
        return
    alone = len(lanes) < 2
    if merge in ("set-union", "blend"):
        yield from _scale_lines(work)
    if merge == "set-union":
        if {"fts", "vector"} <= set(lanes):
            yield f"vector (part + {settings.chunk_bonus:g} × its best passage's, by both lanes)"
        yield f"score = best part{'' if alone else f' + {settings.both_bonus:g} × the others'}"
    elif merge == "set-union-rank":
        both = "" if alone else f", + {settings.rank_bonus:g} when in two lanes"
        yield f"score = best of weight/rank{both}"
    elif merge == "rrf":
        yield f"score = sum of weight/({settings.rrf_k}+rank)"
    else:
        yield "score = sum of weight × part"
    for place, (page, parts) in enumerate(score_breakdown.shares_by_page(work), 1):
        if place > _SHOWN:
            break
        yield f"{place:>3}  {score_format.fused(parts, page.score, merge, settings)}  {page.slug}"


def _scale_lines(work: StageResults) -> Iterator[str]:
    """Which scores of the lanes count as 0 and as 1."""
    told: list[str] = []
    for lane, found in score_breakdown.active_lanes(work).items():
        scale = score_breakdown.page_scale(found)
        if scale and scale.high > scale.low:
            told.append(f"{lane} {number(scale.low)} to {number(scale.high)}")
        elif scale:
            told.append(f"{lane} all 1")
    yield f"part = lane's score on a scale from 0 to 1: {', '.join(told)}"


def _boost_lines(work: StageResults) -> Iterator[str]:
    fused = score_breakdown.scores_by_page(work.fused)
    lifted = [page for page in work.boosted.ranked if page.boosts]
    for page in lifted[: 2 * _SHOWN]:
        yield f"{score_format.boosted(fused[page.page_id], page.boosts, page.score)}  {page.slug}"
    if len(lifted) > 2 * _SHOWN:
        yield f"… and {_pages(len(lifted) - 2 * _SHOWN)} more"


def _rerank_lines(work: StageResults) -> Iterator[str]:
    reranked, mixing = work.reranked, score_breakdown.rerank_mixing(work)
    if reranked is None:
        return
    if reranked.skipped or reranked.notice:
        yield reranked.notice or f"skipped: {reranked.skipped}"
    if mixing is None:
        return
    low, high = number(mixing.scale.low), number(mixing.scale.high)
    if mixing.trust is not None:
        yield f"weight = rerank_mix {mixing.mix:g} × trust {mixing.trust:.4g} = {mixing.weight:.4g}"
    yield f"{1 - mixing.weight:.4g} × score before, on a scale from {low} to {high},"
    yield f"+ {mixing.weight:.4g} × opinion → back on that scale, never above the page before"
    before = score_breakdown.scores_by_page(work.boosted.ranked)
    for place, page in enumerate(reranked.ranked[:_SHOWN], 1):
        if "rerank" in page.lanes:
            sum_ = score_format.mixed(before[page.page_id], page.lanes["rerank"].score, mixing)
            yield f"{place:>3}  {sum_} → {number(page.score)}  {page.slug}"


def _cut_lines(answer: Answer, work: StageResults) -> Iterator[str]:
    yield f"{_pages(len(work.threshold.kept))} kept, {len(answer.hits)} shown"
    settings, least = (
        work.plan.settings,
        threshold.minimum_score(work.threshold.kept, work.plan.settings),
    )
    share = f" of the best, {number(least)}" if least is not None else ""
    for why, slugs in (
        (f"relevance_floor {settings.relevance_floor:g}", work.threshold.below_floor),
        (f"threshold {settings.threshold:g}{share}", work.threshold.below_threshold),
    ):
        if slugs:
            yield f"below {why}: {', '.join(slugs[:_SHOWN])}{' …' if len(slugs) > _SHOWN else ''}"
    for hit in answer.hits[:_SHOWN]:
        yield f"{hit.rank:>3}  {number(hit.score):>9}  {hit.slug}"


def _time_lines(answer: Answer) -> Iterator[str]:
    longest = max((stage.ms for stage in answer.trace.stages), default=0)
    for stage in answer.trace.stages:
        detail = ", ".join(
            f"{name} {'; '.join(_listed(value))}"
            for name, value in stage.detail.items()
            if value not in (None, []) and name != _RUNGS
        )
        share = bar(stage.ms, longest, 12)
        yield f"{stage.name:14} {stage.ms:8.2f} ms {share:12} {one_line(detail)}"


def _listed(value: Detail) -> list[str]:
    return value if isinstance(value, list) else [str(value)]
