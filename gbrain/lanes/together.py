"""The lanes that a query asks for, side by side; what cannot be had is said and done without."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

from gbrain.beside import Beside
from gbrain.config import Settings
from gbrain.errors import ModelUnavailable
from gbrain.lanes import fts
from gbrain.store.connection import Database
from gbrain.trace import Trace
from gbrain.types import Found, Mode, Query

if TYPE_CHECKING:
    from gbrain.store.vectors import Floats, VectorSpace

EmbedQuery = Callable[[str], "Floats"]


class Lanes(NamedTuple):
    """What each lane found, by its name; the mode that could be had, and why not the one asked."""

    found: dict[str, Found]
    mode: Mode
    notice: str | None = None


class Search(NamedTuple):
    """What the lanes work with; `embed` opens the model only when it is called."""

    database: Database
    connection: sqlite3.Connection
    query: Query
    settings: Settings
    embed: EmbedQuery
    trace: Trace


def run_lanes(search: Search, mode: Mode) -> Lanes:
    """Keywords and meaning, as `mode` and the lanes' weights ask."""
    settings = search.settings
    if mode == "bm25" or settings.semantic_weight <= 0:
        notice = "semantic_weight is 0." if mode == "semantic" else None
        return Lanes({"fts": _keyword_lane(search)}, "bm25", notice)
    from gbrain.store.vectors import active_space, has_vectors

    space = active_space(search.connection)
    if space is None or not has_vectors(search.connection, space):
        notice = None if mode == "auto" else "The brain has no vectors yet: run gbrain embed."
        return Lanes({"fts": _keyword_lane(search)}, "bm25", notice)
    if mode == "semantic" or settings.keyword_weight <= 0:
        try:
            return Lanes({"vector": _vector_lane(search, space)}, "semantic")
        except ModelUnavailable as error:
            return Lanes({"fts": _keyword_lane(search)}, "bm25", error.message)
    return _both(search, space)


def _both(search: Search, space: VectorSpace) -> Lanes:
    def keyword_lane() -> Found:
        with closing(search.database.another()) as own:
            return _keyword_lane(search._replace(connection=own))

    keyword = Beside(keyword_lane)
    try:
        vector = _vector_lane(search, space)
    except ModelUnavailable as error:
        return Lanes({"fts": keyword.result()}, "bm25", error.message)
    return Lanes({"fts": keyword.result(), "vector": vector}, "hybrid")


def _keyword_lane(search: Search) -> Found:
    with search.trace.stage("fts") as detail:
        found = fts.search(search.connection, search.query, search.settings)
        detail["pages"], detail["passages"] = len(found.pages), len(found.chunks)
    return found


def _vector_lane(search: Search, space: VectorSpace) -> Found:
    from gbrain.lanes import vector

    with search.trace.stage("embed_query"):
        embedded = search.embed(search.query.text)
    with search.trace.stage("vector") as detail:
        with closing(search.database.another()) as second:
            connections = (search.connection, second)
            found = vector.search(connections, space, embedded, search.query, search.settings)
        detail["pages"], detail["passages"] = len(found.pages), len(found.chunks)
    return found
