"""Duplicates: all pairs of pages with similar vectors, and the duplicate of one page by wording."""

from __future__ import annotations

import shutil
from pathlib import Path
from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.store import duplicates
from gbrain.store.duplicates import (
    DuplicateResult,
    find_duplicate_of,
    find_duplicate_pairs,
    order_by_age,
    page_cosine,
)
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
    texts = {
        "ferry": NOTE.format(title="Ferry"),
        "inbox/ferry-copy": NOTE.format(title="Ferry").replace("seven in", "eight in"),
        "archive/boat": "---\ndate: 2020-01-01\n---\n" + NOTE.format(title="Boat to the island"),
        "garden/compost": OTHER,
        "journal/2026-04-03": FORM,
        "journal/2026-04-04": FORM,
        "door": "# Door\n\nThe key is under the pot.\n",
        "house/door": "# Door\n\nThe key is under the pot.\n",
        "call/mum": "# Call\n\nCall mum on Monday about dinner.\n",
        "call/dad": "# Call\n\nCall dad on Monday about dinner.\n",
        "stub": "# Ferry\n",
        "stub-2": "# Ferry\n",
    }
    with Brain.open(path, make=True) as brain:
        for slug, text in texts.items():
            brain.put(slug, text.encode())
            # Pages are as old as each other if they are written in the same millisecond.
            sleep(0.002)
        brain.embed()
    return path


@pytest.fixture
def pages(embedded: Path, brain_path: Path) -> Brain:
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


def test_copies_are_found_but_not_stubs_or_templates(pages: Brain):
    compared = pairs(pages)
    assert slugs(compared) >= {frozenset(("ferry", "inbox/ferry-copy"))}
    assert {slug for pair in slugs(compared) for slug in pair} <= {
        "ferry", "inbox/ferry-copy", "archive/boat", "door", "house/door",
    }  # fmt: skip
    assert compared.pairs
    assert all(pair.cosine >= 0.95 and pair.words >= 0.3 for pair in compared.pairs)
    cosines = [pair.cosine for pair in compared.pairs]
    assert cosines == sorted(cosines, reverse=True)


def test_short_notes_are_duplicates_if_they_are_copies(pages: Brain):
    found = slugs(pairs(pages, 0.85))
    assert frozenset(("door", "house/door")) in found
    assert frozenset(("call/mum", "call/dad")) not in found
    assert duplicate_of(pages, "door") == "house/door"
    assert duplicate_of(pages, "call/mum") is None


def test_a_lower_threshold_finds_more(pages: Brain):
    assert slugs(pairs(pages, 0.999)) <= slugs(pairs(pages)) <= slugs(pairs(pages, 0.85))
    assert len(slugs(pairs(pages, 0.85))) == 4


def test_the_page_written_first_is_the_older_one(pages: Brain):
    by_slugs = {(p.older.slug, p.newer.slug): p.reason for p in pairs(pages, 0.85).pairs}
    assert ("ferry", "inbox/ferry-copy") in by_slugs


def test_superseded_pages_are_not_paired(pages: Brain):
    text = pages.text("inbox/ferry-copy")
    pages.put("inbox/ferry-copy", f"---\nsuperseded_by: ferry\n---\n{text}".encode())
    left = slugs(pairs(pages, 0.85))
    assert left
    assert all("inbox/ferry-copy" not in pair for pair in left)


def test_pages_without_vectors_are_counted(pages: Brain):
    pages.put("new", NOTE.format(title="Quite new").encode())
    before = pairs(pages)
    assert before.without_vectors == 1
    pages.embed()
    after = pairs(pages)
    assert (after.pages, after.without_vectors) == (before.pages + 1, 0)


def test_only_pages_in_scope_are_compared(pages: Brain):
    assert slugs(pairs(pages, 0.85, Scope(slug_prefix="inbox/"))) == set()
    assert pairs(pages, 0.85, Scope(slug_prefix="inbox/")).pages == 1


def test_damaged_vectors_are_reported(pages: Brain):
    with pages.database.write_transaction() as connection:
        connection.execute("UPDATE page_embeddings_vec_384 SET vector = x'00'")
    with pytest.raises(BadBrain, match="vectors are damaged"):
        pairs(pages)


def test_an_empty_scope_has_no_pairs(pages: Brain):
    assert pairs(pages, 0.85, Scope(slug_prefix="zzz")) == DuplicateResult((), 0, 0)


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
def test_page_cosine_is_symmetric_and_1_for_the_same_page(one, other):
    a, b = unit(one), unit(other)
    assert page_cosine(a, b) == pytest.approx(page_cosine(b, a), abs=1e-6)
    assert page_cosine(a, b) <= 1 + 1e-6
    assert page_cosine(a, a) == pytest.approx(1, abs=1e-6)


def test_chunks_without_a_match_count_by_their_length():
    same, weights = unit([[1, 0, 0], [0, 0, 1]])
    alone = (same[:1], weights[:1])
    long_match = (same, np.array([9, 1], np.float32))
    short_match = (same, np.array([1, 9], np.float32))
    assert page_cosine(long_match, alone) > 0.9 > page_cosine(short_match, alone)


def test_blocks_find_the_same_pairs_as_one_product(monkeypatch: pytest.MonkeyPatch):
    rows = np.random.default_rng(5).normal(size=(60, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    products = rows @ rows.T
    expected = {(a, b) for a in range(60) for b in range(a + 1, 60) if products[a, b] >= 0.9}
    monkeypatch.setattr(duplicates, "_MATRIX_ROWS", 7)
    monkeypatch.setattr(duplicates, "_MAX_PAIRS_PER_PAGE", 60)
    steps: list[tuple[int, int]] = []
    found = duplicates._candidate_pairs(rows, 0.9, lambda done, total: steps.append((done, total)))
    assert set(found) == expected
    assert steps[-1] == (60, 60)


def test_a_shared_template_gives_few_pairs_for_each_page():
    rows = np.ones((50, 2), np.float32) / np.float32(2**0.5)
    found = list(duplicates._candidate_pairs(rows, 0.9, lambda done, total: None))
    assert len(found) <= 50 * duplicates._MAX_PAIRS_PER_PAGE
    assert {a for a, _ in found} | {b for _, b in found} == set(range(50))


# --- the duplicate of one page ---------------------------------------------------------------

TEXT = (
    "# Sourdough\n\nFeed the starter twice a day with equal weights of flour and water. Keep it "
    "somewhere warm, around twenty-five degrees, until it doubles within six hours. Discard all "
    "but two spoons before every feeding, and save the discard for pancakes.\n"
)


def duplicate_of(brain: Brain, slug: str) -> str | None:
    with brain.database.read_transaction() as connection:
        found = find_duplicate_of(connection, slug)
    return found.slug if found else None


@pytest.fixture
def kitchen(brain: Brain) -> Brain:
    brain.put("bread/sourdough", TEXT.encode())
    brain.put("bread/rye", b"# Rye\n\nRye flour holds more water than wheat, and so bakes longer.")
    return brain


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        TEXT.upper(),
        TEXT.replace("pancakes", "crackers"),
        TEXT.replace("# Sourdough", "# How I keep a starter"),
        "---\ntags: [bread]\n---\n" + TEXT.replace(" ", "\n"),
        TEXT + "\n## Timeline\n- 2026-04-03 — Began\n",
    ],
)
def test_copies_and_small_edits_are_duplicates(kitchen: Brain, text: str):
    kitchen.put("inbox/starter", text.encode())
    assert duplicate_of(kitchen, "inbox/starter") == "bread/sourdough"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# Sourdough\n",
        "# Starter\n\nWhat I bake with: a starter, fed twice a day, kept warm.\n",
        TEXT + TEXT.replace("the", "that").replace("a ", "one ") + "And much more to say here." * 3,
        " ".join(sorted(TEXT.split())),
    ],
)
def test_other_texts_are_no_duplicates(kitchen: Brain, text: str):
    kitchen.put("inbox/starter", text.encode())
    assert duplicate_of(kitchen, "inbox/starter") is None


def test_notes_of_different_days_are_no_duplicates(brain: Brain):
    brain.put("journal/2026-04-03", TEXT.encode())
    brain.put("journal/2026-04-04", TEXT.encode())
    brain.put("journal/thursday", TEXT.encode())
    assert duplicate_of(brain, "journal/2026-04-04") == "journal/thursday"


def test_superseded_pages_are_no_duplicates(kitchen: Brain):
    kitchen.put("bread/starter", b"---\nsuperseded_by: bread/sourdough\n---\n" + TEXT.encode())
    assert duplicate_of(kitchen, "bread/starter") is None
    assert duplicate_of(kitchen, "bread/sourdough") is None


@pytest.mark.parametrize(
    "text", ["\"'*^:(){}[] " * 30, "日本語の文章です。" * 40, "é" * 400, "0 " * 99]
)
def test_any_text_can_be_compared(brain: Brain, text: str):
    brain.put("a", text.encode())
    brain.put("b", text.encode())
    assert duplicate_of(brain, "b") in (None, "a")
