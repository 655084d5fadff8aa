"""The folders a brain was filled from."""

from __future__ import annotations

from pathlib import Path

from gbrain.brain import Brain
from gbrain.store.folders import add_folder, list_folders, page_file_paths, page_sources


def test_a_folder_is_added_once(brain: Brain) -> None:
    with brain.database.write_transaction() as connection:
        one = add_folder(connection, "/notes", "2026")
        two = add_folder(connection, "/other", "2026")
        assert add_folder(connection, "/notes", "2027") == one
        assert list_folders(connection) == [one, two]


def test_a_page_put_by_hand_belongs_to_no_folder(brain: Brain) -> None:
    brain.put("a", b"x")
    with brain.database.read_transaction() as connection:
        known = page_sources(connection)["a"]
    assert (known.path, known.folder_id, known.source_sha256) == ("a.md", None, None)


def test_pages_of_a_vault_have_files_and_others_none(brain: Brain, tmp_path: Path) -> None:
    vault = tmp_path / "notes"
    (vault / "people").mkdir(parents=True)
    (vault / "people" / "Ann Lee.md").write_text("# Ann")
    brain.import_folder(vault)
    brain.put("other", b"# Other")
    with brain.database.read_transaction() as connection:
        files = page_file_paths(connection, ["people/ann-lee", "other", "none"])
    assert files == {"people/ann-lee": vault / "people" / "Ann Lee.md"}


def test_a_file_that_is_no_page_is_none_of_a_page(brain: Brain, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A")
    brain.import_folder(tmp_path)
    with brain.database.write_transaction() as connection:
        connection.execute("UPDATE pages SET path = '/usr/share/applications/x.desktop'")
        assert page_file_paths(connection, ["a"]) == {}
