"""The examination of a brain file: `CHECKS` lists what is looked at, with its repair."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gbrain.errors import BadBrain, GbrainError
from gbrain.store.connection import Database, explain_errors
from gbrain.store.doctor import checks, repair
from gbrain.store.doctor.findings import REPAIR as REPAIR
from gbrain.store.doctor.findings import RESTORE as RESTORE
from gbrain.store.doctor.findings import STRANGE
from gbrain.store.doctor.findings import Finding as Finding

UNSEEN = Finding("note", "not checked, because of the foreign parts")


@dataclass(frozen=True, slots=True)
class Check:
    """A check, by the name that scripts know it by, and its repair if there is one."""

    name: str
    look: checks.Look
    mend: repair.Mend | None = None


def examine(
    database: Database, now: str, *, full: bool = False, mend: bool = False
) -> Iterator[tuple[str, Finding]]:
    """Runs every check in order; `full` reads more, `mend` repairs what can be repaired.

    What one check finds does not stop the next. A repair is believed when its check, run once
    more, no longer finds the fault. Raises BadBrain when another program keeps the file locked.
    """
    # A text that is not UTF-8 is a finding, not a reason to stop.
    database.connection.text_factory = _lenient
    endangered = False
    for check in CHECKS:
        finding = UNSEEN if endangered else _look(check, database, full)
        if mend and check.mend and finding.status != "ok" and not endangered:
            finding = _mended(check, check.mend, finding, database, now, full)
        # What is not gbrain's own would run when the next check reads or mends.
        endangered = endangered or (
            check.look is checks.foreign_parts and finding.status == "problem"
        )
        yield check.name, finding


def damage_of(database: Database) -> str | None:
    """What is wrong with the rows of a brain in one sentence, if anything is."""
    database.connection.text_factory = _lenient
    for check in CHECKS:
        finding = _look(check, database, True) if check.name in _OF_ROWS else UNSEEN
        if finding.status == "problem":
            return f"{finding.message} ({check.name})"
    return None


def unopened(error: BadBrain) -> Finding:
    """What there is to say of a file that cannot even be opened."""
    return Finding("problem", error.message, "Restore a backup, or import your notes afresh.", 1)


def _kind(error: Exception) -> str:
    """What is said of an error that nobody foresaw: its own words may be those of a page."""
    return getattr(error, "sqlite_errorname", None) or type(error).__name__


def _lenient(data: bytes) -> str:
    return data.decode(errors="replace")


def _look(check: Check, database: Database, full: bool) -> Finding:
    try:
        return check.look(database, full)
    except sqlite3.Error as error:
        if "locked" in str(error):
            with explain_errors(database.path):
                raise
        return Finding("problem", f"cannot be checked: {_kind(error)}", RESTORE, 1)
    except STRANGE as error:
        message = f"cannot be checked: a row holds what it should not ({_kind(error)})"
        return Finding("problem", message, RESTORE, 1)


def _mended(
    check: Check, mend: repair.Mend, before: Finding, database: Database, now: str, full: bool
) -> Finding:
    try:
        mend(database, now, full)
    except GbrainError as error:
        message = f"{before.message}; not repaired: {error.message}"
        # That a repair was tried in vain is no reason to try it again.
        fix = RESTORE if error.code == "damaged" else error.hint
        return replace(before, message=message, fix=fix)
    except STRANGE as error:
        return replace(
            before, message=f"{before.message}; not repaired: {_kind(error)}", fix=RESTORE
        )
    after = _look(check, database, full)
    if after.status == before.status:
        in_vain = after.fix is not None and after.fix.startswith(REPAIR)
        return replace(after, fix=RESTORE) if in_vain else after
    return replace(before, status="repaired", fix=None)


# Repairs lean on the ones before: the keyword indexes are sound when passages are cut anew, and
# what was cut anew asks for its vectors.
CHECKS = (
    Check("file_mode", checks.file_mode, repair.close_files),
    Check("foreign_parts", checks.foreign_parts, repair.take_out_foreign),
    Check("integrity", checks.integrity, repair.rebuild_indexes),
    Check("schema", checks.schema, repair.complete_schema),
    Check("values", checks.values, repair.drop_wrong_rows),
    Check("page_facts", checks.page_facts, repair.restore_facts),
    Check("page_index", checks.keyword_index("pages_fts"), repair.rebuild_pages),
    Check("passage_index", checks.keyword_index("chunks_fts"), repair.rebuild_passages),
    Check("stray_rows", checks.stray_rows, repair.drop_stray_rows),
    Check("stray_passages", checks.stray_passages, repair.drop_stray_passages),
    Check("question_index", checks.keyword_index("questions_fts"), repair.ask_anew),
    Check("page_texts", checks.page_texts, repair.accept_texts),
    Check("versions", checks.versions),
    Check("slugs", checks.slugs, repair.follow_paths),
    Check("passages", checks.passages, repair.cut_anew),
    Check("references", checks.references, repair.name_anew),
    Check("vectors", checks.vectors, repair.drop_vectors),
    Check("missing_vectors", checks.missing_vectors, repair.enqueue),
    Check("stray_vectors", checks.stray_vectors, repair.drop_stray_vectors),
    Check("model_folders", checks.model_folders),
    Check("stray_jobs", checks.stray_jobs, repair.drop_stray_jobs),
    Check("failed_jobs", checks.failed_jobs),
    Check("links", checks.links),
    Check("settings", checks.settings, repair.forget_settings),
    Check("folders", checks.folders),
    Check("other_names", checks.other_names),
    Check("leftovers", checks.leftovers, repair.clear_leftovers),
)
# Where a row can be such that reading it fails.
_OF_ROWS = {
    "integrity", "schema", "values", "page_facts", "page_texts", "versions", "passages", "vectors",
    "settings",
}  # fmt: skip
