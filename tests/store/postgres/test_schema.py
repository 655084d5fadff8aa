"""The tables of a shared store, its sequence numbers, and the rights of readers and writers."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import psycopg
import pytest

from gbrain.errors import GbrainError
from gbrain.store.postgres.connection import Refused, SharedStore
from gbrain.store.postgres.schema import create_tables, find_state, lock_state, role_sql

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from postgres_server import Server


@pytest.fixture
def store(server_url: str) -> Iterator[SharedStore]:
    with SharedStore(server_url) as opened:
        yield opened


def test_an_empty_database_has_no_brain(store: SharedStore) -> None:
    assert find_state(store) is None


def test_tables_are_created_once(store: SharedStore) -> None:
    with store.transaction() as cursor:
        first = create_tables(cursor)
    with store.transaction() as cursor:
        assert create_tables(cursor) == first
    assert find_state(store) == first
    assert first.sequence == 0
    assert len(first.identity) == 32


def test_two_machines_may_create_the_tables_at_once(server_url: str) -> None:
    identities = []

    def create() -> None:
        with SharedStore(server_url) as own, own.transaction() as cursor:
            identities.append(create_tables(cursor).identity)

    threads = [threading.Thread(target=create) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(identities) == 4
    assert len(set(identities)) == 1


def test_the_second_writer_waits_for_the_first(server_url: str, store: SharedStore) -> None:
    with store.transaction() as cursor:
        create_tables(cursor)
    order = []

    def write() -> None:
        with SharedStore(server_url) as own, own.transaction() as cursor:
            lock_state(cursor)
            order.append("second")

    with store.transaction() as cursor:
        lock_state(cursor)
        thread = threading.Thread(target=write)
        thread.start()
        time.sleep(0.2)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_newer_schema_is_refused(store: SharedStore) -> None:
    with store.transaction() as cursor:
        create_tables(cursor)
        cursor.execute("UPDATE gbrain.state SET schema_version = 99")
    with pytest.raises(GbrainError, match="newer gbrain"):
        find_state(store)


def test_vectors_work_where_the_extension_has_another_schema(store: SharedStore) -> None:
    try:
        store.connection.execute("DROP EXTENSION IF EXISTS vector")
        store.connection.execute("CREATE SCHEMA extensions")
        store.connection.execute("CREATE EXTENSION vector SCHEMA extensions")
    except psycopg.errors.FeatureNotSupported:
        pytest.skip("this server has no pgvector")
    with store.transaction() as cursor:
        assert create_tables(cursor).has_vectors
    with store.transaction() as cursor:
        cursor.execute("SELECT '[1,2]'::halfvec")


def test_functions_of_other_users_are_not_found(store: SharedStore) -> None:
    store.connection.execute(
        "CREATE FUNCTION public.to_regclass(text) RETURNS regclass LANGUAGE sql AS "
        "$$ SELECT 'pg_class'::regclass $$"
    )
    with store.transaction() as cursor:
        created = create_tables(cursor)
    assert find_state(store) == created


@pytest.fixture
def roles(postgres_server: Server, new_database: Callable[[], str]) -> Iterator[dict[str, str]]:
    """Return the URLs of an owner, a reader and a writer of one shared store."""
    if postgres_server.socket is None:
        pytest.skip("roles without a password can log in through a socket only")
    database = new_database()
    names = {"reader": f"{database}_reader", "writer": f"{database}_writer"}
    owner = postgres_server.socket_url(database)
    with SharedStore(owner) as store, store.transaction() as cursor:
        create_tables(cursor)
    with psycopg.connect(owner, autocommit=True) as connection:
        for _ in range(2):
            connection.execute(role_sql(names["reader"], names["writer"]).encode())
    for name in names.values():
        postgres_server.execute(f"ALTER ROLE {name} LOGIN")
    urls = {kind: postgres_server.socket_url(database, user=name) for kind, name in names.items()}
    yield {"owner": owner, **urls}
    for name in names.values():
        postgres_server.execute(f"DROP OWNED BY {name}", database)
        postgres_server.execute(f"DROP ROLE {name}")


_INSERT = (
    "INSERT INTO gbrain.pages (slug, path, version, sequence, deleted, author, sha256, content) "
    "VALUES ('a', 'a.md', 1, 1, false, 'me', '\\x00', 'text')"
)
_INSERT_VERSION = (
    "INSERT INTO gbrain.versions SELECT slug, version, path, sequence, deleted, author, "
    "written_at, sha256, content FROM gbrain.pages"
)


def test_a_reader_cannot_write(roles: dict[str, str]) -> None:
    with SharedStore(roles["reader"]) as store:
        assert find_state(store) is not None
        with store.transaction() as cursor:
            cursor.execute("SELECT * FROM gbrain.pages")
        for statement in (
            _INSERT,
            "UPDATE gbrain.pages SET deleted = true",
            "DELETE FROM gbrain.pages",
            _INSERT_VERSION,
            "UPDATE gbrain.state SET sequence = 7",
            "SELECT 1 FROM gbrain.state FOR UPDATE",
            "CREATE TABLE gbrain.mine (a int)",
            "DROP TABLE gbrain.pages",
        ):
            with pytest.raises(Refused) as raised, store.transaction() as cursor:
                cursor.execute(statement.encode())
            assert "writer" in raised.value.hint


def test_a_writer_cannot_change_history(roles: dict[str, str]) -> None:
    with SharedStore(roles["writer"]) as store:
        with store.transaction() as cursor:
            lock_state(cursor)
            cursor.execute(_INSERT.encode())
            cursor.execute(_INSERT_VERSION.encode())
            cursor.execute("UPDATE gbrain.state SET sequence = 1")
        for statement in (
            "UPDATE gbrain.versions SET content = ''",
            "DELETE FROM gbrain.versions",
            "TRUNCATE gbrain.versions",
            "DELETE FROM gbrain.pages",
            "DELETE FROM gbrain.state",
        ):
            with pytest.raises(Refused), store.transaction() as cursor:
                cursor.execute(statement.encode())


def test_roles_with_odd_names_are_quoted(postgres_server: Server, server_url: str) -> None:
    names = ('a"; DROP SCHEMA gbrain CASCADE; --', "b' c $$ END; --")
    with SharedStore(server_url) as store, store.transaction() as cursor:
        create_tables(cursor)
    with psycopg.connect(server_url, autocommit=True) as connection:
        try:
            connection.execute(role_sql(*names).encode())
            found = connection.execute(
                "SELECT rolname FROM pg_roles WHERE rolname = ANY(%s)", (list(names),)
            )
            assert {row[0] for row in found} == set(names)
        finally:
            for name in names:
                quoted = name.replace('"', '""')
                connection.execute(f'DROP OWNED BY "{quoted}"'.encode())
                connection.execute(f'DROP ROLE "{quoted}"'.encode())
    with SharedStore(server_url) as store:
        assert find_state(store) is not None
