"""Folders where each platform wants them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gbrain.paths import cache_folder, state_folder

HOME = Path("/home/ada")


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(HOME))
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name)


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, HOME / ".cache/gbrain"),
        ("linux", {"XDG_CACHE_HOME": "/fast/cache"}, Path("/fast/cache/gbrain")),
        ("linux", {"XDG_CACHE_HOME": ""}, HOME / ".cache/gbrain"),
        ("linux", {"XDG_CACHE_HOME": "relative/cache"}, HOME / ".cache/gbrain"),
        ("darwin", {"XDG_CACHE_HOME": "/fast/cache"}, HOME / "Library/Caches/gbrain"),
        ("win32", {}, HOME / "AppData/Local/gbrain/Cache"),
        ("win32", {"LOCALAPPDATA": "/Users/ada/Local"}, Path("/Users/ada/Local/gbrain/Cache")),
    ],
)
def test_the_cache_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], folder: Path
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert cache_folder() == folder


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, HOME / ".local/state/gbrain"),
        ("linux", {"XDG_STATE_HOME": "/var/ada"}, Path("/var/ada/gbrain")),
        ("darwin", {}, HOME / "Library/Application Support/gbrain"),
        ("win32", {"LOCALAPPDATA": "/Users/ada/Local"}, Path("/Users/ada/Local/gbrain/State")),
    ],
)
def test_the_state_folder(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], folder: Path
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert state_folder() == folder
