"""Progress on the terminal."""

from __future__ import annotations

import sys
from time import sleep

import pytest
from rich.text import Text

from gbrain.output import screen


def test_seconds_are_shown_on_a_terminal_after_the_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with screen.show_seconds("Upgrading"):
        sleep(0.01)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with screen.show_seconds("Upgrading"):
        pass
    assert capsys.readouterr().err == ""
    with screen.show_seconds("Upgrading"):
        sleep(1.3)
    assert capsys.readouterr().err.startswith("\rUpgrading: 1 s\r")


def test_right_to_left_text_reaches_the_terminal_between_isolates(
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen.console().print(screen.isolate_rtl(Text("1 שלום", style="bold")), Text("plain \u2068"))
    assert capsys.readouterr().out == "\u20681 שלום\u2069 plain \ufffd\n"
    screen.console().print(screen.isolate_rtl(Text("plain")))
    assert capsys.readouterr().out == "plain\n"
    # Of a page's own isolates none is left, which could end ours.
    screen.console().print(screen.isolate_rtl(Text("שלום \u2069 a")))
    assert capsys.readouterr().out == "\u2068שלום \ufffd a\u2069\n"
