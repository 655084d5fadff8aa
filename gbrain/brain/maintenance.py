"""`Brain` methods for looking after the brain: statistics, gaps, backup, settings, aliases."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from gbrain.brain.base import BrainFile, today
from gbrain.config import find_setting, format_value, parse_value
from gbrain.errors import BadSetting
from gbrain.store import settings
from gbrain.types import Progress, Scope, no_progress

if TYPE_CHECKING:
    from gbrain.store.backup import BackupResult
    from gbrain.store.citations import CheckedCitation
    from gbrain.store.compact import CompactResult
    from gbrain.store.duplicates import DuplicateResult, SimilarPage
    from gbrain.store.gaps import Gap, GapKind
    from gbrain.store.stats import Stats
    from gbrain.text.citations import Citation


class MaintenanceMethods(BrainFile):
    """Count, check, copy and shrink what the brain holds."""

    def stats(self) -> Stats:
        """Return the counts of pages, chunks, vectors and jobs."""
        from gbrain.store.stats import read_stats

        with self.database.read_transaction() as connection:
            return read_stats(connection)

    def backup(self, target: Path | None = None, *, replace: bool = False) -> BackupResult:
        """Copy the brain to a file and check the copy; other programs may write meanwhile.

        `target` is a file or a folder (default: the brain's own folder). Raises BadBrain if the
        file exists and `replace` is false.
        """
        from gbrain.store.backup import backup_brain

        name = f"{self.path.name}.{today().isoformat()}.backup"
        return backup_brain(self.database, target, name, replace=replace)

    def mark_restored(self) -> None:
        """Let pages stay that were deleted after the backup from which the brain was restored."""
        from gbrain.store.backup import mark_restored

        with self.database.write_transaction() as connection:
            mark_restored(connection)

    def compact(self) -> CompactResult:
        """Return unused space of the file to the disk; the page history stays."""
        from gbrain.store.compact import compact_brain

        return compact_brain(self.database)

    def gaps(self) -> dict[GapKind, list[Gap]]:
        """Return what the brain lacks, by kind, the most used first."""
        from gbrain.store.gaps import find_gaps

        with self.database.read_transaction() as connection:
            return find_gaps(connection, today(), self.settings.stale_days)

    def verify(self, citations: Iterable[Citation]) -> list[CheckedCitation]:
        """Check whether cited text is still in the brain, in the order of the citations."""
        from gbrain.store.citations import verify_citation

        with self.database.read_transaction() as connection:
            return [verify_citation(connection, citation) for citation in citations]

    def duplicates(
        self,
        threshold: float,
        scope: Scope = Scope(),
        progress: Progress = no_progress,
    ) -> DuplicateResult:
        """Return pairs of pages whose similarity is at least `threshold`, highest first.

        It is the cosine of their vectors, on the scale of the packaged English model.

        Raises GbrainError if no page has vectors.
        """
        from gbrain.models.catalog import Calibration
        from gbrain.search.calibration import active_calibration
        from gbrain.store.duplicates import find_duplicate_pairs
        from gbrain.store.vectors import require_vectors

        with self.database.read_transaction() as connection:
            space = require_vectors(connection, "and dedupe compares embedded notes")
            scale = active_calibration(connection) or Calibration()
            least = scale.cosine(threshold)
            found = find_duplicate_pairs(connection, space, least, scope, progress)
        pairs = [
            pair._replace(cosine=min(scale.similarity(pair.cosine), 1.0)) for pair in found.pairs
        ]
        return found._replace(pairs=tuple(pairs))

    def near_duplicate(self, slug: str) -> SimilarPage | None:
        """Return the other page that shares most of this page's wording, if it is most of it."""
        from gbrain.store.duplicates import find_duplicate_of

        with self.database.read_transaction() as connection:
            return find_duplicate_of(connection, slug)


class SettingMethods(BrainFile):
    """Change settings, apply profiles, manage query aliases."""

    def set(self, name: str, written: str) -> str:
        """Change a setting and return its value; it takes effect when the brain is opened again."""
        value = format_value(parse_value(name, written))
        with self.database.write_transaction() as connection:
            if name == "default_folder" and value:
                value = _require_imported(connection, value)
            settings.save_setting(connection, name, value)
        return value

    def set_all(self, values: Mapping[str, str]) -> None:
        """Change several settings at once; a value equal to the default removes the setting."""
        with self.database.write_transaction() as connection:
            for name, value in values.items():
                if parse_value(name, value) == find_setting(name).default:
                    settings.remove_setting(connection, name)
                else:
                    settings.save_setting(connection, name, value)

    def reset(self, names: Iterable[str] | None = None) -> list[str]:
        """Put settings (default: all) back to the default; return the names that were set.

        Raises BadSetting for a name that is neither a setting nor stored in the file.
        """
        with self.database.write_transaction() as connection:
            stored = settings.read_settings(connection)
            wanted = sorted(stored) if names is None else list(dict.fromkeys(names))
            for name in wanted:
                if name not in stored:
                    find_setting(name)
            changed = [name for name in wanted if name in stored]
            for name in changed:
                settings.remove_setting(connection, name)
        return changed

    def use_profile(self, name: str) -> dict[str, str]:
        """Store a profile's settings; return the old values that it overwrote."""
        from gbrain.profiles import find_profile, profile_values

        named = find_profile(name).values
        values = {
            key: format_value(parse_value(key, value))
            for key, value in profile_values(name).items()
        }
        with self.database.write_transaction() as connection:
            before = settings.read_settings(connection)
            for key, value in values.items():
                if key in named:
                    settings.save_setting(connection, key, value)
                else:
                    settings.remove_setting(connection, key)
        return {key: before[key] for key in values if before.get(key, values[key]) != values[key]}

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the words that queries expand, each with its synonyms."""
        with self.database.read_transaction() as connection:
            return settings.read_aliases(connection)

    def add_alias(self, word: str, synonyms: tuple[str, ...]) -> tuple[str, ...]:
        """Add synonyms for a word; return all that it has now."""
        with self.database.write_transaction() as connection:
            settings.add_alias(connection, word, synonyms)
            return settings.read_aliases(connection)[word]

    def remove_alias(self, word: str) -> tuple[str, ...]:
        """Remove a word's synonyms and return them; empty if it has none."""
        with self.database.write_transaction() as connection:
            removed = settings.read_aliases(connection).get(word, ())
            settings.remove_alias(connection, word)
        return removed


def _require_imported(connection: sqlite3.Connection, folder: str) -> str:
    """Return the real path of a folder; raise BadSetting if it was not imported."""
    from gbrain.store.folders import list_folders

    root = os.path.realpath(Path(folder).expanduser())
    known = [each.root for each in list_folders(connection)]
    if root in known:
        return root
    raise BadSetting(
        f"{folder} was not imported, so new pages cannot be written to it",
        hint=f"The imported folders are: {', '.join(known)}."
        if known
        else f"gbrain import {quote(folder)} imports it.",
    )
