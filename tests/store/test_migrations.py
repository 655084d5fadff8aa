"""Brains of every earlier schema open, are brought up to date, and answer like new ones."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlite_utils
from sqlite_utils import Migrations

from gbrain.brain import Brain
from gbrain.errors import BadBrain
from gbrain.store import migrations, page_writer, reparse
from gbrain.store.backup import SKIP_BACKUP_VARIABLE, backup_before_migration
from gbrain.store.brain_files import needs_upgrade
from gbrain.store.connection import Database
from gbrain.store.doctor.examine import examine
from gbrain.store.schema import SCHEMA_VERSION

BRAINS = Path(__file__).parents[2] / "fixtures" / "brains"
QUESTIONS = (
    "who is lukewarm on cloud RAG?",
    "offline first",
    "how do notes stay evergreen",
    "alice",
    "reviewing cards before forgetting",
)


def schema_of(path: Path) -> list[tuple[str, str]]:
    connection = sqlite3.connect(path)
    rows = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '\\_%' ESCAPE '\\' "
        "AND sql IS NOT NULL ORDER BY name"
    ).fetchall()
    connection.close()
    return rows


@pytest.fixture(params=range(1, SCHEMA_VERSION), ids=lambda version: f"schema-{version}")
def old_brain(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return unpack_brain(request.param, tmp_path)


def unpack_brain(version: int, folder: Path) -> Path:
    path = folder / "old.db"
    path.write_bytes(gzip.decompress((BRAINS / f"schema-{version}.db.gz").read_bytes()))
    return path


def test_an_old_brain_answers_like_a_new_one_of_the_same_pages(
    old_brain: Path, tmp_path: Path
) -> None:
    with Brain.open(old_brain) as old, Brain.open(tmp_path / "new.db", make=True) as new:
        for page in old.list()[0]:
            new.put(page.path, old.text(page.slug).encode())
        new.embed()
        for question in QUESTIONS:
            then, now = old.query(question).hits, new.query(question).hits
            assert then[0].slug == now[0].slug
            assert {hit.slug for hit in then} == {hit.slug for hit in now}
            # The fixture's vectors may come from another kind of processor, whose 8-bit
            # multiplications saturate: scores differ by about .01 then.
            scores = [hit.score for hit in now]
            assert [hit.score for hit in then] == pytest.approx(scores, abs=0.03)
    assert schema_of(old_brain) == schema_of(tmp_path / "new.db")


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    old_brain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = old_brain.read_bytes()
    scripts = (
        "TABLES_2 RENAMED_SETTINGS_3 TABLES_6 TABLES_7 INDEXES_8 TABLES_9 INDEXES_10 INDEXES_11 "
        "INDEXES_13 VECTOR_TABLE_13 TABLES_15 TABLES_16"
    )
    for script in scripts.split():
        monkeypatch.setattr(migrations, script, "CREATE TABLE fine (a);\nCREATE TABLE pages (b);\n")

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM chunks")
        connection.execute("CREATE TABLE pages (b)")

    monkeypatch.setattr(reparse, "reparse_dates", fail)
    monkeypatch.setattr(reparse, "reparse_long_words", fail)
    monkeypatch.setattr(page_writer, "add_questions", fail)
    with pytest.raises(BadBrain, match="table pages already exists"):
        Database(old_brain)
    assert old_brain.read_bytes() == before
    kept = old_brain.with_name(f"{old_brain.name}.schema-{user_version(old_brain)}.backup")
    assert sorted(old_brain.parent.iterdir()) == [old_brain, kept]
    monkeypatch.undo()
    Database(old_brain).close()
    assert user_version(old_brain) == SCHEMA_VERSION


@pytest.mark.parametrize("spoilt", [-1, 0])
def test_a_version_spoilt_in_the_header_is_put_right(
    spoilt: int, brain_path: Path, built_sample: Path
) -> None:
    shutil.copy(built_sample, brain_path)
    with closing(sqlite3.connect(brain_path)) as raw:
        raw.execute(f"PRAGMA user_version = {spoilt}")
    with Brain.open(brain_path) as brain:
        assert len(brain.list()[0]) == 29
    assert user_version(brain_path) == SCHEMA_VERSION


def test_an_old_brain_keeps_the_values_of_renamed_settings(tmp_path: Path) -> None:
    path = unpack_brain(2, tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        assert dict(raw.execute("SELECT key, value FROM config")) == {
            "passage_bonus": "0.4", "passage_k": "12",
        }  # fmt: skip
    with Brain.open(path) as brain:
        assert brain.stored_settings == {"chunk_bonus": "0.4", "chunk_k": "12"}
        assert brain.settings.chunk_k == 12


def test_an_old_brain_learns_the_dates_of_lists_and_titles(tmp_path: Path) -> None:
    path = unpack_brain(3, tmp_path)
    with Brain.open(path) as brain:
        listed = [(e.date, e.kind, e.text) for e in brain.timeline("health/migraine")[0]]
        assert listed == [
            ("2026-08-09", "list", "heat, strong"), ("2026-10-05", "list", "mild"),
        ]  # fmt: skip
        assert brain.timeline("meetings/standup")[0][0].date == "2026-04-03"
        assert brain.stats().jobs == 4
        assert brain.query("migraine in October 2026").hits[0].date == "2026-10-05"
    with closing(Database(path)) as database:
        found = dict(examine(database, "2026-11-16T12:00:00.000Z", full=True))
    derived = ("page_facts", "passages", "passage_index", "references", "missing_vectors")
    assert {found[name].status for name in derived} == {"ok"}


def test_an_old_brain_is_found_by_its_authored_questions(tmp_path: Path) -> None:
    with Brain.open(unpack_brain(4, tmp_path)) as brain:
        assert brain.search("When is the rubbish collected?").hits[0].slug == "household/bins"


def test_long_urls_and_images_of_an_old_brain_become_one_chunk_each(tmp_path: Path) -> None:
    path = unpack_brain(13, tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        before = dict(raw.execute("SELECT id, hash FROM chunks"))
    with Brain.open(path) as brain:
        new = brain.stats().jobs
        brain.embed()
    with closing(Database(path)) as database:
        found = dict(examine(database, "2026-11-16T12:00:00.000Z", full=True))
        rows = database.connection.execute(
            "SELECT chunks.id, hash, text, slug FROM chunks JOIN pages ON pages.id = page_id"
        ).fetchall()
    roof = [text for _, _, text, slug in rows if slug == "household/roof"]
    assert len(before) - len(rows) == 12 - len(roof)
    assert [text.split("://")[0] for text in roof if "://" in text] == ["[The offer](https"]
    assert [text.split(";")[0] for text in roof if "base64" in text] == [
        "![The damage](data:image/png"
    ]
    assert 0 < new <= len(roof)
    kept = [(number, digest) for number, digest, _, slug in rows if slug != "household/roof"]
    assert len(kept) == 50
    assert all(before[number] == digest for number, digest in kept)
    assert {found[name].status for name in ("passages", "passage_index", "missing_vectors")} == {
        "ok"
    }


def test_damaged_chunks_do_not_keep_an_old_brain_from_opening(tmp_path: Path) -> None:
    path = unpack_brain(3, tmp_path)
    with closing(sqlite3.connect(path)) as raw:
        raw.execute("UPDATE chunks_fts_data SET block = x'00'")
        raw.commit()
        before = raw.execute("SELECT * FROM chunks").fetchall()
    Database(path).close()
    with closing(sqlite3.connect(path)) as raw:
        assert raw.execute("SELECT * FROM chunks").fetchall() == before
    assert user_version(path) == SCHEMA_VERSION


def test_a_read_only_old_brain_answers_without_migration(old_brain: Path) -> None:
    old_brain.chmod(0o400)
    version = user_version(old_brain)
    with Brain.open(old_brain) as brain:
        assert brain.search("alice").hits
    assert user_version(old_brain) == version


def test_a_read_only_old_brain_says_why_a_table_is_missing(tmp_path: Path) -> None:
    old_brain = unpack_brain(1, tmp_path)
    old_brain.chmod(0o400)
    with (
        Brain.open(old_brain) as brain,
        pytest.raises(BadBrain) as caught,
        brain.database.read_transaction() as connection,
    ):
        connection.execute("SELECT * FROM baselines")
    assert caught.value.code == "read_only"
    assert "needs an upgrade (from schema 1), but it is read-only" in caught.value.message


def test_the_brain_as_it_was_is_kept_beside_it(old_brain: Path) -> None:
    version = user_version(old_brain)
    before = schema_of(old_brain)
    Database(old_brain).close()
    kept = old_brain.with_name(f"{old_brain.name}.schema-{version}.backup")
    assert (user_version(kept), schema_of(kept)) == (version, before)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert user_version(old_brain) == SCHEMA_VERSION
    assert sorted(path.name for path in old_brain.parent.iterdir()) == [old_brain.name, kept.name]


def test_a_brain_that_is_up_to_date_is_not_copied(old_brain: Path) -> None:
    Database(old_brain).close()
    for path in old_brain.parent.glob("*.backup"):
        path.unlink()
    Database(old_brain).close()
    assert list(old_brain.parent.glob("*.backup")) == []


def test_where_no_copy_can_be_kept_the_brain_is_not_touched(
    old_brain: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = user_version(old_brain)
    # A folder of the copy's name stands in for a disk that is full.
    place = old_brain.with_name(f"{old_brain.name}.schema-{version}.backup")
    (place / "full").mkdir(parents=True)
    with pytest.raises(BadBrain) as caught:
        Database(old_brain)
    assert (caught.value.code, user_version(old_brain)) == ("no_backup", version)
    monkeypatch.setenv(SKIP_BACKUP_VARIABLE, "1")
    Database(old_brain).close()
    assert user_version(old_brain) == SCHEMA_VERSION


def user_version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_two_processes_migrate_a_brain_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second opens it after the first has looked up which migrations are pending."""
    path = unpack_brain(1, tmp_path)
    find_pending = Migrations.pending
    rivals: list[bool] = []

    def pending(self: Migrations, db: sqlite_utils.Database) -> list[object]:
        found = list(find_pending(self, db))
        if not rivals:
            rivals.append(True)
            with pytest.raises(BadBrain) as caught:
                Database(path, busy_seconds=0.05)
            assert caught.value.code == "locked"
        return found

    monkeypatch.setattr(Migrations, "pending", pending)
    Database(path).close()
    assert rivals
    with closing(Database(path)) as database:
        version = database.connection.execute("PRAGMA user_version").fetchone()
        assert version == (SCHEMA_VERSION,)


def test_a_migrated_brain_never_replaces_the_backup(tmp_path: Path) -> None:
    """Another process has finished the migration in the meantime."""
    path = unpack_brain(1, tmp_path)
    with closing(Database(path)) as database:
        backup = path.with_name("old.db.schema-1.backup")
        before = backup.read_bytes()
        backup_before_migration(database.connection, path, 1)
    assert backup.read_bytes() == before


def test_the_header_says_whether_a_brain_needs_an_upgrade(old_brain: Path, tmp_path: Path) -> None:
    assert needs_upgrade(old_brain)
    with Brain.open(old_brain):
        pass
    assert not needs_upgrade(old_brain)
    (tmp_path / "text").write_text("no brain")
    assert not needs_upgrade(tmp_path / "text")
    assert not needs_upgrade(tmp_path / "missing")
    assert not needs_upgrade(tmp_path / ("too long" * 40))


def test_only_pages_with_chinese_or_japanese_dates_are_parsed_again(
    brain: Brain, monkeypatch: pytest.MonkeyPatch
) -> None:
    brain.put("met", b"# Met\n\n- 3. Mai 2025: Ana.\n")
    brain.put("会議", "# 会議\n\n- 2025年5月3日 アナ\n".encode())
    parsed: list[int] = []
    monkeypatch.setattr(reparse, "parse_stored", lambda _, page_id: parsed.append(page_id))
    with brain.database.write_transaction() as connection:
        reparse.reparse_cjk_dates(connection)
        rows = connection.execute("SELECT id FROM pages WHERE title = '会議'").fetchall()
    assert [(page_id,) for page_id in parsed] == rows
