"""A shared brain without a replica answers as the brain file that was pushed to it."""

from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from uuid import uuid4

import anyio
import pytest
from psycopg import Cursor

from gbrain.brain import Brain, timestamp
from gbrain.brain_session import Session
from gbrain.errors import GbrainError
from gbrain.mcp.server import ToolService
from gbrain.mcp.tools import TOOLS
from gbrain.models.catalog import packaged_models
from gbrain.server.http import HttpOptions, HttpServer
from gbrain.server.tokens import add_token
from gbrain.shared_brain import ANSWERED, SharedBrain
from gbrain.store.postgres import indexes as index_module
from gbrain.store.postgres.connection import Unreachable
from gbrain.store.postgres.page_loader import as_numbered
from gbrain.store.postgres.schema import role_sql
from gbrain.store.postgres.whole_brain import OTHER_ALPHABET
from gbrain.store.postgres.word_indexes import MatchCounts
from gbrain.text.page import parse_page
from gbrain.types import Answer, Scope

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import Run
    from postgres_server import Server

QUERIES = (
    "who is lukewarm on cloud RAG?", "alice", "Alice Chen", "people/alice-chen", "alcie chen",
    "what happened in April 2026", "since May", "wing:people meeting", "pricing NOT alice",
    '"cloud RAG"', "title:plan OR budget", "meetng notes", "proj*", "auth-middleware v1.2",
    "hello", "", "zzzqqq", "tag:urgent", "the",
)  # fmt: skip
SCOPES = (
    Scope(), Scope(wing="people"), Scope(slug_prefix="p"), Scope(since="2026-03-01"),
    Scope(until="2026-04-30", exclude=("people/alice-chen",)), Scope(tags=("URGENT",)),
    Scope(type="Person"), Scope(room="profile", wing="people"), Scope(where=(("status", "Done"),)),
    Scope(periods=(("2026-04-01", "2026-04-30"),)),
)  # fmt: skip
HOSTILE = (
    "'; DROP TABLE gbrain.pages; --", "\\", "\\'", "'", '"', "a & | ! <-> b", "a:*", "%s %(x)s %",
    "{}", "$1 $$", "NEAR(a b)", "title:", "(((", "x" * 5000, "\x00", "\ud800", "💥 👩‍👩‍👧",
    "' OR 1=1", "title:'x' OR tag:\"", "e'\\x41'", "\u202eabc", "*", "-", "AND OR NOT",
)  # fmt: skip


END_CONNECTIONS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gbrain'"
)


@pytest.fixture(scope="module")
def url(
    embedded_sample: Path, postgres_server: Server, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Return the URL of a shared brain with the sample pages and their vectors."""
    name = f"gbrain_test_{uuid4().hex[:12]}"
    postgres_server.execute(f"CREATE DATABASE {name}")
    path = tmp_path_factory.mktemp("pushed") / "brain.db"
    shutil.copy(embedded_sample, path)
    with pytest.MonkeyPatch.context() as patch:
        if postgres_server.password:
            patch.setenv("PGPASSWORD", postgres_server.password)
        with Brain.open(path) as brain:
            brain.add_remote("team", postgres_server.socket_url(name))
            brain.push("team")
    yield postgres_server.socket_url(name)
    postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def shared(url: str) -> Iterator[SharedBrain]:
    with SharedBrain.open_shared(url) as brain:
        yield brain


@pytest.fixture(scope="module")
def local(embedded_sample: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Brain]:
    path = tmp_path_factory.mktemp("local") / "brain.db"
    shutil.copy(embedded_sample, path)
    with Brain.open(path, read_only=True) as brain:
        yield brain


def parts_of(answer: Answer) -> tuple[Any, ...]:
    """Return all that an answer says; cosines differ in their last digits."""
    verdict = answer.verdict
    return (
        [(hit.slug, round(hit.score, 3), hit.snippet, hit.chunk) for hit in answer.hits],
        (verdict.grade, round(verdict.confidence, 2), verdict.reasons, verdict.missing),
        (answer.mode, answer.short_circuit, answer.notice, answer.superseded),
        (answer.read_as, answer.did_you_mean),
        [(chunk.slug, chunk.lines, chunk.role) for chunk in answer.context or ()],
    )


@pytest.mark.usefixtures("pgvector")
@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: str([v for v in scope if v]))
def test_answers_are_those_of_the_brain_file(
    shared: SharedBrain, local: Brain, scope: Scope
) -> None:
    found = 0
    for text in QUERIES if scope.unlimited else QUERIES[::3]:
        # Hybrid answers need both lanes; the keyword lane alone is compared without a filter.
        for mode in ("bm25", "auto") if scope.unlimited else ("auto",):
            expected, _ = local.query_with_trace(text, scope=scope, mode=mode, depth="auto")
            answer, _ = shared.query_with_trace(text, scope=scope, mode=mode, depth="auto")
            assert parts_of(answer) == parts_of(expected), (text, mode)
            found += len(answer.hits)
    assert found or scope in (SCOPES[5], SCOPES[6], SCOPES[8])


@pytest.mark.usefixtures("pgvector")
def test_a_person_is_known_who_is_on_no_page_found(shared: SharedBrain, local: Brain) -> None:
    scope = Scope(wing="people", exclude=("people/alice-chen",))
    answers = [brain.query("sewing with alice", scope=scope) for brain in (local, shared)]
    assert "not alice" in answers[0].verdict.reasons[0]
    assert parts_of(answers[1]) == parts_of(answers[0])


@pytest.mark.usefixtures("pgvector")
def test_lanes_score_as_in_the_brain_file(shared: SharedBrain, local: Brain) -> None:
    changes = {"graph_weight": "1"}
    compared = 0
    for text in QUERIES[:6]:
        _, expected = local.query_with_trace(text, changes=changes, all_hits=True)
        _, found = shared.query_with_trace(text, changes=changes, all_hits=True)
        for lane, result in expected.lanes.by_name.items():
            own = found.lanes.by_name[lane]
            pairs = zip(result.pages, own.pages, strict=True)
            compared += len(result.pages)
            for one, other in pairs:
                assert one.slug == other.slug
                assert one.score == pytest.approx(other.score, abs=2e-3)
            assert len(result.chunks) == len(own.chunks)
    assert compared > 50


def statements_of(
    shared: SharedBrain, monkeypatch: pytest.MonkeyPatch, text: str, **arguments: Any
) -> list[str]:
    """Return the statements that a query, which has hits, sends to the store."""
    shared.query("what is new")  # the first query also chooses the model
    monkeypatch.setattr(shared, "_counts", MatchCounts())
    asked: list[str] = []
    execute = Cursor.execute

    def record(cursor: Cursor[Any], statement: Any, *values: Any, **options: Any) -> Any:
        asked.append(statement if isinstance(statement, str) else statement.decode())
        return execute(cursor, statement, *values, **options)

    monkeypatch.setattr(Cursor, "execute", record)
    assert shared.query(text, **arguments).hits
    return asked


@pytest.mark.usefixtures("pgvector")
@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("who is lukewarm on cloud RAG?", 14),
        ("what did alice say in April 2026", 18),
        ("meetng notse", 30),
    ],
)
def test_a_query_asks_the_store_few_times(
    shared: SharedBrain, monkeypatch: pytest.MonkeyPatch, text: str, most: int
) -> None:
    # On a server far away each statement is a round trip.
    assert len(statements_of(shared, monkeypatch, text)) <= most


@pytest.mark.usefixtures("pgvector")
def test_a_context_asks_for_the_links_of_its_pages_together(
    shared: SharedBrain, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = statements_of(shared, monkeypatch, "alice pricing feedback", depth="auto")
    assert len([sql for sql in asked if "search_links" in sql]) == 1


@pytest.fixture
def ponds(server_url: str, tmp_path: Path) -> Iterator[SharedBrain]:
    """Yield a shared brain of sixty pages that contain the same words; one is superseded."""
    with Brain.open(tmp_path / "ponds.db", make=True) as brain:
        for number in range(60):
            front = "---\nsuperseded_by: pond-5\n---\n" if number == 40 else ""
            text = f"{front}# Pond {number}\n\nThe heron waits for fish in the reeds.\n"
            brain.put(f"pond-{number}", text.encode())
        brain.add_remote("team", server_url)
        brain.push("team")
    with SharedBrain.open_shared(server_url) as shared:
        yield shared


def test_a_page_with_the_words_of_a_date_counts_as_of_that_time(
    server_url: str, tmp_path: Path
) -> None:
    with Brain.open(tmp_path / "mail.db", make=True) as brain:
        brain.put("tools/mail", b"# Newsletter\n\nSent with Buttondown since March.\n")
        brain.put("letters/slow", b"---\ndate: 2026-03-05\n---\n# Letter\n\nButtondown is slow.\n")
        brain.add_remote("team", server_url)
        brain.push("team")
        expected = brain.search("Buttondown March")
    with SharedBrain.open_shared(server_url) as shared:
        answer = shared.search("Buttondown March")
    assert {hit.slug for hit in expected.hits if "date" in hit.boosts} == {
        "letters/slow", "tools/mail",
    }  # fmt: skip
    assert parts_of(answer) == parts_of(expected)


def test_only_pages_that_are_likely_hits_are_read(ponds: SharedBrain) -> None:
    with ponds._searching():
        answer = ponds.search("which heron waits for fish in the reeds", limit=3)
        read = ponds.database.connection.execute("SELECT slug FROM pages").fetchall()
    assert len(answer.hits) == 3
    # The superseded one is read to be left out.
    assert ("pond-40",) in read
    assert answer.superseded == ("pond-40",)
    assert len(read) <= 12


def test_pages_that_cannot_be_read_are_no_hits(
    ponds: SharedBrain, server_url: str, postgres_server: Server
) -> None:
    first = ponds.search("which heron waits for fish", limit=3).hits[0].slug
    database = server_url.rpartition("/")[2]
    postgres_server.execute(
        "UPDATE gbrain.pages SET content = E'---\\n[\\n---\\n', sha256 = '' "
        f"WHERE slug = '{first}'",
        database,
    )
    for depth in (None, "auto"):
        answer = ponds.query("which heron waits for fish", limit=3, depth=depth)
        assert answer.hits
        assert first not in [hit.slug for hit in answer.hits]
        assert answer.verdict.grade != "nothing"


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("β-carotene, 5 μm → naïve café — “quoted” 🎉 ½ ™", False),
        ("über das Geschäft, señor", False),
        ("See 知识库.", True),
        ("Управление", True),
        ("แมว", True),
        ("𠀋𠀋", True),
    ],
)
def test_a_word_in_another_alphabet_is_noticed(
    postgres_server: Server, text: str, other: bool
) -> None:
    found = postgres_server.execute(f"SELECT {OTHER_ALPHABET} FROM (SELECT '{text}' AS content) b")
    assert found == [(other,)]


def test_chunks_have_the_numbers_of_the_store() -> None:
    page = parse_page("a.md", b"# A\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.\n")
    one, two, three = page.chunks
    hashes = [three.hash, b"unknown", one.hash, b"not even here"]
    assert as_numbered(page.chunks, hashes) == (three, two, one, one)
    # The program that pushed the page cut encoded data into chunks, which are one here.
    assert as_numbered(page.chunks, [b"1", b"2", b"3", two.hash]) == (one, three, three, two)
    assert as_numbered((one, two), [b"1", one.hash, two.hash]) == (one, one, two)
    assert as_numbered(page.chunks, [c.hash for c in page.chunks]) == page.chunks


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_no_text_of_a_query_is_read_as_sql(shared: SharedBrain, local: Brain, text: str) -> None:
    answer = shared.query_with_trace(text, mode="bm25")[0]
    assert parts_of(answer) == parts_of(local.query_with_trace(text, mode="bm25")[0])
    scope = Scope(wing=text.replace("\x00", ""), tags=("a'b",), slug_prefix="\\")
    if "\ud800" not in text:
        assert shared.search("alice", scope=scope).hits == ()


def test_pages_are_shown_by_any_of_their_names(shared: SharedBrain, local: Brain) -> None:
    for name in ("people/alice-chen", "Alice Chen", "people/alice-chen.md"):
        page, meta, text = shared.page(name)
        expected = local.page(name)
        assert (page.slug, meta, text) == (expected[0].slug, *expected[1:])
    with pytest.raises(GbrainError, match="There is no page") as error:
        shared.page("people/alise-chen")
    assert "people/alice-chen" in str(error.value.hint)
    with pytest.raises(GbrainError, match="There is no page") as error:
        shared.page("unlike-any-other")
    assert error.value.hint == "gbrain search finds the pages."


def test_what_needs_a_replica_is_refused(shared: SharedBrain) -> None:
    refused = 0
    for name, method in inspect.getmembers(Brain, callable):
        if name.startswith("_") or name in ANSWERED:
            continue
        with pytest.raises(GbrainError, match="not available with --no-replica"):
            getattr(shared, name)(*(("x",) * len(inspect.signature(method).parameters)))
        refused += 1
    assert refused > 40
    with pytest.raises(GbrainError, match="not available with --no-replica"):
        shared.page("people/alice-chen", 1)
    with pytest.raises(GbrainError, match="associative"):
        shared.query("alice", changes={"associative_weight": "1"})


def test_a_reader_role_can_search(
    url: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    if postgres_server.socket is None:
        pytest.skip("the roles of another server are left alone")
    database = url.rpartition("/")[2]
    role = f"reader_{uuid4().hex[:8]}"
    for statement in (
        f"CREATE ROLE {role} LOGIN", f"CREATE ROLE {role}_w", role_sql(role, f"{role}_w")
    ):  # fmt: skip
        postgres_server.execute(statement, database)
    with SharedBrain.open_shared(postgres_server.socket_url(database, user=role)) as brain:
        assert brain.query("who is lukewarm on cloud RAG?").hits


@pytest.mark.usefixtures("pgvector")
def test_the_model_is_that_of_the_shared_vectors(url: str, postgres_server: Server) -> None:
    database = url.rpartition("/")[2]
    own, *others = packaged_models()

    def embed_with(identity: str) -> None:
        postgres_server.execute(f"UPDATE gbrain.models SET identity = '{identity}'", database)

    try:
        for spec in others:
            embed_with(spec.identity)
            with SharedBrain.open_shared(url) as brain:
                assert brain.search("alice").hits
                assert brain.active_model().name == spec.name
        embed_with("that of nobody")
        with SharedBrain.open_shared(url) as brain:
            answer = brain.query("who is lukewarm on cloud RAG?")
        assert answer.hits
        assert answer.mode == "bm25"
        assert "a model that is not installed here" in str(answer.notice)
    finally:
        embed_with(own.identity)


def test_an_answer_says_that_the_index_is_incomplete(
    shared: SharedBrain, url: str, postgres_server: Server
) -> None:
    database = url.rpartition("/")[2]
    assert "found yet" not in str(shared.search("alice").notice)
    for changed in ("indexed_to = indexed_to - 1", "is_counted = false"):
        postgres_server.execute(f"UPDATE gbrain.state SET {changed}", database)
        assert "gbrain push completes its index" in str(shared.search("alice").notice)
        postgres_server.execute(
            "UPDATE gbrain.state SET indexed_to = sequence, is_counted = true", database
        )


def test_only_tools_that_work_are_offered(shared: SharedBrain) -> None:
    arguments = {"query": "alice", "slug": "people/alice-chen", "name": "Alice Chen"}
    offered = []
    for tool in TOOLS:
        given = {name: arguments[name] for name in tool.input_schema["required"] if not tool.writes}
        if tool.reads_all_pages:
            with pytest.raises(GbrainError, match="not available with --no-replica"):
                tool.run(shared, given)
        elif not tool.writes:
            assert tool.run(shared, given).text
            offered.append(tool.name)

    async def listed() -> list[str]:
        async with anyio.create_task_group() as background:
            session = Session(lambda: shared)
            service = ToolService(session, background, read_only=True, replica=False)
            return [tool.name for tool in (await service.list_tools(None, None)).tools]

    assert anyio.run(listed) == offered


def test_a_lost_connection_is_opened_again(shared: SharedBrain, postgres_server: Server) -> None:
    assert shared.search("alice").hits
    postgres_server.execute(END_CONNECTIONS)
    assert shared.search("alice").hits


def test_a_server_that_is_gone_is_asked_for_one_new_connection(
    shared: SharedBrain, postgres_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shared.search("alice").hits
    postgres_server.execute(END_CONNECTIONS)
    tried = []

    def refuse(url: str) -> NoReturn:
        tried.append(url)
        raise Unreachable("Cannot reach it", hint="Wait.")

    with monkeypatch.context() as patch:
        patch.setattr("gbrain.shared_brain.SharedStore", refuse)
        with pytest.raises(Unreachable):
            shared.search("alice")
    assert len(tried) == 1
    assert shared.search("alice").hits


def test_commands_take_no_replica(url: str, run: Run) -> None:
    shared = ("--db", url, "--no-replica")
    assert "people/alice-chen" in run("query", "who is Alice Chen?", *shared).stdout
    assert "people/alice-chen" in run("search", "alice", *shared).stdout
    assert "Alice" in run("get", "people/alice-chen", *shared).stdout
    assert "keyword" in run("explain", "alice", *shared).stdout
    for words in (("list",), ("put", "notes/x"), ("stats",), ("edit", "notes/x")):
        refused = run(*words, *shared)
        assert refused.exit_code == 1
        assert "not available with --no-replica" in refused.stderr
    assert "needs a shared brain" in run("search", "alice", "--no-replica").stderr
    assert "cannot be combined" in run("search", "x", *shared, "--as-of", "2026").stderr


@contextmanager
def serve_over_http(url: str) -> Iterator[Callable[[str], tuple[int, Any]]]:
    """Serve a shared brain without a replica; yields a function that asks it with a token."""
    server = HttpServer(
        lambda: SharedBrain.open_shared(url),
        HttpOptions(port=0, read_only=True, replica=False, load_model=False),
    )
    thread = Thread(target=server.run)
    thread.start()

    def ask(token: str) -> tuple[int, Any]:
        request = Request(f"{server.listening.url}api/search?q=alice")
        request.add_header("Authorization", f"Bearer {token}")
        try:
            with urlopen(request, timeout=30) as response:
                return response.status, json.load(response)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    try:
        yield ask
    finally:
        server.stop()
        thread.join(20)


def test_tokens_of_a_server_without_a_replica(url: str, run: Run) -> None:
    shared = ("--db", url, "--no-replica")
    secret = run("token", "add", "agent", *shared).stdout.strip()
    assert run("token", "list", *shared).stdout.startswith("agent\t")
    # Where only some pages may exist, nothing may depend on the others.
    for limit in ("--wing", "--slug-prefix"):
        refused = run("token", "add", "some", limit, "people", *shared)
        assert (refused.exit_code, refused.stdout) == (1, "")
        assert "A token that is limited to some pages is not available" in refused.stderr
    with SharedBrain.open_shared(url) as brain:
        limits = Scope(wing="people")
        _, limited = add_token(brain.identity(), "some", timestamp(), limits=limits)
    with serve_over_http(url) as ask:
        status, found = ask(secret)
        assert (status, found["results"][0]["slug"]) == (200, "people/alice-chen")
        status, refused = ask(limited)
        assert (status, refused["error"]["code"]) == (400, "needs_replica")
        assert run("token", "revoke", "agent", *shared).exit_code == 0
        assert ask(secret)[0] == 401


def test_settings_of_the_replica_that_are_not_used_are_named(url: str, run: Run) -> None:
    search = ("search", "alice", "--db", url)
    assert "settings" not in run(*search, "--no-replica").stderr
    assert run(*search).exit_code == 0
    assert "settings" not in run(*search, "--no-replica").stderr
    assert run("config", "set", "title_weight", "3", "--db", url).exit_code == 0
    assert "default settings, not those of the copy" in run(*search, "--no-replica").stderr
    assert "title_weight" not in run(*search, "--no-replica", "--quiet").stderr


@pytest.mark.usefixtures("pgvector")
def test_pushes_and_repairs_create_the_index(
    embedded: Path, server_url: str, postgres_server: Server, monkeypatch: pytest.MonkeyPatch,
    run: Run,
) -> None:  # fmt: skip
    if postgres_server.socket is None:
        pytest.skip("the roles of another server are left alone")
    monkeypatch.setattr(index_module, "MIN_INDEXED_VECTORS", 10)
    database = server_url.rpartition("/")[2]

    def indexes() -> int:
        count = "SELECT count(*) FROM pg_indexes WHERE indexname LIKE 'vectors_nearest%'"
        return int(postgres_server.execute(count, database)[0][0])

    run("remote", "add", "team", server_url)
    run("push")
    assert indexes() == 1
    assert run("remote", "status", "--check").exit_code == 0
    # A writer is not the owner of the tables, and pushes without the index.
    role = f"writer_{uuid4().hex[:8]}"
    for statement in (
        f"CREATE ROLE {role} LOGIN", f"CREATE ROLE {role}_r", role_sql(f"{role}_r", role),
        "DROP INDEX gbrain.vectors_nearest_1", "TRUNCATE gbrain.vectors",
    ):  # fmt: skip
        postgres_server.execute(statement, database)
    run("remote", "remove", "team")
    run("remote", "add", "team", postgres_server.socket_url(database, user=role))
    pushed = run("push")
    assert pushed.exit_code == 0
    assert "vectors" in pushed.stderr
    assert indexes() == 0
    assert "have no index" in run("remote", "status").stderr
    assert "have no index" in run("remote", "repair").stderr
    # Its owner may create the index, and repairs what the writer damaged.
    postgres_server.execute("DELETE FROM gbrain.search_pages WHERE slug LIKE 'p%'", database)
    run("remote", "add", "team", server_url)
    assert "not in the search tables" in run("remote", "status", "--check").stderr
    repaired = run("remote", "repair")
    assert (repaired.exit_code, indexes()) == (0, 1)
    assert run("remote", "status", "--check").exit_code == 0
