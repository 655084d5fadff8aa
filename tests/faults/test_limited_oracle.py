"""A limited token cannot tell two brains apart that differ only in what is hidden from it.

Two brains have the same visible pages, with the same visible past. One or both have other pages,
earlier versions of the visible ones, and files that are ignored or not imported yet; the owner
changes all of these, imports and syncs. A client with a limited token asks both the same random
questions over HTTP and MCP, reads and writes. All answers must have the same bytes, except for the
milliseconds that they took.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from anyio.from_thread import start_blocking_portal
from limited_worlds import (
    HUSHED,
    INSIDE,
    LIMITS,
    NAMES,
    OUTSIDE,
    WORDS,
    Answer,
    Clock,
    Owner,
    World,
)

from gbrain import limited as limited_brain
from gbrain.brain import timestamp
from gbrain.limited import LimitedBrain
from gbrain.models.embedder import OnnxEmbedder
from gbrain.store import limits as store
from gbrain.store import undo as undo_states
from gbrain.store.visible_history import VisibleHistory

REQUESTS_OF_A_WORLD = 150
_TIMES = re.compile(rb'\\?"(took_ms|[a-z_]*ms|seconds)\\?":\s*[0-9.e-]+')
Request = tuple[str, str, Any]


class Client:
    """Makes random requests of a user who guesses what may be hidden."""

    def __init__(self, owner: Owner, rng: random.Random) -> None:
        self.owner, self.rng = owner, rng

    def slug(self) -> str:
        rng = self.rng
        if rng.random() < 0.6:
            known = {slug for world in self.owner.worlds for slug in world.pages()}
            lent = [str(file.relative_to(world.notes))[:-3] for file, _ in self.owner.lent
                    for world in self.owner.worlds if file.is_relative_to(world.notes)]  # fmt: skip
            if lent and rng.random() < 0.5:
                return rng.choice(lent)
            if known:
                return rng.choice(sorted(known))
        if rng.random() < 0.2:
            return rng.choice(("Common", "Pond", "Garden pond", "Plan.md", "ignored/plan"))
        pattern = rng.choice((*INSIDE[self.owner.kind], *OUTSIDE))
        return pattern.format(rng.choice((*NAMES, *HUSHED, "ignored/plan")))

    def text(self) -> str:
        rng = self.rng
        if rng.random() < 0.3:
            slugs = [(world, slug) for world in self.owner.worlds for slug in world.pages()]
            if slugs:
                world, slug = rng.choice(slugs)
                return world.owner.text(slug)
        return self.owner.text()

    def expected(self) -> dict[str, int]:
        rng = self.rng
        return {"expected_version": rng.randint(0, 5)} if rng.random() < 0.4 else {}

    def number(self) -> str:
        tasks = [task.number for world in self.owner.worlds for task in world.owner.tasks()]
        if tasks and self.rng.random() < 0.9:
            return self.rng.choice(tasks)[: self.rng.choice((1, 4, 4, 4, 12))]
        return str(self.rng.randint(1000, 9999))

    def words(self) -> str:
        return " ".join(self.rng.choices((*WORDS, "what", "plam", "2026-04"), k=2))

    def request(self) -> Request:
        """Return the method, target and body of a request."""
        if self.rng.random() < 0.35:
            return self.call()
        rng, slug = self.rng, quote(self.slug())
        page = f"/api/pages/{slug}"
        made: list[Callable[[], Request]] = [
            lambda: ("GET", page, None),
            lambda: ("GET", f"{page}?version={rng.randint(0, 6)}", None),
            lambda: ("GET", f"/api/history/{slug}", None),
            lambda: ("GET", f"/api/diff/{slug}", None),
            lambda: ("GET", f"/api/diff/{slug}?from={rng.randint(1, 4)}&to=2", None),
            lambda: ("GET", f"/api/{self.pick('links', 'backlinks', 'rendered')}/{slug}", None),
            lambda: ("GET", f"/api/{self.pick('graph', 'timeline')}/{slug}", None),
            lambda: ("GET", f"/api/attachments/{slug}?path=x.png", None),
            lambda: (
                "GET",
                self.pick(
                    "/api/pages", "/api/tags", "/api/tasks?all=true", "/api/stats", "/api/graph",
                    "/api/timeline", "/api/today", "/api/pages?wing=privat", "/api/nowhere",
                    "/api/pages?slug_prefix=pri&limit=2", "/api/pages?offset=1&limit=1",
                ),
                None,
            ),
            lambda: ("GET", f"/api/search?q={quote(self.words())}&limit=20", None),
            lambda: (
                "GET",
                f"/api/explain?q={quote(self.words())}&mode=bm25&why_not={slug}",
                None,
            ),
            lambda: (
                "POST",
                "/api/query",
                {
                    "query": self.words(),
                    "mode": self.pick("bm25", "bm25", "hybrid"),
                    **({"depth": "auto"} if rng.random() < 0.5 else {}),
                },
            ),
            lambda: ("DELETE", page, None),
            lambda: (
                "POST",
                f"/api/timeline/{slug}",
                {"text": self.words(), "date": "2026-04-03", **self.expected()},
            ),
            lambda: (
                "POST",
                "/api/capture",
                {"text": self.words(), **({"to": self.slug()} if rng.random() < 0.6 else {})},
            ),
            lambda: ("POST", f"/api/tasks/{self.number()}/done", {}),
        ]  # fmt: skip
        put: Callable[[], Request] = lambda: (  # noqa: E731
            "PUT", page, {"content": self.text(), **self.expected()}
        )  # fmt: skip
        return rng.choice([*made, put, put, put])()

    def pick(self, *values: str) -> str:
        return self.rng.choice(values)

    def call(self) -> Request:
        """Return a request that calls a tool of MCP."""
        rng, slug = self.rng, self.slug()
        query = {"query": self.words()}
        name, arguments = rng.choice(
            [
                ("brain_search", query),
                ("brain_query", {**query, "depth": "auto"}),
                ("brain_get", {"slug": slug}),
                ("brain_get", {"slug": slug, "version": rng.randint(1, 6)}),
                ("brain_put", {"slug": slug, "content": self.text(), **self.expected()}),
                ("brain_put", {"slug": slug, "content": self.text()}),
                ("brain_list", {}),
                ("brain_timeline", {}),
                ("brain_timeline_add", {"slug": slug, "text": self.words(), **self.expected()}),
                ("brain_undo", {"slug": slug, **({"redo": True} if rng.random() < 0.3 else {})}),
                ("brain_undo", {"slug": slug}),
                ("brain_tasks", {}),
                ("brain_done", {"number": self.number()}),
                ("brain_today", {}),
                ("brain_links", {"slug": slug}),
                ("brain_why", {"slug": slug}),
                ("brain_stats", {}),
                ("brain_explain", {**query, "why_not": slug}),
                ("memory_recall", {"name": slug}),
                ("memory_ask", query),
            ]
        )
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": arguments},
        }
        return "POST", "/mcp", message


class Told(AssertionError):
    """An answer by which a limited token could tell the brains apart."""


def compare(kind: str, requests: int, seed: str) -> Counter[str]:
    """Ask two worlds `requests` questions; raise Told for answers that differ.

    Return how many requests had each status, and how many changes the owner made.
    """
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(_environment(place))
        portal = stack.enter_context(start_blocking_portal())
        clock = Clock()
        clock.advance(0)
        worlds = tuple(
            World(place / name / "brain", LIMITS[kind], portal) for name in ("first", "second")
        )
        for world in worlds:
            stack.callback(world.close)
        owner = Owner(kind, worlds, clock, rng)
        client = Client(owner, rng)
        done = 0
        while done < requests:
            clock.advance(rng.choice((1, 7, 90, 1500)))
            if rng.random() < 0.35:
                owner.change()
                counts["changes of the owner"] += 1
                continue
            request = client.request()
            writes = rng.random() < 0.9
            answers = [world.ask(*request, writes=writes) for world in worlds]
            counts[f"status {answers[0].status}"] += 1
            done += 1
            owner.log.append(f"client {request} {answers[0].status}")
            first, second = map(_without_times, answers)
            if first != second:
                raise Told(_describe(kind, seed, done, request, first, second, owner))
    return counts


def _without_times(answer: Answer) -> Answer:
    body = _TIMES.sub(b"", answer.body)
    if b'"trace":[' in body:
        # Lanes run at the same time, and the trace has them in the order in which they ended.
        body = re.sub(rb'"trace":\[.*\](?=[,}])', _sort_trace, body)
    return answer._replace(body=body)


def _sort_trace(found: re.Match[bytes]) -> bytes:
    return b"{".join(sorted(found[0].split(b'{"stage"')))


def _describe(
    kind: str, seed: str, done: int, request: Request, first: Answer, second: Answer, owner: Owner
) -> str:
    pairs = enumerate(zip(first.body, second.body, strict=False))
    start = next((place for place, (one, other) in pairs if one != other), 0)
    shown = [answer.body[max(0, start - 300) : start + 300] for answer in (first, second)]
    return "\n".join(
        (
            f"Limits {kind}, seed {seed!r}, request {done}: {request}",
            f"  first:  {first.status} …{shown[0]!r}",
            f"  second: {second.status} …{shown[1]!r}",
            "  before:",
            *(f"    {line}" for line in owner.log[-25:]),
        )
    )


@contextmanager
def _environment(place: Path) -> Iterator[None]:
    """Give the program folders of its own, and embed each text once."""
    kept: dict[object, Any] = {}
    compute = OnnxEmbedder._pooled_vector

    def compute_once(self: OnnxEmbedder, ids: list[int]) -> Any:
        key = (self.spec, *ids)
        if key not in kept:
            kept[key] = compute(self, ids)
        return kept[key]

    with pytest.MonkeyPatch.context() as patch:
        for name in ("XDG_STATE_HOME", "XDG_CACHE_HOME", "HOME"):
            patch.setenv(name, str(place / "home"))
        patch.setenv("GBRAIN_NOW", "2026-11-16T12:00:00")
        patch.setenv("TZ", "UTC")
        patch.setattr(OnnxEmbedder, "_pooled_vector", compute_once)
        yield


@pytest.mark.parametrize("kind", list(LIMITS))
def test_brains_that_differ_in_what_is_hidden_answer_alike(kind: str) -> None:
    counts = compare(kind, 60, f"short {kind}")
    assert counts["status 200"] > 10
    assert counts["changes of the owner"] > 10


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(LIMITS))
@pytest.mark.parametrize("seed", range(10))
def test_brains_answer_alike_for_longer(kind: str, seed: int) -> None:
    counts = compare(kind, REQUESTS_OF_A_WORLD, f"long {seed}")
    assert counts["status 200"] > 20


# --- the oracle itself: each of these defects makes a difference that it sees ------------------

Patch = pytest.MonkeyPatch


def show_numbers_of_the_brain(patch: Patch) -> None:
    number = VisibleHistory._number

    def numbers(*arguments: Any) -> Any:
        return ((row, shown and row.version) for row, shown in number(*arguments))

    patch.setattr(VisibleHistory, "_number", numbers)


def show_versions_from_outside(patch: Patch) -> None:
    patch.setattr(VisibleHistory, "_find_within", lambda self, connection, row: True)


def continue_after_hidden_versions(patch: Patch) -> None:
    number = VisibleHistory._number

    def numbers(*arguments: Any) -> Any:
        return ((row, shown) for row, shown in number(*arguments) if shown is not None)

    patch.setattr(VisibleHistory, "_number", numbers)


def show_when_the_brain_created_a_page(patch: Patch) -> None:
    copy_page = store._copy_page

    def copy(source: Any, target: Any, page_id: int, versions: Any) -> int:
        number = copy_page(source, target, page_id, versions)
        created = source.execute("SELECT created_at FROM pages WHERE id = ?", (page_id,)).fetchone()
        target.execute("UPDATE pages SET created_at = ? WHERE id = ?", (*created, number))
        return number

    patch.setattr(store, "_copy_page", copy)


def create_anywhere(patch: Patch) -> None:
    patch.setattr(store, "may_create", lambda limits, slug: True)


def refuse_only_taken_slugs(patch: Patch) -> None:
    patch.setattr(store, "hides_creatable", lambda connection, limits: False)


def tell_of_the_file(patch: Patch) -> None:
    def kept(written: Any, *, version: int, file: None) -> Any:
        about = written.file and replace(written.file, path="", message=None)
        return replace(written, version=version, file=about)

    patch.setattr(limited_brain, "replace", kept)


def resolve_names_in_the_brain(patch: Patch) -> None:
    patch.setattr(LimitedBrain, "slug_to_put", lambda self, name: self._whole.slug_to_put(name))


def compare_with_numbers_of_the_brain(patch: Patch) -> None:
    def write(self: Any, slug: str, work: Callable[[], Any], what: str | None = None) -> Any:
        written = work()
        self._refresh_written()
        return replace(written, file=None)

    patch.setattr(LimitedBrain, "_expect", lambda self, slug, expected: expected)
    patch.setattr(LimitedBrain, "_write", write)


def undo_in_the_brain(patch: Patch) -> None:
    def undo(self: Any, name: str, *, redo: bool = False) -> Any:
        with self.database.read_transaction() as connection:
            seen = undo_states.last_change(connection, name, redo=redo)
        done = self._whole.undo(seen.now.slug, redo=redo)
        self._refresh_written()
        return done._replace(file=None)

    patch.setattr(LimitedBrain, "undo", undo)


def copy_vectors_of_hidden_pages(patch: Patch) -> None:
    def complete(self: Any) -> None:
        with (
            self._whole.database.read_transaction() as source,
            self.database.write_transaction() as target,
        ):
            store.copy_vectors(source, target, timestamp())

    patch.setattr(LimitedBrain, "_complete_vectors", complete)


def order_pages_as_the_brain(patch: Patch) -> None:
    update = store.LimitedCopy._update

    def ordered(self: Any, source: Any, target: Any) -> None:
        update(self, _OrderedById(source), target)

    patch.setattr(store.LimitedCopy, "_update", ordered)


class _OrderedById:
    """A connection that lists pages by their number in the brain."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, *values: Any) -> Any:
        return self._connection.execute(sql.replace("ORDER BY slug", "ORDER BY id"), *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


DEFECTS = (
    show_numbers_of_the_brain,
    show_versions_from_outside,
    continue_after_hidden_versions,
    show_when_the_brain_created_a_page,
    create_anywhere,
    refuse_only_taken_slugs,
    tell_of_the_file,
    resolve_names_in_the_brain,
    compare_with_numbers_of_the_brain,
    undo_in_the_brain,
    copy_vectors_of_hidden_pages,
    order_pages_as_the_brain,
)


@pytest.mark.slow
@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.__name__)
def test_the_oracle_sees_each_defect(defect: Callable[[Patch], None]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        defect(patch)
        assert any(_is_told(kind, f"defect {seed}") for seed in range(20) for kind in LIMITS)


def _is_told(kind: str, seed: str) -> bool:
    try:
        compare(kind, REQUESTS_OF_A_WORLD, seed)
    except AssertionError:
        # An answer, or a page that the token could see in one world alone.
        return True
    return False


def main() -> None:
    """Compare until so many requests were answered: REQUESTS [SEED]."""
    requests, seed = int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "0"
    counts: Counter[str] = Counter()
    findings = done = 0
    began = time.monotonic()
    while done < requests:
        kind = list(LIMITS)[done // REQUESTS_OF_A_WORLD % len(LIMITS)]
        number = f"{seed} {done}"
        try:
            counts += compare(kind, REQUESTS_OF_A_WORLD, number)
        except AssertionError as told:
            findings += 1
            print(told, flush=True)
        done += REQUESTS_OF_A_WORLD
    seconds = time.monotonic() - began
    print(f"{done} requests, {findings} findings, {seconds:.0f} s")
    for name, count in sorted(counts.items()):
        print(f"{count:>7} {name}")


if __name__ == "__main__":
    main()
