"""Hits: which chunk of a page is shown, its snippet, and which pages are marked as weak."""

from __future__ import annotations

from pathlib import Path

from gbrain.brain import Brain
from gbrain.types import Scope

MARTA = b"""# Marta Nowak

Marta is a beekeeper in Lublin. She sells honey.

## Family

Marta, Marta and again Marta: everybody in the family has the name Marta.

## Timeline
- 2026-03-04 - Marta sold the old hives
"""


def test_who_someone_is_shows_the_opening_sentence(brain: Brain) -> None:
    brain.put("people/marta", MARTA)
    brain.put("people/jan", b"# Jan\n\nA neighbour of Marta.\n")
    opening = "\x02Marta\x03 is a beekeeper in Lublin. She sells honey."
    for question in ("who is Marta?", "tell me about marta", "Marta"):
        assert brain.search(question).hits[0].snippet == opening
    family = brain.search("family name of Marta").hits[0]
    assert family.snippet.endswith(
        "everybody in the \x02family\x03 has the \x02name\x03 \x02Marta\x03."
    )
    (sold,) = brain.search("Marta in March 2026").hits[:1]
    assert sold.date == "2026-03-04"


def test_the_answer_stands_in_the_snippet_of_a_question(embedded_sample: Path) -> None:
    with Brain.open(embedded_sample) as brain:
        hit = brain.query("who is lukewarm on cloud RAG?").hits[0]
        assert hit.slug == "people/noor-haddad"
        assert "sounded tepid at best" in hit.snippet
        weak = [found.weak for found in brain.query("sourdough").hits]
        assert weak[0] is False
        assert weak == sorted(weak)
        assert any(weak)


def test_a_word_of_a_script_without_spaces_is_marked(brain: Brain) -> None:
    brain.put("travel", "# Reise\n\n去年は大阪でした。今年は東京に行きます。\n".encode())
    snippet = brain.search("東京").hits[0].snippet
    assert "今年は\x02東京\x03に行きます。" in snippet


def test_pages_with_every_word_or_filters_alone_are_not_weak(brain: Brain) -> None:
    brain.put("a", b"# Heron\n\n" + b"heron heron heron\n\n" * 9)
    for number in range(12):
        words = " ".join(f"w{number}x{n}" for n in range(90))
        brain.put(
            f"b{number}",
            f"---\ntype: note\n---\n# Note {number}\n\nA heron, and {words}.\n".encode(),
        )
    found = brain.query("heron", limit=20, mode="bm25").hits
    assert len(found) == 13
    assert not any(hit.weak for hit in found)
    found = brain.search("heron marsh w3x3 w3x4", limit=20).hits
    assert [hit.slug for hit in found][:1] == ["b3"]
    assert [hit.slug for hit in found if not hit.weak] == ["b3"]
    listed = brain.search("type:note", limit=20, scope=Scope(slug_prefix="b")).hits
    assert len(listed) == 12
    assert not any(hit.weak for hit in listed)
