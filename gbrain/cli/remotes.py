"""`remote`, `clone`, `pull` and `push`: one brain on several machines."""

from __future__ import annotations

from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gbrain.brain import clock
from gbrain.brain.remotes import PushedPart
from gbrain.cli.commands import Db, Json, Module, Quiet, examples, say_filter_hints
from gbrain.cli.open_brain import open_brain
from gbrain.errors import UsageError
from gbrain.locations import is_url
from gbrain.messages import counted
from gbrain.output import remotes as output
from gbrain.output import screen
from gbrain.output.screen import show_progress
from gbrain.types import Scope

if TYPE_CHECKING:
    from gbrain.brain import Brain
    from gbrain.brain.remotes import Exchange, RemoteStatus
    from gbrain.remotes.pull import PullReport, RefusedPage
    from gbrain.remotes.push import PushReport

command = Module()

RemoteName = Annotated[
    str | None,
    typer.Argument(metavar="[REMOTE]", help="Name of the remote (default: the only one)."),
]


def list_remotes(*, quiet: bool, json: bool, db: Path | None) -> None:
    """List the remotes, as `gbrain remote list` does."""
    list_(quiet, json, db)


remote = command.group(
    "remote",
    "Connect the brain to a shared one on a PostgreSQL server.",
    epilog=examples(
        "gbrain remote add team postgresql://db.example.org/notes",
        "gbrain remote status",
        "gbrain remote roles | psql postgresql://db.example.org/notes",
    ),
    default=list_remotes,
)


@remote.command("list", epilog=examples("gbrain remote list", "gbrain remote list --json"))
def list_(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """List the remotes of the brain."""
    with open_brain(db) as brain:
        known = brain.remotes()
    documents = [output.remote_document(each) for each in known]
    if json:
        screen.write_json({"remotes": documents})
        return
    rows = [
        (each["name"], each["url"], output.shared_parts(one), each["pulled_at"] or "never")
        for one, each in zip(known, documents, strict=True)
    ]
    headers = ("Remote", "URL", "Shared", "Last pull")
    screen.write_table(
        headers, rows, "No remotes; gbrain remote add NAME URL adds one.", quiet=quiet
    )


@remote.command(
    "add",
    epilog=examples(
        "gbrain remote add team postgresql://db.example.org/notes",
        "gbrain remote add home postgresql:///notes",
        "gbrain remote add team 'postgresql:///?service=team'",
    ),
)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the remote, as team.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="URL of the database, no password.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add a remote, or give one another URL; gbrain push and gbrain pull then use it.

    The password is read from ~/.pgpass, $PGPASSWORD or a service file and never stored. A server on
    another machine must have a certificate for its name: ?sslrootcert=FILE names the authority,
    ?sslmode=require skips this check.
    """
    with open_brain(db, make=True) as brain:
        _refuse_second_of_replica(brain, url)
        added = brain.add_remote(name, url)
        known = brain.remote(name)
    if json:
        screen.write_json({"remote": output.remote_document(known), "added": added})
    elif not quiet:
        done = "Added" if added else "Changed"
        screen.say(f"{done} {name}. gbrain push shares your pages, gbrain pull brings others'.")


def _refuse_second_of_replica(brain: Brain, url: str) -> None:
    """Raise UsageError for another URL than the one that a replica stands for."""
    from gbrain.brain.replicas import replica_path
    from gbrain.paths import replicas_folder

    if brain.path.parent == replicas_folder() and brain.path != replica_path(url):
        raise UsageError(
            "The copy of a shared brain cannot have another remote",
            hint="Make a brain of your own, which can: gbrain clone URL FILE.",
        )


@remote.command("remove", epilog=examples("gbrain remote remove team"))
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the remote.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Forget a remote; the pages stay as they are, here and there."""
    with open_brain(db) as brain:
        waiting = brain.remove_remote(name)
    if json:
        screen.write_json({"removed": name, "not_pushed": waiting})
    elif not quiet:
        left = f" {counted(waiting, 'page')} had not been pushed." if waiting else ""
        screen.say(f"Forgot {name}.{left}")


@remote.command(
    "status", epilog=examples("gbrain remote status", "gbrain remote status team --check")
)
def status(
    name: RemoteName = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare the search tables of the server with its pages."),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show how many pages wait to be pushed and pulled, and which have a conflict.

    --check reads all search tables of the server and exits with 1 if it finds a problem.
    """
    with open_brain(db) as brain:
        names = [name] if name else [each.name for each in brain.remotes()]
        found = [brain.remote_status(each, check=check) for each in names]
        if name is None and not found:
            brain.remote()
    if json:
        screen.write_json({"remotes": [output.status_document(each) for each in found]})
    else:
        for each in found:
            _print_status(each)
    if check and any(each.problems or each.error for each in found):
        raise typer.Exit(1)


def _print_status(found: RemoteStatus) -> None:
    from gbrain.output.stats import time_ago

    known = found.remote
    pulled = time_ago(known.pulled_at, clock()) if known.pulled_at else "never"
    to_pull = "unknown" if found.to_pull is None else counted(found.to_pull, "page")
    screen.write(
        f"{known.name}: {output.remote_document(known)['url']}\n"
        f"  to push   {counted(found.to_push, 'page')} ({output.shared_parts(known)} shared)\n"
        f"  to pull   {to_pull}\n"
        f"  conflicts {', '.join(found.conflicts) or 'none'}\n"
        f"  last pull {pulled}"
    )
    for problem in found.problems:
        screen.say(problem)
    if found.error:
        screen.say(f"{found.error.full_message}")


@remote.command("repair", epilog=examples("gbrain remote repair", "gbrain remote repair team"))
def repair(
    name: RemoteName = None, quiet: Quiet = False, json: Json = False, db: Db = None
) -> None:
    """Rebuild the search tables of a shared brain on its server.

    Creates the index over its vectors too, if there are many. No page is changed, and others can
    push and search meanwhile. Searches with a replica do not need it.
    """
    with open_brain(db) as brain:
        known = brain.remote(name)
        with show_progress("Rebuilding", quiet=quiet or json) as show:
            problems = brain.repair_remote(known.name, progress=show)
    if json:
        screen.write_json({"remote": known.name, "problems": list(problems)})
    else:
        for problem in problems:
            screen.say(problem)
        if not quiet and not problems:
            screen.say(f"Rebuilt the search tables of {known.name}. No problems found.")
    if problems:
        raise typer.Exit(1)


@remote.command(
    "roles",
    epilog=examples(
        "gbrain remote roles | psql postgresql://db.example.org/notes",
        "gbrain remote roles --reader guest --writer editors",
    ),
)
def roles(
    reader: Annotated[
        str,
        typer.Option("--reader", metavar="ROLE", help="Role that reads (default gbrain_reader)."),
    ] = "gbrain_reader",
    writer: Annotated[
        str,
        typer.Option("--writer", metavar="ROLE", help="Role that writes (default gbrain_writer)."),
    ] = "gbrain_writer",
    json: Json = False,
) -> None:
    """Print the SQL that lets one role read the shared brain and another write it.

    Run it as the owner of the database after the first push. It creates roles that do not exist.
    Writers add pages and versions, but cannot change or remove versions.
    """
    from gbrain.store.postgres.schema import role_sql

    sql = role_sql(reader, writer)
    if json:
        screen.write_json({"sql": sql})
    else:
        screen.write(sql)


@command.command(
    "clone",
    epilog=examples(
        "gbrain clone postgresql://db.example.org/notes",
        "gbrain clone team ~/team.db",
    ),
)
def clone(
    source: Annotated[
        str, typer.Argument(metavar="REMOTE", help="URL of the database, or name of a remote.")
    ],
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="New brain file (default: your own brain)."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Make a brain with all pages of a shared one.

    It answers without the server. An interrupted clone continues when the command is run again.
    With a URL, --db names the new file as well.
    """
    from gbrain.brain.replicas import DEFAULT_REMOTE, clone_brain
    from gbrain.paths import resolve_brain

    name, url = DEFAULT_REMOTE, source
    if is_url(source):
        file = file or db
    else:
        with open_brain(db) as brain:
            known = brain.remote(source)
        name, url = known.name, known.url
    path = resolve_brain(file)
    with show_progress("Cloning", quiet=quiet) as show:
        report = clone_brain(url, path, name, progress=show)
    if json:
        document = output.pull_document(report)
        kept = {key: document[key] for key in ("remote", "refused", "vectors")}
        screen.write_json({"brain": str(path), "pages": len(report.created), **kept})
    else:
        _say_refused(report.refused)
        if not quiet:
            vectors = f", {counted(report.vectors, 'vector')}" if report.vectors else ""
            screen.say(f"Cloned {counted(len(report.created), 'page')}{vectors} to {path}.")
    if report.refused:
        raise typer.Exit(1)


@command.command("pull", epilog=examples("gbrain pull", "gbrain pull team --json"))
def pull(name: RemoteName = None, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Bring what changed on a remote into the brain.

    A page that changed on both sides is merged. What does not merge keeps your text and has the
    other in its history; gbrain conflicts lists it.
    """
    with open_brain(db) as brain:
        report = exchange(brain, name, quiet=quiet or json, push=False).pulled
        assert report is not None
        if json:
            screen.write_json(output.pull_document(report))
        else:
            print_pull(brain, report, quiet=quiet)
    if report.conflicts or report.refused:
        raise typer.Exit(1)


@command.command(
    "push",
    epilog=examples(
        "gbrain push", "gbrain push team --wing projects", "gbrain push --slug-prefix projects/a"
    ),
)
def push(
    name: RemoteName = None,
    wing: Annotated[
        str | None, typer.Option("--wing", metavar="WING", help="Share only pages of this wing.")
    ] = None,
    slug_prefix: Annotated[
        str | None,
        typer.Option(
            "--slug-prefix", metavar="PREFIX", help="Share only slugs that start with PREFIX."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Share all pages, not only a part as before.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Write what changed in the brain to a remote.

    A first push with --wing or --slug-prefix shares only that part, also in later pushes, until
    --all shares the rest. A page that is on the remote already is pushed when you change it, also
    if it leaves that part. A page that changed there too is merged first; one that does not merge
    is not pushed, and the command exits with 1.
    """
    if everything and (wing or slug_prefix):
        raise UsageError(
            "--all cannot be combined with --wing or --slug-prefix", hint="Use one of them."
        )
    with open_brain(db) as brain:

        def print_report(report: PushReport) -> None:
            shared = brain.remote(report.remote)
            if json:
                screen.write_json(output.push_document(report))
                return
            print_push(brain, report, quiet=quiet)
            if shared.parts is not None and not quiet:
                parts = output.shared_parts(shared)
                screen.say(f"Shared: {parts}. gbrain push --all shares the rest.")
            if not quiet:
                say_filter_hints(brain, Scope(wing=wing))

        part = PushedPart(wing, slug_prefix, everything)
        report = exchange(
            brain, name, quiet=quiet or json, pull=False, part=part, after_push=print_report
        ).pushed
    assert report is not None
    if report.conflicts or report.refused:
        raise typer.Exit(1)


def exchange(brain: Brain, name: str | None = None, *, quiet: bool, **options: Any) -> Exchange:
    """Exchange pages with a remote, and show the progress; `options` as of `Brain.exchange`."""

    def say_so() -> None:
        if not quiet:
            screen.say("Creating indexes on the server. That may be stopped, and goes on later.")

    return brain.exchange(
        name,
        progress=lambda step: show_progress(step, quiet=quiet),
        before_indexes=say_so,
        **options,
    )


def print_pull(brain: Brain, report: PullReport, *, quiet: bool) -> None:
    """Say what a pull did; problems also with --quiet."""
    if not quiet:
        screen.say(output.pull_summary(report))
    _say_conflicts(brain, report.remote, report.conflicts)
    for problem in report.file_problems:
        screen.say(problem.reason)
    _say_refused(report.refused)


def print_push(brain: Brain, report: PushReport, *, quiet: bool, said: Container[str] = ()) -> None:
    """Say what a push did; problems also with --quiet, but not conflicts that were `said`."""
    if not quiet:
        screen.say(output.push_summary(report))
    new = [slug for slug in report.conflicts if slug not in said]
    _say_conflicts(brain, report.remote, new)
    _say_refused(report.refused)


def _say_conflicts(brain: Brain, remote: str, slugs: Container[str]) -> None:
    found = [each for each in brain.conflicts() if each.remote == remote and each.slug in slugs]
    for line in output.conflict_lines(found):
        screen.say(line)


def _say_refused(refused: list[RefusedPage]) -> None:
    for each in refused:
        screen.say(each.reason)
