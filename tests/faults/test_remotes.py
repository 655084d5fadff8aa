"""Kills, several writers and bad networks between brains and a shared store: nothing may be lost.

pytest -m slow tests/faults/test_remotes.py
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from tcp_proxy import run_proxy

from gbrain.brain import Brain
from gbrain.brain.replicas import clone_brain, make_replica
from gbrain.errors import GbrainError
from gbrain.importing import parse_worker
from gbrain.remotes import indexing
from gbrain.remotes import push as push_module
from gbrain.store.connection import Database
from gbrain.store.postgres import connection as connection_module
from gbrain.store.postgres.connection import SharedStore, Unreachable
from gbrain.store.postgres.indexes import missing_indexes
from gbrain.store.postgres.search_index import check_search_tables, discard_entries

if TYPE_CHECKING:
    from postgres_server import Server


def open_machine(folder: Path, name: str, url: str) -> Brain:
    brain = Brain.open(folder / f"{name}.db", make=True)
    brain.add_remote("team", url)
    return brain


def stored_texts(url: str) -> dict[str, set[str]]:
    """Return every text that the store has or had, by slug; check that each has its hash."""
    found: dict[str, set[str]] = {}
    with psycopg.connect(url) as connection:
        rows = connection.execute(
            "SELECT slug, content, sha256, deleted FROM gbrain.pages "
            "UNION ALL SELECT slug, content, sha256, deleted FROM gbrain.versions"
        ).fetchall()
    for slug, content, digest, deleted in rows:
        found.setdefault(slug, set()).add(content)
        assert deleted or sha256(content.encode()).digest() == digest
    return found


def assert_sound(url: str) -> None:
    """Check sequence and version numbers of the store."""
    with psycopg.connect(url) as connection:
        [(sequence, highest)] = connection.execute(
            "SELECT (SELECT sequence FROM gbrain.state), (SELECT max(sequence) FROM gbrain.pages)"
        ).fetchall()
        assert highest is None or highest <= sequence
        behind = connection.execute(
            "SELECT count(*) FROM gbrain.pages p JOIN gbrain.versions v USING (slug) "
            "WHERE v.version >= p.version OR v.sequence >= p.sequence"
        ).fetchone()
        assert behind == (0,)


def brain_pages(brain: Brain) -> dict[str, str]:
    return {page.slug: brain.text(page.slug) for page in brain.list()[0]}


# --- kills -----------------------------------------------------------------------------------


class Killed(BaseException):
    """Stands for the end of the process at this point."""


@contextmanager
def killed_at(step: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Raise Killed at the given step: before, inside at the end of, and after each transaction.

    Yields a list that gets an entry for every step.
    """
    steps: list[int] = []

    def reach() -> None:
        steps.append(len(steps))
        if len(steps) - 1 == step:
            raise Killed

    def with_steps(original: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def transaction(self: Any, *arguments: Any) -> Iterator[Any]:
            reach()
            with original(self, *arguments) as cursor:
                yield cursor
                reach()
            reach()

        return transaction

    with monkeypatch.context() as patch:
        for owner, name in ((Database, "write_transaction"), (SharedStore, "transaction")):
            patch.setattr(owner, name, with_steps(getattr(owner, name)))
        yield steps


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_push_that_is_killed_at_any_step_is_completed_by_the_next(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    with open_machine(tmp_path, "a", server_url) as a, open_machine(tmp_path, "b", server_url) as b:
        for slug in ("new", "edited", "gone", "both"):
            a.put(slug, b"# T\n\none\n\n## Timeline\n\n- 2026-01-01: start\n")
        a.embed()
        a.push()
        b.pull()
        acknowledged: dict[str, set[str]] = {}
        for step in count(0, every):
            # The other machine is ahead on one page, so the push has to merge it.
            b.pull()
            b.capture(f"b {step}", name="both")
            b.push()
            a.put(f"new/{step}", f"# New {step}\n".encode())
            a.put("edited", f"# T\n\nedit {step}\n".encode())
            a.capture(f"a {step}", name="both")
            if step:
                a.delete(f"new/{step - every}")
            with killed_at(step, monkeypatch) as steps:
                try:
                    a.push()
                    finished = True
                except Killed:
                    finished = False
            assert_sound(server_url)
            stored_texts(server_url)
            assert a.push().conflicts == []
            for slug, text in brain_pages(a).items():
                acknowledged.setdefault(slug, set()).add(text)
            b.pull()
            assert brain_pages(a) == brain_pages(b)
            assert a.get("edited").version == b.get("edited").version
            if finished:
                break
        assert len(steps) > 12
        stored = stored_texts(server_url)
        assert all(texts <= stored[slug] for slug, texts in acknowledged.items())
        entries = brain_pages(a)["both"]
        written = range(0, step + 1, every)
        assert all(f"a {n}\n" in entries and f"b {n}\n" in entries for n in written)


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_pull_that_is_killed_at_any_step_is_completed_by_the_next(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    monkeypatch.setattr("gbrain.remotes.pull._BATCH_PAGES", 3)
    with open_machine(tmp_path, "a", server_url) as a, open_machine(tmp_path, "b", server_url) as b:
        for n in range(4):
            a.put(f"p/{n}", f"# P\n\n{n}\n".encode())
        a.put("both", b"# T\n\n## Timeline\n\n- 2026-01-01: start\n")
        a.embed()
        a.push()
        b.pull()
        for step in count(0, every):
            for n in range(4):
                a.put(f"p/{n}", f"# P\n\n{n} {step}\n".encode())
            a.capture(f"a {step}", name="both")
            a.put(f"new/{step}", b"# New\n")
            if step:
                a.delete(f"new/{step - every}")
            a.push()
            b.capture(f"b {step}", name="both")
            mine = b.text("both")
            with killed_at(step, monkeypatch) as steps:
                try:
                    b.pull()
                    finished = True
                except Killed:
                    finished = False
            # Nothing half: every page has a text that one of the two wrote.
            for slug, text in brain_pages(b).items():
                if slug.startswith("p/"):
                    written = [f"# P\n\n{slug[2:]} {s}\n" for s in (step, step - every)]
                    assert text in written or not step
            assert all(entry in b.text("both") for entry in mine.splitlines())
            report = b.push()
            assert report.conflicts == []
            b.pull()
            a.pull()
            assert brain_pages(a) == brain_pages(b)
            if finished:
                break
        assert len(steps) > 12


def test_a_clone_that_is_killed_at_any_step_continues(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gbrain.remotes.pull._BATCH_PAGES", 2)
    with open_machine(tmp_path, "a", server_url) as a:
        for n in range(5):
            a.put(f"p/{n}", f"# P\n\n{n}\n".encode())
        a.push()
        pages = brain_pages(a)
    for step in range(0, 60, 4):
        path = tmp_path / f"clone{step}.db"
        with killed_at(step, monkeypatch):
            try:
                clone_brain(server_url, path)
                finished = True
            except Killed:
                finished = False
                assert not path.exists()
        if not finished:
            clone_brain(server_url, path)
        with Brain.open(path) as clone:
            assert brain_pages(clone) == pages
        if finished:
            break
    assert finished


def test_first_commands_at_the_same_time_share_one_replica(server_url: str, tmp_path: Path) -> None:
    with open_machine(tmp_path, "a", server_url) as a:
        for n in range(5):
            a.put(f"p/{n}", f"# P\n\n{n}\n".encode())
        a.push()
        pages = brain_pages(a)
    with ThreadPoolExecutor(6) as pool:
        [path] = set(pool.map(lambda _: make_replica(server_url), range(6)))
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    with Brain.open(path) as replica:
        assert brain_pages(replica) == pages


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pushes add pages to the search tables afterwards, few at once and without indexes."""
    monkeypatch.setattr(push_module, "_MAX_INDEXED_AT_ONCE", 0)
    monkeypatch.setattr(indexing, "_BATCH_PAGES", 3)
    monkeypatch.setattr(indexing, "_MIN_FILLED_PAGES", 4)
    # One process parses fast enough.
    monkeypatch.setattr(parse_worker.os, "cpu_count", lambda: 1)


def search_problems(url: str) -> list[str]:
    with SharedStore(url) as store, store.transaction() as cursor:
        missing = [each.name for each in missing_indexes(cursor)]
        return check_search_tables(cursor) + missing


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.usefixtures("small_batches")
def test_indexing_that_is_killed_at_any_step_is_completed_by_the_next(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: int
) -> None:
    with open_machine(tmp_path, "a", server_url) as a:
        for number in range(7):
            a.put(f"p{number}", f"# Page {number}\n\nSome words {number}.\n".encode())
        a.push()
        for step in count(0, every):
            a.put(f"p{step % 7}", f"# Page\n\nOther words {step}.\n".encode())
            if step % 2:
                a.delete("p")
            else:
                a.put("p", b"# New\n")
            a.push()
            with killed_at(step, monkeypatch) as steps:
                try:
                    a.repair_remote()
                    finished = True
                except Killed:
                    finished = False
            if search_problems(server_url):
                assert a.remote_status().problems
            # A push of few pages completes the tables too.
            with monkeypatch.context() as patch:
                patch.setattr(push_module, "_MAX_INDEXED_AT_ONCE", 500)
                a.put("small", f"# Small {step}\n".encode())
                a.push()
            assert search_problems(server_url) == []
            assert a.remote_status().problems == ()
            if finished:
                break
        assert len(steps) > 12


@pytest.mark.usefixtures("small_batches")
def test_two_machines_may_index_at_once(server_url: str, tmp_path: Path) -> None:
    with open_machine(tmp_path, "a", server_url) as a:
        for number in range(40):
            a.put(f"p{number}", f"# Page {number}\n\nSome words.\n".encode())
        a.push()
    with SharedStore(server_url) as store, store.transaction() as cursor:
        discard_entries(cursor)

    def index() -> None:
        with SharedStore(server_url) as store:
            indexing.index_pages(store)

    threads = [threading.Thread(target=index) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_machine(tmp_path, "a", server_url) as a:
        a.push()
    assert search_problems(server_url) == []


def test_an_index_whose_creation_was_killed_is_created_again(
    server_url: str, tmp_path: Path
) -> None:
    with open_machine(tmp_path, "a", server_url) as a:
        a.put("p", b"# Page\n")
        a.push()
        with psycopg.connect(server_url) as connection:
            connection.execute(
                "UPDATE pg_index SET indisvalid = false "
                "WHERE indexrelid = 'gbrain.search_chunks_words'::regclass"
            )
        assert search_problems(server_url) == ["search_chunks_words"]
        a.push()
        assert search_problems(server_url) == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_processes_that_are_really_killed_lose_nothing(
    server_url: str, tmp_path: Path, seed: int
) -> None:
    """Two machines write, pull and push in processes that are killed at random moments."""
    dice = random.Random(seed)
    script = (
        "import sys\nfrom gbrain.brain import Brain\n"
        "with Brain.open(sys.argv[1]) as brain:\n"
        "    print(flush=True)\n"
        "    for n in range(int(sys.argv[3]), int(sys.argv[3]) + 6):\n"
        "        brain.capture(f'{sys.argv[2]} {n}.', name='both')\n"
        "        brain.put(f'{sys.argv[2]}/{n}', f'# {n}\\n'.encode())\n"
        "        brain.push()\n"
        "        print(n, flush=True)\n"
        "        brain.pull()\n"
    )
    acknowledged: set[str] = set()
    for name in "ab":
        with open_machine(tmp_path, name, server_url) as brain:
            if name == "a":
                brain.put("both", b"# T\n\n## Timeline\n\n- 2026-01-01: start\n")
                brain.push()
            brain.pull()
    for turn in range(8):
        running = [
            subprocess.Popen(
                [sys.executable, "-c", script, tmp_path / f"{name}.db", name, str(turn * 10)],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for name in "ab"
        ]
        for name, process in zip("ab", running, strict=True):
            assert process.stdout is not None
            # Ready; the first two also have pushed something, however slow the machine is.
            first = [process.stdout.readline() for _ in range(1 if turn else 2)]
            try:
                process.wait(dice.uniform(0, 3))
            except subprocess.TimeoutExpired:
                os.kill(process.pid, signal.SIGKILL)
            done = "".join([*first, process.communicate()[0]]).split()
            acknowledged |= {f"{name} {n}." for n in done}
        assert_sound(server_url)
        stored_texts(server_url)
    assert acknowledged
    with open_machine(tmp_path, "a", server_url) as a, open_machine(tmp_path, "b", server_url) as b:
        for brain in (a, b, a):
            brain.pull()
            assert brain.push().conflicts == []
        b.pull()
        assert brain_pages(a) == brain_pages(b)
        for entry in acknowledged:
            assert entry in a.text("both")
            name, n = entry[:-1].split()
            assert a.text(f"{name}/{n}") == f"# {n}\n"


# --- several writers -------------------------------------------------------------------------


def write_entries(path: Path, url: str, name: str, entries: int) -> None:
    with open_machine(path, name, url) as brain:
        brain.pull()
        for n in range(entries):
            brain.capture(f"{name} {n}.", name="page")
            brain.push()


def run_writers(server_url: str, tmp_path: Path, entries: int) -> str:
    """Let six machines add entries to one page at the same time; return its final text."""
    with open_machine(tmp_path, "first", server_url) as first:
        first.put("page", b"# Page\n\n## Timeline\n\n- 2026-01-01: start\n")
        first.push()
        failures: list[BaseException] = []

        def work(name: str) -> None:
            try:
                write_entries(tmp_path, server_url, name, entries)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert_sound(server_url)
        first.pull()
        return first.text("page")


def test_six_writers_on_one_page_keep_all_entries(server_url: str, tmp_path: Path) -> None:
    text = run_writers(server_url, tmp_path, 3)
    assert [n for n in range(18) if f"w{n % 6} {n // 6}." not in text] == []
    assert text.count("\n- ") == 19


def test_writers_do_not_depend_on_the_isolation_that_is_the_default(
    server_url: str, tmp_path: Path
) -> None:
    text = run_writers(f"{server_url}?options=-cdefault_transaction_isolation%3Dserializable",
                       tmp_path, 2)  # fmt: skip
    assert [n for n in range(12) if f"w{n % 6} {n // 6}." not in text] == []


@pytest.mark.slow
def test_six_writers_keep_120_of_120_entries(server_url: str, tmp_path: Path) -> None:
    text = run_writers(server_url, tmp_path, 20)
    assert [n for n in range(120) if f"w{n % 6} {n // 6}." not in text] == []


def test_a_reader_that_pulls_while_others_write_misses_nothing(
    server_url: str, tmp_path: Path
) -> None:
    with open_machine(tmp_path, "first", server_url) as first:
        first.put("start", b"# Start\n")
        first.push()
    done = threading.Event()

    def write(name: str) -> None:
        with open_machine(tmp_path, name, server_url) as brain:
            for n in range(5):
                brain.put(f"{name}/{n}", b"# P\n")
                brain.push()

    threads = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(3)]
    with open_machine(tmp_path, "reader", server_url) as reader:
        for thread in threads:
            thread.start()
        while not done.is_set():
            alive = any(thread.is_alive() for thread in threads)
            reader.pull()
            if not alive:
                done.set()
        assert len(reader.list()[0]) == 16


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_edits_of_three_machines_converge(
    server_url: str, tmp_path: Path, seed: int
) -> None:
    dice = random.Random(seed)
    brains = [open_machine(tmp_path, name, server_url) for name in "abc"]
    brains[0].put("p0", b"# P0\n\none\n\ntwo\n\n## Timeline\n\n- 2026-01-01: start\n")
    brains[0].push()
    for number in range(120):
        brain = dice.choice(brains)
        slug = f"p{dice.randrange(4)}"
        action = dice.choice(("put", "put", "capture", "capture", "delete", "push", "push", "pull"))
        known = brain.find(slug)
        if action == "put":
            old = brain.text(slug) if known else f"# {slug}\n\none\n\ntwo\n"
            line = dice.choice(old.splitlines()[2:] or ["x"])
            brain.put(slug, old.replace(line, f"{line} {number}", 1).encode())
        elif action == "capture" and known:
            brain.capture(f"entry {number}.", name=slug)
        elif action == "delete" and known and not dice.randrange(3):
            brain.delete(slug)
        elif action == "pull":
            brain.pull()
        elif action == "push":
            acknowledge = {page.slug: brain.text(page.slug) for page in brain.list()[0]}
            report = brain.push()
            stored = stored_texts(server_url)
            for pushed in report.pushed:
                assert acknowledge.get(pushed) in stored[pushed] or pushed in report.merged
        assert_sound(server_url)
    for _ in range(3):
        for brain in brains:
            brain.push()
            for conflict in brain.conflicts():
                texts = brain.conflict_texts(conflict.slug)
                kept = texts.brain if texts.brain is not None else texts.theirs
                assert kept is not None
                brain.resolve_conflict(conflict.slug, kept.encode(), texts)
            brain.push()
    for brain in brains:
        brain.pull()
    assert brain_pages(brains[0]) == brain_pages(brains[1]) == brain_pages(brains[2])
    for brain in brains:
        brain.close()


# --- networks --------------------------------------------------------------------------------


def test_a_network_that_is_cut_anywhere_loses_nothing(
    postgres_server: Server, new_database: Callable[[], str], tmp_path: Path
) -> None:
    database = new_database()
    with run_proxy(postgres_server.host, postgres_server.port) as proxy:
        url = postgres_server.url(database, port=proxy.port)
        with open_machine(tmp_path, "a", url) as a, open_machine(tmp_path, "b", url) as b:
            a.put("start", b"# Start\n")
            a.push()
            cuts = 0
            for n, limit in enumerate((50, 600, 1200, 2000, 2600, 3200, 4000)):
                a.put(f"p/{n}", f"# P {n}\n".encode() + b"words " * 50)
                proxy.sent, proxy.cut_after = 0, limit
                try:
                    a.push()
                    proxy.sent = 0
                    b.pull()
                except Unreachable:
                    cuts += 1
                proxy.cut_after = None
                a.push()
                b.pull()
                assert brain_pages(a) == brain_pages(b)
            assert cuts > 2
            assert_sound(postgres_server.url(database))


def test_a_slow_network_only_takes_longer(
    postgres_server: Server, new_database: Callable[[], str], tmp_path: Path
) -> None:
    with run_proxy(postgres_server.host, postgres_server.port) as proxy:
        proxy.delay_seconds = 0.01
        url = postgres_server.url(new_database(), port=proxy.port)
        with open_machine(tmp_path, "a", url) as a, open_machine(tmp_path, "b", url) as b:
            a.put("x", b"# X\n")
            a.push()
            b.pull()
            assert brain_pages(b) == {"x": "# X\n"}


def test_a_server_that_falls_silent_is_given_up(
    postgres_server: Server,
    new_database: Callable[[], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with run_proxy(postgres_server.host, postgres_server.port) as proxy:
        url = postgres_server.url(new_database(), port=proxy.port)
        with open_machine(tmp_path, "a", url) as a:
            a.put("x", b"# X\n")
            a.push()
            monkeypatch.setattr(connection_module, "TRANSACTION_SECONDS", 0.5)
            a.put("x", b"# Y\n")
            with a.contact() as contact:
                proxy.is_silent = True
                with pytest.raises(Unreachable):
                    a.exchange(contact=contact, pull=False)
            proxy.is_silent = False
            assert a.push().pushed == ["x"]


def test_a_pooler_may_use_another_connection_for_each_transaction(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As PgBouncer does: what one transaction sets, the next must not need."""
    original = SharedStore.transaction
    opened: list[Any] = []

    @contextmanager
    def rotate(self: SharedStore) -> Iterator[Any]:
        used = self.connection
        opened.append(psycopg.connect(server_url, autocommit=True, prepare_threshold=None))
        self.connection = opened[-1]
        try:
            with original(self) as cursor:
                yield cursor
        finally:
            self.connection = used

    monkeypatch.setattr(SharedStore, "transaction", rotate)
    with open_machine(tmp_path, "a", server_url) as a, open_machine(tmp_path, "b", server_url) as b:
        a.put("x", b"# X\n\n## Timeline\n\n- 2026-01-01: start\n")
        a.embed()
        a.push()
        b.pull()
        a.capture("a", name="x")
        b.capture("b", name="x")
        a.push()
        b.push()
        a.pull()
        assert brain_pages(a) == brain_pages(b)
    for connection in opened:
        connection.close()
    assert len(opened) > 10


def test_a_writer_that_hangs_does_not_block_the_others_for_ever(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_machine(tmp_path, "a", server_url) as a:
        a.put("x", b"# X\n")
        a.push()
        a.put("x", b"# Y\n")
        settings = connection_module._SETTINGS.replace("'30s'", "'200ms'")
        monkeypatch.setattr(connection_module, "_SETTINGS", settings)
        with psycopg.connect(server_url) as hanging:
            hanging.execute("SELECT 1 FROM gbrain.state FOR UPDATE")
            with pytest.raises(GbrainError) as raised:
                a.push()
            assert raised.value.code == "unreachable"
        assert a.push().pushed == ["x"]
