"""Hypothesis strategies for any input: pages, names, queries, options, lines and messages."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from gbrain.config import all_settings
from gbrain.text.query_terms import FIELDS

# Characters that parsers have treated specially.
ODD = (
    "\0\t\r\n\v\f\x1b\x1c\x7f\x85\xa0\u0301\u0316\u0344\u0600\u180e\u200b\u200d\u202e\u2028\u2029"
    "\u2066\ufeff\ufffe\U000e0001\U0010ffff\U0001f600知각éßİıſΔ٣'\"`\\|#[](){}<>*_~-+=:;,.!?%&$@^/"
)
WORDS = ("river", "alice", "AND", "OR", "NOT", "the", "2026", "知识", "naïve", "C++", "a", "may")
CHARACTERS = st.one_of(st.sampled_from(ODD), st.sampled_from("abcABC019 \n"), st.characters())

text = st.text(CHARACTERS.filter(lambda char: not "\ud800" <= char <= "\udfff"), max_size=60)
any_text = st.text(CHARACTERS, max_size=60)
word = st.one_of(st.sampled_from(WORDS), st.text("abcdeéß知", min_size=1, max_size=8))
date = st.one_of(
    st.sampled_from(
        [
            "2026",
            "2026-02",
            "2026-02-30",
            "2026-Q2",
            "2026-04-03T10:30Z",
            "0000",
            "9999-12-31",
            "last monday",
            "3w",
            "9999 years ago",
            "yesterday",
            "31 feb",
            "in may",
            "٣",
        ]
    ),
    st.dates().map(str),
    text,
)
name = st.one_of(
    word,
    text,
    st.lists(word, min_size=1, max_size=4).map("/".join),
    st.sampled_from(
        ["../x", "/etc/passwd", "a//b", ".", "..", "-rf", "con", "a.md.md", "2026_04_03", "a___b",
         "a%2Fb", "x" * 500, "İ.md", "a/./b"]
    ),
)  # fmt: skip

# --- pages -------------------------------------------------------------------------------------

_inline = st.one_of(
    word,
    text,
    st.sampled_from(
        ["[[a]]", "[[a|b#c]]", "![[a#^b]]", "[x](b.md)", "[x](<b c.md>)", "#tag", "#a/b", "#a b#",
         "%%x%%", "`#no`", "((12345678-1234-1234-1234-123456789012))", "{{embed [[a]]}}",
         "\\[[a]]", "[[", "]]", "[a](", "![", "<!--", "-->", "<b>", "http://a.b/c", "$$", "^x"]
    ),
)  # fmt: skip
_line = st.lists(_inline, max_size=5).map(" ".join)
_opening = st.sampled_from(
    ["", "", "# ", "## ", "###### ", "- ", "* ", "1. ", "- [ ] ", "> ", "> > ", "    ", "\t", "```",
     "~~~", "---", "===", "***", "<div>", "<!--", "|", "[a]: ", "title:: ", "tags:: ", "- id:: ",
     "- 2026-04-03 — ", "- **2026** | x — ", "- 2026-04: ", "## Timeline", "  - ", "%%"]
)  # fmt: skip
_end = st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\r"])
body = st.lists(st.tuples(_opening, _line, _end).map("".join), max_size=14).map("".join)

_scalar = st.one_of(word, text, date, st.sampled_from(["[a, b]", "{a: 1}", "&x y", "*x", "|", "~"]))
_entry = st.tuples(
    st.one_of(
        st.sampled_from(
            [
                "title",
                "tags",
                "aliases",
                "type",
                "wing",
                "room",
                "date",
                "questions",
                "source",
                "superseded_by",
                "pinned",
                "importance",
                "related",
                "id",
            ]
        ),
        word,
        text,
    ),
    st.sampled_from([": ", ":", ":\n  - ", ": >\n  ", ': "']),
    _scalar,
).map("".join)
front_matter = st.lists(_entry, max_size=6).map(lambda rows: "\n".join(["---", *rows, "---\n"]))
sound_values = st.dictionaries(
    st.sampled_from(["title", "tags", "aliases", "date", "x y", "importance"]),
    st.one_of(text, st.integers(), st.booleans(), st.floats(allow_nan=False), st.lists(text)),
)
sound_front_matter = sound_values.map(
    lambda values: "".join(
        ["---\n", *(f"{json.dumps(k)}: {json.dumps(v)}\n" for k, v in values.items()), "---\n"]
    )
)
page = st.one_of(
    body,
    st.tuples(st.one_of(front_matter, sound_front_matter), body).map("".join),
    st.tuples(st.just("\ufeff"), body).map("".join),
    text,
)
page_bytes = st.one_of(page.map(str.encode), page.map(str.encode), st.binary(max_size=80))

# --- questions ---------------------------------------------------------------------------------

_field = st.tuples(
    st.sampled_from([*FIELDS, "titel"]), st.sampled_from([":", ":(", ':"']), st.one_of(word, date)
).map("".join)
_operator = st.sampled_from(["AND", "OR", "NOT", "(", ")", '"', "*", "-", "+", "NEAR(", "^"])
question = st.one_of(
    any_text, st.lists(st.one_of(word, word, _field, _operator, text), max_size=12).map(" ".join)
)

# --- options, as the command line and lines of JSON take them ------------------------------------

_boost = st.one_of(
    text, st.sampled_from(["tag:a=2", "wing:=1", "slug:x=nan", "tag:a=1e999", "tag:a=-1", "x:y=1"])
)
_number = st.one_of(st.integers(-2, 2000), st.sampled_from(["", "٣", "1e3", "nan", 10**30]))
options: dict[str, st.SearchStrategy[object]] = {
    "wing": name, "room": name, "type": text, "tag": text, "slug_prefix": name, "since": date,
    "until": date, "where": st.one_of(text, st.sampled_from(["a=b", "=", "tags=a", "x y=1"])),
    "exclude": name, "limit": _number,
}  # fmt: skip
query_options: dict[str, st.SearchStrategy[object]] = {
    **options,
    "mode": st.one_of(st.sampled_from(["bm25", "semantic", "hybrid"]), text),
    "merge": st.one_of(st.sampled_from(["rrf", "blend", "set-union"]), text),
    "depth": st.one_of(st.just("auto"), text),
    "budget": _number,
    "boost": _boost,
    "profile": st.one_of(st.sampled_from(["default", "sift", "precise"]), text),
}
setting = st.tuples(
    st.one_of(st.sampled_from(sorted(all_settings())), text),
    st.one_of(text, st.sampled_from(["0", "1", "-1", "1e309", "nan", "on", "off", ""]), date),
)

json_value = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), any_text, question),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.one_of(word, any_text), inner, max_size=3)
    ),
    max_leaves=6,
)


# JSON that is truncated, too deep, or has invalid numbers and unpaired surrogates.
broken_json = st.sampled_from(
    [
        "{",
        '{"query": "a"',
        '{"query": "a", "slug": "a", "text": "a"}}',
        '{"query": ' + "[" * 100_000,
        '{"slug": ' * 2000 + "1" + "}" * 2000,
        '{"query": "a", "limit": ' + "9" * 5000 + ', "slug": "a"}',
        '{"query": "\\ud800", "slug": "\\udfff", "text": "\\ud800"}',
        '{"query": NaN, "slug": "a", "text": Infinity}',
        '{"query": "a", "query": 1, "slug": "a", "body": "b", "\\u0000": "\\u0000"}',
    ]
)


def question_line(known: dict[str, st.SearchStrategy[object]]) -> st.SearchStrategy[str]:
    """Return lines for `query -`: a text, an object with options, or anything else."""
    given = st.fixed_dictionaries(
        {"query": question},
        optional={key: st.one_of(value, json_value) for key, value in known.items()},
    )
    return st.one_of(question, given.map(json.dumps), broken_json, json_value.map(json.dumps))


record_line = st.one_of(
    st.fixed_dictionaries(
        {"slug": st.one_of(name, json_value)},
        optional={"text": st.one_of(page, json_value), "body": page, "path": name, "title": text,
                  "tags": json_value, "date": date},
    ).map(json.dumps),
    json_value.map(json.dumps),
    broken_json,
    any_text.filter(lambda line: "\n" not in line),
)  # fmt: skip

ignore_lines = st.lists(
    st.one_of(
        text,
        st.lists(
            st.sampled_from("a b * ** / ? [ab] [!a] [ ] \\ ! -".split()),
            max_size=10,
        ).map("".join),
    ),
    max_size=4,
)  # fmt: skip
