"""The folders a brain was filled from."""

from __future__ import annotations

from gbrain.brain import Brain
from gbrain.store.vaults import add_vault, known_pages, vaults


def test_a_folder_is_added_once(brain: Brain) -> None:
    with brain.database.writing() as connection:
        one = add_vault(connection, "/notes", "2026")
        two = add_vault(connection, "/other", "2026")
        assert add_vault(connection, "/notes", "2027") == one
        assert vaults(connection) == [one, two]


def test_a_page_put_by_hand_belongs_to_no_folder(brain: Brain) -> None:
    brain.put("a", b"x")
    with brain.database.reading() as connection:
        known = known_pages(connection)["a"]
    assert (known.path, known.vault_id, known.source_sha256) == ("a.md", None, None)
