"""`Brain` methods that answer queries and record which questions were asked and pages opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack, cast

from gbrain.brain.base import clock, timestamp, today
from gbrain.brain.models import ModelMethods
from gbrain.config import override_settings
from gbrain.search.pipeline import QueryPlan, StageResults, run_query
from gbrain.store import settings
from gbrain.text.query import parse_query
from gbrain.trace import Trace
from gbrain.types import Answer, Depth, Hit, MergeStrategy, Mode, Scope

if TYPE_CHECKING:
    from gbrain.search.boost_factors import CustomBoost
    from gbrain.search.explain.why_not import WhyNot
    from gbrain.search.rerank.scores import RerankResources
    from gbrain.store.jobs import Backlog
    from gbrain.store.usage_log import HitLocation, TrainingExample
    from gbrain.store.vector_space import Floats

# The model needs seconds for a longer text.
_MAX_EMBEDDED_CHARACTERS = 4_000


class QueryArguments(TypedDict, total=False):
    """The optional arguments of a query; None and absent mean the brain's setting.

    `depth="auto"` adds context of at most `budget` tokens. `changes` are settings for this query
    only, written as for `config set`. A text that is the name of a page is answered by that page
    alone; with `all_hits` or the mode bm25, other pages follow it.
    """

    scope: Scope
    limit: int | None
    mode: Mode | None
    merge: MergeStrategy | None
    depth: Depth | None
    budget: int | None
    boosts: tuple[CustomBoost, ...]
    changes: Mapping[str, str]
    all_hits: bool


class QueryMethods(ModelMethods):
    """Answer queries, and record their use."""

    def query(self, text: str, **arguments: Unpack[QueryArguments]) -> Answer:
        """Return the pages that answer `text`, best first, from the keyword and vector lanes."""
        answered, results = self.query_with_trace(text, **arguments)
        if results.plan.settings.record_queries:
            self._record_query(answered, results)
        return answered

    def search(self, text: str, *, scope: Scope = Scope(), limit: int | None = None) -> Answer:
        """Return the pages that contain the words of `text`, best first; no model is loaded."""
        return self.query(text, scope=scope, limit=limit, mode="bm25")

    def query_with_trace(
        self, text: str, **arguments: Unpack[QueryArguments]
    ) -> tuple[Answer, StageResults]:
        """Return what `query` does and the result of each stage; the query is not recorded."""
        limit, changes = arguments.get("limit"), arguments.get("changes", {})
        chosen = override_settings(self.settings, changes) if changes else self.settings
        mode = arguments.get("mode") or cast(Mode, chosen.search_mode)
        # Keyword mode loads no model, unless this query explicitly asks for a reranker.
        if mode == "bm25" and chosen.rerank != "off" and "rerank" not in changes:
            chosen = override_settings(chosen, {"rerank": "off"})
        day = today()
        self.database.enable_mmap()
        trace = Trace()
        with trace.stage("parse"):
            with self.database.read_transaction() as connection:
                known = settings.read_aliases(connection)
            scope = arguments.get("scope", Scope())
            question = parse_query(text, known, day, scope, limit or chosen.default_limit)
        budget = arguments.get("budget") or chosen.default_token_budget
        plan = QueryPlan(
            mode=mode,
            merge=arguments.get("merge") or cast(MergeStrategy, chosen.search_merge_strategy),
            settings=chosen,
            today=day,
            embed=self._embed_query,
            embed_new_chunks=lambda: self._embed_new_chunks(trace),
            count_tokens=self.count_tokens_of,
            rerank_resources=self._rerank_resources,
            budget=budget if arguments.get("depth") else None,
            # Without an explicit limit the relevance alone decides.
            max_context_pages=limit,
            boosts=arguments.get("boosts", ()),
            pin_named_page=arguments.get("all_hits", False) or mode == "bm25",
        )
        if chosen.rerank == "command":
            self._check_command()
        return run_query(self.database, question, plan, trace)

    def explain_missing(
        self,
        name: str,
        answered: Answer,
        results: StageResults,
        *,
        given: Mapping[str, str] | None = None,
        **arguments: Unpack[QueryArguments],
    ) -> WhyNot:
        """Return why the page called `name` is not among the hits, and what would change that.

        `arguments` are those that `query_with_trace` was called with; `given` names the option
        that a setting's value came from, by setting.
        """
        from gbrain.search.explain.ranked_too_low import ExplainedQuery
        from gbrain.search.explain.why_not import why_not
        from gbrain.store.pages import require_named_page

        with self.database.read_transaction() as connection:
            page = require_named_page(connection, name)
        explained = ExplainedQuery(
            self.query_with_trace, self.settings, answered, results, arguments, given or {}
        )
        return why_not(self.database, explained, page.id, page.slug)

    def _embed_query(self, text: str) -> Floats:
        text = text[:_MAX_EMBEDDED_CHARACTERS]
        embedder = self.embedder
        if embedder.spec.average_query:
            return embedder.embed_query_averaged(text)
        return embedder.embed_query(text)

    def _embed_new_chunks(self, trace: Trace) -> Backlog:
        backlog = self.backlog()
        if backlog.waiting:
            with trace.stage("embed_new") as detail:
                left = self.embed_new_chunks()
                detail["chunks"] = backlog.waiting - left.waiting
            return left
        return backlog

    def _rerank_resources(self) -> RerankResources:
        from gbrain.search.rerank.scores import RerankResources

        return RerankResources(
            cross_encoder=lambda: self.cross_encoder,
            embedder=lambda: self.embedder,
            command=self.settings.rerank_command,
            today=clock().date().isoformat(),
        )

    def _check_command(self) -> None:
        """Raise GbrainError for a command that came with the file, unless the user confirms it."""
        from gbrain.errors import GbrainError
        from gbrain.trust import is_trusted, remember_trusted

        command = self.settings.rerank_command
        with self.database.read_transaction() as connection:
            brain = settings.brain_identity(connection)
        if not command or is_trusted(brain, command):
            return
        if not self.confirm(command):
            raise GbrainError(
                "The brain file contains a command that you have not approved: "
                f"{' '.join(command.split())}",
                hint="gbrain config set rerank_command COMMAND approves it; "
                "gbrain config reset rerank_command removes it.",
                code="unknown_command",
            )
        remember_trusted(brain, command)

    def filter_hints(self, scope: Scope) -> list[str]:
        """Return a sentence for each filter whose value no page has, with similar values."""
        from gbrain.store.scope import filter_values, unmatched_filters

        with self.database.read_transaction() as connection:
            return list(unmatched_filters(scope, partial(filter_values, connection)))

    # --- usage -------------------------------------------------------------------------------

    def _record_query(self, answered: Answer, results: StageResults) -> None:
        """Record a query with the pages it found, unless the file is busy."""
        from gbrain.search.rerank.learned import DEFAULT_HALF_LIFE_DAYS, compute_features
        from gbrain.store import usage_log
        from gbrain.store.ranking_data import BoostDataRequest, read_boost_data
        from gbrain.store.usage_log import try_write

        ranked = results.boosted.ranked
        with self.database.read_transaction() as connection:
            chosen = {page.page_id: page.chunk_id for page in ranked}
            known = read_boost_data(connection, chosen, BoostDataRequest(opens=True))
        half_life = self.settings.recency_half_life_days or DEFAULT_HALF_LIFE_DAYS
        rows = compute_features(ranked, known, clock().date().isoformat(), half_life)
        shown = [page.page_id for page in results.threshold.kept[: len(answered.hits)]]
        hits = [usage_log.ShownPage(page_id, rows[page_id]) for page_id in shown if page_id in rows]
        try_write(
            self.database,
            lambda connection: usage_log.log_query(
                connection,
                answered.query,
                timestamp(),
                answered.mode,
                answered.verdict.grade,
                hits,
                self.settings.keep_queries,
            ),
        )

    def record_open(self, page_id: int) -> None:
        """Count that a page was opened, unless `record_access` is off or the file is busy."""
        if self.settings.record_access:
            from gbrain.store.usage_log import log_open, try_write

            try_write(self.database, lambda connection: log_open(connection, page_id, timestamp()))

    def remember_hits(self, hits: Iterable[Hit]) -> None:
        """Store which page has which rank, for `last_hit`, unless the file is busy."""
        from gbrain.store.usage_log import HitLocation, save_last_hits, try_write

        places = [
            HitLocation(hit.rank, hit.slug, hit.chunk.lines[0] if hit.chunk else None)
            for hit in hits
        ]
        try_write(self.database, lambda connection: save_last_hits(connection, places))

    def last_hit(self, rank: int) -> HitLocation | None:
        """Return the hit with this rank of the last answer that `remember_hits` stored."""
        from gbrain.store.usage_log import find_last_hit

        with self.database.read_transaction() as connection:
            return find_last_hit(connection, rank)

    def reranker_lessons(self, width: int) -> list[TrainingExample]:
        """Return the recorded queries with an opened hit, in the order they were asked.

        Hits with another number of features than `width` are left out.
        """
        from gbrain.store.usage_log import training_examples

        with self.database.read_transaction() as connection:
            return list(training_examples(connection, width))

    def keep_reranker(self, weights: str) -> None:
        """Store the weights of the learned reranker."""
        from gbrain.store.usage_log import RERANKER, save_weights

        with self.database.write_transaction() as connection:
            save_weights(connection, RERANKER, weights, timestamp())
