"""Pages of a shared store: read what changed, write with a check of the version, read history."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.store.postgres.schema import WRITTEN_AT, lock_state
from gbrain.store.postgres.search_index import make_entries, parse_text, write_entries
from gbrain.store.remotes import SharedChange

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row

_EMPTY = b""


class SharedPage(NamedTuple):
    """A page of the shared store, as untrusted as a page of a foreign brain.

    `content` is None if it is larger than was asked for.
    """

    slug: str
    path: str
    version: int
    sequence: int
    deleted: bool
    author: str
    written_at: int
    sha256: bytes
    content: str | None

    @property
    def change(self) -> SharedChange:
        """Return what tells this state of the page from all others."""
        return SharedChange(self.slug, self.version, self.written_at)


class PushedPage(NamedTuple):
    """A page to write to the shared store, whose version there must be `base_version` (0: none).

    The text of a page to delete is None.
    """

    slug: str
    path: str
    version: int
    base_version: int
    sha256: bytes
    text: str | None


class PushResult(NamedTuple):
    """What a push did: the version of each written page there, and what was not written.

    `same` had the same text there already. `behind` changed there since the base. The sequence
    numbers of what was written follow `after`, and the last of them is `change`.
    """

    written: dict[str, int]
    same: dict[str, int]
    behind: list[str]
    after: int
    change: SharedChange | None = None


_COLUMNS: LiteralString = (
    f"slug, path, version, sequence, deleted, author, {WRITTEN_AT}, sha256, "
    "CASE WHEN octet_length(content) <= %(max_bytes)s THEN content END"
)


def changed_pages(
    cursor: Cursor[Row], after: int, *, max_pages: int, max_bytes: int, batch_bytes: int
) -> list[SharedPage]:
    """Return the pages that changed after a sequence number, oldest change first.

    At most `max_pages`, and as many as have `batch_bytes` together, but at least one. A page with
    more than `max_bytes` comes without its text.
    """
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM (SELECT *, sum(octet_length(content)) OVER (ORDER BY sequence) "
        "- octet_length(content) AS bytes_before FROM (SELECT * FROM gbrain.pages "
        "WHERE sequence > %(after)s ORDER BY sequence LIMIT %(max_pages)s) AS next) AS next "
        "WHERE bytes_before < %(batch_bytes)s ORDER BY sequence",
        {
            "after": after,
            "max_pages": max_pages,
            "max_bytes": max_bytes,
            "batch_bytes": batch_bytes,
        },
        binary=True,
    )
    return [SharedPage(*row) for row in rows]


def pages_by_slug(cursor: Cursor[Row], slugs: Iterable[str], *, max_bytes: int) -> list[SharedPage]:
    """Return the pages with these slugs."""
    rows = cursor.execute(
        f"SELECT {_COLUMNS} FROM gbrain.pages WHERE slug = ANY(%(slugs)s) ORDER BY sequence",
        {"slugs": list(slugs), "max_bytes": max_bytes},
        binary=True,
    )
    return [SharedPage(*row) for row in rows]


def count_changes(cursor: Cursor[Row], after: int) -> int:
    """Return how many pages changed after a sequence number."""
    row = cursor.execute(
        "SELECT count(*) FROM gbrain.pages WHERE sequence > %s", (after,)
    ).fetchone()
    assert row is not None
    return int(row[0])


def push_pages(
    cursor: Cursor[Row], pages: Sequence[PushedPage], machine: str, *, index: bool = True
) -> PushResult:
    """Write pages whose version in the store is the base they were changed from.

    What a page had before becomes a version. The lock on the state is held until the transaction
    ends, so sequence numbers become visible in their order. With `index` the search tables get the
    pages in the same transaction, if they have all earlier ones.
    """
    # Parsing pages takes longer than writing them: not while others wait for the lock.
    entries = []
    if index:
        entries = make_entries(
            (page.slug, parse_text(page.slug, page.path, page.text)) for page in pages
        )
    state = lock_state(cursor)
    rows = cursor.execute(
        "SELECT slug, version, sha256, deleted FROM gbrain.pages WHERE slug = ANY(%s)",
        ([page.slug for page in pages],),
        binary=True,
    )
    there = {slug: (version, None if gone else digest) for slug, version, digest, gone in rows}
    ready: list[PushedPage] = []
    same: dict[str, int] = {}
    behind: list[str] = []
    for page in pages:
        version, digest = there.get(page.slug, (0, None))
        if digest == (None if page.text is None else page.sha256):
            same[page.slug] = version
        elif version == page.base_version:
            ready.append(page)
        else:
            behind.append(page.slug)
    if not ready:
        return PushResult({}, same, behind, state.sequence)
    written = {
        page.slug: max(there.get(page.slug, (0, None))[0] + 1, page.version) for page in ready
    }
    _save_versions(cursor, [page.slug for page in ready if page.slug in there])
    _write_rows(cursor, ready, written, state.sequence, machine)
    last = state.sequence + len(ready)
    index = index and state.is_indexed
    if index:
        places = {page.slug: state.sequence + n for n, page in enumerate(ready, start=1)}
        own = [(places[entry.slug], entry) for entry in entries if entry.slug in places]
        write_entries(cursor, own, count=True)
    # All rows of a transaction have the time at which it began.
    row = cursor.execute(
        "UPDATE gbrain.state SET sequence = %s, indexed_to = %s "
        f"RETURNING (SELECT {WRITTEN_AT} FROM (SELECT now() AS written_at) AS this)",
        (last, last if index else state.indexed_to),
    ).fetchone()
    assert row is not None
    change = SharedChange(ready[-1].slug, written[ready[-1].slug], row[0])
    return PushResult(written, same, behind, state.sequence, change)


def _save_versions(cursor: Cursor[Row], slugs: list[str]) -> None:
    if slugs:
        cursor.execute(
            "INSERT INTO gbrain.versions (slug, version, path, sequence, deleted, author, "
            "written_at, sha256, content) SELECT slug, version, path, sequence, deleted, author, "
            "written_at, sha256, content FROM gbrain.pages WHERE slug = ANY(%s)",
            (slugs,),
        )


def _write_rows(
    cursor: Cursor[Row],
    pages: Sequence[PushedPage],
    versions: dict[str, int],
    sequence: int,
    machine: str,
) -> None:
    cursor.execute(
        "INSERT INTO gbrain.pages (slug, path, version, sequence, deleted, author, written_at, "
        "sha256, content) SELECT slug, path, version, sequence, deleted, "
        "session_user || '@' || %s, now(), sha256, content "
        "FROM unnest(%b::text[], %b::text[], %b::int[], %b::bigint[], %b::boolean[], %b::bytea[], "
        "%b::text[]) AS new (slug, path, version, sequence, deleted, sha256, content) "
        "ON CONFLICT (slug) DO UPDATE SET path = excluded.path, version = excluded.version, "
        "sequence = excluded.sequence, deleted = excluded.deleted, author = excluded.author, "
        "written_at = excluded.written_at, sha256 = excluded.sha256, content = excluded.content",
        (
            machine,
            [page.slug for page in pages],
            [page.path for page in pages],
            [versions[page.slug] for page in pages],
            [sequence + number for number in range(1, len(pages) + 1)],
            [page.text is None for page in pages],
            [_EMPTY if page.text is None else page.sha256 for page in pages],
            [page.text or "" for page in pages],
        ),
    )


class PastText(NamedTuple):
    """An earlier or present text of a page in the shared store."""

    slug: str
    version: int
    sha256: bytes
    content: str


def find_texts(
    cursor: Cursor[Row], wanted: Iterable[tuple[str, bytes]], *, max_bytes: int
) -> list[PastText]:
    """Return those of the texts, given as (slug, hash), that the store has or had."""
    pairs = list(wanted)
    if not pairs:
        return []
    rows = cursor.execute(
        "SELECT slug, version, sha256, content FROM (SELECT slug, version, sha256, content, "
        "deleted FROM gbrain.versions UNION ALL SELECT slug, version, sha256, content, deleted "
        "FROM gbrain.pages) AS texts WHERE (slug, sha256) IN "
        "(SELECT * FROM unnest(%s::text[], %b::bytea[])) AND NOT deleted "
        "AND octet_length(content) <= %s ORDER BY version",
        ([slug for slug, _ in pairs], [digest for _, digest in pairs], max_bytes),
        binary=True,
    )
    return [PastText(*row) for row in rows]
