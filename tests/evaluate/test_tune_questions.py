"""Questions for fitting: from a labelled set, from use, and mined."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.config import override_settings
from gbrain.errors import GbrainError
from gbrain.evaluate.datasets import load_dataset
from gbrain.evaluate.question_mining import RANKED_KINDS, mine_questions
from gbrain.evaluate.tune import current_merge_settings, merge_question, score_question
from gbrain.evaluate.tune_questions import dataset_questions, mined_questions, opened_questions
from gbrain.store import usage_log
from gbrain.types import Scope


def silent(done: int, total: int) -> None:
    pass


def labelled(folder: Path, *slugs: str) -> Path:
    """A set whose questions are answered by these pages."""
    folder.mkdir()
    (folder / "corpus.jsonl").write_text(
        "".join(f'{{"_id": "{slug}", "text": "x"}}\n' for slug in slugs)
    )
    (folder / "queries.jsonl").write_text(
        "".join(f'{{"_id": "q{n}", "text": "who broke a wrist"}}\n' for n in range(len(slugs)))
    )
    (folder / "qrels.tsv").write_text("".join(f"q{n}\t{slug}\t1\n" for n, slug in enumerate(slugs)))
    return folder


def test_a_set_is_limited_to_pages_of_the_brain(embedded: Brain, tmp_path: Path) -> None:
    folder = labelled(tmp_path / "set", "people/alice-chen", "people/nobody")
    (known,) = dataset_questions(embedded, load_dataset(folder), silent)
    assert (known.group, known.grades) == ("q0", {"people/alice-chen": 1})
    assert set(known.lanes) >= {"fts", "vector"}
    hits = [hit.slug for hit in embedded.query("who broke a wrist").hits]
    assert hits[0] == "people/alice-chen"
    assert score_question(known, current_merge_settings(embedded.settings), embedded.settings) == 1


def test_a_set_of_other_pages_is_refused(embedded: Brain, tmp_path: Path) -> None:
    folder = labelled(tmp_path / "set", "people/nobody")
    with pytest.raises(GbrainError, match="None of the pages that answer") as raised:
        dataset_questions(embedded, load_dataset(folder), silent)
    assert raised.value.code == "bad_set"


@pytest.mark.parametrize("merge", ["set-union", "rrf", "blend"])
@pytest.mark.parametrize("weight", ["0.4", "2.5"])
def test_merging_again_gives_the_hits_of_query(embedded: Brain, merge: str, weight: str) -> None:
    changes = {"search_merge_strategy": merge, "semantic_weight": weight, "both_bonus": "0.3"}
    settings = override_settings(embedded.settings, changes)
    with embedded.database.read_transaction() as connection:
        questions = mine_questions(connection, 1, RANKED_KINDS)
    assert questions
    for question, known in zip(questions, mined_questions(embedded, 1, silent), strict=True):
        scope = Scope(exclude=(question.exclude,) if question.exclude else ())
        answer = embedded.query(question.text, scope=scope, limit=10, changes=changes)
        again = merge_question(known, current_merge_settings(settings), settings)[:10]
        assert again == [hit.slug for hit in answer.hits], question


def test_mined_questions_are_grouped_by_their_page(embedded: Brain) -> None:
    questions = mined_questions(embedded, 2, silent)
    assert questions
    for mined in questions:
        assert mined.grades == {mined.group: 1}


def test_recorded_queries_count_when_enough_led_to_a_page(embedded: Brain) -> None:
    page = embedded.get("people/alice-chen")
    shown = [usage_log.ShownPage(page.id, ())]
    with embedded.database.write_transaction() as connection:
        for number in range(40):
            usage_log.log_query(
                connection, f"wrist {number}", "2026", "auto", "strong", shown, 1000
            )
    assert opened_questions(embedded, silent) == []
    with embedded.database.write_transaction() as connection:
        connection.execute("UPDATE question_hits SET opened_at = '2026'")
    cases = opened_questions(embedded, silent)
    assert len(cases) == 40
    assert cases[0].grades == {"people/alice-chen": 1}


def test_a_brain_without_vectors_cannot_be_tuned(sample: Path) -> None:
    with (
        Brain.open(sample) as plain,
        pytest.raises(GbrainError, match="No note is embedded yet") as raised,
    ):
        mined_questions(plain, 1, silent)
    assert raised.value.code == "no_vectors"
