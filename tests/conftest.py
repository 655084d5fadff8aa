"""Fixtures for all tests: an environment, a brain, the sample pages, and the CLI as a function."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import settings
from typer.testing import CliRunner

from gbrain.brain import Brain
from gbrain.cli.app import app
from gbrain.importing import scan
from gbrain.models import files, runtime, tokenizer
from gbrain.models.embedder import OnnxEmbedder
from gbrain.server import background

if TYPE_CHECKING:
    from postgres_server import Server

# How long an example takes says more about the machine than about the program.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# Tests start hundreds of processes. Where the environment forbids bytecode, as that of a container
# may, each of them would compile all modules again: twice the processor time.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Memory instead of a disk, where there is enough: a run flushes tens of thousands of writes.
_MEMORY, _MEMORY_BYTES = "/dev/shm", 4 << 30
if (
    "TMPDIR" not in os.environ
    and os.access(_MEMORY, os.W_OK)
    and shutil.disk_usage(_MEMORY).free > _MEMORY_BYTES
):
    tempfile.tempdir = os.environ["TMPDIR"] = _MEMORY

NOON = "2026-11-16T12:00:00"
SAMPLE = Path(__file__).parent.parent / "gbrain" / "sample"


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of one run of the program."""

    exit_code: int
    stdout_bytes: bytes
    stderr: str

    @property
    def stdout(self) -> str:
        return self.stdout_bytes.decode()

    @property
    def json(self) -> Any:
        """Return standard output, parsed as one JSON document."""
        return json.loads(self.stdout)

    @property
    def error(self) -> Any:
        """Return the error document on standard error."""
        return json.loads(self.stderr)["error"]


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def isolated_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the time, switch off colour, and hide the brain of the user who runs the tests."""
    # Most tests have no editor that saves at this moment.
    monkeypatch.setattr(scan, "SECOND_LOOK_SECONDS", 0.0)
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    monkeypatch.delenv("GBRAIN_DB", raising=False)
    monkeypatch.setenv("GBRAIN_NOW", NOON)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture(autouse=True)
def ended_background_processes() -> Iterator[None]:
    """End the warm processes that a test has started."""
    yield
    while background._started:
        process = background._started.pop()
        process.kill()
        process.wait()


_hashes: dict[object, str] = {}
_opened: dict[object, Any] = {}
_vectors: dict[object, Any] = {}
_compute_vector = OnnxEmbedder._pooled_vector
_hash_file = files.file_sha256


def _hash_once(path: Path) -> str:
    """Return the hash of a file, kept until the file changes."""
    if not path.exists():
        return _hash_file(path)
    status = path.stat()
    key = (path, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    if key not in _hashes:
        _hashes[key] = _hash_file(path)
    return _hashes[key]


def _open_once(open_file: Callable[..., Any]) -> Callable[..., Any]:
    """Return `open_file` with its results kept: one for all copies of a file."""

    def call(path: Path, **options: bool) -> Any:
        if not path.exists():
            return open_file(path, **options)
        key = (open_file.__name__, _hash_once(path), *options.items())
        if key not in _opened:
            _opened[key] = open_file(path, **options)
        return _opened[key]

    return call


def _compute_once(self: OnnxEmbedder, ids: list[int]) -> Any:
    key = (self.spec, *ids)
    if key not in _vectors:
        _vectors[key] = _compute_vector(self, ids)
    return _vectors[key]


@pytest.fixture(autouse=True)
def shared_models(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open and hash each model file once in this process, and embed each text once."""
    monkeypatch.setattr(OnnxEmbedder, "_pooled_vector", _compute_once)
    monkeypatch.setattr(runtime, "open_session", _open_once(runtime.open_session))
    monkeypatch.setattr(runtime, "open_tokenizer", _open_once(runtime.open_tokenizer))
    monkeypatch.setattr(tokenizer, "open_tokenizer", runtime.open_tokenizer)
    monkeypatch.setattr(files, "file_sha256", _hash_once)


@pytest.fixture
def run() -> Run:
    """`run("search", "river", "--json", stdin=b"…")` runs the program as a shell would.

    An exception other than SystemExit fails the test: a traceback is always a bug.
    """

    def call(*words: str | Path, stdin: bytes = b"") -> Ran:
        result = CliRunner().invoke(app, [str(word) for word in words], input=stdin)
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout_bytes, result.stderr)

    return call


@pytest.fixture
def brain_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of this test's brain; the file does not exist yet."""
    path = tmp_path / "brain.db"
    monkeypatch.setenv("GBRAIN_DB", str(path))
    return path


@pytest.fixture(scope="session")
def empty_brain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a brain without pages, made once: a copy takes a twentieth of the time."""
    path = tmp_path_factory.mktemp("empty") / "brain.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBRAIN_NOW", NOON)
        Brain.open(path, make=True).close()
    return path


@pytest.fixture
def brain(empty_brain: Path, brain_path: Path) -> Iterator[Brain]:
    """Open an empty brain."""
    shutil.copy(empty_brain, brain_path)
    with Brain.open(brain_path) as opened:
        yield opened


@pytest.fixture(scope="module")
def make_brain(
    empty_brain: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Brain]]:
    """`make_brain({"people/alice": "# Alice"})` opens a brain with these pages for the module."""
    with ExitStack() as opened:

        def make(pages: Mapping[str, str]) -> Brain:
            path = tmp_path_factory.mktemp("brain") / "brain.db"
            brain = opened.enter_context(Brain.open(shutil.copy(empty_brain, path)))
            for slug, text in pages.items():
                brain.put(slug, text.encode())
            return brain

        yield make


@pytest.fixture(scope="module")
def filled(request: pytest.FixtureRequest, make_brain: Callable[..., Brain]) -> Brain:
    """A brain with the pages of the module's PAGES (slug to text), shared by its tests."""
    return make_brain(request.module.PAGES)


@pytest.fixture(scope="session")
def built_sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a brain with the packaged sample pages, made once."""
    path = tmp_path_factory.mktemp("sample") / "brain.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBRAIN_NOW", NOON)
        with Brain.open(path, make=True) as made:
            made.import_folder(SAMPLE)
    return path


@pytest.fixture
def sample(built_sample: Path, brain_path: Path) -> Path:
    """Return the path of this test's brain, with the packaged sample pages."""
    shutil.copy(built_sample, brain_path)
    return brain_path


@pytest.fixture(scope="session")
def embedded_sample(built_sample: Path) -> Path:
    """Return a brain with the sample pages and their vectors, made once."""
    path = built_sample.with_name("embedded.db")
    shutil.copy(built_sample, path)
    with Brain.open(path) as brain:
        brain.embed()
    return path


@pytest.fixture
def embedded(embedded_sample: Path, brain_path: Path) -> Path:
    """Return the path of this test's brain, with the sample pages and their vectors."""
    shutil.copy(embedded_sample, brain_path)
    return brain_path


# --- PostgreSQL ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """Start a PostgreSQL server for this process, or use the one that $GBRAIN_TEST_PG names."""
    from postgres_server import FAST, given_server, start_server

    given = given_server()
    if given:
        yield given
        return
    with start_server(**FAST, shared_buffers="32MB", max_connections="60") as server:
        yield server


@pytest.fixture(scope="session")
def has_pgvector(postgres_server: Server) -> bool:
    """Return whether the server has pgvector, which one that $GBRAIN_TEST_PG names may not."""
    known = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
    return bool(postgres_server.execute(known))


@pytest.fixture(scope="session")
def pgvector(has_pgvector: bool) -> None:
    """Skip tests of vectors where the server has no pgvector."""
    if not has_pgvector:
        pytest.skip("the server has no pgvector")


@pytest.fixture(scope="session")
def unused_databases(postgres_server: Server) -> Iterator[list[str]]:
    """Return a list of databases that tests have left and that were emptied."""
    unused: list[str] = []
    yield unused
    for name in unused:
        postgres_server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def new_database(
    postgres_server: Server, unused_databases: list[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], str]]:
    """`new_database()` returns the name of an empty database for this test.

    The extension pgvector may be there. Emptying a database takes the server a fifth of the time of
    creating one.
    """
    made: list[str] = []
    if postgres_server.password:
        monkeypatch.setenv("PGPASSWORD", postgres_server.password)

    def make() -> str:
        if unused_databases:
            made.append(unused_databases.pop())
        else:
            made.append(f"gbrain_test_{uuid4().hex[:12]}")
            postgres_server.execute(f"CREATE DATABASE {made[-1]}")
        return made[-1]

    yield make
    for name in made:
        postgres_server.empty_database(name)
        unused_databases.append(name)


@pytest.fixture
def server_url(postgres_server: Server, new_database: Callable[[], str]) -> str:
    """Return the URL of an empty database of this test."""
    return postgres_server.socket_url(new_database())
