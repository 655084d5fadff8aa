"""JSON keeps every character and is safe to print on a terminal."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from gbrain.messages import printable
from gbrain.output.json import dumps


@given(st.dictionaries(st.text(), st.lists(st.text())))
def test_json_is_lossless_and_safe_on_a_terminal(document: dict[str, list[str]]) -> None:
    written = dumps(document)
    assert json.loads(written) == document
    assert printable(written) == written


def test_only_control_characters_are_escaped() -> None:
    assert dumps({"é": "漢 \u00a0 \x9b \u202e"}) == '{"é": "漢 \u00a0 \\u009b \\u202e"}'
