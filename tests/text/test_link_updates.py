"""Links to renamed pages get the new name in the way they were written."""

from __future__ import annotations

import pytest

from gbrain.text.link_updates import RenamedPage, update_links

RENAMED = {
    "old name": RenamedPage("New Place/New Name.md", "New Name"),
    "dir old name": RenamedPage("New Place/New Name.md", "New Name"),
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[[Old Name]]", "[[New Name]]"),
        ("![[old name#Heading|label]]", "![[New Name#Heading|label]]"),
        ("[[dir/Old Name.md]]", "[[New Place/New Name.md]]"),
        ("| [[Old Name\\|label]] |", "| [[New Name\\|label]] |"),
        ("[[ Old Name ]]", "[[ New Name ]]"),
        ("[text](../dir/old-name.md#part)", "[text](../New%20Place/New%20Name.md#part)"),
        ("[text](<../dir/old name.md>)", "[text](<../New Place/New Name.md>)"),
        ("[text](/dir/old-name)", "[text](/New%20Place/New%20Name)"),
        ("---\nup: '[[Old Name]]'\n---\nText", "---\nup: '[[New Name]]'\n---\nText"),
        ("Ä ((a)) [[Old Name]]\r\n[[Old Name]]", "Ä ((a)) [[New Name]]\r\n[[New Name]]"),
    ],
)
def test_a_link_keeps_the_way_it_is_written(before: str, after: str) -> None:
    assert update_links(before, "notes/a.md", RENAMED) == (after, before.lower().count("old"))


@pytest.mark.parametrize(
    "text",
    [
        "`[[Old Name]]`",
        "```\n[[Old Name]]\n```\n",
        "%%[[Old Name]]%%",
        "Old Name, [[Older Name]], [Old Name](https://example.org/old-name.md) #old-name",
    ],
)
def test_code_comments_and_other_links_stay(text: str) -> None:
    assert update_links(text, "notes/a.md", RENAMED) == (text, 0)
