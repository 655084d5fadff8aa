"""The checks of a brain file: each says what it saw, `CHECKS` lists them with their repairs."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gbrain.errors import BadBrain, GbrainError
from gbrain.store import faults, page_faults, repair, row_faults
from gbrain.store.connection import Database, explained
from gbrain.store.links import dangling
from gbrain.store.schema import SCHEMA_ROWS
from gbrain.store.schema import foreign_parts as foreign
from gbrain.store.strange import STRANGE
from gbrain.store.vaults import vaults

Status = Literal["ok", "note", "problem", "repaired"]

REPAIR = "gbrain doctor --repair"
RESTORE = "Restore a backup, or export the pages and import them into a new brain."


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check saw: `count` things, named in `details`; `fix` is the next step.

    A note is worth knowing; a problem makes answers wrong or endangers the pages.
    """

    status: Status
    message: str
    fix: str | None = None
    count: int = 0
    details: tuple[str, ...] = ()


UNSEEN = Finding("note", "not checked, because of the foreign parts")
Look = Callable[[Database, bool], Finding]


@dataclass(frozen=True, slots=True)
class Check:
    """A check, by the name that scripts know it by, and its repair if there is one."""

    name: str
    look: Look
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
        endangered = endangered or (check.look is foreign_parts and finding.status == "problem")
        yield check.name, finding


def damage_of(database: Database) -> str | None:
    """What is wrong with the rows of a brain in one sentence, if anything is."""
    database.connection.text_factory = _lenient
    for check in CHECKS:
        finding = _look(check, database, True) if check.look in _OF_ROWS else UNSEEN
        if finding.status == "problem":
            return f"{finding.message} ({check.name})"
    return None


def unopened(error: BadBrain) -> Finding:
    """What there is to say of a file that cannot even be opened."""
    return Finding("problem", error.message, "Restore a backup, or import your notes afresh.", 1)


def _lenient(data: bytes) -> str:
    return data.decode(errors="replace")


def _look(check: Check, database: Database, full: bool) -> Finding:
    try:
        return check.look(database, full)
    except sqlite3.Error as error:
        if "locked" in str(error):
            with explained(database.path):
                raise
        return Finding("problem", f"cannot be checked: {error}", RESTORE, 1)
    except STRANGE as error:
        message = f"cannot be checked: a row holds what it should not ({error})"
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
        return replace(before, message=f"{before.message}; not repaired: {error}", fix=RESTORE)
    after = _look(check, database, full)
    if after.status == before.status:
        in_vain = after.fix is not None and after.fix.startswith(REPAIR)
        return replace(after, fix=RESTORE) if in_vain else after
    return replace(before, status="repaired", fix=None)


def _found(
    status: Status, one: str, many: str, details: tuple[str, ...] | int, fix: str | None = REPAIR
) -> Finding:
    """A finding about things, named or only counted; `{}` in the message stands for how many."""
    places = () if isinstance(details, int) else details
    count = details if isinstance(details, int) else len(details)
    return Finding(status, (one if count == 1 else many).format(f"{count:,}"), fix, count, places)


# --- the file --------------------------------------------------------------------------------


def file_mode(database: Database, full: bool) -> Finding:
    if os.name == "nt":
        return Finding("ok", "left to the system")
    opened = faults.open_files(database.path)
    if opened:
        modes = tuple(f"{file.name} has mode {mode:04o}" for file, mode in opened)
        message = "others than you may open the brain"
        return _found("problem", message, message, modes)
    return Finding("ok", "only you may open the file")


def integrity(database: Database, full: bool) -> Finding:
    lines = faults.damage(database.connection, full)
    if lines:
        return _found("problem", "the file is damaged", "the file is damaged", tuple(lines))
    return Finding("ok", "SQLite finds the file sound")


def foreign_parts(database: Database, full: bool) -> Finding:
    rows = database.connection.execute(SCHEMA_ROWS)
    found = tuple(sorted(f"{kind} {name}" for kind, name in foreign(rows)))
    if found:
        one = "a part that gbrain did not make could run"
        many = "{} parts that gbrain did not make could run"
        return _found("problem", one, many, found, f"{REPAIR} takes them out.")
    return Finding("ok", "nothing could run that gbrain did not make")


def schema(database: Database, full: bool) -> Finding:
    missing = tuple(faults.missing_parts(database.connection))
    if missing:
        one, many = "a part of the schema is missing", "{} parts of the schema are missing"
        return _found("problem", one, many, missing)
    return Finding("ok", "all tables and indexes are there")


def values(database: Database, full: bool) -> Finding:
    counts = Counter(row.table for row in row_faults.wrong_rows(database.connection))
    if counts:
        one, many = "a row holds what it should not", "{} rows hold what they should not"
        details = tuple(f"{table}: {count}" for table, count in counts.items())
        fix = RESTORE if set(counts) == {"versions"} else REPAIR
        return replace(_found("problem", one, many, counts.total(), fix), details=details)
    return Finding("ok", "every row holds what it should")


def keyword_index(table: str) -> Look:
    """FTS5's own check, which also compares the index with the text it stands for."""

    def look(database: Database, full: bool) -> Finding:
        if database.read_only:
            return Finding("note", "not checked: the check needs a file that may be written")
        try:
            database.connection.execute(
                f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)"
            )
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            return Finding("problem", "the keyword index does not agree with the pages", REPAIR, 1)
        return Finding("ok", "the keyword index agrees with the pages")

    return look


def stray_rows(database: Database, full: bool) -> Finding:
    found = faults.stray_rows(database.connection)
    if found:
        one, many = "a row belongs to nothing", "{} rows belong to nothing"
        counts = sorted(found.items())
        details = tuple(f"{table} without {parent}: {count}" for (table, parent), count in counts)
        return replace(_found("problem", one, many, found.total()), details=details)
    return Finding("ok", "every row belongs to something")


# --- pages and passages ----------------------------------------------------------------------


def stray_passages(database: Database, full: bool) -> Finding:
    count = faults.stray_passages(database.connection)
    if count:
        return _found("problem", "a passage is of no page", "{} passages are of no page", count)
    return Finding("ok", "every passage has its page")


def page_texts(database: Database, full: bool) -> Finding:
    changed, unreadable = page_faults.wrong_texts(database.connection)
    if unreadable:
        one, many = "a page cannot be read", "{} pages cannot be read"
        return _found("problem", one, many, tuple(unreadable), RESTORE)
    if changed:
        one = "a page is not as it was written"
        many = "{} pages are not as they were written"
        fix = f"{REPAIR} takes them as they stand; a backup may have them as they were."
        return _found("problem", one, many, tuple(slug for _, slug in changed), fix)
    return Finding("ok", "every page is as it was written")


def page_facts(database: Database, full: bool) -> Finding:
    wrong = page_faults.wrong_facts(database.connection) if full else []
    if wrong:
        one = "something else is known of a page than it says"
        many = "something else is known of {} pages than they say"
        return _found("problem", one, many, tuple(slug for _, slug in wrong))
    return Finding("ok", "what is known of pages stands in them")


def versions(database: Database, full: bool) -> Finding:
    lost = tuple(page_faults.unreadable_versions(database.connection)) if full else ()
    if lost:
        one, many = "an earlier version cannot be read", "{} earlier versions cannot be read"
        return _found("problem", one, many, lost, RESTORE)
    return Finding("ok", "every earlier version can be read")


def slugs(database: Database, full: bool) -> Finding:
    wrong = page_faults.wrong_slugs(database.connection)
    details = tuple(f"{slug} is kept at {path}" for _, slug, path in wrong)
    if details:
        one, many = "a slug does not follow its path", "{} slugs do not follow their paths"
        return _found("problem", one, many, details)
    return Finding("ok", "every slug follows its path")


def passages(database: Database, full: bool) -> Finding:
    wrong = tuple(slug for _, slug in page_faults.wrong_passages(database.connection, full))
    if wrong:
        one, many = "a page has the wrong passages", "{} pages have the wrong passages"
        return _found("problem", one, many, wrong)
    return Finding("ok", "every passage stands in its page")


def references(database: Database, full: bool) -> Finding:
    wrong = tuple(slug for _, slug in page_faults.wrong_references(database.connection, full))
    if wrong:
        one, many = "a page lacks names, tags or links", "{} pages lack names, tags or links"
        return _found("problem", one, many, wrong)
    return Finding("ok", "every page has its names, tags and links")


# --- vectors ---------------------------------------------------------------------------------


def vectors(database: Database, full: bool) -> Finding:
    wrong = faults.wrong_vectors(database.connection)
    if wrong:
        details = tuple(f"{fault}: {count}" for fault, count in wrong.items())
        return Finding("problem", "vectors cannot be used", REPAIR, wrong.total(), details)
    return Finding("ok", "every vector can be used")


def missing_vectors(database: Database, full: bool) -> Finding:
    count = len(faults.unembedded(database.connection))
    if count:
        one = "a page has passages that search by meaning will never see"
        many = "{} pages have passages that search by meaning will never see"
        return _found("problem", one, many, count)
    return Finding("ok", "every passage has a vector or waits for one")


def stray_jobs(database: Database, full: bool) -> Finding:
    count = faults.stray_jobs(database.connection)
    if count:
        one = "a job is for a text that no page holds any more"
        many = "{} jobs are for texts that no page holds any more"
        return _found("note", one, many, count)
    return Finding("ok", "every job is for a page")


def failed_jobs(database: Database, full: bool) -> Finding:
    failed = tuple(faults.failed_jobs(database.connection))
    if failed:
        one, many = "a passage could not be embedded", "{} passages could not be embedded"
        fix = "gbrain jobs list says why; gbrain jobs retry tries again."
        return _found("note", one, many, failed, fix)
    return Finding("ok", "no job has failed")


# --- what surrounds --------------------------------------------------------------------------


def links(database: Database, full: bool) -> Finding:
    lost = dangling(database.connection)
    details = tuple(f"{slug}:{line} names {target}" for slug, line, target in lost)
    if details:
        fix = "Write those pages, or correct the links."
        return _found("note", "a link leads nowhere", "{} links lead nowhere", details, fix)
    return Finding("ok", "every link leads to a page")


def settings(database: Database, full: bool) -> Finding:
    bad, unknown = faults.strange_settings(database.connection)
    if bad:
        one = "a setting has a value that it cannot have"
        many = "{} settings have a value that they cannot have"
        return _found("problem", one, many, tuple(bad))
    if unknown:
        one, many = "a setting is not known here", "{} settings are not known here"
        fix = "A newer gbrain may know them; gbrain config reset NAME drops one."
        return _found("note", one, many, tuple(unknown), fix)
    return Finding("ok", "every setting is known")


def folders(database: Database, full: bool) -> Finding:
    roots = [vault.root for vault in vaults(database.connection)]
    gone = tuple(root for root in roots if not Path(root).is_dir())
    if gone:
        one, many = "an imported folder is gone", "{} imported folders are gone"
        fix = "Mount the disk or put it back; its pages stay in the brain."
        return _found("note", one, many, gone, fix)
    return Finding("ok", "every imported folder is there")


# Repairs lean on the ones before: the keyword indexes are sound when passages are cut anew, and
# what was cut anew asks for its vectors.
CHECKS = (
    Check("file_mode", file_mode, repair.close_files),
    Check("foreign_parts", foreign_parts, repair.take_out_foreign),
    Check("integrity", integrity, repair.rebuild_indexes),
    Check("schema", schema, repair.complete_schema),
    Check("values", values, repair.drop_wrong_rows),
    Check("page_facts", page_facts, repair.restore_facts),
    Check("page_index", keyword_index("pages_fts"), repair.rebuild_keywords("pages_fts")),
    Check("passage_index", keyword_index("chunks_fts"), repair.rebuild_keywords("chunks_fts")),
    Check("stray_rows", stray_rows, repair.drop_stray_rows),
    Check("stray_passages", stray_passages, repair.drop_stray_passages),
    Check("question_index", keyword_index("questions_fts"), repair.ask_anew),
    Check("page_texts", page_texts, repair.accept_texts),
    Check("versions", versions),
    Check("slugs", slugs, repair.follow_paths),
    Check("passages", passages, repair.cut_anew),
    Check("references", references, repair.name_anew),
    Check("vectors", vectors, repair.drop_vectors),
    Check("missing_vectors", missing_vectors, repair.enqueue),
    Check("stray_jobs", stray_jobs, repair.drop_stray_jobs),
    Check("failed_jobs", failed_jobs),
    Check("links", links),
    Check("settings", settings, repair.forget_settings),
    Check("folders", folders),
)
# Where a row can be such that reading it fails.
_OF_ROWS = (
    integrity, schema, values, page_facts, page_texts, versions, passages, vectors, settings,
)  # fmt: skip
