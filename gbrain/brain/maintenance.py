"""`Brain` methods for looking after the file: statistics, gaps, duplicates, backup."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.brain.base import BrainFile
from gbrain.brain.clock import today
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
        """Return pairs of pages whose cosine similarity is at least `threshold`, highest first.

        Raises GbrainError if no page has vectors.
        """
        from gbrain.errors import GbrainError
        from gbrain.store.duplicates import find_duplicate_pairs
        from gbrain.store.vectors import active_space, has_vectors

        with self.database.read_transaction() as connection:
            space = active_space(connection)
            if space is None or not has_vectors(connection, space):
                raise GbrainError(
                    "No note is embedded yet, and dedupe compares embedded notes",
                    hint="gbrain embed embeds them.",
                    code="no_vectors",
                )
            return find_duplicate_pairs(connection, space, threshold, scope, progress)

    def near_duplicate(self, slug: str) -> SimilarPage | None:
        """Return the other page that shares most of this page's wording, if it is most of it."""
        from gbrain.store.duplicates import find_duplicate_of

        with self.database.read_transaction() as connection:
            return find_duplicate_of(connection, slug)
