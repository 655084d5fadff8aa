"""Runs the checks of a brain file in order and repairs what they find."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from gbrain.errors import BadBrain, GbrainError
from gbrain.store.connection import Database
from gbrain.store.doctor.checks import STAGES, Check, Repair
from gbrain.store.doctor.findings import (
    CORRUPTION_ERRORS,
    REPAIR,
    RESTORE,
    Examination,
    Finding,
)
from gbrain.store.sqlite_errors import explain_errors

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
        fix = "Restore a backup, or import your notes into a new brain."
        yield "file", Finding("problem", error.message, fix, 1)


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
        findings = _run_stage(stage, Examination(database, now, full))
        if repair:
            findings |= _repair_stage(stage, findings, Examination(database, now, full))
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


def _run_stage(stage: tuple[Check, ...], examination: Examination) -> dict[str, Finding]:
    return {check.name: _run(check, examination) for check in stage}


def _run(check: Check, examination: Examination) -> Finding:
    try:
        found = check.find(examination)
    except sqlite3.Error as error:
        if "locked" in str(error):
            with explain_errors(examination.path):
                raise
        return Finding("problem", f"cannot be checked: {_error_kind(error)}", RESTORE, 1)
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
