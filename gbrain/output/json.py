"""Render answers, pages, versions, reports and errors as JSON; gbrain/schemas has the keys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from gbrain.errors import GbrainError
from gbrain.messages import CONTROL
from gbrain.text.snippet import MARK_OFF, MARK_ON
from gbrain.types import Answer, Candidate, ContextChunk, Hit

# Not loaded: every command imports this module, and the importer takes longer than all the rest.
if TYPE_CHECKING:
    from gbrain.importing.import_report import ImportReport
    from gbrain.store.duplicates import SimilarPage
    from gbrain.store.folders import FileResult
    from gbrain.store.history import Version
    from gbrain.store.links import Backlink, LinkRow
    from gbrain.store.page_writer import WriteResult
    from gbrain.store.pages import StoredPage
    from gbrain.store.undo import UndoResult

Document = dict[str, Any]

# The key of the score in each lane's entry.
SCORE_KEYS = {
    "fts": "score", "vector": "cosine", "graph": "score", "associative": "cosine",
    "rerank": "score",
}  # fmt: skip

_BOLD = str.maketrans({MARK_ON: "**", MARK_OFF: "**"})


def dumps(document: Any) -> str:
    """Return one line of JSON in UTF-8, with control characters escaped."""
    text = json.dumps(document, ensure_ascii=False)
    if text.isprintable():
        return text
    return re.sub(CONTROL, lambda match: f"\\u{ord(match[0]):04x}", text)


def error_document(error: GbrainError) -> str:
    """Return an error as one line of JSON."""
    return dumps({"error": error_fields(error)})


def error_fields(error: GbrainError) -> Document:
    """Return the code, message and hint of an error."""
    return {"code": error.code, "message": error.message, "hint": error.hint}


def answer_document(answer: Answer, *, trace: bool = False) -> Document:
    """Return the document that `search` and `query` print; `trace` adds what each stage did."""
    document: Document = {
        "query": answer.query,
        "mode": answer.mode,
        "merge": answer.merge,
        "short_circuit": answer.short_circuit,
        "fell_back_to_bm25": answer.fell_back_to_bm25,
        "notice": answer.notice,
        "read_as": answer.read_as,
        "did_you_mean": answer.did_you_mean,
        "verdict": {
            "grade": answer.verdict.grade,
            "confidence": answer.verdict.confidence,
            "reasons": list(answer.verdict.reasons),
            "missing": list(answer.verdict.missing),
            "about": answer.verdict.about,
        },
        "superseded": list(answer.superseded),
        "results": [hit_document(hit) for hit in answer.hits],
        "took_ms": round(answer.took_ms, 2),
    }
    if answer.context is not None and answer.budget is not None:
        document["context"] = [context_chunk_document(chunk) for chunk in answer.context]
        document["budget"] = {
            "limit": answer.budget.limit,
            "used": answer.budget.used,
            "dropped": [{"slug": d.slug, "tokens": d.tokens} for d in answer.budget.dropped],
            "stopped": answer.budget.stopped,
        }
    if trace:
        document["trace"] = [
            {"stage": stage.name, "ms": round(stage.ms, 3), **stage.detail}
            for stage in answer.trace.stages
        ]
    return document


def hit_document(hit: Hit) -> Document:
    """Return a page that was found, with its rank and score in every lane."""
    fts, vector = hit.lanes.get("fts"), hit.lanes.get("vector")
    return {
        "rank": hit.rank,
        "slug": hit.slug,
        "title": hit.title,
        "wing": hit.wing,
        "room": hit.room,
        "type": hit.type,
        "date": hit.date,
        "score": round(hit.score, 6),
        "snippet": hit.snippet.translate(_BOLD),
        "chunk": {
            "kind": hit.chunk.kind,
            "heading_path": list(hit.chunk.heading_path),
            "date": hit.chunk.date,
            "lines": list(hit.chunk.lines),
            "hash": hit.chunk.hash,
        }
        if hit.chunk
        else None,
        "lanes": {
            lane: _lane_document(hit.lanes.get(lane), key) for lane, key in SCORE_KEYS.items()
        },
        "boosts": {name: round(factor, 6) for name, factor in hit.boosts.items()},
        "bm25_rank": fts.rank if fts else None,
        "vec_rank": vector.rank if vector else None,
        "cosine": round(vector.score, 6) if vector else None,
        "recency": round(hit.boosts["recency"], 6) if "recency" in hit.boosts else None,
        "weak": hit.weak,
    }


def _lane_document(candidate: Candidate | None, score_key: str) -> Document | None:
    if candidate is None:
        return None
    return {"rank": candidate.rank, score_key: round(candidate.score, 6)}


def context_chunk_document(chunk: ContextChunk) -> Document:
    """Return a chunk of the context, with the citation that `gbrain verify` checks."""
    from gbrain.text.citations import Citation

    return {
        "slug": chunk.slug,
        "title": chunk.title,
        "heading_path": list(chunk.heading_path),
        "date": chunk.date,
        "lines": list(chunk.lines),
        "hash": chunk.hash,
        "citation": str(Citation(chunk.slug, chunk.lines, chunk.hash)),
        "tokens": chunk.tokens,
        "text": chunk.text,
        "role": chunk.role,
    }


# --- pages, versions and import reports ------------------------------------------------------


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


def pages_document(pages: Iterable[StoredPage], total: int) -> Document:
    """Return a list of pages, and how many there are without a limit."""
    return {"pages": [page_row_document(page) for page in pages], "total": total}


def tags_document(tags: Iterable[tuple[str, int]]) -> Document:
    """Return tags with their numbers of pages."""
    return {"tags": [{"tag": tag, "pages": count} for tag, count in tags]}


def links_document(slug: str, links: Iterable[LinkRow]) -> Document:
    """Return the links of a page."""
    return {"slug": slug, "links": [link._asdict() for link in links]}


def backlinks_document(slug: str, links: Iterable[Backlink]) -> Document:
    """Return the links on other pages that lead to a page."""
    return {"slug": slug, "backlinks": [link._asdict() for link in links]}


def history_document(slug: str, versions: Iterable[Version]) -> Document:
    """Return the versions of a page, without their text."""
    return {"slug": slug, "versions": [version_document(version) for version in versions]}


def deleted_document(gone: WriteResult) -> Document:
    """Return what was deleted, and what happened to its file."""
    about = {"slug": gone.slug, "version": gone.version, "deleted": True}
    return {**about, "file": file_document(gone.file)}


def undone_document(done: UndoResult) -> Document:
    """Return what undo did to a page."""
    return {
        "slug": done.slug,
        "version": done.version,
        "outcome": done.outcome,
        "from": done.before.slug,
        "undone_version": done.before.version,
        "changed_at": done.before.since,
        "restored_version": done.restored.version,
        "file": file_document(done.file),
    }


def written_document(written: WriteResult, **more: object) -> Document:
    """Return what a command wrote to a page and its file, and what only this command tells."""
    about = {"slug": written.slug, "version": written.version, "outcome": written.outcome}
    return {**about, **more, "file": file_document(written.file)}


def file_document(file: FileResult | None) -> Document | None:
    """Return what a change of a page did to its file; None if it has none."""
    if file is None:
        return None
    return {"path": file.path or None, "outcome": file.outcome, "message": file.message}


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
        "renamed": report.count("rename"),
        "old_links": report.old_links,
        "links_updated": report.links_updated,
        "unchanged": report.unchanged,
        "changes": [
            {
                "action": change.action,
                "slug": change.slug,
                "path": change.path,
                "old_slug": change.old_slug,
            }
            for change in report.changes
        ],
        "merged": report.merged,
        "files_written": report.written,
        "conflicts": report.conflicts,
        "missing": [
            {"slug": each.slug, "path": each.path, "reason": each.reason} for each in report.missing
        ],
        "problems": [
            {"path": p.path, "code": p.code, "reason": p.reason, "hint": p.hint}
            for p in report.problems
        ],
    }
