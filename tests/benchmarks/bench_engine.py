"""Search a brain in PostgreSQL (--no-replica) and in its file: quality, recall, speed, readers.

    python tests/benchmarks/bench_engine.py BRAIN [--dataset DIR] [--questions N] [--copies N]

BRAIN is copied, never written. It is pushed to a server of its own; --url uses a database to which
it was pushed before. With --dataset the ranking is measured with the questions of a labelled set,
otherwise its questions are the first sentences of pages. --copies repeats the chunks with other
vectors, to measure the engine with more of them. Ratios and processor times are more telling than
times: both sides run in turn on the same machine. Recall is that of the ten nearest pages.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from postgres_server import start_server

from gbrain.brain import Brain, today
from gbrain.evaluate.datasets import load_dataset
from gbrain.evaluate.metrics import ndcg, percentile
from gbrain.search.lanes import keyword, vector
from gbrain.shared_brain import SharedBrain
from gbrain.store.partial_database import PartialDatabase
from gbrain.store.postgres import vector_search
from gbrain.store.postgres.connection import SharedStore
from gbrain.store.postgres.indexes import create_indexes, drop_word_indexes
from gbrain.store.vectors import active_space
from gbrain.text.query import parse_query
from gbrain.types import Query, Scope

READERS = 8
READER_SECONDS = 5.0
# Exact searches of more chunks than the file has take seconds each.
RECALL_QUESTIONS, RECALL_QUESTIONS_OF_COPIES = 200, 40


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def describe(times: Sequence[float]) -> str:
    """Return the median and the 95th percentile of times in seconds."""
    middle, high = percentile(times, 0.5), percentile(times, 0.95)
    return f"{1000 * (middle or 0):.0f} / {1000 * (high or 0):.0f} ms"


def processor_time(shared: SharedBrain) -> float:
    """Return the seconds of processor time that this process and its server process used."""
    assert shared._store is not None
    server = shared._store.connection.info.backend_pid
    with open(f"/proc/{server}/schedstat") as file:
        return time.process_time() + int(file.read().split()[0]) / 1e9


def parse(text: str, scope: Scope = Scope()) -> Query:
    return parse_query(text, {}, today(), scope, 10)


def questions_of(local: Brain, count: int) -> list[str]:
    """Return the starts of pages as questions."""
    with local.database.read_transaction() as connection:
        rows = connection.execute("SELECT text FROM chunks ORDER BY id").fetchall()
    chosen = random.Random(1).sample(rows, min(count, len(rows)))
    return [" ".join(text.split()[:9]) for (text,) in chosen]


def measure_quality(local: Brain, shared: SharedBrain, folder: Path, most: int) -> None:
    data = load_dataset(folder)
    asked = data.questions[:most]
    for mode in ("bm25", "auto"):
        gains: dict[str, list[float]] = {"SQLite": [], "PostgreSQL": []}
        same = 0
        for question in asked:
            rankings = []
            for name, brain in (("SQLite", local), ("PostgreSQL", shared)):
                answer = brain.query_with_trace(question.text, mode=mode, limit=10)[0]
                ranking = [hit.slug for hit in answer.hits]
                rankings.append(ranking)
                gains[name].append(ndcg(ranking, data.relevant[question.id], 10))
            same += rankings[0] == rankings[1]
        means = {name: float(np.mean(values)) for name, values in gains.items()}
        print(
            f"{mode:5} nDCG@10  SQLite {means['SQLite']:.4f}  PostgreSQL "
            f"{means['PostgreSQL']:.4f}  same ten pages: {same} of {len(asked)}",
            flush=True,
        )


def run_keyword(brain: Brain, query: Query) -> Any:
    with brain.database.read_transaction() as connection:
        return keyword.search(connection, query, brain.settings)


def run_vector(brain: Brain, query: Query, embedded: Any) -> Any:
    with (
        brain.database.read_transaction() as connection,
        brain.database.second_connection() as second,
    ):
        space = active_space(connection)
        assert space is not None
        return vector.search((connection, second), space, embedded, query, brain.settings)


@contextmanager
def engine_only(shared: SharedBrain) -> Iterator[Any]:
    """Yield the whole brain, inside a transaction; it brings no page into memory."""
    with shared._searching() as whole:
        whole.load = lambda page_ids: set(page_ids)  # type: ignore[method-assign]
        yield whole


def measure_lanes(local: Brain, shared: SharedBrain, texts: list[str]) -> None:
    assert isinstance(shared.database, PartialDatabase)
    counts: dict[str, list[float]] = {"file": [], "engine": [], "whole query": []}
    used: dict[str, list[float]] = {"file": [], "engine": [], "whole query": []}
    for _ in range(2):
        for values in (*counts.values(), *used.values()):
            values.clear()
        for text in texts:
            query = parse(text)
            before = time.process_time()
            counts["file"].append(timed(lambda query=query: run_keyword(local, query))[0])
            used["file"].append(time.process_time() - before)
            with engine_only(shared) as whole:

                def lane(query: Query = query, whole: Any = whole) -> None:
                    found = whole.count_pages_with(query.terms)
                    whole.score_pages_and_chunks(query, found, shared.settings)

                before = processor_time(shared)
                counts["engine"].append(timed(lane)[0])
                used["engine"].append(processor_time(shared) - before)
            before = processor_time(shared)
            counts["whole query"].append(
                timed(lambda text=text: shared.query_with_trace(text, mode="bm25"))[0]
            )
            used["whole query"].append(processor_time(shared) - before)
    for name, values in counts.items():
        print(
            f"keyword lane, {name:12} {describe(values)}, processor {describe(used[name])}",
            flush=True,
        )


def exact_scores(shared: SharedBrain, embedded: Any, query: Query) -> list[float]:
    """Return the scores of the 50 nearest pages by an exact search in the engine."""
    with engine_only(shared) as whole, patch.object(vector_search, "has_index", lambda *_: False):
        chunks = whole.find_nearest(None, embedded, query, 50, None)
    best: dict[int, float] = {}
    for chunk in chunks:
        best.setdefault(chunk.page_id, chunk.score)
    return sorted(best.values(), reverse=True)[:50]


def measure_recall(local: Brain, shared: SharedBrain, vectors: Any, *, copied: bool) -> None:
    """Compare the ten nearest pages with those of an exact search, without and with filters.

    The file answers exactly enough, unless chunks were `copied`, which it does not have.
    """
    with local.database.read_transaction() as connection:
        slugs = [row[0] for row in connection.execute("SELECT slug FROM pages ORDER BY slug")]
        wing = connection.execute("SELECT wing FROM pages LIMIT 1").fetchone()[0]
    scopes = {"no filter": Scope(), f"wing {wing}": Scope(wing=wing)}
    for share in (0.01, 0.15, 0.6):
        scopes[f"prefix {share:.0%}"] = Scope(slug_prefix=_prefix(slugs, share))
    for name, scope in scopes.items():
        found, times, used, file_times, missing = [], [], [], [], 0
        for embedded in vectors:
            query = parse("x", scope)
            if copied:
                wanted = exact_scores(shared, embedded, query)
            else:
                taken, exact = timed(lambda q=query, e=embedded: run_vector(local, q, e))
                file_times.append(taken)
                wanted = [page.score for page in exact.pages[:50]]
            with engine_only(shared) as whole:
                before = processor_time(shared)
                taken, chunks = timed(
                    lambda w=whole, q=query, e=embedded: w.find_nearest(None, e, q, 50, None)
                )
                used.append(processor_time(shared) - before)
            times.append(taken)
            best: dict[int, float] = {}
            for chunk in chunks:
                best.setdefault(chunk.page_id, chunk.score)
            scores = sorted(best.values(), reverse=True)[:10]
            missing += len(best) < len(wanted)
            nearest = wanted[:10]
            found.append(
                sum(score >= nearest[-1] - 1e-3 for score in scores) / len(nearest) if wanted else 1
            )
        share = sum(s.startswith(scope.slug_prefix or "") for s in slugs) / len(slugs)
        print(
            f"vector lane, {name:12} ({share:4.0%}) recall@10 {np.mean(found):.3f}  engine "
            f"{describe(times)}, processor {describe(used)}  file {describe(file_times)}  "
            f"too few: {missing}",
            flush=True,
        )


def _prefix(slugs: list[str], share: float) -> str:
    """Return the prefix whose share of the slugs is nearest to `share`."""
    counts: dict[str, int] = {}
    for slug in slugs:
        for length in range(1, min(len(slug), 20)):
            counts[slug[:length]] = counts.get(slug[:length], 0) + 1
    return min(counts, key=lambda prefix: abs(counts[prefix] / len(slugs) - share))


def _read_engine(arguments: tuple[str, Any]) -> int:
    url, vectors = arguments
    done = 0
    with SharedBrain.open_shared(url) as shared:
        until = time.monotonic() + READER_SECONDS
        while time.monotonic() < until:
            with engine_only(shared) as whole:
                whole.find_nearest(None, vectors[done % len(vectors)], parse("x"), 50, None)
            done += 1
    return done


def _read_file(arguments: tuple[Path, Any]) -> int:
    path, vectors = arguments
    done = 0
    with Brain.open(path, read_only=True) as local:
        local.database.enable_mmap()
        until = time.monotonic() + READER_SECONDS
        while time.monotonic() < until:
            run_vector(local, parse("x"), vectors[done % len(vectors)])
            done += 1
    return done


def measure_readers(path: Path, url: str, vectors: Any) -> None:
    with ProcessPoolExecutor(READERS) as pool:
        engine = sum(pool.map(_read_engine, [(url, vectors)] * READERS)) / READER_SECONDS
        file = sum(pool.map(_read_file, [(path, vectors)] * READERS)) / READER_SECONDS
    print(
        f"{READERS} readers: {engine:.0f} vector queries a second in the engine, {file:.0f} in "
        f"the file: {engine / max(file, 0.1):.1f} times",
        flush=True,
    )


def repeat_chunks(url: str, copies: int) -> None:
    """Add copies of all pages, with the vectors of their chunks moved to a cosine of .87.

    Neighbours among the chunks of the original have about that cosine too.
    """
    with SharedStore(url) as store:
        for number in range(1, copies):
            began = time.monotonic()
            with store.transaction() as cursor:
                cursor.execute("SELECT set_config('statement_timeout', '0', true)")
                drop_word_indexes(cursor)
                for sql in (
                    "DROP INDEX IF EXISTS gbrain.vectors_nearest_1",
                    "INSERT INTO gbrain.search_pages (slug, sequence, type, wing, room, date, "
                    "first_day, last_day, tags, meta, chunks, length, bounds, question_length, "
                    f"words, questions) SELECT 'copy-{number}/' || slug, sequence, type, wing, "
                    "room, date, first_day, last_day, tags, meta, chunks, length, bounds, "
                    "question_length, words, questions FROM gbrain.search_pages "
                    "WHERE slug NOT LIKE 'copy-%'",
                    "INSERT INTO gbrain.search_chunks SELECT c.id, o.position, "
                    f"o.hash || '\\x{number:02x}'::bytea, o.date, o.first_day, o.last_day, "
                    "o.length, o.bounds, o.words FROM gbrain.search_chunks o "
                    "JOIN gbrain.search_pages p ON p.id = o.page JOIN gbrain.search_pages c "
                    f"ON c.slug = 'copy-{number}/' || p.slug WHERE p.slug NOT LIKE 'copy-%'",
                    "INSERT INTO gbrain.vectors SELECT v.model, v.hash || "
                    f"'\\x{number:02x}'::bytea, l2_normalize((v.vector::vector + "
                    "(SELECT array_agg(0.1 * (random() - 0.5) + 0 * n) FROM "
                    "generate_series(1, 384 + 0 * length(v.hash)) AS n)::vector)::halfvec) "
                    "FROM gbrain.vectors v "
                    "WHERE v.hash IN (SELECT c.hash FROM gbrain.search_chunks c "
                    "JOIN gbrain.search_pages p ON p.id = c.page WHERE p.slug NOT LIKE 'copy-%')",
                ):
                    cursor.execute(sql.encode())
            print(f"copy {number}: {time.monotonic() - began:.0f} s", flush=True)
        with store.transaction() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', '0', true)")
            from gbrain.store.postgres.search_index import rebuild_totals

            rebuild_totals(cursor)


def build_index(url: str) -> None:
    with SharedStore(url) as store:
        store.connection.execute("SET maintenance_work_mem = '2GB'")
        taken, names = timed(lambda: create_indexes(store))
        store.connection.execute("VACUUM ANALYZE")
        rows = store.connection.execute(
            "SELECT (SELECT count(*) FROM gbrain.search_chunks), "
            "pg_size_pretty(pg_database_size(current_database())), (SELECT string_agg(relname || "
            "' ' || pg_size_pretty(pg_total_relation_size(oid)), ', ' ORDER BY relname) "
            "FROM pg_class WHERE relnamespace = 'gbrain'::regnamespace AND relkind = 'r' AND "
            "pg_total_relation_size(oid) > 10000000)"
        ).fetchall()
    print(f"index {names}: {taken:.0f} s; chunks, sizes: {rows[0]}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brain", type=Path)
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--url")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "brain.db")
        shutil.copy(options.brain, path)
        with Brain.open(path):
            pass
        if options.url:
            measure(path, options.url, options)
            return
        with start_server(
            shared_buffers="1GB", max_wal_size="8GB", fsync="off", max_connections="40"
        ) as server:
            server.execute("CREATE DATABASE notes")
            url = server.socket_url("notes")
            with Brain.open(path) as brain:
                brain.add_remote("bench", url)
                taken, report = timed(lambda: brain.push("bench"))
                print(
                    f"push: {len(report.pushed):,} pages, {report.vectors:,} vectors {taken:.0f} s"
                )
                print(f"search tables: {timed(lambda: brain.index_remote('bench'))[0]:.0f} s")
            measure(path, url, options)


def measure(path: Path, url: str, options: argparse.Namespace) -> None:
    if options.copies > 1:
        repeat_chunks(url, options.copies)
    build_index(url)
    with Brain.open(path, read_only=True) as local, SharedBrain.open_shared(url) as shared:
        local.database.enable_mmap()
        if options.dataset:
            measure_quality(local, shared, options.dataset, options.questions)
            return
        copied = options.copies > 1
        most = RECALL_QUESTIONS_OF_COPIES if copied else RECALL_QUESTIONS
        texts = questions_of(local, max(options.questions, most))
        vectors = [local.embedder.embed_query(text) for text in texts]
        measure_lanes(local, shared, texts[: options.questions])
        measure_recall(local, shared, vectors[:most], copied=copied)
    measure_readers(path, url, vectors)


if __name__ == "__main__":
    main()
