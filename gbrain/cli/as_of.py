"""`--as-of`: a command on the brain as it stood on an earlier day."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.options import open_brain, today

AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", metavar="DATE", help="The brain as it stood at the end of that day or month."
    ),
]


@contextmanager
def open_brain_as_of(db: Path | None, as_of: str | None) -> Iterator[Brain]:
    """The brain, or what it was at the end of the period that `as_of` names.

    Raises UsageError for a date that cannot be read.
    """
    if as_of is None:
        with open_brain(db) as brain:
            yield brain
        return
    from gbrain.as_of import brain_as_of
    from gbrain.output.progress import show_progress
    from gbrain.text.dates import parse_bound

    day = parse_bound(as_of, today()).last
    with open_brain(db) as brain, show_progress("Going back", quiet=False) as show:
        then = brain_as_of(brain, day, show)
        then.confirm = brain.confirm
    with then:
        yield then
