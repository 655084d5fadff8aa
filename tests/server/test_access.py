"""Who may ask the HTTP server: tokens, hosts, origins, codes of the browser page, limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gbrain.server.guard import CONTENT_SECURITY_POLICY, OwnAddress
from gbrain.server.routes import ROUTES
from gbrain.types import Scope

ALICE = "people/alice-chen"


def concrete(path: str) -> str:
    return path.replace("{slug:path}", ALICE).replace("{number}", "1234")


@pytest.mark.parametrize("token", ["", "x", "gbrain_" + "A" * 43])
@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
def test_without_a_token_there_is_no_answer(served, route, token: str) -> None:
    answer = served.send(route.method, concrete(route.path), token=token)
    assert (answer.status, answer.error["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Basic YWxsOmFsbA=="},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer \xff\xfe"},
        {"X-Token": "TOKEN"},
        {"Cookie": "token=TOKEN"},
    ],
)
def test_a_token_counts_only_as_a_bearer_token(served, headers: dict[str, str]) -> None:
    sent = {name: value.replace("TOKEN", served.token) for name, value in headers.items()}
    assert served.send("GET", "/api/tags", token="", headers=sent).status == 401


def test_a_token_in_the_address_is_no_token(served) -> None:
    for name in ("token", "access_token", "authorization"):
        answer = served.send("GET", f"/api/tags?{name}={served.token}", token="")
        assert answer.status == 401


def test_mcp_and_openapi_need_a_token(served) -> None:
    for method, path in (("POST", "/mcp"), ("GET", "/mcp"), ("GET", "/api/openapi.json")):
        assert served.send(method, path, token="").status == 401
    for path in ("/api", "/api/", "/api//tags", "/mcp/x", "/%61pi/tags"):
        assert served.send("GET", path, token="").status == 401, path


def test_a_path_that_only_begins_like_the_api_is_no_part_of_it(served) -> None:
    for path in ("/apifoo", "/mcpx", "//api/tags"):
        assert served.send("GET", path, token="").status == 404, path


def test_a_revoked_token_fails_at_once(served) -> None:
    secret = served.add_token("short")
    assert served.send("GET", "/api/tags", token=secret).status == 200
    served.revoke_token("short")
    assert served.send("GET", "/api/tags", token=secret).status == 401


def test_an_expired_token_fails(served) -> None:
    late = served.add_token("late", expires_at="2026-11-16T11:59:59.999Z")
    good = served.add_token("good", expires_at="2026-11-16T12:00:01.000Z")
    assert served.send("GET", "/api/tags", token=late).status == 401
    assert served.send("GET", "/api/tags", token=good).status == 200


def test_a_read_only_token_reads_but_does_not_write(served) -> None:
    secret = served.add_token("reader", read_only=True)
    writing = [route for route in ROUTES if route.writes]
    assert writing
    for route in writing:
        body: Any = {name: "x" for name in route.in_body if name != "expected_version"}
        answer = served.send(route.method, concrete(route.path), body or None, token=secret)
        assert (answer.status, answer.error["code"]) == (403, "read_only")
    assert served.get(f"/api/pages/{ALICE}", token=secret)["version"] == 1


# --- hosts and origins -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1:{port}", True),
        ("localhost:{port}", True),
        ("LOCALHOST:{port}", True),
        ("evil.example:{port}", False),
        ("127.0.0.1.evil.example:{port}", False),
        ("127.0.0.1", False),
        ("127.0.0.1:1", False),
        ("user@127.0.0.1:{port}", False),
        ("127.0.0.1:{port}/", False),
        ("", False),
    ],
)
def test_another_host_is_refused(served, host: str, own: bool) -> None:
    sent = {"Host": host.format(port=served.port)}
    for path in ("/api/tags", "/"):
        answer = served.send("GET", path, headers=sent)
        assert (answer.status == 200) is own
        assert own or answer.status in (400, 421)


@pytest.mark.parametrize(
    ("origin", "own"),
    [
        ("http://127.0.0.1:{port}", True),
        ("http://localhost:{port}", False),
        ("http://evil.example", False),
        ("http://127.0.0.1:1", False),
        ("null", False),
        ("file://", False),
        ("http://[", False),
    ],
)
def test_a_page_of_another_site_is_refused(served, origin: str, own: bool) -> None:
    sent = {"Origin": origin.format(port=served.port)}
    answer = served.send("POST", "/api/query", {"query": "x"}, headers=sent)
    assert answer.status == (200 if own else 403)
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    ("address", "host", "own"),
    [
        (OwnAddress("0.0.0.0", 443), "192.168.1.5:443", True),
        (OwnAddress("0.0.0.0", 443), "evil.example:443", False),
        (OwnAddress("192.168.1.5", 443), "192.168.1.6:443", False),
        (OwnAddress("127.0.0.1", 1, ("notes.example",)), "notes.example", True),
        (OwnAddress("127.0.0.1", 1, ("notes.example",)), "other.example", False),
        (OwnAddress("::1", 80), "[::1]:80", True),
    ],
)
def test_hosts_of_other_addresses(address: OwnAddress, host: str, own: bool) -> None:
    assert address.is_own_host(host) is own


def test_a_proxy_may_have_another_name() -> None:
    address = OwnAddress("127.0.0.1", 8420, ("notes.example",))
    assert address.is_own_origin("https://notes.example", "127.0.0.1:8420")
    assert not address.is_own_origin("https://evil.example", "127.0.0.1:8420")


# --- the page in the browser -----------------------------------------------------------------


def test_the_browser_page_is_served_with_a_strict_policy(served) -> None:
    answer = served.send("GET", "/", token="")
    assert answer.status == 200
    assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    for path in ("/../http.py", "/%2e%2e/http.py", "//etc/passwd", "/none.js"):
        assert served.send("GET", path, token="").status == 404


@pytest.mark.parametrize("body", [{}, {"code": 1}, {"code": "wrong"}, [], b"x", b"{" * 5000])
def test_a_wrong_code_gives_no_token(served, body: Any) -> None:
    answer = served.send("POST", "/api/session", body, token="")
    assert answer.status in (400, 401, 413, 415)


# --- limited tokens --------------------------------------------------------------------------

LIMITS = {"prefix": Scope(slug_prefix="people/"), "wing": Scope(wing="people")}


@pytest.fixture(scope="session", params=list(LIMITS))
def limited(request: pytest.FixtureRequest, served) -> str:
    return served.add_token(f"limited-{request.param}", limits=LIMITS[request.param])


def test_no_route_shows_a_page_outside_the_limits(served, limited: str) -> None:
    visible = {page["slug"] for page in served.get("/api/pages", token=limited)["pages"]}
    every = {page["slug"] for page in served.get("/api/pages?limit=1000")["pages"]}
    hidden = every - visible
    assert ALICE in visible
    assert "companies/river-ai" in hidden
    texts = " ".join(served.get(f"/api/pages/{slug}", token=limited)["text"] for slug in visible)
    # A visible page may mention a hidden one.
    unmentioned = [slug for slug in hidden if slug not in texts]
    assert len(unmentioned) > 10
    for route in ROUTES:
        if route.writes:
            continue
        body = (
            {"query": "who is lukewarm on cloud RAG?", "depth": "auto"} if route.in_body else None
        )
        path = concrete(route.path) + ("?q=river" if "q" in route.in_query else "")
        answer = served.send(route.method, path, body, token=limited)
        assert answer.status == 200, answer.body
        shown = answer.body.decode()
        assert [slug for slug in unmentioned if slug in shown] == [], route.path


@pytest.mark.parametrize("slug", ["companies/river-ai", "companies/none"])
def test_a_hidden_page_is_as_good_as_none(served, limited: str, slug: str) -> None:
    for path in ("pages", "history", "diff", "links", "backlinks", "graph"):
        answer = served.send("GET", f"/api/{path}/{slug}", token=limited)
        assert answer.status == 404
        assert answer.error["message"] == f"There is no page {slug}"
    for method, path, body in (
        ("DELETE", f"/api/pages/{slug}", None),
        ("POST", f"/api/timeline/{slug}", {"text": "x"}),
        ("POST", "/api/capture", {"text": "x", "to": slug}),
    ):
        assert served.send(method, path, body, token=limited).status == 404
    answer = served.send("PUT", f"/api/pages/{slug}", {"content": "# x"}, token=limited)
    assert (answer.status, answer.error["code"]) == (403, "forbidden")
    assert served.send("POST", "/api/capture", {"text": "x"}, token=limited).status == 403
    answer = served.send("GET", f"/api/attachments/{ALICE}?path=x.png", token=limited)
    assert answer.status == 403


def test_a_limited_token_claims_no_name_elsewhere(served, limited: str) -> None:
    content = "---\nwing: people\n---\n# Mine\n"
    bodies = set()
    # Two of them exist, two do not.
    for slug in ("index", "companies/river-ai", "2026-11-20", "inbox"):
        answer = served.send("PUT", f"/api/pages/{slug}", {"content": content}, token=limited)
        assert answer.status == 403
        bodies.add(answer.body.replace(slug.encode(), b"SLUG"))
    assert len(bodies) == 1
    served.send("POST", "/api/capture", {"text": "x"}, token=limited)
    assert served.send("GET", "/api/pages/inbox").status == 404


def test_a_limited_token_writes_its_own_pages(served, limited: str) -> None:
    path = "/api/pages/people/tests-new"
    made = served.send("PUT", path, {"content": "# New\n\nAbout ferrets."}, token=limited)
    assert (made.status, made.json["file"]) == (200, None)
    found = served.get("/api/search?q=ferrets", token=limited)
    assert [hit["slug"] for hit in found["results"]] == ["people/tests-new"]
    assert served.get("/api/search?q=ferrets")["results"]
    assert served.send("DELETE", path, token=limited).status == 200


def test_no_secret_is_in_the_state_folder(served) -> None:
    secret = served.add_token("seen")
    files = [file for file in served.folder.rglob("*") if file.is_file() and file.suffix != ".db"]
    assert any(file.parent.name == "tokens" for file in files)
    for file in files:
        assert secret.encode() not in file.read_bytes()
    listed = json.dumps(served.get("/api/stats"))
    assert secret not in listed
