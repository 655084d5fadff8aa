"""The tables of a shared store, in a schema of their own, and the rights of readers and writers."""

from __future__ import annotations

from typing import TYPE_CHECKING, LiteralString, NamedTuple

from gbrain.errors import GbrainError
from gbrain.store.postgres.search_schema import SEARCH_TABLES
from gbrain.store.remotes import SharedChange

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.store.postgres.connection import Row, SharedStore

SHARED_SCHEMA_VERSION = 1
_APOSTROPHE = "'"

# `state` has one row. Who writes pages locks it and takes the next sequence numbers, so their order
# is the order of commits, and a reader that knows one number has seen all below it. Pages up to
# `indexed_to` are in the search tables, and `is_counted` says that the statistics of words there
# are right.
TABLES: LiteralString = """
CREATE SCHEMA IF NOT EXISTS gbrain;
CREATE TABLE gbrain.state (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    schema_version integer NOT NULL,
    identity text NOT NULL,
    sequence bigint NOT NULL,
    vector_sequence bigint NOT NULL,
    indexed_to bigint NOT NULL,
    is_counted boolean NOT NULL
);
CREATE TABLE gbrain.pages (
    slug text COLLATE "C" PRIMARY KEY,
    path text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    sequence bigint NOT NULL,
    deleted boolean NOT NULL,
    author text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now(),
    sha256 bytea NOT NULL,
    content text NOT NULL
);
CREATE UNIQUE INDEX pages_sequence ON gbrain.pages (sequence);
CREATE TABLE gbrain.versions (
    slug text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    path text COLLATE "C" NOT NULL,
    sequence bigint NOT NULL,
    deleted boolean NOT NULL,
    author text NOT NULL,
    written_at timestamptz NOT NULL,
    sha256 bytea NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (slug, version)
);
CREATE TABLE gbrain.models (
    id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    identity text NOT NULL UNIQUE,
    dimension integer NOT NULL
);
"""

# Without pgvector pages are shared, and every machine embeds them itself. The type names no
# dimension, because models differ in it.
VECTOR_TABLES: LiteralString = """
CREATE TABLE gbrain.vectors (
    model integer NOT NULL REFERENCES gbrain.models (id),
    hash bytea NOT NULL,
    vector halfvec NOT NULL,
    PRIMARY KEY (model, hash)
);
"""
_GRANT_AS_FOR_MODELS: LiteralString = """
DO $$
DECLARE
    given record;
BEGIN
    FOR given IN SELECT privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC'
            ELSE quote_ident(pg_get_userbyid(grantee)) END AS name
        FROM pg_class, aclexplode(relacl) WHERE pg_class.oid = 'gbrain.models'::regclass
    LOOP
        EXECUTE format('GRANT %s ON gbrain.vectors TO %s', given.privilege_type, given.name);
    END LOOP;
END $$
"""


class SharedState(NamedTuple):
    """The state of a shared store: the last sequence numbers of its pages and its vectors.

    `indexed_to` is the last one in the search tables; `is_counted` tells whether their statistics
    are right. `may_write` tells whether this role can push pages to this server, and `has_change`
    whether the store has a change that it was asked for.
    """

    schema_version: int
    identity: str
    sequence: int
    vector_sequence: int
    indexed_to: int
    is_counted: bool
    has_vectors: bool
    may_write: bool
    has_change: bool

    @property
    def is_indexed(self) -> bool:
        """Tell whether the search tables have all pages and their statistics."""
        return self.is_counted and self.indexed_to == self.sequence


# All names have their schema: it is also run without the search path of a transaction.
_SELECT_STATE: LiteralString = (
    "SELECT schema_version, identity, sequence, vector_sequence, indexed_to, is_counted, "
    "pg_catalog.to_regclass('gbrain.vectors') IS NOT NULL, "
    "pg_catalog.has_table_privilege('gbrain.pages', 'INSERT') "
    "AND NOT pg_catalog.current_setting('transaction_read_only')::boolean, {has_change} "
    "FROM gbrain.state"
)
# Microseconds since 1970.
WRITTEN_AT: LiteralString = "(extract(epoch FROM written_at) * 1000000)::pg_catalog.int8"
# A version that is gone was removed by the owner, if the page has a later one.
_HAS_CHANGE: LiteralString = (
    f"coalesce((SELECT (sequence, {WRITTEN_AT}) = (%(sequence)s, %(written_at)s) FROM "
    "(SELECT slug, version, sequence, written_at FROM gbrain.pages UNION ALL "
    "SELECT slug, version, sequence, written_at FROM gbrain.versions) AS change "
    "WHERE slug = %(slug)s AND version = %(version)s LIMIT 1), "
    "(SELECT version > %(version)s FROM gbrain.pages WHERE slug = %(slug)s), false)"
)


def find_state(
    store: SharedStore, sequence: int = 0, change: SharedChange | None = None
) -> SharedState | None:
    """Return the state of a store in one round trip; None if the database has no brain yet.

    Its `has_change` tells whether the store has `change` with this sequence number. Raises
    GbrainError if a newer gbrain created it.
    """
    import psycopg

    with store.one_statement() as cursor:
        try:
            if change is None:
                return _read_state(cursor, _SELECT_STATE)
            values = {"sequence": sequence, **change._asdict()}
            return _read_state(cursor, _SELECT_STATE, _HAS_CHANGE, values)
        except psycopg.errors.UndefinedTable:
            return None


def lock_state(cursor: Cursor[Row]) -> SharedState:
    """Lock the row of the state until the transaction ends, and return it."""
    return _read_state(cursor, _SELECT_STATE + " FOR UPDATE")


def _read_state(
    cursor: Cursor[Row],
    statement: LiteralString,
    has_change: LiteralString = "true",
    values: dict[str, object] | None = None,
) -> SharedState:
    row = cursor.execute(statement.format(has_change=has_change), values).fetchone()
    if row is None:
        raise GbrainError(
            "The shared brain has no row in gbrain.state",
            hint="Restore the database from a backup.",
            code="damaged",
        )
    state = SharedState(*row)
    if state.schema_version > SHARED_SCHEMA_VERSION:
        raise GbrainError(
            f"The shared brain was written by a newer gbrain (schema {state.schema_version}, "
            f"this program knows {SHARED_SCHEMA_VERSION})",
            hint="Upgrade gbrain on this machine.",
            code="brain_too_new",
        )
    return state


def create_tables(cursor: Cursor[Row]) -> SharedState:
    """Create the tables of a shared store unless they exist, and return its state."""
    # Two machines may push first at the same time.
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('gbrain'))")
    found = cursor.execute("SELECT to_regclass('gbrain.state') IS NOT NULL").fetchone()
    if found == (True,):
        return _read_state(cursor, _SELECT_STATE)
    from uuid import uuid4

    cursor.execute(TABLES)
    cursor.execute(SEARCH_TABLES)
    if _create_extension(cursor):
        cursor.execute(VECTOR_TABLES)
    cursor.execute(
        "INSERT INTO gbrain.state (schema_version, identity, sequence, vector_sequence, "
        "indexed_to, is_counted) VALUES (%s, %s, 0, 0, 0, true)",
        (SHARED_SCHEMA_VERSION, uuid4().hex),
    )
    return lock_state(cursor)


def add_vector_table(cursor: Cursor[Row]) -> None:
    """Create the table of vectors if the server got pgvector after its shared brain.

    Does nothing for a role that may not, and before version 0.7, which has no halfvec. Who may
    read or write the other tables may do it there.
    """
    may = cursor.execute(
        "SELECT has_schema_privilege('gbrain', 'CREATE') AND EXISTS "
        "(SELECT FROM pg_available_extensions WHERE name = 'vector' AND "
        "string_to_array(coalesce(installed_version, default_version), '.')::int[] >= '{0,7}')"
    ).fetchone()
    if may != (True,):
        return
    # Two machines may push at the same time.
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext('gbrain'))")
    if cursor.execute("SELECT to_regclass('gbrain.vectors') IS NULL").fetchone() == (True,):
        try:
            if not _create_extension(cursor):
                return
        except GbrainError:
            return
        cursor.execute(VECTOR_TABLES)
        cursor.execute(_GRANT_AS_FOR_MODELS)


def _create_extension(cursor: Cursor[Row]) -> bool:
    """Return whether pgvector can be used, after creating it if this user may."""
    import psycopg

    try:
        with cursor.connection.transaction():
            cursor.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
    except psycopg.errors.InsufficientPrivilege as error:
        raise GbrainError(
            "This database has no pgvector yet, and your role may not add it",
            hint="Let its owner run: CREATE EXTENSION vector;",
            code="no_pgvector",
        ) from error
    except (psycopg.errors.FeatureNotSupported, psycopg.errors.UndefinedFile):
        # The server was installed without it.
        return False
    # The search path of this transaction was chosen before the extension existed.
    cursor.execute(
        "SELECT set_config('search_path', 'pg_catalog, gbrain, ' || quote_ident(nspname), true) "
        "FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'"
    )
    return True


def has_extension(cursor: Cursor[Row]) -> bool:
    """Return whether the database has pgvector."""
    row = cursor.execute("SELECT FROM pg_extension WHERE extname = 'vector'").fetchone()
    return row is not None


def role_sql(reader: str, writer: str) -> str:
    """Return the SQL that gives one role the rights of a reader and another those of a writer.

    Roles that do not exist are created, for others to be members of. A writer can add versions, but
    neither change nor remove them.
    """
    read, write = (_quote(name, '"') for name in (reader, writer))
    created = "".join(
        f"IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {_quote(name, _APOSTROPHE)}) "
        f"THEN CREATE ROLE {quoted}; END IF; "
        for name, quoted in ((reader, read), (writer, write))
    )
    # In a hardened database not everybody may use the schema public, where pgvector is.
    usable = (
        "DECLARE name text; BEGIN FOR name IN SELECT nspname FROM pg_extension "
        "JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector' "
        "LOOP EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I, %I', name, "
        f"{_quote(reader, _APOSTROPHE)}, {_quote(writer, _APOSTROPHE)}); END LOOP; "
        "EXCEPTION WHEN insufficient_privilege THEN NULL; END"
    )
    return f"""\
DO {_quote(f"BEGIN {created}END", _APOSTROPHE)};
DO {_quote(usable, _APOSTROPHE)};
GRANT USAGE ON SCHEMA gbrain TO {read}, {write};
GRANT SELECT ON ALL TABLES IN SCHEMA gbrain TO {read}, {write};
GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA gbrain TO {write};
REVOKE UPDATE, DELETE ON gbrain.versions FROM {write};
REVOKE DELETE ON gbrain.pages FROM {write};
REVOKE INSERT, DELETE ON gbrain.state FROM {write};
GRANT USAGE ON ALL SEQUENCES IN SCHEMA gbrain TO {write};
"""


def _quote(name: str, sign: str) -> str:
    """Return a name in quotation marks of SQL."""
    return sign + name.replace(sign, sign * 2) + sign
