"""A brain kept open: what changes outside is taken up, what is loaded stays."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from threading import Event, Thread

import anyio
import pytest

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.mcp.session import MOST_ABANDONED, Kept, Turns


@pytest.fixture
def kept(sample: Path):
    kept = Kept(partial(Brain.open, sample))
    yield kept
    kept.retire()


def test_the_brain_stays_open_between_uses(kept: Kept) -> None:
    assert kept.use(lambda brain: brain) is kept.use(lambda brain: brain)


def test_models_stay_loaded(embedded_sample: Path) -> None:
    kept = Kept(partial(Brain.open, embedded_sample))
    first = kept.use(lambda brain: brain.embedder)
    assert kept.use(lambda brain: brain.embedder) is first
    kept.retire()


def test_settings_are_those_of_the_moment(kept: Kept, sample: Path) -> None:
    assert kept.use(lambda brain: brain.settings.default_limit) == 10
    with Brain.open(sample) as other:
        other.set("default_limit", "3")
    assert kept.use(lambda brain: brain.settings.default_limit) == 3


def test_another_file_in_its_place_is_opened(kept: Kept, sample: Path, tmp_path: Path) -> None:
    """Who wrote on into the file that was replaced would lose what they wrote."""
    assert kept.use(lambda brain: brain.list()[1]) > 1
    with Brain.open(tmp_path / "restored.db", make=True) as restored:
        restored.put("only", b"# Only\n")
    shutil.move(tmp_path / "restored.db", sample)
    kept.use(lambda brain: brain.put("new", b"# New\n"))
    with Brain.open(sample) as brain:
        assert [page.slug for page in brain.list()[0]] == ["new", "only"]


def test_a_file_that_went_is_an_error_until_it_is_back(
    kept: Kept, sample: Path, tmp_path: Path
) -> None:
    pages = kept.use(lambda brain: brain.list()[1])
    shutil.copy(sample, tmp_path / "copy.db")
    for path in tmp_path.glob("brain.db*"):
        path.unlink()
    with pytest.raises(NotFound, match="There is no brain at"):
        kept.use(lambda brain: brain.list())
    shutil.move(tmp_path / "copy.db", sample)
    assert kept.use(lambda brain: brain.list()[1]) == pages


def test_another_active_model_is_another_brain(kept: Kept, sample: Path) -> None:
    kept.use(lambda brain: brain.active_model())
    first = kept.use(lambda brain: brain)
    with Brain.open(sample) as other, other.database.write_transaction() as connection:
        connection.execute("UPDATE embedding_models SET identity = 'another' WHERE active")
    assert kept.use(lambda brain: brain) is not first


def test_a_retired_brain_is_closed_when_its_work_is_over(sample: Path) -> None:
    kept = Kept(partial(Brain.open, sample))
    begun, go_on = Event(), Event()

    def work(brain: Brain) -> None:
        begun.set()
        go_on.wait(20)
        assert brain.list()[1] > 1, "still open"

    worker = Thread(target=kept.use, args=(work,))
    worker.start()
    assert begun.wait(20)
    kept.retire()
    assert kept.busy
    with pytest.raises(CancelledError):
        kept.use(lambda brain: brain)
    go_on.set()
    worker.join(20)
    assert not kept.busy
    assert list(sample.parent.glob("brain.db*")) == [sample]


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
