"""`Brain` methods for remotes: shared stores on PostgreSQL that several machines pull and push."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

from gbrain.brain.base import timestamp
from gbrain.brain.import_export import ImportExportMethods
from gbrain.brain.models import ModelMethods
from gbrain.errors import GbrainError, UsageError
from gbrain.messages import counted
from gbrain.paths import replicas_folder
from gbrain.types import Progress, Scope, no_progress

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.remotes.contact import Contact
    from gbrain.remotes.pull import LocalFiles, PullReport
    from gbrain.remotes.push import PushReport
    from gbrain.store.models import ModelRow
    from gbrain.store.postgres.connection import Row
    from gbrain.store.postgres.schema import SharedState
    from gbrain.store.remotes import Remote

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"


class RemoteStatus(NamedTuple):
    """The state of a remote: pages that wait to be pushed and to be pulled, and conflicts.

    `to_pull` is None if the server did not answer, and `error` says why. `problems` are sentences
    about searches on the server.
    """

    remote: Remote
    to_push: int
    to_pull: int | None
    conflicts: list[str]
    error: GbrainError | None = None
    problems: tuple[str, ...] = ()


class PushedPart(NamedTuple):
    """What a push shares: pages of a wing, or slugs with a prefix; `everything` shares all."""

    wing: str | None = None
    slug_prefix: str | None = None
    everything: bool = False


class Exchange(NamedTuple):
    """What was pulled and pushed; None for what was not asked for."""

    pulled: PullReport | None
    pushed: PushReport | None


StepProgress = Callable[[str], AbstractContextManager[Progress]]


def _no_step_progress(step: str) -> AbstractContextManager[Progress]:
    return nullcontext(no_progress)


class RemoteMethods(ModelMethods, ImportExportMethods):
    """Connect the brain to shared stores, pull from them and push to them."""

    def remotes(self) -> list[Remote]:
        """Return the remotes of the brain in the order they were added."""
        from gbrain.store.remotes import list_remotes

        with self.database.read_transaction() as connection:
            return list_remotes(connection)

    def remote(self, name: str | None = None) -> Remote:
        """Return the remote called `name`, or the only one; raise NotFound or Conflict."""
        from gbrain.store.remotes import find_remote

        with self.database.read_transaction() as connection:
            return find_remote(connection, name)

    def add_remote(self, name: str, url: str) -> bool:
        """Connect the brain to the shared store at `url`; return whether the name is new.

        The server is not asked yet. Raises UsageError for a URL with a password in it.
        """
        from gbrain.store.postgres.address import check_url
        from gbrain.store.remotes import add_remote
        from gbrain.trust import is_trusted, remember_trusted

        check_url(url)
        if not re.fullmatch(_NAME, name):
            raise UsageError(
                f"{name!r} cannot be the name of a remote",
                hint="Use letters, digits, dots and dashes, for example team.",
            )
        with self.database.write_transaction() as connection:
            is_new = add_remote(connection, name, url, timestamp())
        if not is_trusted(self.identity(), _trust_key(url)):
            remember_trusted(self.identity(), _trust_key(url))
        return is_new

    def remove_remote(self, name: str) -> int:
        """Forget a remote and return how many pages were waiting to be pushed to it.

        No page is changed, neither here nor there.
        """
        from gbrain.store.remotes import remove_remote

        remote = self.remote(name)
        waiting = len(self.waiting(name))
        with self.database.write_transaction() as connection:
            remove_remote(connection, remote)
        return waiting

    def waiting(self, name: str | None = None) -> list[str]:
        """Return the slugs of the pages that wait to be pushed."""
        from gbrain.store.remotes import waiting_pages

        remote = self.remote(name)
        with self.database.read_transaction() as connection:
            return [page.slug for page in waiting_pages(connection, remote)]

    def remote_status(self, name: str | None = None, *, check: bool = False) -> RemoteStatus:
        """Return what would be pushed and pulled; an unreachable server is no error.

        `check` compares the search tables of the server with its pages, all of them.
        """
        from gbrain.store.postgres.connection import LONG_TRANSACTION_SECONDS
        from gbrain.store.postgres.pages import count_changes
        from gbrain.store.remote_conflicts import list_remote_conflicts

        seconds = LONG_TRANSACTION_SECONDS if check else None
        remote = self.remote(name)
        waiting = len(self.waiting(name))
        with self.database.read_transaction() as connection:
            conflicts = [each.slug for each in list_remote_conflicts(connection, remote.id)]
        try:
            with self.contact(remote) as contact, contact.store.transaction(seconds) as cursor:
                changes = count_changes(cursor, remote.sequence)
                problems = _search_problems(cursor, contact.state, check=check)
        except GbrainError as error:
            return RemoteStatus(remote, waiting, None, conflicts, error)
        return RemoteStatus(contact.remote, waiting, changes, conflicts, problems=problems)

    def repair_remote(
        self, name: str | None = None, *, progress: Progress = no_progress
    ) -> tuple[str, ...]:
        """Write the search tables of a remote again from its pages; return remaining problems.

        Others can push and search meanwhile. A repair that is killed is finished by the next push.
        """
        from gbrain.store.postgres.connection import LONG_TRANSACTION_SECONDS
        from gbrain.store.postgres.search_index import discard_entries

        with self.contact(self.remote(name)) as contact:
            with contact.store.transaction() as cursor:
                discard_entries(cursor)
            _complete_search_tables(contact, progress)
        with (
            self.contact(self.remote(name)) as contact,
            contact.store.transaction(LONG_TRANSACTION_SECONDS) as cursor,
        ):
            return _search_problems(cursor, contact.state, check=True)

    def pull(self, name: str | None = None) -> PullReport:
        """Bring what changed on a remote into the brain, merged with what changed here."""
        pulled = self.exchange(name, push=False).pulled
        assert pulled is not None
        return pulled

    def push(
        self,
        name: str | None = None,
        *,
        wing: str | None = None,
        slug_prefix: str | None = None,
        everything: bool = False,
    ) -> PushReport:
        """Write what changed here to a remote, merged with what changed there.

        A first push with `wing` or `slug_prefix` shares only that part of the brain from then on,
        and later ones add to it; `everything` shares all pages.
        """
        part = PushedPart(wing, slug_prefix, everything)
        pushed = self.exchange(name, pull=False, part=part).pushed
        assert pushed is not None
        return pushed

    def exchange(
        self,
        name: str | None = None,
        *,
        contact: Contact | None = None,
        pull: bool = True,
        push: bool = True,
        part: PushedPart = PushedPart(),
        after_pull: Callable[[PullReport], None] = lambda report: None,
        after_push: Callable[[PushReport], None] = lambda report: None,
        progress: StepProgress = _no_step_progress,
        before_indexes: Callable[[], None] = lambda: None,
    ) -> Exchange:
        """Pull from a remote, push to it, and complete its search tables and indexes.

        Goes through `contact` if it is open. `after_pull` and `after_push` get what was done before
        the next step, which may fail; `progress` shows the progress of a step by its name.
        """

        @contextmanager
        def reach(*, create: bool = False) -> Iterator[Contact]:
            if contact:
                yield contact
            else:
                with self.contact(self.remote(name), create=create) as opened:
                    yield opened

        pulled: PullReport | None = None
        pushed: PushReport | None = None
        if pull:
            with reach() as there, progress("Pulling") as show:
                pulled = self._pull_from(there, show)
            after_pull(pulled)
        if push:
            with reach(create=True) as there:
                with progress("Pushing") as show:
                    pushed = self._push_to(there, part, show)
                after_push(pushed)
                with progress("Indexing") as show:
                    _complete_search_tables(there, show, before_indexes)
        return Exchange(pulled, pushed)

    def _pull_from(self, contact: Contact, progress: Progress) -> PullReport:
        from gbrain.remotes.pull import pull_changes

        return pull_changes(
            self.database,
            contact,
            timestamp(),
            model=self._shared_model(contact),
            files=self._local_files(),
            after_batch=self._write_pulled_files,
            progress=progress,
        )

    def _push_to(self, contact: Contact, part: PushedPart, progress: Progress) -> PushReport:
        from gbrain.remotes.push import push_changes

        remote = self._choose_parts(contact.remote, *part)
        model = self._shared_model(contact)
        if model and contact.state.may_write:
            # Nobody embeds on the server, where searches without a replica need the vectors.
            self.embed_new_chunks()
        return push_changes(
            self.database,
            contact._replace(remote=remote),
            timestamp(),
            _machine_name(),
            scope=Scope(wing=part.wing, slug_prefix=part.slug_prefix),
            model=model,
            files=self._local_files(),
            after_merge=self._write_pulled_files,
            progress=progress,
        )

    @contextmanager
    def check_on_server(
        self, expected_version: int | None
    ) -> Iterator[Callable[[sqlite3.Connection, str], None]]:
        """Yield a function that writes a page just written here to the server first.

        Only for a replica, and only if there is a version to check. The server refuses a page that
        changed there. If it cannot be reached or written, the version was checked here.
        """
        if expected_version is None or self.path.parent != replicas_folder():
            yield lambda connection, slug: None
            return
        from gbrain.remotes.push import push_written_page
        from gbrain.store.postgres.connection import Unreachable

        with ExitStack() as stack:
            try:
                contact = stack.enter_context(self.contact(self.remote()))
            except Unreachable:
                yield lambda connection, slug: None
                return
            if not contact.state.may_write:
                # Only what waits can be changed here, and that is of this computer alone.
                yield lambda connection, slug: None
                return
            # Not through this brain, which may be limited to some of the pages.
            with RemoteMethods.open(self.path) as whole:
                whole.exchange(contact=contact)
            yield lambda connection, slug: push_written_page(
                connection, contact, slug, _machine_name()
            )

    def _choose_parts(
        self, remote: Remote, wing: str | None, slug_prefix: str | None, everything: bool
    ) -> Remote:
        """Record which parts of the brain are shared from now on."""
        from gbrain.store.remotes import SharedPart, has_shared_pages, set_parts

        parts = remote.parts
        if everything:
            parts = None
        elif wing or slug_prefix:
            part = SharedPart(wing, slug_prefix)
            with self.database.read_transaction() as connection:
                shares_all = parts is None and has_shared_pages(connection, remote)
            if not shares_all and part not in (parts or ()):
                parts = (*(parts or ()), part)
        if parts != remote.parts:
            with self.database.write_transaction() as connection:
                set_parts(connection, remote, parts)
        return remote._replace(parts=parts)

    @contextmanager
    def contact(self, remote: Remote | None = None, *, create: bool = False) -> Iterator[Contact]:
        """Connect to a remote (default: the only one) that the user added on this machine."""
        from gbrain.remotes.contact import open_remote
        from gbrain.store.postgres.address import redact
        from gbrain.trust import is_trusted

        remote = remote or self.remote()
        if not is_trusted(self.identity(), _trust_key(remote.url)):
            raise GbrainError(
                f"This brain names the remote {remote.name}, which you have not added on this "
                "computer",
                hint=f"If you trust it: gbrain remote add {remote.name} {redact(remote.url)}",
                code="remote_not_trusted",
            )
        with open_remote(self.database, remote, create=create) as contact:
            yield contact

    def _shared_model(self, contact: Contact) -> ModelRow | None:
        """Return the model whose vectors are exchanged; None if the server has no pgvector."""
        return self.active_model() if contact.state.has_vectors else None

    def _local_files(self) -> LocalFiles:
        from gbrain.remotes.pull import LocalFiles

        return LocalFiles(self.new_page_folder, self.may_write)

    def _write_pulled_files(self, report: PullReport) -> None:
        """Write pages that were pulled to their files, as for other writes.

        What cannot be written now is written by the next sync.
        """
        from gbrain.importing.import_report import ImportReport
        from gbrain.importing.scan import ImportProblem
        from gbrain.importing.write_through import remove_page_file

        for file in report.removed_files:
            result = remove_page_file(
                self.database, file.root, file.path, use_trash=self.settings.use_trash
            )
            if result and result.needs_user:
                report.file_problems.append(
                    ImportProblem(file.path, result.message or "", None, "cannot_write")
                )
        changed = [*report.changed, *report.conflicts]
        if changed and self.folder_count():
            written = ImportReport()
            self.write_files(changed, report.created, written)
            report.file_problems += written.problems

    def folder_count(self) -> int:
        """Return how many folders of notes the brain has."""
        from gbrain.store.folders import list_folders

        with self.database.read_transaction() as connection:
            return len(list_folders(connection))


def _complete_search_tables(
    contact: Contact, progress: Progress, before_indexes: Callable[[], None] = lambda: None
) -> None:
    """Complete the search tables of a shared store, then the indexes that are missing.

    Calls `before_indexes` before the latter. Does nothing if all is complete, or for a reader. If
    it is killed, the next push goes on.
    """
    from gbrain.remotes.indexing import index_pages
    from gbrain.store.postgres.indexes import create_indexes

    if not contact.state.may_write:
        return
    index_pages(contact.store, progress=progress)
    # Only the owner of the tables may, and a hosted server may stop what takes long. All else is
    # complete without; `remote status` tells.
    with suppress(GbrainError):
        create_indexes(contact.store, before_indexes)


def _search_problems(cursor: Cursor[Row], state: SharedState, *, check: bool) -> tuple[str, ...]:
    """Return what is wrong with searches on a server; `check` reads all of its search tables."""
    from gbrain.store.postgres.indexes import WORD_INDEXES, missing_indexes
    from gbrain.store.postgres.schema import has_extension
    from gbrain.store.postgres.search_index import check_search_tables

    problems = check_search_tables(cursor) if check else []
    if not state.is_indexed and not problems:
        missing = counted(state.sequence - state.indexed_to, "change")
        problems.append(
            f"{missing} must be added to the search tables: gbrain push completes them."
        )
    absent = missing_indexes(cursor)
    if any(each.is_building for each in absent):
        problems.append("An index is being created on the server.")
    elif absent:
        things = sorted({"words" if each.name in WORD_INDEXES else "vectors" for each in absent})
        problems.append(
            f"Searches without a replica are slow, because {' and '.join(things)} have no index. "
            "The owner of the tables creates it with gbrain push."
        )
    if not state.has_vectors and has_extension(cursor):
        problems.append(
            "The server has pgvector now, but vectors are not shared yet. The owner of the tables "
            "changes that with gbrain push."
        )
    return tuple(problems)


def _trust_key(url: str) -> str:
    return f"remote {url}"


def _machine_name() -> str:
    from platform import node

    return node() or "unknown"
