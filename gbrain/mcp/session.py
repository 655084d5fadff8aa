"""One brain kept open between calls, its models with it, used by one thread at a time."""

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


class Kept:
    """A brain that is opened on first use and again when its file or its model is another.

    Settings are read anew for every use. Whoever gives up waiting for a use retires it: the
    brain is then closed as soon as the work is over, and no other work begins.
    """

    def __init__(self, open_brain: Callable[[], Brain]) -> None:
        self._open = open_brain
        self._brain: Brain | None = None
        self._state: BrainState | None = None
        self._lock = Lock()
        self._retired = False
        self.busy = False

    def use(self, work: Callable[[Brain], T]) -> T:
        """What `work` makes of the brain as it is now; raises CancelledError after `retire`."""
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
        """Closes the brain, now or when the work that uses it is over."""
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


# Each abandoned call holds a brain and its models until it is over.
MOST_ABANDONED = 2


class Turns:
    """First come, first served. A call that is cancelled while it reads is left behind.

    The next one has another brain then, and need not wait. What writes is finished first.
    """

    def __init__(self, open_brain: Callable[[], Brain]) -> None:
        self._open = open_brain
        self._kept = Kept(open_brain)
        self._left_behind: list[Kept] = []
        self._turn = anyio.Lock()

    async def take(self, work: Callable[[Brain], T], *, writes: bool) -> T:
        """What `work` returns; it waits for its turn."""
        async with self._turn:
            kept = self._kept
            self._left_behind = [other for other in self._left_behind if other.busy]
            stays = writes or len(self._left_behind) >= MOST_ABANDONED
            try:
                return await to_thread.run_sync(kept.use, work, abandon_on_cancel=not stays)
            except anyio.get_cancelled_exc_class():
                kept.retire()
                self._left_behind.append(kept)
                self._kept = Kept(self._open)
                raise

    def close(self) -> None:
        """Closes the brain; one that was left behind closes when its work is over."""
        self._kept.retire()
