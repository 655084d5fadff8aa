"""`remote`, `clone`, `pull`, `push` and `--db postgresql://…` as a user meets them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from gbrain.brain import Brain
from gbrain.brain.replicas import replica_path
from gbrain.cli import shared_brain
from gbrain.store.postgres import connection as connection_module
from gbrain.store.postgres.connection import SharedStore
from gbrain.store.postgres.schema import find_state, role_sql
from gbrain.store.postgres.search_index import discard_entries

if TYPE_CHECKING:
    from postgres_server import Server

PAGE = b"# Alice\n\nLikes tea.\n\n## Timeline\n\n- 2026-01-05: met\n"


@pytest.fixture
def team(run, brain_path: Path, server_url: str) -> str:
    """Return the URL of a shared brain with one page, which this test's brain has pushed."""
    run("put", "people/alice", "--db", brain_path, stdin=PAGE)
    assert run("remote", "add", "team", server_url).exit_code == 0
    assert run("push").exit_code == 0
    return server_url


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """`offline()` makes every server unreachable from then on."""

    def cut() -> None:
        def refuse(*arguments, **options):
            raise psycopg.OperationalError("connection failed: Connection refused")

        monkeypatch.setattr(psycopg, "connect", refuse)

    return cut


def test_two_machines_share_a_brain(run, team: str, tmp_path: Path, has_pgvector: bool) -> None:
    other = tmp_path / "other.db"
    done = run("clone", team, other)
    assert done.stderr == f"Cloned 1 page{', 2 vectors' * has_pgvector} to {other}.\n"
    assert run("get", "people/alice", "--db", other).stdout_bytes == PAGE
    run("capture", "called", "--to", "people/alice", "--db", other)
    vector = " 1 vector." * has_pgvector
    assert run("push", "--db", other).stderr == f"Pushed to origin: 1 page.{vector}\n"
    assert run("pull").stderr == f"Pulled from team: 1 changed.{vector}\n"
    assert "called" in run("get", "people/alice").stdout
    assert run("pull").stderr == "Pulled from team: nothing new.\n"
    assert run("push").stderr == "Pushed to team: nothing new.\n"


def test_a_remote_of_another_brain_can_be_cloned_by_name(run, team: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    assert run("clone", "team", other).exit_code == 0
    assert run("remote", "list", "--json", "--db", other).json["remotes"][0]["name"] == "team"
    assert run("clone", "tame", other).exit_code == 1
    again = run("clone", "team", other, "--json")
    assert (again.exit_code, again.error["code"]) == (1, "exists")


def test_the_option_for_the_brain_names_a_new_clone(
    run, team: str, tmp_path: Path, has_pgvector: bool
) -> None:
    other = tmp_path / "other.db"
    cloned = f"Cloned 1 page{', 2 vectors' * has_pgvector} to {other}.\n"
    assert run("clone", team, "--db", other).stderr == cloned


def test_an_interrupted_clone_is_no_brain_and_continues(
    run, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        run("put", f"p/{number}", stdin=b"# P\n")
    run("push")
    other = tmp_path / "other.db"
    monkeypatch.setattr("gbrain.remotes.pull._BATCH_PAGES", 2)
    with monkeypatch.context() as patch:
        from gbrain.remotes import pull as pull_module

        calls = []

        def interrupt(*arguments, **options):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return apply(*arguments, **options)

        apply = pull_module.apply_rows
        patch.setattr(pull_module, "apply_rows", interrupt)
        assert run("clone", team, other).exit_code == 130
    assert not other.exists()
    assert run("clone", team, other).stderr == f"Cloned 3 pages to {other}.\n"
    assert run("list", "--db", other, "--json").json["total"] == 5
    assert [file.name for file in tmp_path.glob("other*")] == ["other.db"]


def test_a_clone_that_cannot_start_leaves_nothing(run, server_url: str, tmp_path: Path) -> None:
    empty = run("clone", server_url, tmp_path / "other.db", "--json")
    assert (empty.exit_code, empty.error["code"]) == (1, "no_shared_brain")
    assert list(tmp_path.glob("other*")) == []


def test_conflicts_exit_with_1_and_name_the_page(run, team: str, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    run("clone", team, other)
    run("put", "people/alice", stdin=PAGE.replace(b"tea", b"coffee"))
    run("put", "people/alice", "--db", other, stdin=PAGE.replace(b"tea", b"water"))
    run("push")
    refused = run("push", "--db", other)
    assert refused.exit_code == 1
    assert "people/alice was changed here and on origin" in refused.stderr
    assert "gbrain resolve people/alice" in refused.stderr
    [conflict] = run("conflicts", "--json", "--db", other).json["conflicts"]
    assert (conflict["remote"], conflict["kind"]) == ("origin", "both_changed")
    version = str(conflict["version"])
    assert "coffee" in run("get", "people/alice", "--version", version, "--db", other).stdout
    assert "water" in run("get", "people/alice", "--db", other).stdout
    assert run("push", "--db", other).exit_code == 1
    assert run("resolve", "people/alice", "--file", "--db", other).exit_code == 2
    merged = tmp_path / "merged.md"
    merged.write_bytes(PAGE.replace(b"tea", b"coffee and water"))
    assert run("resolve", "people/alice", "--file", merged, "--db", other).exit_code == 0
    assert run("push", "--db", other).exit_code == 0
    run("pull")
    assert "coffee and water" in run("get", "people/alice").stdout


@pytest.mark.parametrize(("option", "text"), [("--ours", "water"), ("--theirs", "coffee")])
def test_a_conflict_is_settled_for_one_side(
    run, team: str, tmp_path: Path, option: str, text: str, has_pgvector: bool
) -> None:
    other = tmp_path / "other.db"
    run("clone", team, other)
    run("put", "people/alice", stdin=PAGE.replace(b"tea", b"coffee"))
    run("put", "people/alice", "--db", other, stdin=PAGE.replace(b"tea", b"water"))
    run("push")
    pulled = run("pull", "--db", other)
    vector = " 1 vector." * has_pgvector
    assert pulled.exit_code == 1
    assert pulled.stderr.startswith(f"Pulled from origin: 1 in conflict.{vector}\n")
    resolved = run("resolve", "people/alice", option, "--db", other)
    assert resolved.exit_code == 0
    then = "; the next gbrain push shares it" if option == "--ours" else ""
    assert resolved.stderr.endswith(f"The conflict with origin is resolved{then}.\n")
    assert run("conflicts", "--json", "--db", other).json["total"] == 0
    assert run("push", "--db", other).exit_code == 0
    run("pull")
    for db in (other, None):
        assert text in run("get", "people/alice", *(["--db", db] if db else [])).stdout


@pytest.mark.parametrize("option", ["--ours", "--theirs"])
@pytest.mark.parametrize("deleted", ["here", "there"])
def test_a_deletion_against_an_edit_is_a_conflict(
    run, team: str, tmp_path: Path, option: str, deleted: str
) -> None:
    other = tmp_path / "other.db"
    run("clone", team, other)
    deleter, editor = (["--db", other], []) if deleted == "here" else ([], ["--db", other])
    run("delete", "people/alice", *deleter)
    run("put", "people/alice", *editor, stdin=PAGE.replace(b"tea", b"milk"))
    run("push")
    refused = run("push", "--db", other)
    assert refused.exit_code == 1
    what = "deleted here and changed" if deleted == "here" else "changed here and deleted"
    keeping = "--theirs" if deleted == "here" else "--ours"
    assert f"people/alice was {what} on origin" in refused.stderr
    assert f"gbrain resolve people/alice {keeping} keeps the page" in refused.stderr
    [conflict] = run("conflicts", "--json", "--db", other).json["conflicts"]
    assert conflict["kind"] == f"deleted_{deleted}"
    assert run("resolve", "people/alice", "--db", other).exit_code == 2
    assert run("resolve", "people/alice", option, "--db", other).exit_code == 0
    assert run("push", "--db", other).exit_code == 0
    run("pull")
    keeps = (option == "--ours") == (deleted == "there")
    for db in ([], ["--db", other]):
        got = run("get", "people/alice", *db)
        assert ("milk" in got.stdout) == keeps
        assert got.exit_code == (0 if keeps else 1)


def test_sync_with_a_remote_exchanges_files(run, team: str, tmp_path: Path) -> None:
    notes, other = tmp_path / "notes", tmp_path / "other.db"
    notes.mkdir()
    (notes / "note.md").write_text("# Note\n")
    run("clone", team, other)
    run("import", notes, "--no-embed", "--db", other)
    done = run("sync", "--remote", "origin", "--no-embed", "--json", "--db", other)
    assert done.json["pushed"]["pushed"] == ["note"]
    assert run("sync", "--remote", "team", "--no-embed").exit_code == 0
    assert run("get", "note").stdout == "# Note\n"
    assert run("sync", "--remote", "team", "--watch").exit_code == 2
    assert run("sync", "--remote", "team", "--dry-run").exit_code == 2


def test_sync_names_a_conflict_once(run, team: str, tmp_path: Path) -> None:
    other, notes = tmp_path / "other.db", tmp_path / "notes"
    notes.mkdir()
    run("clone", team, other)
    run("put", "people/alice", stdin=PAGE.replace(b"tea", b"coffee"))
    run("put", "people/alice", "--db", other, stdin=PAGE.replace(b"tea", b"water"))
    run("push")
    done = run("sync", "--remote", "origin", "--no-embed", "--db", other)
    assert done.exit_code == 1
    assert done.stderr.count("in ways that do not merge") == 1
    again = run("sync", "--remote", "origin", "--no-embed", "--db", other)
    assert (again.exit_code, again.stderr.count("in ways that do not merge")) == (1, 1)


def test_sync_with_an_unknown_remote_imports_nothing(run, team: str, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    run("import", notes, "--no-embed")
    (notes / "note.md").write_text("# Note\n")
    assert run("sync", "--remote", "tame", "--json").error["code"] == "no_remote"
    assert run("get", "note").exit_code == 1


def test_pages_that_waited_are_not_pushed_without_a_word(
    run, team: str, monkeypatch: pytest.MonkeyPatch, has_pgvector: bool
) -> None:
    run("get", "people/alice", "--db", team)
    with monkeypatch.context() as patch:
        patch.setattr(psycopg, "connect", _refuse)
        run("put", "offline", "--db", team, stdin=b"# Off\n")
    vector = " 1 vector." * has_pgvector
    pushed = f"Pushed to origin: 1 page.{vector}\n"
    assert run("get", "people/alice", "--db", team).stderr == pushed
    assert run("get", "people/alice", "--db", team).stderr == ""


def test_a_shared_part_is_remembered_and_said(run, brain_path: Path, server_url: str) -> None:
    for slug in ("projects/a", "private/b"):
        run("put", slug, "--db", brain_path, stdin=b"# T\n")
    run("remote", "add", "team", server_url)
    done = run("push", "--slug-prefix", "projects/")
    assert "Shared: slugs projects/…. gbrain push --all shares the rest." in done.stderr
    parts = run("remote", "list", "--json").json["remotes"][0]["parts"]
    assert parts == [{"wing": None, "slug_prefix": "projects/"}]
    assert run("push", "--json").json["pushed"] == []
    assert "There is no wing project; there " in run("push", "--wing", "project").stderr
    assert run("push", "--all", "--wing", "x").exit_code == 2
    assert run("push", "--all", "--json").json["pushed"] == ["private/b"]


# --- the URL as a brain ----------------------------------------------------------------------


def test_every_command_takes_a_url(run, team: str) -> None:
    assert run("get", "people/alice", "--db", team).stdout_bytes == PAGE
    assert run("search", "tea", "--db", team, "--json").json["results"][0]["slug"] == "people/alice"
    assert run("put", "new", f"--db={team}", stdin=b"# New\n").exit_code == 0
    assert run("pull", "--json").json["created"] == ["new"]
    run("put", "new", stdin=b"# Newer\n")
    run("push")
    assert run("get", "new", "--db", team).stdout == "# Newer\n"
    assert run("--db", team, "list", "--json").json["total"] == 2


def test_the_variable_takes_a_url(run, team: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GBRAIN_DB", team)
    assert run("get", "people/alice").stdout_bytes == PAGE
    monkeypatch.setenv("GBRAIN_DB", team)
    assert run("capture", "called", "--to", "people/alice").exit_code == 0
    with psycopg.connect(team) as connection:
        [(content,)] = connection.execute("SELECT content FROM gbrain.pages").fetchall()
    assert "called" in content


def test_commands_on_a_url_leave_the_search_tables_complete(
    run, team: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gbrain.remotes.push._MAX_INDEXED_AT_ONCE", 1)
    (tmp_path / "notes").mkdir()
    for number in range(5):
        (tmp_path / "notes" / f"n{number}.md").write_text(f"# Note {number}\n")
    checked = run("put", "people/alice", "--expected-version", "1", "--db", team, stdin=b"# A\n")
    assert checked.exit_code == 0, checked.stderr
    done = run("import", tmp_path / "notes", "--db", team)
    assert done.exit_code == 0, done.stderr
    with SharedStore(team) as store:
        state = find_state(store)
    assert state
    assert (state.sequence, state.is_indexed) == (7, True)


def test_the_background_exchange_completes_what_another_left(
    run, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("list", "--db", team).exit_code == 0
    with SharedStore(team) as store, store.transaction() as cursor:
        discard_entries(cursor)
    assert shared_brain._exchange(team, replica_path(team)) == ""
    with SharedStore(team) as store:
        state = find_state(store)
    assert state
    assert state.is_indexed


def test_help_and_words_that_are_commands_need_no_care(run, team: str) -> None:
    assert run("search", "--help", "--db", team).exit_code == 0
    run("put", "x", stdin=b"# X\n\nclone push\n")
    run("push")
    # The query is the name of a command that does not pull.
    assert run("search", "clone", "--db", team, "--json").json["results"][0]["slug"] == "x"


def test_an_expected_version_is_checked_on_the_server(run, team: str) -> None:
    run("get", "people/alice", "--db", team)
    run("put", "people/alice", stdin=PAGE + b"- 2026-02-02: b\n")
    run("push")
    version = ["--expected-version", "1", "--db", team]
    late = run("put", "people/alice", *version, "--json", stdin=b"# Other\n")
    assert (late.exit_code, late.error["code"]) == (1, "version_conflict")
    assert run("delete", "people/alice", *version).exit_code == 1
    assert run("timeline-add", "people/alice", "c", *version).exit_code == 1
    version[1] = "2"
    assert run("timeline-add", "people/alice", "c", *version).exit_code == 0
    run("pull")
    assert run("get", "people/alice", "--json").json["version"] == 3


def test_a_change_between_reading_and_writing_is_refused(
    run, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another machine writes after our pull: the server's own check must notice."""
    run("get", "people/alice", "--db", team)
    from gbrain.remotes import push as push_module

    original = push_module.push_written_page

    def write_meanwhile(*arguments):
        monkeypatch.setattr(push_module, "push_written_page", original)
        run("put", "people/alice", stdin=PAGE + b"- 2026-02-02: meanwhile\n")
        run("push")
        return original(*arguments)

    monkeypatch.setattr(push_module, "push_written_page", write_meanwhile)
    late = run(
        "put", "people/alice", "--expected-version", "1", "--db", team, "--json", stdin=b"# O\n"
    )
    assert (late.exit_code, late.error["code"]) == (1, "version_conflict")
    assert run("get", "people/alice", "--db", team).stdout.endswith("meanwhile\n")
    assert "# O" not in run("history", "people/alice", "--db", team).stdout
    with psycopg.connect(team) as connection:
        found = connection.execute("SELECT content FROM gbrain.pages").fetchall()
    assert "meanwhile" in found[0][0]


def test_reads_without_the_server_say_how_old_they_are(
    run, team: str, offline: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    run("get", "people/alice", "--db", team)
    offline()
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-16T15:10:00")
    got = run("get", "people/alice", "--db", team)
    assert (got.exit_code, got.stdout_bytes) == (0, PAGE)
    assert "last pulled 3 hours ago" in got.stderr
    assert "wait" not in got.stderr


def test_writes_without_the_server_wait_and_are_pushed_later(
    run, team: str, offline: Callable[[], None], monkeypatch: pytest.MonkeyPatch, has_pgvector: bool
) -> None:
    run("get", "people/alice", "--db", team)
    with monkeypatch.context() as patch:
        patch.setattr(psycopg, "connect", _refuse)
        waiting = run("put", "offline", "--db", team, stdin=b"# Off\n")
        assert waiting.exit_code == 0
        assert "1 changed page waits to be pushed: gbrain push --db" in waiting.stderr
        checked = run("put", "x", "--expected-version", "0", "--db", team, stdin=b"# X\n")
        assert checked.exit_code == 1
        assert "cannot be checked" in checked.stderr
        assert run("get", "x", "--db", team).exit_code == 1
    vector = " 1 vector." * has_pgvector
    assert run("push", "--db", team).stderr == f"Pushed to origin: 1 page.{vector}\n"
    assert run("pull", "--json").json["created"] == ["offline"]


def _refuse(*arguments, **options):
    raise psycopg.OperationalError("connection failed: Connection refused")


def test_there_is_no_fall_back_to_an_empty_brain(
    run, server_url: str, offline: Callable[[], None], brain_path: Path
) -> None:
    for words in (("search", "x"), ("put", "x"), ("list",)):
        assert run(*words, "--db", server_url, "--json").error["code"] == "no_shared_brain"
    offline()
    for words in (("search", "x"), ("put", "x"), ("list",), ("push",)):
        assert run(*words, "--db", server_url, "--json").error["code"] == "unreachable"
    assert not replica_path(server_url).exists()
    assert not brain_path.exists()


def test_a_refused_login_is_an_error_and_not_an_old_answer(
    run, team: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("get", "people/alice", "--db", team)

    def refuse(*arguments, **options):
        raise psycopg.OperationalError("connection failed: FATAL:  password authentication failed")

    monkeypatch.setattr(psycopg, "connect", refuse)
    got = run("get", "people/alice", "--db", team, "--json")
    assert (got.exit_code, got.error["code"]) == (1, "refused")


def test_the_library_explains_how_to_use_a_url() -> None:
    from gbrain.errors import UsageError

    with pytest.raises(UsageError, match="URL cannot be used here"):
        Brain.open("postgresql://host/db")


# --- secrets ---------------------------------------------------------------------------------

SECRET = "hunter22x"


@pytest.mark.parametrize(
    "words",
    [
        ("remote", "add", "team", f"postgresql://me:{SECRET}@host/db"),
        ("remote", "add", "team", f"postgresql://host/db?password={SECRET}"),
        ("remote", "add", "team", f"postgresql://me:{SECRET}@host/db", "extra"),
        ("remote", "add", f"postgresql://me:{SECRET}@host/db"),
        ("remote", "add", f"postgresql://me:{SECRET}@host/db", "team"),
        ("clone", f"postgresql://me:{SECRET}@host/db"),
        ("search", "x", "--db", f"postgresql://me:{SECRET}@host/db"),
        ("search", "x", f"--db=postgresql://me:{SECRET}@host/db", "--no-such-option"),
        ("push", f"postgresql://me:{SECRET}@host/db"),
        ("pull", f"postgresql://me:{SECRET}@host/db"),
        ("sync", "--remote", f"postgresql://me:{SECRET}@host/db"),
        (f"postgresql://me:{SECRET}@host/db",),
        ("remote", "add", "team", f"postgresql//me:{SECRET}@host/db"),
        ("remote", "add", "team", f"postgres:/me:{SECRET}@host/db"),
        ("clone", f"postgresql+psycopg://me:{SECRET}@host/db"),
        ("search", "x", "--db", f"postgresql+psycopg://me:{SECRET}@host/db"),
        ("capture", "x", "--db", f" postgresql://me:{SECRET}@host/db"),
        ("capture", "x", "--db", f"mysql://me:{SECRET}@host/db"),
        ("capture", "x", "--db", f"postgres:/me:{SECRET}@host/db"),
    ],
)
@pytest.mark.parametrize("json", [[], ["--json"]])
def test_no_password_is_shown_or_stored(
    run,
    brain: Brain,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    json: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*words, *json)
    assert done.exit_code in (1, 2)
    assert SECRET not in done.stdout + done.stderr
    assert done.stderr
    for file in tmp_path.rglob("*"):
        assert SECRET not in str(file)
        if file.is_file():
            assert SECRET.encode() not in file.read_bytes()


def test_the_password_of_the_environment_is_never_stored(
    run,
    brain_path: Path,
    tmp_path: Path,
    postgres_server: Server,
    new_database: Callable[[], str],
) -> None:
    if not postgres_server.password:
        pytest.skip("this server asks for no password")
    url = postgres_server.url(new_database())
    run("put", "x", "--db", brain_path, stdin=b"# X\n")
    shown = [
        run("remote", "add", "team", url),
        run("push", "--json"),
        run("remote", "list"),
        run("remote", "status", "--json"),
        run("search", "x", "--db", url),
    ]
    assert [each.exit_code for each in shown] == [0] * 5
    assert not any(postgres_server.password in each.stdout + each.stderr for each in shown)
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert postgres_server.password.encode() not in file.read_bytes()


def test_a_crafted_brain_with_a_password_shows_none(run, brain: Brain, brain_path: Path) -> None:
    brain.add_remote("team", "postgresql://host/db")
    with closing(sqlite3.connect(brain_path)) as raw, raw:
        raw.execute("UPDATE remotes SET url = ?", (f"postgresql://me:{SECRET}@host/db",))
    for words in (
        ("remote", "list"),
        ("remote", "status"),
        ("push",),
        ("pull",),
        ("clone", "team", "x.db"),
    ):
        for json_option in ([], ["--json"]):
            done = run(*words, *json_option)
            assert SECRET not in done.stdout + done.stderr


def test_a_replica_is_connected_to_its_own_server_only(
    run, team: str, postgres_server: Server, new_database: Callable[[], str]
) -> None:
    assert run("list", "--db", team).exit_code == 0
    other = postgres_server.socket_url(new_database())
    refused = run("remote", "add", "other", other, "--db", team)
    assert refused.exit_code == 2
    assert "gbrain clone" in refused.stderr
    assert run("list", "--db", team).exit_code == 0


def test_a_replica_of_a_restored_store_is_connected_again_as_the_hint_says(run, team: str) -> None:
    run("put", "new", "--db", team, stdin=b"# New\n")
    with psycopg.connect(team) as connection:
        connection.execute("DELETE FROM gbrain.pages WHERE slug = 'new'")
        connection.execute("UPDATE gbrain.state SET sequence = 1")
    failed = run("list", "--db", team, "--json")
    assert failed.error["code"] == "older_shared_brain"
    assert f"gbrain remote remove origin --db {team}, then" in failed.error["hint"]
    assert f"gbrain remote add origin {team} --db {team}." in failed.error["hint"]
    assert run("remote", "remove", "origin", "--db", team).exit_code == 0
    assert run("remote", "add", "origin", team, "--db", team).exit_code == 0
    assert run("get", "new", "--db", team).exit_code == 0
    assert run("pull", "--json").json["created"] == ["new"]


# --- a team ----------------------------------------------------------------------------------


@pytest.fixture
def reader_url(
    postgres_server: Server, new_database: Callable[[], str], run, brain_path: Path
) -> str:
    """Return the URL of a reader of a shared brain that this test's brain owns."""
    if postgres_server.socket is None:
        pytest.skip("roles without a password can log in through a socket only")
    database = new_database()
    url = postgres_server.socket_url(database)
    run("put", "people/alice", "--db", brain_path, stdin=PAGE)
    run("remote", "add", "team", url)
    run("push")
    reader, writer = f"{database}_reader", f"{database}_writer"
    sql = run("remote", "roles", "--reader", reader, "--writer", writer).stdout
    assert sql == role_sql(reader, writer)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())
        connection.execute(f"ALTER ROLE {reader} LOGIN".encode())
    yield postgres_server.socket_url(database, user=reader)
    for role in (reader, writer):
        postgres_server.execute(f"DROP OWNED BY {role}", database)
        postgres_server.execute(f"DROP ROLE {role}")


def test_a_reader_clones_pulls_and_asks_but_cannot_push(
    run, reader_url: str, tmp_path: Path
) -> None:
    own = tmp_path / "reader.db"
    assert run("clone", reader_url, own).exit_code == 0
    # The vectors of chunks that were embedded here are no reason to fail.
    assert run("embed", "--db", own).exit_code == 0
    assert run("push", "--db", own).exit_code == 0
    run("capture", "called", "--to", "people/alice")
    run("push")
    assert run("pull", "--json", "--db", own).json["updated"] == ["people/alice"]
    assert run("search", "tea", "--db", reader_url).exit_code == 0
    run("put", "people/alice", "--db", own, stdin=b"# Vandal\n")
    refused = run("push", "--db", own, "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "refused")
    assert "writer" in refused.error["hint"]
    assert run("pull", "--json").json["updated"] == []


@pytest.mark.parametrize(
    "words",
    [
        ("put", "people/alice"),
        ("put", "new"),
        ("capture", "thought", "--to", "people/alice"),
        ("capture", "thought"),
        ("delete", "people/alice"),
        ("rename", "people/alice", "people/bob"),
        ("timeline-add", "people/alice", "thought"),
        ("edit", "people/alice"),
        ("undo", "people/alice"),
        ("import", "notes", "--no-embed"),
    ],
    ids=" ".join,
)
def test_a_reader_who_writes_is_told_and_nothing_is_written(
    run, reader_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EDITOR", "sh -c 'echo thought >> \"$0\"'")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thought.md").write_text("# Thought\n")
    # The first command has no replica yet, the second has one.
    for _ in range(2):
        written = run(*words, "--db", reader_url, "--json", stdin=b"# thought\n")
        assert (written.exit_code, written.error["code"]) == (1, "refused")
        assert "You may only read" in written.error["message"]
    got = run("get", "people/alice", "--db", reader_url)
    assert (got.exit_code, got.stdout_bytes, got.stderr) == (0, PAGE, "")
    assert run("list", "--db", reader_url, "--json").json["total"] == 1


def test_a_reader_keeps_settings_and_results_in_the_replica(run, reader_url: str) -> None:
    assert run("config", "set", "chunk_k", "7", "--db", reader_url).exit_code == 0
    assert run("config", "get", "chunk_k", "--db", reader_url).stdout == "7\n"
    assert run("query", "tea", "--db", reader_url).exit_code == 0
    assert run("embed", "--db", reader_url).exit_code == 0
    assert run("get", "people/alice", "--db", reader_url).stderr == ""


def test_what_a_reader_wrote_without_the_server_can_be_taken_back(
    run, reader_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("get", "people/alice", "--db", reader_url)
    with monkeypatch.context() as patch:
        patch.setattr(psycopg, "connect", _refuse)
        for text in ("thought", "another"):
            run("capture", text, "--to", "people/alice", "--db", reader_url)
        assert run("put", "new", "--db", reader_url, stdin=b"# New\n").exit_code == 0
    got = run("get", "people/alice", "--db", reader_url)
    assert got.exit_code == 0
    assert "thought" in got.stdout
    assert "2 changed pages stay on this computer" in got.stderr
    assert f"gbrain undo new --db {reader_url}" in got.stderr
    assert run("undo", "new", "--db", reader_url).exit_code == 0
    for waiting in (1, 0):
        undone = run("undo", "people/alice", "--db", reader_url)
        assert undone.exit_code == 0
        assert ("1 changed page stays on this computer" in undone.stderr) == bool(waiting)
    got = run("get", "people/alice", "--db", reader_url)
    assert (got.stdout_bytes, got.stderr) == (PAGE, "")


def test_a_server_that_takes_no_writes_is_one_to_read_from(run, team: str, tmp_path: Path) -> None:
    """A standby, or a role or database whose transactions are read-only."""
    url = f"{team}?options=-cdefault_transaction_read_only%3Don"
    written = run("put", "new", "--db", url, "--json", stdin=b"# New\n")
    assert (written.exit_code, written.error["code"]) == (1, "refused")
    assert "You may only read" in written.error["message"]
    own = tmp_path / "own.db"
    run("clone", url, own)
    run("put", "new", "--db", own, stdin=b"# New\n")
    refused = run("push", "--db", own, "--json")
    assert (refused.exit_code, refused.error["code"]) == (1, "refused")


def test_a_server_without_the_extra_is_explained(
    run, brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain.add_remote("team", "postgresql:///db")
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    done = run("pull", "--json")
    assert done.error["code"] == "no_driver"
    assert "gbrain[postgres]" in done.error["hint"]


def test_json_documents_end_with_one_line(run, team: str) -> None:
    for words in (("push",), ("pull",), ("remote",), ("remote", "status")):
        lines = run(*words, "--json").stdout.splitlines()
        assert len(lines) == 1
        json.loads(lines[0])


def test_timeouts_are_finite() -> None:
    assert 0 < connection_module.CONNECT_SECONDS <= 10
