"""Tasks of all pages, ticked by their numbers, and what a day brings."""

from __future__ import annotations

import pytest

GARDEN = (
    "---\r\ntags: [home]\r\ndate: 2026-11-02\r\n---\r\n# Garden\r\n\r\n"
    "- [ ] Buy seeds 📅 2026-11-20\r\n"
    "  - [ ] Ask Marta #phone\r\n- [x] Dig\r\n- [ ] Water @2026-11-10"
)
WORK = """# Work

#office

## 2026-11-16 Monday
* [ ] Write the report due: 2026-11-16 #urgent
1. [ ] Same
2. [ ] Same

```
- [ ] only an example
```

## Timeline
- 2026-11-16 — Signed the lease
- 2026-11 — A month is no day
"""


@pytest.fixture
def notes(run, brain_path):
    run("put", "home/garden", stdin=GARDEN.encode())
    run("put", "work/plan", stdin=WORK.encode())
    run("put", "journal/2026-11-16", stdin=b"Rain all day.\n")
    return brain_path


def listed(run, *words):
    return [task["text"].split()[0] for task in run("tasks", *words, "--json").json["tasks"]]


def number(run, text):
    tasks = run("tasks", "--all", "--json").json["tasks"]
    return next(task["number"] for task in tasks if task["text"].startswith(text))


def test_open_tasks_are_listed_by_due_date_then_by_page(run, notes):
    rows = [line.split("\t") for line in run("tasks").stdout.splitlines()]
    assert [row[1:] for row in rows] == [
        ["2026-11-10", "home/garden", "Water"],
        ["2026-11-16", "work/plan", "Write the report #urgent"],
        ["2026-11-20", "home/garden", "Buy seeds"],
        ["", "home/garden", "Ask Marta #phone"],
        ["", "work/plan", "Same"],
        ["", "work/plan", "Same"],
    ]
    assert all(len(row[0]) == 4 and row[0].isdecimal() for row in rows)
    assert len({row[0] for row in rows}) == len(rows)


def test_a_task_as_a_document(run, notes):
    (task,) = run("tasks", "--tag", "urgent", "--json").json["tasks"]
    assert task == {
        "number": number(run, "Write"), "slug": "work/plan", "title": "Work", "line": 6,
        "text": "Write the report #urgent", "done": False, "due": "2026-11-16",
        "date": "2026-11-16", "heading": "2026-11-16 Monday", "tags": ["urgent"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--all", "home/garden"), ["Water", "Buy", "Ask", "Dig"]),
        (("Garden",), ["Water", "Buy", "Ask"]),
        (("--tag", "home"), ["Water", "Buy", "Ask"]),
        (("--tag", "HOME", "--tag", "phone"), ["Ask"]),
        (("--tag", "office"), ["Write", "Same", "Same"]),
        (("--tag", "none"), []),
        (("--slug-prefix", "work/"), ["Write", "Same", "Same"]),
        (("--until", "2026-11-15"), ["Water", "Ask"]),
        (("--since", "2026-11-16"), ["Write", "Buy", "Same", "Same"]),
        (("--since", "today", "--until", "today"), ["Write", "Same", "Same"]),
        (("--exclude", "home/garden", "-n", "1"), ["Write"]),
        (("--where", "date=2026-11-02"), ["Water", "Buy", "Ask"]),
    ],
)
def test_tasks_are_filtered(run, notes, options, found):
    assert listed(run, *options) == found


def test_done_ticks_the_task_and_changes_no_other_byte(run, notes):
    answer = run("done", number(run, "Buy"))
    assert answer.stderr == "home/garden: Buy seeds: done, version 2\n"
    expected = GARDEN.replace("[ ] Buy", "[x] Buy").encode()
    assert run("get", "home/garden").stdout_bytes == expected
    run("undo", "home/garden")
    assert run("get", "home/garden").stdout_bytes == GARDEN.encode()


def test_a_captured_task_is_listed_and_ticked(run, brain_path):
    run("capture", "[ ] Call Ivy by 2026-11-20", "--source", "phone")
    (task,) = run("tasks", "--json").json["tasks"]
    assert (task["slug"], task["text"], task["due"]) == ("inbox", "Call Ivy", "2026-11-20")
    run("done", task["number"])
    assert "| phone — [x] Call Ivy by 2026-11-20" in run("get", "inbox").stdout


def test_done_ticks_the_task_in_its_file(run, brain_path, tmp_path):
    notes = tmp_path / "notes"
    notes.mkdir()
    file = notes / "Garden.md"
    file.write_bytes(GARDEN.encode())
    run("import", notes, "--no-embed")
    document = run("done", number(run, "Water"), "--json").json["done"][0]
    assert document["file"]["path"] == str(file)
    assert file.read_bytes() == GARDEN.replace("[ ] Water", "[x] Water").encode()


def test_a_number_means_its_task_although_the_list_changed(run, notes):
    report, water = number(run, "Write"), number(run, "Water")
    run("put", "a", stdin=b"- [ ] New first @2020-01-01\n")
    run("done", water)
    run("put", "work/plan", stdin=WORK.replace("# Work", "# Work\n\n- [ ] Above\n").encode())
    document = run("done", report, "--json").json["done"]
    assert [(one["slug"], one["outcome"]) for one in document] == [("work/plan", "updated")]
    assert listed(run, "--until", "2026-11-16") == ["New", "Ask", "Above", "Same", "Same"]


def test_a_changed_or_unknown_task_is_not_ticked(run, notes):
    report = number(run, "Write")
    run("put", "work/plan", stdin=WORK.replace("report", "letter").encode())
    answer = run("done", report, "--json")
    assert (answer.exit_code, answer.error["code"]) == (1, "not_found")
    assert run("get", "work/plan", "--json").json["version"] == 2
    assert run("done", "first").exit_code == 2


def test_tasks_with_the_same_text_are_told_apart(run, notes):
    first, second = (
        task["number"] for task in run("tasks", "work/plan", "--json").json["tasks"][1:]
    )
    run("done", second)
    text = run("get", "work/plan").stdout
    assert "1. [ ] Same\n2. [x] Same\n" in text
    assert run("done", first, second, "-q").exit_code == 0
    assert "1. [x] Same\n2. [x] Same\n" in run("get", "work/plan").stdout


def test_a_task_that_is_done_stays_done(run, notes):
    answer = run("done", number(run, "Dig"))
    assert (answer.exit_code, answer.stderr) == (
        0, "home/garden: Dig: was done before, version 1\n",
    )  # fmt: skip


def test_too_few_digits_list_the_candidates(run, notes):
    run("put", "many", stdin="".join(f"- [ ] Task {n}\n" for n in range(30)).encode())
    answer = run("done", "1", "--json")
    assert (answer.exit_code, answer.error["code"]) == (1, "ambiguous_name")
    assert listed(run, "many") == ["Task"] * 30


def test_no_tasks(run, brain_path):
    run("put", "a", stdin=b"nothing to do\n")
    assert run("tasks", "--exit-code").exit_code == 3
    assert run("tasks", "--json").json == {"tasks": [], "total": 0}


def test_tasks_as_of_an_earlier_day(run, notes, monkeypatch):
    water = number(run, "Water")
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-18T12:00:00")
    run("done", water)
    assert "Water" not in listed(run)
    assert "Water" in listed(run, "--as-of", "2026-11-17")


# --- today -----------------------------------------------------------------------------------


def test_today_in_a_pipe(run, notes):
    rows = [line.split("\t") for line in run("today").stdout.splitlines()]
    assert [row[:3] for row in rows] == [
        ["overdue", "2026-11-10", "home/garden"],
        ["due", "2026-11-16", "work/plan"],
        ["dated", "2026-11-16", "journal/2026-11-16"],
        ["dated", "2026-11-16", "work/plan"],
        ["dated", "2026-11-16", "work/plan"],
        ["written", "2026-11-16", "home/garden"],
        ["written", "2026-11-16", "journal/2026-11-16"],
        ["written", "2026-11-16", "work/plan"],
    ]
    assert "Signed the lease" in run("today").stdout
    assert "A month" not in run("today").stdout


def test_today_follows_the_clock_and_the_date(run, notes, monkeypatch):
    assert [task["text"][:5] for task in run("today", "2026-11-20", "--json").json["due"]] == [
        "Buy s"
    ]
    assert run("today", "2026-11-30", "--json").json["written"] == []
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-20T12:00:00")
    day = run("today", "--json").json
    assert (day["date"], len(day["due"]), len(day["overdue"]), day["entries"]) == (
        "2026-11-20", 1, 2, [],
    )  # fmt: skip
    assert run("today", "last week").exit_code == 2


def test_today_limits_the_pages_written(run, notes):
    day = run("today", "-n", "1", "--json").json
    assert (len(day["written"]), day["written_total"]) == (1, 3)


def test_today_on_a_terminal(notes, at_terminal):
    code, shown = at_terminal("today", "--no-pager", "--db", str(notes), columns=70)
    assert code == 0
    assert "Monday, 16 November 2026" in shown
    assert shown.index("Overdue") < shown.index("Water") < shown.index("Written lately")


def test_today_leaves_out_what_the_first_import_of_a_folder_brought(
    run, brain_path, tmp_path, monkeypatch
):
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("old", "older"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nWritten years ago.\n")
    run("import", str(folder), "--no-embed")
    assert run("today", "--json").json["written"] == []
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-16T13:00:00")
    (folder / "new.md").write_text("# New\n\nWritten today.\n")
    (folder / "old.md").write_text("# Old\n\nChanged today.\n")
    run("sync", "--no-embed")
    day = run("today", "--json").json
    assert [page["slug"] for page in day["written"]] == ["new", "old"]
    assert day["written_total"] == 2
