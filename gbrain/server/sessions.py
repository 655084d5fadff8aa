"""Open brains that requests share: for reading, for writing, and one for each limit of tokens."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import TypeVar

import anyio

from gbrain.brain import Brain
from gbrain.brain_session import Session
from gbrain.errors import GbrainError
from gbrain.server.tokens import Access
from gbrain.types import Scope

T = TypeVar("T")

# Two answer at once on two cores, while a third brain writes and embeds.
READERS = 2
MAX_WAITING_CALLS = 64
# Each has a copy of its pages.
MAX_LIMITED_BRAINS = 8
CALL_SECONDS = 120.0


class Sessions:
    """Runs calls on open brains; calls that only read do not wait for those that write."""

    def __init__(
        self, open_brain: Callable[[], Brain], open_limited: Callable[[Scope], Brain]
    ) -> None:
        self._open_limited = open_limited
        self.writer = Session(open_brain)
        self._readers = [Session(open_brain) for _ in range(READERS)]
        self._limited: OrderedDict[Scope, Session] = OrderedDict()
        self._pending: Counter[Session] = Counter()

    async def run(self, access: Access, work: Callable[[Brain], T], *, writes: bool) -> T:
        """Return the result of `work` with a brain that contains what `access` may use.

        Raises GbrainError if too many calls wait, or if the call takes too long.
        """
        if self._pending.total() >= MAX_WAITING_CALLS:
            raise _busy("Too many calls wait for an answer")
        session = self._session(access.limits, writes)
        self._pending[session] += 1
        try:
            with anyio.fail_after(CALL_SECONDS):
                return await session.run(work, writes=writes)
        except TimeoutError:
            raise GbrainError(
                f"The call took more than {CALL_SECONDS:.0f} seconds",
                hint="Ask for less: a smaller limit or budget, or a filter.",
                code="timeout",
            ) from None
        finally:
            self._pending[session] -= 1

    def _session(self, limits: Scope, writes: bool) -> Session:
        if limits.unlimited:
            return self.writer if writes else min(self._readers, key=self._pending.__getitem__)
        if limits not in self._limited:
            if len(self._limited) >= MAX_LIMITED_BRAINS:
                self._close_unused()
            self._limited[limits] = Session(lambda: self._open_limited(limits))
        self._limited.move_to_end(limits)
        return self._limited[limits]

    def _close_unused(self) -> None:
        """Close the limited brain that was used longest ago and has nothing to do."""
        for limits, session in self._limited.items():
            if not self._pending[session]:
                del self._limited[limits], self._pending[session]
                session.close()
                return
        raise _busy("Too many tokens with different limits are in use")

    def close(self) -> None:
        """Close all brains; one that is in use closes when its call ends."""
        for session in (self.writer, *self._readers, *self._limited.values()):
            session.close()


def _busy(message: str) -> GbrainError:
    return GbrainError(message, hint="Try again in a moment.", code="busy")
