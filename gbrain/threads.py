"""A function on a thread beside this one; what it raises is raised where its result is asked for.

Smaller than the standard library's executors, which take longer to load than most of our work.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundCall(Generic[Result]):
    """Starts at once; `result()` waits for the end."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._done: list[Result] = []
        self._failed: list[BaseException] = []

        def run() -> None:
            try:
                self._done.append(work())
            except BaseException as error:
                self._failed.append(error)

        self._thread = Thread(target=run, daemon=True)
        self._thread.start()

    def result(self) -> Result:
        self._thread.join()
        if self._failed:
            raise self._failed[0]
        return self._done[0]
