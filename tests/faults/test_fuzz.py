"""Tries laws on input that nobody would write, a little in each run of the tests.

    python tests/faults/test_fuzz.py SECONDS [SEED [LAW...]]

goes on for longer, with other input for each seed. What breaks a law is printed in its shortest
form, and the law is tried on.
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
from properties import LAWS, Law, speaker, workshop

# Examples of each law in a run of the tests; those that take long are tried less often.
FEW = {"set": 4, "lines": 8, "query": 12, "explain": 12, "message": 10, "vault": 12, "name": 10}
USUAL = 20
AT_A_TIME = 100


@pytest.fixture(scope="module", autouse=True)
def _sample(embedded_sample: Path) -> Iterator[None]:
    shutil.copy(embedded_sample, workshop() / "sample.db")
    yield
    tidy()


def tidy() -> None:
    if speaker.cache_info().currsize:
        speaker().close()
        speaker.cache_clear()
    shutil.rmtree(workshop())


def tried(law: Law, examples: int, number: int | None, seen: Counter[str], name: str) -> Any:
    """The law as a test of so many examples, the same each time unless `number` is a seed."""

    def holds(arguments: tuple[Any, ...]) -> None:
        seen[name] += 1
        law.holds(*arguments)

    test = settings(
        max_examples=examples,
        deadline=None,
        derandomize=number is None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )(given(tuples(*law.given))(holds))
    return test if number is None else seed(number)(test)


@pytest.mark.parametrize("name", LAWS)
def test_a_law_holds(name: str) -> None:
    tried(LAWS[name], FEW.get(name, USUAL), None, Counter(), name)()


def main() -> None:
    seconds, first = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    os.environ["GBRAIN_NOW"] = "2026-11-16T12:00:00"
    began, seen, broken = monotonic(), Counter[str](), Counter[str]()
    numbers = count(first * 1_000_000)
    for name in cycle(sys.argv[3:] or LAWS):
        if monotonic() - began > seconds:
            break
        number = next(numbers)
        try:
            tried(LAWS[name], AT_A_TIME, number, seen, name)()
        except Exception:
            broken[name] += 1
            print(f"--- {name}, seed {number}\n{traceback.format_exc(chain=False)}", flush=True)
    tidy()
    print(", ".join(f"{name} {inputs}" for name, inputs in seen.items()))
    print(
        f"{seen.total()} inputs in {monotonic() - began:.0f} s, seed {first}: {dict(broken)} broken"
    )
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
