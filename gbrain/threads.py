"""Run a function in a background thread and get its result or exception later.

Not concurrent.futures: importing it takes longer than most of the calls made here.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

Result = TypeVar("Result")


class BackgroundCall(Generic[Result]):
    """A call of `work` in a thread that starts at once."""

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
        """Wait for the call to end; return its result or raise its exception."""
        self._thread.join()
        if self._failed:
            raise self._failed[0]
        return self._done[0]
