"""One brain that stays open for many callers, who use it one after the other."""

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

    def release(self) -> None:
        """Close the brain until its next use; another program may need the file for itself."""
        with self._lock:
            if not self.busy:
                self._close()

    def _current(self) -> Brain:
        brain = self._brain
        if brain is not None and brain.state() == self._state:
            brain.reload_settings()
            return brain
        self._close()
        self._brain = brain = self._open()
        brain.prepare_for_many_queries()
        self._state = brain.state()
        return brain

    def _close(self) -> None:
        brain, self._brain = self._brain, None
        if brain is not None:
            brain.close()


class TooBusy(Exception):
    """A call before this one takes too long to wait for it."""


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
        self._began = 0.0

    async def run(
        self, work: Callable[[Brain], T], *, writes: bool, patience: float | None = None
    ) -> T:
        """Wait for the calls before this one, and return the result of `work` with the brain.

        With `patience`, TooBusy is raised once one of those takes longer than that many seconds.
        """
        await self._wait_in_line(patience)
        try:
            self._began = anyio.current_time()
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
        finally:
            self._turn.release()

    async def _wait_in_line(self, patience: float | None) -> None:
        """Acquire the turn, in the order in which calls arrive."""
        if patience is None:
            await self._turn.acquire()
            return
        has_turn = False

        async def watch(scope: anyio.CancelScope, seconds: float) -> None:
            while anyio.current_time() - self._began <= seconds:
                await anyio.sleep(seconds / 10)
            scope.cancel()

        async with anyio.create_task_group() as group:
            if self._turn.locked():
                group.start_soon(watch, group.cancel_scope, patience)
            await self._turn.acquire()
            has_turn = True
            group.cancel_scope.cancel()
        if not has_turn:
            raise TooBusy

    async def release(self) -> None:
        """Close the brain until the next call."""
        async with self._turn:
            await to_thread.run_sync(self._current.release)

    def close(self) -> None:
        """Close the brain; an abandoned one closes when its call ends."""
        self._current.retire()
