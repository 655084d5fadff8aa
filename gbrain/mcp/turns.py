"""Calls in turn: each has the brain to itself, on a thread, and may be given up at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import to_thread

from gbrain.brain import Brain
from gbrain.mcp.kept import Kept

T = TypeVar("T")

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
