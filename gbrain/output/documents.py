"""Pages, versions, links and reports as JSON documents."""

from __future__ import annotations

from collections.abc import Mapping

from gbrain.importing.importer import ImportReport
from gbrain.output.json import Document
from gbrain.store.duplicates import Near
from gbrain.store.history import Version
from gbrain.store.pages import Stored


def listed_document(page: Stored) -> Document:
    """A page in a list."""
    return {
        "slug": page.slug,
        "title": page.title,
        "type": page.type,
        "wing": page.wing,
        "room": page.room,
        "date": page.date,
        "tags": list(page.tags),
        "version": page.version,
        "bytes": page.size,
        "updated_at": page.updated_at,
    }


def page_document(page: Stored, front_matter: Mapping[str, object], text: str) -> Document:
    """A page with everything known of it."""
    return {
        **listed_document(page),
        "path": page.path,
        "wing_reason": page.wing_reason,
        "room_reason": page.room_reason,
        "aliases": list(page.aliases),
        "sha256": page.sha256.hex(),
        "created_at": page.created_at,
        "front_matter": dict(front_matter),
        "text": text,
    }


def near_document(near: Near | None) -> Document | None:
    """A page that says nearly the same as another."""
    if near is None:
        return None
    return {"slug": near.slug, "title": near.title, "words": round(near.words, 3)}


def version_document(version: Version) -> Document:
    return {
        "version": version.version,
        "slug": version.slug,
        "written_at": version.written_at,
        "bytes": version.size,
        "sha256": version.sha256.hex(),
        "ending": version.ending,
    }


def report_document(report: ImportReport, *, dry_run: bool) -> Document:
    """What `import` and `sync` did."""
    return {
        "dry_run": dry_run,
        "created": report.count("create"),
        "updated": report.count("update"),
        "deleted": report.count("delete"),
        "unchanged": report.unchanged,
        "changes": [
            {"action": change.action, "slug": change.slug, "path": change.path}
            for change in report.changes
        ],
        "problems": [
            {"path": p.path, "code": p.code, "reason": p.reason, "hint": p.hint}
            for p in report.problems
        ],
    }
