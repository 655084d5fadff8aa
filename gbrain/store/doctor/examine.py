"""The table of all checks of a brain file, and the examination that runs and repairs them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gbrain.errors import BadBrain, GbrainError
from gbrain.store.connection import Database
from gbrain.store.doctor import files, pages, rows, vectors
from gbrain.store.doctor.findings import (
    CORRUPTION_ERRORS,
    NEW_BRAIN,
    REPAIR,
    RESTORE,
    Examination,
    Finding,
    Found,
    Status,
)
from gbrain.store.doctor.rows import rebuild_derived
from gbrain.store.schema import integrity_errors
from gbrain.store.sqlite_errors import explain_errors

Repair = Callable[[Examination], None]


@dataclass(frozen=True, slots=True)
class Check:
    """A check, under the name that scripts know: `find` returns nothing when all is `ok`."""

    name: str
    find: Callable[[Examination], Found]
    ok: str
    problem: str
    repair: Repair | None = None
    status: Status = "problem"
    fix: str = REPAIR


# The checks of a stage run before its repairs, and each stage relies on the repairs before it. A
# repair that several checks of a stage share runs once.
STAGES: tuple[tuple[Check, ...], ...] = (
    (
        Check("file_mode", files.readable_by_others, "only you can open the file",
              "files that other users can open", files.restrict_modes),
    ),
    (
        Check("foreign_parts", files.foreign_objects,
              "the file contains only tables and indexes of gbrain",
              "objects that gbrain did not create", files.drop_foreign_objects,
              fix=f"{REPAIR} removes them."),
    ),
    (
        Check("integrity", lambda exam: integrity_errors(exam.connection, full=exam.full),
              "SQLite finds no damage", "damaged places in the file", files.reindex),
    ),
    (
        Check("schema", files.missing_names, "all tables and indexes exist",
              "missing tables, columns or indexes", files.create_missing),
    ),
    (
        Check("values", rows.wrong_values, "every value has the right type",
              "rows with wrong values", rebuild_derived),
        Check("page_facts", partial(pages.pages_that_differ, "columns"),
              "titles, dates and other facts match the pages",
              "pages whose stored title, date or other fact is wrong", rebuild_derived),
        Check("page_index", partial(pages.check_keyword_index, "pages_fts"), "", "",
              rebuild_derived),
        Check("passage_index", partial(pages.check_keyword_index, "chunks_fts"), "", "",
              rebuild_derived),
        Check("stray_rows", rows.stray_rows, "every tag, link and name belongs to a page",
              "rows that belong to nothing", rebuild_derived),
        Check("stray_passages", rows.stray_chunks, "every chunk has its page",
              "chunks that belong to no page", rebuild_derived),
        Check("question_index", partial(pages.check_keyword_index, "questions_fts"), "", "",
              rebuild_derived),
        Check("page_texts", pages.changed_texts, "every page has the text that was written",
              "pages that something else than gbrain changed", pages.accept_changed_texts,
              fix=f"{REPAIR} keeps the texts as they are; a backup may have the original ones."),
        Check("versions", pages.unreadable_versions, "every earlier version can be read",
              "earlier versions that cannot be read", fix=RESTORE),
        Check("slugs", pages.describe_wrong_slugs, "every slug matches its path",
              "slugs that do not match their path", pages.repair_slugs),
        Check("passages", partial(pages.pages_that_differ, "chunks"), "the chunks match the pages",
              "pages whose chunks do not match their text", rebuild_derived),
        Check("references", partial(pages.pages_that_differ, "references"),
              "the names, tags and links match the pages",
              "pages whose names, tags or links do not match their text", rebuild_derived),
    ),
    (
        Check("vectors", vectors.unusable_vectors, "every vector can be used", "unusable vectors",
              vectors.drop_unusable),
    ),
    (
        Check("chunk_slots", vectors.wrong_chunk_slots, "a filter finds the vector of every chunk",
              "groups of chunks whose vectors a filter may not find", vectors.rebuild_chunk_slots),
        Check("missing_vectors", vectors.pages_without_vectors,
              "every chunk has a vector or is queued for one",
              "pages with chunks that vector search cannot find", vectors.enqueue_missing),
        Check("stray_vectors", vectors.stray_vectors, "every vector belongs to a chunk",
              "vectors of texts that no page contains", vectors.drop_strays, "note",
              f"{REPAIR} or gbrain compact deletes them."),
        Check("model_folders", vectors.missing_model_folders, "every model is in its folder",
              "models whose folder does not exist",
              fix="Put it back, or choose another model with gbrain model use NAME."),
        Check("stray_jobs", vectors.stray_jobs, "every job belongs to a chunk",
              "jobs for texts that no page contains", vectors.drop_strays, "note"),
        Check("failed_jobs", vectors.failed_jobs, "no job has failed",
              "chunks that could not be embedded", None, "note",
              "gbrain jobs list shows the errors; gbrain jobs retry tries again."),
        Check("model_switch", vectors.unfinished_switch, "no switch to another model is unfinished",
              "models that become active when every chunk is embedded with them", None, "note",
              "gbrain embed continues, gbrain model use --undo ends the switch."),
        Check("links", pages.dangling_links, "every link leads to a page",
              "links that lead to no page", None, "note",
              "Write those pages, or correct the links."),
        Check("settings", rows.bad_settings, "every setting is known",
              "settings with an invalid value", rows.reset_bad_settings),
        Check("folders", files.missing_folders, "every imported folder exists",
              "imported folders that do not exist", None, "note",
              "Mount the disk or put the folder back; its pages stay in the brain."),
        Check("other_names", files.hard_links, "the brain file has no second name (hard link)",
              "other names of the file (writing through two names at once loses data)", None,
              "note", "Use one name only; a hard link is not a backup."),
        Check("leftovers", files.leftovers, "no unfinished files",
              "unfinished files of a command that was stopped", files.remove_leftovers, "note"),
    ),
)  # fmt: skip

CHECKS = tuple(check for stage in STAGES for check in stage)
NOT_CHECKED = Finding("note", "not checked, because of the objects that gbrain did not create")
# The checks of rows whose content can make a command fail.
_ROW_CHECKS = {
    "integrity", "schema", "values", "page_facts", "page_texts", "versions", "passages", "vectors",
    "settings",
}  # fmt: skip


def examine_file(
    path: Path, now: str, *, full: bool = False, repair: bool = False
) -> Iterator[tuple[str, Finding]]:
    """Examine the brain at `path`; a file that cannot be read yields a finding named `file`.

    Raises BadBrain for a file that is no brain, is locked, or cannot be written for a `repair`.
    """
    try:
        with closing(Database(path, allow_foreign_objects=True)) as database:
            if repair:
                # Fails now if the file cannot be written, before anything is checked.
                with database.write_transaction():
                    pass
            yield from examine(database, now, full=full, repair=repair)
    except BadBrain as error:
        if error.code not in ("damaged", "sqlite"):
            raise
        yield "file", Finding("problem", error.message, NEW_BRAIN, 1)


def examine(
    database: Database, now: str, *, full: bool = False, repair: bool = False
) -> Iterator[tuple[str, Finding]]:
    """Yield the finding of every check by name; `full` reads more, `repair` repairs problems.

    A check that finds something does not stop the next. A problem counts as repaired when its
    check no longer finds it. Raises BadBrain when another program keeps the file locked.
    """
    # Text that is not UTF-8 must be reported, not stop the examination.
    database.connection.text_factory = _decode_leniently
    for number, stage in enumerate(STAGES):
        examination = Examination(database, now, full)
        findings = {check.name: _run(check, examination) for check in stage}
        if repair:
            findings |= _repair_stage(stage, findings, examination)
        yield from findings.items()
        # A foreign trigger or view would be executed by the next check that reads or writes.
        if "foreign_parts" in findings and findings["foreign_parts"].status == "problem":
            yield from (
                (check.name, NOT_CHECKED) for rest in STAGES[number + 1 :] for check in rest
            )
            return
        # Only the full checks notice that a table which was created again is empty.
        full = full or ("schema" in findings and findings["schema"].status == "repaired")


def describe_corruption(path: Path) -> str | None:
    """Return one sentence about rows that commands cannot read, or None for a sound brain."""
    with closing(Database(path)) as database:
        database.connection.text_factory = _decode_leniently
        examination = Examination(database, "", full=True)
        for check in CHECKS:
            if check.name in _ROW_CHECKS:
                finding = _run(check, examination)
                if finding.status == "problem":
                    return f"{finding.message} ({check.name})"
    return None


def _decode_leniently(data: bytes) -> str:
    return data.decode(errors="replace")


def _error_kind(error: Exception) -> str:
    """Return the kind of an unexpected error; its message could contain text of a page."""
    return getattr(error, "sqlite_errorname", None) or type(error).__name__


def _run(check: Check, examination: Examination) -> Finding:
    try:
        found = check.find(examination)
    except sqlite3.Error as error:
        if "locked" in str(error):
            with explain_errors(examination.path):
                raise
        kind = _error_kind(error)
        return Finding("problem", f"cannot be checked: {kind}", RESTORE, 1, unreadable=kind)
    except CORRUPTION_ERRORS as error:
        message = f"cannot be checked: a row has a wrong value ({_error_kind(error)})"
        return Finding("problem", message, RESTORE, 1)
    if isinstance(found, Finding):
        return found
    if not found:
        return Finding("ok", check.ok)
    details: tuple[str, ...] = ()
    if isinstance(found, int):
        count = found
    elif isinstance(found, Counter):
        count = found.total()
        details = tuple(f"{name}: {number}" for name, number in found.items())
    else:
        count, details = len(found), tuple(found)
    return Finding(check.status, f"{check.problem}: {count:,}", check.fix, count, details)


def _repair_stage(
    stage: tuple[Check, ...], before: dict[str, Finding], examination: Examination
) -> dict[str, Finding]:
    """Run each repair of the failed checks once; return their findings afterwards."""
    failed = [check for check in stage if check.repair and before[check.name].status != "ok"]
    repairs = dict.fromkeys(check.repair for check in failed if check.repair)
    errors = {repair: _apply(repair, examination) for repair in repairs}
    again = Examination(examination.database, examination.now, examination.full)
    return {
        check.name: _outcome(before[check.name], _run(check, again), errors[check.repair])
        for check in failed
        if check.repair
    }


def _apply(repair: Repair, examination: Examination) -> GbrainError | str | None:
    """Run a repair, all or nothing; return why it failed, if it did."""
    # Deleting a row must not delete the rows that refer to it: stray rows have their own check.
    examination.connection.execute("PRAGMA foreign_keys = OFF")
    try:
        with examination.database.write_transaction():
            repair(examination)
    except GbrainError as error:
        return error
    except CORRUPTION_ERRORS as error:
        return _error_kind(error)
    finally:
        examination.connection.execute("PRAGMA foreign_keys = ON")
    return None


def _outcome(before: Finding, after: Finding, error: GbrainError | str | None) -> Finding:
    if isinstance(error, GbrainError):
        # The hint of a damaged file is to repair it, which has just failed.
        fix = RESTORE if error.code == "damaged" else error.hint
        return replace(before, message=f"{before.message}; not repaired: {error.message}", fix=fix)
    if error:
        return replace(before, message=f"{before.message}; not repaired: {error}", fix=RESTORE)
    if after.status != before.status:
        return replace(before, status="repaired", fix=None)
    in_vain = after.fix is not None and after.fix.startswith(REPAIR)
    return replace(after, fix=RESTORE) if in_vain else after
