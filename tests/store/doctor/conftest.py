"""A small brain, SQL that damages it, and the findings of its examination."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gbrain.store.connection import Database, create_brain
from gbrain.store.doctor.examine import examine
from gbrain.store.doctor.findings import Finding
from gbrain.store.folders import add_folder
from gbrain.store.page_writer import write_page
from gbrain.text.page import parse_page

NOW = "2026-11-16T12:00:00.000Z"
PAGES = {
    "People/Alice Chen.md": "---\ntitle: Alice Chen\ntags: [founder]\n---\n# Alice Chen\n\n"
    "Founder of [[river]].\n\n## Work\nCloud RAG leaves her lukewarm.\n\n## Timeline\n"
    "- 2026-04-03 — Joined River\n- 2026-05 — Grew a beard\n",
    "river.md": "# River\n\nA company by the sea, seen by [[Alice Chen]].\n",
    "empty.md": "---\ntitle: Nothing yet\n---\n",
}


class Findings(dict[str, Finding]):
    """The findings of an examination by check."""

    @property
    def not_ok(self) -> dict[str, str]:
        return {name: found.status for name, found in self.items() if found.status != "ok"}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A brain of three pages, closed."""
    place = tmp_path / "brain.db"
    create_brain(place)
    with closing(Database(place)) as database, database.write_transaction() as connection:
        vault = add_folder(connection, str(tmp_path), NOW)
        for name, text in PAGES.items():
            page = parse_page(name, text.encode())
            write_page(connection, page, NOW, folder_id=vault.id, from_file=True)
    return place


@pytest.fixture
def run_sql(path: Path) -> Callable[..., None]:
    """Run statements on the file without gbrain."""

    def run(*statements: str) -> None:
        with closing(sqlite3.connect(path)) as raw, raw:
            for statement in statements:
                raw.execute(statement)

    return run


@pytest.fixture
def findings(path: Path) -> Callable[..., Any]:
    def run(**how: bool) -> Findings:
        with closing(Database(path, allow_foreign_objects=True)) as database:
            return Findings(examine(database, NOW, **how))

    return run


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(Database(path)) as database:
        yield database.connection


@pytest.fixture
def embedded(path: Path) -> None:
    """Give every chunk a vector of a model with four dimensions."""
    import numpy as np

    from gbrain.store.vector_space import VectorSpace
    from gbrain.store.vectors import create_vector_tables, store_vectors

    with closing(Database(path)) as database, database.write_transaction() as connection:
        connection.execute(
            "INSERT INTO embedding_models (id, name, identity, sha256, pooling, query_prefix, "
            "passage_prefix, dimension, max_tokens, description, active, added_at) "
            "VALUES (1, 'tiny', 'tiny', '', 'mean', '', '', 4, 128, '{}', 1, ?)",
            (NOW,),
        )
        create_vector_tables(connection, 4)
        hashes = [row[0] for row in connection.execute("SELECT DISTINCT hash FROM chunks")]
        unit = np.array([1, 0, 0, 0], np.float32)
        store_vectors(connection, VectorSpace(1, 4), [(digest, unit) for digest in hashes])
        connection.execute("DELETE FROM embedding_jobs")
