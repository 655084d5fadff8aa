"""Connecting to a server: encryption, what errors say, timeouts and poolers."""

from __future__ import annotations

import logging
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest
from tcp_proxy import run_tls_proxy

from gbrain.errors import GbrainError
from gbrain.store.postgres import connection as connection_module
from gbrain.store.postgres.connection import (
    Refused,
    SharedStore,
    Unreachable,
    connection_options,
)

if TYPE_CHECKING:
    from postgres_server import Server

MakeDatabase = Callable[[str], str]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///db",
        "postgresql://localhost/db",
        "postgresql://127.0.0.1:5433/db",
        "postgresql://[::1]/db",
        "postgresql://%2Frun%2Fpostgresql/db",
    ],
)
def test_this_machine_needs_no_encryption(url: str) -> None:
    assert "sslmode" not in connection_options(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example.org/db",
        "postgresql://localhost,db.example.org/db",
        "postgresql:///db?host=db.example.org",
        "postgresql://localhost/db?hostaddr=192.0.2.1",
    ],
)
def test_other_machines_must_prove_their_name(url: str) -> None:
    options = connection_options(url)
    assert options["sslmode"] == "verify-full"
    assert options["sslrootcert"]


def test_the_url_can_opt_out_of_verification() -> None:
    assert connection_options("postgresql://h.example.org/d?sslmode=require")["sslmode"] == (
        "require"
    )


def test_the_environment_can_opt_out_of_verification(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGSSLMODE", "disable")
    assert connection_options("postgresql://h.example.org/d")["sslmode"] == "disable"


def test_a_service_file_names_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    services = tmp_path / "services.conf"
    services.write_text("[near]\nhost=localhost\n[far]\nhost=db.example.org\n")
    monkeypatch.setenv("PGSERVICEFILE", str(services))
    monkeypatch.delenv("PGSERVICE", raising=False)
    assert "sslmode" not in connection_options("postgresql:///?service=near")
    assert connection_options("postgresql:///?service=far")["sslmode"] == "verify-full"


def test_a_wrong_password_is_refused(
    postgres_server: Server, new_database: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not postgres_server.password:
        pytest.skip("the server asks for no password")
    database = new_database()
    monkeypatch.setenv("PGPASSWORD", "wrong-password")
    with pytest.raises(Refused) as raised:
        SharedStore(postgres_server.url(database))
    assert "wrong-password" not in raised.value.full_message
    assert "~/.pgpass" in raised.value.hint


def test_a_password_that_the_server_repeats_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server may ask for the password in plain text and quote it in its answer."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        passwords = tmp_path / "pgpass"
        passwords.write_text(f"127.0.0.1:{port}:*:*:hunter22\n")
        passwords.chmod(0o600)
        monkeypatch.setenv("PGPASSFILE", str(passwords))
        monkeypatch.delenv("PGPASSWORD", raising=False)
        asked: list[bytes] = []

        def answer() -> None:
            peer, _ = listening.accept()
            with peer:
                request = peer.recv(4096)
                if request[4:8] == struct.pack(">i", 80877103):  # asks for encryption
                    peer.sendall(b"N")
                    peer.recv(4096)
                peer.sendall(b"R" + struct.pack(">ii", 8, 3))
                asked.append(peer.recv(4096))
                said = b"SFATAL\0C28P01\0Mpassword " + asked[0][5:-1] + b" is wrong\0\0"
                peer.sendall(b"E" + struct.pack(">i", len(said) + 4) + said)

        server = threading.Thread(target=answer)
        server.start()
        with pytest.raises(Refused) as raised:
            SharedStore(f"postgresql://me@127.0.0.1:{port}/db")
        server.join(10)
    assert b"hunter22" in asked[0]
    assert "password *** is wrong" in raised.value.message
    assert "hunter22" not in raised.value.full_message


def test_a_missing_database_is_refused(
    postgres_server: Server, new_database: Callable[[], str]
) -> None:
    new_database()
    with pytest.raises(Refused, match="does not exist") as raised:
        SharedStore(postgres_server.socket_url("missing"))
    assert "createdb" in raised.value.hint


def test_a_server_without_encryption_is_refused_elsewhere(
    postgres_server: Server, new_database: Callable[[], str]
) -> None:
    url = postgres_server.url(new_database())
    with pytest.raises(Refused, match="SSL") as raised:
        SharedStore(f"{url}?sslmode=verify-full&sslrootcert=system")
    assert "sslmode=disable" in raised.value.hint


NEW_KEY = (
    "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
)  # fmt: skip


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two authorities, and a certificate of one for db.example.org."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificates")
    folder = tmp_path_factory.mktemp("certificates")

    def create(name: str, *words: str) -> None:
        files = ("-keyout", f"{name}.key", "-out", f"{name}.crt")
        command = ["openssl", "req", "-x509", "-subj", f"/CN={name}", *NEW_KEY, *files, *words]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)

    create("authority")
    create("other")
    create("server", "-CA", "authority.crt", "-CAkey", "authority.key",
           "-addext", "subjectAltName=DNS:db.example.org")  # fmt: skip
    return folder


def test_a_certificate_must_be_for_the_host_and_of_a_known_authority(
    certificates: Path, postgres_server: Server, new_database: Callable[[], str]
) -> None:
    if postgres_server.process is None and postgres_server.socket:
        pytest.skip("another server may ask for a password over TCP")

    def is_encrypted(url: str) -> bool:
        with SharedStore(url) as store:
            return bool(store.connection.pgconn.ssl_in_use)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.crt", certificates / "server.key")
    database = new_database()
    with run_tls_proxy(postgres_server.host, postgres_server.port, context) as port:
        # libpq connects to the address, and checks the name.
        url = f"postgresql://{postgres_server.user}@db.example.org:{port}/{database}"
        url += "?hostaddr=127.0.0.1"
        trusted = f"{url}&sslrootcert={certificates}/authority.crt"
        assert is_encrypted(trusted)
        for refused, reason in (
            (trusted.replace("db.example.org", "db2.example.org"), "does not match host name"),
            (f"{url}&sslrootcert={certificates}/other.crt", "certificate verify failed"),
            # Without a file: the authorities of the system.
            (url, "certificate verify failed"),
        ):
            with pytest.raises(Refused, match=reason) as raised:
                SharedStore(refused)
            assert "?sslrootcert=FILE" in raised.value.hint
        # Doing without is a choice of the user.
        assert is_encrypted(f"{url}&sslmode=require")
        assert not is_encrypted(f"{url}&sslmode=disable")
        # The server itself has no TLS.
        with pytest.raises(Refused, match="SSL"):
            SharedStore(trusted.replace(f":{port}/", f":{postgres_server.port}/"))


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://127.0.0.1:port/d",
        "postgresql:///d?sslmode=maybe",
        "postgresql:///?service=missing",
    ],
)
def test_an_address_that_cannot_be_used_is_no_fault_of_the_network(url: str) -> None:
    with pytest.raises(GbrainError, match="cannot be used") as raised:
        SharedStore(url)
    assert raised.value.code == "bad_address"


def test_a_closed_port_is_unreachable() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with pytest.raises(Unreachable):
        SharedStore(f"postgresql://user@127.0.0.1:{port}/db")


def test_an_unknown_host_is_unreachable() -> None:
    with pytest.raises(Unreachable):
        SharedStore("postgresql://host.invalid/db?sslmode=disable")


def test_a_server_that_says_nothing_is_given_up(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "TRANSACTION_SECONDS", 0.3)
    with (
        SharedStore(server_url) as store,
        pytest.raises(Unreachable),
        store.transaction() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(20)")


def test_a_server_that_falls_silent_after_connecting_is_soon_given_up(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "STATEMENT_SECONDS", 0.3)
    with (
        SharedStore(server_url) as store,
        pytest.raises(Unreachable),
        store.one_statement() as cursor,
    ):
        cursor.execute("SELECT pg_sleep(20)")
    assert connection_module.STATEMENT_SECONDS < connection_module.TRANSACTION_SECONDS


def test_a_long_statement_gets_the_time_it_asks_for(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "TRANSACTION_SECONDS", 0.3)
    with SharedStore(server_url) as store, store.transaction(20) as cursor:
        assert cursor.execute("SELECT pg_sleep(1.2), 1").fetchone()[1] == 1


def test_a_connection_that_the_server_ends_is_unreachable(
    postgres_server: Server, server_url: str
) -> None:
    with SharedStore(server_url) as store:
        pid = store.connection.info.backend_pid
        postgres_server.execute(f"SELECT pg_terminate_backend({pid})")
        with pytest.raises(Unreachable), store.transaction() as cursor:
            cursor.execute("SELECT 1")


def test_a_lost_connection_is_said_once(
    server_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As in a program that sets up no logging: warnings of libraries go to standard error.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    end = "SELECT pg_terminate_backend(pg_backend_pid())"
    with SharedStore(server_url) as store:
        own = store.connection
        with pytest.raises(Unreachable), store.transaction(), own.pipeline():
            own.execute(end).fetchall()
    assert capsys.readouterr().err == ""


def test_settings_end_with_the_transaction(server_url: str) -> None:
    with SharedStore(server_url) as store:
        show = "SELECT current_setting('search_path'), current_setting('lock_timeout')"
        before = store.connection.execute(show).fetchone()
        with store.transaction() as cursor:
            cursor.execute(show)
            assert cursor.fetchone() != before
        assert store.connection.execute(show).fetchone() == before


def test_no_statement_is_prepared(server_url: str) -> None:
    with SharedStore(server_url) as store:
        for _ in range(12):
            with store.transaction() as cursor:
                cursor.execute("SELECT %s::text", ("again",))
        found = store.connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
        assert found == (0,)


def test_an_error_of_the_server_quotes_no_values(server_url: str) -> None:
    with SharedStore(server_url) as store:
        with store.transaction() as cursor:
            cursor.execute("CREATE TABLE public.t (a text PRIMARY KEY)")
            cursor.execute("INSERT INTO public.t VALUES ('private words')")
        with pytest.raises(GbrainError) as raised, store.transaction() as cursor:
            cursor.execute("INSERT INTO public.t VALUES ('private words')")
        assert "private words" not in raised.value.full_message


def test_a_second_thread_does_not_disturb_the_first(server_url: str) -> None:
    results = []

    def work(number: int) -> None:
        with SharedStore(server_url) as store, store.transaction() as cursor:
            results.append(cursor.execute("SELECT %s::int", (number,)).fetchone())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(0,), (1,), (2,), (3,)]


@pytest.fixture
def database_in(postgres_server: Server, new_database: Callable[[], str]) -> Iterator[MakeDatabase]:
    """`database_in("LATIN1")` returns the URL of an empty database in this encoding."""
    made: list[str] = []
    new_database()

    def make(encoding: str) -> str:
        made.append(f"gbrain_test_{encoding.lower()}_{uuid4().hex[:8]}")
        postgres_server.execute(
            f"CREATE DATABASE {made[-1]} ENCODING '{encoding}' TEMPLATE template0 "
            "LC_COLLATE 'C' LC_CTYPE 'C'"
        )
        return postgres_server.socket_url(made[-1])

    yield make
    for name in made:
        postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_note_is_refused(
    database_in: MakeDatabase, encoding: str
) -> None:
    with pytest.raises(GbrainError, match=f"has the encoding {encoding}") as raised:
        SharedStore(database_in(encoding))
    assert "createdb -T template0 -E UTF8" in raised.value.hint


def test_text_is_exchanged_in_unicode_whatever_the_environment_says(
    server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    url = f"{server_url}?client_encoding=LATIN9"
    with SharedStore(url) as store, store.transaction() as cursor:
        assert cursor.execute("SELECT %s", ("日本",)).fetchone() == ("日本",)
