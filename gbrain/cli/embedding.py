"""`embed` and `jobs`: make vectors for changed chunks, and manage the queue."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.cli.commands import Db, Json, Module, Quiet, examples, number_option
from gbrain.cli.open_brain import open_brain
from gbrain.errors import UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.screen import show_progress

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.importing.embed_worker import EmbedReport
    from gbrain.store.models import ModelRow

command = Module()

EMBED_LATER = "The pages are imported; run gbrain embed later to embed them."


@command.command(
    "embed",
    epilog=examples(
        "gbrain embed --stale --quiet",
        "gbrain embed people/alice-chen",
        "gbrain embed --stale --max-seconds 50",
    ),
)
def embed(
    slug: Annotated[
        str | None, typer.Argument(metavar="[SLUG]", help="Page to embed (default: all pages).")
    ] = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Embed what is new or changed (default).")
    ] = False,
    all_: Annotated[
        bool, typer.Option("--all", help="Also embed what failed before or is missing.")
    ] = False,
    limit: Annotated[
        int | None, number_option("--limit", help="Stop after N chunks (default: no limit).")
    ] = None,
    max_seconds: Annotated[
        float | None,
        typer.Option(metavar="S", min=0, help="Stop after S seconds (default: no limit)."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Embed new and changed notes, to find them by meaning.

    To embed means to compute a vector for each chunk (section or timeline entry) of a note. The
    newest notes come first. Several runs at the same time share the work, and a run that is killed
    loses none of it. A chunk that fails is tried again after a minute, then after longer and longer
    waits; gbrain jobs list shows the reason, and --all tries at once. While a chunk fails, the
    command exits with 1.
    """
    if all_ and (stale or slug):
        raise UsageError(
            "--all cannot be combined with --stale or a page",
            hint="gbrain embed --all embeds all pages.",
        )
    with open_brain(db) as brain:
        result = embed_with_progress(
            brain, slug, everything=all_, limit=limit, max_seconds=max_seconds, quiet=quiet or json
        )
        failed = brain.count_failed_jobs()
    if json:
        screen.write_json(_document(result, failed))
    elif not quiet:
        screen.say(_summary(result))
    if failed:
        if not json:
            screen.say(
                f"{counted(failed, 'chunk')} could not be embedded; gbrain jobs list shows why."
            )
        raise typer.Exit(1)


def embed_with_progress(
    brain: Brain,
    slug: str | None = None,
    *,
    everything: bool = False,
    limit: int | None = None,
    max_seconds: float | None = None,
    quiet: bool,
) -> EmbedReport:
    """Embed what is due and show progress; an interrupt says how much is done."""
    try:
        with show_progress("Embedding", quiet=quiet) as show:
            return brain.embed(
                slug, everything=everything, limit=limit, max_seconds=max_seconds, progress=show
            )
    except KeyboardInterrupt:
        if not quiet:
            screen.say(embedded_share(brain))
        raise


def _document(result: EmbedReport, failed: int) -> dict[str, int | float]:
    return {
        "embedded": result.done,
        "pruned": result.pruned,
        "left": result.left,
        "failed": failed,
        "seconds": round(result.seconds, 3),
    }


def embedded_share(brain: Brain) -> str:
    """Return how much of the brain is embedded after an interruption, and how to continue."""
    waiting, chunks = brain.backlog()
    following = brain.next_model()
    if following and not waiting:
        return describe_switch(*following)
    if not waiting:
        return "Everything is embedded."
    # Rounded down: 99.9 % is not all.
    share = 100 * (chunks - waiting) // chunks
    return f"{share} % embedded; run gbrain embed to continue."


def describe_switch(model: ModelRow, lacking: int) -> str:
    """Return how much of a switch to another model is left, and how to continue."""
    left = counted(lacking, "chunk")
    return f"{left} still to embed with {model.name}; run gbrain embed to continue."


def _summary(result: EmbedReport) -> str:
    """Return how many chunks a run embedded, how fast, and how many are left."""
    rate = f" ({result.done / result.seconds:.0f} per second)" if result.done else ""
    left = f" {result.left} left." if result.left else ""
    switched = f" {result.switched_to} is now the active model." if result.switched_to else ""
    return f"{counted(result.done, 'chunk')} embedded{rate}.{left}{switched}"


jobs = command.group(
    "jobs",
    help="Show, retry or clear the notes that wait to be embedded.",
    epilog=examples("gbrain jobs list", "gbrain jobs retry"),
)


@jobs.command("list", epilog=examples("gbrain jobs list", "gbrain jobs list --json | jq .total"))
def list_(
    limit: Annotated[
        int,
        number_option("--limit", "-n", help="Maximum number of jobs (default 20)."),
    ] = 20,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List the chunks that wait to be embedded, failed ones first."""
    with open_brain(db) as brain:
        waiting, total = brain.jobs(limit)
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
    screen.write_table(headers, table, "The queue is empty.", quiet=quiet)
    if len(waiting) < total and not quiet:
        screen.say(f"{len(waiting)} of {total} jobs.")


def _time(seconds: float) -> str | None:
    """Return the time as ISO text; None for 0 and for values that are no date."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (OverflowError, ValueError, TypeError, OSError):
        return None
    return moment.isoformat(timespec="seconds") if moment else None


@jobs.command("retry", epilog=examples("gbrain jobs retry"))
def retry(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Let the next gbrain embed try failed notes again."""
    with open_brain(db) as brain:
        _print_count(brain.retry_jobs(), "due", quiet, json)


@jobs.command("clear", epilog=examples("gbrain jobs clear"))
def clear(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Empty the queue; gbrain embed --all fills it again."""
    with open_brain(db) as brain:
        _print_count(brain.clear_jobs(), "removed", quiet, json)


def _print_count(count: int, done: str, quiet: bool, json: bool) -> None:
    if json:
        screen.write_json({done: count})
    elif not quiet:
        screen.say(f"{counted(count, 'job')} {done}.")
