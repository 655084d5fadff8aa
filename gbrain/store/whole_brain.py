"""Search a brain with only some of its pages at hand: what depends on all is asked elsewhere.

The pages at hand are in an ordinary brain in memory, on a `PartialConnection`. The functions of the
store that are marked with `asks_whole_brain` depend on every page; on such a connection they are
methods of a `WholeBrain`. All others read only pages that they were given, and need not know.
Candidates are not at hand by themselves: who reads more of pages than slugs calls `fetch_pages`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from gbrain.config import Settings
    from gbrain.store.keyword_index import KeywordMatches
    from gbrain.store.pages import NamedPage
    from gbrain.store.scope import Spans
    from gbrain.store.vector_space import Floats, VectorSpace
    from gbrain.types import Query, Scope, ScoredChunk

P = ParamSpec("P")
R = TypeVar("R")


class BrainTotals(NamedTuple):
    """How many pages and chunks a brain has, and whether any page has questions or a vector."""

    pages: int
    chunks: int
    has_questions: bool
    has_vectors: bool


class WholeBrain(Protocol):
    """All pages of a brain, wherever they are; ids are those of the brain in memory.

    Each method does what the function of its name does in a brain file.
    """

    # How many there are.
    @property
    def totals(self) -> BrainTotals: ...
    def count_matches(
        self, index: str, matches: Sequence[str], most: int | None = None
    ) -> list[int]: ...

    # Keyword lane.
    def find_matches(
        self, query: Query, counts: Sequence[int], settings: Settings
    ) -> KeywordMatches: ...
    def pages_matching(
        self, matches: Sequence[str], page_ids: Collection[int], counts: Sequence[int]
    ) -> list[set[int]]: ...
    def pages_asked(self, text: str) -> dict[int, str]: ...

    # Vector lane.
    def find_nearest(
        self,
        space: VectorSpace,
        embedded: Floats,
        query: Query,
        pool: int,
        scan: Callable[[], Floats],
    ) -> list[ScoredChunk]: ...
    def chunk_vectors(self, space: VectorSpace, chunk_ids: Iterable[int]) -> dict[int, Floats]: ...

    # Pages by id, name, link and date.
    def fetch_pages(self, page_ids: Iterable[int]) -> set[int]: ...
    def slugs_by_id(self, page_ids: Iterable[int]) -> dict[int, str]: ...
    def find_by_names(self, keys: Iterable[str]) -> list[NamedPage]: ...
    def find_similar_names(self, key: str, letters: int) -> list[NamedPage]: ...
    def pages_linked_from(self, page_ids: Iterable[int], most: int) -> list[tuple[int, int]]: ...
    def pages_linking_to(self, page_ids: Iterable[int], most: int) -> list[tuple[int, int]]: ...
    def any_page(self, scope: Scope, match: str | None = None) -> bool: ...
    def latest_pages(self, scope: Scope, limit: int, inside: Spans = ()) -> list[int]: ...

    # Words of all pages, for misspelt ones.
    def stems_from(self, starts: Sequence[str]) -> dict[str, list[tuple[str, int]]]: ...
    def texts_with_stems(self, terms: Sequence[str], most: int) -> dict[str, list[str]]: ...


class PartialConnection(sqlite3.Connection):
    """A connection to some pages of a brain; `whole` knows all of them."""

    whole: WholeBrain


def known_totals(connection: sqlite3.Connection) -> BrainTotals | None:
    """Return the totals of the brain whose pages are only partly at hand; None for a brain file."""
    return connection.whole.totals if isinstance(connection, PartialConnection) else None


def asks_whole_brain(
    function: Callable[Concatenate[sqlite3.Connection, P], R],
) -> Callable[Concatenate[sqlite3.Connection, P], R]:
    """Mark a function whose result depends on all pages: on a part of them, ask the whole brain."""
    name = function.__name__

    @wraps(function)
    def answer(connection: sqlite3.Connection, /, *args: P.args, **kwargs: P.kwargs) -> R:
        if isinstance(connection, PartialConnection):
            found: R = getattr(connection.whole, name)(*args, **kwargs)
            return found
        return function(connection, *args, **kwargs)

    return answer


def read_partial(
    function: Callable[Concatenate[sqlite3.Connection, P], R],
) -> Callable[Concatenate[sqlite3.Connection, P], R]:
    """Return a marked function as it reads a brain file, to read only the pages at hand with it."""
    unmarked: Callable[Concatenate[sqlite3.Connection, P], R] = function.__wrapped__  # type: ignore[attr-defined]
    return unmarked
