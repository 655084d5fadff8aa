"""A shared brain that is searched where it is, without a replica on this machine (`--no-replica`).

The lanes and all that depends on every page run in PostgreSQL. The pages that they find are brought
into a brain in memory for as long as a query runs, and everything else runs there unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Self, Unpack

from gbrain.brain import Brain
from gbrain.brain.models import BrainState
from gbrain.config import override_settings
from gbrain.errors import ModelUnavailable, NotFound, needs_replica
from gbrain.store.partial_database import PartialDatabase
from gbrain.store.postgres.address import redact
from gbrain.store.postgres.connection import SharedStore, Unreachable
from gbrain.store.postgres.schema import find_state
from gbrain.types import Hit, Scope

if TYPE_CHECKING:
    from psycopg import Cursor

    from gbrain.brain.queries import QueryArguments
    from gbrain.models.embedder import OnnxEmbedder
    from gbrain.search.explain.why_not import WhyNot
    from gbrain.search.pipeline import StageResults
    from gbrain.store.pages import StoredPage
    from gbrain.store.postgres.connection import Row
    from gbrain.store.postgres.vector_search import EmbeddedModel
    from gbrain.store.postgres.whole_brain import SharedWholeBrain
    from gbrain.types import Answer

# The questions of others are not recorded, and no process can be kept warm for a file.
_OWN_SETTINGS = {"record_queries": "false", "record_access": "false", "keep_warm": "off"}

_UNINDEXED = "Not all pages of the shared brain can be found yet: gbrain push completes its index."

# Methods of `Brain` that work here. All others need every page or a file, or write: they are
# refused.
ANSWERED = frozenset(
    """query search query_with_trace explain_missing filter_hints get find resolve page text body
    close open reload_settings state path read_only keep_open confirm settings stored_settings
    database embedder cross_encoder count_tokens active_model models model model_spec backlog
    embed_new_chunks remember_hits record_open last_hit page_files open_shared identity
    add_model use_model prepare_for_many_queries count_tokens_of""".split()
)


class SharedBrain(Brain):
    """A brain in a shared store that answers queries and shows pages; it cannot be changed."""

    def __init__(self, url: str) -> None:
        from gbrain.store.postgres.page_loader import ParsedPages
        from gbrain.store.postgres.word_indexes import MatchCounts

        self._url = url
        self._store: SharedStore | None = None
        self._whole: SharedWholeBrain | None = None
        self._parsed, self._counts = ParsedPages(), MatchCounts()
        self._model: EmbeddedModel | None = None
        super().__init__(PartialDatabase(Path(redact(url))))
        try:
            self.active_model()
            if find_state(self._connected()) is None:
                raise NotFound(
                    f"There is no shared brain in {redact(url)} yet",
                    hint="gbrain push creates it, on a machine that has the notes.",
                    code="no_shared_brain",
                )
        except BaseException:
            self.close()
            raise

    @classmethod
    def open_shared(cls, url: str) -> Self:
        """Connect to a shared brain; raise GbrainError if it cannot be reached or is no brain."""
        return cls(url)

    def _choose_model(self, cursor: Cursor[Row]) -> None:
        """Use the model with which most chunks of the shared brain are embedded."""
        from gbrain.models.catalog import packaged_models
        from gbrain.store.postgres.vector_search import main_model

        self._model = main_model(cursor)
        for spec in packaged_models():
            if self._model and spec.identity == self._model.identity:
                self.add_model(spec, packaged=True)
                self.use_model(spec.name)

    @property
    def embedder(self) -> OnnxEmbedder:
        if self._model and self.active_model().identity != self._model.identity:
            from gbrain.models.catalog import INSTALL_OPTIONAL

            raise ModelUnavailable(
                "The shared brain is embedded with a model that is not installed here.",
                hint=f"For the multilingual one: {INSTALL_OPTIONAL}. One that was added with "
                "gbrain model add works in a replica only: leave out --no-replica.",
            )
        return super().embedder

    def close(self) -> None:
        """Close the connection, the brain in memory and the models."""
        if self._store is not None:
            self._store.close()
        super().close()

    @property
    def read_only(self) -> bool:
        return True

    def state(self) -> BrainState:
        return BrainState(None, 0, None)

    def identity(self) -> str:
        return f"shared brain {redact(self._url)}"

    def reload_settings(self) -> None:
        super().reload_settings()
        self.settings = override_settings(self.settings, _OWN_SETTINGS)

    def _connected(self) -> SharedStore:
        """Return the connection, a new one if it was lost."""
        from psycopg import IsolationLevel

        if self._store is None or self._store.connection.closed:
            self._store = SharedStore(self._url)
            # All statements of a query see the same pages.
            self._store.connection.isolation_level = IsolationLevel.REPEATABLE_READ
            self._store.connection.read_only = True
        return self._store

    def _begin(self, stack: ExitStack) -> Cursor[Row]:
        """Begin a transaction that ends with the stack; on a new connection if the old one is dead.

        Servers and poolers end connections that are not used for some minutes.
        """
        is_new = self._store is None or self._store.connection.closed
        store = self._connected()
        try:
            return stack.enter_context(store.transaction())
        except Unreachable:
            if is_new:
                raise
        store.close()
        return stack.enter_context(self._connected().transaction())

    @contextmanager
    def _searching(self) -> Iterator[SharedWholeBrain]:
        """Run the block in one transaction of the shared store, with pages in memory."""
        if self._whole is not None:
            yield self._whole
            return
        from gbrain.store.postgres.whole_brain import SharedWholeBrain

        assert isinstance(self.database, PartialDatabase)
        with ExitStack() as stack:
            cursor = self._begin(stack)
            if self._model is None:
                # The first vectors may be pushed while this brain is open.
                self._choose_model(cursor)
            model = self._model and self._model.id
            whole = SharedWholeBrain(
                cursor, self.database.connection, self._parsed, self._counts, model
            )
            with self.database.some_pages(whole):
                self._whole = whole
                try:
                    yield whole
                finally:
                    self._whole = None

    # --- queries -----------------------------------------------------------------------------

    def query_with_trace(
        self, text: str, **arguments: Unpack[QueryArguments]
    ) -> tuple[Answer, StageResults]:
        settings = override_settings(self.settings, arguments.get("changes", {}))
        if settings.associative_weight:
            raise needs_replica("The associative lane")
        with self._searching() as whole:
            answer, results = super().query_with_trace(text, **arguments)
            if whole.unindexed:
                # The push of most of it was interrupted, or is still running.
                notices = filter(None, (_UNINDEXED, answer.notice))
                answer = answer._replace(notice=" ".join(notices))
            return answer, results

    def explain_missing(self, *args: Any, **arguments: Any) -> WhyNot:
        with self._searching() as whole:
            whole.load_named(args[0])
            return super().explain_missing(*args, **arguments)

    def filter_hints(self, scope: Scope) -> list[str]:
        from gbrain.store.scope import unmatched_filters

        with self._searching() as whole:
            return list(unmatched_filters(scope, whole.filter_values))

    def remember_hits(self, hits: Iterable[Hit]) -> None:
        """Do nothing: there is no file in which the hits could be remembered."""

    def record_open(self, page_id: int) -> None:
        """Do nothing: the uses of pages never travel."""

    def page_files(self, slugs: Iterable[str]) -> dict[str, Any]:
        return {}

    # --- pages -------------------------------------------------------------------------------

    def resolve(self, name: str, *, past: bool = False) -> str:
        with self._searching() as whole:
            whole.load_named(name)
            return super().resolve(name, past=past)

    def find(self, name: str) -> StoredPage | None:
        with self._searching() as whole:
            whole.load_named(name)
            return super().find(name)

    def get(self, name: str) -> StoredPage:
        with self._searching() as whole:
            whole.load_named(name)
            return super().get(name)

    def page(
        self, name: str, version: int | None = None
    ) -> tuple[StoredPage, dict[str, object], str]:
        if version is not None:
            raise needs_replica("An earlier version of a page")
        with self._searching() as whole:
            whole.load_named(name)
            return super().page(name)

    def text(self, name: str, version: int | None = None) -> str:
        return self.page(name, version)[2]

    def body(self, name: str) -> str:
        with self._searching() as whole:
            whole.load_named(name)
            return super().body(name)


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refused(self: SharedBrain, *args: object, **arguments: object) -> NoReturn:
        raise needs_replica(f"This ({name.replace('_', ' ')})")

    return refused


for _name in dir(Brain):
    if not _name.startswith("_") and _name not in ANSWERED and callable(getattr(Brain, _name)):
        setattr(SharedBrain, _name, _refuse(_name))
