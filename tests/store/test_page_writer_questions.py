"""Questions follow their page through every write, and the brain's setting."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.config import Settings
from gbrain.profiles import profile_values
from gbrain.search.lanes.keyword import search
from gbrain.store import page_writer
from gbrain.store.doctor.examine import examine
from gbrain.text.query import parse_query
from gbrain.types import Scope

PAGE = b"---\nquestions: [Who bakes the bread?]\n---\n# Bob\n\n## Work\n\nA man with an oven.\n"


def fill(brain: Brain, wanted: str) -> int:
    brain.set("hypothetical_questions", wanted)
    with brain.database.write_transaction() as connection:
        return page_writer.rebuild_questions(connection)


def found(brain: Brain, text: str, wanted: str = "authored") -> list[str]:
    query = parse_query(text, {}, date(2026, 11, 16), Scope(), 10)
    with brain.database.read_transaction() as connection:
        settings = Settings(hypothetical_questions=wanted)
        return [page.slug for page in search(connection, query, settings).pages]


def kept(brain: Brain) -> list[str]:
    rows = brain.database.connection.execute("SELECT questions FROM page_questions ORDER BY 1")
    return [row[0] for row in rows]


def sound(brain: Brain) -> bool:
    looked = dict(examine(brain.database, "2026-11-16T12:00:00.000Z", full=True))
    return looked["question_index"].status == "ok"


def test_switched_off_nothing_is_kept_or_searched(brain: Brain) -> None:
    brain.put("bob", PAGE)
    assert kept(brain) == ["Who bakes the bread?"]
    assert found(brain, "bread", "off") == []
    assert fill(brain, "off") == 0
    assert kept(brain) == []
    assert sound(brain)


def test_a_page_is_found_by_a_question_that_it_answers(brain: Brain) -> None:
    brain.put("bob", PAGE)
    brain.put("other", b"# Other\n\nNothing.\n")
    fill(brain, "off")
    assert found(brain, "bread") == []
    assert fill(brain, "authored") == 1
    assert found(brain, "who bakes bread") == ["bob"]
    assert found(brain, "bread NOT oven") == []
    assert found(brain, "bread NOT butter") == ["bob"]
    assert found(brain, "bread AND bakes") == ["bob"]
    assert found(brain, "bread AND butter") == []


def test_derived_questions_join_the_written_ones(brain: Brain) -> None:
    brain.put("bob", PAGE)
    assert fill(brain, "derived") == 1
    assert kept(brain) == ["Who bakes the bread?\nWhat is Bob?\nWhat is Work of Bob?"]


def test_questions_follow_every_write(brain: Brain) -> None:
    fill(brain, "authored")
    brain.put("bob", PAGE)
    assert kept(brain) == ["Who bakes the bread?"]
    brain.put("bob", PAGE.replace(b"bread", b"cake"))
    assert (found(brain, "bread"), found(brain, "cake")) == ([], ["bob"])
    brain.rename("bob", "robert")
    assert found(brain, "cake") == ["robert"]
    brain.put("robert", b"# Robert\n\nplain\n")
    assert kept(brain) == []
    brain.put("robert", PAGE)
    brain.delete("robert")
    assert kept(brain) == []
    assert found(brain, "bread") == []
    assert sound(brain)


def test_a_write_and_a_rebuild_keep_the_same(brain: Brain, sample: Path) -> None:
    with Brain.open(sample) as filled:
        fill(filled, "derived")
        rebuilt = kept(filled)
        for page in filled.list()[0]:
            text = filled.text(page.slug)
            filled.delete(page.slug)
            filled.put(page.path, text.encode())
        assert kept(filled) == rebuilt


def test_doctor_repairs_an_index_of_questions_that_disagrees(brain: Brain) -> None:
    brain.put("bob", PAGE)
    fill(brain, "authored")
    with brain.database.write_transaction() as connection:
        connection.execute("UPDATE page_questions SET questions = 'Something else?'")
    assert not sound(brain)
    now = "2026-11-16T12:00:00.000Z"
    repaired = dict(examine(brain.database, now, full=True, repair=True))
    assert repaired["question_index"].status == "repaired"
    assert kept(brain) == ["Who bakes the bread?"]


def test_words_of_questions_are_known_words(brain: Brain) -> None:
    brain.put("bob", PAGE)
    brain.put("other", b"# Other\n\nBrad likes his oven.\n")
    answer = brain.search("oven bread")
    assert answer.read_as is None
    assert {hit.slug for hit in answer.hits} == {"bob", "other"}


# --- a question asked word for word ----------------------------------------------------------

ASKED = {
    "bins": "When is the rubbish collected?",
    "boiler": "How do I restart the heating after a power cut?",
    "period": "What happened in April?",
    "wifi": "What is the password?",
}
ANSWERS = {
    "bins": "The lorry comes on Thursdays before eight.",
    "boiler": "Hold the reset button until the green light stops blinking.",
    "period": "The roof leaked and was repaired.",
    "wifi": "It is on the sticker under the router.",
}


@pytest.fixture
def household(brain: Brain) -> Brain:
    """Pages that have a question, among others that have more of its words."""
    for slug, question in ASKED.items():
        text = f"---\nquestions: [{json.dumps(question)}]\n---\n# {slug}\n\n{ANSWERS[slug]}\n"
        brain.put(slug, text.encode())
        for number in range(4):
            brain.put(
                f"{slug}-{number}", f"# {slug} {number}\n\n{question} Nobody knew.\n".encode()
            )
    brain.put("journal/2026-04-18", b"# A day in April\n\nWhat happened: the password changed.\n")
    return brain


@pytest.mark.parametrize("slug", ASKED)
def test_a_page_is_first_for_a_question_of_its_own(household: Brain, slug: str) -> None:
    answer = household.search(ASKED[slug])
    assert answer.hits[0].slug == slug
    assert answer.verdict.grade == "strong"
    assert len(answer.hits) > 1
    assert household.search(ASKED[slug].upper().rstrip("?")).hits[0].slug == slug
    assert household.query(ASKED[slug], mode="bm25", changes=profile_values("engram")).hits[
        0
    ].slug == slug  # fmt: skip


@pytest.mark.parametrize("text", ['"', "'", '""', "*", "("])
def test_no_sign_alone_is_read_as_an_expression(household: Brain, text: str) -> None:
    assert household.search(text).hits == ()


def test_all_lanes_and_the_reranker_keep_that_page_first(household: Brain) -> None:
    household.embed()
    answer = household.query(ASKED["boiler"], changes=profile_values("engram"))
    assert answer.hits[0].slug == "boiler"


def test_a_filter_also_holds_for_a_question(household: Brain) -> None:
    found = household.search(ASKED["bins"], scope=Scope(exclude=("bins",))).hits
    assert found
    assert "bins" not in [hit.slug for hit in found]
