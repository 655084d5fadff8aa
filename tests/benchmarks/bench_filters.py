"""Measures the keyword and the vector lane with filters against the same lanes without one.

    python tests/benchmarks/bench_filters.py BRAIN

BRAIN is a brain file with vectors, such as bench_cold.py builds. Prints the share of the pages that
each filter leaves and the processor time of each lane, as a multiple of the lane without a filter.
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
from gbrain.store.keyword_index import latest_pages
from gbrain.store.vectors import active_space
from gbrain.text.query import parse_query
from gbrain.types import Scope

ROUNDS = 5
FILTERS = {
    "no filter": Scope(),
    "--type note": Scope(type="note"),
    "--tag bench": Scope(tags=("bench",)),
    "--slug-prefix p": Scope(slug_prefix="p"),
    "--slug-prefix people": Scope(slug_prefix="people/"),
    "--wing people": Scope(wing="people"),
    "--tag the": Scope(tags=("the",)),
    "--tag here": Scope(tags=("here",)),
    "--after 2020-01-01": Scope(since="2020-01-01"),
    "--after 2026-01-01": Scope(since="2026-01-01"),
    "--after 2026-11-01": Scope(since="2026-11-01", until="2026-12-31"),
}


def measure(work: Callable[[], object]) -> float:
    """Return the shortest of several runs, in milliseconds of processor time."""

    def once() -> float:
        began = process_time()
        work()
        return (process_time() - began) * 1000

    return min(once() for _ in range(ROUNDS))


def main() -> None:
    with Brain.open(Path(sys.argv[1])) as brain:
        brain.database.enable_mmap()
        embedded = {text: brain.embedder.embed_query(text) for text in QUERIES}
        with (
            brain.database.read_transaction() as connection,
            brain.database.second_connection() as second,
        ):
            space = active_space(connection)
            assert space

            def measure_lanes(scope: Scope) -> tuple[float, float]:
                words, vectors = [], []
                for text in QUERIES:
                    query = parse_query(text, {}, date.today(), scope, 10)
                    by_words = partial(keyword.search, connection, query, brain.settings)
                    by_vector = partial(
                        vector.search,
                        (connection, second), space, embedded[text], query, brain.settings,
                    )  # fmt: skip
                    words.append(measure(by_words))
                    vectors.append(measure(by_vector))
                return median(words), median(vectors)

            def count_pages(scope: Scope) -> int:
                return len(latest_pages(connection, scope, 1 << 40))

            plain = measure_lanes(Scope())
            for name, scope in FILTERS.items():
                words, vectors = measure_lanes(scope)
                print(
                    f"{name:22} {count_pages(scope) / count_pages(Scope()):6.1%}"
                    f"   keyword {words:6.1f} ms, {words / plain[0]:4.1f} x"
                    f"   vector {vectors:6.1f} ms, {vectors / plain[1]:4.1f} x"
                )


if __name__ == "__main__":
    main()
