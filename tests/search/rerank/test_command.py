"""The user's own reranker command: its scores, and a message for every failure."""

from __future__ import annotations

import os
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest

from gbrain.config import Settings, override_settings
from gbrain.errors import GbrainError
from gbrain.search.rerank.command import score_pages
from gbrain.search.rerank.scores import RerankRequest, RerankResources
from gbrain.store.chunks import StoredChunk
from gbrain.types import Query, Ranked, Scope


def chunk(page_id: int, part: int, text: str) -> StoredChunk:
    return StoredChunk(
        10 * page_id + part, page_id, 0, part, "truth", (), None, 0, 1, 1, 1, b"hash", text
    )


def never() -> None:
    raise AssertionError("no model is needed")


def build_request(command: str, seconds: str = "10") -> RerankRequest:
    return RerankRequest(
        sqlite3.connect(":memory:"),
        Query("which bird?", (), Scope(), 10),
        [Ranked(page, f"p{page}", 1 / page, {}) for page in (1, 2, 3, 4)],
        {1: [chunk(1, 0, "Heron."), chunk(1, 1, "Ünd 🦜.")], 2: [chunk(2, 0, "Wren.")],
         3: [], 4: [chunk(4, 0, "Kite.")]},
        override_settings(Settings(), {"rerank_seconds": seconds}),
        RerankResources(never, never, command, "2026-11-16"),  # type: ignore[arg-type]
    )  # fmt: skip


def python(program: str) -> str:
    return shlex.join([sys.executable, "-c", program])


def test_the_command_reads_chunks_and_prints_scores(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    program = (
        f"import sys; open({str(seen)!r}, 'wb').write(sys.stdin.buffer.read()); print([3, -1, 1])"
    )
    given = score_pages(build_request(python(program)))
    assert given.by_page == {1: 1.0, 2: 0.0, 4: 0.5}
    assert given.weight == Settings().rerank_mix
    assert seen.read_text("ascii") == (
        '{"query": "which bird?", "passages": [{"slug": "p1", "text": "Heron.\\n\\n\\u00dcnd '
        '\\ud83e\\udd9c."}, {"slug": "p2", "text": "Wren."}, {"slug": "p4", "text": "Kite."}]}'
    )


def test_null_leaves_a_page_where_it_is() -> None:
    assert score_pages(build_request(python("print('[null, 0.5, 2]')"))).by_page == {2: 0.0, 4: 1.0}
    assert score_pages(build_request(python("print('[null, null, null]')"))).by_page == {}


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("", "is empty"),
        ("'", "cannot be read: No closing quotation"),
        ("/no/such/program --now", "did not start: .*No such file"),
        ("a\0b", "did not start"),
        (python("raise SystemExit(3)"), "failed with exit code 3"),
        (python("print('hello')"), "did not print JSON"),
        (python("print('[' * 100000)"), "did not print JSON"),
        (python("print([1, 2])"), "did not print a list of 3 scores"),
        (python("print({})"), "did not print a list of 3 scores"),
        (python("print('[1, 2, true]')"), "score that is not a number"),
        (python("print('[1, 2, NaN]')"), "score that is not a finite number"),
        (python("print([1, 2, 10**400])"), "score that is not a finite number"),
    ],
    ids=range(12),
)
def test_every_failure_has_a_message(command: str, reason: str) -> None:
    with pytest.raises(GbrainError, match=f"rerank_command.*{reason}"):
        score_pages(build_request(command))


def test_a_slow_command_is_killed(tmp_path: Path) -> None:
    note = tmp_path / "number"
    program = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    with pytest.raises(GbrainError, match="took longer than 2 seconds"):
        score_pages(build_request(python(program), "2"))
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def test_the_command_runs_without_a_shell(tmp_path: Path) -> None:
    with pytest.raises(GbrainError):
        score_pages(build_request(python("print([1])") + f" ; touch {tmp_path / 'made'}"))
    assert not (tmp_path / "made").exists()
