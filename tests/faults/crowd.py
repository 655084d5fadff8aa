"""Those who use one brain at the same time, each a process of its own.

    python tests/faults/crowd.py ROLE FOLDER NUMBER SEED SECONDS

Each prints a line of JSON for what it did and how many milliseconds that took, and fails at once
when it sees half a page, a passage of another page, or an error that nobody should see.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import chain, count, islice
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any, TypeVar

from gbrain.brain import Brain, timestamp
from gbrain.errors import Conflict, NotFound
from gbrain.export import page_lines
from gbrain.store.timeline import add_to_timeline
from gbrain.types import Answer

Act = TypeVar("Act")

DAY = "2026-11-16"
LOG = "shared/log"
SHARED = ("shared/1", "shared/2")
GONE = tuple(f"gone/{number}" for number in range(6))
FILES = 5
# Everything that a writer does through a program of its own rather than in its own process.
BY_COMMAND = 0.05
LEAST_TURNS = 5
_STAMP = re.compile(r"\bc\d+x\d+\b")
_STAMPS_ON_A_PAGE = 7


def token(slug: str) -> str:
    """A word that stands in every passage of a page and on no other page."""
    return "tok" + slug.replace("/", "").replace("-", "")


def counted(slug: str, stamp: str) -> str:
    """A page whose parts all carry the same stamp."""
    own = token(slug)
    return (
        f"---\ntitle: Page {own} {stamp}\ncounter: {stamp}\n---\n# Page {own} {stamp}\n\n"
        f"{own} stands at {stamp} in its truth.\n\n## First\n\n{own} first says {stamp}.\n\n"
        f"## Second\n\n{own} second says {stamp}.\n\n## Timeline\n\n- {DAY} — {own} was {stamp}\n"
    )


def stamp_of(text: str) -> str:
    """The one stamp of a whole page; half a page fails."""
    found = _STAMP.findall(text)
    assert len(found) == _STAMPS_ON_A_PAGE, f"parts are missing: {text!r}"
    assert len(set(found)) == 1, f"parts of two versions: {text!r}"
    return found[0]


def is_counted(slug: str) -> bool:
    return slug not in (LOG, *SHARED) and not slug.startswith("watched/")


# --- what a role works with --------------------------------------------------------------------


class Crowd:
    """One of many at a brain: its chance, its end, and what it tells of itself."""

    def __init__(self, folder: Path, number: int, seed: int, seconds: float) -> None:
        self.folder, self.number = folder, number
        self.path = folder / "brain.db"
        self.chance = random.Random(f"{seed} {number}")
        self.until = monotonic() + seconds

    def tell(self, kind: str, began: float, **facts: object) -> None:
        took = (perf_counter() - began) * 1000
        print(json.dumps({"kind": kind, "ms": round(took, 2), **facts}), flush=True)

    def turns(self, longest_pause: float) -> Iterator[int]:
        """Numbers from 1 until the time is over; a few in any case, on the slowest machine."""
        for number in count(1):
            if number > LEAST_TURNS and monotonic() > self.until:
                return
            yield number
            sleep(self.chance.uniform(0, longest_pause))

    def dealt(self, acts: Sequence[Act]) -> Iterator[Act]:
        """The acts in ever new orders."""
        while True:
            yield from self.chance.sample(acts, len(acts))

    def command(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors of the program; what no user may see fails here."""
        done = subprocess.run(
            [sys.executable, "-m", "gbrain", *words],
            input=stdin.encode(), capture_output=True,
            env={**os.environ, "GBRAIN_DB": str(self.path)},
        )  # fmt: skip
        said, complained = done.stdout.decode(), done.stderr.decode()
        assert "locked" not in complained, complained
        assert "another program" not in complained, complained
        assert "Traceback" not in complained, complained
        assert done.returncode in (0, 1), complained
        return done.returncode, said, complained


# --- writers -----------------------------------------------------------------------------------


def writer(crowd: Crowd) -> None:
    acts = crowd.dealt((put, count_up, timeline_add, delete_or_put, import_))
    with Brain.open(crowd.path) as brain:
        for turn, act in zip(crowd.turns(0.02), acts, strict=False):
            began = perf_counter()
            facts = act(crowd, brain, f"c{crowd.number}x{turn}")
            if facts:
                crowd.tell(act.__name__, began, **facts)


def put(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    slug = f"own-{crowd.number}/{crowd.chance.randint(1, 4)}"
    _put(crowd, brain, slug, stamp)
    return {"slugs": [slug], "stamp": stamp}


def _put(crowd: Crowd, brain: Brain, slug: str, stamp: str) -> None:
    if crowd.chance.random() < BY_COMMAND:
        code, _, complained = crowd.command("put", slug, "--json", stdin=counted(slug, stamp))
        assert code == 0, complained
    else:
        brain.put(slug, counted(slug, stamp).encode())


def count_up(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object] | None:
    """Reads a number and writes the next one, unless the other writer was faster."""
    slug = crowd.chance.choice(SHARED)
    page, _, text = brain.page(slug)
    following = f"# Count\n\n{int(text.split()[-1]) + 1}\n"
    if crowd.chance.random() < BY_COMMAND:
        words = ("put", slug, "--expected-version", str(page.version), "--json")
        code, _, complained = crowd.command(*words, stdin=following)
        refused = code == 1 and json.loads(complained)["error"]["code"] == "version_conflict"
        assert code == 0 or refused, complained
        return None if refused else {"slug": slug}
    try:
        brain.put(slug, following.encode(), expected_version=page.version)
    except Conflict:
        return None
    return {"slug": slug}


def timeline_add(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    line = f"said {stamp}"
    if crowd.chance.random() < BY_COMMAND:
        code, _, complained = crowd.command("timeline-add", LOG, line, "--date", DAY, "--json")
        assert code == 0, complained
    else:
        with brain.database.writing() as connection:
            add_to_timeline(connection, LOG, DAY, line, None, timestamp())
    return {"line": line}


def delete_or_put(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    slug = crowd.chance.choice(GONE)
    if crowd.chance.random() < 0.5:
        _put(crowd, brain, slug, stamp)
        return {"slugs": [slug], "stamp": stamp}
    if crowd.chance.random() < BY_COMMAND:
        code, _, complained = crowd.command("delete", slug, "--json")
        assert code == 0 or json.loads(complained)["error"]["code"] == "not_found", complained
    else:
        with suppress(NotFound):
            brain.delete(slug)
    return {"deleted": slug}


def import_(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    """Writes all files of a folder and takes them in: readers see all of them change at once."""
    root = crowd.folder / f"vault-{crowd.number}"
    slugs = write_files(root, f"notes-{crowd.number}", stamp)
    if crowd.chance.random() < BY_COMMAND:
        code, said, complained = crowd.command("import", str(root), "--no-embed", "--json")
        assert code == 0, said + complained
    else:
        report = brain.take_in(root)
        assert not report.problems, report.problems
    return {"slugs": slugs, "stamp": stamp}


def write_files(root: Path, name: str, stamp: str) -> list[str]:
    slugs = [f"{name}/{number}" for number in range(FILES)]
    for slug in slugs:
        file = root / f"{slug}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(counted(slug, stamp))
    return slugs


def embedder(crowd: Crowd) -> None:
    """Embeds what is due, over and over, and writes files that another program watches."""
    for turn in crowd.turns(0.2):
        write_files(crowd.folder / "watched", "watched", f"c{crowd.number}x{turn}")
        began = perf_counter()
        code, said, complained = crowd.command("embed", "--stale", "--json")
        assert code == 0, complained
        crowd.tell("embed", began, done=json.loads(said)["embedded"])


# --- readers -----------------------------------------------------------------------------------


def question(crowd: Crowd) -> str:
    topics = (*GONE, "own-1/1", "own-2/2", "notes-1/3", "notes-2/4")
    return f"{token(crowd.chance.choice(topics))} {crowd.chance.choice(('first', 'truth', 'was'))}"


def check_answer(answer: Answer) -> None:
    check_hits((hit.slug, hit.snippet) for hit in answer.hits)
    stamps: dict[str, set[str]] = {}
    for piece in answer.context or ():
        if is_counted(piece.slug):
            assert token(piece.slug) in piece.text, f"{piece.slug} has a passage of another page"
            stamps.setdefault(piece.slug, set()).update(_STAMP.findall(piece.text))
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
    brain.opened(page.id)


def listing(crowd: Crowd, brain: Brain) -> None:
    pages, total = brain.list()
    assert len({page.slug for page in pages}) == total


def export(crowd: Crowd, brain: Brain) -> None:
    with brain.database.reading() as connection:
        documents = [json.loads(line) for line in page_lines(connection)]
    check_all((document["slug"], document["text"]) for document in documents)


def passages(crowd: Crowd, brain: Brain) -> None:
    """No passage without its page, none of another text, in the tables and in their index."""
    with brain.database.reading() as connection:
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


ROLES: dict[str, Callable[[Crowd], None]] = {
    "writer": writer, "embedder": embedder, "reader": reader, "commands": commands, "agent": agent,
}  # fmt: skip

if __name__ == "__main__":
    role, place, given, seed, seconds = sys.argv[1:]
    ROLES[role](Crowd(Path(place), int(given), int(seed), float(seconds)))
