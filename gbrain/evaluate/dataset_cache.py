"""Build the brain of a dataset once and keep it in a cache for later evaluations."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain import __version__
from gbrain.brain import Brain, timestamp
from gbrain.errors import BadPage, GbrainError
from gbrain.evaluate.datasets import Dataset, DatasetDocument
from gbrain.paths import cache_folder, make_folder
from gbrain.store import settings
from gbrain.store.connection import Database, create_brain
from gbrain.store.history import delete_all_versions
from gbrain.store.page_writer import delete_page, write_page
from gbrain.store.pages import all_slugs
from gbrain.text.page import parse_page
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from gbrain.store.jobs import Backlog
    from gbrain.store.vector_space import Floats

# Stored with the settings of a dataset's brain: the digest of the code that built its pages.
_BUILT_BY = "evaluation_made_by"
_PAGE_CODE = ("text/page.py", "store/page_writer.py")
_IMPORTED = r"(?m)^ *from gbrain\.(text|store)(?:\.(\w+))? import \(?([\w, ]*)"


class DatasetBrain(Brain):
    """A brain that keeps the last query's vector: each configuration asks the same query."""

    _last_vector: tuple[str, Floats] | None = None

    def _embed_query(self, text: str) -> Floats:
        if self._last_vector is None or self._last_vector[0] != text:
            self._last_vector = (text, super()._embed_query(text))
        return self._last_vector[1]

    def embed_new_chunks(self) -> Backlog:
        """Return what is not embedded; measuring a set must not change its brain."""
        return self.backlog()

    def forget_last_query(self) -> None:
        """Drop the cached vector and reranker scores, so that the next query does all its work."""
        from gbrain.models.reranker import clear_score_cache

        self._last_vector = None
        clear_score_cache()


def default_cache_folder() -> Path:
    """Return the folder of dataset brains inside gbrain's cache folder."""
    return cache_folder() / "eval"


def open_dataset_brain(
    dataset: Dataset, cache: Path | None = None, progress: Progress = no_progress
) -> DatasetBrain:
    """Return a brain with exactly the dataset's documents, built now unless it is in the cache.

    The cache key is the documents' content. Pages are written again when the code that parses and
    stores them has changed; vectors of unchanged chunks are kept.
    """
    folder = cache or default_cache_folder()
    try:
        make_folder(folder)
    except OSError as error:
        raise GbrainError(
            f"Cannot create the folder {folder}: {error.strerror}",
            hint="Choose another folder with --cache DIR.",
            code="no_cache",
        ) from None
    path = folder / f"{dataset.digest}.db"
    if not path.exists():
        create_brain(path)
    brain = DatasetBrain(Database(path))
    try:
        code_digest = page_code_digest()
        if brain.stored_settings.get(_BUILT_BY) != code_digest:
            _write_pages(brain, dataset.documents, code_digest, progress)
    except BaseException:
        brain.close()
        raise
    return brain


def _write_pages(
    brain: Brain, documents: tuple[DatasetDocument, ...], code_digest: str, progress: Progress
) -> None:
    """Replace all pages of the brain by the documents, in one transaction."""
    now = timestamp()
    with brain.database.write_transaction() as connection:
        for slug in all_slugs(connection):
            delete_page(connection, slug, now)
        for number, document in enumerate(documents, 1):
            try:
                page = parse_page(document.path, document.data)
            except BadPage as error:
                raise BadPage(f"{document.source}: {error.message}", hint=error.hint) from None
            write_page(connection, page, now)
            progress(number, len(documents))
        # An evaluation never reads the history.
        delete_all_versions(connection)
        settings.save_setting(connection, _BUILT_BY, code_digest)


def page_code_digest(package: Path = Path(__file__).parent.parent) -> str:
    """Return a digest of the code in `package` that turns text into a page with chunks."""
    pending = [package / name for name in _PAGE_CODE]
    files: dict[Path, bytes] = {}
    while pending:
        file = pending.pop()
        if file in files or not file.exists():
            continue
        files[file] = file.read_bytes()
        for folder, name, members in re.findall(_IMPORTED, files[file].decode()):
            names = [name] if name else re.findall(r"\w+", members)
            pending += [package / folder / f"{name}.py" for name in names]
    total = sha256(__version__.encode())
    for file in sorted(files):
        total.update(files[file])
    return total.hexdigest()[:20]
