"""Context under a budget: the best hit is there, nothing twice, and every piece can be found."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrain.brain import Brain
from gbrain.search import context as context_module
from gbrain.text.citations import lines_hash, split_lines
from gbrain.types import Answer, ContextChunk, Scope

QUESTIONS = (
    "who is lukewarm on cloud RAG?",
    "backup sqlite",
    "river",
    "what did we decide about backups",
    "bread, flour and water",
    "how do I remember things longer",
    "meetings in April",
    "offline notebook Tomas",
    "Alice Chen",
    "resources/reading-list",
    "知识",
)


def context(brain: Brain, question: str, budget: int, scope: Scope = Scope()) -> Answer:
    return brain.query(question, depth="auto", budget=budget, scope=scope)


def pieces(answer: Answer) -> tuple[ContextChunk, ...]:
    assert answer.context is not None
    return answer.context


def lines_of(text: str, piece: ContextChunk) -> str:
    return "\n".join(text.split("\n")[piece.lines[0] - 1 : piece.lines[1]])


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(QUESTIONS), st.integers(1, 500))
def test_the_laws_of_a_context(embedded: Brain, question: str, budget: int) -> None:
    answer = context(embedded, question, budget)
    found, receipt = pieces(answer), answer.budget
    assert receipt is not None
    counted = sum(embedded.count_tokens(piece.text) for piece in found)
    assert receipt.used == counted <= receipt.limit == budget
    assert embedded.count_tokens("\n\n".join(piece.text for piece in found)) <= budget
    if answer.hits:
        assert answer.hits[0].slug in {piece.slug for piece in found}
    held: dict[str, list[tuple[int, int]]] = {}
    for piece in found:
        text = embedded.text(piece.slug)
        assert piece.text.strip() in lines_of(text, piece) or "\r" in text
        first, last = piece.lines
        assert piece.hash == lines_hash(split_lines(text)[first - 1 : last])
        assert piece.tokens == embedded.count_tokens(piece.text)
        after = held[piece.slug][-1][1] if piece.slug in held else 0
        start = text.index(piece.text, after)
        held.setdefault(piece.slug, []).append((start, start + len(piece.text)))
    for spans in held.values():
        for (_, stop), (start, _) in pairwise(spans):
            assert stop < start
    assert (receipt.stopped == "budget") <= bool(receipt.dropped)
    assert not receipt.dropped or receipt.stopped in ("budget", "verdict")
    for dropped in receipt.dropped:
        assert dropped.tokens > 0
        assert embedded.get(dropped.slug)


@pytest.mark.parametrize("budget", [20, 200, 4000])
def test_the_same_question_gets_the_same_context(embedded: Brain, budget: int) -> None:
    for question in QUESTIONS:
        first, second = (context(embedded, question, budget) for _ in range(2))
        assert (first.context, first.budget) == (second.context, second.budget)


def test_a_page_named_outright_is_given_whole(embedded: Brain) -> None:
    answer = context(embedded, "Alice Chen", 4000)
    assert answer.short_circuit
    own = [piece for piece in pieces(answer) if piece.slug == "people/alice-chen"]
    given = "\n".join(piece.text for piece in own)
    *sections, timeline = embedded.text("people/alice-chen").split("\n## ")[1:]
    for part in [*sections, timeline.removeprefix("Timeline")]:
        assert part.strip("-\n ") in given
    assert own[0].role == "hit"


def test_a_small_budget_cuts_the_best_hit_to_its_best_part(brain: Brain) -> None:
    words = " ".join(f"filler{n}" for n in range(40))
    brain.put("long", f"{words} the heron stands here {words}".encode())
    answer = brain.query("heron", mode="bm25", depth="auto", budget=12)
    (piece,) = pieces(answer)
    assert "heron" in piece.text
    assert answer.budget
    assert answer.budget.stopped == "budget"
    assert answer.budget.dropped[0].slug == "long"


def test_the_context_has_the_best_hit_despite_a_better_chunk(brain: Brain) -> None:
    parts = "\n".join(f"## Part {n}\nheron {'marsh ' * n} and other words {n}" for n in range(1, 9))
    brain.put("heron", f"---\ntitle: The heron and the marsh\n---\n{parts}\n".encode())
    for n in range(9):
        brain.put(f"other{n}", f"heron marsh heron marsh {'reed ' * n}\n".encode())
    for question in ("heron marsh", "marsh words", "heron other words", "heron part"):
        for budget in (5, 12, 30, 60):
            answer = brain.query(question, mode="bm25", depth="auto", budget=budget)
            assert answer.hits[0].slug in {piece.slug for piece in pieces(answer)}


def test_a_page_that_no_passage_speaks_for_is_there_too(brain: Brain) -> None:
    brain.put("wiki", "知识管理 is a page about 知识.\n".encode())
    brain.put("other", b"management of knowledge\n")
    answer = brain.query("知识", mode="bm25", depth="auto", budget=50)
    assert answer.hits[0].slug == "wiki"
    assert pieces(answer)[0].slug == "wiki"


def put_linked(brain: Brain) -> None:
    brain.put("people/ada", b"Ada keeps herons. See [[companies/reed]].\n")
    brain.put("companies/reed", b"Reed builds a windmill by the marsh.\n")


def test_a_linked_page_that_adds_words_is_taken(brain: Brain) -> None:
    put_linked(brain)
    brain.set("short_circuit", "off")
    scope = Scope(wing="people")
    with Brain.open(brain.database.path) as opened:
        everywhere = opened.query("ada windmill", mode="bm25", depth="auto")
        assert {p.slug for p in pieces(everywhere)} == {"people/ada", "companies/reed"}
        inside = opened.query("ada windmill", mode="bm25", depth="auto", scope=scope)
        assert {p.slug for p in pieces(inside)} == {"people/ada"}
        without = Scope(exclude=("companies/reed",))
        excluded = opened.query("ada windmill", mode="bm25", depth="auto", scope=without)
        assert {p.slug for p in pieces(excluded)} == {"people/ada"}


def few_passages(brain: Brain) -> Brain:
    """The brain with a floor so high that only the best chunks are hits."""
    brain.set("context_floor", "1000")
    return Brain.open(brain.database.path)


def roles(answer: Answer) -> dict[str, str]:
    return {piece.slug: piece.role for piece in pieces(answer)}


def put_around(brain: Brain) -> None:
    brain.put("heron", b"## One\nheron heron\n## Two\nreeds\n\nSee [[mill]] and [[barn]].\n")
    brain.put("mill", b"A windmill by the marsh, taller than any other for miles around.\n")
    brain.put("barn", b"A barn.\n")


def test_what_brings_a_missing_word_is_taken_and_nothing_else(brain: Brain) -> None:
    put_around(brain)
    with few_passages(brain) as opened:
        for question, expected in (
            ("heron heron", {"heron": "hit"}),
            ("heron mile", {"heron": "hit", "mill": "linked"}),
            ("heron zzzz", {"heron": "hit"}),
        ):
            answer = opened.query(question, mode="bm25", depth="auto")
            assert roles(answer) == expected
            assert "reeds" not in "".join(piece.text for piece in pieces(answer))
            assert answer.budget
            assert answer.budget.stopped == "relevance"
        small = opened.query("heron mile", mode="bm25", depth="auto", budget=8)
        assert roles(small) == {"heron": "hit"}
        assert small.budget
        assert (small.budget.stopped, small.budget.dropped[0].slug) == ("budget", "mill")


def test_neighbours_come_for_the_words_they_bring(brain: Brain) -> None:
    dull = "\n".join(f"## Part {n}\nnothing of note {n}" for n in range(4))
    text = f"{dull}\n## A\nreeds\n## B\nheron heron heron\n## C\nlilies\n{dull}\n"
    brain.put("marsh", text.encode())
    for n in range(5):
        brain.put(f"other{n}", b"reeds and lilies\n")
    with few_passages(brain) as opened:

        def context_of(question: str, budget: int = 100) -> str:
            answer = opened.query(question, mode="bm25", depth="auto", budget=budget)
            return " ".join("".join(piece.text for piece in pieces(answer)).split())

        assert context_of("heron") == "## B heron heron heron"
        assert context_of("heron reed") == "## A reeds ## B heron heron heron"
        assert context_of("heron lilies") == "## B heron heron heron ## C lilies"
        assert context_of("heron lilies reeds") == "## A reeds ## B heron heron heron ## C lilies"
        assert context_of("heron lilies reeds", 8) == "## B heron heron heron"


def test_a_neighbour_comes_before_an_equal_linked_page(brain: Brain) -> None:
    brain.put("heron", b"## A\nheron heron heron, see [[mill]]\n## B\nthe windmill\n")
    brain.put("mill", b"the windmill\n")
    with few_passages(brain) as opened:
        answer = opened.query("heron windmill", mode="bm25", depth="auto")
    assert roles(answer) == {"heron": "hit"}
    assert "the windmill" in pieces(answer)[0].text


def test_the_answer_is_chosen_before_what_stands_beside_it(brain: Brain) -> None:
    question, answer = "Ann: Did you see a heron?", "Ben: On Tuesday, by the old mill."
    brain.put("chat", f"Ann: {'Good to see you again! ' * 4}\n{question}\n{answer}\n".encode())
    (piece,) = pieces(brain.query("heron", mode="bm25", depth="auto", budget=20))
    assert piece.text.strip() == f"{question}\n{answer}"
    (piece,) = pieces(brain.query("heron", mode="bm25", depth="auto", budget=60))
    assert f"{question}\n{answer}" in piece.text


def test_the_best_hit_is_cut_around_the_words_asked_for(brain: Brain) -> None:
    brain.put("chat", f"Did you see a heron? {'Not today, I fear. ' * 20}\n".encode())
    (piece,) = pieces(brain.query("heron", mode="bm25", depth="auto", budget=10))
    assert "heron" in piece.text
    assert piece.tokens > 8


def test_the_sentence_beside_an_image_is_given_without_it(brain: Brain) -> None:
    image = "data:image/png;base64," + "aB3/xQ9+" * 2000
    brain.put("roof", f"The scaffold stays for ten days. ![damage]({image}) was wet.\n".encode())
    (piece,) = pieces(brain.query("scaffold", mode="bm25", depth="auto", budget=60))
    assert "The scaffold stays for ten days." in piece.text
    assert "base64" not in piece.text


def test_an_image_that_fits_is_given_only_if_a_word_of_the_question_is_in_it(brain: Brain) -> None:
    image = "data:image/png;base64," + "aB3/xQ9+" * 500
    brain.put("roof", f"![damage]({image}) The scaffold stays for ten days.\n".encode())
    brain.put("lamp", f"![]({image})\n".encode())
    (piece,) = pieces(brain.query("scaffold", mode="bm25", depth="auto"))
    assert piece.text.strip() == "The scaffold stays for ten days."
    (shown,) = pieces(brain.query("damage", mode="bm25", depth="auto"))
    assert "base64" in shown.text
    assert pieces(brain.query("lamp shade", mode="bm25", depth="auto")) == ()


def test_a_long_url_that_fits_is_given_whole(brain: Brain) -> None:
    line = f"The offer is at https://docs.example.org/{'aB3/xQ9/' * 60}?usp=sharing today."
    brain.put("roof", line.encode())
    (piece,) = pieces(brain.query("offer", mode="bm25", depth="auto", budget=1000))
    assert piece.text == line


def test_why_it_stopped(brain: Brain) -> None:
    put_linked(brain)

    def stopped(question: str, budget: int) -> str | None:
        answer = brain.query(question, mode="bm25", depth="auto", budget=budget)
        return answer.budget.stopped if answer.budget else None

    assert stopped("herons", 100) == "coverage"
    assert stopped("herons", 3) == "budget"
    assert stopped("windmill", 100) == "exhausted"
    assert stopped("zzzz", 100) == "exhausted"


def test_a_text_that_two_pages_hold_is_told_once(brain: Brain) -> None:
    told = "The roof leaks above the window whenever the wind turns to the west.\n"
    brain.put("house", f"# House\n\n{told}".encode())
    brain.put("copy", f"# House, copied\n\n{told}\n## Gutter\n\nIt drips.\n".encode())
    found = "".join(piece.text for piece in pieces(context(brain, "roof leaks wind gutter", 500)))
    assert found.count("whenever the wind turns") == 1
    assert "It drips." in found


def test_nothing_found_is_an_empty_context(brain: Brain) -> None:
    answer = brain.query("zzzz", mode="bm25", depth="auto", budget=100)
    assert (pieces(answer), answer.budget and answer.budget.used) == ((), 0)


def test_passages_side_by_side_become_running_text(brain: Brain) -> None:
    sentences = [f"Sentence {n} tells of the heron number {n} in the marsh." for n in range(60)]
    text = " ".join(sentences) + "\n"
    brain.put("page", text.encode())
    (piece,) = pieces(brain.query("heron marsh", mode="bm25", depth="auto", budget=4000))
    assert piece.text.strip() == text.strip()
    assert piece.lines == (1, 1)


def test_lines_are_right_behind_wide_white_space(brain: Brain) -> None:
    brain.put("page", "# Head\n\u3000\n\u3000\n\u3000\nthe heron\n".encode())
    brain.put("cut", ("## One\nx\n## Two\n\u3000\n\u3000\nthe egret " + "y " * 300).encode())
    for word in ("heron", "egret"):
        for budget in (3, 100, 4000):
            answer = brain.query(word, mode="bm25", depth="auto", budget=budget)
            piece = pieces(answer)[0]
            assert piece.text.strip() in lines_of(brain.text(piece.slug), piece)


@settings(max_examples=15, deadline=None)
@given(text=st.text(st.sampled_from("ab sourdough\n\t#-é知각🚀\u3000\r"), min_size=1, max_size=600))
def test_any_page_in_any_budget(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    with Brain.open(tmp_path_factory.mktemp("any") / "brain.db", make=True) as brain:
        brain.put("heron", text.encode())
        for budget in (1, 2, 7, 40, 100):
            answer = brain.query("heron", mode="bm25", depth="auto", budget=budget)
            assert answer.budget
            assert answer.budget.used <= budget
            assert sum(brain.count_tokens(piece.text) for piece in pieces(answer)) <= budget
            for piece in pieces(answer):
                assert piece.text in brain.text("heron")


def test_a_word_without_end_costs_by_its_length(brain: Brain) -> None:
    brain.put("long", ("# Long\n\n" + "x" * 200_000 + "\n").encode())
    answer = brain.query("long", depth="auto", budget=1000)
    assert 0 < sum(len(piece.text) for piece in pieces(answer)) <= 8000


def test_a_factual_question_needs_few_tokens(embedded: Brain) -> None:
    answer = context(embedded, "who is lukewarm on cloud RAG?", 4000)
    assert answer.budget
    assert answer.budget.stopped == "relevance"
    assert 0 < answer.budget.used < 1000
    assert answer.hits[0].slug in {piece.slug for piece in pieces(answer)}


def test_limit_is_the_number_of_pages(embedded: Brain) -> None:
    for limit in (1, 2):
        answer = embedded.query("backup sqlite", depth="auto", limit=limit)
        hits = {piece.slug for piece in pieces(answer) if piece.role != "linked"}
        assert hits
        assert hits <= {hit.slug for hit in answer.hits}
        assert len(answer.hits) == limit


def test_no_answer_gives_a_short_context(embedded: Brain) -> None:
    answer = context(embedded, "zebra migration in the Serengeti", 4000)
    assert answer.verdict.grade == "nothing"
    assert answer.budget
    assert answer.budget.stopped == "verdict"
    assert 0 < answer.budget.used <= 500


def test_a_question_whose_words_are_missing_gets_a_shorter_context(
    embedded: Brain, monkeypatch
) -> None:
    question = "zeppelin maintenance schedule"
    shorter = context(embedded, question, 4000)
    assert (shorter.verdict.grade, shorter.verdict.missing) == (
        "partial",
        ("zeppelin", "maintenance"),
    )
    monkeypatch.setattr(context_module, "_FEW_WORDS_COVERED", 0.0)
    longer = context(embedded, question, 4000)
    assert shorter.budget
    assert longer.budget
    assert shorter.budget.used < 0.6 * longer.budget.used
    assert pieces(shorter)[0].slug == pieces(longer)[0].slug
