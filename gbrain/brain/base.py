"""The open brain file that all groups of `Brain` methods work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from gbrain.config import Settings, all_settings, override_settings
from gbrain.errors import BadSetting
from gbrain.paths import resolve_brain
from gbrain.store import settings
from gbrain.store.connection import Database, ReadOnlyDatabase, create_brain


class BrainFile:
    """An open brain file with its settings."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.reload_settings()
        database.connection.execute(
            f"PRAGMA busy_timeout = {int(self.settings.busy_seconds * 1000)}"
        )
        # Called with a shell command from the brain file that its user has never approved here.
        self.confirm: Callable[[str], bool] = lambda command: False

    @classmethod
    def open(
        cls, path: str | Path | None = None, *, make: bool = False, read_only: bool = False
    ) -> Self:
        """Open the brain at `path` (default: the default path); `make` creates a missing one.

        With `read_only` SQLite refuses every write through this brain.
        """
        file = resolve_brain(path)
        if read_only:
            return cls(ReadOnlyDatabase(file))
        if make and not file.exists():
            create_brain(file)
        return cls(Database(file))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and the models; a `with` block does this at its end."""
        self.database.close()

    @property
    def path(self) -> Path:
        """The brain file."""
        return self.database.path

    @property
    def read_only(self) -> bool:
        """Whether the file cannot be written."""
        return self.database.read_only

    def reload_settings(self) -> None:
        """Read the settings from the file again."""
        with self.database.read_transaction() as connection:
            self.stored_settings = settings.read_settings(connection)
        self.settings: Settings = _usable_settings(self.stored_settings)


def _usable_settings(stored: Mapping[str, str]) -> Settings:
    """Return the stored settings, with the default for each value that cannot be read."""
    usable = Settings()
    for name in all_settings().keys() & stored.keys():
        with suppress(BadSetting):
            usable = override_settings(usable, {name: stored[name]})
    return usable
