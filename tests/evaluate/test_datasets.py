"""Labelled sets from their files, and what is said of files that cannot be read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.errors import GbrainError
from gbrain.evaluate.datasets import DatasetQuestion, load_dataset, select_questions
from gbrain.text.page import parse_page
from gbrain.text.slug import slug_from_path
from gbrain.types import Scope

ALLOTMENTS = Path(__file__).parents[2] / "fixtures" / "eval" / "allotments"


@pytest.fixture
def write(tmp_path: Path):
    """Writes a set of three files, each as lines, and gives its folder."""

    def make(
        corpus: list[object] | None = None,
        queries: list[object] | None = None,
        qrels: str = "query-id\tcorpus-id\tscore\nq\td\t1\n",
    ) -> Path:
        rows = {
            "corpus.jsonl": corpus or [{"_id": "d", "title": "Heron", "text": "It waits."}],
            "queries.jsonl": queries or [{"_id": "q", "text": "Who waits?"}],
        }
        for name, lines in rows.items():
            texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            (tmp_path / name).write_text("\n".join(texts) + "\n")
        (tmp_path / "qrels.tsv").write_text(qrels)
        return tmp_path

    return make


def refusal(folder: Path) -> str:
    with pytest.raises(GbrainError) as caught:
        load_dataset(folder)
    assert caught.value.code == "bad_set"
    return caught.value.message


def test_a_set_may_have_scopes_and_grades() -> None:
    labelled = load_dataset(ALLOTMENTS / "days")
    assert len(labelled.documents) == 8
    assert labelled.questions[0] == DatasetQuestion(
        "h1", "What was eaten during the night?", Scope(slug_prefix="hillside/")
    )
    assert labelled.relevant["h2"] == {"hillside/day-4": 2, "hillside/day-2": 1}
    assert labelled.notes == ("1 question has no answer and is left out.",)


def test_title_and_date_become_front_matter(write) -> None:
    row = {"_id": "d", "title": 'A "heron"', "text": "Grey.\n", "metadata": {"date": "2025-03-02"}}
    (document,) = load_dataset(write([row])).documents
    page = parse_page(document.path, document.data)
    assert (page.slug, page.title, page.date) == ("d", 'A "heron"', "2025-03-02")
    assert document.text == page.compiled_truth == "Grey.\n"


def test_a_text_with_front_matter_keeps_its_own(write) -> None:
    row = {"_id": "d", "title": "Ignored", "text": "---\ntitle: Own\n---\nGrey.\n"}
    (document,) = load_dataset(write([row])).documents
    assert parse_page(document.path, document.data).title == "Own"


def test_a_document_without_a_title_is_titled_by_its_id(write) -> None:
    (document,) = load_dataset(write([{"_id": "d", "title": None, "text": "Grey."}])).documents
    assert parse_page(document.path, document.data).title == "d"


def test_an_invalid_date_stays_text(write) -> None:
    row = {"_id": "d", "text": "Grey.", "metadata": {"date": "soon: maybe\ntitle: x"}}
    (document,) = load_dataset(write([row])).documents
    page = parse_page(document.path, document.data)
    assert (page.title, json.loads(page.meta)["date"]) == ("d", "soon: maybe\ntitle: x")


def test_ids_with_equal_or_empty_slugs_get_distinct_pages(write) -> None:
    ids = ["d", "D", "d!", "...", "../up", 7]
    corpus = [{"_id": name, "text": f"Page {name}"} for name in ids]
    labelled = load_dataset(write(corpus, qrels="q\tD\t1\nq\t...\t2\nq\t7\t1\n"))
    slugs = [document.slug for document in labelled.documents]
    assert slugs == ["d", "d-2", "d-3", "document-4", "document-5", "7"]
    assert labelled.relevant["q"] == {"d-2": 1, "document-4": 2, "7": 1}
    assert [parse_page(d.path, d.data).slug for d in labelled.documents] == slugs


def test_the_scope_is_a_folder_of_the_document(write) -> None:
    corpus = [
        {"_id": "d", "text": "One", "metadata": {"scope": "My Chats"}},
        {"_id": "my-chats/e", "text": "Two", "metadata": {"scope": "My Chats"}},
    ]
    queries = [{"_id": "q", "text": "?", "metadata": {"scope": "My Chats"}}]
    labelled = load_dataset(write(corpus, queries))
    assert [document.slug for document in labelled.documents] == ["my-chats/d", "my-chats/e"]
    assert labelled.questions[0].scope == Scope(slug_prefix="my-chats/")
    assert labelled.relevant["q"] == {"my-chats/d": 1}


@pytest.mark.parametrize(
    "qrels",
    [
        "query-id\tcorpus-id\tscore\nq\td\t2\n",
        "q\td\t2\n",
        "\ufeffquery-id\tcorpus-id\tscore\r\nq\td\t2\r\n\r\n",
        "q 0 d 2\n",
        "q\td\t2\nq\td\t2\nq\te\t0\nq\tf\t-1\n",
    ],
)
def test_judgements_may_be_spelled_in_several_ways(write, qrels: str) -> None:
    assert load_dataset(write(qrels=qrels)).relevant == {"q": {"d": 2}}


def test_beir_qrels_files_are_read(write) -> None:
    folder = write()
    (folder / "qrels").mkdir()
    (folder / "qrels.tsv").rename(folder / "qrels" / "test.tsv")
    (folder / "qrels" / "train.tsv").write_text("q\td\t3\n")
    labelled = load_dataset(folder)
    assert labelled.qrels == folder / "qrels" / "test.tsv"
    assert labelled.relevant == {"q": {"d": 1}}


def test_a_folder_of_markdown_is_a_set(write) -> None:
    folder = write(qrels="q\tBirds/Grey heron.md\t1\nq\tBirds/egret\t1\n")
    (folder / "corpus.jsonl").unlink()
    (folder / "vault" / "Birds").mkdir(parents=True)
    (folder / "vault" / "Birds" / "Grey heron.md").write_text("# Heron\nIt waits.\n")
    (folder / "vault" / "Birds" / "egret.md").write_text("White.\n")
    (folder / "vault" / ".hidden.md").write_text("no")
    (folder / "vault" / "picture.png").write_bytes(b"no")
    labelled = load_dataset(folder)
    assert [document.slug for document in labelled.documents] == ["birds/grey-heron", "birds/egret"]
    assert labelled.documents[0].text == "# Heron\nIt waits.\n"
    assert labelled.relevant["q"] == {"birds/grey-heron": 1, "birds/egret": 1}
    (folder / "vault" / "Birds" / "GREY HERON.md").write_text("twin")
    assert "has the same slug as Birds/GREY HERON.md: birds/grey-heron" in refusal(folder)


def test_ids_missing_from_other_files_are_counted(write) -> None:
    qrels = "q\td\t1\nq\tgone\t1\nstranger\td\t1\n"
    labelled = load_dataset(write(queries=[{"_id": "q", "text": "?"}, {"_id": "r", "text": "?"}],
                              qrels=qrels))  # fmt: skip
    assert labelled.relevant == {"q": {"d": 1, "(gone)": 1}}
    assert labelled.notes == (
        "1 question has no answer and is left out.",
        "1 judged question is not in queries.jsonl.",
        "1 answer is not in the corpus and counts as not found.",
    )


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("corpus.jsonl", '\n{"_id": "d"', "corpus.jsonl, line 2: not JSON"),
        ("corpus.jsonl", "[1]", "corpus.jsonl, line 1: not a JSON object"),
        ("corpus.jsonl", '{"text": "x"}', 'corpus.jsonl, line 1: "_id" is missing'),
        ("corpus.jsonl", '{"_id": " "}', 'corpus.jsonl, line 1: "_id" is missing'),
        ("corpus.jsonl", '{"_id": "d"}', 'corpus.jsonl, line 1: "text" is missing'),
        ("corpus.jsonl", '{"_id": "d", "text": 3}', 'corpus.jsonl, line 1: "text" is not a text'),
        (
            "corpus.jsonl",
            '{"_id": "d", "text": "x", "metadata": []}',
            'corpus.jsonl, line 1: "metadata" is not an object',
        ),
        (
            "corpus.jsonl",
            '{"_id": "d", "text": "x", "metadata": {"scope": ["a"]}}',
            'corpus.jsonl, line 1: "scope" in "metadata" is not a text',
        ),
        (
            "corpus.jsonl",
            '{"_id": "d", "text": "x", "metadata": {"scope": ".."}}',
            "corpus.jsonl, line 1: the scope '..' cannot name a folder",
        ),
        (
            "corpus.jsonl",
            '{"_id": "d", "text": "x"}\n{"_id": "d", "text": "y"}',
            "corpus.jsonl, line 2: 'd' is already on line 1",
        ),
        ("corpus.jsonl", "", "has no documents"),
        (
            "queries.jsonl",
            '{"_id": "q", "text": "?"}\n{"_id": "q", "text": "?"}',
            "queries.jsonl, line 2: the question 'q' is there twice",
        ),
        ("queries.jsonl", "[" * 100_000, "queries.jsonl, line 1: not JSON"),
        ("qrels.tsv", "q\td", "qrels.tsv, line 1: not a question, a document and a grade"),
        ("qrels.tsv", "q\td\t1\nq\te\tgood", "line 2: the grade 'good' is not a whole number"),
        ("qrels.tsv", "q\td\t1\nq\te\t0.5", "line 2: the grade '0.5' is not a whole number"),
        ("qrels.tsv", "q\td\t1\nq\td\t2", "line 2: q and d already have the grade 1"),
        ("qrels.tsv", "q\td\t0", "No question of"),
    ],
)
def test_an_invalid_row_is_named(write, file: str, content: str, message: str) -> None:
    folder = write()
    (folder / file).write_text(content)
    assert message in refusal(folder)


@pytest.mark.parametrize("file", ["queries.jsonl", "qrels.tsv"])
def test_a_file_that_is_missing_or_not_text_is_named(write, file: str) -> None:
    folder = write()
    (folder / file).write_bytes(b"\xff\xfe\x00")
    assert refusal(folder) == f"{folder / file}, line 1: not UTF-8"
    (folder / file).unlink()
    assert refusal(folder) == f"{folder / file} does not exist"
    (folder / file).mkdir()
    assert refusal(folder).startswith(f"Cannot read {folder / file}: ")


def test_a_folder_without_documents_is_refused(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path} has neither corpus.jsonl nor a folder vault"
    assert refusal(tmp_path / "no") == f"{tmp_path / 'no'} is not a folder"


def test_only_newlines_end_rows(write) -> None:
    row = '{"_id": "d", "text": "One\u2028two \\ud800 three"}'
    (document,) = load_dataset(write([row])).documents
    assert document.text == "One\u2028two ? three"


def test_the_digest_follows_the_content(write) -> None:
    def digest(**row: object) -> str:
        return load_dataset(write([{"_id": "d", "text": "One", **row}])).digest

    assert digest() == digest()
    assert len({digest(), digest(text="Two"), digest(title="T"), digest(_id="e/d")}) == 4


@given(st.lists(st.text(min_size=1).filter(str.strip), min_size=1, unique=True))
def test_any_ids_give_distinct_pages(tmp_path_factory, ids: list[str]) -> None:
    folder = tmp_path_factory.mktemp("ids")
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": name, "text": "x"}) + "\n" for name in ids)
    )
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "?"}')
    (folder / "qrels.tsv").write_text("q\tanything\t1")
    labelled = load_dataset(folder)
    slugs = [document.slug for document in labelled.documents]
    assert len(set(slugs)) == len(ids)
    assert slugs == [slug_from_path(document.path) for document in labelled.documents]


def test_a_seed_always_gives_the_same_sample() -> None:
    questions = [DatasetQuestion(str(n), "?", Scope()) for n in range(50)]
    drawn = select_questions(questions, None, 10, seed=1)
    assert (
        drawn
        == select_questions(questions, None, 10, seed=1)
        != select_questions(questions, None, 10, seed=2)
    )
    assert [int(q.id) for q in drawn] == sorted(int(q.id) for q in drawn)
    assert select_questions(questions, 3, None, 1) == tuple(questions[:3])
    assert select_questions(questions, 3, 10, 1) == tuple(questions[:3])
