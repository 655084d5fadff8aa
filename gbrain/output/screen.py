"""Write text, JSON and tables, show progress, and run a pager or an editor in the foreground."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

from gbrain.messages import printable, tab_separated, without_newlines
from gbrain.output.json import dumps
from gbrain.text.bidi import FIRST_STRONG_ISOLATE, POP_ISOLATE, has_rtl
from gbrain.types import Progress, no_progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

# On a narrower terminal, table columns would be a few characters wide.
_MIN_TABLE_WIDTH = 60
# The share of the screen that columns of single words may take, and the space between columns.
_MAX_UNBROKEN_SHARE, _COLUMN_GAP = 0.75, 3
_ISOLATE = "isolate"


class RemoteTerminal(NamedTuple):
    """The terminal of another process, for which this one runs a command.

    `page` sends it text for its pager.
    """

    environ: Mapping[str, str]
    stdin_is_terminal: bool
    page: Callable[[str], None]


# Set while a command runs for another process.
remote_terminal: ContextVar[RemoteTerminal | None] = ContextVar("remote_terminal", default=None)


def _environ() -> Mapping[str, str]:
    """Return the variables that say how output looks."""
    remote = remote_terminal.get()
    return remote.environ if remote else os.environ


def on_terminal() -> bool:
    """Tell whether standard output is a terminal."""
    return sys.stdout.isatty() and _environ().get("TERM") != "dumb"


def write(text: str, *, end: str = "\n") -> None:
    """Write data to standard output, without control characters; `end` is the end of its line."""
    text = printable(text)
    sys.stdout.write(text if text.endswith("\n") or not text else text + end)


def write_exact(lines: Iterable[str]) -> None:
    """Write texts of pages to standard output byte for byte: `get` and `export` in a pipe only."""
    sys.stdout.flush()
    sys.stdout.buffer.writelines(line.encode() for line in lines)


def write_json(document: Any) -> None:
    """Write a document to standard output as one line of JSON."""
    sys.stdout.write(dumps(document) + "\n")


def say(text: str) -> None:
    """Write a message to standard error, on one line."""
    print(without_newlines(text), file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    """Return a Rich console that follows NO_COLOR and the terminal's width.

    It removes control characters that are not Rich's own, and interprets no markup in text.
    """
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    class PlainConsole(Console):
        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                own = control or (style is not None and bool(style.meta.get(_ISOLATE)))
                yield Segment(text if own else printable(text), style, control)

    return PlainConsole(
        highlight=False,
        soft_wrap=False,
        markup=False,
        emoji=False,
        stderr=stderr,
        _environ=_environ(),
    )


def isolate_rtl(text: Text) -> Text:
    """Return a text with right-to-left letters between isolates; any other as it is.

    Only these isolates reach the terminal: those in pages are removed, as they can reorder a line.
    """
    from rich.style import Style
    from rich.text import Text

    if not has_rtl(text.plain):
        return text
    own = Style(meta={_ISOLATE: True})
    return Text.assemble(
        (FIRST_STRONG_ISOLATE, own), text, (POP_ISOLATE, own), overflow=text.overflow
    )


def write_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[object]],
    empty: str,
    *,
    quiet: bool = False,
    pager: bool = False,
) -> None:
    """Print a table, or tab-separated rows in a pipe; without rows, the message `empty`."""
    if not rows:
        if on_terminal() and not quiet:
            say(empty)
        return
    if not on_terminal():
        write(tab_separated(rows))
        return
    with open_pager(terminal := console(), wanted=pager):
        if terminal.width < _MIN_TABLE_WIDTH and len(rows[0]) > 2:
            _print_stacked(terminal, rows)
        else:
            _print_table(terminal, headers, rows)


def _print_stacked(terminal: Console, rows: Sequence[Sequence[object]]) -> None:
    """Print the first cell of each row, the others below."""
    from rich.padding import Padding
    from rich.text import Text

    for first, *others in rows:
        terminal.print(Text(without_newlines(str(first)), style="cyan", overflow="fold"))
        details = " · ".join(
            without_newlines(str(cell)) for cell in others if cell not in (None, "")
        )
        terminal.print(Padding(Text(details, overflow="fold"), (0, 0, 0, 2)))


def _print_table(
    terminal: Console, headers: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    from rich import box
    from rich.cells import cell_len
    from rich.table import Table
    from rich.text import Text

    cells = [["" if cell is None else without_newlines(str(cell)) for cell in row] for row in rows]
    # Columns of single words, such as slugs, are not broken if that leaves room for the others.
    widths = {
        number: max(cell_len(row[number]) for row in cells)
        for number in range(len(headers))
        if not any(" " in row[number] for row in cells)
    }
    fit = sum(widths.values()) + _COLUMN_GAP * len(headers) <= _MAX_UNBROKEN_SHARE * terminal.width
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    for number, header in enumerate(headers):
        table.add_column(
            header,
            overflow="fold",
            justify="right"
            if all(isinstance(row[number], int | float) for row in rows)
            else "left",
            no_wrap=fit and number in widths,
        )
    for row in cells:
        table.add_row(*map(Text, row))
    terminal.print(table)


def narrow_table() -> Table:
    """Return an empty table with little space between its columns, and without edges."""
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD,
        header_style="bold",
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )


@contextmanager
def show_progress(title: str, *, quiet: bool) -> Iterator[Progress]:
    """Yield a function of (done, total) that draws a bar if standard error is a terminal."""
    if quiet or not sys.stderr.isatty():
        yield no_progress
        return
    from time import monotonic

    from rich import progress

    with progress.Progress(
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[rate]}"),
        progress.TimeRemainingColumn(),
        console=console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(title, total=None, rate="")
        started = monotonic()

        def show(done: int, total: int) -> None:
            rate = done / max(monotonic() - started, 0.001)
            bar.update(task, completed=done, total=total, rate=f"{rate:,.0f}/s")

        yield show


@contextmanager
def show_seconds(what: str) -> Iterator[None]:
    """Show on a terminal what is done and for how long, once it takes more than a second."""
    if not sys.stderr.isatty():
        yield
        return
    from threading import Event, Thread

    ended, line = Event(), ""

    def show() -> None:
        nonlocal line
        seconds = 0
        while not ended.wait(1):
            seconds += 1
            line = f"{what}: {seconds} s"
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()

    thread = Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if line:
            sys.stderr.write(f"\r{' ' * len(line)}\r")
            sys.stderr.flush()


# Options for less: quit at once if the text fits (F), pass colours (R), and leave the text on the
# screen (X).
_LESS_OPTIONS = "FRX"
_HYPERLINK = re.compile(r"\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")
_NO_VARIABLES: Mapping[str, str] = {}


@contextmanager
def open_pager(screen: Console, *, wanted: bool = True) -> Iterator[None]:
    """Print what the block prints, in a pager if `screen` is a terminal too small for it."""
    with screen.capture() as shown:
        yield
    text, remote = shown.get(), remote_terminal.get()
    if not wanted or not _too_tall(screen, text):
        sys.stdout.write(text)
        sys.stdout.flush()
    elif remote:
        remote.page(text)
    else:
        page_text(text)


def page_text(text: str) -> None:
    """Show the text in the user's pager; print it if there is none."""
    command = pager_command(os.environ)
    # A pager without hyperlink support would print their escape codes.
    if not command or not _run_pager(command, _HYPERLINK.sub("", text)):
        sys.stdout.write(text)
        sys.stdout.flush()


def pager_command(environment: Mapping[str, str]) -> list[str]:
    """Return the pager's command: $GBRAIN_PAGER, else $PAGER, else less; empty for no pager.

    An empty value or `cat` means no pager.
    """
    import shlex
    import shutil

    for name in ("GBRAIN_PAGER", "PAGER"):
        if name in environment:
            with suppress(ValueError):
                words = shlex.split(environment[name])
                return [] if words in ([], ["cat"]) else words
    return ["less"] if shutil.which("less") else []


def _too_tall(screen: Console, text: str) -> bool:
    # The shell prompt that follows takes a line too.
    remote = remote_terminal.get()
    at_keyboard = remote.stdin_is_terminal if remote else sys.stdin.isatty()
    return screen.is_terminal and at_keyboard and text.count("\n") >= screen.height


def _run_pager(command: Sequence[str], text: str) -> bool:
    """Show the text in the pager; return False if it cannot be started."""
    defaults = {"LESS": _LESS_OPTIONS, "LESSCHARSET": "utf-8"}
    try:
        run_in_foreground(command, data=text.encode(errors="replace"), defaults=defaults)
    except OSError:
        return False
    return True


def run_in_foreground(
    command: Sequence[str],
    *,
    data: bytes | None = None,
    defaults: Mapping[str, str] = _NO_VARIABLES,
) -> int:
    """Run a program until it ends and return its exit code; raise OSError if it cannot start.

    `data` goes to its standard input, which is inherited without it. `defaults` are environment
    variables that apply where the user has not set them.
    """
    import signal
    import subprocess

    # A handler, unlike SIG_IGN, is not inherited: the program still receives Ctrl-C.
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        running = subprocess.Popen(
            command,
            stdin=None if data is None else subprocess.PIPE,
            env={**defaults, **os.environ},
        )
        with suppress(BrokenPipeError):
            running.communicate(data)
        return running.wait()
    finally:
        signal.signal(signal.SIGINT, before)
