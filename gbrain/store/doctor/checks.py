"""The checks of a brain file: each says what it saw."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gbrain.store.atomic_files import abandoned
from gbrain.store.connection import Database
from gbrain.store.doctor import file_problems, page_problems, row_problems
from gbrain.store.doctor.findings import REPAIR, RESTORE, Finding, found
from gbrain.store.doctor.vector_problems import spoilt_vectors
from gbrain.store.folders import vaults
from gbrain.store.links import dangling
from gbrain.store.schema import SCHEMA_ROWS
from gbrain.store.schema import foreign_parts as foreign

Look = Callable[[Database, bool], Finding]


# --- the file --------------------------------------------------------------------------------


def file_mode(database: Database, full: bool) -> Finding:
    if os.name == "nt":
        return Finding("ok", "left to the system")
    opened = file_problems.open_files(database.path)
    if opened:
        modes = tuple(f"{file.name} has mode {mode:04o}" for file, mode in opened)
        message = "others than you may open the brain"
        return found("problem", message, message, modes)
    return Finding("ok", "only you may open the file")


def other_names(database: Database, full: bool) -> Finding:
    others = os.stat(database.path).st_nlink - 1
    if others:
        one = "the file has another name (a hard link): what is written by both at once is lost"
        many = "the file has {} other names (hard links): what is written by two at once is lost"
        fix = "Use one name only; a snapshot that shares the file is not a backup of it."
        return found("note", one, many, others, fix)
    return Finding("ok", "the file has one name")


def integrity(database: Database, full: bool) -> Finding:
    lines = file_problems.damage(database.connection, full)
    if lines:
        return found("problem", "the file is damaged", "the file is damaged", tuple(lines))
    return Finding("ok", "SQLite finds the file sound")


def foreign_parts(database: Database, full: bool) -> Finding:
    rows = database.connection.execute(SCHEMA_ROWS)
    seen = tuple(sorted(f"{kind} {name}" for kind, name in foreign(rows)))
    if seen:
        one = "a part that gbrain did not make could run"
        many = "{} parts that gbrain did not make could run"
        return found("problem", one, many, seen, f"{REPAIR} takes them out.")
    return Finding("ok", "nothing could run that gbrain did not make")


def schema(database: Database, full: bool) -> Finding:
    missing = tuple(file_problems.missing_parts(database.connection))
    if missing:
        one, many = "a part of the schema is missing", "{} parts of the schema are missing"
        return found("problem", one, many, missing)
    return Finding("ok", "all tables and indexes are there")


def values(database: Database, full: bool) -> Finding:
    counts = Counter(row.table for row in row_problems.wrong_rows(database.connection))
    if counts:
        one, many = "a row holds what it should not", "{} rows hold what they should not"
        details = tuple(f"{table}: {count}" for table, count in counts.items())
        fix = RESTORE if set(counts) == {"versions"} else REPAIR
        return replace(found("problem", one, many, counts.total(), fix), details=details)
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
        if full and file_problems.unreachable_words(database.connection, table):
            return Finding("problem", "words in the keyword index are not found there", REPAIR, 1)
        return Finding("ok", "the keyword index agrees with the pages")

    return look


def stray_rows(database: Database, full: bool) -> Finding:
    seen = file_problems.stray_rows(database.connection)
    if seen:
        one, many = "a row belongs to nothing", "{} rows belong to nothing"
        counts = sorted(seen.items())
        details = tuple(f"{table} without {parent}: {count}" for (table, parent), count in counts)
        return replace(found("problem", one, many, seen.total()), details=details)
    return Finding("ok", "every row belongs to something")


# --- pages and passages ----------------------------------------------------------------------


def stray_passages(database: Database, full: bool) -> Finding:
    count = file_problems.stray_passages(database.connection)
    if count:
        return found("problem", "a passage is of no page", "{} passages are of no page", count)
    return Finding("ok", "every passage has its page")


def page_texts(database: Database, full: bool) -> Finding:
    changed, unreadable = page_problems.wrong_texts(database.connection)
    if unreadable:
        one, many = "a page cannot be read", "{} pages cannot be read"
        return found("problem", one, many, tuple(unreadable), RESTORE)
    if changed:
        one = "a page is not as it was written"
        many = "{} pages are not as they were written"
        fix = f"{REPAIR} takes them as they stand; a backup may have them as they were."
        return found("problem", one, many, tuple(slug for _, slug in changed), fix)
    return Finding("ok", "every page is as it was written")


def page_facts(database: Database, full: bool) -> Finding:
    wrong = page_problems.wrong_facts(database.connection, full)
    if wrong:
        one = "something else is known of a page than it says"
        many = "something else is known of {} pages than they say"
        return found("problem", one, many, tuple(slug for _, slug in wrong))
    return Finding("ok", "what is known of pages stands in them")


def versions(database: Database, full: bool) -> Finding:
    lost = tuple(page_problems.unreadable_versions(database.connection)) if full else ()
    if lost:
        one, many = "an earlier version cannot be read", "{} earlier versions cannot be read"
        return found("problem", one, many, lost, RESTORE)
    return Finding("ok", "every earlier version can be read")


def slugs(database: Database, full: bool) -> Finding:
    wrong = page_problems.wrong_slugs(database.connection)
    details = tuple(f"{slug} is kept at {path}" for _, slug, path in wrong)
    if details:
        one, many = "a slug does not follow its path", "{} slugs do not follow their paths"
        return found("problem", one, many, details)
    return Finding("ok", "every slug follows its path")


def passages(database: Database, full: bool) -> Finding:
    wrong = tuple(slug for _, slug in page_problems.wrong_passages(database.connection, full))
    if wrong:
        one, many = "a page has the wrong passages", "{} pages have the wrong passages"
        return found("problem", one, many, wrong)
    return Finding("ok", "every passage stands in its page")


def references(database: Database, full: bool) -> Finding:
    wrong = tuple(slug for _, slug in page_problems.wrong_references(database.connection, full))
    if wrong:
        one, many = "a page lacks names, tags or links", "{} pages lack names, tags or links"
        return found("problem", one, many, wrong)
    return Finding("ok", "every page has its names, tags and links")


# --- vectors ---------------------------------------------------------------------------------


def vectors(database: Database, full: bool) -> Finding:
    wrong = file_problems.wrong_vectors(database.connection)
    if full:
        wrong.update(kind for *_, kind in spoilt_vectors(database.connection))
    if wrong:
        details = tuple(f"{fault}: {count}" for fault, count in wrong.items())
        return Finding("problem", "vectors cannot be used", REPAIR, wrong.total(), details)
    return Finding("ok", "every vector can be used")


def missing_vectors(database: Database, full: bool) -> Finding:
    count = len(file_problems.unembedded(database.connection))
    if count:
        one = "a page has passages that search by meaning will never see"
        many = "{} pages have passages that search by meaning will never see"
        return found("problem", one, many, count)
    return Finding("ok", "every passage has a vector or waits for one")


def stray_vectors(database: Database, full: bool) -> Finding:
    count = file_problems.stray_vectors(database.connection)
    if count:
        one = "a vector is of a text that no page holds any more"
        many = "{} vectors are of texts that no page holds any more"
        return found("note", one, many, count, f"{REPAIR} or gbrain compact drops them.")
    return Finding("ok", "every vector is of a passage")


def model_folders(database: Database, full: bool) -> Finding:
    gone = tuple(file_problems.models_gone(database.connection))
    if gone:
        one, many = "a model's folder is gone", "the folders of {} models are gone"
        fix = "Put it back, or choose another with gbrain model use NAME."
        return found("problem", one, many, gone, fix)
    return Finding("ok", "every model is where it was added from")


def stray_jobs(database: Database, full: bool) -> Finding:
    count = file_problems.stray_jobs(database.connection)
    if count:
        one = "a job is for a text that no page holds any more"
        many = "{} jobs are for texts that no page holds any more"
        return found("note", one, many, count)
    return Finding("ok", "every job is for a page")


def failed_jobs(database: Database, full: bool) -> Finding:
    failed = tuple(file_problems.failed_jobs(database.connection))
    if failed:
        one, many = "a passage could not be embedded", "{} passages could not be embedded"
        fix = "gbrain jobs list says why; gbrain jobs retry tries again."
        return found("note", one, many, failed, fix)
    return Finding("ok", "no job has failed")


# --- what surrounds --------------------------------------------------------------------------


def links(database: Database, full: bool) -> Finding:
    lost = dangling(database.connection)
    details = tuple(f"{slug}:{line} names {target}" for slug, line, target in lost)
    if details:
        fix = "Write those pages, or correct the links."
        return found("note", "a link leads nowhere", "{} links lead nowhere", details, fix)
    return Finding("ok", "every link leads to a page")


def settings(database: Database, full: bool) -> Finding:
    bad, unknown = file_problems.strange_settings(database.connection)
    if bad:
        one = "a setting has a value that it cannot have"
        many = "{} settings have a value that they cannot have"
        return found("problem", one, many, tuple(bad))
    if unknown:
        one, many = "a setting is not known here", "{} settings are not known here"
        fix = "A newer gbrain may know them; gbrain config reset NAME drops one."
        return found("note", one, many, tuple(unknown), fix)
    return Finding("ok", "every setting is known")


def leftovers(database: Database, full: bool) -> Finding:
    left = tuple(file.name for file in abandoned(database.path.parent))
    if left:
        one, many = "a file was left unfinished", "{} files were left unfinished"
        return found("note", one, many, left)
    return Finding("ok", "nothing was left unfinished")


def folders(database: Database, full: bool) -> Finding:
    roots = [vault.root for vault in vaults(database.connection)]
    gone = tuple(root for root in roots if not Path(root).is_dir())
    if gone:
        one, many = "an imported folder is gone", "{} imported folders are gone"
        fix = "Mount the disk or put it back; its pages stay in the brain."
        return found("note", one, many, gone, fix)
    return Finding("ok", "every imported folder is there")
