"""The keyword index of a few chunks finds and marks what the index of the whole brain does."""

from __future__ import annotations

from contextlib import closing

from gbrain.brain import Brain
from gbrain.store.small_index import SmallIndex


def _chunk_ids(brain: Brain) -> list[int]:
    with brain.database.read_transaction() as connection:
        return [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")]


def test_words_are_marked_as_the_keyword_index_reads_them(brain: Brain) -> None:
    brain.put("a", "# Boats\n\nWe were sailing in the café of 東京都.\n".encode())
    brain.put("b", b"# Sailing\n\nNothing else.\n")
    first, second = _chunk_ids(brain)
    with brain.database.read_transaction() as connection, closing(SmallIndex(connection)) as index:
        marked = index.mark([first, second], '"sails" OR "cafe" OR "東\x1f京"')
        assert marked[first] == "We were \x02sailing\x03 in the \x02café\x03 of \x02東京\x03都."
        assert marked[second] == "Nothing else."
        assert index.mark([second], '"boats"') == {}


def test_a_match_may_be_spread_over_title_headings_and_text(brain: Brain) -> None:
    brain.put("a", b"# Boats\n\n## Harbour\n\nThe red one is mine.\n")
    (only,) = _chunk_ids(brain)
    with brain.database.read_transaction() as connection, closing(SmallIndex(connection)) as index:
        assert index.matching([only], '"boat" AND "harbour" AND "red"') == {only}
        assert index.matching([only], '"boat" AND "blue"') == set()
        assert index.matching([], '"boat"') == set()


def test_only_the_asked_chunks_are_returned(brain: Brain) -> None:
    for name in ("a", "b", "c"):
        brain.put(name, b"# Note\n\nA heron stood there.\n" + name.encode())
    first, second, third = _chunk_ids(brain)
    with brain.database.read_transaction() as connection, closing(SmallIndex(connection)) as index:
        assert index.matching([first, second], '"heron"') == {first, second}
        assert index.matching([third], '"heron"') == {third}
        assert list(index.mark([second], '"heron"')) == [second]


def test_the_index_of_the_next_query_is_empty(brain: Brain) -> None:
    brain.put("a", b"# Boats\n\nA heron stood there.\n")
    brain.put("b", b"# Birds\n\nA heron flew.\n")
    first, second = _chunk_ids(brain)
    with brain.database.read_transaction() as connection:
        for chunk, other in ((first, second), (second, first)):
            with closing(SmallIndex(connection)) as index:
                assert index.matching([chunk], '"heron"') == {chunk}
                assert list(index.mark([chunk, other], '"boats"')) == [first]
