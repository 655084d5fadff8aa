"""The report of an import: changed pages, problems, and the numbers in one line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gbrain.importing.scan import ImportProblem
from gbrain.messages import counted

_MAX_PATHS_SHOWN = 3

Action = Literal["create", "update", "delete", "rename"]


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page that an import changes; `path` is below the folder's root.

    `old_slug` is the previous slug of a renamed page.
    """

    action: Action
    slug: str
    path: str
    old_slug: str | None = None


# The file is no longer imported, or its folder is missing or another one than before.
MissingReason = Literal["ignored", "unseen"]


class MissingFile(NamedTuple):
    """A page that stays although its file was not found."""

    slug: str
    path: str
    reason: MissingReason


@dataclass(slots=True)
class ImportReport:
    """What an import did, or would do; `skipped` counts files that are not Markdown.

    `merged` are pages that changed in the brain and in their file, `conflicts` those of them that
    could not be merged, `written` the pages whose file got the brain's text, by slug. A merged page
    is also among the changes, a conflict among the problems. `old_links` counts links to the old
    names of renamed pages, `links_updated` those that got the new name. `without_file` says why new
    pages are only in the brain, and what to do.
    """

    changes: list[PageChange] = field(default_factory=list)
    unchanged: int = 0
    problems: list[ImportProblem] = field(default_factory=list)
    skipped: int = 0
    merged: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    missing: list[MissingFile] = field(default_factory=list)
    old_links: int = 0
    links_updated: int = 0
    without_file: str | None = None

    def count(self, action: Action) -> int:
        """Return the number of changes of one kind."""
        return sum(1 for change in self.changes if change.action == action)

    def summary(self) -> str:
        """Return the numbers in one line, and what to do about links to renamed pages."""
        counts = [
            f"{self.count('create')} new",
            f"{self.count('update')} changed",
            f"{self.unchanged} unchanged",
        ]
        if self.count("rename"):
            counts.append(f"{self.count('rename')} renamed")
        if self.count("delete"):
            counts.append(f"{self.count('delete')} removed")
        if self.merged:
            counts.append(f"{len(self.merged)} merged")
        if self.written:
            counts.append(f"{counted(len(self.written), 'file')} written")
        codes = [problem.code for problem in self.problems]
        conflicts, unwritten = codes.count("both_changed"), codes.count("cannot_write")
        left = len(codes) - conflicts - unwritten - codes.count("many_missing")
        if unwritten:
            counts.append(f"{counted(unwritten, 'file')} not written")
        if left:
            counts.append(f"{left} not imported")
        if self.links_updated:
            counts.append(f"{counted(self.links_updated, 'link')} updated")
        if conflicts:
            # Last, because of the command.
            remedy = f": gbrain resolve {self.conflicts[0]}" if len(self.conflicts) == 1 else ""
            counts.append(counted(conflicts, "conflict") + remedy)
        links = ""
        if self.old_links:
            point = "points" if self.old_links == 1 else "point"
            links = f" {counted(self.old_links, 'link')} {point} to the old name: "
            links += "gbrain sync --update-links"
        return ", ".join(counts) + "." + links

    def missing_lines(self) -> list[str]:
        """Return what to say about pages that stay without their file."""
        lines = []
        for reason, state, remedy in (
            ("unseen", "cannot be seen; check that the disk is mounted", "deletes {}"),
            ("ignored", "ignored now", "removes {} from this brain only"),
        ):
            paths = [each.path for each in self.missing if each.reason == reason]
            if paths:
                shown = ", ".join(
                    [*paths[:_MAX_PATHS_SHOWN], *["…"] * (len(paths) > _MAX_PATHS_SHOWN)]
                )
                them = "it" if len(paths) == 1 else "them"
                lines.append(
                    f"{counted(len(paths), 'page')} kept, {state}: {shown}. "
                    f"gbrain sync --delete {remedy.format(them)}."
                )
        return lines

    def add(self, other: ImportReport) -> None:
        """Add what the import of another folder did."""
        self.changes += other.changes
        self.unchanged += other.unchanged
        self.problems += other.problems
        self.skipped += other.skipped
        self.merged += other.merged
        self.written += other.written
        self.conflicts += other.conflicts
        self.missing += other.missing
        self.links_updated += other.links_updated
        self.old_links = max(self.old_links, other.old_links)
        self.without_file = self.without_file or other.without_file
