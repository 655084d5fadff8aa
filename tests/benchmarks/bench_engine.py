"""Search a brain in PostgreSQL (--no-replica) and in its file: quality, recall, speed, readers.

    python tests/benchmarks/bench_engine.py BRAIN [STEP...] [--url URL] [--dataset DIR]
        [--questions N] [--copies N [--base FILE]]

BRAIN is copied, never written. The steps are push, index, lanes, recall and readers; without any,
all of them run, on a server of their own. With --url, an empty database on this machine, each can
be run when the machine is quiet. With --dataset the step quality measures the ranking with the
questions of a labelled set; otherwise questions are the first sentences of pages. --copies repeats
the pages and gives all chunks other vectors, to measure the engine with more of them: made of those
of the brain, or of the unit vectors in the rows of FILE (.npy). Ratios and processor times are more
telling than times: both sides run in turn on the same machine. Recall is that of the ten nearest
pages.
"""

from __future__ import annotations

import argparse
import os
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

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "faults"))
from postgres_server import start_server

from gbrain.brain import Brain, today
from gbrain.evaluate.datasets import load_dataset
from gbrain.evaluate.metrics import ndcg, percentile
from gbrain.remotes.indexing import index_pages
from gbrain.search.lanes import keyword, vector
from gbrain.shared_brain import SharedBrain
from gbrain.store import keyword_index
from gbrain.store.postgres.connection import LONG_TRANSACTION_SECONDS, SharedStore
from gbrain.store.postgres.indexes import create_indexes, drop_word_indexes
from gbrain.store.postgres.page_loader import ParsedPages
from gbrain.store.postgres.search_index import rebuild_totals
from gbrain.store.postgres.vectors import ModelKey, push_vectors
from gbrain.store.postgres.word_indexes import MatchCounts
from gbrain.store.remembered import RememberingConnection
from gbrain.store.vectors import active_space, chunk_vectors
from gbrain.text.query import parse_query
from gbrain.types import Query, Scope

READERS = 8
READER_SECONDS = 5.0
# Exact searches of more chunks than the file has take seconds each.
RECALL_QUESTIONS, RECALL_QUESTIONS_OF_COPIES = 200, 40
# Chosen so that of 26,001 different texts the made vectors have about the local dimension of the
# real ones, 22 to 27 instead of 31, and about their distances.
NEIGHBOURS, STEP = 100, 0.3
BLOCK = 20_000


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
        whole._read_pages = lambda page_ids, needed, more=(): []  # type: ignore[method-assign]
        yield whole


def measure_lanes(local: Brain, shared: SharedBrain, texts: list[str]) -> None:
    """Time the keyword lane: its counts and scores alone, and with the pages that it returns.

    The times of lanes are without that of opening a transaction, which a query does once.
    """

    def score(brain: Brain, query: Query) -> None:
        with brain.database.read_transaction() as connection:
            counts = keyword_index.count_pages_with(connection, query.terms)
            keyword.find_matches(connection, query, counts, brain.settings)

    def clock(work: Callable[[], object]) -> tuple[float, float]:
        before = processor_time(shared)
        taken, _ = timed(work)
        return taken, processor_time(shared) - before

    def score_shared(query: Query) -> tuple[float, float]:
        with engine_only(shared):
            return clock(lambda: score(shared, query))

    def search_shared(query: Query) -> tuple[float, float]:
        with shared._searching():
            return clock(lambda: run_keyword(shared, query))

    def ask(brain: Brain, mode: str | None) -> Callable[[Query], tuple[float, float]]:
        return lambda query: clock(lambda: brain.query_with_trace(query.text, mode=mode))

    measured: dict[str, Callable[[Query], tuple[float, float]]] = {
        "scores, file": lambda query: clock(lambda: score(local, query)),
        "scores, engine": score_shared,
        "whole lane, file": lambda query: clock(lambda: run_keyword(local, query)),
        "whole lane, engine": search_shared,
        "whole query, file": ask(local, "bm25"),
        "whole query, engine": ask(shared, "bm25"),
        "hybrid query, file": ask(local, None),
        "hybrid query, engine": ask(shared, None),
    }
    times: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    # In turn: the machine is not equally fast all the time.
    for again in (False, True):
        for text in texts:
            for name, work in measured.items():
                if not again:
                    _forget(local, shared)
                times.setdefault((name, again), []).append(work(parse(text)))
    for (name, again), pairs in times.items():
        walls, processor = zip(*pairs, strict=True)
        print(
            f"keyword, {name + (', again' if again else ''):30} {describe(walls)}, "
            f"processor {describe(processor)}",
            flush=True,
        )


def _forget(local: Brain, shared: SharedBrain) -> None:
    """Forget the counts of words and the parsed pages of earlier queries."""
    shared._parsed, shared._counts = ParsedPages(), MatchCounts()
    with local.database.read_transaction() as connection:
        assert isinstance(connection, RememberingConnection)
        connection.forget()


def exact_scores(shared: SharedBrain, embedded: Any, query: Query) -> list[float]:
    """Return the scores of the 50 nearest pages by an exact search in the engine."""
    with engine_only(shared) as whole:
        whole._has_vector_index = False
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


def _read_plain(arguments: tuple[str, Any]) -> int:
    """Ask for the ten nearest vectors in plain SQL, and for nothing else."""
    url, vectors = arguments
    done = 0
    with SharedStore(url) as store:
        store.connection.execute("SET hnsw.ef_search = 400")
        until = time.monotonic() + READER_SECONDS
        while time.monotonic() < until:
            numbers = vectors[done % len(vectors)].tolist()
            store.connection.execute(
                "SELECT hash FROM gbrain.vectors WHERE model = 1 ORDER BY "
                f"vector::halfvec({len(numbers)}) <#> %s::halfvec LIMIT 10".encode(),
                (str(numbers),),
            ).fetchall()
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
        plain = sum(pool.map(_read_plain, [(url, vectors)] * READERS)) / READER_SECONDS
        engine = sum(pool.map(_read_engine, [(url, vectors)] * READERS)) / READER_SECONDS
        file = sum(pool.map(_read_file, [(path, vectors)] * READERS)) / READER_SECONDS
    print(
        f"{READERS} readers, vector queries a second: {engine:.0f} in the engine, {file:.0f} in "
        f"the file ({engine / max(file, 0.1):.1f} times), {plain:.0f} in plain SQL for ten vectors",
        flush=True,
    )


def repeat_pages(url: str, copies: int, base: Any) -> None:
    """Add copies of all pages, and give all chunks vectors made of those in `base`.

    Slugs that follow each other get similar vectors, so that a filter by prefix is one by subject;
    wings, types and tags have nothing to do with the vectors.
    """
    with SharedStore(url) as store:
        for number in range(1, copies):
            taken, _ = timed(lambda number=number: _repeat_once(store, number))
            print(f"copy {number}: {taken:.0f} s", flush=True)
        with store.transaction(LONG_TRANSACTION_SECONDS) as cursor:
            rebuild_totals(cursor)
            rows = cursor.execute(
                "SELECT c.hash FROM gbrain.search_chunks c JOIN gbrain.search_pages p "
                "ON p.id = c.page GROUP BY c.hash ORDER BY min(p.slug), min(c.position)"
            ).fetchall()
            model = cursor.execute("SELECT identity, dimension FROM gbrain.models").fetchone()
            cursor.execute("DROP INDEX IF EXISTS gbrain.vectors_nearest_1")
            cursor.execute("TRUNCATE gbrain.vectors")
        key, hashes = ModelKey(*(model or ("", 0))), [row[0] for row in rows]
        for start, vectors in enlarge_vectors(base, len(hashes)):
            with store.transaction() as cursor:
                chosen = hashes[start : start + len(vectors)]
                push_vectors(cursor, key, list(zip(chosen, vectors, strict=True)))


def _repeat_once(store: SharedStore, number: int) -> None:
    """Add a copy of each page and of its chunks, with other hashes."""
    with store.transaction(LONG_TRANSACTION_SECONDS) as cursor:
        drop_word_indexes(cursor)
        for sql in (
            "INSERT INTO gbrain.search_pages (slug, sequence, type, wing, room, date, first_day, "
            "last_day, tags, meta, chunks, length, bounds, question_length, words, questions) "
            f"SELECT slug || '-copy-{number}', sequence, type, wing, room, date, first_day, "
            "last_day, tags, meta, chunks, length, bounds, question_length, words, questions "
            "FROM gbrain.search_pages WHERE slug NOT LIKE '%-copy-_'",
            "INSERT INTO gbrain.search_chunks SELECT c.id, o.position, "
            f"o.hash || '\\x{number:02x}'::bytea, o.date, o.first_day, o.last_day, o.length, "
            "o.bounds, o.words FROM gbrain.search_chunks o JOIN gbrain.search_pages p "
            "ON p.id = o.page JOIN gbrain.search_pages c "
            f"ON c.slug = p.slug || '-copy-{number}' WHERE p.slug NOT LIKE '%-copy-_'",
        ):
            cursor.execute(sql.encode())


def enlarge_vectors(base: Any, count: int) -> Iterator[tuple[int, Any]]:
    """Yield unit vectors in blocks, each with its first number: `count` in all.

    Each is a vector of `base` that is moved along differences between its neighbours, so that all
    lie where those of texts do. Noise in all directions would not: it made copies of a text to
    islands of their own.
    """
    rng = np.random.default_rng(5)
    base = base.astype(np.float32) / np.linalg.norm(base.astype(np.float32), axis=1, keepdims=True)
    near = np.zeros((len(base), NEIGHBOURS), np.int32)
    for start in range(0, len(base), 2000):
        cosines = base[start : start + 2000] @ base.T
        cosines[cosines > 0.998] = -1
        near[start : start + 2000] = np.argpartition(-cosines, NEIGHBOURS, axis=1)[:, :NEIGHBOURS]

    def neighbours(rows: Any) -> Any:
        return base[near[rows, rng.integers(0, NEIGHBOURS, len(rows))]]

    order = np.concatenate(_similar_in_order(base, np.arange(len(base)), rng))
    parents = order[np.arange(count) * len(base) // count]
    own = np.zeros(count, bool)
    own[np.unique(parents, return_index=True)[1]] = True
    for start in range(0, count, BLOCK):
        rows = parents[start : start + BLOCK]
        moved = base[rows].copy()
        moved += rng.uniform(0, 0.3, (len(rows), 1)) * (neighbours(rows) - moved)
        for _ in range(10):
            step = rng.normal(0, STEP, (len(rows), 1))
            moved += step * (neighbours(rows) - neighbours(rows))
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        chosen = own[start : start + BLOCK]
        moved[chosen] = base[rows[chosen]]
        yield start, moved


def _similar_in_order(base: Any, rows: Any, rng: Any) -> list[Any]:
    """Return the rows in parts, similar ones near each other: halves along the main direction."""
    if len(rows) < 20:
        return [rows]
    centred = base[rows] - base[rows].mean(0)
    direction = centred[rng.integers(len(centred))]
    for _ in range(4):
        direction = centred.T @ (centred @ direction)
        direction /= np.linalg.norm(direction)
    rows = rows[np.argsort(centred @ direction)]
    middle = len(rows) // 2
    return [
        *_similar_in_order(base, rows[:middle], rng),
        *_similar_in_order(base, rows[middle:], rng),
    ]


def brain_vectors(local: Brain) -> Any:
    """Return the vectors of the chunks of a brain."""
    with local.database.read_transaction() as connection:
        space = active_space(connection)
        assert space is not None
        ids = [row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")]
        return np.array(list(chunk_vectors(connection, space, ids).values()))


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


def push(path: Path, url: str) -> None:
    with Brain.open(path) as brain:
        brain.add_remote("bench", url)
        taken, report = timed(lambda: brain.push("bench"))
        print(f"push: {len(report.pushed):,} pages, {report.vectors:,} vectors {taken:.0f} s")
        with SharedStore(url) as store:
            print(f"search tables: {timed(lambda: index_pages(store))[0]:.0f} s", flush=True)


STEPS = ("push", "index", "lanes", "recall", "readers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("brain", type=Path)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=", ".join((*STEPS, "quality")))
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--questions", type=int, default=100)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--base", type=Path)
    parser.add_argument("--url")
    options = parser.parse_args()
    if unknown := set(options.steps).difference(STEPS, ("quality",)):
        parser.error(f"no such step: {', '.join(unknown)}")
    steps = options.steps or (["push", "index", "quality"] if options.dataset else STEPS)
    with tempfile.TemporaryDirectory() as folder:
        # What is added there is trusted there only.
        os.environ["XDG_STATE_HOME"] = folder
        path = Path(folder, "brain.db")
        shutil.copy(options.brain, path)
        with Brain.open(path):
            pass
        with database(options.url) as url:
            measure(path, url, steps, options)


@contextmanager
def database(url: str | None) -> Iterator[str]:
    """Yield the URL of a database: the given one, or one on a server of its own."""
    if url:
        yield url
        return
    settings = {"shared_buffers": "1GB", "max_wal_size": "8GB", "fsync": "off"}
    with start_server(max_connections="40", **settings) as server:
        server.execute("CREATE DATABASE notes")
        yield server.socket_url("notes")


def measure(path: Path, url: str, steps: Sequence[str], options: argparse.Namespace) -> None:
    if "push" in steps:
        push(path, url)
        if options.copies > 1:
            with Brain.open(path, read_only=True) as local:
                base = np.load(options.base) if options.base else brain_vectors(local)
            repeat_pages(url, options.copies, base)
    if "index" in steps:
        build_index(url)
    if not {"quality", "lanes", "recall", "readers"}.intersection(steps):
        return
    with Brain.open(path, read_only=True) as local, SharedBrain.open_shared(url) as shared:
        local.database.enable_mmap()
        if "quality" in steps:
            measure_quality(local, shared, options.dataset, options.questions)
        copied = options.copies > 1
        most = RECALL_QUESTIONS_OF_COPIES if copied else RECALL_QUESTIONS
        texts = questions_of(local, max(options.questions, most))
        if "lanes" in steps:
            measure_lanes(local, shared, texts[: options.questions])
        vectors = []
        if not {"recall", "readers"}.isdisjoint(steps):
            vectors = [local.embedder.embed_query(text) for text in texts]
        if "recall" in steps:
            measure_recall(local, shared, vectors[:most], copied=copied)
    if "readers" in steps:
        measure_readers(path, url, vectors)


if __name__ == "__main__":
    main()
