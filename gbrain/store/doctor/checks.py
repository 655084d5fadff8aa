"""The table of all checks: name, what it looks for, its messages and its repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gbrain.store.doctor import files, pages, rows, vectors
from gbrain.store.doctor.findings import REPAIR, RESTORE, Examination, Found, Status
from gbrain.store.doctor.rebuild import rebuild_derived
from gbrain.store.schema import integrity_errors

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
        Check("foreign_parts", files.foreign_objects, "gbrain created every object",
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
        Check("page_facts", partial(pages.differing, "columns"),
              "titles, dates and other facts match the pages",
              "pages whose stored title, date or other fact is wrong", rebuild_derived),
        Check("page_index", partial(pages.check_keyword_index, "pages_fts"), "", "",
              rebuild_derived),
        Check("passage_index", partial(pages.check_keyword_index, "chunks_fts"), "", "",
              rebuild_derived),
        Check("stray_rows", rows.stray_rows, "every row has the row it belongs to",
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
        Check("passages", partial(pages.differing, "chunks"), "the chunks match the pages",
              "pages whose chunks do not match their text", rebuild_derived),
        Check("references", partial(pages.differing, "references"),
              "the names, tags and links match the pages",
              "pages whose names, tags or links do not match their text", rebuild_derived),
    ),
    (
        Check("vectors", vectors.unusable, "every vector can be used", "unusable vectors",
              vectors.drop_unusable),
    ),
    (
        Check("missing_vectors", vectors.missing, "every chunk has a vector or is queued for one",
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
        Check("links", pages.dangling_links, "every link leads to a page",
              "links that lead to no page", None, "note",
              "Write those pages, or correct the links."),
        Check("settings", rows.bad_settings, "every setting is known",
              "settings with an invalid value", rows.reset_bad_settings),
        Check("folders", files.missing_folders, "every imported folder exists",
              "imported folders that do not exist", None, "note",
              "Mount the disk or put the folder back; its pages stay in the brain."),
        Check("other_names", files.hard_links, "the file has one name",
              "other names of the file (writing through two names at once loses data)", None,
              "note", "Use one name only; a hard link is not a backup."),
        Check("leftovers", files.leftovers, "no unfinished files",
              "unfinished files of a command that was stopped", files.remove_leftovers, "note"),
    ),
)  # fmt: skip
