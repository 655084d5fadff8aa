"""Print the overview of `gbrain` without arguments: the brain's state and next steps."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from gbrain.output.plain_text import one_line
from gbrain.store.stats import Stats

Step = tuple[str, str]

FIRST_STEPS: tuple[Step, ...] = (
    ("gbrain demo", "try gbrain on sample pages; leaves nothing behind"),
    ("gbrain import DIR", "create a brain from a folder of Markdown notes"),
    ('gbrain capture "…"', "or start with a single note"),
)


def next_steps(stats: Stats) -> list[Step]:
    """Return commands that are useful now, the most useful first."""
    if stats.pages == 0:
        return list(FIRST_STEPS[1:])
    steps: list[Step] = []
    if stats.jobs:
        steps.append(("gbrain embed", f"embed {_count(stats.jobs, 'chunk')} for vector search"))
    steps.append(('gbrain query "your question"', "search by keyword and by meaning"))
    if stats.folders:
        steps.append(
            ("gbrain sync", f"import what changed in {shorten_path(stats.folders[0].name)}")
        )
    steps.append(('gbrain capture "…"', "add a note with today's date"))
    return steps


def overview_lines(path: Path, stats: Stats, now: datetime) -> list[str]:
    """Return lines with the brain's path, its size and its last change."""
    lines = [shorten_path(path), " · ".join([_count(stats.pages, "page"), _embedded(stats)])]
    if stats.newest:
        last = stats.newest[0]
        lines.append(f"Last change {_ago(last.updated_at, now)}: {one_line(last.title)}")
    return lines


def _embedded(stats: Stats) -> str:
    if not stats.chunks:
        return "nothing to embed"
    share = max(stats.chunks - stats.jobs, 0) / stats.chunks
    # 100 % only when nothing is left to embed, 0 % only when nothing is embedded.
    percent = 100 if share == 1 else min(max(round(100 * share), 1 if share else 0), 99)
    return f"{percent} % of {_count(stats.chunks, 'chunk')} embedded"


def _ago(written: str, now: datetime) -> str:
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        return one_line(written)
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    minutes = int((now - moment).total_seconds() // 60)
    for unit, length in (("day", 24 * 60), ("hour", 60), ("minute", 1)):
        if minutes >= length:
            return f"{_count(minutes // length, unit)} ago"
    return "just now"


def _count(number: int, unit: str) -> str:
    return f"{number:,} {unit}" if number == 1 else f"{number:,} {unit}s"


def shorten_path(path: str | Path) -> str:
    """Return a path as a user would type it, with ~ for the home folder."""
    try:
        return one_line(f"~/{Path(path).relative_to(Path.home())}")
    except (ValueError, RuntimeError):
        return one_line(path)


def show_overview(lines: list[str], steps: list[Step]) -> None:
    """Print the lines, and below them the commands with what they do."""
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import console

    screen = console()
    screen.print(Text(lines[0], style="bold"))
    for line in lines[1:]:
        screen.print(Text(line))
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for command, purpose in [*steps, ("gbrain --help", "every command")]:
        table.add_row(Text(f"  {command}", style="cyan"), Text(purpose, style="dim"))
    screen.print(Text("\nNext"), table)
