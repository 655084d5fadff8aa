"""Commands on a disk that is full, read-only, gone or somebody else's: a clear error, nothing half
written, and all is well once there is room.

    python tests/faults/test_disk.py STEP

As root it fills a small disk of its own and goes through every amount of room, STEP kB by STEP.
"""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import pytest
from asking import NOON, PAGE, Said, load_program, run
from soundness import check_sound, texts

from gbrain.brain import Brain
from gbrain.errors import BadBrain

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "gbrain" / "sample"
OLD_BRAIN = ROOT / "fixtures" / "brains" / "schema-1.db.gz"
DISK = 3 << 20
NOBODY = 65534
# Where SQLite's header holds the version of the schema.
SCHEMA = slice(60, 64)

ACTS: dict[str, str] = {
    "put": "put people/alice-chen --quiet",
    "put a new page": "put own/new --quiet",
    "timeline-add": "timeline-add people/alice-chen Moved --date 2026-11-16 --quiet",
    "capture": "capture hello --quiet",
    "edit": "edit people/alice-chen --quiet",
    "delete": "delete people/alice-chen --quiet",
    "rename": "rename people/alice-chen people/alice --quiet",
    "import": "import {vault} --no-embed --quiet",
    "sync": "sync --no-embed --quiet",
    "set": "config set default_limit 7",
    "alias": "alias add rag retrieval",
    "export": "export {disk}/out --quiet",
    "backup": "backup {disk}/copy.db --quiet",
    "compact": "compact --quiet",
    "repair": "doctor --repair --quiet",
    "init": "init --db {disk}/new.db --quiet",
    "restore": "restore {disk}/kept.db --quiet",
    "migration": "put own/new --quiet",
    "embed": "embed --quiet",
}
LONGER = ("embed",)


class State(NamedTuple):
    """What is on the disk: the pages of the brain, and the names of all files."""

    pages: dict[str, str]
    files: set[str]


def state(disk: Path, brain: Path) -> State:
    names = {
        str(file.relative_to(disk))
        for file in disk.rglob("*")
        if file.is_file() and not file.name.endswith(("-wal", "-shm", "ballast"))
    }
    with tempfile.TemporaryDirectory() as elsewhere:
        # Where there is room for what SQLite keeps beside a file that it reads.
        for name in {brain.name, f"{brain.name}-wal"} & set(os.listdir(disk)):
            shutil.copyfile(disk / name, Path(elsewhere, name))
        return State(texts(Path(elsewhere, brain.name)), names)


def prepare(disk: Path, sound: Path, act: str) -> Path:
    """The disk with what an act needs: a brain, a copy of it, or a brain of the first schema."""
    for left in disk.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    brain = disk / "brain.db"
    if act == "migration":
        brain.write_bytes(gzip.decompress(OLD_BRAIN.read_bytes()))
    else:
        shutil.copyfile(sound, brain)
    brain.chmod(0o600)
    if act == "restore":
        shutil.copyfile(sound.with_name("kept.db"), disk / "kept.db")
        (disk / "kept.db").chmod(0o600)
    return brain


def nothing() -> None:
    """Before a command that is run in a process of its own."""


def perform(disk: Path, vault: Path, act: str, first: Callable[[], object] = nothing) -> Said:
    words = ACTS[act].format(disk=disk, vault=vault).split()
    return run(words, disk / "brain.db", stdin=PAGE, first=first)


def refused(said: Said) -> bool:
    """Whether a command was refused, in plain words; any other failure is a failure of the test."""
    assert not said.trace, said.trace
    assert said.code in (0, 1), said
    assert said.code == 0 or "\nHint: " in said.err, said
    return said.code == 1


def fill(disk: Path, free: int) -> None:
    """Leaves so many bytes of room."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, max(0, ballast.stat().st_size - free))


def attempt(disk: Path, sound: Path, vault: Path, act: str, free: int) -> bool:
    """An act with so much room: whether it was refused. Then there is room, and it is done."""
    brain = prepare(disk, sound, act)
    perform(disk, vault, act)
    aim = state(disk, brain)
    brain = prepare(disk, sound, act)
    before, bytes_before = state(disk, brain), brain.read_bytes()
    fill(disk, free)
    was_refused = refused(perform(disk, vault, act))
    after = state(disk, brain)
    if act == "migration":
        # The copy that is kept before it may have found room when nothing else did.
        assert after.pages in (before.pages, aim.pages), f"{act} with {free} bytes"
        assert after.files <= aim.files
    elif act != "export":
        assert after in (before, aim), f"{act} with {free} bytes: {after.files}"
        assert was_refused == (after == before) or before == aim, f"{act} with {free} bytes"
    # A migration may find room where the page that comes after it does not.
    migrated = brain.read_bytes()[SCHEMA] != bytes_before[SCHEMA]
    if was_refused and act == "migration" and not migrated:
        assert brain.read_bytes() == bytes_before
    (disk / "ballast").unlink()
    if act == "migration" and not migrated:
        assert state(disk, brain).pages == before.pages
    else:
        check_sound(brain)
    if was_refused:
        assert not refused(perform(disk, vault, act))
        assert state(disk, brain) == aim
        check_sound(brain)
    return was_refused


# --- a small disk -----------------------------------------------------------------------------


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A disk of a few megabytes; skips the test where none can be mounted."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", str(place)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def build(folder: Path) -> tuple[Path, Path]:
    """A brain of a few pages, and a vault that has changed since."""
    vault, brain = folder / "vault", folder / "sound.db"
    for name in ("people", "concepts"):
        shutil.copytree(SAMPLE / name, vault / name)
    with Brain.open(brain, make=True) as made:
        made.import_folder(vault)
    shutil.copyfile(brain, folder / "kept.db")
    with Brain.open(folder / "kept.db") as kept:
        kept.put("own/kept", b"# Kept\n")
    for number in range(30):
        (vault / "people" / f"new {number}.md").write_text(f"# New {number}\n\n{'word ' * 300}")
    (vault / "people" / "alice-chen.md").write_bytes(PAGE)
    return brain, vault


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    load_program()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBRAIN_NOW", NOON)
        return build(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/Alice/Bob/g")
    # What was edited and not taken is kept there.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize("act", [act for act in ACTS if act not in LONGER])
def test_a_full_disk(act: str, world: tuple[Path, Path], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        assert attempt(disk, *world, act, 0)
        attempt(disk, *world, act, 72 << 10)


@pytest.mark.parametrize("act", ["put", "import", "backup", "export", "migration"])
def test_a_file_that_may_not_grow(act: str, world: tuple[Path, Path], tmp_path: Path) -> None:
    """A quota, in short: it needs no root."""
    sound, vault = world
    disk = tmp_path / "disk"
    disk.mkdir()
    brain = prepare(disk, sound, act)
    before = state(disk, brain)
    # Below what the copy, the log or a page needs, above what SQLite keeps of its own.
    largest = 500 if act == "export" else 36 << 10
    tight = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, largest))
    assert refused(perform(disk, vault, act, first=tight))
    if act != "export":
        assert state(disk, brain) == before
    assert not refused(perform(disk, vault, act))
    check_sound(brain)


# --- somebody else's folder, and none ---------------------------------------------------------


@pytest.fixture
def open_place() -> Iterator[Path]:
    """A folder that others may look into, which pytest's own is not."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        os.chmod(place, 0o755)
        yield Path(place)


def as_another(folder: Path) -> Callable[[], None]:
    """Becomes somebody who may not write into the folder."""
    folder.chmod(0o555)
    scratch = folder.with_name("scratch")
    scratch.mkdir()
    scratch.chmod(0o777)

    def become() -> None:
        tempfile.tempdir = str(scratch)
        if os.geteuid() == 0:
            os.setgid(NOBODY)
            os.setuid(NOBODY)

    return become


READS = ("get people/alice-chen", "search alice", "list", "stats", "doctor", "tags")


@pytest.mark.parametrize("act", [*READS, *(act for act in ACTS if act not in LONGER)])
def test_a_folder_that_one_may_not_write(
    act: str, world: tuple[Path, Path], open_place: Path
) -> None:
    sound, vault = world
    disk = open_place / "disk"
    disk.mkdir()
    brain = prepare(disk, sound, act)
    # The file itself may be written: only what SQLite keeps beside it has no place.
    for file in disk.iterdir():
        file.chmod(0o666)
    before = state(disk, brain)
    words = ACTS.get(act, act).format(disk=disk, vault=vault).split()
    said = run(words, brain, first=as_another(disk))
    assert refused(said) == (act not in READS or act == "doctor"), said
    assert state(disk, brain) == before


def test_a_file_that_one_may_not_read(world: tuple[Path, Path], open_place: Path) -> None:
    disk = open_place / "disk"
    disk.mkdir()
    brain = prepare(disk, world[0], "list")
    brain.chmod(0)
    said = run(["list"], brain, first=as_another(disk))
    assert said.err.splitlines() == [
        f"Error: Cannot read {brain}: Permission denied",
        "Hint: Check the path and its permissions.",
    ]


def test_a_disk_that_is_mounted_to_be_read(world: tuple[Path, Path], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        brain = prepare(disk, world[0], "put")
        before = brain.read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for act in ("put", "import", "sync", "compact", "backup", "export", "embed", "init"):
            assert refused(perform(disk, world[1], act)), act
        assert run(["get", "people/alice-chen"], brain, first=nothing).code == 0
        assert brain.read_bytes() == before


@pytest.mark.parametrize("act", ACTS)
def test_a_folder_that_is_gone(act: str, world: tuple[Path, Path], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    said = perform(gone, world[1], act)
    # These make the folder that they are to write into.
    makes = {"import", "init", "put a new page", "put", "capture", "migration", "edit"}
    assert refused(said) or act in makes, said


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "closed"])
def test_a_folder_that_goes_while_the_brain_is_open(
    how: str, world: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    brain_path = prepare(disk, world[0], "put")
    with Brain.open(brain_path) as brain:
        brain.put("own/first", b"# First\n")
        if how == "removed":
            shutil.rmtree(disk)
        elif how == "closed":
            monkeypatch.setattr(os, "stat", _denied)
        else:
            disk.rename(tmp_path / "elsewhere")
        if how == "replaced":
            shutil.copytree(tmp_path / "elsewhere", disk)
        with pytest.raises(BadBrain) as caught:
            brain.put("own/second", b"# Second\n")
        monkeypatch.undo()
    assert caught.value.code == "gone"
    left = tmp_path / ("disk" if how == "closed" else "elsewhere") / "brain.db"
    if how != "removed":
        assert "own/first" in texts(left)
        assert "own/second" not in texts(left)


def _denied(path: object, **_: object) -> os.stat_result:
    raise PermissionError(13, "Permission denied", path)


def test_an_editor_without_room_for_its_text(
    world: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        brain = prepare(elsewhere, world[0], "edit")
        before = texts(brain)
        fill(disk, 0)
        words = ["edit", "people/alice-chen"]
        full = partial(setattr, tempfile, "tempdir", str(disk))
        assert refused(run(words, brain, first=full))
        assert texts(brain) == before
        assert [file.name for file in disk.iterdir()] == ["ballast"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
@pytest.mark.parametrize("words", ["tags", "list", "list --json", "get people/alice-chen", "-h"])
def test_output_that_nobody_takes_is_not_called_done(
    words: str, world: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copyfile(world[0], tmp_path / "b.db")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "gbrain", *words.split()],
            stdout=full, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "GBRAIN_DB": str(tmp_path / "b.db")},
        )  # fmt: skip
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr
    assert "Traceback" not in ended.stderr


def main() -> None:
    step = int(sys.argv[1]) << 10
    os.environ |= {"GBRAIN_NOW": NOON, "EDITOR": "sed -i s/Alice/Bob/g", "TZ": "UTC"}
    load_program()
    began, seen = monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as place:
        tempfile.tempdir = place
        world = build(Path(place))
        with small_disk(Path(place, "disk")) as disk:
            for act in ACTS:
                for free in range(0, 1 << 20, step if act not in LONGER else 8 * step):
                    was_refused = attempt(disk, *world, act, free)
                    seen[f"{act}: {'refused' if was_refused else 'done'}"] += 1
                print(f"{act}, {monotonic() - began:.0f} s", flush=True)
    print("\n".join(f"{count:5} {name}" for name, count in sorted(seen.items())))
    print(f"{seen.total()} fillings of the disk in {monotonic() - began:.0f} s, each well again")


if __name__ == "__main__":
    main()
