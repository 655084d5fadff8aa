"""Errors as an agent reads them."""

from __future__ import annotations

import pytest

from gbrain.errors import NotFound
from gbrain.mcp.reply import error_reply, for_agents


def test_an_error_has_a_code_a_message_and_a_hint() -> None:
    reply = error_reply(NotFound("There is no page x", hint="gbrain list shows the pages."))
    assert reply.document == {
        "error": {
            "code": "not_found",
            "message": "There is no page x",
            "hint": "brain_list shows the pages.",
        }
    }
    assert reply.text == (
        "Error (not_found): There is no page x\nHint: brain_list shows the pages."
    )


@pytest.mark.parametrize(
    ("hint", "shown"),
    [
        ("Read it again with gbrain get a/b.", "Read it again with brain_get a/b."),
        ("gbrain put a FILE makes the page first.", "brain_put a makes the page first."),
        ("gbrain timeline-add writes one.", "brain_timeline_add writes one."),
        ("Ask with --include-superseded.", "Ask with include_superseded."),
        ("gbrain doctor --repair mends it.", "gbrain doctor --repair mends it."),
    ],
)
def test_hints_name_what_an_agent_can_call(hint: str, shown: str) -> None:
    assert for_agents(hint) == shown
