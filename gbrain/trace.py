"""What each stage of a query did and how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

Detail = str | int | float | bool | None | list[str]


class Stage:
    """One line of the trace; `ms` is wall time, `detail` what the stage has to say."""

    __slots__ = ("detail", "ms", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ms = 0.0
        self.detail: dict[str, Detail] = {}


class Trace:
    """The stages in the order they began, and when the first could."""

    __slots__ = ("began", "stages")

    def __init__(self) -> None:
        self.began = perf_counter()
        self.stages: list[Stage] = []

    @contextmanager
    def stage(self, name: str) -> Iterator[dict[str, Detail]]:
        """Times the block and yields the stage's detail to be filled in."""
        stage = Stage(name)
        self.stages.append(stage)
        began = perf_counter()
        try:
            yield stage.detail
        finally:
            stage.ms = (perf_counter() - began) * 1000
