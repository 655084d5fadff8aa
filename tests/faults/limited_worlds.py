"""Two brains that differ only in what a limited token must not see, and what their owner changes.

A change of a visible page is made in both, at the same time; one of a hidden page, its history or
its file in one of them, or in both with other words.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import anyio
from anyio.from_thread import BlockingPortal

from gbrain.brain import Brain
from gbrain.errors import GbrainError
from gbrain.limited import LimitedBrain
from gbrain.server import tokens
from gbrain.server.app import build_app
from gbrain.server.audit import AuditLog
from gbrain.server.guard import OwnAddress
from gbrain.server.sessions import Sessions
from gbrain.store import undo
from gbrain.store.limits import may_create
from gbrain.text.page import parse_page
from gbrain.types import Scope

LIMITS = {
    "wing": Scope(wing="projects"),
    "prefix": Scope(slug_prefix="shared/"),
    "both": Scope(wing="projects", slug_prefix="projects/a"),
}
INSIDE = {
    "wing": ("projects/{}", "01-projects/{}", "notes/{}", "{}"),
    "prefix": ("shared/{}", "shared/deep/{}"),
    "both": ("projects/a/{}", "projects/alpha-{}"),
}
OUTSIDE = ("private/{}", "{}", "notes/{}", "journal/{}", "people/{}", "projects/b-{}")
NAMES = ("plan", "garden", "pond", "2026-11-20", "inbox", "river")
# Pages of these names have another wing than their folder gives them.
HUSHED = ("hush-1", "hush-2")
WORDS = "garden pond river zanzibar quokka budget lily roses water plan secret market".split()
START = datetime(2026, 11, 16, 12, tzinfo=UTC)
IGNORED = "ignored/\n"


class Answer(NamedTuple):
    """A response; the length of its body is left out of its headers."""

    status: int
    headers: frozenset[tuple[bytes, bytes]]
    body: bytes


class Clock:
    """The time of both worlds."""

    def __init__(self) -> None:
        self.now = START

    def advance(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)
        os.environ["GBRAIN_NOW"] = self.now.isoformat()


class World:
    """A brain with a folder of notes, served in this process."""

    def __init__(self, place: Path, limits: Scope, portal: BlockingPortal) -> None:
        self.place, self.limits, self._portal = place, limits, portal
        self.notes = place / "notes"
        self.notes.mkdir(parents=True)
        (self.notes / ".gbrainignore").write_text(IGNORED)
        (self.notes / "start.md").write_text("# Start\n")
        brain = place / "brain.db"
        self.owner = Brain.open(brain, make=True)
        self.owner.allow_writing(self.notes)
        self.sync()
        identity = self.owner.identity()
        now = "2026-11-16T12:00:00.000Z"
        _, self.writer = tokens.add_token(identity, "writer", now, limits=limits)
        _, self.reader = tokens.add_token(identity, "reader", now, limits=limits, read_only=True)
        sessions = Sessions(
            lambda: Brain.open(brain),
            lambda limits: LimitedBrain.open_within(brain, limits, read_only=False),
        )
        self._app = build_app(
            sessions,
            tokens.Authenticator(identity),
            AuditLog(identity),
            OwnAddress("127.0.0.1", 80),
            read_only=False,
        )
        self._ended = portal.call(anyio.Event)
        started = portal.call(anyio.Event)
        self._served = portal.start_task_soon(self._run, started)
        portal.call(started.wait)

    async def _run(self, started: anyio.Event) -> None:
        messages = iter(("lifespan.startup", "lifespan.shutdown"))

        async def receive() -> dict[str, Any]:
            kind = next(messages)
            if kind == "lifespan.shutdown":
                await self._ended.wait()
            return {"type": kind}

        async def send(message: Any) -> None:
            started.set()

        await self._app({"type": "lifespan", "asgi": {"version": "3.0"}}, receive, send)

    def close(self) -> None:
        self._portal.call(self._ended.set)
        self._served.result(30)
        self.owner.close()
        shutil.rmtree(self.place, ignore_errors=True)

    def ask(self, method: str, target: str, body: Any, *, writes: bool) -> Answer:
        """Return the response to a request of the token that may write, or may not."""
        return self._portal.call(self._ask, method, target, body, writes)

    async def _ask(self, method: str, target: str, body: Any, writes: bool) -> Answer:
        path, _, query = target.partition("?")
        data = b"" if body is None else json.dumps(body).encode()
        headers = {
            "host": "127.0.0.1:80",
            "authorization": f"Bearer {self.writer if writes else self.reader}",
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
        }
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": unquote(path), "raw_path": path.encode(),
            "query_string": query.encode(), "root_path": "", "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }  # fmt: skip
        messages = [{"type": "http.request", "body": data, "more_body": False}]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not messages:
                await anyio.sleep_forever()
            return messages.pop()

        async def send(message: Any) -> None:
            sent.append(message)

        await self._app(scope, receive, send)
        kept = frozenset(each for each in sent[0]["headers"] if each[0] != b"content-length")
        return Answer(sent[0]["status"], kept, b"".join(part.get("body", b"") for part in sent[1:]))

    # --- what the owner sees and does ----------------------------------------------------------

    def sync(self) -> None:
        self.owner.import_folder(self.notes, remove_missing=True)

    def file(self, slug: str) -> Path:
        return self.notes / f"{slug}.md"

    def pages(self) -> dict[str, bool]:
        """Return whether each page is visible, by slug."""
        visible = {page.slug for page in self.owner.list(self.limits)[0]}
        return {page.slug: page.slug in visible for page in self.owner.list()[0]}

    def is_in_step(self, slug: str) -> bool:
        """Return whether a page and its file have the same text; else a write would merge them."""
        file = self.file(slug)
        return (
            slug not in self.pages()
            or not file.exists()
            or file.read_text() == self.owner.text(slug)
        )

    def visible(self) -> list[tuple[str, bytes]]:
        return [(page.slug, page.sha256) for page in self.owner.list(self.limits)[0]]


def is_inside(limits: Scope, slug: str, text: str) -> bool:
    """Return whether a page with this slug and text is within the limits."""
    if limits.slug_prefix and not slug.startswith(limits.slug_prefix):
        return False
    return limits.wing in (None, parse_page(f"{slug}.md", text.encode()).wing)


class Owner:
    """Changes both worlds at random; they always show a token the same pages.

    A `closed` world has hidden pages where the token could create pages, in both brains.
    """

    def __init__(
        self, kind: str, worlds: tuple[World, World], clock: Clock, rng: random.Random
    ) -> None:
        self.kind, self.limits, self.worlds = kind, LIMITS[kind], worlds
        self.clock, self.rng = clock, rng
        self.closed = self.limits.wing is not None and rng.random() < 0.3
        self.log: list[str] = []
        self.lent: list[tuple[Path, str]] = []
        if self.closed:
            for world, name in zip(worlds, HUSHED, strict=True):
                slug = INSIDE[kind][0].format(name)
                world.owner.put(slug, self.hidden_text(slug).encode())
                world.owner.put(slug, self.hidden_text(slug).encode())

    # --- texts ---------------------------------------------------------------------------------

    def words(self, count: int) -> str:
        return " ".join(self.rng.choices(WORDS, k=count))

    def body(self) -> str:
        rng = self.rng
        parts = [f"# {self.words(rng.randint(1, 2)).capitalize()}\n", f"{self.words(6)}\n"]
        if rng.random() < 0.5:
            parts.append(f"See [[{rng.choice((*NAMES, 'private/plan', 'Garden'))}]].\n")
        if rng.random() < 0.4:
            day = rng.randint(10, 28)
            parts.append(f"- [ ] {self.words(2)} due: 2026-11-{day}\n")
        if rng.random() < 0.4:
            parts.append(f"## Timeline\n- 2026-0{rng.randint(1, 9)}-03 — {self.words(3)}\n")
        return "\n".join(parts)

    def front(self, wing: str | None) -> str:
        rng = self.rng
        lines = [f"wing: {wing}"] if wing else []
        if rng.random() < 0.3:
            lines.append(f"aliases: [{rng.choice(('Common', 'Pond', self.words(1)))}]")
        if rng.random() < 0.3:
            lines.append(f"tags: [{self.words(1)}]")
        return "".join(f"{line}\n" for line in ("---", *lines, "---")) if lines else ""

    def text(self) -> str:
        wing = self.rng.choice((None, None, "projects", "private"))
        return self.front(wing) + self.body()

    def text_where(self, wanted: bool, slug: str) -> str:
        """Return a text with which the page is visible, or is not."""
        while True:
            text = self.text()
            if is_inside(self.limits, slug, text) is wanted:
                return text

    def hidden_text(self, slug: str) -> str:
        return self.text_where(False, slug)

    # --- slugs ---------------------------------------------------------------------------------

    def inside_slug(self) -> str:
        slug = self.rng.choice(INSIDE[self.kind]).format(self.rng.choice(NAMES))
        return slug

    def outside_slug(self) -> str:
        """Return a slug that a hidden page may have at any time."""
        while True:
            slug = self.rng.choice(OUTSIDE).format(self.rng.choice(NAMES))
            if not may_create(self.limits, slug) and not (
                self.limits.wing is None and is_inside(self.limits, slug, "# x\n")
            ):
                return slug

    def is_free(self, slug: str) -> bool:
        """Return whether no world has such a page or file."""
        return not any(slug in world.pages() or world.file(slug).exists() for world in self.worlds)

    # --- changes -------------------------------------------------------------------------------

    def change(self) -> None:
        """Make a random change."""
        for file, text in self.lent:
            if file.exists() and file.read_text() == text:
                file.unlink()
        self.lent.clear()
        change = self.rng.choice(self.CHANGES)
        self.log.append(change.__name__)
        change(self)
        first, second = (world.visible() for world in self.worlds)
        assert first == second, (
            f"The owner made the worlds differ: {set(first) ^ set(second)}, after {self.log[-8:]}"
        )

    def tell(self, *what: object) -> None:
        self.log[-1] += f" {what}"

    def both(self, work: Callable[[World], object]) -> None:
        """Do something visible in both worlds at the same time."""
        outcomes = []
        for world in self.worlds:
            try:
                work(world)
                outcomes.append("done")
            except GbrainError as error:
                outcomes.append(error.code)
        assert len(set(outcomes)) == 1, (outcomes, self.log[-8:])

    def one(self) -> World:
        return self.rng.choice(self.worlds)

    def put_visible(self) -> None:
        """Create or change a visible page, or let a page come in that was hidden."""
        slug = self.inside_slug()
        text = self.text_where(True, slug)
        for world in self.worlds:
            if slug not in world.pages() and world.file(slug).exists():
                return
            if not world.pages().get(slug) and not world.is_in_step(slug):
                return
        self.tell(slug, text)
        self.both(lambda world: world.owner.put(slug, text.encode()))

    def delete_visible(self) -> None:
        slug = self.visible_slug()
        if slug:
            self.tell(slug)
            self.both(lambda world: world.owner.delete(slug))

    def visible_slug(self) -> str | None:
        slugs = [slug for slug, _ in self.worlds[0].visible()]
        return self.rng.choice(slugs) if slugs else None

    def rename_visible(self) -> None:
        slug, new = self.visible_slug(), self.inside_slug()
        if slug and self.is_free(new):
            text = self.worlds[0].owner.text(slug)
            if is_inside(self.limits, new, text):
                self.tell(slug, new)
                self.both(lambda world: world.owner.rename(slug, new))

    def add_to_visible(self) -> None:
        slug, words = self.visible_slug(), self.words(3)
        if slug:
            self.tell(slug)
            self.both(lambda world: world.owner.capture(words, name=slug))

    def undo_visible(self) -> None:
        """Take back a change, if it is the same one in both worlds."""
        slug = self.visible_slug()
        if slug is None or not all(world.is_in_step(slug) for world in self.worlds):
            return
        states = set()
        for world in self.worlds:
            with world.owner.database.read_transaction() as connection:
                last = undo.last_change(connection, slug)
            states.add((last.then.version is None, last.then.slug, last.text))
        (deleted, name, text), *others = states
        if not others and not deleted and name == slug and is_inside(self.limits, slug, text):
            self.tell(slug)
            self.both(lambda world: world.owner.undo(slug))

    def hide(self) -> None:
        """Let a visible page leave the limits; elsewhere, or with other words, in each world."""
        slug = self.visible_slug()
        if slug is None:
            return
        target = self.outside_slug()
        if not self.is_free(target) or not all(world.is_in_step(slug) for world in self.worlds):
            return
        self.tell(slug, target)
        for world in self.worlds:
            # No version on the way may be visible in one world alone.
            if self.limits.slug_prefix:
                world.owner.rename(slug, target)
                world.owner.put(target, self.hidden_text(target).encode())
                continue
            world.owner.put(slug, self.hidden_text(slug).encode())
            if may_create(self.limits, slug) or self.rng.random() < 0.5:
                world.owner.rename(slug, target)

    def come_in(self) -> None:
        """Let a page appear: in one world it is new, in the other it has a hidden past."""
        slug, old = self.inside_slug(), self.outside_slug()
        if not (self.is_free(slug) and self.is_free(old)):
            return
        text = self.text_where(True, slug)
        if is_inside(self.limits, old, text):
            return
        self.tell(slug, old, text)
        first, second = self.rng.sample(self.worlds, 2)
        by_file = self.rng.random() < 0.5
        for _ in range(self.rng.randint(0, 2)):
            first.owner.put(old, self.hidden_text(old).encode())
        first.owner.put(old, text.encode())
        if by_file:
            self.both(lambda world: world.sync())
        self.clock.advance(1)
        if by_file and first.file(old).exists():
            first.file(slug).parent.mkdir(parents=True, exist_ok=True)
            first.file(old).rename(first.file(slug))
            second.file(slug).parent.mkdir(parents=True, exist_ok=True)
            second.file(slug).write_text(text)
            self.both(lambda world: world.sync())
        else:
            first.owner.rename(old, slug)
            second.owner.put(slug, text.encode())

    def put_hidden(self) -> None:
        world, slug = self.one(), self.outside_slug()
        if world.pages().get(slug) or (slug not in world.pages() and world.file(slug).exists()):
            return
        self.tell(self.worlds.index(world), slug)
        world.owner.put(slug, self.hidden_text(slug).encode())

    def copy_to_hidden(self) -> None:
        """Give a hidden page the text of a visible one."""
        world, slug, source = self.one(), self.outside_slug(), self.visible_slug()
        if source is None or world.pages().get(slug) or world.file(slug).exists():
            return
        text = world.owner.text(source)
        if not is_inside(self.limits, slug, text):
            self.tell(self.worlds.index(world), slug, source)
            world.owner.put(slug, text.encode())

    def change_hidden(self) -> None:
        """Delete, rename or extend a hidden page of one world."""
        world, new = self.one(), self.outside_slug()
        pages = world.pages()
        hidden = [
            slug
            for slug, visible in pages.items()
            if not visible and not slug.endswith(HUSHED) and slug != "start"
        ]
        if not hidden:
            return
        slug = self.rng.choice(hidden)
        what = self.rng.choice(("delete", "rename", "capture", "undo"))
        self.tell(self.worlds.index(world), what, slug, new)
        with suppress(GbrainError):
            if what == "delete":
                world.owner.delete(slug)
            elif what == "capture":
                grown = f"{world.owner.text(slug)}\n{self.words(2)}\n"
                if not is_inside(self.limits, slug, grown):
                    world.owner.put(slug, grown.encode())
            elif (
                what == "rename"
                and new not in pages
                and not world.file(new).exists()
                and not is_inside(self.limits, new, world.owner.text(slug))
            ):
                world.owner.rename(slug, new)

    def pass_through(self) -> None:
        """Let a hidden page have the slug of a page that could be created, for a moment."""
        world, slug = self.one(), self.inside_slug()
        if self.limits.wing is None or slug in world.pages() or world.file(slug).exists():
            return
        self.tell(self.worlds.index(world), slug)
        for _ in range(self.rng.randint(1, 2)):
            world.owner.put(slug, self.hidden_text(slug).encode())
        new = self.outside_slug()
        if self.rng.random() < 0.5 and new not in world.pages() and not world.file(new).exists():
            text = world.owner.text(slug)
            if not is_inside(self.limits, new, text):
                world.owner.rename(slug, new)
                return
        world.owner.delete(slug)

    def write_hidden_file(self) -> None:
        """Write a file that no sync has seen yet, or that sync ignores."""
        world = self.one()
        slug = self.outside_slug()
        if self.rng.random() < 0.4:
            folder = self.inside_slug().rpartition("/")[0]
            slug = f"{folder}/ignored/{self.rng.choice(NAMES)}".lstrip("/")
        if slug in world.pages():
            if not world.pages()[slug] and world.file(slug).exists():
                self.tell(self.worlds.index(world), "edit", slug)
                world.file(slug).write_text(self.hidden_text(slug))
            return
        self.tell(self.worlds.index(world), slug)
        file = world.file(slug)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.hidden_text(slug) if "ignored/" not in slug else self.text())

    def lend_hidden_file(self) -> None:
        """Write a file of another wing where the token may create pages, until the next change.

        With a sync it would take the page that the token has created there out of the limits.
        """
        world, slug = self.one(), self.inside_slug()
        if self.limits.wing is None or slug in world.pages() or world.file(slug).exists():
            return
        text = self.hidden_text(slug)
        self.tell(self.worlds.index(world), slug)
        world.file(slug).parent.mkdir(parents=True, exist_ok=True)
        world.file(slug).write_text(text)
        self.lent.append((world.file(slug), text))

    def write_visible_file(self) -> None:
        """Edit the file of a visible page, or write a new one."""
        slug = self.visible_slug() if self.rng.random() < 0.6 else self.inside_slug()
        if slug is None:
            return
        known = [slug in world.pages() for world in self.worlds]
        files = [world.file(slug) for world in self.worlds]
        if all(known) and all(file.exists() for file in files):
            texts = {file.read_text() for file in files}
            if len(texts) > 1:
                return
            text = f"{texts.pop()}\n{self.words(3)}\n"
            if self.rng.random() < 0.3:
                text = self.text_where(True, slug)
        elif any(known) or any(file.exists() for file in files):
            return
        else:
            text = self.text_where(True, slug)
        if not is_inside(self.limits, slug, text):
            return
        self.tell(slug, text)
        for file in files:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    def sync(self) -> None:
        self.both(lambda world: world.sync())

    def embed_hidden(self) -> None:
        """Embed what waits in one world, as a search of its owner does."""
        world = self.one()
        world.owner.embed_new_chunks()

    CHANGES = (
        put_visible,
        put_visible,
        delete_visible,
        rename_visible,
        add_to_visible,
        undo_visible,
        hide,
        come_in,
        put_hidden,
        put_hidden,
        copy_to_hidden,
        change_hidden,
        change_hidden,
        pass_through,
        write_hidden_file,
        lend_hidden_file,
        lend_hidden_file,
        write_visible_file,
        sync,
        embed_hidden,
    )
