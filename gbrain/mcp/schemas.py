"""The JSON Schemas of what an agent sends."""

from __future__ import annotations

from typing import Any, get_args

from gbrain.text.page import MAX_PAGE_BYTES
from gbrain.text.query_terms import MAX_QUERY_CHARACTERS
from gbrain.types import Depth, Mode

Schema = dict[str, Any]

MOST = 100
MOST_TOKENS = 100_000
MOST_CHARACTERS = 100_000
USUAL_CHARACTERS = 20_000
_LONGEST_NAME = 1000
_LARGEST = 1_000_000_000


def _text(description: str, longest: int = _LONGEST_NAME, **more: object) -> Schema:
    return {"type": "string", "description": description, "maxLength": longest, **more}


def _number(description: str, low: int, high: int) -> Schema:
    return {"type": "integer", "description": description, "minimum": low, "maximum": high}


def _flag(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def _texts(description: str) -> Schema:
    each = {"type": "string", "maxLength": _LONGEST_NAME}
    return {"type": "array", "description": description, "items": each, "maxItems": MOST}


def arguments(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """The schema of a tool's arguments; there are no others than these."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


SLUG = _text(
    "The page's slug, like people/alice-chen, as results give it. A path like 'People/Alice "
    "Chen.md' means the same page."
)
QUERY = _text(
    'The words or the question. Knows "phrases", prefix*, AND OR NOT, and fields: title: tag: '
    "wing: type: room: before: after:",
    MAX_QUERY_CHARACTERS,
)
LIMIT = _number("How many pages at most; 10 unless the brain is set otherwise.", 1, MOST)
ROWS = _number("How many at most; 100 if left out.", 1, MOST)
MODE = _text(
    "Lanes to use: bm25 is words alone, semantic meaning alone, hybrid both; else what the brain "
    "is set to.",
    enum=list(get_args(Mode)),
)
DEPTH = _text(
    "auto adds `context`: running text from the best passages, with citations, under `budget`.",
    enum=list(get_args(Depth)),
)
BUDGET = _number("Tokens that the context may fill; 4000 unless set otherwise.", 1, MOST_TOKENS)
RERANK = _flag("Let a slower model reorder the first pages: better order, a second or more.")
SUPERSEDED = _flag("Also pages that another page replaces.")
NO_DECAY = _flag("Old notes count as much as new ones, where the user lets them fade.")
WHY_NOT = _text("The slug of a page you expected: says at which stage it was lost, and why.")
EXPECTED = _number(
    "The version you read: refused if the page has changed since. 0 for a page that must not "
    "exist yet.",
    0,
    _LARGEST,
)
VERSION = _number("An earlier version's text; else the page as it is.", 1, _LARGEST)
CONTENT = _text(
    "The whole page in Markdown, front matter first if it has any: ---, title, type, tags, "
    "aliases, ---. Link other pages as [[slug]]. Dated entries go below a '## Timeline' heading.",
    MAX_PAGE_BYTES,
)
ENTRY = _text("What happened, in one sentence or a few.", MAX_PAGE_BYTES // 10)
DATE = _text("When: 2026-04-03, 2026-04, 'last monday'. Today if left out.")
SOURCE = _text("Where it is known from, like a meeting or a person.")
NAME = _text("A page's slug, title or alias; a near miss is found too.", MAX_QUERY_CHARACTERS)
OFFSET = _number("Skip so many characters: `next_offset` of the call before.", 0, MAX_PAGE_BYTES)
CHARACTERS = _number(
    f"Characters of text at most; {USUAL_CHARACTERS} if left out.", 1, MOST_CHARACTERS
)
FIRST_LINE = _number("Begin with this line, from 1: `lines` of results and citations.", 1, _LARGEST)
LAST_LINE = _number("End with this line, itself included.", 1, _LARGEST)
SKIP = _number("Skip so many pages: `next_offset` of the call before.", 0, 1_000_000)

FILTERS: dict[str, Schema] = {
    "wing": _text("Only this wing: people, companies, projects, concepts, meetings and so on."),
    "room": _text("Only this room: profile, timeline, list, how-to, reference and so on."),
    "type": _text("Only this type, as front matter names it."),
    "tags": _texts("Only pages with all of these tags."),
    "slug_prefix": _text("Only slugs that begin so, like projects/."),
    "since": _text("Dated on or after: 2026-04, 'last monday', 3w."),
    "until": _text("Dated on or before, that day included."),
    "where": {
        "type": "object",
        "description": "Only pages whose front matter has these values.",
        "additionalProperties": {"type": "string", "maxLength": _LONGEST_NAME},
        "maxProperties": MOST,
    },
    "exclude": _texts("Not these slugs."),
}
