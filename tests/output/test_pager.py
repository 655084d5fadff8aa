"""Which pager, and when."""

from __future__ import annotations

import shutil

import pytest

from gbrain.output.screen import console, open_pager, pager_command


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({"PAGER": "more"}, ["more"]),
        ({"PAGER": "more", "GBRAIN_PAGER": "less -S"}, ["less", "-S"]),
        ({"PAGER": "'my pager' -x"}, ["my pager", "-x"]),
        ({"PAGER": "more", "GBRAIN_PAGER": ""}, []),
        ({"PAGER": "cat"}, []),
    ],
)
def test_the_environment_chooses_the_pager(environment: dict[str, str], command: list[str]) -> None:
    assert pager_command(environment) == command


def test_less_is_the_default_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pager_command({}) == (["less"] if shutil.which("less") else [])
    assert pager_command({"PAGER": "'unclosed"}) == pager_command({})
    monkeypatch.setenv("PATH", "")
    assert pager_command({}) == []


def test_a_pipe_never_gets_a_pager(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PAGER", "false")
    screen = console()
    with open_pager(screen):
        screen.print("\n".join(["line"] * 500))
    assert capsys.readouterr().out.count("line\n") == 500
