"""Ways to open a brain that another program has open: the same file, never the same way.

Each row of the table is one way: the reader must see the latest write or get an error, the writer
must write into the same file or be refused, and what the first program writes is never lost.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from soundness import check_sound, page_texts

from gbrain.brain import Brain
from gbrain.errors import GbrainError

OLD, LATEST, OWN = "# Page\n\nOld.\n", "# Page\n\nLatest.\n", "# Own\n"
NOBODY = 65534
CLONE_NEWNS, CLONE_NEWPID = 0x00020000, 0x20000000
MS_RDONLY, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 32, 4096, 16384, 1 << 18

# Called in the child before it opens the brain; returns the path to open.
Enter = Callable[[Path], Path]


def _system_call(name: str, *arguments: object) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def same_path(brain: Path) -> Path:
    return brain


def symbolic_link(brain: Path) -> Path:
    link = brain.parent.parent / "link.db"
    link.symlink_to(brain)
    return link


def relative_link(brain: Path) -> Path:
    link = brain.parent.parent / "link.db"
    link.symlink_to(Path(brain.parent.name) / brain.name)
    os.chdir(link.parent)
    return Path(link.name)


def linked_folder(brain: Path) -> Path:
    link = brain.parent.parent / "linked"
    link.symlink_to(brain.parent)
    return link / brain.name


def hard_link(brain: Path) -> Path:
    link = brain.parent.parent / "other.db"
    link.hardlink_to(brain)
    return link


def own_container(brain: Path) -> Path:
    """Go on as process 1 of a new process namespace, as in a container."""
    _system_call("unshare", CLONE_NEWPID)
    child = os.fork()
    if child:
        _, status = os.waitpid(child, 0)
        os._exit(os.waitstatus_to_exitcode(status))
    assert os.getpid() == 1
    return brain


def read_only_mount(brain: Path) -> Path:
    _system_call("unshare", CLONE_NEWNS)
    folder = str(brain.parent).encode()
    _system_call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    _system_call("mount", folder, folder, None, MS_BIND, None)
    _system_call("mount", None, folder, None, MS_REMOUNT | MS_BIND | MS_RDONLY, None)
    return brain


def read_only_file(brain: Path) -> Path:
    brain.chmod(0o400)
    return brain


def another_user(brain: Path) -> Path:
    """Become somebody who may not even look into the folder."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    return brain


def another_reader(brain: Path) -> Path:
    """Become somebody who may read the brain and its log but not write them."""
    brain.parent.chmod(0o755)
    for file in brain.parent.iterdir():
        file.chmod(0o644)
    return another_user(brain)


def another_reader_by_link(brain: Path) -> Path:
    """Become that reader, and open the brain through a link in another folder."""
    link = symbolic_link(brain)
    another_reader(brain)
    return link


class Way(NamedTuple):
    """A way to open a brain, what a reader sees, and what a writer gets: None, or an error code."""

    enter: Enter
    reader: str
    writer: str | None
    needs_root: bool = False


WAYS = {
    "in the same process": Way(same_path, LATEST, None),
    "in another process": Way(same_path, LATEST, None),
    "through a symbolic link": Way(symbolic_link, LATEST, None),
    "through a relative link": Way(relative_link, LATEST, None),
    "through a linked folder": Way(linked_folder, LATEST, None),
    # The log is beside the other name, where nobody who opens this one can find it.
    "through a hard link": Way(hard_link, OLD, "hard_link"),
    "in two containers": Way(own_container, LATEST, None, needs_root=True),
    "on a read-only mount": Way(read_only_mount, LATEST, "read_only", needs_root=True),
    "as a read-only file": Way(read_only_file, LATEST, "read_only"),
    "as another user": Way(another_user, "cannot_read", "cannot_read", needs_root=True),
    "as another reader": Way(another_reader, LATEST, "read_only", needs_root=True),
    "as another reader through a link": Way(
        another_reader_by_link, LATEST, "read_only", needs_root=True
    ),
}


@pytest.fixture
def brain() -> Iterator[Path]:
    """Return a path in a folder that other users could enter, unlike those of other tests."""
    with tempfile.TemporaryDirectory() as folder:
        shared = Path(os.path.realpath(folder))
        shared.chmod(0o755)
        (shared / "private").mkdir(mode=0o700)
        yield shared / "private" / "brain.db"


def _in_child(work: Callable[[], object]) -> tuple[int, int]:
    """Run `work` in a child process; return its id, and a pipe from which its result is read."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(60)
            os.close(read)
            os.write(write, json.dumps(work()).encode())
            code = 0
        except GbrainError as error:
            os.write(write, json.dumps(error.code).encode())
            code = 0
        except OSError as error:
            os.write(write, json.dumps(f"{error.strerror} {error}").encode())
        finally:
            os._exit(code)
    os.close(write)
    return child, read


def _result(child: int, pipe: int) -> object:
    with open(pipe) as stream:
        written = stream.read()
    _, status = os.waitpid(child, 0)
    result = json.loads(written or '"killed"')
    if os.waitstatus_to_exitcode(status) and "unshare" in str(result):
        pytest.skip("this system allows no new namespaces")
    assert os.waitstatus_to_exitcode(status) == 0, result
    return result


def _read(path: Path) -> object:
    with Brain.open(path, read_only=True) as brain:
        return brain.text("page")


def _write(path: Path) -> object:
    with Brain.open(path) as brain:
        brain.put("own", OWN.encode())
    return None


def _hold(brain: Path, way: Way, ready: int, leave: int) -> object:
    """Keep the brain open, with its latest write in the log, until a byte arrives."""
    if way.enter is own_container:
        own_container(brain)
    with Brain.open(brain) as opened:
        opened.put("page", LATEST.encode())
        os.write(ready, b"r")
        os.read(leave, 1)
        seen = [page.slug for page in opened.list()[0]]
        opened.put("after", OWN.encode())
    return seen


def _work_in_holder(brain: Path, work: Callable[[Path], object]) -> object:
    with Brain.open(brain) as opened:
        opened.put("page", LATEST.encode())
        try:
            result = work(brain)
        finally:
            opened.put("after", OWN.encode())
    return result


@pytest.mark.parametrize("role", ["reader", "writer"])
@pytest.mark.parametrize("name", WAYS)
def test_a_brain_that_is_open_is_opened(brain: Path, name: str, role: str) -> None:
    way = WAYS[name]
    if way.needs_root and os.geteuid() != 0:
        pytest.skip("needs root")
    with Brain.open(brain, make=True) as new:
        new.put("page", OLD.encode())
    work = _read if role == "reader" else _write
    if name == "in the same process":
        result = _result(*_in_child(lambda: _work_in_holder(brain, work)))
        seen = None
    else:
        ready, leave = os.pipe(), os.pipe()
        holder = _in_child(lambda: _hold(brain, way, ready[1], leave[0]))
        os.close(ready[1])
        assert os.read(ready[0], 1) == b"r"
        try:
            result = _result(*_in_child(lambda: work(way.enter(brain))))
        finally:
            os.write(leave[1], b"l")
            seen = _result(*holder)
            for end in (ready[0], *leave):
                os.close(end)
    assert result == (way.reader if role == "reader" else way.writer)
    wrote = role == "writer" and way.writer is None
    if seen is not None:
        assert seen == (["own", "page"] if wrote else ["page"])
    expected = {"page": LATEST, "after": OWN, **({"own": OWN} if wrote else {})}
    assert page_texts(brain) == expected
    for other in brain.parent.parent.glob("*.db"):
        other.unlink()
    for file in brain.parent.iterdir():
        file.chmod(0o600)
    check_sound(brain)


@pytest.mark.parametrize("role", ["reader", "writer"])
@pytest.mark.parametrize("name", [name for name in WAYS if name != "in the same process"])
def test_a_brain_that_nobody_has_open_is_opened(brain: Path, name: str, role: str) -> None:
    way = WAYS[name]
    if way.needs_root and os.geteuid() != 0:
        pytest.skip("needs root")
    with Brain.open(brain, make=True) as new:
        new.put("page", LATEST.encode())
    work = _read if role == "reader" else _write
    result = _result(*_in_child(lambda: work(way.enter(brain))))
    shown = LATEST if way.reader == OLD else way.reader
    assert result == (shown if role == "reader" else way.writer)
    wrote = {"own": OWN} if role == "writer" and way.writer is None else {}
    assert page_texts(brain) == {"page": LATEST, **wrote}
