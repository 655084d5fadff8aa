"""Remotes, pulls and pushes as JSON documents and lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gbrain.messages import counted
from gbrain.store.postgres.address import redact

if TYPE_CHECKING:
    from gbrain.brain.remotes import RemoteStatus
    from gbrain.remotes.pull import PullReport, RefusedPage
    from gbrain.remotes.push import PushReport
    from gbrain.store.conflicts import PageConflict
    from gbrain.store.remotes import Remote


def remote_document(remote: Remote) -> dict[str, Any]:
    """Return a remote for JSON."""
    parts = None
    if remote.parts is not None:
        parts = [{"wing": part.wing, "slug_prefix": part.slug_prefix} for part in remote.parts]
    return {
        "name": remote.name,
        "url": redact(remote.url),
        "parts": parts,
        "pulled_at": remote.pulled_at,
    }


def status_document(status: RemoteStatus) -> dict[str, Any]:
    """Return the state of a remote for JSON."""
    return {
        **remote_document(status.remote),
        "to_push": status.to_push,
        "to_pull": status.to_pull,
        "conflicts": status.conflicts,
        "error": redact(status.error.message) if status.error else None,
        "problems": list(status.problems),
    }


def pull_document(report: PullReport) -> dict[str, Any]:
    """Return what a pull did for JSON."""
    return {
        "remote": report.remote,
        "created": report.created,
        "updated": report.updated,
        "deleted": report.deleted,
        "merged": report.merged,
        "conflicts": report.conflicts,
        "refused": _refused(report.refused),
        "files_not_written": [problem.path for problem in report.file_problems],
        "vectors": report.vectors,
    }


def push_document(report: PushReport) -> dict[str, Any]:
    """Return what a push did for JSON."""
    return {
        "remote": report.remote,
        "pushed": report.pushed,
        "deleted": report.deleted,
        "merged": report.merged,
        "conflicts": report.conflicts,
        "refused": _refused(report.refused),
        "vectors": report.vectors,
    }


def _refused(refused: Sequence[RefusedPage]) -> list[dict[str, str]]:
    return [{"slug": each.slug, "reason": each.reason} for each in refused]


def shared_parts(remote: Remote) -> str:
    """Return which part of the brain is shared, in words."""
    if remote.parts is None:
        return "all pages"
    return "; ".join(part.description for part in remote.parts) or "nothing"


def pull_summary(report: PullReport) -> str:
    """Return what a pull did in one sentence."""
    counts = [
        (len(report.created), "new"),
        (len(report.updated), "changed"),
        (len(report.deleted), "deleted"),
        (len(report.merged), "merged with changes made here"),
        (len(report.conflicts), "in conflict"),
    ]
    done = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    vectors = f" {counted(report.vectors, 'vector')}." if report.vectors else ""
    return f"Pulled from {report.remote}: {done or 'nothing new'}.{vectors}"


def push_summary(report: PushReport) -> str:
    """Return what a push did in one sentence."""
    counts = [(len(report.deleted), "deleted"), (len(report.merged), "merged first")]
    done = [counted(len(report.pushed), "page")] if report.pushed else []
    done += [f"{count:,} {what}" for count, what in counts if count]
    vectors = f" {counted(report.vectors, 'vector')}." if report.vectors else ""
    return f"Pushed to {report.remote}: {', '.join(done) or 'nothing new'}.{vectors}"


def conflict_lines(conflicts: Iterable[PageConflict]) -> list[str]:
    """Return what to say about pages that are not pushed."""
    return [_conflict_line(each.slug, each.remote or "", each.kind) for each in conflicts]


def _conflict_line(slug: str, remote: str, kind: str) -> str:
    resolve = f"gbrain resolve {slug}"
    if kind == "deleted_there":
        return (
            f"{slug} was changed here and deleted on {remote}, so it is not pushed. "
            f"{resolve} --ours keeps the page, --theirs deletes it."
        )
    if kind == "deleted_here":
        return (
            f"{slug} was deleted here and changed on {remote}, so it is back and not pushed. "
            f"{resolve} --theirs keeps the page, --ours deletes it."
        )
    return (
        f"{slug} was changed here and on {remote} in ways that do not merge, so it is not pushed. "
        f"{resolve} settles that."
    )
