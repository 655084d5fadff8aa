"""Very long pages and queries, and the time of every step with them.

    python tests/faults/long_inputs.py SIZE [NAME...]

prints the seconds of each step for SIZE bytes, twice and four times as many, and the ratio of last
to first: 4 if time is linear in the input, 16 if it is quadratic.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count, islice
from pathlib import Path
from time import process_time

from typer.testing import CliRunner

from gbrain.brain import Brain
from gbrain.cli.app import app
from gbrain.errors import GbrainError
from gbrain.text.page import MAX_LINE_BYTES

Make = Callable[[int], str]
Steps = Iterator[tuple[str, Callable[[], object]]]

NOON = "2026-11-16T12:00:00"
# Bytes of one long line or front matter, below the limit of both.
LINE_BYTES = MAX_LINE_BYTES // 2


def lines_of(unit: str) -> Make:
    return lambda size: f"{unit}\n" * (size // (len(unit.encode()) + 1))


def one_line(unit: str) -> Make:
    """Return a maker of texts whose lines are as long as allowed."""

    def make(size: int) -> str:
        line = unit * (min(size, LINE_BYTES) // len(unit.encode()))
        return f"{line}\n" * max(size // LINE_BYTES, 1)

    return make


def numbered(form: str) -> Make:
    def make(size: int) -> str:
        return "\n".join(islice((form % number for number in count()), size // (len(form) + 3)))

    return make


def front_matter_of(before: str, unit: str, after: str = "\n---\nriver\n") -> Make:
    """Return a maker of pages with front matter as long as allowed."""
    return lambda size: before + unit * (min(size, LINE_BYTES) // len(unit.encode())) + after


UNITS = {
    "links": "[[", "labels": "[[a|", "headings": "#", "titles": "# ", "dates": "- 2026",
    "tags": "#a ", "quotation marks": '"', "backticks": "`", "quotes": ">", "stars": "*",
    "bars": "|", "comments": "%%", "html comments": "<!--", "brackets": "[", "closed brackets": "]",
    "pictures": "![](", "blocks": "((", "dashes": "-", "underlines": "_", "equals signs": "=",
    "tildes": "~", "escapes": "\\", "marks on a letter": "\u0301\u0316", "no-break spaces": "\xa0",
    "blanks": " ", "questions": "a? ", "words": "a b ", "ideographs": "知", "emoji": "😀",
    "line separators": "\u2028", "byte order marks": "\ufeff", "embeds": "{{embed ",
    "tags of html": "<a ",
}  # fmt: skip

PAGES: dict[str, Make] = {
    **{f"{name} on a line": one_line(unit) for name, unit in UNITS.items()},
    **{f"{name} on lines": lines_of(unit) for name, unit in UNITS.items()},
    "empty lines": lines_of(""),
    "carriage returns": lambda size: "\r" * size,
    "quotes in lists": one_line("> - "),
    "sections": lambda size: "# a\nb\n" * min(size // 6, 99_000),
    "deep sections": lambda size: (
        "".join(f"{'#' * level} {'river ' * 45}\n" for level in range(1, 6))
        + "###### a\nb\n" * min(size // 11, 99_000)
    ),
    "entries": lambda size: "## Timeline\n" + "- 2026-04-03 — x\n" * min(size // 19, 99_000),
    "underlined": lines_of("a\n==="),
    "definitions": lines_of("[a]: b 'x"),
    "open definitions": lines_of('[a]: b\n"x'),
    "fences": lines_of("```a\n~~~"),
    "open comment": lambda size: "<!--\n" + lines_of("a")(size),
    "tables": lines_of("|a|b|\n|-|-|"),
    "properties": lines_of("a:: b"),
    "named blocks": lines_of("- id:: 12345678-1234-1234-1234-123456789012"),
    "nested quotes": lambda size: "> " * 30 + "a\n" + lines_of("a")(size),
    "links to many": numbered("[[page %d]]"),
    "many tags": numbered("#tag%d"),
    "many words": numbered("word%d"),
    "one long link": lambda size: f"[[{one_line('a ')(size).strip()}]]",
    "one long name": lambda size: f"[[{one_line(UNITS['marks on a letter'])(size).strip()}]]",
    "aliases": front_matter_of("---\naliases: ['a'", ", 'b'", "]\n---\nriver\n"),
    "an alias": front_matter_of("---\naliases: ['", "\u0301\u0316", "']\n---\nriver\n"),
    "lists in lists": front_matter_of("---\na: ", "["),
    "maps in maps": front_matter_of("---\na: ", "{a: "),
    "items in items": front_matter_of("---\na: ", "- "),
    "keys in keys": front_matter_of("---\na: ", "? "),
    "directives": front_matter_of("---\n", "%TAG !a! tag:x\n"),
    "anchors": front_matter_of("---\na0: &a [x, x]\n", "b: [*a, *a]\n"),
    "yaml comments": front_matter_of("---\n", "#\n"),
    "folded text": front_matter_of("---\na: >\n", "  b\n"),
}

QUERIES: dict[str, Make] = {
    f"query of {name}": one_line(unit)
    for name, unit in {
        "words": "a ", "phrases": '"a" ', "quotation marks": '"', "brackets": "(", "groups": "(a ",
        "closed": "a) ", "not": "NOT ", "without": "NOT a ", "and": "AND ", "or": "a OR ",
        "fields": "tag:a ", "titles": 'title:"a', "compounds": "a-", "prefixes": "a* ",
        "signs": "*", "ideographs": "知", "marks on a letter": "\u0301\u0316", "letters": "a",
        "months": "may ", "days": "on monday, 3rd of may 2026 ", "before": "before:2026 ",
        "links": "[[a|",
    }.items()
}  # fmt: skip
QUERIES["query of one phrase"] = lambda size: f'"{one_line("a ")(size).strip()}"'


def page_steps(brain: Brain, text: str) -> Steps:
    """Yield (name, action) for all that is done with a page, from `put` to `delete`."""
    path, data = brain.database.path, text.encode()
    yield "put", lambda: brain.put("page", data)
    yield "embed", lambda: brain.embed(limit=4)
    yield "search", lambda: brain.search("a river 2026")
    yield "query", lambda: brain.query("what is a river?", depth="auto", budget=500, mode="bm25")
    yield "get", lambda: run(path, "get", "page", "--json")
    yield "export", lambda: brain.export(path.parent / "out")
    yield "site", lambda: run(path, "export", str(path.parent / "site"), "--format", "html")
    yield "graph", lambda: run(path, "graph", "page", "--json")
    yield "timeline", lambda: run(path, "timeline", "page", "--json")
    yield "timeline-add", lambda: run(path, "timeline-add", "page", "It rained")
    yield "change", lambda: brain.put("page", ("river\n\n" + text).encode())
    yield "diff", lambda: run(path, "diff", "page")
    yield "verify", lambda: run(path, "verify", stdin=citation_of(text))
    yield "copy", lambda: brain.put("copy", data)
    yield "dedupe", lambda: run(path, "dedupe", "--dry-run", "--json")
    yield "selftest", lambda: run(path, "selftest", "--questions", "2", "--json")
    yield "delete", lambda: brain.delete("page")


def citation_of(text: str) -> bytes:
    piece = {"slug": "page", "lines": [1, 2], "hash": "0" * 32, "text": text[: len(text) // 2]}
    return json.dumps([piece]).encode()


def query_steps(brain: Brain, text: str) -> Steps:
    """Yield (name, action) for all that is done with a query."""
    path = brain.database.path
    line = json.dumps({"query": text.strip()}).encode()
    yield "search", lambda: brain.search(text)
    yield "context", lambda: brain.query(text, depth="auto", budget=500, mode="bm25")
    yield "line", lambda: run(path, "search", "-", stdin=line)
    yield "plain line", lambda: run(path, "search", "-", stdin=text.encode())
    yield "cited", lambda: run(path, "verify", stdin=text.encode())
    yield "name", lambda: brain.put(text, b"# X\n")
    yield "record", lambda: run(path, "import", "--stdin", stdin=line)


def run(path: Path, *words: str, stdin: bytes = b"") -> None:
    result = CliRunner(env={"GBRAIN_DB": str(path)}).invoke(app, words, input=stdin)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception


def measure_steps(name: str, size: int) -> dict[str, float]:
    """Return the processor seconds of each step with the text called `name`."""
    spent = {}
    is_page = name in PAGES
    text = (PAGES if is_page else QUERIES)[name](size)
    with (
        tempfile.TemporaryDirectory() as folder,
        Brain.open(Path(folder) / "brain.db", make=True) as brain,
    ):
        brain.put("other", b"# Other\n\na river, a b 2026\n")
        for step, action in (page_steps if is_page else query_steps)(brain, text):
            began = process_time()
            with suppress(GbrainError):
                action()
            spent[step] = process_time() - began
    return spent


def main() -> None:
    os.environ["GBRAIN_NOW"] = NOON
    size, names = int(sys.argv[1]), sys.argv[2:] or [*PAGES, *QUERIES]
    for name in names:
        print(name, flush=True)
        measured = [measure_steps(name, size * factor) for factor in (1, 2, 4)]
        for step, last in measured[-1].items():
            taken = " ".join(f"{each.get(step, 0):8.2f}" for each in measured)
            ratio = last / max(measured[0].get(step, 0), 0.02)
            if last > 0.2:
                print(f"  {step:12} {taken}   ratio {ratio:4.1f}{'  !' * (ratio > 8)}", flush=True)
    print(f"at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB")


if __name__ == "__main__":
    main()
