"""Lines of questions: each is answered, however long the one before it was."""

from __future__ import annotations

from io import StringIO

from gbrain.cli.batch import answer_lines


class Metered(StringIO):
    """Gives only a part of a line at a time."""

    def readline(self, size: int | None = -1, /) -> str:
        assert size is not None
        assert 0 < size < 2_000_000
        return super().readline(size)


def test_a_line_that_never_seems_to_end_is_not_held() -> None:
    source = Metered("one\n\n" + 5_000_000 * "x" + "\ntwo\r\n" + 1_000_000 * "y" + "\nthree")
    told = list(answer_lines(source, lambda options: {"query": options["query"]}, ()))
    assert [len(document["query"]) for document in told] == [3, 1_000_000, 3, 1_000_000, 5]
    assert ["error" in document for document in told] == [False, True, False, False, False]
