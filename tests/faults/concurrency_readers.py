"""Those who read a brain that others write to: each fails when it sees half of something."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from itertools import chain, islice
from time import perf_counter
from typing import Any

from concurrency import GONE, STAMP, Crowd, is_counted, stamp_of, token

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.importing.export import jsonl_lines
from gbrain.types import Answer


def question(crowd: Crowd) -> str:
    topics = (*GONE, "own-1/1", "own-2/2", "notes-1/3", "notes-2/4")
    return f"{token(crowd.chance.choice(topics))} {crowd.chance.choice(('first', 'truth', 'was'))}"


def check_answer(answer: Answer) -> None:
    check_hits((hit.slug, hit.snippet) for hit in answer.hits)
    stamps: dict[str, set[str]] = {}
    for piece in answer.context or ():
        if is_counted(piece.slug):
            assert token(piece.slug) in piece.text, f"{piece.slug} has a passage of another page"
            stamps.setdefault(piece.slug, set()).update(STAMP.findall(piece.text))
    assert all(len(found) == 1 for found in stamps.values()), stamps


def check_hits(hits: Iterable[tuple[str, str]]) -> None:
    for slug, snippet in hits:
        if is_counted(slug):
            plain = re.sub(r"[\x02\x03*]", "", snippet)
            assert token(slug) in plain, f"{slug} is shown with another page's passage: {plain!r}"


def check_all(pages: Iterable[tuple[str, str]]) -> None:
    """Every page of one view is whole, and what was imported together is of one import."""
    folders: dict[str, set[str]] = {}
    for slug, text in pages:
        if is_counted(slug):
            stamp = stamp_of(text)
            if slug.startswith("notes-"):
                folders.setdefault(slug.partition("/")[0], set()).add(stamp)
    assert all(len(stamps) == 1 for stamps in folders.values()), folders


def search(crowd: Crowd, brain: Brain) -> None:
    check_answer(brain.search(question(crowd)))


def query(crowd: Crowd, brain: Brain) -> None:
    check_answer(brain.query(question(crowd), mode="hybrid"))


def query_in_depth(crowd: Crowd, brain: Brain) -> None:
    check_answer(brain.query(question(crowd), mode="hybrid", depth="auto", budget=600))


def get(crowd: Crowd, brain: Brain) -> None:
    slug = crowd.chance.choice((*GONE, "own-1/1", "own-2/2", "notes-1/0"))
    try:
        page, meta, text = brain.page(slug)
    except NotFound:
        return
    assert {stamp_of(text)} == {meta["counter"], page.title.split()[-1]}
    brain.record_open(page.id)


def listing(crowd: Crowd, brain: Brain) -> None:
    pages, total = brain.list()
    assert len({page.slug for page in pages}) == total


def export(crowd: Crowd, brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        documents = [json.loads(line) for line in jsonl_lines(connection)]
    check_all((document["slug"], document["text"]) for document in documents)


def passages(crowd: Crowd, brain: Brain) -> None:
    """No passage without its page, none of another text, in the tables and in their index."""
    with brain.database.read_transaction() as connection:
        rows = connection.execute(
            "SELECT slug, text, front_matter || compiled_truth || timeline FROM chunks "
            "LEFT JOIN pages ON pages.id = page_id"
        ).fetchall()
        found = connection.execute(
            "SELECT count(*) FROM chunks_fts LEFT JOIN chunks ON chunks.id = chunks_fts.rowid "
            "WHERE chunks_fts MATCH 'says' AND chunks.id IS NULL"
        ).fetchone()[0]
    assert found == 0
    for slug, passage, text in rows:
        assert slug is not None, "a passage is of no page"
        assert passage in text, f"{slug} has a passage that is not in its text"


Reader = Callable[[Crowd, Brain], None]
READERS: tuple[tuple[Reader, ...], ...] = (
    (search,), (query,), (query_in_depth,), (get, listing), (export, passages), (search, get),
)  # fmt: skip


def reader(crowd: Crowd) -> None:
    """Asks in its own process, of a brain that is opened anew now and then."""
    acts, turns = crowd.dealt(READERS[crowd.number]), crowd.turns(0.1)
    while some := list(islice(turns, 1)):
        with Brain.open(crowd.path) as brain:
            for _ in chain(some, islice(turns, 50)):
                act = next(acts)
                began = perf_counter()
                act(crowd, brain)
                crowd.tell(act.__name__, began)


def commands(crowd: Crowd) -> None:
    """Asks as a person does, a process for each question."""
    for turn in crowd.turns(0.1):
        slug = crowd.chance.choice(GONE)
        words = (
            ("search", question(crowd)), ("get", slug), ("list",), ("query", question(crowd)),
            ("export", str(crowd.folder / "copy")),
        )[turn % 5]  # fmt: skip
        began = perf_counter()
        code, said, complained = crowd.command(*words, "--json")
        crowd.tell(f"gbrain {words[0]}", began)
        _check_document(words[0], code, json.loads(said or complained))
        if words[0] == "export":
            root = crowd.folder / "copy"
            files = [(f.relative_to(root).with_suffix("").as_posix(), f) for f in root.rglob("*")]
            check_all((slug, file.read_text()) for slug, file in files if file.suffix == ".md")


def _check_document(name: str, code: int, document: Any) -> None:
    if name == "get" and code == 1:
        assert document["error"]["code"] == "not_found", document
        return
    assert code == 0, document
    if name == "get":
        assert stamp_of(document["text"]) == document["title"].split()[-1]
    elif name in ("search", "query"):
        check_hits((hit["slug"], hit["snippet"]) for hit in document["results"])


def agent(crowd: Crowd) -> None:
    """Asks through `gbrain serve`, as an agent does."""
    import anyio
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    words = ["-m", "gbrain", "serve", "--read-only", "--db", str(crowd.path)]

    async def ask() -> None:
        server = StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            for _ in crowd.turns(0.1):
                began = perf_counter()
                result = await client.call_tool("brain_query", {"query": question(crowd)})
                assert not result.is_error, result.structured_content
                crowd.tell("brain_query", began)
                hits = result.structured_content["results"]
                check_hits((hit["slug"], hit["snippet"]) for hit in hits)

    anyio.run(ask)
