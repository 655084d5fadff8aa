"""Checks properties on generated input, with a few examples in each run of the tests.

    python tests/faults/test_fuzz.py SECONDS [SEED [PROPERTY...]]

runs for longer, with other input for each seed. Input that breaks a property is printed in its
shortest form.
"""

from __future__ import annotations

import os
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Iterator
from itertools import count, cycle
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import tuples
from properties import PROPERTIES, Property, shared_client, work_folder

# Examples of each property in a run of the tests; slow ones get fewer.
EXAMPLES = {
    "set": 4,
    "lines": 8,
    "query": 12,
    "explain": 12,
    "message": 10,
    "folder": 12,
    "name": 10,
}
DEFAULT_EXAMPLES = 20
EXAMPLES_PER_ROUND = 100


@pytest.fixture(scope="module", autouse=True)
def _sample(embedded_sample: Path) -> Iterator[None]:
    shutil.copy(embedded_sample, work_folder() / "sample.db")
    yield
    clean_up()


def clean_up() -> None:
    if shared_client.cache_info().currsize:
        shared_client().close()
        shared_client.cache_clear()
    shutil.rmtree(work_folder())


def make_test(
    prop: Property, examples: int, number: int | None, seen: Counter[str], name: str
) -> Any:
    """Return a test of the property; examples are always the same unless `number` is a seed."""

    def check(arguments: tuple[Any, ...]) -> None:
        seen[name] += 1
        prop.check(*arguments)

    test = settings(
        max_examples=examples,
        deadline=None,
        derandomize=number is None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )(given(tuples(*prop.strategies))(check))
    return test if number is None else seed(number)(test)


@pytest.mark.parametrize("times", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROPERTIES)
def test_property_holds(name: str, times: int) -> None:
    examples = times * EXAMPLES.get(name, DEFAULT_EXAMPLES)
    make_test(PROPERTIES[name], examples, None, Counter(), name)()


def main() -> None:
    seconds, first = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    os.environ["GBRAIN_NOW"] = "2026-11-16T12:00:00"
    began, seen, broken = monotonic(), Counter[str](), Counter[str]()
    numbers = count(first * 1_000_000)
    for name in cycle(sys.argv[3:] or PROPERTIES):
        if monotonic() - began > seconds:
            break
        number = next(numbers)
        try:
            make_test(PROPERTIES[name], EXAMPLES_PER_ROUND, number, seen, name)()
        except Exception:
            broken[name] += 1
            print(f"--- {name}, seed {number}\n{traceback.format_exc(chain=False)}", flush=True)
    clean_up()
    print(", ".join(f"{name} {inputs}" for name, inputs in seen.items()))
    print(
        f"{seen.total()} inputs in {monotonic() - began:.0f} s, seed {first}: {dict(broken)} broken"
    )
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
