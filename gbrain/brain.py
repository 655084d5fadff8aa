"""An open brain: the file, its settings and its models, and everything one can ask of it."""

from __future__ import annotations

import builtins
import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, BinaryIO, Self, cast

from gbrain.config import Settings, known_settings, read_value, with_values, written_value
from gbrain.errors import BadBrain, BadSetting, GbrainError, ModelUnavailable
from gbrain.paths import default_path as default_path
from gbrain.search.pipeline import QueryPlan, StageResults, answer
from gbrain.store import aliases, settings
from gbrain.store.connection import Database, create
from gbrain.text.query import read_query
from gbrain.text.slug import slug_of
from gbrain.trace import Trace
from gbrain.types import Answer, Depth, Merge, Mode, Scope

if TYPE_CHECKING:
    from gbrain.importing.embed_worker import Embedded
    from gbrain.importing.importer import Progress, Report
    from gbrain.models.catalog import ModelSpec
    from gbrain.models.embedder import Embedder
    from gbrain.models.reranker import CrossEncoder
    from gbrain.models.tokens import Tokens
    from gbrain.search.boosts import CustomBoost
    from gbrain.search.rerank.head import Helpers
    from gbrain.store import history, links, models, page_writer, pages
    from gbrain.store.backup import BackedUp, Compacted
    from gbrain.store.graph import LinkGraph
    from gbrain.store.stats import Stats
    from gbrain.store.timeline import DatedEntry
    from gbrain.store.vectors import Floats


NO_CHANGES: Mapping[str, str] = {}

# Characters of a question whose meaning counts: as many signs take the model some seconds.
_LONGEST_MEANT = 4_000


def clock() -> datetime:
    """The time now, in UTC; $GBRAIN_NOW (an ISO time) sets it."""
    fixed = os.environ.get("GBRAIN_NOW")
    if fixed:
        with suppress(ValueError):
            moment = datetime.fromisoformat(fixed)
            return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return datetime.now(UTC)


def today() -> date:
    """The day it is here."""
    return clock().astimezone().date()


def timestamp() -> str:
    """The time now as it is written into the brain."""
    return clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Brain:
    """One open brain file; use it in a `with` block."""

    def __init__(self, database: Database) -> None:
        self.database = database
        with database.read_transaction() as connection:
            self.stored_settings = settings.stored(connection)
        self.settings: Settings = _usable(self.stored_settings)
        database.connection.execute(
            f"PRAGMA busy_timeout = {int(self.settings.busy_seconds * 1000)}"
        )
        self._embedder: Embedder | None = None
        self._tokens: Tokens | None = None
        self._cross_encoder: CrossEncoder | None = None
        # Asked about a command that the brain would run and its user has not set here.
        self.confirm: Callable[[str], bool] = lambda command: False

    @classmethod
    def open(cls, path: str | Path | None = None, *, make: bool = False) -> Self:
        """Opens the brain at `path` (else the default place); `make` creates it if need be."""
        place = Path(path).expanduser() if path else default_path()
        if make and not place.exists():
            create(place)
        return cls(Database(place))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file and the models; a `with` block does it."""
        if self._embedder:
            self._embedder.close()
        if self._cross_encoder:
            self._cross_encoder.close()
        self.database.close()

    # --- asking ------------------------------------------------------------------------------

    def query(
        self,
        text: str,
        *,
        scope: Scope = Scope(),
        limit: int | None = None,
        mode: Mode | None = None,
        merge: Merge | None = None,
        depth: Depth | None = None,
        budget: int | None = None,
        boosts: tuple[CustomBoost, ...] = (),
        changes: Mapping[str, str] = NO_CHANGES,
    ) -> Answer:
        """The pages that answer `text`, best first, by keywords and meaning.

        `depth="auto"` adds context of at most `budget` tokens. `changes` are settings for this
        query alone, written as `config set` takes them.
        """
        answered, workings = self.query_with_trace(
            text, scope=scope, limit=limit, mode=mode, merge=merge, depth=depth, budget=budget,
            boosts=boosts, changes=changes,
        )  # fmt: skip
        if workings.plan.settings.record_queries:
            self._record(answered, workings)
        return answered

    def search(self, text: str, *, scope: Scope = Scope(), limit: int | None = None) -> Answer:
        """The pages that hold the words of `text`, best first; no model is touched."""
        return self.query(text, scope=scope, limit=limit, mode="bm25")

    def query_with_trace(
        self,
        text: str,
        *,
        scope: Scope = Scope(),
        limit: int | None = None,
        mode: Mode | None = None,
        merge: Merge | None = None,
        depth: Depth | None = None,
        budget: int | None = None,
        boosts: tuple[CustomBoost, ...] = (),
        changes: Mapping[str, str] = NO_CHANGES,
    ) -> tuple[Answer, StageResults]:
        """What `query` gives, and what each stage made of the question; never recorded."""
        chosen = with_values(self.settings, changes) if changes else self.settings
        mode = mode or cast(Mode, chosen.search_mode)
        # By words alone no model is touched, unless the question itself asks for one.
        if mode == "bm25" and chosen.rerank != "off" and "rerank" not in changes:
            chosen = with_values(chosen, {"rerank": "off"})
        day = today()
        self.database.map_file()
        trace = Trace()
        with trace.stage("parse"):
            with self.database.read_transaction() as connection:
                known = aliases.all_aliases(connection)
            question = read_query(text, known, day, scope, limit or chosen.default_limit)
        plan = QueryPlan(
            mode=mode,
            merge=merge or cast(Merge, chosen.search_merge_strategy),
            settings=chosen,
            today=day,
            embed=self._embed_query,
            count=self.count_tokens,
            helpers=self._helpers,
            budget=(budget or chosen.default_token_budget) if depth else None,
            boosts=boosts,
        )
        if chosen.rerank == "command":
            self._check_command()
        return answer(self.database, question, plan, trace)

    def count_tokens(self, text: str) -> int:
        """How many tokens the active model makes of a text, or the packaged one in its stead.

        At least one for every eight characters: a word too long for one model, or a field of
        blanks, is next to nothing there and a great deal to another.
        """
        return max(self._model_tokens(text), len(text) // 8)

    def _model_tokens(self, text: str) -> int:
        if self._embedder:
            return self._embedder.count_tokens(text)
        if self._tokens is None:
            from gbrain.models.catalog import packaged
            from gbrain.models.tokens import Tokens

            try:
                model = self.active_model()
                own = model.folder is None
                spec = self.model_spec(model) if own else self._intact_spec(model)
                self._tokens = Tokens.open(spec)
            except (ModelUnavailable, BadBrain):
                self._tokens = Tokens.open(packaged())
        return self._tokens.count(text)

    def _record(self, answered: Answer, workings: StageResults) -> None:
        """Keeps a question with the pages it found, unless somebody would have to wait for it."""
        from gbrain.search.rerank.learned import HALF_LIFE_DAYS, features
        from gbrain.store import usage_log
        from gbrain.store.boost_data import Wanted, facts
        from gbrain.store.usage_log import take_note

        ranked = workings.boosted.ranked
        with self.database.read_transaction() as connection:
            chosen = {page.page_id: page.chunk_id for page in ranked}
            known = facts(connection, chosen, Wanted(opens=True))
        half_life = self.settings.recency_half_life_days or HALF_LIFE_DAYS
        rows = features(ranked, known, clock().date().isoformat(), half_life)
        shown = [page.page_id for page in workings.cut.kept[: len(answered.hits)]]
        hits = [usage_log.Shown(page_id, rows[page_id]) for page_id in shown if page_id in rows]
        take_note(
            self.database,
            lambda connection: usage_log.record(
                connection,
                answered.query,
                timestamp(),
                answered.mode,
                answered.verdict.grade,
                hits,
                self.settings.keep_queries,
            ),
        )

    def _helpers(self) -> Helpers:
        from gbrain.search.rerank.head import Helpers

        return Helpers(
            cross_encoder=lambda: self.cross_encoder,
            embedder=lambda: self.embedder,
            command=self.settings.rerank_command,
            today=clock().date().isoformat(),
        )

    def _check_command(self) -> None:
        """Raises GbrainError for a command that came with the file, unless the user agrees."""
        from gbrain.trust import agree, agreed

        command = self.settings.rerank_command
        with self.database.read_transaction() as connection:
            brain = settings.identity(connection)
        if not command or agreed(brain, command):
            return
        if not self.confirm(command):
            raise GbrainError(
                f"The brain would run a command that you have not set: {' '.join(command.split())}",
                hint="gbrain config set rerank_command sets it, if you want it; "
                "gbrain config reset rerank_command removes it.",
                code="unknown_command",
            )
        agree(brain, command)

    @property
    def cross_encoder(self) -> CrossEncoder:
        """The packaged reranker, opened on first use."""
        if self._cross_encoder is None:
            from gbrain.models.catalog import packaged_reranker
            from gbrain.models.reranker import CrossEncoder

            self._cross_encoder = CrossEncoder(packaged_reranker())
        return self._cross_encoder

    def _embed_query(self, text: str) -> Floats:
        text = text[:_LONGEST_MEANT]
        # The packaged model ranks better between both readings; others may need their prefix.
        if self.active_model().folder is None:
            return self.embedder.embed_both_ways(text)
        return self.embedder.embed_query(text)

    @property
    def embedder(self) -> Embedder:
        """The active model, opened on first use."""
        if self._embedder is None:
            from gbrain.models.embedder import Embedder

            self._embedder = Embedder(self._intact_spec(self.active_model()))
        return self._embedder

    def _intact_spec(self, model: models.ModelRow) -> ModelSpec:
        """The model's spec; its files are read through only when they changed since last time."""
        from gbrain.models.files import verify_if_changed
        from gbrain.store import models

        spec = self.model_spec(model)
        stamp = verify_if_changed(spec, model.files_stamp)
        if stamp != model.files_stamp and not self.database.read_only:
            with self.database.write_transaction() as connection:
                models.keep_stamp(connection, model, stamp)
        return spec

    # --- models and vectors ------------------------------------------------------------------

    def active_model(self) -> models.ModelRow:
        """The model that embeds and answers; a new brain takes the packaged one."""
        from gbrain.store import models

        with self.database.read_transaction() as connection:
            active = models.active_model(connection)
        if active is None:
            from gbrain.models.catalog import PACKAGED, packaged

            self.add_model(packaged(), packaged=True)
            active = self.use_model(PACKAGED)
        return active

    def model_spec(self, model: models.ModelRow) -> ModelSpec:
        """What the program needs to open a model that the brain knows.

        Raises ModelUnavailable for one that came with the file: its user has not chosen it.
        """
        from gbrain.models.catalog import from_description, packaged
        from gbrain.trust import agreed

        if model.folder is None:
            return packaged(model.name)
        spec = from_description(json.loads(model.description), Path(model.folder))
        with self.database.read_transaction() as connection:
            known = agreed(settings.identity(connection), _named_model(spec))
        if not known:
            raise ModelUnavailable(
                f"The model {spec.name} in {spec.folder} came with the brain file",
                hint=f"gbrain model add {spec.folder} makes it yours, if you know it.",
            )
        return spec

    def add_model(self, spec: ModelSpec, *, packaged: bool = False) -> None:
        """Makes a model known; `use_model` makes it the one that answers."""
        from gbrain.store import models

        with self.database.write_transaction() as connection:
            models.add_model(
                connection,
                name=spec.name,
                identity=spec.identity,
                sha256=spec.sha256,
                pooling=spec.pooling,
                query_prefix=spec.query_prefix,
                passage_prefix=spec.passage_prefix,
                dimension=spec.dimension,
                max_tokens=spec.max_tokens,
                description=json.dumps(spec.description()),
                folder=None if packaged else str(spec.folder),
                now=timestamp(),
            )
            if not packaged:
                from gbrain.trust import agree

                agree(settings.identity(connection), _named_model(spec))

    def use_model(self, name: str) -> models.ModelRow:
        """Makes a known model the active one and queues what it has not embedded yet."""
        from gbrain.store import jobs, models

        with self.database.write_transaction() as connection:
            model = models.require_model(connection, name)
            models.activate(connection, model)
            jobs.enqueue_missing(connection, model.space, timestamp())
        if self._embedder:
            self._embedder.close()
            self._embedder = None
        return model

    def embed(
        self,
        name: str | None = None,
        *,
        everything: bool = False,
        limit: int | None = None,
        max_seconds: float | None = None,
        progress: Progress = lambda done, total: None,
    ) -> Embedded:
        """Embeds what is due, of one page or all; `everything` also what waits after a failure."""
        from gbrain.importing.embed_worker import Limits, embed_due
        from gbrain.store import jobs

        space = self.active_model().space
        page_id = self.get(name).id if name else None
        if everything or page_id is not None:
            with self.database.write_transaction() as connection:
                jobs.enqueue_missing(connection, space, timestamp(), page_id)
        return embed_due(
            self.database,
            space,
            lambda: self.embedder,
            page_id=page_id,
            limits=Limits(limit, max_seconds),
            progress=progress,
        )

    # --- pages -------------------------------------------------------------------------------

    def put(
        self, name: str, data: bytes, *, expected_version: int | None = None
    ) -> page_writer.Written:
        """Writes the page called `name` (a slug or a path) with the content `data`."""
        from gbrain.store import page_writer, pages
        from gbrain.text.page import parse_page

        slug = slug_of(name)
        with self.database.read_transaction() as connection:
            known = pages.find_page(connection, slug)
        path = known.path if known else _new_path(name)
        page = parse_page(path, data)
        with self.database.write_transaction() as connection:
            return page_writer.write_page(
                connection, page, timestamp(), expected_version=expected_version
            )

    def get(self, name: str) -> pages.Stored:
        """The page called `name`, without its text; raises NotFound with the nearest slugs."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.require_page(connection, slug_of(name))

    def opened(self, page_id: int) -> None:
        """Counts that a page was opened, unless `record_access` is off or the file is busy."""
        if self.settings.record_access:
            from gbrain.store.usage_log import opened, take_note

            take_note(self.database, lambda connection: opened(connection, page_id, timestamp()))

    def text(self, name: str, version: int | None = None) -> str:
        """A page's own text, of an earlier version if one is named."""
        from gbrain.store import history, pages

        with self.database.read_transaction() as connection:
            if version is not None:
                return history.version_text(connection, slug_of(name), version)
            return pages.page_text(connection, pages.require_page(connection, slug_of(name)).id)

    def page(
        self, name: str, version: int | None = None
    ) -> tuple[pages.Stored, dict[str, object], str]:
        """A page with its front matter as values and its text, as it is or as it was."""
        from gbrain.store import history, pages

        with self.database.read_transaction() as connection:
            if version is not None:
                stored, meta, text = history.page_then(connection, slug_of(name), version)
                return stored, json.loads(meta), text
            stored = pages.require_page(connection, slug_of(name))
            text = pages.page_text(connection, stored.id)
            return stored, pages.page_meta(connection, stored.id), text

    def list(
        self, scope: Scope = Scope(), limit: int | None = None
    ) -> tuple[builtins.list[pages.Stored], int]:
        """The first `limit` pages of the scope by slug, and how many there are."""
        from gbrain.store import pages

        with self.database.read_transaction() as connection:
            return pages.list_pages(connection, scope, limit)

    def backlinks(self, name: str) -> builtins.list[links.Backlink]:
        """Links on other pages that lead to this one."""
        from gbrain.store import links, pages

        with self.database.read_transaction() as connection:
            page = pages.require_page(connection, slug_of(name))
            return links.links_to(connection, page)

    def links(self, name: str) -> builtins.list[links.LinkRow]:
        """A page's links in the order they are written, and the pages they lead to."""
        from gbrain.store import links, pages

        with self.database.read_transaction() as connection:
            return links.links_from(connection, pages.require_page(connection, slug_of(name)))

    def graph(self, name: str | None = None, *, depth: int = 1, limit: int = 200) -> LinkGraph:
        """The pages at most `depth` links from one, either way, or all; at most `limit`."""
        from gbrain.store import graph, pages

        with self.database.read_transaction() as connection:
            if name is None:
                return graph.whole_graph(connection, limit)
            page = pages.require_page(connection, slug_of(name))
            return graph.graph_around(connection, page, depth, limit)

    def tags(self) -> builtins.list[tuple[str, int]]:
        """All tags with the number of their pages, the most used first."""
        from gbrain.store.pages import tag_counts

        with self.database.read_transaction() as connection:
            return tag_counts(connection)

    def timeline(
        self, name: str | None = None, *, scope: Scope = Scope(), limit: int | None = None
    ) -> tuple[builtins.list[DatedEntry], int]:
        """The latest `limit` entries of a page, oldest first, or of all pages, latest first.

        With them comes how many there are.
        """
        from gbrain.store import pages, timeline

        with self.database.read_transaction() as connection:
            if name is None:
                return timeline.chronicle(connection, scope, limit)
            page = pages.require_page(connection, slug_of(name))
            return timeline.page_timeline(connection, page, scope, limit)

    def add_to_timeline(
        self,
        name: str,
        text: str,
        *,
        date: str | None = None,
        source: str | None = None,
        expected_version: int | None = None,
    ) -> page_writer.Written:
        """Writes an entry of `date` (`2026-04-03`, `2026-04`; else today) into a timeline."""
        from gbrain.store.timeline import add_to_timeline

        day = date or today().isoformat()
        with self.database.write_transaction() as connection:
            return add_to_timeline(
                connection, slug_of(name), day, text, source, timestamp(),
                expected_version=expected_version,
            )  # fmt: skip

    def history(self, name: str) -> builtins.list[history.Version]:
        """A page's versions, oldest first; also of one that was deleted."""
        from gbrain.store import history

        with self.database.read_transaction() as connection:
            return history.versions(connection, slug_of(name))

    def page_files(self, slugs: Iterable[str]) -> dict[str, Path]:
        """The file of each page that came from one, by slug; it may be gone by now."""
        from gbrain.store.folders import page_files

        with self.database.read_transaction() as connection:
            return page_files(connection, slugs)

    def delete(self, name: str, *, expected_version: int | None = None) -> pages.Stored:
        """Removes a page; its text stays in its history."""
        from gbrain.store import page_writer

        with self.database.write_transaction() as connection:
            return page_writer.delete_page(
                connection, slug_of(name), timestamp(), expected_version=expected_version
            )

    def rename(self, name: str, new_name: str) -> page_writer.Written:
        """Gives a page another slug and path; its history and vectors go with it."""
        from gbrain.errors import Conflict
        from gbrain.store import page_writer, pages
        from gbrain.text.page import parse_page

        old, new = slug_of(name), slug_of(new_name)
        with self.database.write_transaction() as connection:
            known = pages.require_page(connection, old)
            if new != old and pages.find_page(connection, new):
                raise Conflict(
                    f"There is a page {new} already",
                    hint="Choose another name, or delete that page first.",
                    code="slug_collision",
                )
            text = pages.page_text(connection, known.id)
            page = parse_page(_new_path(new_name), text.encode())
            return page_writer.write_page(connection, page, timestamp(), renames=old)

    def import_folder(
        self,
        folder: Path,
        *,
        drop: bool = False,
        overwrite: bool = False,
        dry_run: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> Report:
        """Brings a folder of Markdown pages into the brain; see `ingest.take_in`."""
        from gbrain.importing.importer import import_folder

        return import_folder(
            self.database,
            folder.expanduser().absolute(),
            timestamp(),
            drop=drop,
            overwrite=overwrite,
            dry_run=dry_run,
            progress=progress,
        )

    def import_jsonl(self, source: BinaryIO, *, dry_run: bool = False) -> Report:
        """Brings pages into the brain, a JSON object a line; see `ingest.take_in_lines`."""
        from gbrain.importing.importer import import_jsonl

        return import_jsonl(self.database, source, timestamp(), dry_run=dry_run)

    def folder_roots(self) -> builtins.list[str]:
        """The folders that were imported."""
        from gbrain.store import folders

        with self.database.read_transaction() as connection:
            return [vault.root for vault in folders.vaults(connection)]

    def export(
        self,
        folder: Path,
        *,
        force: bool = False,
        progress: Progress = lambda done, total: None,
    ) -> tuple[int, int]:
        """Writes every page to a file below `folder`; see `export.write_files`."""
        from gbrain.importing.export import write_files

        return write_files(self.database, folder, progress, force=force)

    # --- care --------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """What the brain holds, in numbers."""
        from gbrain.store.stats import read_stats

        with self.database.read_transaction() as connection:
            return read_stats(connection)

    def backup(self, target: Path | None = None, *, replace: bool = False) -> BackedUp:
        """Copies the brain, whole and checked, also while others write.

        To the file `target` or into a folder of that name; else beside the brain. Raises BadBrain
        if the file is there and may not be replaced.
        """
        from gbrain.store.backup import backup

        name = f"{self.database.path.name}.{today().isoformat()}.backup"
        return backup(self.database, target, name, replace=replace)

    def compact(self) -> Compacted:
        """Makes the file as small as what it holds; the history stays."""
        from gbrain.store.backup import compact

        return compact(self.database)

    # --- settings ----------------------------------------------------------------------------

    def set(self, name: str, written: str) -> None:
        """Changes a setting; it holds from the next command on."""
        value = written_value(read_value(name, written))
        with self.database.write_transaction() as connection:
            settings.keep(connection, name, value)

    def use_profile(self, name: str) -> dict[str, str]:
        """Makes a profile's settings the brain's own; gives those that it took the place of."""
        from gbrain.profiles import find_profile, profile_values

        named = find_profile(name).values
        values = {
            key: written_value(read_value(key, value))
            for key, value in profile_values(name).items()
        }
        with self.database.write_transaction() as connection:
            before = settings.stored(connection)
            for key, value in values.items():
                if key in named:
                    settings.keep(connection, key, value)
                else:
                    settings.forget(connection, key)
        return {key: before[key] for key in values if before.get(key, values[key]) != values[key]}


def _named_model(spec: ModelSpec) -> str:
    return f"model {spec.identity} {spec.folder}"


def _usable(stored: Mapping[str, str]) -> Settings:
    """The settings, those that this program cannot read left at their defaults."""
    usable = Settings()
    for name in known_settings().keys() & stored.keys():
        with suppress(BadSetting):
            usable = with_values(usable, {name: stored[name]})
    return usable


def _new_path(name: str) -> str:
    """Where a new page of that name is kept; raises BadPage if import would pass over it."""
    from gbrain.importing.jsonl import page_path
    from gbrain.importing.scan import refuse_unread

    path = page_path(name)
    refuse_unread(path)
    return path
