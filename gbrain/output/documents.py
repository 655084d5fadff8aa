"""Render pages, versions and import reports as JSON; gbrain/schemas describes the keys."""

from __future__ import annotations

from collections.abc import Mapping

from gbrain.importing.importer import ImportReport
from gbrain.output.json import Document
from gbrain.store.duplicates import SimilarPage
from gbrain.store.history import Version
from gbrain.store.pages import StoredPage


def page_row_document(page: StoredPage) -> Document:
    """Return a page as an entry of a list, without its text."""
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


def page_document(page: StoredPage, front_matter: Mapping[str, object], text: str) -> Document:
    """Return a page with its metadata, front matter and `text`."""
    return {
        **page_row_document(page),
        "path": page.path,
        "wing_reason": page.wing_reason,
        "room_reason": page.room_reason,
        "aliases": list(page.aliases),
        "sha256": page.sha256.hex(),
        "created_at": page.created_at,
        "front_matter": dict(front_matter),
        "text": text,
    }


def duplicate_document(page: SimilarPage | None) -> Document | None:
    """Return a near-duplicate of the page just written; None if there is none."""
    if page is None:
        return None
    return {"slug": page.slug, "title": page.title, "words": round(page.words, 3)}


def version_document(version: Version) -> Document:
    """Return a version of a page, without its text."""
    return {
        "version": version.version,
        "slug": version.slug,
        "written_at": version.written_at,
        "bytes": version.size,
        "sha256": version.sha256.hex(),
        "ending": version.ending,
    }


def import_report_document(report: ImportReport, *, dry_run: bool) -> Document:
    """Return what `import` or `sync` did, or would do in a dry run."""
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
