"""A brain in which some writes of pages are refused, whatever code makes them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from gbrain.errors import GbrainError
from gbrain.store.brain_files import FileStamp
from gbrain.store.connection import Database

_REFUSED = "refused by a guard"
# A page whose text is the one that it and the remote had in common last.
_IN_STEP = "EXISTS (SELECT 1 FROM main.remote_pages WHERE slug = OLD.slug AND sha256 = OLD.sha256)"
# Refuses changes of pages that are in step with the remote, and new pages. What already waits to be
# pushed may be changed, so that it can be taken back.
_IN_STEP_GUARDS = {
    "INSERT": "NOT EXISTS "
    "(SELECT 1 FROM main.remote_pages WHERE slug = NEW.slug AND sha256 IS NOT NULL)",
    "UPDATE": f"(NEW.sha256 != OLD.sha256 OR NEW.slug != OLD.slug) AND {_IN_STEP}",
    "DELETE": _IN_STEP,
}


class GuardedDatabase(Database):
    """A brain in which the writes of pages that `guards` name raise an error.

    `guards` are SQL conditions over the rows OLD and NEW, by event: INSERT, UPDATE, DELETE. They
    may call the `functions`, each with one text. `mark_pages` records pages that are written as
    those of a limited token.
    """

    def __init__(
        self,
        path: Path,
        guards: Mapping[str, str],
        refusal: Callable[[], GbrainError],
        *,
        functions: Mapping[str, Callable[[str], bool]] = {},
        mark_pages: bool = False,
        busy_seconds: float = 10.0,
    ) -> None:
        self._guards, self._refusal, self._functions = guards, refusal, functions
        self._mark_pages = mark_pages
        super().__init__(path, busy_seconds=busy_seconds)

    def _connect(self) -> tuple[sqlite3.Connection, FileStamp | None]:
        connection, stamp = super()._connect()
        if not self.read_only:
            for name, function in self._functions.items():
                connection.create_function(name, 1, function, deterministic=True)
            # Temporary triggers belong to the connection, not to the file.
            for event, condition in self._guards.items():
                connection.execute(
                    f"CREATE TEMP TRIGGER guard_{event.lower()} BEFORE {event} ON main.pages "
                    f"WHEN {condition} BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
                )
            if self._mark_pages:
                for event in ("INSERT", "UPDATE OF sha256"):
                    connection.execute(
                        f"CREATE TEMP TRIGGER mark_{event[:6].lower()} AFTER {event} ON main.pages "
                        "BEGIN INSERT OR IGNORE INTO token_pages VALUES (NEW.id); END"
                    )
        return connection, stamp

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        try:
            with super().write_transaction() as connection:
                yield connection
        except GbrainError as error:
            cause = error.__cause__
            if isinstance(cause, sqlite3.IntegrityError) and _REFUSED in str(cause):
                raise self._refusal() from None
            raise


def keep_in_step(path: Path, refusal: Callable[[], GbrainError]) -> GuardedDatabase:
    """Open the replica of a shared brain so that its pages stay those of the remote."""
    return GuardedDatabase(path, _IN_STEP_GUARDS, refusal)
