"""Tasks of all pages, found through the index of pages that may have some."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gbrain.brain import Brain
from gbrain.store.schema import MAY_HAVE_TASKS
from gbrain.store.tasks import list_tasks
from gbrain.text.tasks import find_tasks

FORMS = ("[ ]", "[x]", "[X]", "[/]", "[-]", "TODO", "DOING", "NOW", "LATER", "DONE", "CANCELED",
         "CANCELLED")  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_of_a_task_is_listed(form: str, make_brain: Callable[..., Brain]) -> None:
    text = f"# Page\n\nwords\n\n* {form} call the plumber\n"
    assert list(find_tasks(text))
    dated = "# Page\n\n---\n## Timeline\n- 2026-05-02 — moved\n" + text.partition("words\n")[2]
    brain = make_brain({"one": text, "two": dated, "three": "# Page\n\n[x] and now [[link]]\n"})
    with brain.database.read_transaction() as connection:
        found = {task.slug for task in list_tasks(connection, done=True)}
        rows = connection.execute(f"SELECT slug FROM pages WHERE {MAY_HAVE_TASKS}").fetchall()
    assert found == {"one", "two"}
    assert len(rows) >= 2


def test_a_task_is_listed_as_soon_as_it_is_written(make_brain: Callable[..., Brain]) -> None:
    brain = make_brain({"one": "# One\n\nwords\n"})
    assert brain.tasks() == []
    brain.put("one", b"# One\n\n- [ ] words\n")
    assert [task.text for task in brain.tasks()] == ["words"]
    brain.put("one", b"# One\n\nno more\n")
    assert brain.tasks() == []


def test_pages_without_tasks_are_not_read(make_brain: Callable[..., Brain]) -> None:
    brain = make_brain({"one": "# One\n\nwords\n"})
    plan = brain.database.connection.execute(
        f"EXPLAIN QUERY PLAN SELECT slug, compiled_truth FROM pages WHERE ({MAY_HAVE_TASKS}) "
        "ORDER BY slug"
    ).fetchall()
    assert [row[3] for row in plan] == ["SCAN pages USING INDEX pages_tasks"]
