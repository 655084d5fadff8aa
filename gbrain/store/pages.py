"""Read stored pages: find by slug, list, read text, front matter and tags."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from gbrain.errors import BadPage, Conflict, NotFound
from gbrain.messages import did_you_mean, similar_names
from gbrain.store.scope import page_condition
from gbrain.store.whole_brain import PartialConnection, asks_whole_brain
from gbrain.text.slug import fold_name, is_page_file, slug_from_path
from gbrain.types import Scope


class StoredPage(NamedTuple):
    """A stored page without its text; times are ISO 8601 in UTC, `size` is in bytes."""

    id: int
    slug: str
    path: str
    title: str
    type: str | None
    wing: str
    wing_reason: str
    room: str
    room_reason: str
    date: str | None
    version: int
    sha256: bytes
    size: int
    folder_id: int | None
    source_sha256: bytes | None
    created_at: str
    updated_at: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]


_COLUMNS = (
    "pages.id, slug, path, title, type, wing, wing_reason, room, room_reason, date, version, "
    "sha256, bytes, vault_id, source_sha256, created_at, updated_at, tags, aliases"
)


def _page_from_row(row: tuple[Any, ...]) -> StoredPage:
    *plain, tags, aliases = row
    values = [*plain, tuple(tags.splitlines()), tuple(aliases.splitlines())]
    return StoredPage(*values)


def find_page(connection: sqlite3.Connection, slug: str) -> StoredPage | None:
    """Return the page with this slug; None if there is none."""
    row = connection.execute(f"SELECT {_COLUMNS} FROM pages WHERE slug = ?", (slug,)).fetchone()
    return _page_from_row(row) if row else None


def require_page(connection: sqlite3.Connection, slug: str) -> StoredPage:
    """Return the page with this slug; raise NotFound, with similar slugs, if there is none."""
    page = find_page(connection, slug)
    if page is None:
        deletion = connection.execute(
            "SELECT ended_at FROM versions JOIN changes USING (page_id, version) "
            "WHERE slug = ? AND ending = 'deleted' AND deleted "
            "AND NOT EXISTS (SELECT 1 FROM pages WHERE pages.id = page_id) "
            "ORDER BY sequence DESC LIMIT 1",
            (slug,),
        ).fetchone()
        if deletion:
            raise NotFound(
                f"{slug} was deleted on {deletion[0][:10]}",
                hint=f"gbrain undo {slug} brings it back.",
            )
        near = nearest_slugs(connection, slug)
        # Pages of a shared brain that were not fetched cannot be listed.
        partial = isinstance(connection, PartialConnection)
        raise NotFound(
            f"There is no page {slug}",
            hint=did_you_mean(
                near, f"gbrain {'search finds' if partial else 'list shows'} the pages."
            ),
        )
    return page


# A longer list of candidates is cut: nobody reads it.
_MAX_LISTED_CANDIDATES = 10


def resolve_slug(connection: sqlite3.Connection, name: str, *, past: bool = False) -> str:
    """Return the slug of the page that `name` means: its slug, title, alias or file name.

    Case, accents and punctuation do not matter. An exact slug comes first, with `past` also one
    that only a deleted or renamed page had. A name that ends with .md is a path and nothing else.
    If no page has the name, it is returned as a slug. Raises NotFound with the candidates if
    several pages have it.
    """
    try:
        slug = slug_from_path(name)
    except BadPage:
        found = _named_pages(connection, name)
        if not found:
            raise
    else:
        held = "SELECT 1 FROM pages WHERE slug = ?1" + (
            " UNION ALL SELECT 1 FROM versions WHERE slug = ?1 LIMIT 1" if past else ""
        )
        if is_page_file(name) or connection.execute(held, (slug,)).fetchone():
            return slug
        found = _named_pages(connection, name)
    if len(found) > 1:
        listed = found[:_MAX_LISTED_CANDIDATES]
        more = f" and {len(found) - len(listed)} more" if len(found) > len(listed) else ""
        raise NotFound(
            f"{name} is the name of {len(found)} pages",
            hint=f"Give the slug of one: {', '.join(listed)}{more}.",
            code="ambiguous_name",
        )
    return found[0] if found else slug


def is_token_page(connection: sqlite3.Connection, slug: str) -> bool:
    """Return whether a limited token has written the page."""
    row = connection.execute(
        "SELECT 1 FROM token_pages JOIN pages ON pages.id = page_id WHERE slug = ?", (slug,)
    ).fetchone()
    return row is not None


def resolve_slug_to_write(connection: sqlite3.Connection, name: str) -> str:
    """Return the slug of the page called `name` that is to be written, which may be new.

    Titles, aliases and file names count as in `resolve_slug`, but not those of a page that a
    limited token wrote: it could catch what its owner writes elsewhere. Raises Conflict for these,
    unless the name is a slug itself.
    """
    slug = resolve_slug(connection, name)
    if slug == name or not is_token_page(connection, slug):
        return slug
    with suppress(BadPage):
        exact = slug_from_path(name)
        if exact in (slug, name) or is_page_file(name):
            return exact
    raise Conflict(
        f"{name} is a name of {slug}, which a limited token has written",
        hint=f"Give the slug: {slug} for that page, or the one of a new page.",
        code="token_page",
    )


def require_named_page(connection: sqlite3.Connection, name: str) -> StoredPage:
    """Return the page that `name` means, as `resolve_slug` reads it; raise NotFound without one."""
    return require_page(connection, resolve_slug(connection, name))


def _named_pages(connection: sqlite3.Connection, name: str) -> list[str]:
    """Return the slugs of the pages with this name; a slug comes before the other names.

    A slash separates: projects/alpha is not the name of notes/projects-alpha.
    """
    wanted = _fold_parts(name)
    by_slug, by_name = [], []
    for slug in {named.slug for named in find_by_name(connection, fold_name(name))}:
        page = find_page(connection, slug)
        assert page is not None
        if _fold_parts(slug) == wanted:
            by_slug.append(slug)
        elif wanted in map(_fold_parts, (slug.rpartition("/")[2], page.title, *page.aliases)):
            by_name.append(slug)
    return sorted(by_slug or by_name)


def _fold_parts(name: str) -> list[str]:
    return [fold_name(part) for part in name.split("/")]


def nearest_slugs(connection: sqlite3.Connection, slug: str) -> list[str]:
    """Return up to three slugs of pages whose name contains or looks like that of `slug`.

    Those with its words come first, the shortest first: "mira" may mean people/mira-lindqvist.
    """
    name = slug.rpartition("/")[2]
    rows = connection.execute(
        "SELECT slug FROM pages WHERE instr(slug, ?) OR instr(slug, ?) LIMIT 2000",
        (name[:4], name[-4:]),
    )
    key = fold_name(name)
    slugs = {near.key: near.slug for near in find_similar_names(connection, key, 2)}
    slugs |= {fold_name(row[0].rpartition("/")[2]): row[0] for row in rows}
    longer = sorted(
        (one for one in slugs if f" {key} " in f" {one} "), key=lambda one: (len(one), one)
    )
    matches = [*longer, *similar_names(key, slugs, limit=6)]
    return list(dict.fromkeys(slugs[match] for match in matches))[:3]


def page_text(connection: sqlite3.Connection, page_id: int) -> str:
    """Return the page's complete text, front matter included."""
    row = connection.execute(
        "SELECT front_matter, compiled_truth, timeline FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return "".join(row)


class NamedText(NamedTuple):
    """A page's names and its complete text, front matter included."""

    slug: str
    title: str
    text: str


def named_texts(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, NamedText]:
    """Return the names and texts of the pages, by id."""
    rows = connection.execute(
        "SELECT id, slug, title, front_matter || compiled_truth || timeline FROM pages "
        "WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return {page_id: NamedText(*values) for page_id, *values in rows}


def page_body(connection: sqlite3.Connection, page_id: int) -> str:
    """Return the page's text without its front matter."""
    row = connection.execute(
        "SELECT compiled_truth, timeline FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return "".join(row)


def sample_bodies(connection: sqlite3.Connection, count: int, characters: int) -> list[str]:
    """Return the beginnings of up to `count` pages' texts, spread over all pages."""
    last = connection.execute("SELECT coalesce(max(id), 0) FROM pages").fetchone()[0]
    rows = connection.execute(
        "SELECT substr(compiled_truth || timeline, 1, ?) FROM pages WHERE id % ? = 0 LIMIT ?",
        (characters, max(1, last // count), count),
    )
    return [row[0] for row in rows]


def list_pages(
    connection: sqlite3.Connection, scope: Scope, limit: int | None
) -> tuple[list[StoredPage], int]:
    """Return the first `limit` pages in scope, by slug, and how many there are."""
    within = page_condition(scope)
    total = connection.execute(
        f"SELECT count(*) FROM pages WHERE {within.sql}", within.values
    ).fetchone()[0]
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM pages WHERE {within.sql} ORDER BY slug LIMIT ?",
        (*within.values, -1 if limit is None else limit),
    )
    return [_page_from_row(row) for row in rows], total


def list_written_between(
    connection: sqlite3.Connection, since: str, until: str, limit: int
) -> tuple[list[StoredPage], int]:
    """Return the `limit` pages written last from `since` to before `until`, and how many.

    What the first import of a folder brought was written before, and is left out.
    """
    span = (
        "FROM pages WHERE updated_at >= ? AND updated_at < ? AND NOT EXISTS "
        "(SELECT 1 FROM vaults WHERE vaults.id = vault_id AND added_at = updated_at)"
    )
    total = connection.execute(f"SELECT count(*) {span}", (since, until)).fetchone()[0]
    rows = connection.execute(
        f"SELECT {_COLUMNS} {span} ORDER BY updated_at DESC, slug LIMIT ?", (since, until, limit)
    )
    return [_page_from_row(row) for row in rows], total


def page_texts(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every page, by path."""
    for path, front, truth, timeline in connection.execute(
        "SELECT path, front_matter, compiled_truth, timeline FROM pages ORDER BY path"
    ):
        yield path, front + truth + timeline


def front_matter_values(connection: sqlite3.Connection, page_id: int) -> dict[str, object]:
    """Return the page's front matter as a dictionary."""
    row = connection.execute("SELECT meta FROM pages WHERE id = ?", (page_id,)).fetchone()
    meta: dict[str, object] = json.loads(row[0])
    return meta


def tag_counts(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Return tags with their number of pages, most used first.

    Spellings that differ only in case count as the most used one.
    """
    rows = connection.execute(
        "SELECT tag, count(*) FROM tags GROUP BY tag COLLATE BINARY ORDER BY count(*) DESC, tag"
    )
    spelling: dict[str, str] = {}
    counts: dict[str, int] = {}
    for tag, count in rows:
        kept = spelling.setdefault(tag.lower(), tag)
        counts[kept] = counts.get(kept, 0) + count
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def count_pages(connection: sqlite3.Connection) -> int:
    """Return the number of pages."""
    count: int = connection.execute("SELECT count(*) FROM pages").fetchone()[0]
    return count


def all_slugs(connection: sqlite3.Connection) -> set[str]:
    """Return the slug of every page."""
    return {row[0] for row in connection.execute("SELECT slug FROM pages")}


def page_paths(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Return (slug, path) of every page, by slug."""
    return connection.execute("SELECT slug, path FROM pages ORDER BY slug").fetchall()


# The keys of an exported record, in their order.
EXPORT_KEYS = ("path", "slug", "title", "type", "wing", "room", "date", "version", "created_at",
               "updated_at", "tags", "aliases", "text")  # fmt: skip


def export_records(connection: sqlite3.Connection) -> Iterator[dict[str, object]]:
    """Yield every page with its metadata and text as one record, by path."""
    rows = connection.execute(
        f"SELECT {', '.join(EXPORT_KEYS[:-1])}, front_matter || compiled_truth || timeline "
        "FROM pages ORDER BY path"
    )
    for *metadata, tags, aliases, text in rows:
        values = (*metadata, tags.splitlines(), aliases.splitlines(), text)
        yield dict(zip(EXPORT_KEYS, values, strict=True))


def exported_names(
    connection: sqlite3.Connection,
) -> dict[tuple[str, int], tuple[str, str, list[str], list[str]]]:
    """Return slug, title, tags and aliases of every page, as exported, by path and version."""
    rows = connection.execute("SELECT path, version, slug, title, tags, aliases FROM pages")
    return {
        (path, version): (slug, title, tags.splitlines(), aliases.splitlines())
        for path, version, slug, title, tags, aliases in rows
    }


# Slugs and titles identify a page better than file names and aliases.
KIND_ORDER = "CASE names.kind WHEN 'slug' THEN 0 WHEN 'title' THEN 1 WHEN 'name' THEN 2 ELSE 3 END"

# If more names than this share the letters, none of them is likely to be the one meant.
_MAX_SIMILAR_NAMES = 200


class NamedPage(NamedTuple):
    """A page found by name; `kind` says which kind of name matched."""

    page_id: int
    slug: str
    kind: str
    key: str


def find_by_name(connection: sqlite3.Connection, key: str) -> list[NamedPage]:
    """Return the pages with the folded name `key`, each once, the most specific kind first."""
    found: dict[int, NamedPage] = {}
    for named in sorted(find_by_names(connection, (key,)), key=_kind_and_slug):
        found.setdefault(named.page_id, named)
    return list(found.values())


def _kind_and_slug(named: NamedPage) -> tuple[int, str]:
    order = ("slug", "title", "name")
    return order.index(named.kind) if named.kind in order else len(order), named.slug


@asks_whole_brain
def find_by_names(connection: sqlite3.Connection, keys: Iterable[str]) -> list[NamedPage]:
    """Return the pages with one of the folded names `keys`, one entry for each match."""
    rows = connection.execute(
        "SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
        "WHERE key IN (SELECT value FROM json_each(?)) ORDER BY slug, key",
        (json.dumps(list(keys)),),
    )
    return [NamedPage(*row) for row in rows]


@asks_whole_brain
def find_similar_names(connection: sqlite3.Connection, key: str, letters: int) -> list[NamedPage]:
    """Return names of similar length that start or end with the same `letters` letters as `key`."""
    found: list[NamedPage] = []
    for column, start in (("key", key[:letters]), ("reversed", key[::-1][:letters])):
        rows = connection.execute(
            f"SELECT page_id, slug, kind, key FROM names JOIN pages ON pages.id = page_id "
            f"WHERE {column} >= ? AND {column} < ? AND length(key) BETWEEN ? AND ? LIMIT ?",
            (start, start + "\U0010ffff", len(key) - 2, len(key) + 2, _MAX_SIMILAR_NAMES + 1),
        ).fetchall()
        if len(rows) <= _MAX_SIMILAR_NAMES:
            found += [NamedPage(*row) for row in rows]
    return found


@asks_whole_brain
def fetch_pages(connection: sqlite3.Connection, page_ids: Iterable[int]) -> set[int]:
    """Return those of the pages that could be fetched; all of them in a brain file.

    Who reads more of pages than their slugs fetches them first.
    """
    return set(page_ids)


@asks_whole_brain
def slugs_by_id(connection: sqlite3.Connection, page_ids: Iterable[int]) -> dict[int, str]:
    """Return the slugs of pages by page id."""
    rows = connection.execute(
        "SELECT id, slug FROM pages WHERE id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(page_ids)),),
    )
    return dict(rows.fetchall())


class PageLabels(NamedTuple):
    """What a hit shows of its page besides text."""

    title: str
    wing: str
    room: str
    type: str | None
    date: str | None


def page_labels(connection: sqlite3.Connection, page_id: int) -> PageLabels | None:
    """Return a page's labels; None if it does not exist."""
    row = connection.execute(
        "SELECT title, wing, room, type, date FROM pages WHERE id = ?", (page_id,)
    ).fetchone()
    return PageLabels(*row) if row else None
