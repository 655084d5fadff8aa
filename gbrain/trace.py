"""What each stage of a query did and how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

Detail = str | int | float | bool | None | list[str]


@dataclass(slots=True)
class Stage:
    """One line of the trace; `ms` is wall time, `detail` what the stage has to say."""

    name: str
    ms: float = 0.0
    detail: dict[str, Detail] = field(default_factory=dict)


@dataclass(slots=True)
class Trace:
    """The stages in the order they began."""

    stages: list[Stage] = field(default_factory=list)

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
