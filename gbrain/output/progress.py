"""Show the progress of long work as a bar on a terminal; nothing in a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def show_progress(title: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (done, total) that draws a bar if standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from time import monotonic

    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from gbrain.output.screen import console

    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=None, rate="")
        began = monotonic()

        def show(done: int, total: int) -> None:
            rate = done / max(monotonic() - began, 0.001)
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s")

        yield show
