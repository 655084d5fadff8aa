"""The frozen values that flow: a page's parts on the way in, a query's stages on the way out.

Named tuples, because a search pays for every class at its start and they cost the least; without
postponed annotations, of which each would be compiled then.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from gbrain.trace import Trace

ChunkKind = Literal["truth", "timeline"]
LinkKind = Literal["wiki", "embed", "block", "markdown", "front_matter"]
Mode = Literal["bm25", "semantic", "hybrid", "auto"]
MergeStrategy = Literal["set-union", "set-union-rank", "rrf", "blend"]
Depth = Literal["auto"]
Role = Literal["hit", "neighbour", "linked"]
StopReason = Literal["budget", "coverage", "exhausted"]
Grade = Literal["strong", "partial", "nothing"]
ClauseKind = Literal["term", "field", "not", "all", "any", "loose"]

# Called with how much of a long task is done, and of how much.
Progress = Callable[[int, int], None]

NO_BOOSTS: Mapping[str, float] = MappingProxyType({})
NO_CHUNK_SCORES: Mapping[int, float] = MappingProxyType({})


def no_progress(done: int, total: int) -> None:
    """Ignore the progress of a task."""


class Section(NamedTuple):
    """A stretch of a page's body under one heading, or one timeline entry.

    Offsets count characters of the body, `start` inclusive and `stop` exclusive; `text_start`
    is where the words begin after the section's own heading line.
    """

    kind: ChunkKind
    heading_path: tuple[str, ...]
    start: int
    text_start: int
    stop: int
    date: str | None = None
    first_day: str | None = None
    last_day: str | None = None


class Chunk(NamedTuple):
    """A passage of a section: what the keyword lane scores and the model embeds.

    Bytes count from the page's first byte (front matter included), lines from 1, both ends of
    `lines` inclusive. `hash` names the exact text that is embedded.
    """

    section: int
    part: int
    kind: ChunkKind
    heading_path: tuple[str, ...]
    date: str | None
    first_day: str | None
    last_day: str | None
    byte_start: int
    byte_stop: int
    first_line: int
    last_line: int
    text: str
    hash: bytes


class Link(NamedTuple):
    """A link as written on `line` (from 1); `target` is the page named, without heading."""

    line: int
    kind: LinkKind
    target: str
    heading: str | None
    label: str | None


class Page(NamedTuple):
    """A page parsed from its own text; `front_matter + compiled_truth + timeline` is that text.

    `blocks` are the names of its paragraphs that links on other pages may lead to.
    """

    slug: str
    path: str
    title: str
    type: str | None
    wing: str
    wing_reason: str
    room: str
    room_reason: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    date: str | None
    first_day: str | None
    last_day: str | None
    meta: str
    sha256: bytes
    front_matter: str
    compiled_truth: str
    timeline: str
    links: tuple[Link, ...]
    chunks: tuple[Chunk, ...]
    blocks: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        return self.front_matter + self.compiled_truth + self.timeline


class Scope(NamedTuple):
    """Which pages a command may see; every lane applies it before its cut.

    Days are ISO and inclusive. `where` holds front-matter keys with the value they must have,
    `tree` what the query's own fields and NOTs demand.
    """

    wing: str | None = None
    room: str | None = None
    type: str | None = None
    tags: tuple[str, ...] = ()
    slug_prefix: str | None = None
    since: str | None = None
    until: str | None = None
    where: tuple[tuple[str, str], ...] = ()
    exclude: tuple[str, ...] = ()
    tree: "Clause | None" = None

    @property
    def unlimited(self) -> bool:
        return self == Scope()


class Term(NamedTuple):
    """One word or phrase of a query: `words` stand next to each other in that order.

    `also` holds other spellings that count as this term: the brain's aliases for it.
    """

    words: tuple[str, ...]
    prefix: bool = False
    quoted: bool = False
    synonyms: tuple[str, ...] = ()


class Clause(NamedTuple):
    """A node of a query's tree; one class for all kinds, because a search pays for each at start.

    `term` has a term. `field` has a name, and a term if that is title, else a value. `not` has one
    part. `all` (AND), `any` (OR) and `loose` (side by side) have two parts or more.
    """

    kind: ClauseKind
    operands: "tuple[Clause, ...]" = ()
    term: Term | None = None
    name: str = ""
    value: str = ""


class Query(NamedTuple):
    """A question, read once: `text` as normalised, `terms` as the keyword lane wants them.

    `meaning` is what to embed: the words without operators, fields and what is unwanted. With
    operators or fields there is a `tree`; `expression` is how the keyword lane must match, any of
    the terms if there is none; `listed` says that pages need not hold any of them.
    """

    text: str
    terms: tuple[Term, ...]
    scope: Scope
    limit: int
    semantic_text: str = ""
    tree: "Clause | None" = None
    fts_expression: str | None = None
    filter_only: bool = False


class Candidate(NamedTuple):
    """One lane's opinion of a page, best first: `rank` counts from 1, `score` is the lane's own."""

    page_id: int
    slug: str
    chunk_id: int | None
    rank: int
    score: float


class ScoredChunk(NamedTuple):
    """One lane's opinion of a passage."""

    chunk_id: int
    page_id: int
    score: float


class LaneResult(NamedTuple):
    """What a lane found: pages best first, and the passages that spoke for them, best first.

    `floor` is the lowest score it gave to any page, the pool's and those beyond it: the measure of
    what is nothing to this query. `unknown` are the query's terms that no page of the brain holds;
    `terms` those that found the pages, if they are not the query's own. `beyond` are the pages
    scored after those of the pool, best first: they enter only if another lane's pool has them.
    `shared` says from 0 to 1 how well a page's best passage does by words and meaning together.
    """

    pages: tuple[Candidate, ...]
    chunks: tuple[ScoredChunk, ...] = ()
    lowest_score: float | None = None
    unknown_terms: tuple[Term, ...] = ()
    terms: tuple[Term, ...] = ()
    overflow: tuple[Candidate, ...] = ()
    combined_chunk_scores: Mapping[int, float] = NO_CHUNK_SCORES


class Ranked(NamedTuple):
    """A page after fusion; keeps the candidates it came from, by lane."""

    page_id: int
    slug: str
    score: float
    lanes: Mapping[str, Candidate]
    boosts: Mapping[str, float] = NO_BOOSTS

    @property
    def chunk_id(self) -> int | None:
        """The passage that speaks for the page: the keyword lane's, which can be highlighted."""
        for lane in ("fts", "vector", "associative"):
            if lane in self.lanes and self.lanes[lane].chunk_id is not None:
                return self.lanes[lane].chunk_id
        return None


class BoostData(NamedTuple):
    """What the brain knows of a fused page beside its scores, as far as a boost asks for it.

    Days are ISO. `importance` is from 0 to 1. What begins with `passage` is of the passage that
    speaks for the page; it and `phrase`, `opens` are read only on request.
    """

    title: str
    wing: str
    room: str
    tags: tuple[str, ...] = ()
    first_day: str | None = None
    last_day: str | None = None
    changed_day: str = ""
    superseded_by: str | None = None
    pinned: bool = False
    importance: float | None = None
    opens: int = 0
    has_phrase: bool = False
    chunk_kind: ChunkKind | None = None
    chunk_first_day: str | None = None
    chunk_last_day: str | None = None
    chunk_text: str = ""


class HitChunk(NamedTuple):
    """The passage that speaks for a hit; `lines` are inclusive, `hash` is hexadecimal."""

    kind: ChunkKind
    heading_path: tuple[str, ...]
    date: str | None
    lines: tuple[int, int]
    hash: str


class Hit(NamedTuple):
    """A ranked page with its text; matched words in `snippet` stand between \x02 and \x03."""

    rank: int
    slug: str
    title: str
    wing: str
    room: str
    type: str | None
    date: str | None
    score: float
    snippet: str
    chunk: HitChunk | None
    lanes: Mapping[str, Candidate]
    boosts: Mapping[str, float]


class TermStatistics(NamedTuple):
    """A word of a query: about how many pages hold it, and whether the best hit's passages do."""

    word: str
    pages: int
    in_top_hit: bool


class Verdict(NamedTuple):
    """How well a query was answered; `confidence` is how likely the first five hold the answer."""

    grade: Grade
    confidence: float
    reasons: tuple[str, ...]


class ContextChunk(NamedTuple):
    """A stretch of a page in an assembled context; `role` says why it is there."""

    slug: str
    title: str
    heading_path: tuple[str, ...]
    date: str | None
    lines: tuple[int, int]
    hash: str
    tokens: int
    text: str
    role: Role


class DroppedChunk(NamedTuple):
    """A piece that did not fit."""

    slug: str
    tokens: int


class Budget(NamedTuple):
    """The receipt of an assembled context, in tokens."""

    limit: int
    used: int
    dropped: tuple[DroppedChunk, ...]
    stopped: StopReason


class Answer(NamedTuple):
    """Everything a query returns; `context` and `budget` only with depth auto.

    `superseded` are the slugs of pages left out because another replaces them. `read_as` are the
    words that found the pages, if they are not those of the query.
    """

    query: str
    mode: Mode
    merge: MergeStrategy | None
    short_circuit: str | None
    fell_back_to_bm25: bool
    notice: str | None
    superseded: tuple[str, ...]
    verdict: Verdict
    hits: tuple[Hit, ...]
    took_ms: float
    trace: Trace
    context: tuple[ContextChunk, ...] | None = None
    budget: Budget | None = None
    read_as: str | None = None
