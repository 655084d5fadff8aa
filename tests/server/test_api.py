"""The routes below /api return the documents of the commands, and errors with a status."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from gbrain.errors import (
    BadBrain,
    BadPage,
    BadSetting,
    Conflict,
    GbrainError,
    ModelUnavailable,
    NotFound,
    UsageError,
)
from gbrain.server.audit import audit_file
from gbrain.server.responses import error_status

ALICE = "people/alice-chen"

# Each route with the command that prints the same document.
SAME = {
    "/api/search?q=river+ai": ("search", "river ai"),
    "/api/search?q=backup&tag=backup&since=2026-01&limit=3": (
        "search", "backup", "--tag", "backup", "--since", "2026-01", "--limit", "3",
    ),
    "/api/search?q=x&wing=nowhere": ("search", "x", "--wing", "nowhere"),
    "/api/search?q=river&where=type%3Dperson&all=true": (
        "search", "river", "--where", "type=person", "--all",
    ),
    "/api/explain?q=river&why_not=index": ("explain", "river", "--why-not", "index"),
    "/api/pages?wing=people&limit=1000": ("list", "--wing", "people"),
    f"/api/pages/{ALICE}": ("get", ALICE),
    "/api/pages/Alice%20Chen": ("get", ALICE),
    f"/api/pages/{quote(ALICE, safe='')}?version=1": ("get", ALICE, "--version", "1"),
    f"/api/history/{ALICE}": ("history", ALICE),
    f"/api/diff/{ALICE}": ("diff", ALICE),
    f"/api/diff/{ALICE}?from=1&to=1": ("diff", ALICE, "--from", "1", "--to", "1"),
    f"/api/links/{ALICE}": ("links", ALICE),
    f"/api/backlinks/{ALICE}": ("backlinks", ALICE),
    f"/api/graph/{ALICE}?depth=2": ("graph", ALICE, "--depth", "2"),
    "/api/graph": ("graph",),
    "/api/timeline?limit=5&wing=people": ("timeline", "--limit", "5", "--wing", "people"),
    f"/api/timeline?slug={ALICE}": ("timeline", ALICE),
    "/api/tags": ("tags",),
    "/api/tasks": ("tasks",),
    f"/api/tasks?slug={ALICE}&all=1": ("tasks", ALICE, "--all"),
    "/api/today?date=2026-11-14": ("today", "2026-11-14"),
}  # fmt: skip
TIMES = ("took_ms", "ms", "trace")


def without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [without_times(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize("path", list(SAME))
def test_a_route_returns_the_document_of_its_command(served, run, path: str) -> None:
    ran = run(*SAME[path], "--json", "--db", served.brain)
    assert ran.exit_code == 0, ran.stderr
    assert without_times(served.get(path)) == without_times(ran.json)


def test_a_query_returns_the_document_of_the_command(served, run) -> None:
    given = {"query": "who is lukewarm on cloud RAG?", "depth": "auto", "budget": 300, "limit": 2}
    answer = served.send("POST", "/api/query", given)
    options = ("--depth", "auto", "--budget", "300", "-n", "2", "--json", "--db", served.brain)
    ran = run("query", given["query"], *options)
    assert answer.status == 200
    assert without_times(answer.json) == without_times(ran.json)


def test_stats_counts_the_pages(served) -> None:
    assert served.get("/api/stats")["wings"]


def test_pages_are_listed_in_parts(served) -> None:
    whole = served.get("/api/pages?limit=1000")
    first, rest = served.get("/api/pages?limit=5"), served.get("/api/pages?limit=1000&offset=5")
    assert [*first["pages"], *rest["pages"]] == whole["pages"]
    assert first["total"] == len(whole["pages"])


def test_a_page_is_written_read_changed_and_deleted(served) -> None:
    path = "/api/pages/tests/http-page"
    made = served.send("PUT", path, {"content": "# One\n", "expected_version": 0})
    assert (made.status, made.json["outcome"]) == (200, "created")
    slug = made.json["slug"]
    assert served.get(f"/api/pages/{slug}")["text"] == "# One\n"
    lost = served.send("PUT", path, {"content": "# Two\n", "expected_version": 7})
    assert (lost.status, lost.error["code"]) == (409, "version_conflict")
    assert served.send("PUT", path, {"content": "# Two\n- [ ] Feed the owl\n"}).json["version"] == 2
    added = served.send("POST", f"/api/timeline/{slug}", {"text": "Saw it", "date": "2026-05"})
    assert (added.status, added.json["date"]) == (200, "2026-05")
    noted = served.send("POST", "/api/capture", {"text": "A thought", "to": slug})
    assert (noted.status, noted.json["slug"]) == (200, slug)
    (task,) = served.get(f"/api/tasks?slug={slug}")["tasks"]
    done = served.send("POST", f"/api/tasks/{task['number']}/done")
    assert (done.status, done.json["done"][0]["text"]) == (200, "Feed the owl")
    assert served.send("DELETE", f"/api/pages/{slug}").json["deleted"] is True
    assert served.send("GET", f"/api/pages/{slug}").status == 404
    assert served.get(f"/api/history/{slug}")["versions"][-1]["ending"] == "deleted"
    with served.state() as identity:
        lines = [json.loads(line) for line in audit_file(identity).read_text().splitlines()]
        assert audit_file(identity).stat().st_mode & 0o777 == 0o600
    mine = [line for line in lines if line["slug"] == slug]
    assert [line["action"] for line in mine] == [
        "PUT /api/pages", "PUT /api/pages", "PUT /api/pages", "POST /api/timeline",
        "POST /api/capture", "POST /api/tasks", "DELETE /api/pages",
    ]  # fmt: skip
    assert [line["outcome"] for line in mine][:3] == ["written", "version_conflict", "written"]
    assert {line["token"] for line in mine} == {"all"}
    assert "A thought" not in json.dumps(lines)


def test_what_is_written_is_found_by_meaning(served) -> None:
    served.send("PUT", "/api/pages/tests/cello", {"content": "# Strings\n\nMy cello needs rosin."})
    answer = served.send("POST", "/api/query", {"query": "musical instruments", "mode": "semantic"})
    assert "tests/cello" in [hit["slug"] for hit in answer.json["results"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/api/pages/no/such-page", None, 404, "not_found"),
        ("GET", "/api/search", None, 400, "usage"),
        ("GET", "/api/search?q=a&q=b", None, 400, "usage"),
        ("GET", "/api/search?q=a&limit=many", None, 400, "usage"),
        ("GET", "/api/search?q=a&limit=0", None, 400, "usage"),
        ("GET", "/api/search?q=a&since=never", None, 400, "usage"),
        ("GET", "/api/search?q=a&colour=red", None, 400, "usage"),
        ("GET", "/api/pages?offset=-1", None, 400, "usage"),
        ("GET", f"/api/diff/{ALICE}?from=99", None, 404, "not_found"),
        ("GET", "/api/nothing", None, 404, "not_found"),
        ("GET", "/api", None, 404, "not_found"),
        ("GET", "/api/pages/a%0Ab", None, 404, "not_found"),
        ("PATCH", "/api/tags", {}, 405, "method_not_allowed"),
        ("POST", "/api/query", None, 415, "not_json"),
        ("POST", "/api/query", b'{"query": "x"}', 415, "not_json"),
        ("POST", "/api/query", [], 400, "usage"),
        ("POST", "/api/query", {"query": 5}, 400, "usage"),
        ("POST", "/api/query", {"query": "\ud800"}, 415, "not_json"),
        ("POST", "/api/query?query=x", {"query": "x"}, 400, "usage"),
        ("POST", "/api/tasks/none/done", None, 404, "not_found"),
        ("PUT", "/api/pages/tests/bad", {"content": "---\ntitle: [\n---\n"}, 422, None),
        ("PUT", "/api/pages/tests/..%2f..%2fetc", {"content": "x"}, 422, "bad_slug"),
        ("GET", f"/api/attachments/{ALICE}?path=x.png", None, 404, "no_image"),
        ("GET", f"/api/attachments/{ALICE}", None, 400, "usage"),
    ],
)  # fmt: skip
def test_errors_are_the_documents_of_the_commands(
    served, method: str, path: str, body: Any, status: int, code: str | None
) -> None:
    answer = served.send(method, path, body)
    assert (answer.status, answer.headers["content-type"]) == (status, "application/json")
    assert set(answer.error) == {"code", "message", "hint"}
    assert code in (None, answer.error["code"])


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("x", hint=""), 400),
        (NotFound("x", hint=""), 404),
        (NotFound("x", hint="", code="ambiguous_name"), 409),
        (Conflict("x", hint=""), 409),
        (BadPage("x", hint=""), 422),
        (BadSetting("x", hint=""), 422),
        (BadBrain("x", hint=""), 503),
        (BadBrain("x", hint="", code="read_only"), 403),
        (ModelUnavailable("x", hint=""), 503),
        (GbrainError("x", hint="", code="unauthorized"), 401),
        (GbrainError("x", hint="", code="whatever"), 400),
    ],
)
def test_every_kind_of_error_has_a_status(error: GbrainError, status: int) -> None:
    assert error_status(error) == status


def test_an_image_of_a_page_is_sent(serve, tmp_path: Path, run, monkeypatch) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "tree.md").write_text("# Tree\n\n![oak](oak.png)\n")
    (notes / "oak.png").write_bytes(b"\x89PNG oak")
    (notes / "key.txt").write_text("secret")
    (tmp_path / "out.png").write_bytes(b"outside")
    (notes / "link.png").symlink_to(tmp_path / "out.png")
    brain = tmp_path / "images.db"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert run("import", notes, "--no-embed", "--db", brain).exit_code == 0
    server = serve(brain=brain)
    answer = server.send("GET", "/api/attachments/tree?path=oak.png")
    assert (answer.status, answer.body) == (200, b"\x89PNG oak")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    for path in ("key.txt", "link.png", "../out.png", "/etc/passwd", "oak.png%00.txt"):
        refused = server.send("GET", f"/api/attachments/tree?path={path}")
        assert (refused.status, refused.error["code"]) == (404, "no_image")


def test_a_read_only_server_writes_nothing(serve) -> None:
    server = serve("--read-only")
    assert server.get("/api/tags")["tags"]
    for method, path, body in (
        ("PUT", "/api/pages/x", {"content": "# x"}),
        ("DELETE", f"/api/pages/{ALICE}", None),
        ("POST", "/api/capture", {"text": "x"}),
    ):
        answer = server.send(method, path, body)
        assert (answer.status, answer.error["code"]) == (403, "read_only")
