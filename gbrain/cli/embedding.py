"""`embed jobs`: vectors for what changed, and the queue they come from."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.errors import UsageError
from gbrain.importing.embed_worker import EmbedReport
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.progress import show_progress
from gbrain.store import jobs as queue

command = Module()


@command.command(
    "embed",
    epilog=examples(
        "gbrain embed --stale --quiet",
        "gbrain embed people/alice-chen",
        "gbrain embed --stale --max-seconds 50",
    ),
)
def embed(
    slug: Annotated[str | None, typer.Argument(metavar="[SLUG]", help="Only this page.")] = None,
    stale: Annotated[bool, typer.Option("--stale", help="What is due; the default.")] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Also what waits after a failure or was never queued.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=10**9, help="At most so many passages.")
    ] = None,
    max_seconds: Annotated[
        float | None, typer.Option(metavar="S", min=0, help="Stop after so long.")
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Embed what changed; exit with 1 when some text could not be embedded.

    Several runs at once share the work, and one that is killed loses none of it. What fails waits
    a minute, then longer and longer; gbrain jobs list says why.
    """
    if all_ and (stale or slug):
        raise UsageError(
            "--all goes with neither --stale nor a slug", hint="gbrain embed --all takes all pages."
        )
    with open_brain(db) as brain, show_progress("Embedding", quiet=quiet or json) as show:
        result = brain.embed(
            slug, everything=all_, limit=limit, max_seconds=max_seconds, progress=show
        )
        with brain.database.read_transaction() as connection:
            failed = queue.count_failed(connection)
    if json:
        screen.write_json(_document(result, failed))
    elif not quiet:
        screen.say(_summary(result))
    if failed:
        if not json:
            screen.say(f"{failed} could not be embedded: gbrain jobs list says why.")
        raise typer.Exit(1)


def _document(result: EmbedReport, failed: int) -> dict[str, int | float]:
    return {
        "embedded": result.done,
        "pruned": result.pruned,
        "left": result.left,
        "failed": failed,
        "seconds": round(result.seconds, 3),
    }


def _summary(result: EmbedReport) -> str:
    rate = f", {result.done / result.seconds:.0f} a second" if result.done else ""
    left = f" {result.left} {'is' if result.left == 1 else 'are'} left." if result.left else ""
    return f"{counted(result.done, 'passage')} embedded{rate}.{left}"


jobs = command.group(
    "jobs",
    help="Show, retry or clear the queue of passages to embed.",
    epilog=examples("gbrain jobs list", "gbrain jobs retry"),
)


@jobs.command("list", epilog=examples("gbrain jobs list", "gbrain jobs list --json | jq .total"))
def list_(
    limit: Annotated[
        int, typer.Option("--limit", "-n", metavar="N", min=1, max=10**9, help="How many.")
    ] = 20,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show what waits, failures first, with the reason."""
    with open_brain(db) as brain, brain.database.read_transaction() as connection:
        waiting, total = queue.list_queue(connection, limit)
    if json:
        rows = [
            {
                "hash": job.hash.hex(),
                "slug": job.slug,
                "attempts": job.attempts,
                "due_at": _time(job.due_at),
                "claimed_by": job.claimed_by,
                "error": job.error,
                "enqueued_at": job.enqueued_at,
            }
            for job in waiting
        ]
        screen.write_json({"jobs": rows, "total": total})
        return
    table = [(job.slug, job.attempts, _time(job.due_at), job.error) for job in waiting]
    headers = ("Page", "Failures", "Not before", "Last error")
    screen.write_table(headers, table, "Nothing waits.", quiet=quiet)
    if len(waiting) < total and not quiet:
        screen.say(f"{len(waiting)} of {total} jobs.")


def _time(seconds: float) -> str | None:
    """The moment, if it is one that a calendar has."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, TypeError, OSError):
        return None
    return moment.isoformat(timespec="seconds") if moment else None


@jobs.command("retry", epilog=examples("gbrain jobs retry"))
def retry(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Let failed jobs run again at once."""
    _change(db, quiet, json, "UPDATE embedding_jobs SET due_at = 0 WHERE claimed_by IS NULL", "due")


@jobs.command("clear", epilog=examples("gbrain jobs clear"))
def clear(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Empty the queue; gbrain embed --all fills it again."""
    _change(db, quiet, json, "DELETE FROM embedding_jobs", "removed")


def _change(db: Db, quiet: bool, json: bool, sql: str, done: str) -> None:
    with open_brain(db) as brain:
        count = _run(brain, sql)
    if json:
        screen.write_json({done: count})
    elif not quiet:
        screen.say(f"{counted(count, 'job')} {done}.")


def _run(brain: Brain, sql: str) -> int:
    with brain.database.write_transaction() as connection:
        return connection.execute(sql).rowcount
