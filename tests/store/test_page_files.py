"""The files that pages came from."""

from __future__ import annotations

from pathlib import Path

from gbrain.brain import Brain
from gbrain.store.page_files import page_files


def test_pages_of_a_vault_have_files_and_others_none(brain: Brain, tmp_path: Path) -> None:
    vault = tmp_path / "notes"
    (vault / "people").mkdir(parents=True)
    (vault / "people" / "Ann Lee.md").write_text("# Ann")
    brain.take_in(vault)
    brain.put("other", b"# Other")
    with brain.database.reading() as connection:
        files = page_files(connection, ["people/ann-lee", "other", "none"])
    assert files == {"people/ann-lee": vault / "people" / "Ann Lee.md"}
