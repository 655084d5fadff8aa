"""Options that several commands share, and what they mean."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gbrain.brain import Brain
from gbrain.brain import today as today
from gbrain.errors import BadPage, NotFound, UsageError
from gbrain.types import Merge, Mode, Scope

if TYPE_CHECKING:
    from gbrain.search.boosts import CustomBoost

Db = Annotated[
    Path | None,
    typer.Option(
        "--db", metavar="FILE", help="The brain file; else $GBRAIN_DB, else the data folder."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No talk, no progress.")]
NoPager = Annotated[
    bool, typer.Option("--no-pager", help="All at once, also what is taller than the screen.")
]
Limit = Annotated[
    int | None, typer.Option("--limit", "-n", metavar="N", min=1, max=1000, help="How many.")
]
ExitCode = Annotated[bool, typer.Option("--exit-code", help="Exit with 3 when nothing is found.")]
Expected = Annotated[
    int | None,
    typer.Option(
        "--expected-version",
        metavar="N",
        min=0,
        max=10**9,
        help="Refuse if the page is not at version N.",
    ),
]

_SCOPE = "Filters"


def _filter(*names: str, metavar: str, help: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(
        *names, metavar=metavar, help=help, rich_help_panel=_SCOPE
    )
    return option


Wing = Annotated[str | None, _filter("--wing", metavar="WING", help="Only this wing.")]
Room = Annotated[str | None, _filter("--room", metavar="ROOM", help="Only this room.")]
Type = Annotated[str | None, _filter("--type", metavar="TYPE", help="Only this type.")]
Tag = Annotated[
    list[str] | None, _filter("--tag", metavar="TAG", help="Only with this tag; repeatable.")
]
SlugPrefix = Annotated[
    str | None, _filter("--slug-prefix", metavar="SLUG", help="Only slugs that begin so.")
]
Since = Annotated[
    str | None,
    _filter("--since", metavar="DATE", help="Dated on or after: 2026-04, 'last monday', 3w."),
]
Until = Annotated[
    str | None, _filter("--until", metavar="DATE", help="Dated on or before, that day included.")
]
Where = Annotated[
    list[str] | None,
    _filter("--where", metavar="KEY=VALUE", help="Only with this front matter; repeatable."),
]
ModeOf = Annotated[Mode | None, typer.Option("--mode", help="Lanes to use; else search_mode.")]
MergeOf = Annotated[Merge | None, typer.Option("--merge", help="Else search_merge_strategy.")]
ProfileOf = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="Settings of a profile, once.")
]
Rerank = Annotated[
    bool, typer.Option("--rerank", help="Let the packaged cross-encoder reorder the head.")
]
Boost = Annotated[
    list[str] | None,
    typer.Option("--boost", metavar="KIND:NAME=X", help="tag:urgent=1.5, wing: or slug: too."),
]
Exclude = Annotated[
    list[str] | None, _filter("--exclude", metavar="SLUG", help="Not this page; repeatable.")
]


def scope_of(
    wing: str | None = None,
    room: str | None = None,
    type_: str | None = None,
    tag: list[str] | None = None,
    slug_prefix: str | None = None,
    since: str | None = None,
    until: str | None = None,
    where: list[str] | None = None,
    exclude: list[str] | None = None,
) -> Scope:
    """The filters as a scope; raises UsageError for a date or a pair that cannot be read."""
    return Scope(
        wing=wing.strip().lower() if wing else None,
        room=room.strip().lower() if room else None,
        type=type_,
        tags=tuple(name.lstrip("#") for name in tag or ()),
        slug_prefix=slug_prefix.lower() if slug_prefix else None,
        since=_day(since, last=False),
        until=_day(until, last=True),
        where=tuple(_pair(written) for written in where or ()),
        exclude=tuple(slug.lower() for slug in exclude or ()),
    )


def boosts_of(written: list[str] | None) -> tuple[CustomBoost, ...]:
    """The values of --boost; raises UsageError for one that cannot be read."""
    if not written:
        return ()
    from gbrain.search.boosts import read_boost

    return tuple(read_boost(one) for one in written)


def changes_of(given: Mapping[str, Any]) -> dict[str, str]:
    """The options that stand for settings, for this query alone."""
    changes: dict[str, str] = {}
    if given.get("profile"):
        from gbrain.profiles import profile_values

        changes |= profile_values(given["profile"])
    if given.get("rerank"):
        changes["rerank"] = "cross-encoder"
    if given.get("no_decay"):
        changes |= {"recency_tau_days": "0", "recency_half_life_days": "0"}
    if given.get("include_superseded"):
        changes["drop_superseded"] = "off"
    return changes


def _day(written: str | None, *, last: bool) -> str | None:
    if written is None:
        return None
    from gbrain.text.dates import parse_bound

    period = parse_bound(written, today())
    return period.last if last else period.first


def _pair(written: str) -> tuple[str, str]:
    key, equals, value = written.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f"--where takes KEY=VALUE, not {written!r}", hint="For example: --where status=done"
        )
    return key.strip(), value.strip()


def open_brain(db: Path | None, *, make: bool = False) -> Brain:
    """The brain, which asks the person at the terminal before it runs an unknown command."""
    brain = Brain.open(db, make=make)
    brain.confirm = _agrees
    return brain


def _agrees(command: str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    from gbrain.output.screen import say
    from gbrain.output.text import one_line

    say("This brain would run a command that you have not set:")
    say(f"  {one_line(command)}")
    return typer.confirm("Run it, now and in future?", default=False, err=True)


def read_input(file: Path | None) -> bytes:
    """The bytes of `file`, or of standard input; raises BadPage for more than a page has."""
    from gbrain.text.page import MAX_PAGE_BYTES

    try:
        if file is None or str(file) == "-":
            data = sys.stdin.buffer.read(MAX_PAGE_BYTES + 1)
        else:
            with file.open("rb") as source:
                data = source.read(MAX_PAGE_BYTES + 1)
    except OSError as error:
        raise NotFound(
            f"Cannot read {file}: {error.strerror}", hint="Check the path; - is standard input.",
            code="cannot_read",
        ) from None  # fmt: skip
    if len(data) > MAX_PAGE_BYTES:
        raise BadPage(
            f"{file or 'Standard input'} has more than {MAX_PAGE_BYTES:,} bytes",
            hint="Split it into several parts.",
            code="page_too_large",
        )
    return data
