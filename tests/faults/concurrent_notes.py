"""The model of shared notes with editors and programs that really run at the same time.

In each round a few editors, in threads, and two programs, in processes with a slow disk, do their
operations at once. What must hold is checked between the rounds.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from notes_machine import NotesMachine
from notes_model import Operation, SharedNotes
from slow_brains import SlowBrain, slow_brain

_MIN_GAP_SECONDS, _MAX_GAP_SECONDS = 0.001, 0.015


class ConcurrentNotes(SharedNotes):
    """Notes of one machine that two programs and some editors use at the same time."""

    def __init__(
        self, folder: Path, empty_brain: Path, library: Path, milliseconds: float, **setup: Any
    ) -> None:
        self._local = threading.local()
        self._lock = threading.RLock()
        super().__init__(folder, empty_brain, **setup)
        machine = self.machines[0]
        self._programs = ExitStack()
        state = {
            "XDG_STATE_HOME": folder / "machine0/state",
            "XDG_DATA_HOME": folder / "machine0/data",
        }
        self._environment = {name: str(value) for name, value in state.items()}
        self.brains: list[SlowBrain] = [
            self._programs.enter_context(
                slow_brain(library, machine.path, folder, milliseconds, self._environment)
            )
            for _ in range(2)
        ]

    def remove(self) -> None:
        self._programs.close()
        super().remove()

    @property
    def _depth(self) -> int:
        return getattr(self._local, "depth", 0)

    @_depth.setter
    def _depth(self, depth: int) -> None:
        self._local.depth = depth

    def _brain(self, machine: NotesMachine) -> Any:
        number = getattr(self._local, "program", None)
        return machine.brain if number is None else self.brains[number]

    def _marker(self, note: int) -> Any:
        with self._lock:
            return super()._marker(note)

    def _new_note(self, machine: NotesMachine, slug: str) -> int:
        with self._lock:
            return super()._new_note(machine, slug)

    def _record_rename(self, machine: NotesMachine, old: str, new: str) -> None:
        with self._lock:
            super()._record_rename(machine, old, new)

    def run_rounds(
        self,
        rounds: Sequence[Sequence[Sequence[Operation]]],
        between: Sequence[Operation],
        seed: int,
    ) -> None:
        """Run rounds of the operations of each actor, with one operation alone after each round.

        The first two actors are programs, the others editors.
        """
        with self._constant_environment():
            for number, actors in enumerate(rounds):
                self._run_round(actors, seed * 1000 + number)
                if number < len(between):
                    self.execute(between[number])
            self.rest()

    def _run_round(self, actors: Sequence[Sequence[Operation]], seed: int) -> None:
        problems: list[BaseException] = []

        def act(number: int, operations: Sequence[Operation]) -> None:
            self._local.program = number if number < 2 else None
            self._local.rng = random.Random(seed * 10 + number)
            try:
                for operation in operations:
                    sleep(self._local.rng.uniform(0, _MAX_GAP_SECONDS) if number >= 2 else 0)
                    self._do(operation.words)
            except BaseException as problem:
                problems.append(problem)

        threads = [
            threading.Thread(target=act, args=(number, operations))
            for number, operations in enumerate(actors)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if problems:
            raise problems[0]
        self.check()

    def wait_in_save(self) -> None:
        if getattr(self._local, "rng", None) is not None:
            sleep(self._local.rng.uniform(_MIN_GAP_SECONDS, _MAX_GAP_SECONDS))

    @contextmanager
    def _constant_environment(self) -> Iterator[None]:
        before = dict(os.environ)
        os.environ.update(self._environment)
        NotesMachine.environment, kept = _same_environment, NotesMachine.environment  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            NotesMachine.environment = kept  # type: ignore[method-assign]
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def _same_environment(machine: NotesMachine) -> Iterator[None]:
    yield
