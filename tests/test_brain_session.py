"""The brain stays open between calls, and follows changes by other programs."""

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
from gbrain.brain_session import MAX_ABANDONED_CALLS, OpenBrain, Session, TooBusy
from gbrain.errors import NotFound


@pytest.fixture
def open_brain(sample: Path):
    open_brain = OpenBrain(partial(Brain.open, sample))
    yield open_brain
    open_brain.retire()


def test_the_brain_stays_open_between_uses(open_brain: OpenBrain) -> None:
    assert open_brain.use(lambda brain: brain) is open_brain.use(lambda brain: brain)


def test_models_stay_loaded(embedded_sample: Path) -> None:
    open_brain = OpenBrain(partial(Brain.open, embedded_sample))
    first = open_brain.use(lambda brain: brain.embedder)
    assert open_brain.use(lambda brain: brain.embedder) is first
    open_brain.retire()


def test_settings_are_read_for_every_use(open_brain: OpenBrain, sample: Path) -> None:
    assert open_brain.use(lambda brain: brain.settings.default_limit) == 10
    with Brain.open(sample) as other:
        other.set("default_limit", "3")
    assert open_brain.use(lambda brain: brain.settings.default_limit) == 3


def test_a_file_replaced_on_disk_is_opened_again(
    open_brain: OpenBrain, sample: Path, tmp_path: Path
) -> None:
    """A write into the old file would be lost."""
    assert open_brain.use(lambda brain: brain.list()[1]) > 1
    with Brain.open(tmp_path / "restored.db", make=True) as restored:
        restored.put("only", b"# Only\n")
    shutil.move(tmp_path / "restored.db", sample)
    open_brain.use(lambda brain: brain.put("new", b"# New\n"))
    with Brain.open(sample) as brain:
        assert [page.slug for page in brain.list()[0]] == ["new", "only"]


def test_a_missing_file_is_an_error_until_it_is_back(
    open_brain: OpenBrain, sample: Path, tmp_path: Path
) -> None:
    pages = open_brain.use(lambda brain: brain.list()[1])
    shutil.copy(sample, tmp_path / "copy.db")
    for path in tmp_path.glob("brain.db*"):
        path.unlink()
    with pytest.raises(NotFound, match="There is no brain at"):
        open_brain.use(lambda brain: brain.list())
    shutil.move(tmp_path / "copy.db", sample)
    assert open_brain.use(lambda brain: brain.list()[1]) == pages


def test_a_new_active_model_opens_the_brain_again(open_brain: OpenBrain, sample: Path) -> None:
    open_brain.use(lambda brain: brain.active_model())
    first = open_brain.use(lambda brain: brain)
    with Brain.open(sample) as other, other.database.write_transaction() as connection:
        connection.execute("UPDATE embedding_models SET identity = 'another' WHERE active")
    assert open_brain.use(lambda brain: brain) is not first


def test_a_retired_brain_closes_when_its_work_ends(sample: Path) -> None:
    open_brain = OpenBrain(partial(Brain.open, sample))
    begun, go_on = Event(), Event()

    def work(brain: Brain) -> None:
        begun.set()
        go_on.wait(20)
        assert brain.list()[1] > 1, "still open"

    worker = Thread(target=open_brain.use, args=(work,))
    worker.start()
    assert begun.wait(20)
    open_brain.retire()
    assert open_brain.busy
    with pytest.raises(CancelledError):
        open_brain.use(lambda brain: brain)
    go_on.set()
    worker.join(20)
    assert not open_brain.busy
    assert list(sample.parent.glob("brain.db*")) == [sample]


class Slow:
    """Work that runs until the event `end` is set."""

    def __init__(self) -> None:
        self.begun, self.end, self.done = Event(), Event(), False
        self.brain: Brain | None = None

    def __call__(self, brain: Brain) -> None:
        self.brain = brain
        self.begun.set()
        assert self.end.wait(30)
        self.done = True


@pytest.fixture
def session(sample: Path):
    session = Session(partial(Brain.open, sample))
    yield session
    session.close()


def run(test: Callable[[anyio.abc.TaskGroup], object]) -> None:
    async def main() -> None:
        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                await test(group)

    anyio.run(main)


async def wait_until_begun(slow: Slow) -> None:
    while not slow.begun.is_set():
        await anyio.sleep(0.005)


async def run_in_scope(
    session: Session, work: Slow, scope: anyio.CancelScope, writes: bool = False
) -> None:
    with scope:
        await session.run(work, writes=writes)


def test_calls_run_one_after_the_other(session: Session) -> None:
    order: list[int] = []
    first = Slow()

    async def test(group) -> None:
        group.start_soon(partial(session.run, first, writes=False))
        await wait_until_begun(first)
        for number in range(5):
            work = lambda brain, number=number: order.append(number)  # noqa: E731
            group.start_soon(partial(session.run, work, writes=False))
        await anyio.sleep(0.05)
        assert order == []
        first.end.set()

    run(test)
    assert order == [0, 1, 2, 3, 4]


def test_a_cancelled_read_is_abandoned(session: Session) -> None:
    slow = Slow()

    async def test(group) -> None:
        scope = anyio.CancelScope()
        group.start_soon(run_in_scope, session, slow, scope)
        await wait_until_begun(slow)
        scope.cancel()
        brain = await session.run(lambda brain: brain, writes=False)
        assert brain is not slow.brain
        assert not slow.done
        slow.end.set()

    run(test)


def test_a_cancelled_write_is_finished_first(session: Session) -> None:
    slow = Slow()

    async def test(group) -> None:
        scope = anyio.CancelScope()
        group.start_soon(partial(run_in_scope, session, slow, scope, writes=True))
        await wait_until_begun(slow)
        scope.cancel()
        with anyio.move_on_after(0.1):
            await session.run(lambda brain: brain, writes=False)
            raise AssertionError("nobody has the brain while it is written")
        slow.end.set()
        brain = await session.run(lambda brain: brain, writes=False)
        assert slow.done
        assert brain is slow.brain

    run(test)


def test_an_impatient_call_does_not_wait_for_a_long_one(session: Session) -> None:
    slow = Slow()

    async def test(group) -> None:
        group.start_soon(run_in_scope, session, slow, anyio.CancelScope())
        await wait_until_begun(slow)
        with pytest.raises(TooBusy):
            await session.run(lambda brain: brain, writes=False, patience=0.05)
        slow.end.set()
        brain = await session.run(lambda brain: brain, writes=False, patience=30)
        assert brain is slow.brain

    run(test)


def test_patient_calls_run_in_the_order_of_their_arrival(session: Session) -> None:
    slow, order = Slow(), []

    async def call(number: int) -> None:
        await session.run(lambda brain: order.append(number), writes=False, patience=30)

    async def test(group) -> None:
        group.start_soon(run_in_scope, session, slow, anyio.CancelScope())
        await wait_until_begun(slow)
        for number in range(5):
            group.start_soon(call, number)
            await anyio.sleep(0.01)
        slow.end.set()

    run(test)
    assert order == [0, 1, 2, 3, 4]


def test_the_number_of_abandoned_calls_is_bounded(session: Session) -> None:
    """Each keeps a brain and its models in memory."""
    slows = [Slow() for _ in range(MAX_ABANDONED_CALLS + 1)]

    async def test(group) -> None:
        for slow in slows:
            scope = anyio.CancelScope()
            group.start_soon(run_in_scope, session, slow, scope)
            await wait_until_begun(slow)
            scope.cancel()
        with anyio.move_on_after(0.1):
            await session.run(lambda brain: brain, writes=False)
            raise AssertionError("the last one is waited for")
        slows[-1].end.set()
        assert await session.run(lambda brain: brain, writes=False) is slows[-1].brain
        for slow in slows:
            slow.end.set()

    run(test)


def test_an_error_reaches_the_caller_only(session: Session) -> None:
    async def test(group) -> None:
        with pytest.raises(ZeroDivisionError):
            await session.run(lambda brain: 1 // 0, writes=False)
        assert await session.run(lambda brain: brain.list()[1], writes=False) > 1

    run(test)
