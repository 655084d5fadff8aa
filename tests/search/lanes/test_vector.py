"""The vector lane against exact search, inside a scope, and after changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gbrain.brain import Brain
from gbrain.config import Settings
from gbrain.importing.embed_worker import embed_due_chunks
from gbrain.models.embedder import OnnxEmbedder
from gbrain.search.lanes import vector
from gbrain.store import vectors
from gbrain.store.vector_space import VectorSpace
from gbrain.types import LaneResult, Query, Scope

SAMPLE = Path(__file__).parents[3] / "gbrain" / "sample"
SETTINGS = Settings()

Floats = NDArray[np.float32]


def units(count: int, dimension: int, seed: int) -> Floats:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension))
    rows: Floats = (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)
    return rows


def found_by(
    brain: Brain, space: VectorSpace, embedded: Floats, scope: Scope = Scope()
) -> LaneResult:
    query = Query("", (), scope, 10)
    with (
        brain.database.read_transaction() as connection,
        closing(brain.database.open_second_connection()) as second,
    ):
        return vector.search((connection, second), space, embedded, query, SETTINGS)


class Drawn:
    """A brain of pages whose vectors are given; page n has the slug `wing/n` and one chunk."""

    def __init__(self, brain: Brain, rows: Floats) -> None:
        self.brain, self.rows = brain, rows
        with brain.database.write_transaction() as connection:
            vectors.create_vector_tables(connection, rows.shape[1])
            connection.execute(
                "INSERT INTO embedding_models (id, name, identity, sha256, pooling, query_prefix, "
                "passage_prefix, dimension, max_tokens, description, added_at) "
                "VALUES (7, 'drawn', 'drawn', '', 'cls', '', '', ?, 512, '{}', '')",
                (rows.shape[1],),
            )
        self.space = VectorSpace(7, rows.shape[1])

    def add(self, number: int, page_id: int, wing: str = "general") -> None:
        """Store vector `number` as a chunk of a page, which is created if missing."""
        connection = self.brain.database.connection
        connection.execute(
            "INSERT OR IGNORE INTO pages (id, slug, path, title, wing, wing_reason, room, "
            "room_reason, version, sha256, bytes, created_at, updated_at, tags, aliases, meta, "
            "front_matter, compiled_truth, timeline) VALUES (?1, ?2 || '/' || ?1, ?2 || '/' || ?1, "
            "'T', ?2, '', 'note', '', 1, x'', 0, '', '', '', '', '{}', '', '', '')",
            (page_id, wing),
        )
        connection.execute(
            "INSERT INTO chunks (page_id, section, part, kind, byte_start, byte_stop, first_line, "
            "last_line, hash, heading_path, text) "
            "VALUES (?, ?, 0, 'truth', 0, 1, 1, 1, ?, '[]', '')",
            (page_id, number, number.to_bytes(16, "big")),
        )

    def keep(self) -> None:
        with self.brain.database.write_transaction() as connection:
            named = [(n.to_bytes(16, "big"), row) for n, row in enumerate(self.rows)]
            vectors.store_vectors(connection, self.space, named)

    def search(self, embedded: Floats, scope: Scope = Scope()) -> LaneResult:
        return found_by(self.brain, self.space, embedded, scope)


def recall(found: LaneResult, scores: Floats) -> float:
    """How many of the exact first ten are among the first ten found; page n is vector n - 1."""
    true = set(np.argsort(-scores, kind="stable")[:10].tolist())
    return len(true & {page.page_id - 1 for page in found.pages[:10]}) / 10


@pytest.fixture
def drawn(brain: Brain) -> Drawn:
    """5 000 pages in random directions, every hundredth in the wing `rare`."""
    made = Drawn(brain, units(5000, 64, seed=1))
    with brain.database.write_transaction():
        for n in range(5000):
            made.add(n, n + 1, "rare" if n % 100 == 0 else "general")
    made.keep()
    return made


def test_random_vectors_are_found_as_by_exact_search(drawn: Drawn) -> None:
    queries = units(40, 64, seed=2)
    found = [drawn.search(query) for query in queries]
    assert np.mean([recall(f, drawn.rows @ q) for f, q in zip(found, queries, strict=True)]) >= 0.99
    first = found[0].pages
    assert [page.rank for page in first] == list(range(1, SETTINGS.candidate_pool + 1))
    assert [page.score for page in first] == sorted((p.score for p in first), reverse=True)
    assert first[0].score == pytest.approx(float((drawn.rows @ queries[0]).max()), abs=1e-3)


def test_pages_scored_after_the_pool_follow_it(drawn: Drawn) -> None:
    query = units(1, 64, seed=8)[0]
    found = drawn.search(query)
    everyone = [*found.pages, *found.overflow]
    assert [page.rank for page in everyone] == list(range(1, len(everyone) + 1))
    assert len(everyone) > len(found.pages) == SETTINGS.candidate_pool
    true = drawn.rows @ query
    for page in everyone:
        assert page.score == pytest.approx(float(true[page.page_id - 1]), abs=1e-3)
    assert found.lowest_score == found.overflow[-1].score


def test_a_small_wing_is_searched_completely(drawn: Drawn) -> None:
    query = units(1, 64, seed=3)[0]
    found = drawn.search(query, Scope(wing="rare"))
    rare = np.full(5000, -9, np.float32)
    rare[::100] = drawn.rows[::100] @ query
    assert recall(found, rare) == 1
    assert len(found.pages) == 50
    assert {page.slug.split("/")[0] for page in found.pages} == {"rare"}


@pytest.mark.parametrize(
    ("scope", "pages"),
    [(Scope(slug_prefix="general/1"), 1099), (Scope(wing="general"), 4950)],
    ids=["listed", "scanned"],
)
def test_a_larger_scope_is_searched_completely(drawn: Drawn, scope: Scope, pages: int) -> None:
    query = units(1, 64, seed=3)[0]
    slugs = drawn.brain.database.connection.execute("SELECT id, slug FROM pages").fetchall()
    prefix = scope.slug_prefix or "general/"
    inside = [page_id - 1 for page_id, slug in slugs if slug.startswith(prefix)]
    assert len(inside) == pages
    scores = np.full(5000, -9, np.float32)
    scores[inside] = drawn.rows[inside] @ query
    found = drawn.search(query, scope)
    assert recall(found, scores) == 1
    assert len(found.pages) == SETTINGS.candidate_pool
    assert {page.page_id - 1 for page in found.pages} <= set(inside)


def test_excluded_pages_make_room_for_the_next(drawn: Drawn) -> None:
    query = units(1, 64, seed=4)[0]
    best, *others = [page.slug for page in drawn.search(query).pages]
    without = [page.slug for page in drawn.search(query, Scope(exclude=(best,))).pages]
    assert without[: len(others)] == others
    assert len(without) == len(others) + 1


def test_an_empty_scope_finds_nothing(drawn: Drawn) -> None:
    found = drawn.search(units(1, 64, seed=4)[0], Scope(wing="nowhere"))
    assert (found.pages, found.chunks, found.lowest_score) == ((), (), None)


def test_a_page_of_many_chunks_leaves_room_for_others(brain: Brain) -> None:
    rows = units(1300, 64, seed=5)
    made = Drawn(brain, rows)
    query = rows[:1200].mean(axis=0)
    query = query / np.linalg.norm(query)
    nearest = np.argsort(-(rows @ query))
    with brain.database.write_transaction():
        for place, n in enumerate(nearest.tolist()):
            made.add(n, 1 if place < 1200 else place)
    made.keep()
    found = made.search(query)
    assert len(found.pages) == SETTINGS.candidate_pool
    assert found.pages[0].page_id == 1
    assert [page.page_id for page in found.pages[1:11]] == list(range(1200, 1210))


def test_equally_similar_chunks_are_all_scored(brain: Brain) -> None:
    made = Drawn(brain, np.tile(units(1, 64, seed=7), (1500, 1)))
    with brain.database.write_transaction():
        for n in range(1500):
            made.add(n, 1 + n % 3)
    made.keep()
    listed = [chunk.chunk_id for chunk in made.search(made.rows[0]).chunks]
    assert sorted(listed) == list(range(1, 1501))


def test_chunks_are_listed_once(drawn: Drawn) -> None:
    listed = [chunk.chunk_id for chunk in drawn.search(units(1, 64, seed=6)[0]).chunks]
    assert len(listed) == len(set(listed))


# --- the real model ------------------------------------------------------------------------------


class Remembering:
    """Return the real model that remembers the vector of each chunk."""

    def __init__(self, model: OnnxEmbedder) -> None:
        self.model, self.spec = model, model.spec
        self.embed_query, self.count_tokens = model.embed_query, model.count_tokens
        self.vectors: dict[str, Floats] = {}

    def embed_chunks(self, texts: Iterable[str]) -> Iterator[Floats]:
        for text in texts:
            (self.vectors[text],) = self.model.embed_chunks([text])
            yield self.vectors[text]

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Brain, dict[str, Floats]]]:
    """A brain with a page for every line of prose in the sample pages, and what it embedded."""
    prose = {
        line.strip("-#* ")
        for path in sorted(SAMPLE.rglob("*.md"))
        for line in path.read_text().splitlines()
        if len(line.split()) > 6
    }
    with Brain.open(tmp_path_factory.mktemp("lines") / "brain.db", make=True) as brain:
        for n, line in enumerate(sorted(prose)):
            brain.put(f"line{n}", line.encode())
        model = Remembering(brain.embedder)
        embed_due_chunks(brain.database, brain.active_model().space, lambda: model)
        yield brain, model.vectors


def test_real_vectors_are_found_as_by_exact_search(
    lines: tuple[Brain, dict[str, Floats]],
) -> None:
    brain, embedded = lines
    assert len(embedded) > 150
    pages = [brain.get(text.splitlines()[0]).id for text in embedded]
    rows = np.stack(
        [
            vector
            for _, vector in sorted(zip(pages, embedded.values(), strict=True), key=itemgetter(0))
        ]
    )
    hits = []
    for text in list(embedded)[::10]:
        query = brain.embedder.embed_query(text.splitlines()[-1][:60])
        hits.append(recall(found_by(brain, brain.active_model().space, query), rows @ query))
    assert np.mean(hits) >= 0.99


def test_a_change_is_seen_by_the_next_query(lines: tuple[Brain, dict[str, Floats]]) -> None:
    sentences, _ = lines
    question = "frying chanterelles in butter"
    sentences.put("foraging", b"Chanterelles and porcini can be fried in butter.\n")
    assert sentences.embed().done == 1
    assert sentences.query(question, mode="semantic").hits[0].slug == "foraging"
    sentences.put("foraging", b"The tax return is due in April.\n")
    sentences.embed()
    assert sentences.query(question, mode="semantic").hits[0].slug != "foraging"
    sentences.delete("foraging")
    sentences.embed()
    slugs = [hit.slug for hit in sentences.query("tax return", mode="semantic", limit=50).hits]
    assert "foraging" not in slugs


def test_text_the_model_cannot_read_comes_last(brain: Brain) -> None:
    brain.put("tea", "# 茶\n\n龙井用八十度的水泡，茶叶放在阴凉处保存。\n".encode())
    brain.put("garden", b"# Garden\n\nThe tomatoes need water and a south wall.\n")
    brain.put("piano", b"# Piano\n\nThe tuner comes twice a year.\n")
    brain.embed()
    asked = brain.query("hello", mode="semantic")
    assert [hit.slug for hit in asked.hits][-1] == "tea"
    cosines = [hit.lanes["vector"].score for hit in asked.hits]
    assert cosines[-1] == cosines[-2], "the cosine scale of the others is unchanged"
    assert brain.query("龙井的水", mode="semantic").hits[0].slug == "tea"
