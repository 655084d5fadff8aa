"""Two lanes agree when two of their first three pages are the same."""

from __future__ import annotations

import pytest

from gbrain.search.fusion import lanes_agree
from gbrain.types import Candidate, LaneResult


def lane(*pages: int) -> LaneResult:
    return LaneResult(
        tuple(
            Candidate(page, f"p{page}", None, rank, 1 / rank) for rank, page in enumerate(pages, 1)
        )
    )


@pytest.mark.parametrize(
    ("fts", "vector", "agree"),
    [
        ((1, 2, 3), (1, 2, 3), True),
        ((1, 2, 3), (3, 9, 1), True),
        ((1, 2), (2, 1), True),
        ((1, 2, 3), (1, 8, 9), False),
        ((1, 2, 3, 4), (4, 3, 9, 1), False),
        ((1,), (1,), False),
        ((), (), False),
    ],
)
def test_two_of_three(fts: tuple[int, ...], vector: tuple[int, ...], agree: bool) -> None:
    assert lanes_agree({"fts": lane(*fts), "vector": lane(*vector)}) is agree
    assert lanes_agree({"vector": lane(*fts), "fts": lane(*vector)}) is agree


def test_a_lane_alone_agrees_with_nobody() -> None:
    assert not lanes_agree({"fts": lane(1, 2, 3)})
    assert not lanes_agree({"fts": lane(1, 2, 3), "graph": lane(1, 2, 3)})
