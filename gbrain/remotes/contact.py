"""Open the shared store of a remote, and check that it is the one the brain knows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from gbrain.errors import GbrainError
from gbrain.paths import replicas_folder
from gbrain.store.connection import Database
from gbrain.store.postgres.address import redact
from gbrain.store.postgres.connection import SharedStore
from gbrain.store.postgres.schema import (
    SharedState,
    add_vector_table,
    create_tables,
    find_state,
)
from gbrain.store.remotes import Remote, set_identity


class Contact(NamedTuple):
    """An open remote: the brain's record of it, the connection, and the state found there."""

    remote: Remote
    store: SharedStore
    state: SharedState


@contextmanager
def open_remote(database: Database, remote: Remote, *, create: bool = False) -> Iterator[Contact]:
    """Connect to a remote; `create` makes the tables of a shared brain that are missing.

    All of them in an empty database, that of vectors on a server that got pgvector later.

    Raises GbrainError if there is no shared brain, or another or an older one than before.
    """
    with SharedStore(remote.url) as store:
        state = find_state(store, remote.sequence, remote.last_change)
        if state is None and create and remote.identity is None:
            with store.transaction() as cursor:
                state = create_tables(cursor)
        elif state is not None and create and not state.has_vectors:
            with store.transaction() as cursor:
                add_vector_table(cursor)
            state = find_state(store, remote.sequence, remote.last_change)
        is_replica = database.path.parent == replicas_folder()
        state = check_state(remote, state, is_replica=is_replica)
        if remote.identity is None:
            with database.write_transaction() as connection:
                set_identity(connection, remote, state.identity)
            remote = remote._replace(identity=state.identity)
        yield Contact(remote, store, state)


def check_state(remote: Remote, state: SharedState | None, *, is_replica: bool) -> SharedState:
    """Return the state of a remote's shared brain; raise GbrainError if it is not the known one."""
    server = redact(remote.url)
    brain = f" --db {server}" if is_replica else ""
    if state is None and remote.identity is None:
        raise GbrainError(
            f"There is no shared brain in {server} yet",
            hint=f"gbrain push {remote.name} creates it, on a machine that has the notes.",
            code="no_shared_brain",
        )
    reconnect = (
        f"If that is right, connect again: gbrain remote remove {remote.name}{brain}, then gbrain "
        f"remote add {remote.name} {server}{brain}. The next pull compares all pages and loses "
        "none."
    )
    if state is None or (remote.identity and state.identity != remote.identity):
        raise GbrainError(
            f"{server} has no shared brain any more"
            if state is None
            else f"{server} has another shared brain than before",
            hint=reconnect,
            code="other_shared_brain",
        )
    if state.sequence < remote.sequence or not state.has_change:
        raise GbrainError(
            f"{server} lacks changes that this brain has seen: it was restored from a backup",
            hint=reconnect,
            code="older_shared_brain",
        )
    return state
