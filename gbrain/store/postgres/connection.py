"""Connect to a shared store: encryption, timeouts, transactions, and errors in plain words.

Works through a transaction pooler: no prepared statements, settings only inside of a transaction,
and every transaction is short.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from ipaddress import ip_address
from math import ceil
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, LiteralString, Self

from gbrain.errors import GbrainError
from gbrain.store.postgres.address import check_url, redact, url_hosts, url_parameters

if TYPE_CHECKING:
    from psycopg import Connection, Cursor, Error

    Row = tuple[Any, ...]

CONNECT_SECONDS = 5
# For a row or two. Who reads waits that long before the replica answers instead.
STATEMENT_SECONDS = 15
# Longer than the largest batch takes on a slow line; then the connection is given up.
TRANSACTION_SECONDS = 120
# For statements that read all search tables: counting the words of 1.1 million chunks took three
# minutes on a busy machine.
LONG_TRANSACTION_SECONDS = 1800
_LOCK_SECONDS = 30
_IDLE_SECONDS = 30
# libpq gives up a connection on which sent data is not acknowledged for 30 seconds.
_CONNECTION_PARAMETERS = {
    "application_name": "gbrain",
    "connect_timeout": CONNECT_SECONDS,
    "keepalives_idle": 20,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
# Certificates of public authorities: Debian, Fedora, openSUSE, macOS. The libpq of psycopg's
# binary package looks for those of the system where only its builder has them.
_CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
)
# In the messages of libpq for a server that was reached and said no. Other messages are about the
# network, or a server that starts or stops.
_REFUSALS = ("FATAL", "password", "authentication", "SSL", "certificate", "SCRAM", "pg_hba")
# In those for a URL, variable or service file that libpq cannot use.
_UNUSABLE = (
    "invalid integer", "invalid sslmode", "invalid URI", "syntax error", "extra key/value",
    "definition of service",
)  # fmt: skip
_NO_LOG = logging.NullHandler()
_STARTING = ("starting up", "shutting down", "recovery mode", "too many", "remaining connection")


class Unreachable(GbrainError):
    """The server of a shared store does not answer; nothing is wrong with what it was asked."""

    code = "unreachable"


class Refused(GbrainError):
    """The server of a shared store does not let this user do that."""

    code = "refused"


class SharedStore:
    """An open connection to a shared store.

    Functions of this package take the cursor that `transaction` yields, and never begin or end a
    transaction themselves.
    """

    def __init__(self, url: str, *, memory: int | None = None) -> None:
        """Connect; raise Unreachable, Refused, or GbrainError if the driver is not installed.

        `memory` are the MB for creating an index.
        """
        psycopg = _driver()
        self.url = check_url(url)
        options = connection_options(url)
        if memory:
            options["options"] = f"-c maintenance_work_mem={memory}MB"
        try:
            self.connection: Connection[Row] = psycopg.connect(
                url, autocommit=True, prepare_threshold=None, client_encoding="UTF8", **options
            )
        except psycopg.Error as error:
            raise explain_error(error, self.url, password=_tried_password(error)) from None
        self._password = self.connection.info.password
        self._require_unicode()
        # Whatever the default is there: a writer waits for the one before and sees what it wrote.
        self.connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED

    def _require_unicode(self) -> None:
        """Raise GbrainError if the database cannot have every character, as a new one may not."""
        encoding = self.connection.info.parameter_status("server_encoding")
        if encoding not in (None, "UTF8"):
            self.close()
            raise GbrainError(
                f"{redact(self.url)} has the encoding {encoding}, which cannot hold every note",
                hint="Create a database for notes with: createdb -T template0 -E UTF8 -l C NAME",
                code="bad_encoding",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        self.connection.close()

    @contextmanager
    def transaction(self, seconds: int | None = None) -> Iterator[Cursor[Row]]:
        """Run the block in a transaction: commit at its end, roll back if it raises.

        Errors of the server are raised as GbrainError. A server that stays silent for so many
        seconds (default: TRANSACTION_SECONDS) is given up.
        """
        seconds = seconds or TRANSACTION_SECONDS
        with (
            self._give_up_on_silence(seconds),
            self.connection.transaction(),
            self.connection.cursor() as cursor,
        ):
            cursor.execute(_SETTINGS, (f"{ceil(seconds)}s",))
            yield cursor

    @contextmanager
    def one_statement(self) -> Iterator[Cursor[Row]]:
        """Yield a cursor for a single short statement: one round trip, not four as a transaction.

        It has none of a transaction's settings, so it must name the schema of all that it uses.
        """
        with (
            self._give_up_on_silence(STATEMENT_SECONDS),
            self.connection.cursor() as cursor,
        ):
            yield cursor

    @contextmanager
    def _give_up_on_silence(self, seconds: int) -> Iterator[None]:
        """Raise errors of the server as GbrainError, also when it does not answer at all."""
        import psycopg

        silence = threading.Timer(seconds, self._hang_up)
        silence.daemon = True
        silence.start()
        try:
            yield
        except psycopg.Error as error:
            raise explain_error(
                error, self.url, lost=self.connection.broken, password=self._password
            ) from error
        finally:
            silence.cancel()

    def _hang_up(self) -> None:
        """Close the socket under the connection, so that whoever waits for it gets an error."""
        with suppress(OSError, Exception):
            handle = socket.socket(fileno=os.dup(self.connection.fileno()))
            with handle:
                handle.shutdown(socket.SHUT_RDWR)


# One statement, because each is a round trip. The search path has no schema in which another user
# could put a function with the name of one of ours.
_SETTINGS: LiteralString = (
    "SELECT set_config('search_path', concat_ws(', ', 'pg_catalog', 'gbrain', (SELECT "
    "quote_ident(nspname) FROM pg_catalog.pg_extension JOIN pg_catalog.pg_namespace n "
    "ON n.oid = extnamespace WHERE extname = 'vector')), true), "
    "set_config('statement_timeout', %s, true), "
    f"set_config('lock_timeout', '{_LOCK_SECONDS}s', true), "
    f"set_config('idle_in_transaction_session_timeout', '{_IDLE_SECONDS}s', true)"
)


def _driver() -> Any:
    try:
        import psycopg
    except ImportError:
        raise GbrainError(
            "gbrain was installed without PostgreSQL",
            hint="Install it with: pip install 'gbrain[postgres]'",
            code="no_driver",
        ) from None
    # Its warnings about a lost connection would stand beside the error that says so.
    logging.getLogger("psycopg").addHandler(_NO_LOG)
    return psycopg


# --- encryption ------------------------------------------------------------------------------


def connection_options(url: str) -> dict[str, Any]:
    """Return the parameters to add to a URL: timeouts, and verified encryption.

    What the URL, the environment or a service file says about encryption is kept: an explicit
    `?sslmode=disable` is how a user does without.
    """
    given = {**_default_parameters(url), **url_parameters(url)}
    options: dict[str, Any] = {
        name: value for name, value in _CONNECTION_PARAMETERS.items() if name not in given
    }
    hosts = url_hosts(url) or given.get("hostaddr", given.get("host", "")).split(",")
    if all(map(_is_local, hosts)):
        return options
    mode = given.get("sslmode", "verify-full")
    options["sslmode"] = mode
    own = Path("~/.postgresql/root.crt").expanduser()
    if mode in ("verify-full", "verify-ca") and "sslrootcert" not in given and not own.exists():
        found = (file for file in _CERTIFICATES if os.path.exists(file))
        options["sslrootcert"] = next(found, "system")
    return options


def _default_parameters(url: str) -> dict[str, str]:
    """Return what the environment and the service file of the URL say."""
    from psycopg.pq import Conninfo

    service = url_parameters(url).get("service")
    before = os.environ.get("PGSERVICE")
    if service:
        # libpq reads service files, also those of other folders, only for this variable.
        os.environ["PGSERVICE"] = service
    try:
        defaults = Conninfo.get_defaults()
    finally:
        if service and before is None:
            del os.environ["PGSERVICE"]
        elif service and before is not None:
            os.environ["PGSERVICE"] = before
    return {
        option.keyword.decode(): option.val.decode()
        for option in defaults
        if option.val is not None and option.val != option.compiled
    }


def _is_local(host: str) -> bool:
    """Tell whether a host is this machine: a socket, the default, or a loopback address."""
    if not host or host.startswith(("/", "@")) or host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


# --- errors ----------------------------------------------------------------------------------


def explain_error(error: Error, url: str, *, lost: bool = False, password: str = "") -> GbrainError:
    """Return an error of the driver as one that the user can act on, without page text.

    A server may quote the `password` that it was sent.
    """
    import psycopg

    server = redact(url)
    if error.sqlstate is None or lost or error.sqlstate[:2] in ("08", "57"):
        reason = _first_line(error, password)
        is_refusal = any(word in reason for word in _REFUSALS) and not lost
        if is_refusal and not any(word in reason for word in _STARTING):
            return Refused(f"{server} refused the connection: {reason}", hint=_login_hint(reason))
        if not lost and any(word in reason for word in _UNUSABLE):
            return GbrainError(
                f"{server} cannot be used: {reason.removeprefix('connection is bad: ')}",
                hint="Check the URL, the PG… variables and the service file.",
                code="bad_address",
            )
        return Unreachable(
            f"Cannot reach {server}: {reason}",
            hint="Check the network and that the server runs; nothing was lost.",
        )
    reason = redact(error.diag.message_primary or type(error).__name__, password)
    no_right = psycopg.errors.InsufficientPrivilege | psycopg.errors.ReadOnlySqlTransaction
    if isinstance(error, no_right):
        return Refused(
            f"{server} does not allow this: {reason}",
            hint="Ask its owner for the rights of a writer: gbrain remote roles prints the SQL.",
        )
    if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
        return Unreachable(f"{server} is busy: {reason}", hint="Run the command again in a moment.")
    return GbrainError(
        f"{server} reported an error: {reason}",
        hint="The log of the server may say more. Nothing was changed by this step.",
        code="server_error",
    )


def _first_line(error: Error, password: str) -> str:
    text = str(error).strip().split("\n", 1)[0]
    # Several attempts are listed below the first; "failed:" comes before the reason.
    reason = text.rpartition("failed: ")[2] or text
    # The name of a C function, and the two spaces after FATAL, say nothing to a user.
    return redact(" ".join(reason.removeprefix("fe_sendauth: ").split()), password)


def _tried_password(error: Error) -> str:
    """Return the password of an attempt to connect that failed."""
    found = error.pgconn.password if error.pgconn else None
    return found.decode(errors="replace") if found else ""


def _login_hint(reason: str) -> str:
    if "SSL" in reason or "certificate" in reason:
        return (
            "The server must prove its name: give the file of its certificate authority with "
            "?sslrootcert=FILE in the URL. ?sslmode=require skips the proof, "
            "?sslmode=disable the encryption too."
        )
    if "database" in reason:
        return "Create the database first, for example with: createdb NAME"
    return "Put the password into ~/.pgpass, $PGPASSWORD or a service file, and check the user."
