"""Files into the brain: walk, compare by content hash, parse what changed, store, enqueue."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gbrain.errors import BadPage, GbrainError, NotFound
from gbrain.reading import File, read_all
from gbrain.store.chunks import enqueue_after, last_chunk
from gbrain.store.connection import Database
from gbrain.store.vaults import Known, Vault, add_vault, known_pages
from gbrain.store.writing import delete_page, write_page
from gbrain.text.slug import slug_of
from gbrain.types import Page

IGNORE_FILE = ".gbrainignore"
_EXTENSIONS = (".md", ".markdown")
_BATCH_PAGES = 1000
_BATCH_BYTES = 8_000_000

Action = Literal["create", "update", "delete"]
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Problem:
    """A file that could not be taken in, and why."""

    path: str
    reason: str
    hint: str | None = None
    code: str = "bad_page"


@dataclass(frozen=True, slots=True)
class Change:
    action: Action
    slug: str
    path: str


@dataclass(slots=True)
class Report:
    """What taking in a folder did, or would do."""

    changes: list[Change] = field(default_factory=list)
    unchanged: int = 0
    problems: list[Problem] = field(default_factory=list)

    def count(self, action: Action) -> int:
        return sum(1 for change in self.changes if change.action == action)


def take_in(
    database: Database,
    root: Path,
    now: str,
    *,
    drop: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Brings the pages of the folder `root` into the brain.

    Files that are as they were last time are not parsed again. `drop` removes pages whose file is
    gone. A page that changed on both sides is reported and left alone unless `overwrite`.
    """
    report = Report()
    paths = _walk(root, report.problems)
    with database.reading() as connection:
        pages = known_pages(connection)
    vault = _vault(database, root, now, dry_run)
    absent = _absent(pages, vault, paths, report.problems) if drop else []
    _refuse_empty(root, paths, absent)
    batch: list[Page] = []
    size = 0
    files = _files(vault, paths, pages, report, progress)
    for path, page in read_all(str(root), files):
        try:
            if page is None:
                report.unchanged += 1
                continue
            if isinstance(page, GbrainError):
                raise page
            known = pages.get(page.slug)
            if known:
                _check_edits(known, vault, page.sha256, overwrite)
        except GbrainError as error:
            report.problems.append(Problem(path, error.message, error.hint, error.code))
            continue
        action: Action = "update" if page.slug in pages else "create"
        report.changes.append(Change(action, page.slug, path))
        if dry_run:
            continue
        batch.append(page)
        size += len(page.compiled_truth) + len(page.timeline)
        if len(batch) >= _BATCH_PAGES or size >= _BATCH_BYTES:
            _write(database, batch, vault, now)
            batch, size = [], 0
    if batch:
        _write(database, batch, vault, now)
    _drop(database, absent, now, report, dry_run)
    return report


def _vault(database: Database, root: Path, now: str, dry_run: bool) -> Vault:
    name = os.path.realpath(root)
    with database.reading() as connection:
        row = connection.execute("SELECT id, root FROM vaults WHERE root = ?", (name,)).fetchone()
    if row:
        return Vault(*row)
    if dry_run:
        return Vault(-1, name)
    with database.writing() as connection:
        return add_vault(connection, name, now)


# --- the folder ------------------------------------------------------------------------------


def _walk(root: Path, problems: list[Problem]) -> list[str]:
    """Paths of the folder's pages relative to it, sorted; what cannot be read is a problem."""
    if not root.is_dir():
        raise NotFound(
            f"There is no folder {root}", hint="Name the folder that holds your notes.",
            code="no_folder",
        )  # fmt: skip
    ignored = _ignore_rules(root)
    real_root = os.path.realpath(root)
    paths: list[str] = []
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            reason = f"the folder cannot be read: {error.strerror}"
            problems.append(Problem(folder or ".", reason, code="cannot_read"))
            continue
        for entry in entries:
            path = folder + entry.name
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not ignored(path + "/"):
                    pending.append(path + "/")
            elif entry.name.lower().endswith(_EXTENSIONS) and not ignored(path):
                if entry.is_symlink() and not _stays(real_root, entry.path):
                    problems.append(
                        Problem(path, "a link that leaves the folder or leads nowhere",
                                f"Copy the page in, or list it in {IGNORE_FILE}.", "outside")
                    )  # fmt: skip
                else:
                    paths.append(path)
    return sorted(paths)


def _stays(real_root: str, link: str) -> bool:
    target = os.path.realpath(link)
    return os.path.isfile(target) and os.path.commonpath([real_root, target]) == real_root


def _ignore_rules(root: Path) -> Callable[[str], bool]:
    file = root / IGNORE_FILE
    try:
        lines = file.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return lambda path: False
    except OSError as error:
        raise _bad_rules(f"Cannot read {file}: {error.strerror}") from None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines).match_file
    except ValueError as error:
        raise _bad_rules(f"{file}: {error}") from None


def _bad_rules(message: str) -> GbrainError:
    # Taking in what somebody meant to keep out is worse than taking in nothing.
    return GbrainError(message, hint="Its lines read as in .gitignore.", code="bad_ignore_file")


def _files(
    vault: Vault,
    paths: list[str],
    pages: dict[str, Known],
    report: Report,
    progress: Progress,
) -> Iterator[File]:
    """The files that may hold a page of this vault, with the hash each had when last taken in."""
    taken: dict[str, str] = {}
    present = set(paths)
    for number, path in enumerate(paths, 1):
        progress(number, len(paths))
        try:
            path.encode()
            slug = slug_of(path)
            known = pages.get(slug)
            if slug in taken:
                raise _collision(slug, taken[slug], "Rename one of the two files.")
            taken[slug] = path
            if known and not _may_hold(known, vault, path, present):
                hint = "Rename the file, or delete the page that is there."
                raise _collision(slug, known.path, hint)
        except UnicodeEncodeError:
            name = path.encode("utf-8", "replace").decode()
            report.problems.append(
                Problem(name, "the file's name is not UTF-8", "Rename it.", "bad_name")
            )
        except GbrainError as error:
            report.problems.append(Problem(path, error.message, error.hint, error.code))
        else:
            same_place = known and known.vault_id == vault.id and known.path == path
            yield path, known.source_sha256 if known and same_place else None


def _collision(slug: str, other: str, hint: str) -> BadPage:
    return BadPage(f"shares the slug {slug} with {other}", hint=hint, code="slug_collision")


def _may_hold(known: Known, vault: Vault, path: str, present: set[str]) -> bool:
    """Whether the page in the brain can be this file's: its own, one put by hand, or one moved."""
    ours = known.vault_id == vault.id
    moved = ours and known.path not in present
    return (ours or known.vault_id is None) and (known.path == path or moved)


def _check_edits(known: Known, vault: Vault, digest: bytes, overwrite: bool) -> None:
    """Raises when the page was changed in the brain since its file was taken in."""
    edited = known.sha256 != known.source_sha256 or known.vault_id != vault.id
    if edited and known.sha256 != digest and not overwrite:
        raise BadPage(
            f"the page {known.slug} was changed in the brain as well",
            hint="Export the brain's version, or take the file's with --overwrite.",
            code="both_changed",
        )


# --- writing ---------------------------------------------------------------------------------


def _write(database: Database, batch: list[Page], vault: Vault, now: str) -> None:
    with database.writing() as connection:
        last = last_chunk(connection)
        for page in batch:
            write_page(connection, page, now, vault_id=vault.id, from_file=True, enqueue=False)
        enqueue_after(connection, last, now)


def _absent(
    pages: dict[str, Known], vault: Vault, paths: list[str], problems: list[Problem]
) -> list[Known]:
    """Pages of this vault whose file is gone; not those under a folder that cannot be read."""
    present = {slug_of(path) for path in paths if _encodable(path)}
    named = {p.path for p in problems}
    unread = tuple(p.path for p in problems if p.code == "cannot_read")
    if "." in unread:
        return []
    return [
        known
        for slug, known in pages.items()
        if known.vault_id == vault.id
        and slug not in present
        and known.path not in named
        and not (unread and known.path.startswith(unread))
    ]


def _encodable(path: str) -> bool:
    try:
        path.encode()
        slug_of(path)
    except (UnicodeEncodeError, GbrainError):
        return False
    return True


def _refuse_empty(root: Path, paths: list[str], absent: list[Known]) -> None:
    if absent and not paths:
        raise BadPage(
            f"{root} holds no pages any more, but the brain has {len(absent)} from there",
            hint="Is the disk mounted? To drop them all, use gbrain delete.",
            code="vault_empty",
        )


def _drop(database: Database, absent: list[Known], now: str, report: Report, dry_run: bool) -> None:
    dropped = []
    for known in absent:
        if known.sha256 != known.source_sha256:
            report.problems.append(
                Problem(
                    known.path,
                    f"the file is gone, but the page {known.slug} was changed in the brain",
                    "Export it, or remove it with gbrain delete.",
                    "both_changed",
                )
            )
        else:
            dropped.append(known)
            report.changes.append(Change("delete", known.slug, known.path))
    if dropped and not dry_run:
        with database.writing() as connection:
            for known in dropped:
                delete_page(connection, known.slug, now)
