"""`--as-of`: a command on the brain as it was on an earlier day."""

from __future__ import annotations

import pytest

from gbrain.cli.open_brain import open_brain_as_of
from gbrain.errors import NotFound, UsageError


@pytest.fixture
def twice(run, brain_path, monkeypatch):
    for day, text in (("2026-10-05", b"one"), ("2026-11-10", b"two")):
        monkeypatch.setenv("GBRAIN_NOW", f"{day}T12:00:00")
        run("put", "a", stdin=text)
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-16T12:00:00")
    return brain_path


@pytest.mark.parametrize(
    ("as_of", "text"),
    [
        (None, "two"),
        ("2026-10-05", "one"),
        ("2026-10", "one"),
        ("october 2026", "one"),
        ("last month", "one"),
        ("2026-11", "two"),
        ("2026-11-09", "one"),
        ("yesterday", "two"),
    ],
)
def test_a_day_or_the_end_of_a_longer_time(twice, as_of, text):
    with open_brain_as_of(None, as_of, quiet=True) as brain:
        assert brain.text("a") == text


def test_the_brain_itself_is_not_touched(twice, run):
    with open_brain_as_of(None, "2026-10-06", quiet=True) as brain:
        brain.put("a", b"rewritten history")
        assert brain.path != twice
    assert run("get", "a").stdout == "two"


def test_before_there_was_anything(twice):
    with open_brain_as_of(None, "2020", quiet=True) as brain:
        assert brain.search("one").hits == ()


def test_what_cannot_be_read(twice, tmp_path):
    with (
        pytest.raises(UsageError, match="Cannot read the date 'whenever'"),
        open_brain_as_of(None, "whenever", quiet=True),
    ):
        pass
    with pytest.raises(NotFound), open_brain_as_of(tmp_path / "none.db", "today", quiet=True):
        pass


def test_open_does_not_take_hits_of_the_past(twice, run, at_terminal, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    run("put", "b", stdin=b"# Two of today")
    at_terminal("search", "two", "--no-pager")
    assert run("open", "1", "--json").json["slug"] in ("a", "b")
    code, shown = at_terminal("search", "one", "--as-of", "2026-10-06", "--no-pager")
    assert code == 0
    assert "1" in shown
    assert "gbrain open" not in shown
    refused = run("open", "1", "--json")
    assert (refused.exit_code, refused.error["message"]) == (1, "No recent results to open")


@pytest.mark.parametrize("words", [("search", "one"), ("explain", "one")])
def test_quiet_silences_going_back(twice, at_terminal, words):
    days = ("2026-10-06", "2026-10-07")
    loud, quiet = (
        at_terminal(*words, "--as-of", day, "--no-pager", *more)[1]
        for day, more in zip(days, ((), ("--quiet",)), strict=True)
    )
    assert "Going back" in loud
    assert "Going back" not in quiet
