"""Recognise files that were renamed or moved inside their folder, so that pages keep their history.

A renamed file is the file itself under another name, as its inode, size and time show, or it has
the text, or nearly the text, of a page whose own file is gone, and of no other page.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TypeVar

from gbrain.errors import GbrainError
from gbrain.importing.folder_identity import FolderIdentities, file_stamp
from gbrain.importing.page_files import read_file
from gbrain.store.connection import Database
from gbrain.store.duplicates import find_duplicate_of
from gbrain.store.folders import Folder, PageSource, take_file_removal
from gbrain.store.history import mark_guessed, others_had_text, text_with_hash
from gbrain.store.page_writer import write_page
from gbrain.store.pages import find_page, page_text
from gbrain.store.seen_files import record_seen_files
from gbrain.text.page import parse_page
from gbrain.text.similarity import have_different_dates, shingle_overlap, word_shingles
from gbrain.text.slug import slug_from_path

# The share of wording at which a new file is an edited one. Notes from one template share more than
# half; the history of a page must not go to another note.
_MIN_OVERLAP = 0.9
# Every missing page is compared with every new file.
_MAX_COMPARED = 50

_Key = TypeVar("_Key", bound=Hashable)
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Rename:
    """A page whose file is now at `path`; `edited` says that it only has nearly the page's text."""

    page: PageSource
    slug: str
    path: str
    edited: bool

    def renamed_source(self) -> PageSource:
        """Return which file the page comes from after the rename."""
        return self.page._replace(slug=self.slug, path=self.path)


def find_renames(
    connection: sqlite3.Connection,
    folder: Folder,
    paths: Iterable[str],
    pages: Collection[str],
    removed: list[PageSource],
    unseen: list[PageSource],
) -> list[Rename]:
    """Return the renames that explain missing pages by new files, by the new path.

    `pages` are the slugs in the brain. Files that several missing pages could be are left out. A
    page that is `unseen`, because its folder is, is renamed only if its file itself is elsewhere.
    """
    if not (removed or unseen):
        return []
    new = _new_files(paths, pages)
    found = _match_same_files(folder, new, [*removed, *unseen])
    new, rest = _without(found, new, removed)
    texts = {path: data for path in new if (data := _read(folder, path))}
    found += _match_texts(connection, new, texts, rest)
    new, rest = _without(found, new, removed)
    if 0 < len(rest) <= _MAX_COMPARED and 0 < len(new) <= _MAX_COMPARED:
        found += _match_similar(connection, new, texts, rest)
    return sorted(found, key=lambda rename: rename.path)


def has_new_files(paths: Iterable[str], pages: Collection[str]) -> bool:
    """Tell whether there are files that no page in the brain has."""
    return bool(_new_files(paths, pages))


def _without(
    found: list[Rename], new: dict[str, str], missing: list[PageSource]
) -> tuple[dict[str, str], list[PageSource]]:
    """Return the new files and missing pages that are not explained yet."""
    files, taken = {rename.path for rename in found}, {rename.page.slug for rename in found}
    return (
        {path: slug for path, slug in new.items() if path not in files},
        [page for page in missing if page.slug not in taken],
    )


def _new_files(paths: Iterable[str], pages: Collection[str]) -> dict[str, str]:
    """Return the slugs of files that no page in the brain has, by path."""
    new: dict[str, str] = {}
    for path in paths:
        with suppress(GbrainError, UnicodeEncodeError):
            path.encode()
            slug = slug_from_path(path)
            if slug not in pages:
                new.setdefault(slug, path)
    return {path: slug for slug, path in new.items()}


def _read(folder: Folder, path: str) -> bytes | None:
    try:
        return read_file(Path(folder.root, path))
    except OSError:
        return None


def _match_same_files(
    folder: Folder, new: Mapping[str, str], missing: list[PageSource]
) -> list[Rename]:
    """Return the new files that are the files of missing pages, unchanged."""
    pages = _unique_by([page for page in missing if page.stamp], lambda page: page.stamp)
    stamps = [(path, file_stamp(f"{folder.root}/{path}")) for path in new]
    files = _unique_by([file for file in stamps if file[1] in pages], lambda file: file[1])
    return [
        Rename(pages[stamp], new[path], path, edited=False) for stamp, (path, _) in files.items()
    ]


def _match_texts(
    connection: sqlite3.Connection,
    new: Mapping[str, str],
    texts: Mapping[str, bytes],
    missing: list[PageSource],
) -> list[Rename]:
    """Return the new files that have the text of one missing page, and of no other page."""
    pages = _unique_by(missing, lambda page: page.source_sha256)
    hashes = [(path, sha256(texts[path]).digest()) for path in new if path in texts]
    files = _unique_by([file for file in hashes if file[1] in pages], lambda file: file[1])
    return [
        Rename(pages[digest], new[path], path, edited=False)
        for digest, (path, _) in files.items()
        if not have_different_dates(pages[digest].slug, new[path])
        and not others_had_text(connection, pages[digest].page_id, digest)
    ]


def _match_similar(
    connection: sqlite3.Connection,
    new: Mapping[str, str],
    texts: Mapping[str, bytes],
    missing: list[PageSource],
) -> list[Rename]:
    """Return the new files that have nearly the text of one missing page, and of no other page."""
    wording = {
        path: word_shingles(texts[path].decode(errors="replace")) for path in new if path in texts
    }
    near: list[tuple[PageSource, str]] = []
    for page in missing:
        of_page = word_shingles(_file_text(connection, page))
        near += [
            (page, path)
            for path, of_file in wording.items()
            if shingle_overlap(of_page, of_file) >= _MIN_OVERLAP
            and not have_different_dates(page.slug, new[path])
        ]
    one_page = _unique_by(near, lambda pair: pair[1])
    one_file = _unique_by(near, lambda pair: pair[0].slug)
    return [
        Rename(page, new[path], path, edited=True)
        for page, path in near
        if path in one_page and page.slug in one_file and not _follows_template(connection, page)
    ]


def _follows_template(connection: sqlite3.Connection, page: PageSource) -> bool:
    """Tell whether another page has nearly the same text."""
    other = find_duplicate_of(connection, page.slug)
    return other is not None and other.words >= _MIN_OVERLAP


def _file_text(connection: sqlite3.Connection, page: PageSource) -> str:
    """Return the last text of the page's file that the brain knows."""
    known = find_page(connection, page.slug)
    if known is None:
        return ""
    text = page.source_sha256 and text_with_hash(connection, known.id, page.source_sha256)
    return text or page_text(connection, known.id)


def _unique_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, _Item]:
    """Return the items by key, without those that share it."""
    groups: dict[_Key, list[_Item]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return {shared: group[0] for shared, group in groups.items() if len(group) == 1}


def apply_renames(
    database: Database, folder: Folder, renames: list[Rename], now: str
) -> list[Rename]:
    """Give the pages their new slugs and paths; their text, history and vectors stay.

    Returns the renames that were possible: another program may have changed a page meanwhile. The
    text of an edited file is left to the import that follows.
    """
    if not renames:
        return []
    done = []
    with database.write_transaction() as connection:
        for rename in renames:
            known = find_page(connection, rename.page.slug)
            taken = find_page(connection, rename.slug)
            if known is None or taken or known.path != rename.page.path:
                continue
            page = parse_page(rename.path, page_text(connection, known.id).encode())
            write_page(connection, page, now, renames=known.slug, folder_id=folder.id)
            stamp = file_stamp(f"{folder.root}/{rename.path}")
            if stamp is not None:
                own = FolderIdentities(folder.root, {}).now(rename.path.rpartition("/")[0])
                record_seen_files(connection, folder.id, [(rename.path, stamp, own)])
            if rename.edited:
                mark_guessed(connection, known.id, known.version)
            # The old file is gone already.
            take_file_removal(connection, folder.root, known.path)
            done.append(rename)
    return done
