"""`tasks`, `done` and `today`: open tasks, and what is due and dated on a day."""

from __future__ import annotations

from datetime import date as Date
from typing import Annotated

import typer

from gbrain.brain import today
from gbrain.cli.commands import (
    AsOf,
    Db,
    ExitCode,
    Given,
    Json,
    Module,
    NoPager,
    PageOrAll,
    Quiet,
    examples,
    exit_if_nothing,
    number_option,
    report_file,
    say_filter_hints,
    with_options,
)
from gbrain.cli.open_brain import open_brain, open_brain_as_of
from gbrain.errors import UsageError
from gbrain.messages import counted
from gbrain.output import screen
from gbrain.output.json import written_document
from gbrain.output.tasks import (
    agenda_document,
    agenda_rows,
    show_agenda,
    task_rows,
    tasks_document,
)
from gbrain.query_options import FILTERS, parse_scope

command = Module()


@command.command(
    "tasks",
    epilog=examples(
        "gbrain tasks",
        "gbrain tasks --until friday --tag urgent",
        "gbrain tasks projects/garden --all",
        "gbrain tasks --json | jq -r '.tasks[] | select(.due) | .text'",
    ),
)
@with_options(*FILTERS)
def tasks(
    given: Given,
    slug: PageOrAll = None,
    all_: Annotated[bool, typer.Option("--all", help="Include tasks that are done.")] = False,
    limit: Annotated[
        int | None,
        number_option("--limit", "-n", help="Maximum number of tasks (default: all)."),
    ] = None,
    as_of: AsOf = None,
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List the open tasks in your notes, due ones first.

    A task is a list item with a checkbox, - [ ], or a TODO of Logseq. Its due date is written in
    the item: 📅 2026-11-20, due: 2026-11-20, by 20 Nov 2026 or @2026-11-20. --since and --until
    compare that date, or else the date of its section or page. gbrain done N ticks task N.
    """
    scope = parse_scope(given, today())
    with open_brain_as_of(db, as_of, quiet=quiet) as brain:
        found = brain.tasks(slug, scope=scope, done=all_)
        if not (found or quiet):
            say_filter_hints(brain, scope)
    shown = found[:limit]
    if json:
        screen.write_json(tasks_document(shown, len(found)))
    else:
        headers = ("N", "Due", "Page", "Task", "State")[: 5 if all_ else 4]
        rows = task_rows(shown, states=all_)
        screen.write_table(headers, rows, "No tasks.", quiet=quiet, pager=not no_pager)
        if len(shown) < len(found) and not quiet:
            screen.say(f"{len(shown)} of {counted(len(found), 'task')}.")
    exit_if_nothing(found, exit_code)


@command.command("done", epilog=examples("gbrain done 4821", "gbrain done 4821 1093"))
def done(
    numbers: Annotated[
        list[str], typer.Argument(metavar="N...", help="Numbers that gbrain tasks shows.")
    ],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Tick tasks in their pages; nothing else in a page changes.

    The number of a task stays the same until its text or the slug of its page changes. gbrain undo
    SLUG unticks it.
    """
    for number in numbers:
        if not (number.isascii() and number.isdecimal()):
            raise UsageError(
                f"{number!r} is not the number of a task",
                hint="gbrain tasks lists the tasks with their numbers.",
            )
    documents, files = [], []
    with open_brain(db) as brain:
        for number in dict.fromkeys(numbers):
            task, written = brain.finish_task(number)
            documents.append(written_document(written, number=number, text=task.text))
            files.append(written.file)
            if not (json or quiet):
                before = "was done before" if task.done else "done"
                screen.say(f"{written.slug}: {task.text}: {before}, version {written.version}")
    if json:
        screen.write_json({"done": documents})
    for file in files:
        report_file(file, quiet=quiet, json=json)


@command.command(
    "today",
    epilog=examples(
        "gbrain today",
        "gbrain today tomorrow",
        "gbrain today 2026-11-20 --json | jq '.due[].text'",
    ),
)
def today_(
    date: Annotated[
        str | None, typer.Argument(metavar="[DATE]", help="Day (default: today).")
    ] = None,
    limit: Annotated[
        int,
        number_option("--limit", "-n", help="Maximum number of new notes (default 10)."),
    ] = 10,
    as_of: AsOf = None,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Show due tasks, dated entries and new notes of a day.

    Tasks that were due before are listed as overdue. New notes are those written or changed in the
    week up to the day.
    """
    from gbrain.text.dates import parse_bound

    period = parse_bound(date or as_of or "today", today())
    if date and period.first != period.last:
        raise UsageError(
            f"{date!r} is not a day", hint="For example: gbrain today 2026-11-20, or monday."
        )
    with open_brain_as_of(db, as_of, quiet=quiet) as brain:
        agenda = brain.agenda(Date.fromisoformat(period.last), limit=limit)
    if json:
        screen.write_json(agenda_document(agenda))
        return
    rows = agenda_rows(agenda)
    if rows and screen.on_terminal():
        show_agenda(agenda, pager=not no_pager)
    else:
        screen.write_table((), rows, f"Nothing on {agenda.day}.", quiet=quiet)
