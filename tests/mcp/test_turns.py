"""One call at a time: in order, and left behind when nobody waits for it any more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Event

import anyio
import pytest

from gbrain.brain import Brain
from gbrain.mcp.turns import MOST_ABANDONED, Turns


class Slow:
    """Work that begins, and goes on until it is told to end."""

    def __init__(self) -> None:
        self.begun, self.end, self.done = Event(), Event(), False
        self.brain: Brain | None = None

    def __call__(self, brain: Brain) -> None:
        self.brain = brain
        self.begun.set()
        assert self.end.wait(30)
        self.done = True


@pytest.fixture
def turns(sample: Path):
    turns = Turns(partial(Brain.open, sample))
    yield turns
    turns.close()


def run(test: Callable[[anyio.abc.TaskGroup], object]) -> None:
    async def main() -> None:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                await test(group)

    anyio.run(main)


async def begun(slow: Slow) -> None:
    while not slow.begun.is_set():
        await anyio.sleep(0.005)


async def taken(turns: Turns, work: Slow, scope: anyio.CancelScope, writes: bool = False) -> None:
    with scope:
        await turns.take(work, writes=writes)


def test_calls_have_the_brain_one_after_the_other(turns: Turns) -> None:
    order: list[int] = []
    first = Slow()

    async def test(group) -> None:
        group.start_soon(partial(turns.take, first, writes=False))
        await begun(first)
        for number in range(5):
            work = lambda brain, number=number: order.append(number)  # noqa: E731
            group.start_soon(partial(turns.take, work, writes=False))
        await anyio.sleep(0.05)
        assert order == []
        first.end.set()

    run(test)
    assert order == [0, 1, 2, 3, 4]


def test_a_cancelled_reader_is_left_behind(turns: Turns) -> None:
    slow = Slow()

    async def test(group) -> None:
        scope = anyio.CancelScope()
        group.start_soon(taken, turns, slow, scope)
        await begun(slow)
        scope.cancel()
        brain = await turns.take(lambda brain: brain, writes=False)
        assert brain is not slow.brain
        assert not slow.done
        slow.end.set()

    run(test)


def test_a_cancelled_writer_finishes_first(turns: Turns) -> None:
    slow = Slow()

    async def test(group) -> None:
        scope = anyio.CancelScope()
        group.start_soon(partial(taken, turns, slow, scope, writes=True))
        await begun(slow)
        scope.cancel()
        with anyio.move_on_after(0.1):
            await turns.take(lambda brain: brain, writes=False)
            raise AssertionError("nobody has the brain while it is written")
        slow.end.set()
        brain = await turns.take(lambda brain: brain, writes=False)
        assert slow.done
        assert brain is slow.brain

    run(test)


def test_only_so_many_are_left_behind(turns: Turns) -> None:
    """Each holds a brain and its models: who cancels for ever must not fill the memory."""
    slows = [Slow() for _ in range(MOST_ABANDONED + 1)]

    async def test(group) -> None:
        for slow in slows:
            scope = anyio.CancelScope()
            group.start_soon(taken, turns, slow, scope)
            await begun(slow)
            scope.cancel()
        with anyio.move_on_after(0.1):
            await turns.take(lambda brain: brain, writes=False)
            raise AssertionError("the last one is waited for")
        slows[-1].end.set()
        assert await turns.take(lambda brain: brain, writes=False) is slows[-1].brain
        for slow in slows:
            slow.end.set()

    run(test)


def test_an_error_is_the_callers_and_the_next_call_works(turns: Turns) -> None:
    async def test(group) -> None:
        with pytest.raises(ZeroDivisionError):
            await turns.take(lambda brain: 1 // 0, writes=False)
        assert await turns.take(lambda brain: brain.list()[1], writes=False) > 1

    run(test)
