"""Immutable values that layers pass to each other: parsed pages, queries, candidates and hits.

All are named tuples, which are the cheapest classes to create at startup. Annotations are not
postponed because typing would compile each of them again.
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
StopReason = Literal["budget", "relevance", "coverage", "exhausted", "verdict"]
Grade = Literal["strong", "partial", "nothing"]
ClauseKind = Literal["term", "field", "not", "all", "any", "loose"]

# Called with the number of items that a long task has done, and the number of all items.
Progress = Callable[[int, int], None]

NO_BOOSTS: Mapping[str, float] = MappingProxyType({})
NO_CHUNK_SCORES: Mapping[int, float] = MappingProxyType({})


def no_progress(done: int, total: int) -> None:
    """Ignore the progress of a task."""


class Section(NamedTuple):
    """The text under one heading of a page, or one timeline entry.

    Offsets count characters of the body, `start` inclusive and `stop` exclusive; `text_start` is
    the offset after the heading line. Days are ISO dates.
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
    """A section, or a span of a long one, that is indexed and embedded.

    `section` and `part` count from 0, bytes from the first byte of the page (front matter
    included), lines from 1 with both ends inclusive. `hash` is the hash of the embedded text.
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
    """A link as written on `line` (from 1); `target` is the page that it names, without heading."""

    line: int
    kind: LinkKind
    target: str
    heading: str | None
    label: str | None


class Page(NamedTuple):
    """A parsed page; `front_matter + compiled_truth + timeline` is its text.

    `meta` is the front matter as JSON, `sha256` the hash of the text, `blocks` the ids of
    paragraphs that other pages can link to.
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
        """Return the whole text of the page."""
        return self.front_matter + self.compiled_truth + self.timeline


class Scope(NamedTuple):
    """Filters that a page must pass; every lane applies them before it limits its candidates.

    Days are ISO dates, inclusive. `where` has front matter keys with required values, `tree` the
    fields and NOTs of the query itself. `periods` are the spans of days that a question asks
    about: a page is dated inside one or has such a chunk.
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
    periods: tuple[tuple[str, str], ...] = ()

    @property
    def unlimited(self) -> bool:
        """Tell whether there is no filter."""
        return self == Scope()


class Term(NamedTuple):
    """A word or phrase of a query; `words` must be adjacent and in this order.

    With `prefix`, the word matches all words that start with it. `synonyms` match as well, and so
    do `forms`, other forms of the word that pages contain.
    """

    words: tuple[str, ...]
    prefix: bool = False
    quoted: bool = False
    synonyms: tuple[str, ...] = ()
    forms: tuple[str, ...] = ()


class Clause(NamedTuple):
    """A node of a query's tree; one class for all kinds, because every class slows the start.

    A `term` has a term. A `field` has a name, and a term if that name is title, else a value. `not`
    has one operand. `all` (AND), `any` (OR) and `loose` (side by side) have two or more.
    """

    kind: ClauseKind
    operands: "tuple[Clause, ...]" = ()
    term: Term | None = None
    name: str = ""
    value: str = ""


class Query(NamedTuple):
    """A parsed query: its normalised `text`, and the `terms` for the keyword lane.

    `semantic_text` is the text to embed, without operators, fields and excluded words. A query
    with operators or fields has a `tree`. `fts_expression` is the FTS5 expression that pages must
    match; without one, any term suffices. With `filter_only`, pages need not contain any term.
    `is_cut` tells that the text was too long and only its beginning was read.
    """

    text: str
    terms: tuple[Term, ...]
    scope: Scope
    limit: int
    semantic_text: str = ""
    tree: "Clause | None" = None
    fts_expression: str | None = None
    filter_only: bool = False
    is_cut: bool = False


class Candidate(NamedTuple):
    """A page found by one lane; `rank` counts from 1, `score` is on the scale of the lane."""

    page_id: int
    slug: str
    chunk_id: int | None
    rank: int
    score: float


class ScoredChunk(NamedTuple):
    """A chunk found by one lane; `score` is on the scale of the lane."""

    chunk_id: int
    page_id: int
    score: float


class LaneResult(NamedTuple):
    """The candidates of one lane and the chunks that matched, both best first.

    `lowest_score` is the lowest score of any page, also below the candidates; the merge scales
    scores from there. `unknown_terms` are terms that no page contains, `terms` those that found
    the pages if they differ from the query's. `suggested_terms` are likely typos, each with the
    intended word as synonym, which was not searched. `overflow` has pages scored below the
    candidates, best first; they count only if another lane has them as candidates.
    `combined_chunk_scores` is by page the mean of its best chunk's scores in the keyword and vector
    lanes, from 0 to 1.
    `word_factors` says by page how much of the query its words cover; the merge multiplies by it.
    `coverage` is how much of the query the words of one page cover at most, from 0 to 1.
    """

    pages: tuple[Candidate, ...]
    chunks: tuple[ScoredChunk, ...] = ()
    lowest_score: float | None = None
    unknown_terms: tuple[Term, ...] = ()
    terms: tuple[Term, ...] = ()
    suggested_terms: tuple[Term, ...] = ()
    overflow: tuple[Candidate, ...] = ()
    combined_chunk_scores: Mapping[int, float] = NO_CHUNK_SCORES
    word_factors: Mapping[int, float] = NO_CHUNK_SCORES
    coverage: float = 1.0


class Ranked(NamedTuple):
    """A page after the merge, with its candidates by lane and its boost factors by name."""

    page_id: int
    slug: str
    score: float
    lanes: Mapping[str, Candidate]
    boosts: Mapping[str, float] = NO_BOOSTS

    @property
    def chunk_id(self) -> int | None:
        """Return the best chunk; the keyword lane's if possible, to highlight its words."""
        for lane in ("fts", "vector", "associative"):
            if lane in self.lanes and self.lanes[lane].chunk_id is not None:
                return self.lanes[lane].chunk_id
        return None


class BoostData(NamedTuple):
    """The properties of a page that boosts depend on.

    Days are ISO dates, `importance` is from 0 to 1. `changed_day` is empty if only the day of an
    import is known. Fields that start with `chunk_` describe the best chunk; these, `has_phrase`,
    `has_entries` and `opens` are read only if a boost needs them.
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
    has_entries: bool = False
    chunk_kind: ChunkKind | None = None
    chunk_first_day: str | None = None
    chunk_last_day: str | None = None
    chunk_text: str = ""
    entry_days: tuple[tuple[str, str], ...] = ()


class HitChunk(NamedTuple):
    """The best chunk of a hit; `lines` are inclusive, `hash` is hexadecimal."""

    kind: ChunkKind
    heading_path: tuple[str, ...]
    date: str | None
    lines: tuple[int, int]
    hash: str


class Hit(NamedTuple):
    """A page in the results; matched words in `snippet` are between \x02 and \x03.

    `weak` marks a page far below the best one; terminals and plain text leave it out.
    """

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
    weak: bool = False


class TermStatistics(NamedTuple):
    """A query word: about how many pages contain it, and whether the best hit and its title do."""

    word: str
    pages: int
    in_top_hit: bool
    in_title: bool = False


class Verdict(NamedTuple):
    """How well a query was answered; `confidence` is the chance that the first hit answers it.

    `missing` are the rarest words of the query that the first hit does not contain. `about` is the
    person of whom the first hit says what fits, if the query asks about another one. `covered` is
    the share of the query's words that the first hit contains, rare words counting more; 1 if that
    tells nothing.
    """

    grade: Grade
    confidence: float
    reasons: tuple[str, ...]
    missing: tuple[str, ...] = ()
    about: str | None = None
    covered: float = 1.0


class ContextChunk(NamedTuple):
    """Text of a page in an assembled context; `role` says why it was included."""

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
    """A chunk that did not fit into the token budget."""

    slug: str
    tokens: int


class Budget(NamedTuple):
    """The token budget of a context: limit, use, what did not fit, and why assembly stopped."""

    limit: int
    used: int
    dropped: tuple[DroppedChunk, ...]
    stopped: StopReason


class Answer(NamedTuple):
    """The result of a query; `context` and `budget` are only set with depth auto.

    `superseded` has the slugs of pages left out because another page supersedes them. `read_as` is
    the query that found the hits, if it is not the given one. `did_you_mean` is the query without
    its likely typos; it was not searched.
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
    did_you_mean: str | None = None
