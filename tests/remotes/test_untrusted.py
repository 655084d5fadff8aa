"""Rows of a shared store that somebody wrote without gbrain: none may do harm here."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import psycopg
import pytest

from gbrain.brain import Brain
from gbrain.text.page import MAX_PAGE_BYTES

INSERT = (
    "INSERT INTO gbrain.pages (slug, path, version, sequence, deleted, author, sha256, content) "
    "VALUES (%(slug)s, %(path)s, %(version)s, %(sequence)s, %(deleted)s, 'mallory', %(sha256)s, "
    "%(content)s)"
)


def add_row(url: str, **values: object) -> None:
    content = str(values.get("content", "# X\n"))
    with psycopg.connect(url) as connection:
        [sequence] = connection.execute(
            "UPDATE gbrain.state SET sequence = sequence + 1 RETURNING sequence"
        ).fetchone() or [0]
        row = {"slug": "x", "path": "x.md", "version": 1, "deleted": False, "content": content}
        row |= {"sequence": sequence, "sha256": sha256(content.encode()).digest(), **values}
        connection.execute(INSERT, row)


BAD_ROWS: list[dict[str, object]] = [
    {"slug": "../../etc/passwd", "path": "../../etc/passwd.md"},
    {"slug": "/etc/x", "path": "/etc/x.md"},
    {"slug": "Not A Slug", "path": "Not A Slug.md"},
    {"slug": "", "path": ".md"},
    {"slug": "a" * 500, "path": "a" * 500 + ".md"},
    {"slug": "x", "path": "../x.md"},
    {"slug": "x", "path": "y.md"},
    {"slug": "x", "path": "x.md\x1b[2J"},
    {"slug": "x", "path": "x"},
    {"slug": ".git/hooks", "path": ".git/hooks.md"},
    {"slug": "x", "version": 0},
    {"slug": "x", "version": 2_000_000_000},
    {"slug": "x", "sha256": b"\0" * 32},
    {"slug": "x", "content": "# X\n" + "y" * 1_100_000},
    {"slug": "bad\x1b[31m", "path": "bad.md", "deleted": True},
]


@pytest.fixture
def folder(b: Brain, tmp_path: Path) -> Path:
    """Return a folder to which the brain of machine b writes."""
    notes = tmp_path / "notes"
    notes.mkdir()
    b.add_folder(notes)
    return notes


def test_rows_that_are_no_pages_are_refused_one_by_one(
    a: Brain, b: Brain, server_url: str, folder: Path, tmp_path: Path
) -> None:
    a.put("good", b"# Good\n")
    a.push()
    for number, row in enumerate(BAD_ROWS):
        with psycopg.connect(server_url) as connection:
            connection.execute("DELETE FROM gbrain.pages WHERE slug != 'good'")
        # A store that lacks a change which the brain has seen would be taken for a restored one.
        b.remove_remote("team")
        b.add_remote("team", server_url)
        add_row(server_url, **row)
        before = sorted(path for path in tmp_path.rglob("*.md"))
        report = b.pull()
        assert len(report.refused) == 1, row
        assert "\x1b" not in report.refused[0].reason
        assert [page.slug for page in b.list()[0]] == ["good"]
        if number:
            assert sorted(path for path in tmp_path.rglob("*.md")) == before
    assert (folder / "good.md").read_text() == "# Good\n"


def test_a_page_that_is_too_large_is_not_even_fetched(a: Brain, b: Brain, server_url: str) -> None:
    a.put("good", b"# Good\n")
    a.push()
    with psycopg.connect(server_url) as connection:
        connection.execute(
            "INSERT INTO gbrain.pages (slug, path, version, sequence, deleted, author, sha256, "
            "content) VALUES ('big', 'big.md', 1, 2, false, 'm', '\\x00', repeat('a', %s))",
            (MAX_PAGE_BYTES + 1,),
        )
        connection.execute("UPDATE gbrain.state SET sequence = 2")
    [refused] = b.pull().refused
    assert "10,000,000 bytes" in refused.reason
    assert b.pull().refused == []


def test_a_bad_row_does_not_let_us_overwrite_it(a: Brain, b: Brain, server_url: str) -> None:
    a.put("good", b"# Good\n")
    a.push()
    add_row(server_url, sha256=b"\0" * 32)
    b.put("x", b"# Mine\n")
    report = b.push()
    assert [each.slug for each in report.refused] == ["x"]
    assert report.pushed == []
    assert b.text("x") == "# Mine\n"


def test_a_deletion_of_a_page_that_nobody_had_does_nothing(
    a: Brain, b: Brain, server_url: str
) -> None:
    a.put("good", b"# Good\n")
    a.push()
    add_row(server_url, slug="y", path="y.md", deleted=True, content="")
    report = b.pull()
    assert (report.deleted, report.refused, report.created) == ([], [], ["good"])


@pytest.mark.usefixtures("pgvector")
def test_vectors_that_are_none_are_left_out(a: Brain, b: Brain, server_url: str) -> None:
    a.put("one", b"# One\n\ncats\n")
    a.put("two", b"# Two\n\ndogs\n")
    a.embed()
    assert a.push().vectors == 2
    with psycopg.connect(server_url) as connection:
        hashes = [row[0] for row in connection.execute("SELECT hash FROM gbrain.vectors")]
        connection.execute(
            "UPDATE gbrain.vectors SET vector = array_fill(0::real, ARRAY[384])::vector::halfvec "
            "WHERE hash = %s",
            (hashes[0],),
        )
        connection.execute(
            "UPDATE gbrain.vectors SET vector = '[1,2,3]' WHERE hash = %s", (hashes[1],)
        )
    assert b.pull().vectors == 0
    assert b.backlog().waiting == 2
    b.embed()
    assert b.backlog().waiting == 0


@pytest.mark.usefixtures("pgvector")
def test_vectors_of_another_length_are_scaled(a: Brain, b: Brain, server_url: str) -> None:
    a.put("one", b"# One\n\ncats\n")
    a.embed()
    a.push()
    with psycopg.connect(server_url) as connection:
        connection.execute(
            "UPDATE gbrain.vectors SET vector = array_fill(50::real, ARRAY[384])::vector::halfvec"
        )
    assert b.pull().vectors == 1
    hits = b.query("cats").hits
    assert hits[0].slug == "one"
    with b.database.read_transaction() as connection:
        import numpy as np

        [(vector,)] = connection.execute("SELECT vector FROM page_embeddings_vec_384").fetchall()
    assert abs(np.linalg.norm(np.frombuffer(vector, np.float16).astype(np.float32)) - 1) < 0.01


def test_text_of_a_pulled_page_cannot_act_on_a_terminal(
    a: Brain, b: Brain, server_url: str, run
) -> None:
    a.put("good", b"# Good\n")
    a.push()
    add_row(server_url, content="# \x1b]0;owned\x07 Title\n\nword \x1b[2J\n")
    b.pull()
    for words in (("search", "word"), ("list",), ("get", "x"), ("remote", "status")):
        shown = run(*words, "--db", b.path)
        assert "\x1b" not in shown.stdout + shown.stderr or words == ("get", "x")


def test_a_second_process_parses_many_pages_and_refuses_bad_ones(
    a: Brain, b: Brain, server_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gbrain.remotes.pull._MIN_PAGES_FOR_PROCESS", 3)
    monkeypatch.setattr("gbrain.remotes.pull._BATCH_PAGES", 4)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    for number in range(10):
        a.put(f"p/{number}", f"# P {number}\n\ntext\n".encode())
    a.push()
    add_row(server_url, content="# X\n" + "y" * 1_100_000)
    report = b.pull()
    assert (len(report.created), [each.slug for each in report.refused]) == (10, ["x"])
    assert all(b.text(page.slug) == a.text(page.slug) for page in a.list()[0])
