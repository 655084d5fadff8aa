"""Add pages that were pushed to the search tables of a shared store, in batches.

A push of few pages writes them there itself. After a large one they are added when all are safe;
if that is killed, whoever pushes next goes on: the store says up to which sequence number its
tables are complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from gbrain.errors import GbrainError
from gbrain.importing.parse_worker import TextParser
from gbrain.store.postgres.connection import LONG_TRANSACTION_SECONDS, SharedStore
from gbrain.store.postgres.schema import SharedState, find_state
from gbrain.store.postgres.search_index import (
    PageEntry,
    UnindexedPage,
    add_entries,
    begin_filling,
    finish_filling,
    make_entries,
    unindexed_pages,
)
from gbrain.types import Progress, no_progress

_BATCH_PAGES = 500
_BATCH_BYTES = 2_000_000
# Fewer pages are written faster with the indexes in place, and parsed before a process has started.
_MIN_FILLED_PAGES = 1000


def index_pages(store: SharedStore, *, progress: Progress = no_progress) -> None:
    """Write the entries of all pages that have none, without the missing indexes.

    A process that is killed loses one batch. Two machines may do it at once. Needs the rights of a
    writer.
    """
    state = _require_state(store)
    while not state.is_indexed:
        missing = state.sequence - state.indexed_to
        progress(0, missing)
        is_large = missing >= _MIN_FILLED_PAGES
        if is_large and missing > state.sequence / 2:
            with store.transaction() as cursor:
                begin_filling(cursor)
        with TextParser(many=is_large) as parser:
            _write_batches(store, parser, state, progress)
        with store.transaction(LONG_TRANSACTION_SECONDS) as cursor:
            if finish_filling(cursor):
                break
        state = _require_state(store)


def _require_state(store: SharedStore) -> SharedState:
    state = find_state(store)
    assert state is not None
    return state


def _write_batches(
    store: SharedStore, parser: TextParser, state: SharedState, progress: Progress
) -> None:
    """Write the entries of pages up to `state.sequence`; one batch is prepared during another."""
    first = after = read = state.indexed_to
    prepared: Future[list[tuple[int, PageEntry]]] | None = None
    prepared_to = after
    with ThreadPoolExecutor(1) as pool:
        while after < state.sequence:
            following, following_to = None, read
            if read < state.sequence:
                with store.transaction() as cursor:
                    pages = unindexed_pages(
                        cursor, read, max_pages=_BATCH_PAGES, batch_bytes=_BATCH_BYTES
                    )
                following_to = read = pages[-1].sequence if pages else state.sequence
                following = pool.submit(_prepare, pages, parser)
            if prepared:
                entries = prepared.result()
                with store.transaction() as cursor:
                    if not add_entries(cursor, entries, after, prepared_to):
                        return
                after = prepared_to
                progress(min(after, state.sequence) - first, state.sequence - first)
            prepared, prepared_to = following, following_to


def _prepare(pages: Sequence[UnindexedPage], parser: TextParser) -> list[tuple[int, PageEntry]]:
    """Return the entries of pages with their sequence numbers."""
    texts = [(page.path, page.text.encode()) for page in pages if page.text is not None]
    if texts:
        parser.submit(texts)
    parsed = iter(parser.results(len(texts)))
    found = []
    for page in pages:
        result = next(parsed)[1] if page.text is not None else None
        if isinstance(result, GbrainError) or (result and result.slug != page.slug):
            result = None
        found.append((page.slug, result))
    return list(zip([page.sequence for page in pages], make_entries(found), strict=True))
