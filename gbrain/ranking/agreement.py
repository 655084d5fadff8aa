"""Whether keywords and meaning name the same pages: then reranking would only confirm them."""

from __future__ import annotations

from collections.abc import Mapping

from gbrain.types import Found

FIRST, SHARED = 3, 2


def lanes_agree(lanes: Mapping[str, Found]) -> bool:
    """Whether the keyword and the vector lane share at least two of their first three pages."""
    if "fts" not in lanes or "vector" not in lanes:
        return False
    keyword, meaning = (
        {page.page_id for page in lanes[lane].pages[:FIRST]} for lane in ("fts", "vector")
    )
    return len(keyword & meaning) >= SHARED
