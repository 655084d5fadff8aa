"""What happened when: read from one page or all, and added to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gbrain

ANN = b"""---
tags: [friend]
---
# Ann

---
## Timeline
- 2026-04-03T09:30 - Later that day
- **2026-04** | chat \xe2\x80\x94 The month
- 2026-04-03: Met
  by the river
"""


@pytest.fixture
def two(run, brain_path):
    """Two pages with timelines."""
    run("put", "people/ann", stdin=ANN)
    run("put", "people/bo", stdin=b"## Timeline\n- 2026-04-03: Sold the boat\n- 2025: Old\n")


def test_a_page_is_told_oldest_first(run, two):
    assert run("timeline", "people/ann").stdout == (
        "2026-04\tpeople/ann\tchat\tThe month\n"
        "2026-04-03\tpeople/ann\t\tMet by the river\n"
        "2026-04-03T09:30\tpeople/ann\t\tLater that day\n"
    )


def test_the_chronicle_is_told_latest_first(run, two):
    rows = [line.split("\t")[:2] for line in run("timeline").stdout.splitlines()]
    assert rows == [
        ["2026-04-03T09:30", "people/ann"],
        ["2026-04-03", "people/ann"],
        ["2026-04-03", "people/bo"],
        ["2026-04", "people/ann"],
        ["2025", "people/bo"],
    ]


def test_entries_as_a_document(run, two):
    document = run("timeline", "people/ann", "--json").json
    assert document["total"] == 3
    assert document["entries"][:2] == [
        {
            "slug": "people/ann", "title": "Ann", "date": "2026-04", "source": "chat",
            "text": "The month", "lines": [9, 9], "kind": "timeline", "heading": "Timeline",
        },
        {
            "slug": "people/ann", "title": "Ann", "date": "2026-04-03", "source": None,
            "text": "Met\nby the river", "lines": [10, 11], "kind": "timeline",
            "heading": "Timeline",
        },
    ]  # fmt: skip


DATED = {
    "people/ann": ANN,
    "journal/2026-04-05": b"Rain all day.\n",
    "meetings/standup": b"---\ndate: 2026-04-06\n---\n# Standup\n\nBo is late.\n",
    "meetings/review": b"# Review 7 April 2026\n\n" + b"Long. " * 100,
    "notes/plain": b"---\nupdated: 2026-04-09\n---\n# 2026 goals\n\nRead more.\n",
    "health/log": b"# Health\n\n## Log\n- 2026-04-01 fever\n  all night\n- 02.04.2026: better\n"
    b"\n## 4 April 2026\n\nRan again.\n",
}


def test_dated_lists_headings_and_pages_are_listed_too(run, brain_path):
    for slug, text in DATED.items():
        run("put", slug, stdin=text)
    found = run("timeline", "--json").json
    assert [(e["date"], e["slug"], e["kind"], e["heading"]) for e in found["entries"]] == [
        ("2026-04-07", "meetings/review", "page", None),
        ("2026-04-06", "meetings/standup", "page", None),
        ("2026-04-05", "journal/2026-04-05", "page", None),
        ("2026-04-04", "health/log", "heading", "4 April 2026"),
        ("2026-04-03T09:30", "people/ann", "timeline", "Timeline"),
        ("2026-04-03", "people/ann", "timeline", "Timeline"),
        ("2026-04-02", "health/log", "list", "Log"),
        ("2026-04-01", "health/log", "list", "Log"),
        ("2026-04", "people/ann", "timeline", "Timeline"),
    ]
    assert found["total"] == 9
    assert found["entries"][7]["text"] == "fever\nall night"
    assert found["entries"][0]["text"].endswith("Long. …")
    assert len(found["entries"][0]["text"]) < 300
    latest = run("timeline", "--limit", "2", "--json").json
    assert (latest["entries"], latest["total"]) == (found["entries"][:2], 9)


def test_rows_outside_of_timelines_say_where_they_stand(run, brain_path):
    for slug, text in DATED.items():
        run("put", slug, stdin=text)
    assert run("timeline", "health/log").stdout == (
        "2026-04-01\thealth/log\tLog\tfever all night\n"
        "2026-04-02\thealth/log\tLog\tbetter\n"
        "2026-04-04\thealth/log\t4 April 2026\tRan again.\n"
    )
    rows = run("timeline", "--since", "2026-04-05", "--until", "2026-04-06").stdout.splitlines()
    assert [row.split("\t")[2:] for row in rows] == [
        ["page", "Bo is late."], ["page", "Rain all day."], ["chat", "The month"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("filters", "dates"),
    [
        (("--since", "2026-04-03"), ["2026-04-03T09:30", "2026-04-03", "2026-04-03", "2026-04"]),
        (("--until", "2025"), ["2025"]),
        (("--tag", "friend", "--until", "2026-04-02"), ["2026-04"]),
        (("--exclude", "people/ann"), ["2026-04-03", "2025"]),
        (("--wing", "people", "--limit", "1"), ["2026-04-03T09:30"]),
        (("--wing", "companies"), []),
    ],
)
def test_filters(run, two, filters, dates):
    entries = run("timeline", *filters, "--json").json["entries"]
    assert [entry["date"] for entry in entries] == dates


def test_a_limit_keeps_the_latest_and_says_so(run, two):
    answer = run("timeline", "people/ann", "--limit", "2")
    assert [line.split("\t")[3] for line in answer.stdout.splitlines()] == [
        "Met by the river", "Later that day",
    ]  # fmt: skip
    assert answer.stderr == "The latest 2 of 3 entries.\n"


def test_an_entry_of_many_passages_is_one(run, brain_path):
    words = "\n\n".join(f"Paragraph {n} " + "über den Fluß und weiter. " * 12 for n in range(6))
    run("put", "long", stdin="é\n\n## Timeline\n- 2026: short\n".encode())
    run("timeline-add", "long", words, "--date", "2027", "--source", "diary")
    entry = run("timeline", "long", "--json").json["entries"][1]
    assert (entry["source"], entry["text"]) == ("diary", words.strip())
    assert entry["lines"] == [5, 15]


def test_nothing_to_tell(run, brain_path):
    run("put", "a", stdin=b"# A\n")
    assert run("timeline", "a").stdout == ""
    assert run("timeline", "--json").json == {"entries": [], "total": 0}
    assert run("timeline", "--exit-code").exit_code == 3
    assert run("timeline", "b").exit_code == 1


def test_adding_makes_the_entry_findable_at_once(run, two):
    added = run("timeline-add", "people/bo", "Bought a kayak", "--json")
    assert added.json == {
        "slug": "people/bo", "version": 2, "outcome": "updated", "date": "2026-11-16", "file": None,
    }  # fmt: skip
    assert run("get", "people/bo").stdout.startswith("## Timeline\n- 2026-11-16: Bought a kayak\n")
    assert run("search", "kayak", "--json").json["results"][0]["slug"] == "people/bo"


def test_adding_twice_changes_nothing(run, two):
    words = ("people/ann", "Moved\nto Lisbon", "--date", "yesterday", "--source", "phone")
    first, second = run("timeline-add", *words), run("timeline-add", *words)
    assert first.stderr == "people/ann: entry of 2026-11-15 added (version 2)\n"
    assert second.stderr == "people/ann: entry of 2026-11-15 already there (version 2)\n"
    assert run("get", "people/ann").stdout_bytes == (
        ANN + "- **2026-11-15** | phone — Moved\n  to Lisbon\n".encode()
    )


def test_a_page_must_be_there(run, two):
    error = run("timeline-add", "people/an", "x", "--json").error
    assert (error["code"], error["message"]) == ("not_found", "There is no page people/an")
    assert error["hint"].startswith("Your text is kept in ")
    assert error["hint"].endswith(
        " Did you mean people/ann? gbrain put people/an FILE creates the page."
    )


def test_a_lost_update_is_refused(run, two):
    answer = run("timeline-add", "people/ann", "x", "--expected-version", "7", "--json")
    assert (answer.exit_code, answer.error["code"]) == (1, "version_conflict")
    assert run("get", "people/ann").stdout_bytes == ANN


@pytest.mark.parametrize(
    "words",
    [("x", "--date", "whenever"), ("x", "--date", "past week"), (" ",), ("x\udcff",)],
    ids=["no date", "a span of days", "no words", "not UTF-8"],
)
def test_what_cannot_be_an_entry(run, two, words):
    assert run("timeline-add", "people/ann", *words).exit_code == 2
    assert run("get", "people/ann").stdout_bytes == ANN


def test_two_at_once_both_survive(run, two, brain_path):
    environment = {**os.environ, "GBRAIN_DB": str(brain_path)}
    command = [sys.executable, "-m", "gbrain", "timeline-add", "people/bo"]
    running = [
        subprocess.Popen(
            [*command, f"Word {n}", "--quiet"],
            env=environment,
            cwd=Path(gbrain.__file__).parent.parent,
        )
        for n in range(4)
    ]
    assert [process.wait(60) for process in running] == [0] * 4
    told = run("timeline", "people/bo").stdout
    assert all(f"Word {n}\n" in told for n in range(4))
    assert len(run("history", "people/bo").stdout.splitlines()) == 5


def test_it_is_told_that_the_file_of_a_page_is_behind(run, brain_path, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n")
    run("import", str(folder), "--no-embed")
    run("config", "set", "write_through", "off")
    behind = (
        f"The file still has the old text; gbrain export {folder.resolve()} writes the new one."
    )
    assert run("timeline-add", "a", "Met Bo").stderr.splitlines()[1:] == [behind]
    assert run("timeline-add", "a", "Met Bo").stderr.endswith("already there (version 2)\n")
    assert run("capture", "Met Cy", "--to", "a").stderr.splitlines()[1:] == [behind]
    run("put", "b", stdin=b"# B\n")
    assert behind not in run("capture", "Met Cy", "--to", "b").stderr
    assert run("timeline-add", "a", "Met Di", "--quiet").stderr == ""
