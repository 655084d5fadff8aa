"""A brain in which an attacker wrote every text, and commands that show it."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from gbrain.brain import Brain

# Colour, a link, a bell, a backspace, a carriage return, C1 controls, overrides of direction.
ESCAPES = (
    "\x1b[6;31;47mX\x1b]8;;http://evil.example\x1b\\Y\x1b]0;T\x07\x08\r\x9b2J\x9d0;t\x9c"
    "\u202eabc\u2066x\u2069\x7f\x0b\x0c\x1b(0\x1bc"
)
MARKUP = "[bold red]B[/] [link=http://evil.example]L[/link] :smiley:"

PAGE = """---
title: "Notes %(yaml)s"
type: "person %(choice)s"
tags: ["tag%(choice)s", plain]
aliases: ["known as %(yaml)s"]
source: "[[people/second]]"
questions: ["What are notes %(yaml)s?"]
---
# Notes %(text)s

Words about notes and rivers, [[people/second|a label%(text)s]], [[people/gone%(text)s]] and
[a link%(text)s](third.md). #inline A long page says &#8238;this&#155; `code%(text)s`.

## Part %(text)s

- one %(text)s

---
## Timeline
- 2026-04-03 — Joined notes %(text)s
- **2026-03** | a source%(text)s — Said so
"""

# Columns of plain text, which no code parses.
_PLAIN = {
    "pages": "slug path title type wing wing_reason room room_reason tags aliases",
    "versions": "slug path ending",
    "tags": "tag",
    "links": "label heading target",
    "vaults": "root",
    "conflicts": "found_at",
    "embedding_jobs": "error",
    "query_aliases": "word expansion",
    "questions": "text",
    "last_answer": "slug",
    "config": "value",
}
_NAMES = ("slug", "path", "root")
# Values of filters, which messages list when a filter matches nothing.
_CHOICES = ("wing", "room", "type", "tag")


def page_of(text: str, *, names: bool = True) -> str:
    """Return a page with `text` everywhere; front matter gets only what YAML allows.

    Without `names` the values of filters, type and tags, do not have it.
    """
    allowed = json.dumps(re.sub("[\x00-\x1f\x7f-\x9f]", "", text))[1:-1]
    return PAGE % {"text": text, "yaml": allowed, "choice": allowed if names else ""}


def make_brain(path: Path, text: str, *, names: bool = True) -> None:
    """Create a brain with `text` wherever a page, a setting or a crafted row can contain it.

    The pages people/first, second and third keep slugs that can be typed. With `names`, other
    slugs and the names of files, folders and wings contain the text too.
    """
    source = page_of(text, names=names).encode()
    with Brain.open(path, make=True) as brain:
        for name in ("first", "second", "third", "crafted"):
            brain.put(f"people/{name}", source.replace(b"rivers", f"rivers {name}".encode()))
        brain.put("people/first", source.replace(b"rivers", b"lakes"))
        brain.put("gone", source)
        brain.delete("gone")
        brain.embed()
        brain.set("record_queries", "on")
        brain.query("what are notes?")
        brain.query("zebra quagga okapi")
        brain.put("people/third", source.replace(b"rivers", b"ponds"))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO vaults (root, added_at) VALUES ('/nowhere/', '2026')")
        connection.execute(
            "INSERT INTO conflicts SELECT id, 1, NULL, '2026' FROM pages "
            "WHERE slug = 'people/third'"
        )
        connection.execute("INSERT INTO query_aliases VALUES ('word', 'meaning')")
        connection.execute("INSERT INTO config VALUES ('capture_page', 'inbox')")
        connection.execute(
            "INSERT INTO embedding_models SELECT 7, name || ?, 'another', sha256, pooling, "
            "query_prefix, passage_prefix, dimension, max_tokens, description, folder, NULL, 0, "
            "added_at FROM embedding_models",
            (text if names else " 2",),
        )
        connection.execute("INSERT INTO last_answer VALUES (1, 'people/', 1)")
        connection.execute("UPDATE embedding_jobs SET attempts = 3, error = 'failed'")
        connection.execute("UPDATE pages SET vault_id = 1 WHERE slug = 'people/crafted'")
    craft_rows(path, text, names=names)


def craft_rows(path: Path, text: str, *, names: bool = True) -> None:
    """Append `text` to values in the rows of a brain, as no page could."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for table, columns in _PLAIN.items():
            for column in columns.split():
                if column in (*_NAMES, *_CHOICES) and not names:
                    continue
                of_page = table == "pages" and column in _NAMES
                rule = "WHERE slug LIKE '%crafted%'" if of_page else ""
                rule = "WHERE key = 'capture_page'" if table == "config" else rule
                connection.execute(f"UPDATE {table} SET {column} = {column} || ? {rule}", (text,))
        connection.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('rebuild')")
        connection.execute("INSERT INTO pages_fts (pages_fts) VALUES ('rebuild')")


def commands(folder: Path, text: str) -> list[list[str]]:
    """Return the arguments of every command that prints, with existing and missing things."""
    first, second = "people/first", "people/second"
    asking = [
        ["search", "notes"],
        ["search", "notes", "-v", "--debug"],
        ["search", f"{text}"],
        ["query", "what are notes?"],
        ["query", "notes", "-v", "--debug", "--mode", "bm25"],
        ["query", "notes", "--depth", "auto", "--mode", "bm25"],
        ["search", "notes", "--as-of", "2026-11-16"],
        ["search", "notes", "--wing", f"x{text}"],
        ["search", "notes", "--since", f"x{text}"],
        ["search", "notes", "--where", f"x{text}"],
        ["query", "notes", "--boost", f"x{text}"],
        ["query", "notes", "--profile", f"x{text}"],
        ["explain", "notes"],
        ["explain", f"notes {text}", "--why-not", second, "--mode", "bm25"],
        ["explain", "notes", "--why-not", f"x{text}", "--mode", "bm25"],
        ["gaps"],
        ["verify", str(folder / "cited.txt")],
        ["open", "1"],
        ["open", "999"],
    ]
    pages = [
        ["list"],
        ["list", "--tag", f"x{text}"],
        ["get", first],
        ["get", first, "--version", "1"],
        ["get", f"x{text}"],
        ["get", first, "--version", "77"],
        ["history", first],
        ["history", "gone"],
        ["diff", first],
        ["supersede", first, second],
        ["supersede", "--list"],
        ["supersede", first, f"x{text}"],
        ["dedupe", "--dry-run"],
        ["tags"],
        ["tags", first],
        ["links", first],
        ["backlinks", second],
        ["graph"],
        ["graph", first],
        ["graph", first, "--dot"],
        ["graph", "--html", "-"],
        ["graph", "--html", str(folder / f"no{text}" / "x.html")],
        ["why", first],
        ["timeline", first],
        ["timeline"],
        ["tasks"],
        ["done", f"x{text}"],
        ["today"],
        ["today", f"x{text}"],
        ["conflicts"],
        ["remote", "add", f"x{text}", "postgresql://host/db"],
        ["remote", "add", "x", f"postgresql://host/db{text}"],
        ["remote", "list"],
        ["remote"],
        ["remote", "roles"],
        ["remote", "roles", "--reader", f"x{text}"],
        ["remote", "repair", f"x{text}"],
        ["remote", "remove", f"x{text}"],
        ["remote", "status", f"x{text}"],
        ["clone", f"x{text}", str(folder / "clone.db")],
        ["pull", f"x{text}"],
        ["push", f"x{text}"],
        ["resolve", f"x{text}"],
        ["resolve", "people/third"],
        ["undo", f"x{text}"],
        ["undo", second],
    ]
    care = [
        ["folders"],
        ["folders", "list"],
        ["folders", "add", str(folder / f"no{text}")],
        ["folders", "move", str(folder / f"no{text}"), str(folder)],
        ["folders", "forget", str(folder / f"no{text}")],
        ["config", "list"],
        ["config", "get", "capture_page"],
        ["config", "get", f"x{text}"],
        ["config", "set", "default_limit", f"x{text}"],
        ["alias", "list"],
        ["alias", "remove", "x"],
        ["alias", "add", "y", f"z {text}"],
        ["profile", "list"],
        ["profile", "show", "jeffs"],
        ["profile", "use", f"x{text}"],
        ["jobs", "list"],
        ["model", "list"],
        ["model", "verify"],
        ["model", "verify", f"x{text}"],
        ["model", "add", str(folder / f"no{text}")],
        ["model", "remove", f"x{text}"],
        ["model", "use", f"x{text}"],
        ["stats"],
        ["status"],
        ["token"],
        ["token", "list"],
        ["token", "add", f"x{text}"],
        ["token", "add", "reader", "--wing", f"x{text}"],
        ["token", "revoke", text],
        ["stats", "--db", str(folder / f"no{text}.db")],
        ["doctor", "-v"],
        ["selftest", "--questions", "2", "--quiet"],
        ["tune", "--questions", "1", "--quiet"],
        ["eval", str(folder / f"no{text}")],
        ["train-reranker"],
        ["schema"],
        ["schema", f"x{text}"],
        ["completion", "bash"],
        ["completion", f"x{text}"],
        ["nonsense" + text],
        ["list", f"--nonsense{text}"],
    ]
    changing = [
        ["sync", "--quiet"],
        ["sync"],
        ["import", str(folder / f"no{text}")],
        ["import", str(folder / "notes"), "--no-embed"],
        ["import", str(folder / "notes"), "--dry-run", "--overwrite"],
        ["export", str(folder / "out")],
        ["export", str(folder / "site"), "--format", "html"],
        ["export", "-", "--format", "json"],
        ["backup", str(folder / "copy.db")],
        ["backup", str(folder / f"no{text}" / "copy.db")],
        ["restore", str(folder / f"no{text}")],
        ["capture", f"thought {text}"],
        ["capture", "thought", "--to", f"x{text}"],
        ["edit", first],
        ["put", first, str(folder / "page.md")],
        ["put", first, str(folder / f"no{text}")],
        ["put", f"../x{text}", str(folder / "page.md")],
        ["timeline-add", first, f"entry {text}", "--date", "2026-04-05"],
        ["timeline-add", first, "entry", "--date", f"x{text}"],
        ["embed", "--quiet"],
        ["jobs", "retry"],
        ["rename", first, second],
        ["rename", first, f"people/renamed {text}"],
        ["delete", second],
        ["config", "reset", "--all"],
        ["doctor", "--repair"],
        ["jobs", "clear"],
        ["compact"],
        ["restore", str(folder / "copy.db")],
        ["init"],
    ]
    return [*asking, *pages, *care, *changing]


def write_files_beside(folder: Path, text: str) -> None:
    """Write a folder of notes, a page and citations that contain `text`, in file names too."""
    notes = folder / "notes"
    notes.mkdir()
    page = page_of(text)
    (notes / f"file {text.replace('/', '')}.md").write_text(page)
    (notes / f"bad {text.replace('/', '')}.md").write_text(f"---\na: [{text}\nb: }}\n---\n{text}")
    (notes / "not-utf-8.md").write_bytes(text.encode() + b"\xff")
    (folder / "page.md").write_text(page)
    (folder / "cited.txt").write_text(f"As in [people/first#L1-2:0123456789ab] {text}\n")
