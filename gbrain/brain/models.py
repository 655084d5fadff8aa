"""`Brain` methods for embedding models, the vectors they make and the queue of embedding jobs."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, NamedTuple

from gbrain.brain.base import BrainFile, timestamp
from gbrain.brain.open_models import acquire_embedder, release_embedder
from gbrain.errors import BadBrain, ModelUnavailable
from gbrain.store import settings
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from gbrain.importing.embed_worker import EmbedLimits, EmbedReport
    from gbrain.models.catalog import ModelSpec
    from gbrain.models.embedder import OnnxEmbedder
    from gbrain.models.reranker import CrossEncoder
    from gbrain.store.connection import Database
    from gbrain.store.jobs import Backlog, QueuedJob
    from gbrain.store.models import ModelRow

# One takes about ten milliseconds.
_SAMPLED_VECTORS = 64
# Telling the language of one takes a third of a millisecond.
_SAMPLED_NOTES = 300
# A model may count a very long word, or a run of blanks, as one token or none.
_MAX_CHARACTERS_PER_TOKEN = 8


class BrainState(NamedTuple):
    """What must not change while a brain is kept open: its file (device, inode), schema, model."""

    file: tuple[int, int] | None
    schema: int
    model: str | None


class ModelMethods(BrainFile):
    """Choose models, embed chunks, look after the embedding queue."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        # By identity: the active model, and during a switch the next one.
        self._embedders: dict[str, OnnxEmbedder] = {}
        self._token_counter: Callable[[Sequence[str]], list[int]] | None = None
        self._cross_encoder: CrossEncoder | None = None

    def close(self) -> None:
        """Close the file and the models; a `with` block does this at its end."""
        self._close_embedders()
        if self._cross_encoder:
            self._cross_encoder.close()
        super().close()

    def prepare_for_many_queries(self) -> None:
        """Let models and vectors be loaded in the way that is fastest in the long run."""
        from gbrain.store.usage_log import try_write
        from gbrain.store.vector_bits import add_missing_stamp
        from gbrain.store.vectors import active_space

        self.keep_open = True
        with self.database.read_transaction() as connection:
            space = active_space(connection)
        if space:
            try_write(self.database, lambda connection: add_missing_stamp(connection, space))

    def load_vectors(self) -> None:
        """Read the vectors of a large brain into memory, which else the sixth query does."""
        from gbrain.store.vector_memory import find_memory
        from gbrain.store.vectors import active_space

        with self.database.read_transaction() as connection:
            space = active_space(connection)
            if space:
                find_memory(connection, space, at_once=True)

    @property
    def embedder(self) -> OnnxEmbedder:
        """The active model, opened on first use."""
        # Another program may have switched to another model.
        return self._embedder_of(self.active_model())

    def _embedder_of(self, model: ModelRow) -> OnnxEmbedder:
        """Return a model, open; models that are no longer in use are closed first."""
        if model.identity not in self._embedders:
            self._close_embedders(self._used_models() - {model.identity})
            self._embedders[model.identity] = acquire_embedder(
                self._verified_spec(model), for_many_texts=self.keep_open
            )
        return self._embedders[model.identity]

    def _used_models(self) -> set[str]:
        """Return the identities of the active and the next model."""
        from gbrain.store import models

        with self.database.read_transaction() as connection:
            used = models.active_model(connection), models.model_in_role(connection, "next")
        return {model.identity for model in used if model}

    @property
    def cross_encoder(self) -> CrossEncoder:
        """The packaged reranker, opened on first use."""
        if self._cross_encoder is None:
            from gbrain.models.catalog import packaged_reranker
            from gbrain.models.reranker import CrossEncoder

            self._cross_encoder = CrossEncoder(packaged_reranker())
        return self._cross_encoder

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the active model (or else the packaged one) makes of a text.

        At least one for every eight characters, because other models split long words.
        """
        return self.count_tokens_of([text])[0]

    def count_tokens_of(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each of the texts has, as `count_tokens` does."""
        if self._token_counter is None:
            self._token_counter = self._open_token_counter()
        return [
            max(count, len(text) // _MAX_CHARACTERS_PER_TOKEN)
            for text, count in zip(texts, self._token_counter(texts), strict=True)
        ]

    def _open_token_counter(self) -> Callable[[Sequence[str]], list[int]]:
        from gbrain.models.catalog import packaged_model
        from gbrain.models.tokenizer import ModelTokenizer

        try:
            model = self.active_model()
            if model.identity in self._embedders:
                return self._embedders[model.identity].count_tokens_of
            is_packaged = model.folder is None
            spec = self.model_spec(model) if is_packaged else self._verified_spec(model)
            return ModelTokenizer.open(spec).count_all
        except (ModelUnavailable, BadBrain):
            return ModelTokenizer.open(packaged_model()).count_all

    def _verified_spec(self, model: ModelRow) -> ModelSpec:
        """Return the model's spec; its files are hashed only if they changed since last time."""
        from gbrain.models.files import verify_if_changed
        from gbrain.store import models

        spec = self.model_spec(model)
        stamp = verify_if_changed(spec, model.files_stamp)
        if stamp != model.files_stamp and not self.read_only:
            with self.database.write_transaction() as connection:
                models.save_files_stamp(connection, model, stamp)
        return spec

    def active_model(self) -> ModelRow:
        """Return the model used for embedding; a new brain gets the packaged one."""
        from gbrain.store import models

        with self.database.read_transaction() as connection:
            active = models.active_model(connection)
        if active is None:
            from gbrain.models.catalog import PACKAGED_MODEL, packaged_model

            self.add_model(packaged_model(), packaged=True)
            active = self.use_model(PACKAGED_MODEL)
        return active

    def models(self) -> list[ModelRow]:
        """Return all models the brain knows, and the packaged ones that are installed."""
        from gbrain.models.catalog import packaged_models
        from gbrain.store import models

        self.active_model()
        with self.database.read_transaction() as connection:
            known = models.list_models(connection)
        for spec in () if self.read_only else packaged_models():
            if spec.identity not in {row.identity for row in known}:
                self._add_packaged(spec)
        with self.database.read_transaction() as connection:
            return models.list_models(connection)

    def model(self, name: str) -> ModelRow:
        """Return the model called `name`; NotFound lists the names there are."""
        from gbrain.models.catalog import OPTIONAL_MODELS, PACKAGED_MODEL, packaged_model
        from gbrain.store import models

        self.active_model()
        with self.database.read_transaction() as connection:
            known = {row.name: row for row in models.list_models(connection)}
        is_packaged = name in (PACKAGED_MODEL, *OPTIONAL_MODELS)
        if is_packaged and (name not in known or _has_changed(known[name])):
            self._add_packaged(packaged_model(name))
        with self.database.read_transaction() as connection:
            return models.require_model(connection, name)

    def _add_packaged(self, spec: ModelSpec) -> None:
        """Register a packaged model, unless another model has its name.

        An earlier version of it, which is no longer packaged, gets another name.
        """
        from gbrain.errors import Conflict
        from gbrain.store import models

        with self.database.write_transaction() as connection:
            models.rename_earlier_version(connection, spec.name, spec.identity)
        with suppress(Conflict):
            self.add_model(spec, packaged=True)

    def model_spec(self, model: ModelRow) -> ModelSpec:
        """Return what is needed to open a model.

        Raises ModelUnavailable for a model folder named in the file that its user never added.
        """
        from gbrain.models.catalog import packaged_model, spec_from_description
        from gbrain.trust import is_trusted

        if model.folder is None:
            if _has_changed(model):
                # Its vectors and those of the new version cannot be compared.
                raise ModelUnavailable(
                    f"{model.name} has changed since the notes were embedded with it",
                    hint=f"gbrain model use {model.name} embeds them again.",
                )
            return packaged_model(model.name)
        spec = spec_from_description(json.loads(model.description), Path(model.folder))
        with self.database.read_transaction() as connection:
            # A relative path names a different folder in each working directory.
            known = spec.folder.is_absolute() and is_trusted(
                settings.brain_identity(connection), _trust_key(spec)
            )
        if not known:
            raise ModelUnavailable(
                f"The brain file names the model {spec.name} in {spec.folder}, "
                "which you have not added on this computer",
                hint=f"If you trust it: gbrain model add {spec.folder}",
            )
        return spec

    def add_model(self, spec: ModelSpec, *, packaged: bool = False) -> None:
        """Register a model; `use_model` makes it the active one."""
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
                from gbrain.trust import remember_trusted

                remember_trusted(settings.brain_identity(connection), _trust_key(spec))

    def use_model(self, name: str, *, trial: bool = False) -> ModelRow:
        """Make a known model the active one at once and queue the chunks it has no vectors for.

        A `trial` changes neither the next model nor the one that `undo_switch` goes back to.
        """
        from gbrain.store import jobs, models

        with self.database.write_transaction() as connection:
            model = models.require_model(connection, name)
            models.activate_model(connection, model, timestamp(), trial=trial)
            jobs.enqueue_missing(connection, model.space, timestamp())
        self._close_embedders()
        return model

    def start_switch(self, name: str) -> ModelRow:
        """Make a model the next one: `embed` makes it active as soon as it has all vectors."""
        from gbrain.store import models

        model = self.model(name)
        with self.database.write_transaction() as connection:
            models.set_role(connection, "next", model, timestamp())
        return model

    def has_english_model(self) -> bool:
        """Return whether the active model is a packaged one that reads only English."""
        from gbrain.search.calibration import reads_only_english

        is_packaged = self.active_model().folder is None
        with self.database.read_transaction() as connection:
            return is_packaged and reads_only_english(connection)

    def foreign_share(self) -> tuple[float, int]:
        """Return the share of notes not in English, and how many notes were long enough to tell."""
        from gbrain.store.pages import sample_bodies
        from gbrain.text.language import MAX_CHARACTERS, foreign_share

        with self.database.read_transaction() as connection:
            return foreign_share(sample_bodies(connection, _SAMPLED_NOTES, MAX_CHARACTERS))

    def has_vectors(self) -> bool:
        """Return whether a chunk is embedded with the active model."""
        from gbrain.store.vectors import active_space, has_vectors

        with self.database.read_transaction() as connection:
            space = active_space(connection)
            return space is not None and has_vectors(connection, space)

    def is_switching(self) -> bool:
        """Return whether another model becomes active when it has all vectors."""
        from gbrain.store import models

        with self.database.read_transaction() as connection:
            return models.model_in_role(connection, "next") is not None

    def next_model(self) -> tuple[ModelRow, int] | None:
        """Return the model that the brain is switching to, and how many vectors it lacks."""
        from gbrain.store import jobs, models

        with self.database.read_transaction() as connection:
            model = models.model_in_role(connection, "next")
            return (model, len(jobs.missing_hashes(connection, model.space))) if model else None

    def undo_switch(self) -> ModelRow:
        """End a switch that is not finished, or go back to the model before the last switch.

        Return the model that is active then. Vectors of the other model are kept.
        """
        from gbrain.errors import NotFound
        from gbrain.store import models

        with self.database.write_transaction() as connection:
            if models.model_in_role(connection, "next"):
                models.set_role(connection, "next", None, timestamp())
                active = models.active_model(connection)
                if active:
                    return active
            previous = models.model_in_role(connection, "previous")
        if previous is None:
            raise NotFound(
                "No other model was active before",
                hint="gbrain model list shows the models.",
                code="no_model",
            )
        return self.use_model(previous.name)

    def _close_embedders(self, keep: Collection[str] = ()) -> None:
        """Close the open models, except those with an identity in `keep`."""
        for identity in self._embedders.keys() - set(keep):
            release_embedder(self._embedders.pop(identity))
        self._token_counter = None

    def remove_model(self, model: ModelRow) -> int:
        """Remove a model and its vectors; return how many vectors there were."""
        from gbrain.store import models

        with self.database.write_transaction() as connection:
            return models.remove_model(connection, model)

    def embed(
        self,
        name: str | None = None,
        *,
        everything: bool = False,
        limit: int | None = None,
        max_seconds: float | None = None,
        continue_switch: bool = True,
        progress: Progress = no_progress,
    ) -> EmbedReport:
        """Embed the chunks that are due, of one page or all; `everything` also retries failures.

        Without a page, a switch of models goes on as well unless `continue_switch` is false, and
        the next model becomes active when it has all vectors.
        """
        from gbrain.importing.embed_worker import EmbedLimits, embed_due_chunks
        from gbrain.store import jobs, pages

        model = self.active_model()
        space = model.space
        page_id = None
        if name:
            with self.database.read_transaction() as connection:
                slug = pages.resolve_slug(connection, name)
                page_id = pages.require_page(connection, slug).id
        if everything or page_id is not None:
            with self.database.write_transaction() as connection:
                jobs.enqueue_missing(connection, space, timestamp(), page_id)
        report = embed_due_chunks(
            self.database,
            space,
            lambda: self._embedder_of(model),
            page_id=page_id,
            limits=EmbedLimits(limit, max_seconds),
            progress=progress,
        )
        if page_id is None and continue_switch:
            left = EmbedLimits(
                None if limit is None else limit - report.done,
                None if max_seconds is None else max_seconds - report.seconds,
            )
            self._continue_switch(report, left, progress)
        return report

    def embed_in_background(self, limit: int, *, continue_switch: bool = True) -> EmbedReport:
        """Embed at most `limit` chunks: those that are due, or else some for the next model."""
        from gbrain.importing.embed_worker import EmbedLimits, EmbedReport

        if self.count_due_jobs():
            return self.embed(limit=limit, continue_switch=False)
        report = EmbedReport()
        if continue_switch:
            self._continue_switch(report, EmbedLimits(limit), no_progress)
        return report

    def _continue_switch(
        self, report: EmbedReport, limits: EmbedLimits, progress: Progress
    ) -> None:
        """Embed for the next model, make it active if it is complete, and add to the report."""
        from gbrain.importing.embed_worker import embed_next_model
        from gbrain.store import models

        with self.database.read_transaction() as connection:
            model = models.model_in_role(connection, "next")
        if model is None:
            return
        more = embed_next_model(
            self.database,
            model.space,
            lambda: self._embedder_of(model),
            limits=limits,
            progress=progress,
        )
        report.done += more.done
        report.left += more.left
        report.seconds += more.seconds
        with self.database.write_transaction() as connection:
            finished = None if more.left else models.finish_switch(connection, timestamp())
            following = models.model_in_role(connection, "next")
        report.switched_to = finished.name if finished else None
        report.switching_to = following.name if following else None
        if finished:
            self._token_counter = None

    def count_foreign_vectors(self, *, repair: bool = False) -> tuple[int, int]:
        """Embed a sample of chunks again; return how many had other vectors, of how many.

        Such vectors were made by another model. With `repair` all vectors of the active model are
        deleted then, and their chunks queued.
        """
        from gbrain.importing.embed_worker import compare_embedded
        from gbrain.store import jobs, models, vectors

        with self.database.read_transaction() as connection:
            model = models.active_model(connection)
            if model is None:
                return 0, 0
            sample = jobs.sample_embedded(connection, model.space, _SAMPLED_VECTORS)
        foreign = compare_embedded(sample, self._embedder_of(model)) if sample else 0
        if foreign and repair:
            with self.database.write_transaction() as connection:
                vectors.remove_all_vectors(connection, model.space)
                jobs.enqueue_missing(connection, model.space, timestamp())
        return foreign, len(sample)

    def embed_new_chunks(self) -> Backlog:
        """Embed chunks that were just written, if they are few; return what still waits."""
        from gbrain.importing.embed_worker import embed_new_chunks

        active = cache(self.active_model)
        return embed_new_chunks(
            self.database, lambda: active().space, lambda: self._embedder_of(active())
        )

    def backlog(self) -> Backlog:
        """Return how many chunks have no vector yet, and how many there are."""
        from gbrain.store import jobs

        with self.database.read_transaction() as connection:
            return jobs.count_backlog(connection)

    def jobs(self, limit: int) -> tuple[list[QueuedJob], int]:
        """Return the first `limit` embedding jobs, failed ones first, and how many there are."""
        from gbrain.store import jobs

        with self.database.read_transaction() as connection:
            return jobs.list_queue(connection, limit)

    def count_due_jobs(self) -> int:
        """Return how many embedding jobs can run now."""
        from gbrain.store import jobs

        with self.database.read_transaction() as connection:
            return jobs.count_due(connection, time())

    def count_failed_jobs(self) -> int:
        """Return how many embedding jobs failed and wait for another attempt."""
        from gbrain.store import jobs

        with self.database.read_transaction() as connection:
            return jobs.count_failed(connection)

    def retry_jobs(self) -> int:
        """Make all waiting embedding jobs due now; return how many."""
        from gbrain.store import jobs

        with self.database.write_transaction() as connection:
            return jobs.make_due(connection)

    def clear_jobs(self) -> int:
        """Remove all embedding jobs; return how many."""
        from gbrain.store import jobs

        with self.database.write_transaction() as connection:
            return jobs.clear(connection)

    def state(self) -> BrainState:
        """Return the file, schema and model; if they differ later, open the brain again."""
        from gbrain.store import models

        with self.database.read_transaction() as connection:
            schema = settings.schema_version(connection)
            model = models.active_model(connection)
        try:
            status = self.path.stat()
        except OSError:
            file = None
        else:
            file = (status.st_dev, status.st_ino)
        return BrainState(file, schema, model.identity if model else None)


def _has_changed(model: ModelRow) -> bool:
    """Tell whether a packaged model is another version than the one that a brain knows."""
    from gbrain.models.catalog import packaged_model

    try:
        return model.folder is None and packaged_model(model.name).identity != model.identity
    except ModelUnavailable:
        return False


def _trust_key(spec: ModelSpec) -> str:
    return f"model {spec.identity} {spec.folder}"
