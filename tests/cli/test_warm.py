"""A warm process answers exactly like a cold command, and is never in the way."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.models import TyperPath

from gbrain.__main__ import main
from gbrain.brain import Brain
from gbrain.brain_session import Session
from gbrain.cli import warm as warm_commands
from gbrain.cli.app import program as program_commands
from gbrain.errors import GbrainError
from gbrain.locations import brain_key, runtime_folder
from gbrain.server import background, client
from gbrain.server.background import (
    release_brain,
    start_and_wait,
    stop_background,
    warm_status,
)
from gbrain.server.client import exchange, find_socket, request_fields, run_warm
from gbrain.server.protocol import COMMANDS as WARM_COMMANDS
from gbrain.server.protocol import DECLINED, EXIT, RUN, STOP, encode_request
from gbrain.server.socket_lock import find_holder
from gbrain.server.socket_server import SocketServer, serve_in_background
from gbrain.store.atomic_files import process_is_alive
from gbrain.store.jobs import worker_name

COMMANDS = (
    ("search", "river"),
    ("search", "river", "--json"),
    ("search", "nosuchwordanywhere"),
    ("search", "nosuchwordanywhere", "--exit-code"),
    ("search", "river", "--wing", "nowhere"),
    ("search", "river", "--debug", "--limit", "2"),
    ("query", "who is lukewarm on cloud RAG?"),
    ("query", "who is lukewarm on cloud RAG?", "--json"),
    ("query", "what did we decide about backups", "--depth", "auto", "--budget", "300"),
    ("explain", "river ai", "--json"),
    ("get", "people/alice-chen"),
    ("get", "people/alice-chen", "--json"),
    ("get", "people/nobody"),
    ("list", "--wing", "people"),
    ("list", "--json"),
    ("timeline", "people/alice-chen"),
    ("tags",),
    ("links", "people/alice-chen", "--json"),
    ("backlinks", "people/alice-chen"),
    ("graph", "people/alice-chen"),
    ("stats", "--json"),
    ("tasks",),
    ("today",),
    ("history", "people/alice-chen"),
    ("why", "people/alice-chen"),
    ("conflicts",),
    ("gaps",),
    ("search",),
    ("list", "--limit", "none"),
    ("get", "people/alice-chen", "--db", "no/such/brain.db"),
    ("get", "people/alice-chen", "--db", ""),
)
# Times, and the random ids of links on a terminal.
TIMES = re.compile(rb'("[a-z_]*ms": )[\d.]+| *[\d.]+(?= ms)|(?<=;id=)\d+')


@pytest.fixture
def own_warm(embedded: Path) -> Path:
    """Start a warm process for the sample brain of this test."""
    start_and_wait(embedded, idle_minutes=5)
    return embedded


@pytest.fixture(scope="module")
def shared_home(
    embedded_sample: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Path, list[subprocess.Popen[bytes]]]]:
    """A folder with a sample brain, and the processes to end with the module."""
    home, running = tmp_path_factory.mktemp("warm"), []
    shutil.copy(embedded_sample, home / "brain.db")
    yield home, running
    for process in running:
        process.kill()
        process.wait()


@pytest.fixture
def warm(
    shared_home: tuple[Path, list[subprocess.Popen[bytes]]], monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Return a sample brain that stays open in one process for all tests that only read it."""
    home, running = shared_home
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(home / "run"))
    monkeypatch.setenv("GBRAIN_DB", str(home / "brain.db"))
    if not running:
        start_and_wait(home / "brain.db", idle_minutes=5)
        running.append(background._started.pop())
    return home / "brain.db"


Program = Callable[..., tuple[int, bytes, bytes]]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """`program("search", "river", warm=False)` runs a command in a fork of this process.

    Returns its exit code and all bytes of standard output and standard error.
    """

    def call(*words: str, warm: bool = True, **variables: str) -> tuple[int, bytes, bytes]:
        files = [tmp_path / "stdout", tmp_path / "stderr"]
        child = os.fork()
        if child == 0:
            for number, file in enumerate(files, 1):
                os.dup2(os.open(file, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
            sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY))
            sys.argv = ["gbrain", *words]
            os.environ.update(variables if warm else {"XDG_RUNTIME_DIR": "/none", **variables})
            try:
                main()
            finally:
                os._exit(99)
        _, status = os.waitpid(child, 0)
        return os.waitstatus_to_exitcode(status), *(file.read_bytes() for file in files)

    return call


def answered(brain: Path) -> int:
    status = warm_status(brain)
    assert status is not None
    return int(status["answered"])


def without_times(ran: tuple[int, bytes, bytes]) -> tuple[int, bytes, bytes]:
    return ran[0], TIMES.sub(rb"\1", ran[1]), TIMES.sub(rb"\1", ran[2])


def test_every_command_prints_what_it_prints_cold(warm: Path, program: Program) -> None:
    before, errors = answered(warm), 0
    for words in COMMANDS:
        ran = program(*words)
        assert without_times(ran) == without_times(program(*words, warm=False)), words
        errors += ran[0] not in (0, 3)
    assert errors == 5
    assert answered(warm) == before + len(COMMANDS) - errors


@pytest.mark.parametrize("looks", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "60"}])
def test_a_terminal_shows_the_same(warm: Path, at_terminal, looks: dict[str, str]) -> None:
    before = answered(warm)
    commands = (("search", "river"), ("get", "people/alice-chen"), ("tags",), ("list",))
    for words in commands:
        shown = [
            at_terminal(*words, "--no-pager", **{"columns": 90, **looks}, **where)
            for where in ({}, {"XDG_RUNTIME_DIR": "/none"})
        ]
        assert len(shown[0][1]) > 20
        ours, cold = (TIMES.sub(b"", text.encode()).splitlines() for _, text in shown)
        assert ours == cold
    assert answered(warm) == before + len(commands)


def test_long_output_goes_through_the_pager(warm: Path, at_terminal, tmp_path: Path) -> None:
    seen, before = tmp_path / "seen", answered(warm)
    pager = f"{sys.executable} -c \"open('{seen}', 'w').write(__import__('sys').stdin.read())\""
    _, shown = at_terminal("list", rows=10, GBRAIN_PAGER=pager)
    assert shown == ""
    assert "people/alice-chen" in seen.read_text()
    assert answered(warm) == before + 1


def test_the_client_imports_next_to_nothing(warm: Path) -> None:
    program = (
        "import sys; from gbrain.server.client import run_warm; code = run_warm(sys.argv[1:]);"
        "print(code, *sorted(set(sys.modules) - before), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-Sc", f"import os, sys; before = set(sys.modules); {program}", "list"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    code, *modules = ran.stderr.split()
    assert (code, "people/alice-chen" in ran.stdout) == ("0", True)
    ours = {name for name in modules if name.startswith("gbrain")}
    assert ours == {
        "gbrain", "gbrain.locations", "gbrain.server", "gbrain.server.client",
        "gbrain.server.protocol",
    }  # fmt: skip
    assert set(modules) - ours <= {"_socket", "__future__"}


def test_a_write_is_seen_by_the_next_answer(own_warm: Path, program: Program) -> None:
    assert b"zeppelin" not in program("search", "zeppelin")[1]
    with Brain.open(own_warm) as brain:
        brain.put("airship", b"# Airship\n\nA zeppelin over the lake.\n")
    assert b"airship" in program("search", "zeppelin")[1]
    assert b"airship" in program("query", "flying above the water by balloon")[1]
    assert answered(own_warm) == 3


def test_a_killed_or_hung_process_is_not_waited_for(
    own_warm: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = program("list", warm=False)
    pid = warm_status(own_warm)["pid"]  # type: ignore[index]
    os.kill(pid, signal.SIGSTOP)
    assert program("list") == cold
    os.kill(pid, signal.SIGKILL)
    assert program("list") == cold
    assert find_socket(str(own_warm)), "the killed process left its socket"
    assert program("list") == cold
    # On a busy machine a sound process can be silent for as long as a hung one.
    monkeypatch.setattr(client, "SILENCE_SECONDS", 20)
    assert start_and_wait(own_warm, idle_minutes=5)["pid"] != pid
    assert program("list") == cold
    assert answered(own_warm) == 1


def test_a_process_ends_although_nobody_waits_for_its_answer(own_warm: Path) -> None:
    pid = warm_status(own_warm)["pid"]  # type: ignore[index]
    os.kill(pid, signal.SIGSTOP)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(find_socket(str(own_warm))))
        connection.sendall(encode_request(request_fields(STOP, ())))
    os.kill(pid, signal.SIGCONT)
    for _ in range(300):
        if find_socket(str(own_warm)) is None:
            break
        time.sleep(0.1)
    assert find_socket(str(own_warm)) is None


@pytest.mark.parametrize("variable", ["GBRAIN_NOW", "TZ", "HOME"])
def test_another_environment_is_declined(warm: Path, program: Program, variable: str) -> None:
    before = answered(warm)
    value = {"GBRAIN_NOW": "2024-02-03T12:00:00", "TZ": "Asia/Tokyo", "HOME": "/"}[variable]
    for words in (("today",), ("search", "river")):
        ran = program(*words, **{variable: value})
        assert ran == program(*words, warm=False, **{variable: value})
    assert answered(warm) == before


def path_parameters(command: str) -> Iterator[Any]:
    """Yield the parameters of a command that take a path, --db aside."""
    for parameter in program_commands().get_command(None, command).params:
        is_path = isinstance(parameter.type, TyperPath)
        named = re.search("FILE|DIR|PATH", str(parameter.metavar)) and parameter.name != "db"
        assert is_path or not named, f"{command} takes a path as text: {parameter.name}"
        if is_path and parameter.name != "db":
            yield parameter


def test_a_warm_process_uses_no_path_of_another_folder(
    warm: Path, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    own = warm.parent / "index.html"
    own.write_text("<!doctype html><p>mine")
    walked, before = [], answered(warm)
    for command in sorted(WARM_COMMANDS):
        for parameter in path_parameters(command):
            code, _, said = program(command, max(parameter.opts, key=len), "index.html")
            assert (code, (here / "index.html").exists()) == (0, True), said
            (here / "index.html").unlink()
            walked.append(command)
    assert "graph" in walked
    assert own.read_text() == "<!doctype html><p>mine"
    assert answered(warm) == before
    assert program("graph", "people/alice-chen", "--db", os.path.relpath(warm))[0] == 0
    assert answered(warm) == before + 1


def test_a_folder_with_a_relative_name_is_declined(
    warm: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_ask", lambda *_: pytest.fail("it was asked"))
    for name in ("XDG_STATE_HOME", "TMPDIR"):
        with monkeypatch.context() as patched:
            patched.setenv(name, "state")
            assert run_warm(["list"]) is None


def test_another_version_is_declined(warm: Path) -> None:
    path = find_socket(str(warm))
    assert path
    fields = request_fields(RUN, ["list"])
    assert exchange(path, fields)[-1] == (EXIT, b"0")
    fields[1] = "9.9"
    assert exchange(path, fields)[-1] == (DECLINED, b"")


@pytest.mark.parametrize(
    "message",
    [b"", b"\0", b"\xff\xff\xff\xff", b"\0\0\0\x05a\0b\0c", b"GET / HTTP/1.1\r\n\r\n"],
)
def test_a_malformed_request_gets_no_answer(warm: Path, message: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        connection.connect(str(find_socket(str(warm))))
        connection.sendall(message)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(100) == b""
    assert warm_status(warm)


def test_the_socket_belongs_to_its_user_alone(warm: Path) -> None:
    path = Path(str(find_socket(str(warm))))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    path.parent.chmod(0o755)
    assert find_socket(str(warm)) is None
    path.parent.chmod(0o700)


def test_a_restored_brain_is_followed(
    own_warm: Path, program: Program, run, tmp_path: Path
) -> None:
    run("backup", tmp_path / "copy.db")
    with Brain.open(own_warm) as brain:
        brain.delete("people/alice-chen")
    assert program("get", "people/alice-chen")[0] == 1
    assert run("restore", tmp_path / "copy.db").exit_code == 0
    assert b"# Alice Chen" in program("get", "people/alice-chen")[1]
    until = time.monotonic() + 20
    while warm_status(own_warm) is None and time.monotonic() < until:
        time.sleep(0.05)
    assert b"# Alice Chen" in program("get", "people/alice-chen")[1]
    assert answered(own_warm) >= 1


def test_a_released_brain_is_opened_again(own_warm: Path, program: Program) -> None:
    log = own_warm.with_name(own_warm.name + "-wal")
    program("list")
    assert log.exists()
    release_brain(own_warm)
    assert not log.exists()
    assert b"people/alice-chen" in program("list")[1]


def test_up_status_and_down(embedded: Path, run) -> None:
    assert run("status", "--json").json["running"] is False
    assert "No process keeps this brain open" in run("status").stderr
    assert run("up").stderr.startswith("Process ")
    assert run("up").stderr.startswith("It is open already. Process ")
    assert run("status", "--json").json["ends_after_idle_seconds"] == 30 * 60
    assert ": 0 commands answered, " in run("status").stdout
    assert "has ended" in run("down").stderr
    assert "No process to end" in run("down").stderr
    assert os.listdir(runtime_folder(os.environ)) != []
    assert not [name for name in os.listdir(runtime_folder(os.environ)) if name.endswith(".sock")]


# --- processes that do not answer ------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for a process that does not answer no longer than a test should take."""
    monkeypatch.setattr(background, "_END_SECONDS", 0.5)
    monkeypatch.setattr(background, "_STATUS_SECONDS", 0.2)
    signals = [(number, 2.0 if number == signal.SIGKILL else 0.5) for number, _ in SIGNALS]
    monkeypatch.setattr(background, "_SIGNALS", signals)


SIGNALS = background._SIGNALS
# A process that holds the lock and listens, but computes for ever.
SPIN = """
import os, signal, socket, sys
from gbrain.locations import brain_key
from gbrain.server.socket_server import claim_socket
if sys.argv[2] == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
with claim_socket(brain_key(sys.argv[1]), dedicated=True) as path, socket.socket(1) as listener:
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    while True:
        pass
"""


@pytest.fixture
def spin(sample: Path) -> Iterator[Callable[[str], int]]:
    """`spin("stubborn")` starts a process that has the brain and ignores SIGTERM."""
    running = []

    def start(temper: str) -> int:
        process = subprocess.Popen(
            [sys.executable, "-c", SPIN, str(sample), temper], stdout=subprocess.PIPE
        )
        running.append(process)
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        return process.pid

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("temper", "by"), [("meek", "SIGTERM"), ("stubborn", "SIGKILL")])
def test_a_process_that_does_not_answer_is_ended_by_force(
    sample: Path, run, spin: Callable[[str], int], impatient: None, temper: str, by: str
) -> None:
    pid = spin(temper)
    document = run("status", "--json").json
    assert (document["running"], document["pid"], document["answered"]) == (True, pid, None)
    assert run("status").stdout == (
        f"Process {pid} keeps the brain open, but does not answer. gbrain down ends it.\n"
    )
    assert run("up", "--json").error["code"] == "not_answering"
    said = run("down").stderr
    assert said == f"Process {pid} did not end when asked, and was ended by {by}.\n"
    assert run("status", "--json").json["running"] is False
    assert run("down").stderr == "No process to end.\n"


def test_a_stopped_process_is_ended(own_warm: Path, run, impatient: None) -> None:
    pid = warm_status(own_warm)["pid"]  # type: ignore[index]
    os.kill(pid, signal.SIGSTOP)
    ended = run("down", "--json").json
    assert (ended["running"], ended["pid"]) == (False, pid)
    assert background._started[-1].wait(20) == -signal.SIGKILL


def test_a_process_with_other_work_goes_on(sample: Path) -> None:
    with serve_in_background(lambda: Brain.open(sample), str(sample)):
        until = time.monotonic() + 20
        while warm_status(sample) is None and time.monotonic() < until:
            time.sleep(0.05)
        ended = stop_background(sample)
    assert ended
    assert (ended.status["pid"], ended.by, ended.goes_on) == (os.getpid(), "request", True)
    assert "goes on with its own work" in warm_commands._describe_end(ended)


def test_a_process_of_another_machine_gets_no_signal(
    sample: Path, run, spin: Callable[[str], int], impatient: None
) -> None:
    pid = spin("meek")
    (lock,) = Path(runtime_folder(os.environ)).glob("*.lock")
    lock.write_text(f"elsewhere:{pid}\ndedicated\n")
    assert run("status", "--json").json["pid"] is None
    assert run("down", "--json").error["code"] == "not_ended"
    assert process_is_alive(pid)
    assert run("status", "--json").json["running"] is True


def test_a_lock_that_nobody_holds_is_no_process(sample: Path, run) -> None:
    folder = Path(runtime_folder(os.environ))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / f"{brain_key(str(sample))}.lock").write_text(f"{worker_name()}\ndedicated\n")
    assert run("down").stderr == "No process to end.\n"


def test_a_folder_for_sockets_that_cannot_be_made_is_an_error(
    sample: Path, run, tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "file"))
    refused = run("up", "--foreground", "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "no_folder")
    assert "XDG_RUNTIME_DIR" in refused.error["hint"]


def test_up_needs_no_folder_for_its_messages(
    embedded: Path, run, tmp_path: Path, monkeypatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert run("up").stderr.startswith("Process ")
    assert "has ended" in run("down").stderr


def test_an_unused_process_ends(embedded: Path) -> None:
    pid = start_and_wait(embedded, idle_minutes=0.05)["pid"]
    until = time.monotonic() + 20
    while warm_status(embedded) and time.monotonic() < until:
        time.sleep(0.05)
    assert warm_status(embedded) is None
    stop_background(embedded)
    assert find_holder(str(embedded)) is None
    assert not process_is_alive(pid) or background._started[-1].wait(20) == 0


def test_the_first_query_leaves_a_warm_process(embedded: Path, run) -> None:
    assert run("config", "set", "keep_warm", "soon").exit_code == 1
    run("query", "river")
    assert warm_status(embedded) is None
    run("config", "set", "keep_warm", "15m")
    run("query", "who is lukewarm on cloud RAG?")
    until = time.monotonic() + 20
    while warm_status(embedded) is None and time.monotonic() < until:
        time.sleep(0.05)
    status = warm_status(embedded)
    assert status is not None
    assert status["ends_after_idle_seconds"] == 15 * 60
    stop_background(embedded)


@pytest.mark.parametrize("word", ["-h", "--help", "-qh", "-vh"])
def test_help_stays_cold(warm: Path, program: Program, word: str) -> None:
    before = answered(warm)
    assert b"Usage: " in program("search", "river", word)[1]
    assert answered(warm) == before


def test_commands_that_write_or_read_input_stay_cold(warm: Path) -> None:
    before = answered(warm)
    for words in (["capture", "x"], ["query", "-"], ["list", "--help"], ["list", "--as-of=2026"]):
        assert run_warm(words) is None
    assert answered(warm) == before


_HOLD_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


def test_embedding_goes_on_after_another_program_held_the_lock(sample: Path, monkeypatch) -> None:
    monkeypatch.setattr(warm_commands, "_QUIET_SECONDS", 0.05)
    monkeypatch.setattr(warm_commands, "_CHECK_SECONDS", 0.05)
    errors: list[GbrainError] = []

    def open_impatient() -> Brain:
        brain = Brain.open(sample)
        brain.database.set_busy_seconds(0.01)
        return brain

    async def embed_while_locked(holder: subprocess.Popen[bytes]) -> None:
        session = Session(open_impatient)
        run = session.run

        async def record_errors(work, **options):
            try:
                return await run(work, **options)
            except GbrainError as error:
                errors.append(error)
                raise

        monkeypatch.setattr(session, "run", record_errors)
        server = SocketServer(session, str(sample))
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                group.start_soon(warm_commands._embed_while_idle, session, server)
                while len(errors) < 2:
                    await anyio.sleep(0.01)
                holder.communicate()
                while (await run(Brain.backlog, writes=False)).waiting:
                    await anyio.sleep(0.05)
                group.cancel_scope.cancel()
        session.close()

    with subprocess.Popen(
        [sys.executable, "-c", _HOLD_LOCK, sample], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        anyio.run(embed_while_locked, holder)
    assert {error.code for error in errors} == {"locked"}
