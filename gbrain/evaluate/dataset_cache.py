"""The brain of a labelled set: made once, kept in a cache, and asked over and over."""

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
from gbrain.store.page_writer import delete_page, write_page
from gbrain.text.page import parse_page

if TYPE_CHECKING:
    from gbrain.store.vectors import Floats

from gbrain.types import Progress, no_progress

# Kept beside the settings of a set's brain: the code that made its pages.
_MADE_BY = "evaluation_made_by"
_PAGE_CODE = ("text/page.py", "store/writing.py")
_IMPORTED = r"(?m)^ *from gbrain\.(text|store)(?:\.(\w+))? import \(?([\w, ]*)"


class DatasetBrain(Brain):
    """A brain that remembers the vector of the last query: other configurations ask it again."""

    _last: tuple[str, Floats] | None = None

    def _embed_query(self, text: str) -> Floats:
        if self._last is None or self._last[0] != text:
            self._last = (text, super()._embed_query(text))
        return self._last[1]

    def forget(self) -> None:
        """The next query is embedded and its pairs are reranked anew."""
        from gbrain.models.reranker import clear_score_cache

        self._last = None
        clear_score_cache()


def default_cache_folder() -> Path:
    return cache_folder() / "eval"


def open_dataset_brain(
    labelled: Dataset, cache: Path | None = None, progress: Progress = no_progress
) -> DatasetBrain:
    """The brain that holds exactly the set's documents, made now if it is not in the cache.

    It is found by the documents' content. Its pages are written anew when the code that makes
    pages has changed since; vectors of passages that stayed the same are kept even then.
    """
    folder = cache or default_cache_folder()
    try:
        make_folder(folder)
    except OSError as error:
        raise GbrainError(
            f"Cannot make the folder {folder}: {error.strerror}",
            hint="Name another with --cache.",
            code="no_cache",
        ) from None
    place = folder / f"{labelled.digest}.db"
    if not place.exists():
        create_brain(place)
    brain = DatasetBrain(Database(place))
    try:
        maker = page_code_digest()
        if brain.stored_settings.get(_MADE_BY) != maker:
            _fill(brain, labelled.documents, maker, progress)
    except BaseException:
        brain.close()
        raise
    return brain


def _fill(
    brain: Brain, documents: tuple[DatasetDocument, ...], maker: str, progress: Progress
) -> None:
    """Makes the documents the brain's only pages, all or none of them."""
    now = timestamp()
    with brain.database.write_transaction() as connection:
        for row in connection.execute("SELECT slug FROM pages").fetchall():
            delete_page(connection, row[0], now)
        for number, document in enumerate(documents, 1):
            try:
                page = parse_page(document.path, document.data)
            except BadPage as error:
                raise BadPage(f"{document.source}: {error.message}", hint=error.hint) from None
            write_page(connection, page, now)
            progress(number, len(documents))
        # Nobody looks at the history of a set's pages.
        connection.execute("DELETE FROM versions")
        settings.save_setting(connection, _MADE_BY, maker)


def page_code_digest(package: Path = Path(__file__).parent.parent) -> str:
    """A name for the code in `package` that turns a text into a page with its passages."""
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
