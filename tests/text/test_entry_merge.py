"""An entry or a task that both sides changed is merged as one, or is a conflict."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gbrain.text.merge import merge_texts

DAY = "- 2026-11-20 — "


@pytest.mark.parametrize(
    ("base", "brain", "file", "wanted"),
    [
        (f"{DAY}[ ] Call Ivy", f"{DAY}[x] Call Ivy", f"{DAY}[ ] Call Ivy about rent",
         f"{DAY}[x] Call Ivy about rent"),
        ("- [ ] Call Ivy.", "- [x] Call Ivy.", "- [ ] Call Ivy, about rent.",
         "- [x] Call Ivy, about rent."),
        ("- [ ] Call Ivy", "- [x] Call Ivy ✅ 2026-11-20",
         "- [ ] Call Ivy about rent 📅 2026-12-01",
         "- [x] Call Ivy about rent 📅 2026-12-01 ✅ 2026-11-20"),
        ("- [ ] Call Ivy ^call", "- [x] Call Ivy ✅ 2026-11-20 ^call", "- [ ] Call Ivy soon ^call",
         "- [x] Call Ivy soon ✅ 2026-11-20 ^call"),
        ("- TODO Call Ivy", "- DONE Call Ivy", "- TODO Call Ivy about rent",
         "- DONE Call Ivy about rent"),
        ("- [x] Call Ivy ✅ 2026-11-19", "- [ ] Call Ivy", "- [x] Call Ivy back ✅ 2026-11-19",
         "- [ ] Call Ivy back"),
        ("1. [ ] Call Ivy", "1. [x] Call Ivy", "1. [ ] Please call Ivy", None),
        ("1. [ ] Call Ivy", "1. [x] Call Ivy", "1. [ ] Soon Call Ivy", "1. [x] Soon Call Ivy"),
        ("- [ ] Buy milk", "- [x] Buy milk", "- [ ] Buy bread", None),
        ("- [ ] Buy milk", "- [ ] Buy milk and eggs", "- [ ] Buy milk for Bo", None),
        ("- [ ] Buy milk", "- [x] Buy milk", "- [-] Buy milk", None),
        ("- [ ] Buy milk", "- [x] Buy milk", "", None),
        (f"{DAY}met Bo", f"{DAY}met Bo in Rome", "- 2026-11-21 — met Bo", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_entry_changed_on_both_sides_is_merged(
    base: str, brain: str, file: str, wanted: str | None, newline: str
) -> None:
    texts = [f"# A\n\n{entry}\n\nEnd.\n".replace("\n", newline) for entry in (base, brain, file)]
    for ours, theirs in ((texts[1], texts[2]), (texts[2], texts[1])):
        merged = merge_texts(texts[0], ours, theirs)
        if wanted is None:
            assert merged.conflicts == 1
        else:
            assert merged == (f"# A\n\n{wanted}\n\nEnd.\n".replace("\n", newline), 0)


def test_a_task_ticked_here_and_moved_there_is_there_once() -> None:
    base = "## Open\n\n- [ ] Call Ivy\n- [ ] Buy milk\n\n## Done\n\n- [x] Sleep\n"
    ticked = base.replace("[ ] Call", "[x] Call")
    moved = "## Open\n\n- [ ] Buy milk\n\n## Done\n\n- [ ] Call Ivy\n- [x] Sleep\n"
    assert merge_texts(base, ticked, moved) == (moved.replace("[ ] Call", "[x] Call"), 0)
    assert merge_texts(base, moved, ticked) == (moved.replace("[ ] Call", "[x] Call"), 0)


def test_an_entry_that_both_moved_is_there_once() -> None:
    a, b, c = (f"- 2026-11-20 — {name}\n" for name in ("Ada", "Bo", "Cy"))
    assert merge_texts(a + b + c, b + a + c, b + c + a) == (b + c + a, 0)
    a, b, c = (f"- [ ] {name}\n" for name in ("Ada", "Bo", "Cy"))
    assert merge_texts(a + b + c, b + a + c, b + c + a).conflicts == 1


def test_tasks_that_both_added_are_kept_below_each_other() -> None:
    base = "# A\n\n- [ ] one\n"
    merged = merge_texts(base, base + "- [ ] two\n  - note\n", base + "- [x] three\n")
    assert merged == (base + "- [x] three\n- [ ] two\n  - note\n", 0)
    sides = (base + "  - [ ] two\n", base + "- [ ] three\n")
    assert merge_texts(base, *sides).conflicts == merge_texts(base, *sides[::-1]).conflicts == 1


def test_lines_below_an_entry_stay_with_it() -> None:
    base = f"{DAY}[ ] Call Ivy\n- 2026-11-21 — later\n"
    brain = base.replace("[ ]", "[x]")
    file = base.replace("Ivy\n", "Ivy about rent\n  - her number\n")
    assert merge_texts(base, brain, file) == (file.replace("[ ]", "[x]"), 0)
    below = [base.replace("Ivy\n", f"Ivy\n  - {note}\n") for note in ("one", "two")]
    assert merge_texts(base, *below).conflicts == 1


def test_an_entry_that_both_added_and_one_ticked_is_there_once() -> None:
    base = "# A\n\n"
    for name, wanted in (("[ ] Call Ivy", 0), ("[ ] Call Ivy about rent", 1)):
        sides = (f"{base}{DAY}[x] Call Ivy\n", f"{base}{DAY}{name}\n")
        assert merge_texts(base, *sides).conflicts == wanted
        assert merge_texts(base, *sides[::-1]).conflicts == wanted
    apart = merge_texts("a\nb\n", f"{DAY}[x] Ivy\na\nb\n", f"a\nb\n{DAY}[ ] Ivy\n")
    assert apart == (f"a\nb\n{DAY}[x] Ivy\n", 0)


def test_two_tasks_of_one_name_are_not_taken_for_one() -> None:
    base = "## Mon\n- [ ] review\n## Tue\n- [ ] review\n"
    brain = "## Mon\n- [x] review\n## Tue\n- [ ] review\n"
    file = "## Mon\n- [ ] review\n## Tue\n- [ ] review PR 5\n"
    wanted = "## Mon\n- [x] review\n## Tue\n- [ ] review PR 5\n"
    assert merge_texts(base, brain, file) == (wanted, 0)


def test_an_entry_extended_to_one_that_the_other_added_is_there_once() -> None:
    base, longer = f"# A\n{DAY}Ivy\n# B\n", f"{DAY}Ivy called\n"
    brain = base.replace(f"{DAY}Ivy\n", longer)
    merged = merge_texts(base, brain, longer + base)
    assert merged == (f"{longer}# A\n# B\n", 0)


def test_an_entry_that_a_side_has_twice_is_for_the_user() -> None:
    twice = f"{DAY}Ivy\n" * 2
    assert merge_texts("# A\n", f"{twice}# A\n", f"# A\n{twice}").conflicts == 1


def test_a_line_that_comes_to_stand_below_another_entry_is_for_the_user() -> None:
    ticked, other, last = f"{DAY}[x] a\n", f"{DAY}[ ] b\n", "- 2026-11-21 — g\n"
    base = f"{last}  below\n- DONE h\n{last}"
    brain = f"{other}{ticked}  below\n{last}"
    for sides in ((brain, ticked + base), (ticked + base, brain)):
        merged = merge_texts(base, *sides)
        assert merged.conflicts == 1
        # What both have in the same place is no part of the conflict.
        assert "<<<<<<< file\n  below" not in merged.text


LINES = st.sampled_from(
    ["- [ ] a\n", "- [x] a\n", "- [ ] a b\n", "- [x] a c ✅ 2026-11-20\n", "  - [ ] a\n",
     "- 2026-01-02 — a\n", "- 2026-01-02 — [x] a\n", "- 2026-01-02 — [ ] a e\n", "- TODO h\n",
     "- DONE h i\n", "1. [ ] j\n", "\n", "# H\n", "text\n", "  below\n"]
)  # fmt: skip
STATES = {"[x]", "[", "]", "TODO", "DONE"}


@settings(max_examples=600, deadline=None)
@given(*(st.lists(LINES, max_size=7) for _ in range(3)))
def test_repeated_entries_are_not_lost_or_doubled(
    base: list[str], brain: list[str], file: list[str]
) -> None:
    merged = merge_texts("".join(base), "".join(brain), "".join(file))
    words = set(merged.text.split())
    for side in (brain, file):
        assert set("".join(side).split()) - set("".join(base).split()) - STATES <= words
    lines = merged.text.splitlines(keepends=True)
    doubled = [
        line
        for line in lines
        if line[:1] in "-1 " and lines.count(line) > max(1, brain.count(line), file.count(line))
    ]
    assert merged.conflicts or not [line for line in doubled if line != "  below\n"]


# --- a model of what two people do to a list of entries ----------------------------------------


class Entry(NamedTuple):
    """An entry called `name`; `words` were added to it, `below` are lines under it."""

    name: str
    dated: bool
    done: bool = False
    words: tuple[str, ...] = ()
    below: tuple[str, ...] = ()

    def text(self, style: str) -> str:
        day = f"2026-11-{10 + int(self.name[1:]) % 15} — " if self.dated else ""
        if style == "logseq":
            box, tail = ("DONE" if self.done else "TODO"), ""
        else:
            box = "[x]" if self.done else "[ ]"
            tail = " ✅ 2026-11-20" if self.done and style == "obsidian" else ""
        first = " ".join([f"- {day}{box} call {self.name}", *self.words]) + tail
        return "".join(f"{line}\n" for line in (first, *(f"  - {line}" for line in self.below)))


@st.composite
def two_edits(draw: st.DrawFn) -> tuple[str, list[list[Entry]]]:
    """Draw a style and three lists of entries: the base, and what each side made of it."""
    style = draw(st.sampled_from(["plain", "obsidian", "logseq"]))
    dated = draw(st.booleans())
    base = [Entry(f"e{n}", dated, draw(st.booleans())) for n in range(draw(st.integers(1, 5)))]
    sides = []
    for side in ("o", "t"):
        entries = list(base)
        for step in range(draw(st.integers(0, 3))):
            action = draw(
                st.sampled_from(["tick", "add words", "add below", "add", "drop", "move"])
            )
            at = draw(st.integers(0, max(len(entries) - 1, 0)))
            word = f"{side}{step}word"
            if action == "add":
                new = Entry(f"{'n' if side == 'o' else 'm'}{step + 20}", dated)
                entries.insert(draw(st.integers(0, len(entries))), new)
            elif entries:
                entry = entries.pop(at)
                if action == "move":
                    at = draw(st.integers(0, len(entries)))
                if action == "tick":
                    entry = entry._replace(done=not entry.done)
                elif action == "add words":
                    entry = entry._replace(words=(*entry.words, word))
                elif action == "add below":
                    entry = entry._replace(below=(*entry.below, word))
                if action != "drop":
                    entries.insert(at, entry)
        sides.append(entries)
    return style, [base, *sides]


def written(entries: list[Entry], style: str) -> str:
    return "# Log\n\n" + "".join(entry.text(style) for entry in entries) + "\nEnd.\n"


@settings(max_examples=600, deadline=None)
@given(two_edits())
def test_no_change_of_either_side_is_lost_or_doubled(drawn: tuple[str, list[list[Entry]]]) -> None:
    style, lists = drawn
    base, brain, file = (written(entries, style) for entries in lists)
    merged = merge_texts(base, brain, file)
    turned = merge_texts(base, file, brain)
    assert (merged.conflicts > 0) == (turned.conflicts > 0)
    assert merge_texts(base, brain, brain).text == brain
    assert merge_texts(base, brain, base).text == brain
    assert merge_texts(base, base, brain).text == brain
    if merged.conflicts:
        for side in (brain, file):
            assert set(re.findall(r"\w+word", side)) <= set(re.findall(r"\w+word", merged.text))
        return
    assert sorted(merged.text.splitlines()) == sorted(turned.text.splitlines())
    known, ours, theirs = ({entry.name: entry for entry in entries} for entries in lists)
    heads = [line for line in merged.text.splitlines() if " call " in line]
    names = [re.findall(r" call (\w+)", line)[0] for line in heads]
    assert len(names) == len(set(names))
    for name in {**ours, **theirs}:
        mine, other, old = ours.get(name), theirs.get(name), known.get(name)
        sides = [entry for entry in (mine, other) if entry]
        if old and len(sides) == 1 and sides[0] == old:
            assert name not in names
            continue
        (head,) = [line for line in heads if f" call {name}" in line]
        changed = [entry for entry in sides if old is None or entry.done != old.done]
        done = changed[0].done if changed else sides[0].done
        assert ("[x]" in head or "DONE" in head) == done
        for entry in sides:
            for word in entry.words:
                assert head.split().count(word) == 1
            block = merged.text.split(head)[1].split("\n- ")[0]
            assert all(block.count(f"\n  - {line}") == 1 for line in entry.below)
