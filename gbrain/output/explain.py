"""Print how a query was answered, stage by stage, on one screen; `--json` has every number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gbrain.messages import counted, one_line, without_newlines
from gbrain.output import screen
from gbrain.output.answer_text import (
    LANE_NAMES,
    RUNGS,
    detail_list,
    phrase_reason,
    stage_detail,
    stage_name,
)
from gbrain.output.explain_document import scope_document
from gbrain.output.plots import bar
from gbrain.search import threshold
from gbrain.search.explain import score_breakdown
from gbrain.search.explain.score_breakdown import LaneShare
from gbrain.search.explain.why_not import WhyNot
from gbrain.search.intent import Intent
from gbrain.search.pipeline import StageResults
from gbrain.text.query_tree import describe_query
from gbrain.types import Answer, LaneResult, Ranked

# Pages shown of each lane and stage, so that all stages fit on one screen.
_MAX_PAGES = 5
_MAX_BOOSTED_PAGES = 10


def show_explanation(
    answer: Answer, results: StageResults, missing: WhyNot | None, *, pager: bool = True
) -> None:
    """Print a section for each stage, with coloured headings on a terminal."""
    sections = _sections(answer, results, missing)
    if not screen.on_terminal():
        for heading, lines in sections:
            screen.write("\n".join([heading, *(f"  {without_newlines(line)}" for line in lines)]))
        return
    from rich.padding import Padding
    from rich.text import Text

    from gbrain.output.screen import open_pager

    with open_pager(terminal := screen.console(), wanted=pager):
        for heading, lines in sections:
            terminal.print(Text(heading, style="bold cyan"))
            for line in lines:
                text = Text(without_newlines(line), overflow="fold")
                terminal.print(Padding(text, (0, 0, 0, 2)))


def _sections(
    answer: Answer, results: StageResults, missing: WhyNot | None
) -> Iterator[tuple[str, list[str]]]:
    """Yield (heading, lines) in the order of the stages."""
    if missing:
        lines = [f"{missing.slug} was lost at: {missing.stage}", missing.reason]
        lines = [f"{missing.slug}: {missing.reason}"] if missing.stage == "shown" else lines
        yield "Why not", [*lines, *([missing.remedy] if missing.remedy else [])]
    yield "Query", list(_query_lines(answer, results))
    yield "Page name", [_short_circuit_line(results)]
    for stage in answer.trace.stages:
        if RUNGS in stage.detail:
            yield "Retry ladder", [one_line(rung) for rung in detail_list(stage.detail[RUNGS])]
    if results.lanes.by_name:
        for lane, found in results.lanes.by_name.items():
            title = f"{LANE_NAMES[lane].capitalize()} lane"
            yield f"{title}, {counted(len(found.pages), 'page')}", list(_lane_lines(found))
        title = f"Merged by {results.plan.merge}, {counted(len(results.fused), 'page')}"
        yield title, list(_fusion_lines(results))
    factors = list(_boost_lines(results))
    if factors or answer.superseded:
        dropped = [f"{slug} is superseded and left out" for slug in answer.superseded]
        yield "Boosts", [*factors, *dropped]
    if results.reranked:
        yield f"Reranked by {results.reranked.how}", list(_rerank_lines(results))
    if results.noisy:
        yield "Noise", list(_noise_lines(results.noisy))
    shown = f"{len(answer.hits)} of {counted(len(results.threshold.kept), 'page')}"
    yield f"Results, {shown}", list(_threshold_lines(answer, results))
    yield (
        f"Verdict: {answer.verdict.grade} ({answer.verdict.confidence:.2f})",
        [phrase_reason(reason) for reason in answer.verdict.reasons],
    )
    yield f"Time, {answer.took_ms:.1f} ms", list(_time_lines(answer))


def _short_circuit_line(results: StageResults) -> str:
    if not results.plan.settings.short_circuit:
        return "off"
    match = results.name_match
    names = ", ".join(candidate.slug for candidate in match.candidates[:_MAX_PAGES])
    return f"{match.how}: {names}" if names else "the query is not the name of a page"


def _query_lines(answer: Answer, results: StageResults) -> Iterator[str]:
    query = results.query
    yield f"text        {one_line(query.text)}"
    read_as = f" → {answer.read_as}" if answer.read_as else ""
    yield f"understood  {one_line(describe_query(query) + read_as)}"
    synonyms = [
        f"{' '.join(term.words)} also {', '.join(term.synonyms)}"
        for term in query.terms
        if term.synonyms
    ]
    if synonyms:
        yield f"aliases     {one_line('; '.join(synonyms))}"
    if query.semantic_text != query.text:
        yield f"embedded    {one_line(query.semantic_text)}"
    scope = scope_document(query.scope)
    if scope:
        filters = ", ".join(f"{name} {value}" for name, value in scope.items())
        yield f"scope       {one_line(filters)}"
    if results.intent:
        yield f"intent      {', '.join(_intent_words(results.intent))}"
    factors = score_breakdown.intent_factors(results)
    if factors:
        weights = results.plan.settings.lane_weights
        products = [
            f"{LANE_NAMES[lane]} {weights[lane]:g} × {factor:g}"
            for lane, factor in factors.items()
            if lane in results.lanes.by_name
        ]
        yield f"weights     {', '.join(products)}"
    for period in results.boosted.periods:
        yield f"time        {period.first} to {period.last}"


def _intent_words(intent: Intent) -> Iterator[str]:
    if not intent.english:
        yield "not detected, the query is not English"
        return
    yield intent.kind
    yield from (name for name in ("preference", "concrete") if getattr(intent, name))
    if intent.shape:
        yield intent.shape


def _lane_lines(found: LaneResult) -> Iterator[str]:
    for candidate in found.pages[:_MAX_PAGES]:
        yield f"{candidate.rank:>3}  {candidate.score:9.4f}  {candidate.slug}"
    if len(found.pages) > _MAX_PAGES:
        yield f"  …  {found.pages[-1].score:9.4f}  {found.pages[-1].slug}"


def _fusion_lines(results: StageResults) -> Iterator[str]:
    """Yield the rule by which the lanes are merged, then the best pages with their sums."""
    settings, merge = results.plan.settings, results.plan.merge
    lanes = score_breakdown.active_lanes(results)
    if not results.fused:
        return
    one_lane = len(lanes) < 2
    if merge in ("set-union", "blend"):
        yield _scale_line(results)
    if merge == "set-union":
        if {"fts", "vector"} <= set(lanes):
            yield f"vector: + {settings.chunk_bonus:g} × the best chunk that both lanes found"
        if not one_lane and "fts" in lanes and lanes["fts"].word_factors:
            yield "keyword: × a factor for how many of the query's words the page contains"
        others = "" if one_lane else f" + {settings.both_bonus:g} × the other lanes"
        yield f"score = best lane{others}"
    elif merge == "set-union-rank":
        bonus = "" if one_lane else f", + {settings.rank_bonus:g} if two lanes found it"
        yield f"score = highest weight/rank of a lane{bonus}"
    elif merge == "rrf":
        yield f"score = sum of weight/({settings.rrf_k}+rank)"
    else:
        yield "score = sum of weight × scaled score"
    for place, (page, shares) in enumerate(score_breakdown.shares_by_page(results), 1):
        if place > _MAX_PAGES:
            break
        yield f"{place:>3}  {_format_sum(shares, results)} = {page.score:.4f}  {page.slug}"


def _scale_line(results: StageResults) -> str:
    """Return which scores of each lane become 0 and 1."""
    texts: list[str] = []
    for lane, found in score_breakdown.active_lanes(results).items():
        scale = score_breakdown.page_scale(found)
        if scale and scale.high > scale.low:
            texts.append(f"{LANE_NAMES[lane]} {scale.low:.4f} to {scale.high:.4f}")
        elif scale:
            texts.append(f"{LANE_NAMES[lane]} all to 1")
    return f"scores scaled to 0 … 1: {', '.join(texts)}"


def _format_sum(shares: Sequence[LaneShare], results: StageResults) -> str:
    """Return how the shares of the lanes make a page's score, the greatest share first."""
    settings, merge = results.plan.settings, results.plan.merge
    first, *others = (_format_share(share, results) for share in shares)
    if merge == "set-union-rank":
        return f"{first} + {settings.rank_bonus:g}" if others else first
    if merge == "set-union":
        others = [f"{settings.both_bonus:g} × {text}" for text in others]
    return " + ".join([first, *others])


def _format_share(share: LaneShare, results: StageResults) -> str:
    merge, rrf_k = results.plan.merge, results.plan.settings.rrf_k
    lane = LANE_NAMES[share.lane]
    if merge == "rrf":
        return f"{lane} {share.weight:g}/({rrf_k}+{share.rank})"
    if merge == "set-union-rank":
        return f"{lane} {share.weight:g}/{share.rank}"
    text = f"{share.own:.4f}{f' × {1 + share.literal:.4g}' if share.literal else ''}"
    if share.shared and share.bonus:
        text = f"({text} + {share.bonus:g} × {share.shared.worth:.4f})"
    return f"{lane} {f'{share.weight:g} × ' if share.weight != 1 else ''}{text}"


def _boost_lines(results: StageResults) -> Iterator[str]:
    fused = score_breakdown.scores_by_page(results.fused)
    boosted = [page for page in results.boosted.ranked if page.boosts]
    for page in boosted[:_MAX_BOOSTED_PAGES]:
        factors = "".join(f" × {name} {factor:.4g}" for name, factor in page.boosts.items())
        yield f"{fused[page.page_id]:.4f}{factors} = {page.score:.4f}  {page.slug}"
    if len(boosted) > _MAX_BOOSTED_PAGES:
        yield f"… and {counted(len(boosted) - _MAX_BOOSTED_PAGES, 'page')} more"


def _rerank_lines(results: StageResults) -> Iterator[str]:
    reranked, mixing = results.reranked, score_breakdown.rerank_mixing(results)
    if reranked is None:
        return
    if reranked.skipped or reranked.notice:
        yield reranked.notice or f"skipped: {reranked.skipped}"
    if mixing is None:
        return
    low, high = f"{mixing.scale.low:.4f}", f"{mixing.scale.high:.4f}"
    if mixing.trust is not None:
        yield f"weight = rerank_mix {mixing.mix:g} × trust {mixing.trust:.4g} = {mixing.weight:.4g}"
    own_weight, weight = f"{1 - mixing.weight:.4g}", f"{mixing.weight:.4g}"
    yield f"{own_weight} × score so far (scaled from {low} … {high} to 0 … 1)"
    yield f"+ {weight} × reranker's score, then scaled back; never above the page before it"
    before = score_breakdown.scores_by_page(results.boosted.ranked)
    for place, page in enumerate(reranked.ranked[:_MAX_PAGES], 1):
        if "rerank" in page.lanes:
            own = score_breakdown.position_on_scale(before[page.page_id], mixing.scale)
            mixed = f"{own_weight} × {own:.4f} + {weight} × {page.lanes['rerank'].score:.4f}"
            yield f"{place:>3}  {mixed} → {page.score:.4f}  {page.slug}"


def _noise_lines(noisy: Sequence[Ranked]) -> Iterator[str]:
    for page in noisy[:_MAX_PAGES]:
        yield f"… × {page.boosts['noise']:.4g} = {page.score:.4f}  {page.slug}"


def _threshold_lines(answer: Answer, results: StageResults) -> Iterator[str]:
    settings, kept = results.plan.settings, results.threshold.kept
    if kept and threshold.rejects_answer(answer.verdict.grade, settings):
        yield f"threshold {settings.threshold:g}: an answer graded nothing has no hits"
    least = threshold.minimum_score(kept, settings)
    share = f" of the best, {least:.4f}" if least is not None else ""
    for reason, slugs in (
        (f"relevance_floor {settings.relevance_floor:g}", results.threshold.below_floor),
        (f"threshold {settings.threshold:g}{share}", results.threshold.below_threshold),
    ):
        if slugs:
            more = " …" if len(slugs) > _MAX_PAGES else ""
            yield f"below {reason}: {', '.join(slugs[:_MAX_PAGES])}{more}"
    for hit in answer.hits[:_MAX_PAGES]:
        yield f"{hit.rank:>3}  {hit.score:9.4f}  {hit.slug}"


def _time_lines(answer: Answer) -> Iterator[str]:
    longest = max((stage.ms for stage in answer.trace.stages), default=0)
    for stage in answer.trace.stages:
        share = bar(stage.ms, longest, 12)
        detail = one_line(stage_detail(stage, rungs=False))
        yield f"{stage_name(stage):14} {stage.ms:8.2f} ms {share:12} {detail}".rstrip()
