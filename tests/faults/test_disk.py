"""Runs commands on a disk that is full, read-only, missing or of another user.

Each prints a clear error, leaves nothing half written, and works once there is free space.

    python tests/faults/test_disk.py STEP

As root it mounts a small disk and goes through every amount of free space in steps of STEP kB.
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
from running import NOON, PAGE, CommandResult, load_program, run
from soundness import check_sound, page_texts

from gbrain.brain import Brain
from gbrain.errors import BadBrain

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "gbrain" / "sample"
OLD_BRAIN = ROOT / "fixtures" / "brains" / "schema-1.db.gz"
DISK = 3 << 20
NOBODY = 65534
# Where the header of a SQLite file has the schema version.
SCHEMA = slice(60, 64)

COMMANDS: dict[str, str] = {
    "put": "put people/alice-chen --quiet",
    "put a new page": "put own/new --quiet",
    "timeline-add": "timeline-add people/alice-chen Moved --date 2026-11-16 --quiet",
    "capture": "capture hello --quiet",
    "edit": "edit people/alice-chen --quiet",
    "delete": "delete people/alice-chen --quiet",
    "rename": "rename people/alice-chen people/alice --quiet",
    "import": "import {notes} --no-embed --quiet",
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
SLOW_COMMANDS = ("embed",)


class State(NamedTuple):
    """The pages of the brain and the names of all files on the disk."""

    pages: dict[str, str]
    files: set[str]


def state(disk: Path, brain: Path) -> State:
    names = {
        str(file.relative_to(disk))
        for file in disk.rglob("*")
        if file.is_file() and not file.name.endswith(("-wal", "-shm", "ballast"))
    }
    with tempfile.TemporaryDirectory() as elsewhere:
        # SQLite needs space beside a file that it reads.
        for name in {brain.name, f"{brain.name}-wal"} & set(os.listdir(disk)):
            shutil.copyfile(disk / name, Path(elsewhere, name))
        return State(page_texts(Path(elsewhere, brain.name)), names)


def prepare(disk: Path, sound: Path, command: str) -> Path:
    """Put on the disk what a command needs: a brain, a copy of it, or one of the first schema."""
    for left in disk.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    brain = disk / "brain.db"
    if command == "migration":
        brain.write_bytes(gzip.decompress(OLD_BRAIN.read_bytes()))
    else:
        shutil.copyfile(sound, brain)
    brain.chmod(0o600)
    if command == "restore":
        shutil.copyfile(sound.with_name("kept.db"), disk / "kept.db")
        (disk / "kept.db").chmod(0o600)
    return brain


def do_nothing() -> None:
    """Do nothing before a command; it still runs in a child process."""


def run_on_disk(
    disk: Path, notes: Path, command: str, first: Callable[[], object] = do_nothing
) -> CommandResult:
    arguments = COMMANDS[command].format(disk=disk, notes=notes).split()
    return run(arguments, disk / "brain.db", stdin=PAGE, first=first)


def is_refused(result: CommandResult) -> bool:
    """Return whether a command failed with a clear error; any other failure fails the test."""
    assert not result.trace, result.trace
    assert result.code in (0, 1), result
    assert result.code == 0 or "\nHint: " in result.err, result
    return result.code == 1


def fill(disk: Path, free: int) -> None:
    """Fill the disk except for `free` bytes."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(4096))
    os.truncate(ballast, max(0, ballast.stat().st_size - free))


def state_after(disk: Path, sound: Path, notes: Path, command: str) -> State:
    """Return the state in which a command leaves a disk with space."""
    brain = prepare(disk, sound, command)
    run_on_disk(disk, notes, command)
    return state(disk, brain)


def try_command(
    disk: Path, sound: Path, notes: Path, command: str, free: int, after_success: State
) -> bool:
    """Run a command with `free` bytes, then with space; return whether the first was refused."""
    brain = prepare(disk, sound, command)
    before, bytes_before = state(disk, brain), brain.read_bytes()
    fill(disk, free)
    was_refused = is_refused(run_on_disk(disk, notes, command))
    after = state(disk, brain)
    if command == "migration":
        # The backup before the migration may have fitted when nothing else did.
        assert after.pages in (before.pages, after_success.pages), f"{command} with {free} bytes"
        assert after.files <= after_success.files
    elif command != "export":
        assert after in (before, after_success), f"{command} with {free} bytes: {after.files}"
        assert was_refused == (after == before) or before == after_success, (
            f"{command} with {free} bytes"
        )
    # The migration may fit when the page that is written after it does not.
    migrated = brain.read_bytes()[SCHEMA] != bytes_before[SCHEMA]
    if was_refused and command == "migration" and not migrated:
        assert brain.read_bytes() == bytes_before
    (disk / "ballast").unlink()
    if command == "migration" and not migrated:
        assert state(disk, brain).pages == before.pages
    else:
        check_sound(brain)
    if was_refused:
        assert not is_refused(run_on_disk(disk, notes, command))
        assert state(disk, brain) == after_success
        check_sound(brain)
    return was_refused


# --- a small disk -----------------------------------------------------------------------------


@contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Mount a disk of a few megabytes; skip the test where that is not possible."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=0755", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("no disk can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def build(folder: Path) -> tuple[Path, Path]:
    """Return a brain of a few pages, and a folder that has changed since its import."""
    notes, brain = folder / "vault", folder / "sound.db"
    for name in ("people", "concepts"):
        shutil.copytree(SAMPLE / name, notes / name)
    with Brain.open(brain, make=True) as made:
        made.import_folder(notes)
    shutil.copyfile(brain, folder / "kept.db")
    with Brain.open(folder / "kept.db") as kept:
        kept.put("own/kept", b"# Kept\n")
    for number in range(30):
        (notes / "people" / f"new {number}.md").write_text(f"# New {number}\n\n{'word ' * 300}")
    (notes / "people" / "alice-chen.md").write_bytes(PAGE)
    return brain, notes


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    load_program()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBRAIN_NOW", NOON)
        return build(tmp_path_factory.mktemp("world"))


@pytest.fixture(autouse=True)
def _editor(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EDITOR", "sed -i s/Alice/Bob/g")
    # An edited text that cannot be saved is kept there.
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.mark.parametrize(
    "command", [command for command in COMMANDS if command not in SLOW_COMMANDS]
)
def test_a_full_disk(command: str, scenario: tuple[Path, Path], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        after_success = state_after(disk, *scenario, command)
        assert try_command(disk, *scenario, command, 0, after_success)
        try_command(disk, *scenario, command, 72 << 10, after_success)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_every_amount_of_free_space(
    command: str, scenario: tuple[Path, Path], tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        after_success = state_after(disk, *scenario, command)
        for free in range(0, 1 << 20, 128 << 10):
            try_command(disk, *scenario, command, free, after_success)


@pytest.mark.parametrize("command", ["put", "import", "backup", "export", "migration"])
def test_a_file_that_may_not_grow(
    command: str, scenario: tuple[Path, Path], tmp_path: Path
) -> None:
    """Like a disk quota, but without root."""
    sound, notes = scenario
    disk = tmp_path / "disk"
    disk.mkdir()
    brain = prepare(disk, sound, command)
    before = state(disk, brain)
    # Less than the copy, the log or a page needs, more than SQLite needs for itself.
    largest = 500 if command == "export" else 36 << 10
    limit_file_size = partial(resource.setrlimit, resource.RLIMIT_FSIZE, (largest, largest))
    assert is_refused(run_on_disk(disk, notes, command, first=limit_file_size))
    if command != "export":
        assert state(disk, brain) == before
    assert not is_refused(run_on_disk(disk, notes, command))
    check_sound(brain)


# --- folders of other users, and missing ones ------------------------------------------------


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can read; those of pytest cannot be."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def as_other_user(folder: Path) -> Callable[[], None]:
    """Return a function that switches to a user who cannot write into the folder."""
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


READ_COMMANDS = ("get people/alice-chen", "search alice", "list", "stats", "doctor", "tags")


@pytest.mark.parametrize(
    "command", [*READ_COMMANDS, *(command for command in COMMANDS if command not in SLOW_COMMANDS)]
)
def test_a_folder_without_write_permission(
    command: str, scenario: tuple[Path, Path], open_folder: Path
) -> None:
    sound, notes = scenario
    disk = open_folder / "disk"
    disk.mkdir()
    brain = prepare(disk, sound, command)
    # The file itself is writable; only the files that SQLite needs beside it cannot be created.
    for file in disk.iterdir():
        file.chmod(0o666)
    before = state(disk, brain)
    arguments = COMMANDS.get(command, command).format(disk=disk, notes=notes).split()
    result = run(arguments, brain, first=as_other_user(disk))
    assert is_refused(result) == (command not in READ_COMMANDS or command == "doctor"), result
    assert state(disk, brain) == before


def test_a_file_without_read_permission(scenario: tuple[Path, Path], open_folder: Path) -> None:
    disk = open_folder / "disk"
    disk.mkdir()
    brain = prepare(disk, scenario[0], "list")
    brain.chmod(0)
    result = run(["list"], brain, first=as_other_user(disk))
    assert result.err.splitlines() == [
        f"Error: Cannot read {brain}: Permission denied",
        "Hint: Check the path and its permissions.",
    ]


def test_a_disk_that_is_mounted_read_only(scenario: tuple[Path, Path], tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        brain = prepare(disk, scenario[0], "put")
        before = brain.read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for command in ("put", "import", "sync", "compact", "backup", "export", "embed", "init"):
            assert is_refused(run_on_disk(disk, scenario[1], command)), command
        assert run(["get", "people/alice-chen"], brain, first=do_nothing).code == 0
        assert brain.read_bytes() == before


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_folder(command: str, scenario: tuple[Path, Path], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    result = run_on_disk(gone, scenario[1], command)
    # These create the folder that they write into.
    makes = {"import", "init", "put a new page", "put", "capture", "migration", "edit"}
    assert is_refused(result) or command in makes, result


@pytest.mark.parametrize("how", ["removed", "renamed", "replaced", "closed"])
def test_a_folder_that_disappears_while_the_brain_is_open(
    how: str, scenario: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    brain_path = prepare(disk, scenario[0], "put")
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
        assert "own/first" in page_texts(left)
        assert "own/second" not in page_texts(left)


def _denied(path: object, **_: object) -> os.stat_result:
    raise PermissionError(13, "Permission denied", path)


def test_edit_without_space_for_its_file(
    scenario: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        brain = prepare(elsewhere, scenario[0], "edit")
        before = page_texts(brain)
        fill(disk, 0)
        arguments = ["edit", "people/alice-chen"]
        full = partial(setattr, tempfile, "tempdir", str(disk))
        # A draft may be in two places; the edit is refused if neither has space.
        monkeypatch.setenv("XDG_STATE_HOME", str(disk / "state"))
        assert is_refused(run(arguments, brain, first=full))
        assert page_texts(brain) == before
        assert [file.name for file in disk.rglob("*") if file.is_file()] == ["ballast"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
@pytest.mark.parametrize(
    "arguments", ["tags", "list", "list --json", "get people/alice-chen", "-h"]
)
def test_output_that_cannot_be_written_is_an_error(
    arguments: str, scenario: tuple[Path, Path], tmp_path: Path
) -> None:
    shutil.copyfile(scenario[0], tmp_path / "b.db")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "gbrain", *arguments.split()],
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
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        scenario = build(Path(folder))
        with small_disk(Path(folder, "disk")) as disk:
            for command in COMMANDS:
                after_success = state_after(disk, *scenario, command)
                for free in range(0, 1 << 20, step if command not in SLOW_COMMANDS else 8 * step):
                    was_refused = try_command(disk, *scenario, command, free, after_success)
                    seen[f"{command}: {'refused' if was_refused else 'done'}"] += 1
                print(f"{command}, {monotonic() - began:.0f} s", flush=True)
    print("\n".join(f"{count:5} {name}" for name, count in sorted(seen.items())))
    print(f"{seen.total()} runs with a full disk in {monotonic() - began:.0f} s, all worked later")


if __name__ == "__main__":
    main()
