"""Search a brain with only some of its pages at hand: what depends on all is asked elsewhere.

The pages at hand are in an ordinary brain in memory, on a `PartialConnection`. The functions of the
store that are marked with `asks_whole_brain` depend on every page; on such a connection they are
methods of a `WholeBrain`, which also brings the pages that it names into memory. All others read
only pages that were named, and need not know.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gbrain.config import Settings
    from gbrain.store.pages import NamedPage
    from gbrain.store.vector_space import Floats, VectorSpace
    from gbrain.types import Query, Scope, ScoredChunk, Term

P = ParamSpec("P")
R = TypeVar("R")


class WholeBrain(Protocol):
    """All pages of a brain, wherever they are; ids are those of the brain in memory.

    Each method does what the function of its name does in a brain file.
    """

    # How many there are.
    def approximate_page_count(self) -> int: ...
    def count_chunks(self) -> int: ...
    def count_matches(self, index: str, match: str, most: int | None = None) -> int: ...
    def count_pages_with(self, terms: Iterable[Term]) -> list[int]: ...
    def filter_values(self, kind: str) -> dict[str, int]: ...

    # Keyword lane.
    def score_pages_and_chunks(
        self, query: Query, counts: Sequence[int], settings: Settings
    ) -> tuple[dict[int, float], list[ScoredChunk]]: ...
    def score_questions(self, match: str, scope: Scope, limit: int) -> dict[int, float]: ...
    def pages_asked(self, text: str) -> dict[int, str]: ...
    def has_questions(self) -> bool: ...
    def pages_with_text(self, text: str, scope: Scope) -> dict[int, float]: ...
    def any_page_matches(self, match: str, scope: Scope) -> bool: ...

    # Vector lane.
    def has_vectors(self, space: VectorSpace) -> bool: ...
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
    def linked_pages(self, page_id: int) -> list[int]: ...
    def links_between(self, page_ids: Iterable[int], most: int) -> list[tuple[int, int]]: ...
    def latest_pages(self, scope: Scope, limit: int) -> list[int]: ...
    def any_page_inside(self, scope: Scope) -> bool: ...
    def latest_pages_inside(self, scope: Scope, limit: int) -> list[tuple[int, str, str]]: ...

    # Words of all pages, for misspelt ones.
    def stems_from(self, starts: Sequence[str]) -> list[tuple[str, int]]: ...
    def texts_with_stem(self, term: str, most: int) -> list[str]: ...
    def in_front_matter(self, word: str) -> bool: ...


class PartialConnection(sqlite3.Connection):
    """A connection to some pages of a brain; `whole` knows all of them."""

    whole: WholeBrain


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
