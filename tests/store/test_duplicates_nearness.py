"""A new page that is nearly one already there is noticed without a model."""

from __future__ import annotations

import pytest

from gbrain.brain import Brain
from gbrain.store.duplicates import find_duplicate_of

TEXT = (
    "# Sourdough\n\nFeed the starter twice a day with equal weights of flour and water. Keep it "
    "somewhere warm, around twenty-five degrees, until it doubles within six hours. Discard all "
    "but two spoons before every feeding, and save the discard for pancakes.\n"
)


def near(brain: Brain, slug: str) -> str | None:
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
def test_copies_and_small_edits(kitchen: Brain, text: str):
    kitchen.put("inbox/starter", text.encode())
    assert near(kitchen, "inbox/starter") == "bread/sourdough"


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
def test_what_is_another_page(kitchen: Brain, text: str):
    kitchen.put("inbox/starter", text.encode())
    assert near(kitchen, "inbox/starter") is None


def test_notes_of_different_days_are_one_form(brain: Brain):
    brain.put("journal/2026-04-03", TEXT.encode())
    brain.put("journal/2026-04-04", TEXT.encode())
    brain.put("journal/thursday", TEXT.encode())
    assert near(brain, "journal/2026-04-04") == "journal/thursday"


def test_what_is_superseded_is_known_already(kitchen: Brain):
    kitchen.put("bread/starter", b"---\nsuperseded_by: bread/sourdough\n---\n" + TEXT.encode())
    assert near(kitchen, "bread/starter") is None
    assert near(kitchen, "bread/sourdough") is None


@pytest.mark.parametrize(
    "text", ["\"'*^:(){}[] " * 30, "日本語の文章です。" * 40, "é" * 400, "0 " * 99]
)
def test_any_text_can_be_asked_about(brain: Brain, text: str):
    brain.put("a", text.encode())
    brain.put("b", text.encode())
    assert near(brain, "b") in (None, "a")
