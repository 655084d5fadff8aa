"""Record the stages of a query: their names, times and details."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

# The detail with the first pages of a lane or ranking.
SCORES = "scores"

PageScore = dict[str, str | float]
Detail = str | int | float | bool | None | list[str] | list[PageScore]


class Stage:
    """A stage of a query; `ms` is wall-clock time, `detail` what `--debug` prints of it."""

    __slots__ = ("detail", "ms", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ms = 0.0
        self.detail: dict[str, Detail] = {}


class Trace:
    """The stages of a query in the order they began; `began` is the start of the query."""

    __slots__ = ("began", "stages")

    def __init__(self) -> None:
        self.began = perf_counter()
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Detail]]:
        """Time the block as a stage and yield its detail, to be filled in."""
        stage = Stage(name)
        self.stages.append(stage)
        began = perf_counter()
        try:
            yield stage.detail
        finally:
            stage.ms = (perf_counter() - began) * 1000
