"""Processes that read a brain while others write; each fails when it sees half a change."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from itertools import chain, islice
from time import perf_counter
from typing import Any

from concurrency import GONE, STAMP, Member, is_stamped, stamp_of, token

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.importing.export import jsonl_lines
from gbrain.types import Answer


def question(member: Member) -> str:
    topics = (*GONE, "own-1/1", "own-2/2", "notes-1/3", "notes-2/4")
    return f"{token(member.rng.choice(topics))} {member.rng.choice(('first', 'truth', 'was'))}"


def check_answer(answer: Answer) -> None:
    check_hits((hit.slug, hit.snippet) for hit in answer.hits)
    stamps: dict[str, set[str]] = {}
    for piece in answer.context or ():
        if is_stamped(piece.slug):
            assert token(piece.slug) in piece.text, f"{piece.slug} has a chunk of another page"
            stamps.setdefault(piece.slug, set()).update(STAMP.findall(piece.text))
    assert all(len(found) == 1 for found in stamps.values()), stamps


def check_hits(hits: Iterable[tuple[str, str]]) -> None:
    for slug, snippet in hits:
        if is_stamped(slug):
            plain = re.sub(r"[\x02\x03*]", "", snippet)
            assert token(slug) in plain, (
                f"{slug} is shown with the chunk of another page: {plain!r}"
            )


def check_all(pages: Iterable[tuple[str, str]]) -> None:
    """Every page of a snapshot is complete, and files imported together are of one import."""
    folders: dict[str, set[str]] = {}
    for slug, text in pages:
        if is_stamped(slug):
            stamp = stamp_of(text)
            if slug.startswith("notes-"):
                folders.setdefault(slug.partition("/")[0], set()).add(stamp)
    assert all(len(stamps) == 1 for stamps in folders.values()), folders


def search(member: Member, brain: Brain) -> None:
    check_answer(brain.search(question(member)))


def query(member: Member, brain: Brain) -> None:
    check_answer(brain.query(question(member), mode="hybrid"))


def query_in_depth(member: Member, brain: Brain) -> None:
    check_answer(brain.query(question(member), mode="hybrid", depth="auto", budget=600))


def get(member: Member, brain: Brain) -> None:
    slug = member.rng.choice((*GONE, "own-1/1", "own-2/2", "notes-1/0"))
    try:
        page, meta, text = brain.page(slug)
    except NotFound:
        return
    assert {stamp_of(text)} == {meta["counter"], page.title.split()[-1]}
    brain.record_open(page.id)


def list_pages(member: Member, brain: Brain) -> None:
    pages, total = brain.list()
    assert len({page.slug for page in pages}) == total


def export(member: Member, brain: Brain) -> None:
    with brain.database.read_transaction() as connection:
        documents = [json.loads(line) for line in jsonl_lines(connection)]
    check_all((document["slug"], document["text"]) for document in documents)


def chunks(member: Member, brain: Brain) -> None:
    """Every chunk has its page and is in its text, in the tables and in the index."""
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
    assert rows
    for slug, chunk, text in rows:
        assert slug is not None, "a chunk belongs to no page"
        assert chunk in text, f"{slug} has a chunk that is not in its text"


Reader = Callable[[Member, Brain], None]
READERS: tuple[tuple[Reader, ...], ...] = (
    (search,), (query,), (query_in_depth,), (get, list_pages), (export, chunks), (search, get),
)  # fmt: skip


def reader(member: Member) -> None:
    """Read with the library; the brain is reopened every 50 turns."""
    actions, turns = member.shuffled(READERS[member.number]), member.turns(0.1)
    while some := list(islice(turns, 1)):
        with Brain.open(member.path) as brain:
            for _ in chain(some, islice(turns, 50)):
                action = next(actions)
                began = perf_counter()
                action(member, brain)
                member.report(action.__name__, began)


def commands(member: Member) -> None:
    """Run commands, one process each."""
    for turn in member.turns(0.1):
        slug = member.rng.choice(GONE)
        arguments = (
            ("search", question(member)), ("get", slug), ("list",), ("query", question(member)),
            ("export", str(member.folder / "copy")),
        )[turn % 5]  # fmt: skip
        began = perf_counter()
        code, output, errors = member.command(*arguments, "--json")
        member.report(f"gbrain {arguments[0]}", began)
        _check_document(arguments[0], code, json.loads(output or errors))
        if arguments[0] == "export":
            root = member.folder / "copy"
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


def agent(member: Member) -> None:
    """Query through `gbrain serve`, as an agent does."""
    import anyio
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    arguments = ["-m", "gbrain", "serve", "--read-only", "--db", str(member.path)]

    async def ask() -> None:
        server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
        async with Client(stdio_client(server)) as client:
            for _ in member.turns(0.1):
                began = perf_counter()
                result = await client.call_tool("brain_query", {"query": question(member)})
                assert not result.is_error, result.structured_content
                member.report("brain_query", began)
                hits = result.structured_content["results"]
                check_hits((hit["slug"], hit["snippet"]) for hit in hits)

    anyio.run(ask)
