"""Near-duplicates among pages with vectors."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.store import duplicates
from gbrain.store.duplicates import DuplicateResult, find_duplicate_pairs, order_by_age, page_cosine
from gbrain.store.vectors import active_space
from gbrain.types import Scope

NOTE = (
    "# {title}\n\nThe ferry to the island leaves at seven in the morning and comes back at dusk. "
    "Tickets are sold on board, bicycles travel free, and dogs need a muzzle. In winter there is "
    "only one crossing a day, at noon, and none at all when the wind is above force seven.\n"
)
OTHER = (
    "# Compost\n\nTwo parts of brown leaves to one part of kitchen scraps, turned every other "
    "week. A heap smaller than a cubic metre never gets hot enough to kill the seeds of weeds.\n"
)
FORM = "# Day\n\n## Slept\n\n## Read\n\n## Walked\n\n## To do tomorrow and the day after that\n"


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("near") / "brain.db"
    pages = {
        "ferry": NOTE.format(title="Ferry"),
        "inbox/ferry-copy": NOTE.format(title="Ferry").replace("seven in", "eight in"),
        "archive/boat": "---\ndate: 2020-01-01\n---\n" + NOTE.format(title="Boat to the island"),
        "garden/compost": OTHER,
        "journal/2026-04-03": FORM,
        "journal/2026-04-04": FORM,
        "stub": "# Ferry\n",
        "stub-2": "# Ferry\n",
    }
    with Brain.open(path, make=True) as brain:
        for slug, text in pages.items():
            brain.put(slug, text.encode())
        brain.embed()
    return path


@pytest.fixture
def near(embedded: Path, brain_path: Path) -> Brain:
    shutil.copy(embedded, brain_path)
    with Brain.open(brain_path) as brain:
        yield brain


def pairs(brain: Brain, threshold: float = 0.95, scope: Scope = Scope()) -> DuplicateResult:
    with brain.database.read_transaction() as connection:
        space = active_space(connection)
        assert space
        return find_duplicate_pairs(connection, space, threshold, scope)


def slugs(compared: DuplicateResult) -> set[frozenset[str]]:
    return {frozenset((pair.older.slug, pair.newer.slug)) for pair in compared.pairs}


def test_copies_are_found_and_neither_stubs_nor_forms(near: Brain):
    compared = pairs(near)
    assert slugs(compared) >= {frozenset(("ferry", "inbox/ferry-copy"))}
    assert {slug for pair in slugs(compared) for slug in pair} <= {
        "ferry", "inbox/ferry-copy", "archive/boat",
    }  # fmt: skip
    assert all(pair.cosine >= 0.95 and pair.words >= 0.3 for pair in compared.pairs)
    cosines = [pair.cosine for pair in compared.pairs]
    assert cosines == sorted(cosines, reverse=True)


def test_a_lower_threshold_finds_more(near: Brain):
    assert slugs(pairs(near, 0.999)) <= slugs(pairs(near)) <= slugs(pairs(near, 0.85))
    assert len(slugs(pairs(near, 0.85))) == 3


def test_the_older_page_is_the_one_with_the_earlier_date_or_written_first(near: Brain):
    by_slugs = {(p.older.slug, p.newer.slug): p.reason for p in pairs(near, 0.85).pairs}
    assert ("ferry", "inbox/ferry-copy") in by_slugs


def test_superseded_pages_are_done_with(near: Brain):
    text = near.text("inbox/ferry-copy")
    near.put("inbox/ferry-copy", f"---\nsuperseded_by: ferry\n---\n{text}".encode())
    assert all("inbox/ferry-copy" not in pair for pair in slugs(pairs(near, 0.85)))


def test_pages_without_vectors_are_counted(near: Brain):
    near.put("new", NOTE.format(title="Quite new").encode())
    before = pairs(near)
    assert before.without_vectors == 1
    near.embed()
    after = pairs(near)
    assert (after.pages, after.without_vectors) == (before.pages + 1, 0)


def test_only_pages_of_the_scope(near: Brain):
    assert slugs(pairs(near, 0.85, Scope(slug_prefix="inbox/"))) == set()
    assert pairs(near, 0.85, Scope(slug_prefix="inbox/")).pages == 1


def test_damaged_vectors_are_named(near: Brain):
    with near.database.write_transaction() as connection:
        connection.execute("UPDATE page_embeddings_vec_384 SET vector = x'00'")
    with pytest.raises(BadBrain, match="vectors are damaged"):
        pairs(near)


def test_an_empty_scope(near: Brain):
    assert pairs(near, 0.85, Scope(slug_prefix="zzz")) == DuplicateResult((), 0, 0)


def test_the_dated_page_wins_over_the_time_of_writing(brain: Brain):
    brain.put("a", b"---\ndate: 2026-05-01\n---\nx")
    brain.put("b", b"---\ndate: 2026-04-01\n---\nx")
    brain.put("c", b"xy")
    a, b, c = (brain.get(slug) for slug in "abc")
    assert order_by_age(a, b) == order_by_age(b, a) == (b, a)
    assert order_by_age(a, c) == order_by_age(c, a) == (c, a)


def unit(rows: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    matrix = np.array(rows, np.float32) + np.float32(0.01)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True), np.ones(len(rows), np.float32)


VECTORS = st.lists(
    st.lists(st.floats(0, 1, width=32), min_size=3, max_size=3), min_size=1, max_size=6
)


@given(VECTORS, VECTORS)
def test_nearness_works_both_ways_and_a_page_is_nearest_to_itself(one, other):
    a, b = unit(one), unit(other)
    assert page_cosine(a, b) == pytest.approx(page_cosine(b, a), abs=1e-6)
    assert page_cosine(a, b) <= 1 + 1e-6
    assert page_cosine(a, a) == pytest.approx(1, abs=1e-6)


def test_a_passage_without_a_match_counts_by_its_length():
    same, weights = unit([[1, 0, 0], [0, 0, 1]])
    alone = (same[:1], weights[:1])
    long_match = (same, np.array([9, 1], np.float32))
    short_match = (same, np.array([1, 9], np.float32))
    assert page_cosine(long_match, alone) > 0.9 > page_cosine(short_match, alone)


def test_strips_find_what_one_product_finds(monkeypatch: pytest.MonkeyPatch):
    rows = np.random.default_rng(5).normal(size=(60, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    products = rows @ rows.T
    expected = {(a, b) for a in range(60) for b in range(a + 1, 60) if products[a, b] >= 0.9}
    monkeypatch.setattr(duplicates, "_STRIP", 7)
    monkeypatch.setattr(duplicates, "_MAX_PAIRS_PER_PAGE", 60)
    steps: list[tuple[int, int]] = []
    found = duplicates._candidate_pairs(rows, 0.9, lambda done, total: steps.append((done, total)))
    assert set(found) == expected
    assert steps[-1] == (60, 60)


def test_a_form_that_all_share_makes_few_pairs_a_page():
    rows = np.ones((50, 2), np.float32) / np.float32(2**0.5)
    found = list(duplicates._candidate_pairs(rows, 0.9, lambda done, total: None))
    assert len(found) <= 50 * duplicates._MAX_PAIRS_PER_PAGE
    assert {a for a, _ in found} | {b for _, b in found} == set(range(50))
