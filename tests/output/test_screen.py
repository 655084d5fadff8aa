"""Progress on the terminal."""

from __future__ import annotations

import sys
from time import sleep

import pytest

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
