"""Two machines push and pull: what travels, what does not, and what happens to pages and files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from gbrain.brain import Brain
from gbrain.brain.remotes import StepProgress
from gbrain.errors import GbrainError, NotFound, UsageError
from gbrain.shared_brain import SharedBrain
from gbrain.store.postgres.connection import SharedStore
from gbrain.store.postgres.schema import find_state, role_sql
from gbrain.types import no_progress

if TYPE_CHECKING:
    from postgres_server import Server

PAGE = b"# Alice\n\nLikes tea.\n\n## Timeline\n\n- 2026-01-05: met\n"


def rows(url: str, statement: str) -> list[tuple]:
    with SharedStore(url) as store, store.transaction() as cursor:
        return cursor.execute(statement).fetchall()


def test_pages_arrive_with_path_version_and_text(a: Brain, b: Brain) -> None:
    a.put("People/Alice Chen.md", PAGE)
    a.put("people/alice-chen", PAGE + b"- 2026-02-01: called\n")
    assert a.push().pushed == ["people/alice-chen"]
    assert b.pull().created == ["people/alice-chen"]
    here, there = a.get("people/alice-chen"), b.get("people/alice-chen")
    assert (there.path, there.version) == ("People/Alice Chen.md", 2)
    assert b.text("people/alice-chen") == a.text("people/alice-chen")
    assert here.version == there.version


def test_nothing_is_pushed_or_pulled_twice(a: Brain, b: Brain) -> None:
    a.put("x", b"# X\n")
    a.push()
    assert a.push().pushed == []
    assert a.pull().changed == []
    b.pull()
    assert b.pull().changed == []
    assert b.push().pushed == []


def test_edits_travel_both_ways_and_version_numbers_agree(a: Brain, b: Brain) -> None:
    a.put("x", b"# X\n")
    a.push()
    b.pull()
    for n in range(3):
        b.put("x", b"# X\n\nb%d\n" % n)
        b.push()
        assert a.pull().updated == ["x"]
        a.put("x", b"# X\n\na%d\n" % n)
        a.push()
        assert b.pull().updated == ["x"]
        assert a.get("x").version == b.get("x").version == 3 + 2 * n


def test_a_deletion_travels_and_the_text_stays_in_versions(
    a: Brain, b: Brain, server_url: str
) -> None:
    a.put("x", b"# X\n\nkeep me\n")
    a.push()
    b.pull()
    a.delete("x")
    assert a.push().deleted == ["x"]
    assert b.pull().deleted == ["x"]
    assert b.find("x") is None
    assert [version.ending for version in b.history("x")] == ["deleted"]
    assert rows(server_url, "SELECT content FROM gbrain.versions") == [("# X\n\nkeep me\n",)]
    assert rows(server_url, "SELECT deleted, content FROM gbrain.pages") == [(True, "")]


def test_a_deleted_page_can_come_back(a: Brain, b: Brain) -> None:
    a.put("x", b"# X\n")
    a.push()
    b.pull()
    b.delete("x")
    b.push()
    a.pull()
    a.put("x", b"# X again\n")
    assert a.push().pushed == ["x"]
    assert b.pull().created == ["x"]
    assert b.text("x") == "# X again\n"
    assert a.get("x").version == b.get("x").version


def test_a_rename_arrives_as_a_page_under_its_new_name(a: Brain, b: Brain) -> None:
    a.put("old", PAGE)
    a.push()
    b.pull()
    a.rename("old", "new")
    report = a.push()
    assert (report.pushed, report.deleted) == (["new"], ["old"])
    b.pull()
    assert b.find("old") is None
    assert b.text("new") == PAGE.decode()


def test_every_acknowledged_text_is_in_the_store(a: Brain, server_url: str) -> None:
    texts = [f"# X\n\ntext {n}\n" for n in range(5)]
    for text in texts:
        a.put("x", text.encode())
        a.push()
    found = rows(
        server_url,
        "SELECT content FROM gbrain.versions UNION ALL SELECT content FROM gbrain.pages",
    )
    assert sorted(found) == sorted((text,) for text in texts)


def test_the_author_is_the_role_and_the_machine(a: Brain, server_url: str) -> None:
    a.put("x", b"# X\n")
    a.push()
    [(author, role)] = rows(server_url, "SELECT author, session_user FROM gbrain.pages")
    assert author.startswith(f"{role}@")
    assert len(author) > len(role) + 1


@pytest.mark.usefixtures("pgvector")
def test_vectors_travel_so_that_nobody_embeds_twice(a: Brain, b: Brain) -> None:
    a.put("x", PAGE)
    a.embed()
    assert a.push().vectors == 2
    assert b.pull().vectors == 2
    assert b.backlog().waiting == 0
    assert b.query("tea").hits[0].slug == "x"
    with a.database.read_transaction() as one, b.database.read_transaction() as other:
        select = "SELECT hash, vector FROM page_embeddings_vec_384 ORDER BY hash"
        assert one.execute(select).fetchall() == other.execute(select).fetchall()
    assert b.push().vectors == 0


@pytest.mark.usefixtures("pgvector")
def test_vectors_that_come_later_are_pulled_too(a: Brain, b: Brain) -> None:
    # More than a push embeds.
    a.put("x", PAGE + b"".join(b"- 2026-01-06: said %d\n" % number for number in range(20)))
    assert a.push().vectors == 0
    b.pull()
    assert b.backlog().waiting == 22
    a.embed()
    assert a.push().vectors == 22
    assert b.pull().vectors == 22
    assert b.backlog().waiting == 0


@pytest.mark.usefixtures("pgvector")
def test_a_push_embeds_what_was_just_written(a: Brain, b: Brain) -> None:
    a.put("x", PAGE)
    assert a.push().vectors == 2
    assert b.pull().vectors == 2
    assert b.backlog().waiting == 0


@pytest.mark.usefixtures("pgvector")
def test_vectors_travel_once_the_server_has_pgvector(a: Brain, b: Brain, server_url: str) -> None:
    a.put("x", PAGE)
    a.embed()
    a.push()
    # As if the server had been set up without it.
    with psycopg.connect(server_url) as connection:
        connection.execute("DROP TABLE gbrain.vectors; DROP EXTENSION vector")
        connection.execute("UPDATE gbrain.state SET vector_sequence = 0")
    with a.database.write_transaction() as connection:
        connection.execute("UPDATE remote_pages SET vectors = 0")
    assert b.pull().vectors == 0
    assert a.push().vectors == 2
    assert b.pull().vectors == 2
    assert b.query("tea").hits[0].slug == "x"


@pytest.mark.usefixtures("pgvector")
def test_roles_may_use_a_table_of_vectors_that_comes_later(
    a: Brain, b: Brain, server_url: str, postgres_server: Server
) -> None:
    if postgres_server.socket is None:
        pytest.skip("roles without a password can log in through a socket only")
    a.put("x", PAGE)
    a.embed()
    a.push()
    database = server_url.rpartition("/")[2]
    reader, writer = f"{database} r", f"{database} w"
    urls = [
        postgres_server.socket_url(database, user=role.replace(" ", "%20"))
        for role in (reader, writer)
    ]
    with psycopg.connect(server_url, autocommit=True) as connection:
        # As in a hardened database.
        connection.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
        connection.execute(role_sql(reader, writer).encode())
        for role in (reader, writer):
            connection.execute(f'ALTER ROLE "{role}" LOGIN'.encode())
        connection.execute("DROP TABLE gbrain.vectors")
    try:
        # A writer goes on without, and is told why.
        b.add_remote("team", urls[1])
        b.put("y", b"# Y\n\ncats\n")
        b.embed()
        assert (report := b.push()).pushed == ["y"]
        assert report.vectors == 0
        assert any("vectors are not shared yet" in each for each in b.remote_status().problems)
        with a.database.write_transaction() as connection:
            connection.execute("UPDATE remote_pages SET vectors = 0")
        assert a.push().vectors == 2
        assert b.remote_status().problems == ()
        assert b.push().vectors == 1
        b.add_remote("team", urls[0])
        assert b.pull().vectors == 2
        with psycopg.connect(urls[0], autocommit=True) as connection:
            found = connection.execute("SELECT count(*) FROM gbrain.vectors").fetchone()
            assert found == (3,)
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute("DELETE FROM gbrain.vectors")
    finally:
        for role in (reader, writer):
            postgres_server.execute(f'DROP OWNED BY "{role}"', database)
            postgres_server.execute(f'DROP ROLE "{role}"')


def test_settings_questions_and_use_never_travel(a: Brain, b: Brain, server_url: str) -> None:
    a.put("x", b"# X\n\nriver\n")
    a.set("chunk_k", "7")
    a.set("record_queries", "true")
    a.add_alias("brook", ["river"])
    a.search("private question about a river")
    a.push()
    b.pull()
    assert b.stored_settings == {}
    with b.database.read_transaction() as connection:
        for table in ("questions", "page_use", "query_aliases", "last_answer"):
            assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    tables = rows(
        server_url, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'gbrain'"
    )
    assert tables
    for (table,) in tables:
        with psycopg.connect(server_url) as connection:
            found = connection.execute(f"SELECT t::text FROM gbrain.{table} AS t").fetchall()
        assert not any("private question" in row[0] or "chunk_k" in row[0] for row in found)


def recorder(step: str, seen: list[tuple[int, int]]) -> StepProgress:
    """Return progress that records (done, total) of one step."""

    def record(done: int, total: int) -> None:
        seen.append((done, total))

    return lambda name: nullcontext(record if name == step else no_progress)


@pytest.fixture
def large_push(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each push add its pages to the search tables afterwards, as one of 620 pages does."""
    monkeypatch.setattr("gbrain.remotes.push._MAX_INDEXED_AT_ONCE", 0)


def is_indexed(url: str) -> bool:
    with SharedStore(url) as store:
        state = find_state(store)
        assert state
        assert state.sequence
        return state.is_indexed


@pytest.mark.usefixtures("large_push")
def test_every_way_to_push_completes_the_search_tables(a: Brain, b: Brain, server_url: str) -> None:
    a.put("one", b"# One\n")
    a.push()
    assert is_indexed(server_url)
    b.exchange()
    b.put("two", b"# Two\n")
    with b.contact() as contact:
        b.exchange(contact=contact)
    assert is_indexed(server_url)


@pytest.mark.usefixtures("large_push")
def test_a_push_that_was_stopped_before_indexing_is_completed_by_the_next(
    a: Brain, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    a.put("one", b"# One\n")

    def stop(report: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        a.exchange(after_push=stop, pull=False)
    assert not is_indexed(server_url)
    assert a.push().pushed == []
    assert is_indexed(server_url)


def test_many_pages_travel_in_several_batches(
    a: Brain, b: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gbrain.remotes.push._BATCH_PAGES", 7)
    monkeypatch.setattr("gbrain.remotes.pull._BATCH_PAGES", 5)
    slugs = sorted(f"p/{n}" for n in range(23))
    for slug in slugs:
        a.put(slug, f"# {slug}\n".encode())
    seen: list[tuple[int, int]] = []
    a.exchange(pull=False, progress=recorder("Pushing", seen))
    assert seen[-1] == (23, 23)
    assert [done for done, _ in seen] == [0, 7, 14, 21, 23]
    seen.clear()
    b.exchange(push=False, progress=recorder("Pulling", seen))
    assert seen == [(0, 23), (5, 23), (10, 23), (15, 23), (20, 23), (23, 23)]
    assert [page.slug for page in b.list()[0]] == slugs


def test_batches_are_bounded_by_their_bytes(
    a: Brain, b: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gbrain.remotes.push._BATCH_BYTES", 1000)
    monkeypatch.setattr("gbrain.remotes.pull._BATCH_BYTES", 1000)
    for n in range(5):
        a.put(f"p/{n}", b"# P\n\n" + b"word " * 150)
    seen: list[tuple[int, int]] = []
    a.exchange(pull=False, progress=recorder("Pushing", seen))
    assert [done for done, _ in seen] == [0, 1, 2, 3, 4, 5]
    seen.clear()
    b.exchange(push=False, progress=recorder("Pulling", seen))
    assert [done for done, _ in seen] == [0, 2, 4, 5]
    assert len(b.list()[0]) == 5


def test_all_copies_of_a_brain_give_the_same_answer(a: Brain, b: Brain, server_url: str) -> None:
    # Here later pages have higher numbers; the push is ordered by slug.
    for number in reversed(range(12)):
        text = f"# Note\n\nThe river and the boat.\n\n- 2026-01-05: met {number % 3} people\n"
        a.put(f"p/{number:02}", text.encode())
    a.push()
    a.add_to_timeline("p/03", "sailed the boat", date="2026-02-02")
    a.push()
    b.pull()
    compared = 0
    with SharedBrain.open_shared(server_url) as shared:
        for text in ("river boat", "met people", "who sailed"):
            answers = [brain.query(text, mode="bm25", depth="auto") for brain in (a, b, shared)]
            lines = [[(one.slug, one.lines) for one in each.context or ()] for each in answers]
            assert lines[0] == lines[1] == lines[2]
            found = [[(hit.slug, round(hit.score, 3)) for hit in each.hits] for each in answers]
            assert found[0] == found[1] == found[2]
            compared += len(lines[0])
    assert compared > 12


# --- a part of the brain ---------------------------------------------------------------------


def test_a_wing_can_be_shared_alone(a: Brain, b: Brain) -> None:
    a.put("projects/apollo", b"# Apollo\n")
    a.put("journal/today", b"# Private\n")
    wing = a.get("projects/apollo").wing
    assert a.push(wing=wing).pushed == ["projects/apollo"]
    # A later push without the option must not share the rest.
    a.put("journal/more", b"# More\n")
    a.put("projects/gemini", b"# Gemini\n")
    assert a.push().pushed == ["projects/gemini"]
    b.pull()
    assert [page.slug for page in b.list()[0]] == ["projects/apollo", "projects/gemini"]
    assert a.push(everything=True).pushed == ["journal/more", "journal/today"]
    a.put("journal/last", b"# Last\n")
    assert a.push().pushed == ["journal/last"]


def test_a_second_part_is_added_to_the_first(a: Brain) -> None:
    for slug in ("one/a", "two/a", "three/a"):
        a.put(slug, b"# T\n")
    assert a.push(slug_prefix="one/").pushed == ["one/a"]
    assert a.push(slug_prefix="two/").pushed == ["two/a"]
    for slug in ("one/b", "two/b", "three/b"):
        a.put(slug, b"# T\n")
    assert a.push().pushed == ["one/b", "two/b"]


def test_a_prefix_limits_one_push_of_a_brain_that_is_shared_as_a_whole(a: Brain) -> None:
    a.put("one/a", b"# T\n")
    a.push()
    a.put("one/b", b"# T\n")
    a.put("two/b", b"# T\n")
    a.delete("one/a")
    report = a.push(slug_prefix="two/")
    assert (report.pushed, report.deleted) == (["two/b"], [])
    report = a.push()
    assert (report.pushed, report.deleted) == (["one/b"], ["one/a"])


def test_a_shared_page_is_pushed_after_it_left_the_part_and_deleted_if_renamed(
    a: Brain,
) -> None:
    a.put("projects/x", b"---\nwing: projects\n---\n# X\n")
    a.push(wing="projects")
    a.put("projects/x", b"---\nwing: journal\n---\n# X\n")
    assert a.push().pushed == ["projects/x"]
    a.rename("projects/x", "journal/x")
    report = a.push()
    assert (report.pushed, report.deleted) == ([], ["projects/x"])


def test_edits_of_pulled_pages_are_pushed_whatever_part_is_shared(a: Brain, b: Brain) -> None:
    a.put("theirs/x", b"# X\n")
    a.push()
    b.put("mine/y", b"# Y\n")
    b.put("private/z", b"# Z\n")
    assert b.push(slug_prefix="mine/").pushed == ["mine/y"]
    b.pull()
    b.put("theirs/x", b"# X\n\nmore\n")
    assert b.push().pushed == ["theirs/x"]


@pytest.mark.usefixtures("pgvector")
def test_vectors_of_pages_that_are_not_shared_stay_here(a: Brain, server_url: str) -> None:
    a.put("shared/x", b"# X\n\ncats\n")
    a.put("private/y", b"# Y\n\ndogs\n")
    a.embed()
    a.push(slug_prefix="shared/")
    assert rows(server_url, "SELECT count(*) FROM gbrain.vectors") == [(1,)]


# --- remotes of a brain ----------------------------------------------------------------------


def test_a_url_with_a_password_is_not_stored(brain: Brain) -> None:
    with pytest.raises(UsageError, match="contains a password"):
        brain.add_remote("team", "postgresql://me:hunter22@host/db")
    assert brain.remotes() == []


def test_a_brain_from_elsewhere_cannot_choose_where_pages_go(
    a: Brain, server_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    a.put("x", b"# X\n")
    for use in (a.push, a.pull):
        with pytest.raises(GbrainError, match="not added on this computer") as raised:
            use()
        assert "gbrain remote add team" in raised.value.hint
    assert a.add_remote("team", server_url) is False
    assert a.push().pushed == ["x"]


def test_no_remote_and_several_remotes_are_explained(
    brain: Brain, server_url: str, new_database: Callable[[], str], postgres_server: Server
) -> None:
    with pytest.raises(NotFound, match="has no remote"):
        brain.push()
    brain.add_remote("one", server_url)
    brain.add_remote("two", postgres_server.socket_url(new_database()))
    with pytest.raises(GbrainError, match="several remotes: one, two"):
        brain.push()
    brain.put("x", b"# X\n")
    assert brain.push("one").pushed == brain.push("two").pushed == ["x"]


def test_pulling_from_an_empty_database_says_so(a: Brain) -> None:
    with pytest.raises(GbrainError, match="no shared brain") as raised:
        a.pull()
    assert raised.value.code == "no_shared_brain"


def test_another_shared_brain_at_the_same_address_is_refused(a: Brain, server_url: str) -> None:
    a.put("x", b"# X\n")
    a.push()
    with psycopg.connect(server_url) as connection:
        connection.execute("UPDATE gbrain.state SET identity = 'another'")
    for use in (a.push, a.pull):
        with pytest.raises(GbrainError, match="another shared brain"):
            use()


def test_a_dropped_shared_brain_is_not_replaced_by_a_new_one(a: Brain, server_url: str) -> None:
    a.put("x", b"# X\n")
    a.push()
    with psycopg.connect(server_url) as connection:
        connection.execute("DROP SCHEMA gbrain CASCADE")
    with pytest.raises(GbrainError) as raised:
        a.push()
    assert raised.value.code == "other_shared_brain"


def test_a_store_restored_from_a_backup_is_noticed(a: Brain, server_url: str) -> None:
    for text in (b"# X\n", b"# X\n\nmore\n"):
        a.put("x", text)
        a.push()
    a.pull()
    with psycopg.connect(server_url) as connection:
        connection.execute("UPDATE gbrain.state SET sequence = 1")
    with pytest.raises(GbrainError, match="restored from a backup"):
        a.pull()
    # Connecting again compares all pages and loses none.
    a.remove_remote("team")
    a.add_remote("team", server_url)
    a.pull()
    assert a.text("x") == "# X\n\nmore\n"


@pytest.mark.parametrize("later", [1, 2, 5], ids=["fewer", "as many", "more"])
def test_a_restored_store_is_noticed_after_others_wrote_to_it(
    a: Brain, b: Brain, server_url: str, later: int
) -> None:
    a.put("x", b"# X\n")
    a.push()
    b.pull()
    backup = {
        table: rows(server_url, f"SELECT * FROM gbrain.{table}")
        for table in ("state", "pages", "versions")
    }
    for text in (b"# X\n\nmore\n", b"# X\n\nmost\n"):
        a.put("x", text)
        a.push()
    with psycopg.connect(server_url) as connection, connection.cursor() as cursor:
        for table, saved in backup.items():
            cursor.execute(f"DELETE FROM gbrain.{table}")
            for row in saved:
                places = ", ".join(["%s"] * len(row))
                cursor.execute(f"INSERT INTO gbrain.{table} VALUES ({places})", row)
    for number in range(later):
        b.put(f"y{number}", b"# Y\n")
        b.push()
    for use in (a.pull, a.push):
        with pytest.raises(GbrainError, match="restored from a backup") as raised:
            use()
        assert raised.value.code == "older_shared_brain"
    a.remove_remote("team")
    a.add_remote("team", server_url)
    a.pull()
    assert a.push().pushed == ["x"]
    b.pull()
    assert b.text("x") == "# X\n\nmost\n"
    assert [page.slug for page in a.list()[0]] == [page.slug for page in b.list()[0]]


def test_versions_that_the_owner_removes_are_no_restored_store(
    a: Brain, b: Brain, server_url: str
) -> None:
    a.put("x", b"# X\n")
    a.push()
    b.pull()
    a.put("x", b"# X\n\nmore\n")
    a.push()
    with psycopg.connect(server_url) as connection:
        connection.execute("DELETE FROM gbrain.versions")
    assert b.pull().updated == ["x"]


def test_a_removed_remote_leaves_the_pages(a: Brain, server_url: str) -> None:
    a.put("x", b"# X\n")
    a.push()
    a.put("y", b"# Y\n")
    assert a.remove_remote("team") == 1
    assert a.remotes() == []
    assert [page.slug for page in a.list()[0]] == ["x", "y"]
    a.add_remote("team", server_url)
    assert a.push().pushed == ["y"]


def test_status_counts_what_waits(a: Brain, b: Brain) -> None:
    a.put("x", b"# X\n")
    a.push()
    b.pull()
    a.put("y", b"# Y\n")
    a.put("z", b"# Z\n")
    a.push()
    b.put("w", b"# W\n")
    status = b.remote_status()
    assert (status.to_push, status.to_pull, status.conflicts) == (1, 2, [])
    assert status.error is None


# --- files -----------------------------------------------------------------------------------


def test_pulled_pages_are_written_to_the_folder_of_new_pages(
    a: Brain, b: Brain, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    b.add_folder(notes)
    a.put("People/Alice.md", PAGE)
    a.push()
    b.pull()
    file = notes / "People" / "Alice.md"
    assert file.read_bytes() == PAGE
    a.put("people/alice", PAGE + b"- 2026-03-03: more\n")
    a.push()
    b.pull()
    assert file.read_bytes().endswith(b"- 2026-03-03: more\n")
    a.delete("people/alice")
    a.push()
    b.pull()
    assert not file.exists()


def test_a_file_that_was_edited_is_merged_with_what_is_pulled(
    a: Brain, b: Brain, tmp_path: Path
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    b.add_folder(notes)
    a.put("alice", PAGE)
    a.push()
    b.pull()
    file = notes / "alice.md"
    file.write_bytes(PAGE.replace(b"tea", b"coffee"))
    a.put("alice", PAGE + b"- 2026-03-03: more\n")
    a.push()
    b.pull()
    both = PAGE.replace(b"tea", b"coffee") + b"- 2026-03-03: more\n"
    assert file.read_bytes() == both
    assert b.push().pushed == ["alice"]
    a.pull()
    assert a.text("alice").encode() == both


def test_folders_are_left_alone_unless_the_user_named_them_here(
    a: Brain, b: Brain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    b.add_folder(notes)
    a.put("alice", PAGE)
    a.push()
    monkeypatch.setattr(Brain, "is_known_folder", lambda self, root: False)
    b.pull()
    assert list(notes.iterdir()) == []
    assert b.text("alice").encode() == PAGE
