"""Lines of a batch: each is answered, even after one that is too long."""

from __future__ import annotations

from io import StringIO

from gbrain.cli.batch import answer_lines


class BoundedReads(StringIO):
    """Fails if a whole line is read without a bound."""

    def readline(self, size: int | None = -1, /) -> str:
        assert size is not None
        assert 0 < size < 2_000_000
        return super().readline(size)


def test_an_endless_line_is_not_kept_in_memory() -> None:
    source = BoundedReads("one\n\n" + 5_000_000 * "x" + "\ntwo\r\n" + 1_000_000 * "y" + "\nthree")
    documents = list(answer_lines(source, lambda options: {"query": options["query"]}, ()))
    assert [len(document["query"]) for document in documents] == [3, 1_000_000, 3, 1_000_000, 5]
    assert ["error" in document for document in documents] == [False, True, False, False, False]
