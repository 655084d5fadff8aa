"""The options of a query, one row each: the command line, batch lines and MCP read this table.

A filter becomes a field of `Scope`; a switch may stand for values of settings. Options that only
change how results are printed are not here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from gbrain.errors import UsageError
from gbrain.types import Depth, MergeStrategy, Mode, Scope

if TYPE_CHECKING:
    from datetime import date

Kind = Literal["text", "texts", "pairs", "flag", "number", "choice"]


class QueryOption(NamedTuple):
    """One option of a query.

    `name` is the key in a batch line, and the flag with dashes for underscores. A tool of the MCP
    server calls it `argument` and describes it with `tool_help`, where those differ. `parse`
    turns the value of a filter into the one of its field in Scope, given the day it is. A flag
    sets `settings` for this query.
    """

    name: str
    kind: Kind
    help: str
    metavar: str | None = None
    short: str | None = None
    panel: str | None = None
    literal: Any = None
    maximum: int = 0
    parse: Callable[[Any, date], Any] | None = None
    settings: tuple[tuple[str, str], ...] = ()
    argument: str = ""
    tool_help: str = ""
    tool_maximum: int = 0

    @property
    def flag(self) -> str:
        return "--" + self.name.replace("_", "-")

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.literal)

    @property
    def tool_argument(self) -> str:
        return self.argument or self.name


def _lower(value: str, today: date) -> str | None:
    return value.strip().lower() if value else None


def _as_given(value: str, today: date) -> str:
    return value


def _tags(value: list[str], today: date) -> tuple[str, ...]:
    return tuple(tag.lstrip("#") for tag in value)


def _slugs(value: list[str], today: date) -> tuple[str, ...]:
    return tuple(slug.lower() for slug in value)


def _first_day(value: str, today: date) -> str:
    from gbrain.text.dates import parse_bound

    return parse_bound(value, today).first


def _last_day(value: str, today: date) -> str:
    from gbrain.text.dates import parse_bound

    return parse_bound(value, today).last


def _pairs(value: list[str] | dict[str, str], today: date) -> tuple[tuple[str, str], ...]:
    """Return keys with values; MCP sends an object, the others a list of KEY=VALUE."""
    if isinstance(value, dict):
        return tuple(value.items())
    return tuple(_split_pair(pair) for pair in value)


def _split_pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(
            f"--where takes KEY=VALUE, not {text!r}", hint="For example: --where status=done"
        )
    return key.strip(), value.strip()


# The panel of the help with options that most users never need.
RANKING = "Ranking"

_FILTERS = (
    QueryOption(
        "wing", "text", "Only this wing (area): people, projects …", "WING", parse=_lower,
        tool_help="Only pages in this wing (the subject area of a page): people, companies, "
        "projects, concepts, meetings and so on. brain_stats lists the wings.",
    ),
    QueryOption(
        "room", "text", "Only this room (form): profile, meeting …", "ROOM", parse=_lower,
        tool_help="Only pages in this room (the form of a page): profile, meeting, "
        "list, how-to, reference and so on. brain_stats lists the rooms.",
    ),
    QueryOption(
        "type", "text", "Only pages with this type in front matter.", "TYPE", parse=_as_given,
        tool_help="Only pages whose front matter has this type.",
    ),
    QueryOption(
        "tag", "texts", "Only pages with this tag; repeatable.", "TAG", parse=_tags,
        argument="tags", tool_help="Only pages with all of these tags.",
    ),
    QueryOption(
        "slug_prefix", "text", "Only slugs that start with PREFIX.", "PREFIX", parse=_lower,
        tool_help="Only slugs that start with this text, for example projects/.",
    ),
    QueryOption(
        "since", "text", "Dated on or after DATE, such as 2026-04.", "DATE",
        parse=_first_day,
        tool_help="Only pages dated on or after this date: 2026-04-03, 2026-04, 'last monday', 3w.",
    ),
    QueryOption(
        "until", "text", "Dated on or before DATE.", "DATE", parse=_last_day,
        tool_help="Only pages dated on or before this date, inclusive.",
    ),
    QueryOption(
        "where", "pairs", "Only pages with KEY: VALUE in front matter.", "KEY=VALUE", parse=_pairs,
        tool_help="Only pages whose front matter has these values, by key.",
    ),
    QueryOption(
        "exclude", "texts", "Leave out this page; repeatable.", "SLUG", parse=_slugs,
        tool_help="Leave out the pages with these slugs.",
    ),
)  # fmt: skip
_SWITCHES = (
    QueryOption(
        "depth", "choice", "Print text to answer from, for an LLM.", "auto",
        literal=Depth,
        tool_help="auto adds `context`: text from the best chunks to answer from, with "
        "citations, of at most `budget` tokens.",
    ),
    QueryOption(
        "budget", "number", "Token limit for --depth (default 4000).", "N",
        maximum=1_000_000, tool_maximum=100_000,
        tool_help="Maximum number of tokens in `context` (default 4000, or the setting "
        "default_token_budget).",
    ),
    QueryOption(
        "limit", "number", "Maximum results (10; 5 on a terminal).", "N", "-n",
        maximum=1000, tool_maximum=100,
        tool_help="Maximum number of pages (default 10, or the setting default_limit).",
    ),
    QueryOption(
        "all", "flag", "List all results, even poor matches.",
        tool_help="If the query is the name of a page, list other pages too.",
    ),
    QueryOption(
        "mode", "choice", "Search by bm25 (keyword), semantic (vector), hybrid (both) or auto.",
        "MODE", literal=Mode, panel=RANKING,
        tool_help="How to search (default: the setting search_mode): bm25 by keyword, semantic by "
        "embedding vectors, hybrid by both; auto chooses.",
    ),
    QueryOption(
        "merge", "choice",
        "Merge keyword and vector results by score: set-union (best score, more if both find it), "
        "blend (sum); or by rank: set-union-rank (best rank, more if both), rrf (sum).",
        "STRATEGY", literal=MergeStrategy, panel=RANKING,
    ),
    QueryOption(
        "profile", "text", "Use the profile NAME for this query only.", "NAME", panel=RANKING
    ),
    QueryOption(
        "rerank", "flag", "Sort the first results again with a second model: better order, slower.",
        panel=RANKING,
        settings=(("rerank", "cross-encoder"),),
        tool_help="Sort the first results again with a second model: better order, but a second or "
        "more slower.",
    ),
    QueryOption(
        "boost", "texts", "Multiply the scores of matching pages, for example tag:urgent=1.5.",
        "KIND:NAME=X", panel=RANKING,
    ),
    QueryOption(
        "no_decay", "flag", "Do not rank old notes lower.", panel=RANKING,
        settings=(("recency_tau_days", "0"), ("recency_half_life_days", "0")),
        tool_help="Do not lower the scores of old notes, even if the brain is set to do so.",
    ),
    QueryOption(
        "include_superseded", "flag", "Include superseded pages.",
        settings=(("drop_superseded", "off"),),
    ),
)  # fmt: skip

QUERY_OPTIONS = {option.name: option for option in (*_SWITCHES, *_FILTERS)}
FILTERS = tuple(option.name for option in _FILTERS)


def parse_scope(values: Mapping[str, Any], today: date) -> Scope:
    """Return the filters among `values`, by the name of an option or of a tool's argument.

    Relative dates count from `today`. Raises UsageError for a date or a pair that is malformed.
    """
    fields = {}
    for option in _FILTERS:
        value = values.get(option.name, values.get(option.tool_argument))
        if value is not None and option.parse is not None:
            fields[option.tool_argument] = option.parse(value, today)
    return Scope(**fields)


def setting_overrides(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings that a profile and the switches among `values` change for one query."""
    changes: dict[str, str] = {}
    if values.get("profile"):
        from gbrain.profiles import profile_values

        changes |= profile_values(values["profile"])
    for option in _SWITCHES:
        if option.settings and values.get(option.name):
            changes |= dict(option.settings)
    return changes
