"""Tasks in the text of a page: what is one, when it is due, and how one is ticked."""

from __future__ import annotations

import pytest

from gbrain.text.tasks import find_tasks, may_have_tasks, tick


def texts(body: str, *, done: bool | None = None) -> list[str]:
    return [task.text for task in find_tasks(body) if done in (None, task.done)]


@pytest.mark.parametrize(
    "line",
    [
        "- [ ] Call", "* [ ] Call", "+ [ ] Call", "1. [ ] Call", "12) [ ] Call", "  - [ ] Call",
        "> - [ ] Call", "- [/] Call", "- TODO Call", "- DOING Call", "- LATER Call", "- NOW Call",
        "-\t[ ]\tCall", "- [ ] Call  ", "- [ ] Call\r", "- 2026-11-19 — [ ] Call",
        "- **2026-11** | phone — [ ] Call", "- 2026-11-19: TODO Call", "- 2026-11-19 — - [ ] Call",
    ],
)  # fmt: skip
def test_an_open_task(line: str) -> None:
    assert texts(f"{line}\n", done=False) == ["Call"]


@pytest.mark.parametrize("mark", ["[x]", "[X]", "[-]", "DONE", "CANCELED", "CANCELLED"])
def test_a_finished_task(mark: str) -> None:
    assert texts(f"- {mark} Call", done=True) == ["Call"]


@pytest.mark.parametrize(
    "body",
    [
        "- [ ]\n", "- [ ]Call\n", "[ ] Call\n", "-[ ] Call\n", "- [a] Call\n", "- [ ](link) text\n",
        "- TODOS\n", "TODO Call\n", "```\n- [ ] Call\n```\n", "~~~md\n- TODO Call\n~~~\n",
        "- item\n\n      - [ ] indented code\n", "<!--\n- [ ] Call\n-->\n", "%%\n- [ ] Call\n%%\n",
        "    - [ ] code\n", "- 2026-11-19 — see [ ] there\n", "- on 2026-11-19 — [ ] there\n",
        "- 2026-04-03 Standup - NOW is the time\n",
    ],
)  # fmt: skip
def test_no_task(body: str) -> None:
    assert texts(body) == []


def test_nested_tasks_are_tasks_of_their_own() -> None:
    body = "- [ ] one\n  - [x] two\n\t- [ ] three\n- plain\n  1. [ ] four\n"
    assert [(task.text, task.done, task.line) for task in find_tasks(body)] == [
        ("one", False, 1), ("two", True, 2), ("three", False, 3), ("four", False, 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "due"),
    [
        ("Pay 📅 2026-11-20", "2026-11-20"),
        ("Pay 📅2026-11-20 ⏫", "2026-11-20"),
        ("Pay 🗓️ 2026-11-20", "2026-11-20"),
        ("Pay due: 2026-11-20", "2026-11-20"),
        ("Pay [due:: 2026-11-20]", "2026-11-20"),
        ("Pay (Due 2026-11-20)", "2026-11-20"),
        ("Pay @2026-11-20", "2026-11-20"),
        ("Pay @due(2026-11-20)", "2026-11-20"),
        ("2026-11-20: Pay", "2026-11-20"),
        ("Pay due: 2026-11", "2026-11-30"),
        ("Pay for residue 2026-11-20", None),
        ("Write to me@2026-11-20.example", None),
        ("Pay 🛫 2026-11-20", None),
        ("Pay due: 2026-13-40", None),
        ("Pay the bill of 2026-11-20", None),
        ("Pay due: never", None),
        ("Pay due by 2026-11-20", "2026-11-20"),
        ("Pay by 20 November 2026", "2026-11-20"),
        ("Pay, due on Nov 20, 2026", "2026-11-20"),
        ("Zahlen bis zum 20.11.2026", "2026-11-20"),
        ("Zahlen (fällig am 20. November 2026)", "2026-11-20"),
        ("Read the novel by Sara", None),
        ("Learn to swim by 2027", None),
    ],
)
def test_the_due_date_is_in_the_item(text: str, due: str | None) -> None:
    (task,) = find_tasks(f"- [ ] {text}\n")
    assert (task.due.last if task.due else None) == due


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("Pay 📅 2026-11-20", "Pay"),
        ("Pay 📅2026-11-20 ⏫", "Pay ⏫"),
        ("Pay [due:: 2026-11-20]", "Pay"),
        ("Pay (due 2026-11-20), then rest", "Pay, then rest"),
        ("Mira: icons — by 20 November 2026.", "Mira: icons."),
        ("Pay @due(2026-11-20) the bill", "Pay the bill"),
        ("2026-11-20: Pay", "Pay"),
        ("Due 2026-11-20: pay", "pay"),
        ("due 2026-11-20", "due 2026-11-20"),
        ("Pay (late) due 2026-11-20", "Pay (late)"),
        ("Pay 📅 2026-11", "Pay 📅 2026-11"),
        ("Pay 📅 2026-11-20 14:00", "Pay 📅 2026-11-20 14:00"),
        ("Pay the bill of 2026-11-20", "Pay the bill of 2026-11-20"),
    ],
)
def test_the_label_is_the_text_without_its_due_day(text: str, label: str) -> None:
    (task,) = find_tasks(f"- [ ] {text}\n")
    assert (task.text, task.label) == (text, label)


def test_logseq_writes_the_deadline_below() -> None:
    body = "- TODO Pay\n  DEADLINE: <2026-11-20 Fri>\n- TODO Rest\n  SCHEDULED: <2026-11-21 Sat>\n"
    assert [task.due.text for task in find_tasks(body) if task.due] == ["2026-11-20", "2026-11-21"]


def test_a_section_gives_its_heading_and_date() -> None:
    body = (
        "- [ ] a\n# Top\n## 2026-11-16 Monday\n- [ ] b\n- [ ] c 📅 2026-12-01\n## Rest\n- [ ] d\n"
    )
    assert [(task.text[0], task.heading, task.date) for task in find_tasks(body)] == [
        ("a", None, None),
        ("b", "2026-11-16 Monday", "2026-11-16"),
        ("c", "2026-11-16 Monday", "2026-12-01"),
        ("d", "Rest", None),
    ]


def test_tags_are_those_of_the_item() -> None:
    body = "#page\n- [ ] one #home/garden #Urgent\n- [ ] two, C# and #1\n"
    assert [task.tags for task in find_tasks(body)] == [("home/garden", "Urgent"), ()]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\r\n- [ ] b\r\n- [ ] c", "a\r\n- [x] b\r\n- [ ] c"),
        ("- [/]  b\t\n\n", "- [x]  b\t\n\n"),
        ("```\n- [ ] b\n```\n1. [ ] b", "```\n- [ ] b\n```\n1. [x] b"),
        ("- TODO b ✓\n  id:: 1", "- DONE b ✓\n  id:: 1"),
        ("- LATER b", "- DONE b"),
    ],
)
def test_ticking_changes_the_mark_alone(before: str, after: str) -> None:
    assert tick(before, next(find_tasks(before))) == after


def test_a_page_without_tasks_is_told_fast() -> None:
    assert not may_have_tasks("- a\n- [link](b)\n")
    assert may_have_tasks("text\n  - [ ] a\n")
