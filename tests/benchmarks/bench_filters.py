"""Measures the keyword and the vector lane with filters against the same lanes without one.

    python tests/benchmarks/bench_filters.py BRAIN

BRAIN is a brain file with vectors, such as bench_cold.py builds. Prints the share of the pages that
each filter leaves and the processor time of each lane, as a multiple of the lane without a filter:
the first time that the filter is used after a write, and again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from statistics import median
from time import process_time

from bench_cold import QUERIES

from gbrain.brain import Brain
from gbrain.search.lanes import keyword, vector
from gbrain.store.remembered import RememberingConnection
from gbrain.store.scope import latest_pages
from gbrain.store.vectors import active_space
from gbrain.text.query import parse_query
from gbrain.types import Scope

ROUNDS = 7
FILTERS = {
    "no filter": Scope(),
    "--type note": Scope(type="note"),
    "--tag bench": Scope(tags=("bench",)),
    "--slug-prefix p": Scope(slug_prefix="p"),
    "--slug-prefix people": Scope(slug_prefix="people/"),
    "--wing people": Scope(wing="people"),
    "--tag the": Scope(tags=("the",)),
    "--tag here": Scope(tags=("here",)),
    "--tag in": Scope(tags=("in",)),
    "--room essay": Scope(room="essay"),
    "--exclude one page": Scope(exclude=("people/note-000004",)),
    "--where type=note": Scope(where=(("type", "note"),)),
    "NOT three wings": parse_query(
        "NOT wing:(people OR journal OR meetings)", {}, date.today(), Scope(), 10
    ).scope,
    "--wing and --tag": Scope(wing="people", tags=("the",)),
    "prefix of .3 %": Scope(slug_prefix="journal/note-034"),
    "--after 2020-01-01": Scope(since="2020-01-01"),
    "--after 2026-01-01": Scope(since="2026-01-01"),
    "--after 2026-07-01": Scope(since="2026-07-01"),
    "--after 2026-11-01": Scope(since="2026-11-01", until="2026-12-31"),
}


def measure(work: Callable[[], object], before: Callable[[], None] = lambda: None) -> float:
    """Return the shortest of several runs, in milliseconds of processor time."""

    def once() -> float:
        before()
        began = process_time()
        work()
        return (process_time() - began) * 1000

    return min(once() for _ in range(ROUNDS))


def main() -> None:
    with Brain.open(Path(sys.argv[1])) as brain:
        brain.prepare_for_many_queries()
        brain.database.enable_mmap()
        embedded = {text: brain.embedder.embed_query(text) for text in QUERIES}
        with (
            brain.database.read_transaction() as connection,
            brain.database.second_connection() as second,
        ):
            assert isinstance(connection, RememberingConnection)
            space = active_space(connection)
            assert space

            def measure_lanes(scope: Scope, before: Callable[[], None]) -> tuple[float, float]:
                words, vectors = [], []
                for text in QUERIES:
                    query = parse_query(text, {}, date.today(), scope, 10)
                    by_words = partial(keyword.search, connection, query, brain.settings)
                    by_vector = partial(
                        vector.search,
                        (connection, second), space, embedded[text], query, brain.settings,
                    )  # fmt: skip
                    words.append(measure(by_words, before))
                    vectors.append(measure(by_vector, before))
                return median(words), median(vectors)

            def count_pages(scope: Scope) -> int:
                return len(latest_pages(connection, scope, 1 << 40))

            measure_lanes(Scope(), connection.forget)
            plain = measure_lanes(Scope(), connection.forget)
            print(f"no filter: keyword lane {plain[0]:.1f} ms, vector lane {plain[1]:.1f} ms")
            for name, scope in FILTERS.items():
                # The machine is not equally fast all the time.
                plain = measure_lanes(Scope(), connection.forget)
                first = measure_lanes(scope, connection.forget)
                again = measure_lanes(scope, lambda: None)
                times = [
                    f"{lane} {one / alone:.1f} x, again {other / alone:.1f} x"
                    for lane, one, other, alone in zip(
                        ("keyword", "vector"), first, again, plain, strict=True
                    )
                ]
                share = count_pages(scope) / count_pages(Scope())
                print(f"{name:22} {share:6.1%}   {'   '.join(times)}")


if __name__ == "__main__":
    main()
