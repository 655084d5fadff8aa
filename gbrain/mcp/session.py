"""One brain that stays open between calls, which run one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import CancelledError
from threading import Lock
from typing import TypeVar

import anyio
from anyio import to_thread

from gbrain.brain import Brain
from gbrain.brain.models import BrainState

T = TypeVar("T")

# Each abandoned call keeps a brain and its models in memory until it ends.
MAX_ABANDONED_CALLS = 2


class OpenBrain:
    """A brain that is opened on first use, and again when its file, schema or model changes.

    Settings are read again for every use. After `retire` no work begins, and the brain is closed
    as soon as the current work ends.
    """

    def __init__(self, open_brain: Callable[[], Brain]) -> None:
        self._open = open_brain
        self._brain: Brain | None = None
        self._state: BrainState | None = None
        self._lock = Lock()
        self._retired = False
        self.busy = False

    def use(self, work: Callable[[Brain], T]) -> T:
        """Return the result of `work` with the brain; raises CancelledError after `retire`."""
        with self._lock:
            if self._retired:
                raise CancelledError
            self.busy = True
        try:
            return work(self._current())
        finally:
            with self._lock:
                self.busy = False
                if self._retired:
                    self._close()

    def retire(self) -> None:
        """Close the brain now, or when the work that uses it ends."""
        with self._lock:
            self._retired = True
            if not self.busy:
                self._close()

    def _current(self) -> Brain:
        brain = self._brain
        if brain is not None and brain.state() == self._state:
            brain.reload_settings()
            return brain
        self._close()
        self._brain = brain = self._open()
        self._state = brain.state()
        return brain

    def _close(self) -> None:
        brain, self._brain = self._brain, None
        if brain is not None:
            brain.close()


class Session:
    """Runs calls one after the other, in the order they arrive.

    A cancelled call that only reads is abandoned: it ends in the background with its brain, and
    the next call opens another one. A cancelled call that writes is waited for.
    """

    def __init__(self, open_brain: Callable[[], Brain]) -> None:
        self._open = open_brain
        self._current = OpenBrain(open_brain)
        self._abandoned: list[OpenBrain] = []
        self._turn = anyio.Lock()

    async def run(self, work: Callable[[Brain], T], *, writes: bool) -> T:
        """Wait for the calls before this one, and return the result of `work` with the brain."""
        async with self._turn:
            current = self._current
            self._abandoned = [brain for brain in self._abandoned if brain.busy]
            wait = writes or len(self._abandoned) >= MAX_ABANDONED_CALLS
            try:
                return await to_thread.run_sync(current.use, work, abandon_on_cancel=not wait)
            except anyio.get_cancelled_exc_class():
                current.retire()
                self._abandoned.append(current)
                self._current = OpenBrain(self._open)
                raise

    def close(self) -> None:
        """Close the brain; an abandoned one closes when its call ends."""
        self._current.retire()
