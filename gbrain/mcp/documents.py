"""The JSON Schemas of the documents that come back to an agent."""

from __future__ import annotations

from typing import get_args

from gbrain.mcp.schemas import Schema
from gbrain.types import Grade

_STRING: Schema = {"type": "string"}
_INTEGER: Schema = {"type": "integer"}
_OBJECT: Schema = {"type": "object"}
_STRING_OR_NULL: Schema = {"type": ["string", "null"]}
_INTEGER_OR_NULL: Schema = {"type": ["integer", "null"]}
_STRINGS: Schema = {"type": "array", "items": _STRING}
_LINES: Schema = {"type": "array", "items": _INTEGER, "description": "First and last, from 1."}
TRUNCATED: Schema = {**_STRINGS, "description": "What was cut to keep the answer short."}


def document(optional: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """The schema of a document: every property is there unless it is optional."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required}


def listed(item: Schema, description: str = "") -> Schema:
    about = {"description": description} if description else {}
    return {"type": "array", "items": item, **about}


VERDICT = document(
    grade={"type": "string", "enum": list(get_args(Grade))},
    confidence={"type": "number", "description": "How likely the first five hold the answer."},
    reasons=_STRINGS,
)
HIT = document(
    rank=_INTEGER,
    slug={**_STRING, "description": "Give it to brain_get."},
    title=_STRING,
    wing=_STRING,
    room=_STRING,
    type=_STRING_OR_NULL,
    date=_STRING_OR_NULL,
    score={"type": "number"},
    snippet={**_STRING, "description": "Matched words stand between **."},
    chunk={"type": ["object", "null"], "description": "The passage: heading_path, date, lines."},
    lanes={**_OBJECT, "description": "Rank and score in each lane that found it, else null."},
    boosts=_OBJECT,
)
PIECE = document(
    slug=_STRING,
    title=_STRING,
    heading_path=_STRINGS,
    date=_STRING_OR_NULL,
    lines=_LINES,
    citation={**_STRING, "description": "Put it behind what you take from the text."},
    tokens=_INTEGER,
    text=_STRING,
    role=_STRING,
)
ANSWER = document(
    ("context", "budget", "truncated"),
    query=_STRING,
    mode=_STRING,
    merge=_STRING_OR_NULL,
    short_circuit={**_STRING_OR_NULL, "description": "The query is this kind of name of a page."},
    fell_back_to_bm25={"type": "boolean"},
    notice=_STRING_OR_NULL,
    read_as={**_STRING_OR_NULL, "description": "The words it found, where it repaired yours."},
    verdict=VERDICT,
    superseded=_STRINGS,
    results=listed(HIT, "Pages, best first."),
    context=listed(PIECE, "With depth auto: the text to answer from."),
    budget={**_OBJECT, "description": "Tokens used, the limit, and what did not fit."},
    took_ms={"type": "number"},
    truncated=TRUNCATED,
)
PAGE_ROW = document(
    slug=_STRING,
    title=_STRING,
    type=_STRING_OR_NULL,
    wing=_STRING,
    room=_STRING,
    date=_STRING_OR_NULL,
    tags=_STRINGS,
    version={**_INTEGER, "description": "Give it to brain_put as expected_version."},
    bytes=_INTEGER,
    updated_at=_STRING,
)
PAGE = document(
    ("truncated",),
    **PAGE_ROW["properties"],
    path=_STRING,
    aliases=_STRINGS,
    sha256=_STRING,
    front_matter=_OBJECT,
    text=_STRING,
    offset={**_INTEGER, "description": "Where `text` begins in the page, in characters."},
    characters={**_INTEGER, "description": "Of the whole page."},
    next_offset={**_INTEGER_OR_NULL, "description": "Ask again with it for the rest; else null."},
    truncated=TRUNCATED,
)
PAGES = document(
    ("truncated",),
    pages=listed(PAGE_ROW, "By slug."),
    total=_INTEGER,
    next_offset={**_INTEGER_OR_NULL, "description": "Ask again with it for more; else null."},
    truncated=TRUNCATED,
)
WRITTEN = document(
    ("date", "nearly_the_same"),
    slug=_STRING,
    version=_INTEGER,
    outcome={"type": "string", "enum": ["created", "updated", "unchanged"]},
    date={**_STRING, "description": "The entry's date."},
    nearly_the_same={
        "type": ["object", "null"],
        "description": "Another page that says nearly the same: consider one page for both.",
    },
)
LINKS = document(
    ("truncated",),
    slug=_STRING,
    links=listed(
        document(line=_INTEGER, kind=_STRING, target=_STRING, slug=_STRING_OR_NULL),
        "As written on the page; slug is null where no page has that name.",
    ),
    backlinks=listed(
        document(slug=_STRING, title=_STRING, line=_INTEGER), "Links on other pages to this one."
    ),
    truncated=TRUNCATED,
)
STATS = document(
    ("truncated",),
    path=_STRING,
    pages=_INTEGER,
    chunks=_INTEGER,
    vectors=_INTEGER,
    jobs={**_INTEGER, "description": "Passages that wait to be embedded."},
    links=_INTEGER,
    tags=_INTEGER,
    wings=listed(_OBJECT),
    newest=listed(_OBJECT, "Written last, the newest first."),
    truncated=TRUNCATED,
)
EXPLANATION = document(
    ("truncated",),
    query=_OBJECT,
    mode=_STRING,
    short_circuit=_OBJECT,
    lanes={**_OBJECT, "description": "What each lane found, best first."},
    fusion=_OBJECT,
    cut=_OBJECT,
    verdict=VERDICT,
    results=listed(HIT),
    trace=listed(_OBJECT, "Stages with their milliseconds."),
    why_not={"type": ["object", "null"], "description": "stage, reason and remedy."},
    truncated=TRUNCATED,
)
RECALLED = document(
    page={"type": ["object", "null"], "description": "As brain_get gives it: the page meant."},
    answer={
        "type": ["object", "null"],
        "description": "As brain_query gives it, when the name is not a slug.",
    },
)
