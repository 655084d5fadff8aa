"""The brains of labelled sets: made once, found by content, and made anew when they must."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import gbrain
from gbrain.errors import BadPage, GbrainError
from gbrain.evaluate import dataset_cache
from gbrain.evaluate.dataset_cache import (
    _PAGE_CODE,
    DatasetBrain,
    default_cache_folder,
    open_dataset_brain,
    page_code_digest,
)
from gbrain.evaluate.datasets import Dataset, DatasetDocument
from gbrain.store import settings


def slugs(brain: DatasetBrain) -> list[str]:
    return [page.slug for page in brain.list()[0]]


def vectors(brain: DatasetBrain) -> int:
    with brain.database.read_transaction() as connection:
        query = "SELECT count(hash) FROM page_embeddings_vec_384"
        return int(connection.execute(query).fetchone()[0])


def test_the_brain_contains_only_the_documents(set_brain: DatasetBrain, allotments) -> None:
    assert slugs(set_brain) == sorted(document.slug for document in allotments.documents)
    assert set_brain.get("riverside/day-1").date == "2025-03-09"


def test_a_second_run_writes_and_embeds_nothing(allotments, cache: Path) -> None:
    written: list[int] = []
    with open_dataset_brain(allotments, cache, lambda done, total: written.append(done)) as brain:
        assert brain.embed().done == 0
    assert written == []
    assert [file.name for file in cache.glob("*.db")] == [f"{allotments.digest}.db"]


def test_changed_page_code_rewrites_pages_and_keeps_vectors(allotments, cache: Path) -> None:
    with open_dataset_brain(allotments, cache) as brain:
        before = vectors(brain)
        with brain.database.write_transaction() as connection:
            settings.save_setting(connection, "evaluation_made_by", "earlier code")
            connection.execute("DELETE FROM chunks")
    written: list[int] = []
    with open_dataset_brain(allotments, cache, lambda done, total: written.append(done)) as brain:
        assert written == list(range(1, 9))
        assert brain.embed().done == 0
        assert vectors(brain) == before > 0
        assert brain.query("drowned the onions", mode="bm25").hits[0].slug == "riverside/day-1"
        with brain.database.read_transaction() as connection:
            assert connection.execute("SELECT count(*) FROM versions").fetchone() == (0,)


def test_the_page_code_is_found_by_its_imports(tmp_path: Path) -> None:
    package = Path(dataset_cache.__file__).parent.parent
    for part in ("text", "store"):
        shutil.copytree(package / part, tmp_path / part)
    assert page_code_digest(tmp_path) == page_code_digest()
    with (tmp_path / "store" / "health.py").open("a") as beside:
        beside.write("# changed")
    assert page_code_digest(tmp_path) == page_code_digest()
    with (tmp_path / "text" / "chunking.py").open("a") as imported:
        imported.write("# changed")
    assert page_code_digest(tmp_path) != page_code_digest()


def test_the_page_code_starts_at_files_that_exist() -> None:
    assert _PAGE_CODE
    assert all((Path(gbrain.__file__).parent / name).is_file() for name in _PAGE_CODE)


def test_other_documents_have_another_brain(allotments: Dataset, cache: Path) -> None:
    fewer = allotments._replace(documents=allotments.documents[:3])
    with open_dataset_brain(fewer, cache) as brain:
        assert len(slugs(brain)) == 3
    assert len(list(cache.glob("*.db"))) == 2


def test_an_invalid_document_is_named_and_caches_nothing(tmp_path, allotments) -> None:
    bad = DatasetDocument("bad", "bad.md", b"\x00\x01", 0, "corpus.jsonl, line 9")
    broken = allotments._replace(documents=(*allotments.documents, bad))
    with pytest.raises(BadPage, match=r"^corpus\.jsonl, line 9: "):
        open_dataset_brain(broken, tmp_path)
    with DatasetBrain.open(tmp_path / f"{broken.digest}.db") as brain:
        assert brain.list()[1] == 0


def test_an_unusable_cache_folder_is_refused(tmp_path: Path, allotments: Dataset) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GbrainError, match="Cannot create the folder") as caught:
        open_dataset_brain(allotments, tmp_path / "file" / "cache")
    assert caught.value.hint == "Choose another folder with --cache DIR."


def test_the_cache_folder_follows_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_cache_folder() == tmp_path / "gbrain" / "eval"


def test_a_query_is_embedded_once_until_it_is_forgotten(set_brain: DatasetBrain) -> None:
    first = set_brain._embed_query("who keeps bees?")
    assert set_brain._embed_query("who keeps bees?") is first
    other = set_brain._embed_query("who keeps goats?")
    assert (other != first).any()
    again = set_brain._embed_query("who keeps bees?")
    assert again is not first
    assert (again == first).all()
    set_brain.forget_last_query()
    assert set_brain._embed_query("who keeps bees?") is not again
