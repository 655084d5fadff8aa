"""A brain within limits: other pages cannot be read, written, counted or guessed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain.ask import answer_query
from gbrain.brain import Brain
from gbrain.errors import GbrainError, NotFound
from gbrain.limited import LimitedBrain
from gbrain.output.json import answer_document
from gbrain.paths import cache_folder
from gbrain.types import Scope

NOON = "2026-11-16T12:00:00"
# The private pages share words, links, tags, tasks, dates and almost their whole text with the
# shared ones; only they contain "zanzibar".
SHARED = {
    "shared/garden": "---\ntags: [green]\n---\n# Garden\n\nSee [[private/diary]] and [[pond]].\n\n"
    "- [ ] Water the roses due: 2026-11-16\n\n## Timeline\n- 2026-04-03 — Planted roses\n",
    "shared/pond": "# Pond\n\nFish and water lilies. See [[garden]].\n",
}
PRIVATE = {
    "private/diary": "---\ntags: [secret]\naliases: [Garden]\n---\n# Diary\n\nAbout [[garden]] and "
    "zanzibar.\n\n- [ ] Call the zanzibar bank due: 2026-11-16\n\n"
    "## Timeline\n- 2026-04-05 — Moved to zanzibar\n",
    "private/pond-copy": "# Pond\n\nFish and water lilies. See [[garden]] of zanzibar.\n",
}
LIMITS = {"prefix": Scope(slug_prefix="shared/"), "wing": Scope(wing="shared")}


def fill(path: Path, pages: dict[str, str]) -> None:
    with Brain.open(path, make=True) as brain:
        for slug, text in pages.items():
            wing = slug.partition("/")[0]
            text = text if text.startswith("---\n") else f"---\n---\n{text}"
            brain.put(slug, text.replace("---\n", f"---\nwing: {wing}\n", 1).encode())
        brain.embed()


@pytest.fixture(params=list(LIMITS))
def limits(request: pytest.FixtureRequest) -> Scope:
    return LIMITS[request.param]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a brain with all pages and their vectors, made once."""
    path = tmp_path_factory.mktemp("limited") / "brain.db"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GBRAIN_NOW", NOON)
        fill(path, SHARED | PRIVATE)
    return path


@pytest.fixture
def limited(built: Path, brain_path: Path, limits: Scope) -> Iterator[LimitedBrain]:
    shutil.copy(built, brain_path)
    with LimitedBrain.open_within(brain_path, limits, read_only=False) as brain:
        yield brain


def everything_readable(brain: Brain) -> str:
    """Return the results of all methods that read, as one text; times are left out."""
    questions = ["garden", "zanzibar", "zanzibur", "water OR zanzibar", "what happened in April"]
    answers = [
        {
            **answer_document(answer_query(brain, text, {"mode": mode, "depth": "auto"})),
            "took_ms": 0,
        }
        for text in questions
        for mode in ("bm25", "hybrid")
    ]
    hints = answer_query(brain, "x", {"wing": "privat", "tag": ["secrets"]}).notice
    values: list[object] = [
        answers,
        hints,
        [page.slug for page in brain.list()[0]],
        brain.links("shared/garden"),
        brain.backlinks("shared/garden"),
        brain.graph().pages,
        brain.tags(),
        brain.timeline(),
        brain.tasks(),
        [page.slug for page in brain.agenda().written],
        brain.agenda().due,
        brain.similar_slugs("private/diar"),
        brain.near_duplicate("shared/pond"),
        brain.provenance("shared/garden"),
        brain.gaps(),
        [wing.name for wing in brain.stats().wings],
        brain.stats().pages,
        brain.stats().versions,
        brain.stats().tags,
        brain.backlog(),
    ]
    return json.dumps(values, default=str)


def test_it_answers_as_if_there_were_no_other_pages(limited: LimitedBrain, tmp_path: Path) -> None:
    fill(tmp_path / "alone.db", SHARED)
    with Brain.open(tmp_path / "alone.db") as alone:
        assert everything_readable(limited) == everything_readable(alone)


def test_the_whole_brain_does_answer_with_them(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        assert "zanzibar" in everything_readable(whole)


@pytest.mark.parametrize("name", ["private/diary", "Diary", "private/none"])
def test_a_page_outside_is_not_found(limited: LimitedBrain, name: str) -> None:
    for read in (limited.get, limited.text, limited.history, limited.links, limited.backlinks):
        with pytest.raises(NotFound) as caught:
            read(name)
        assert "diary" not in caught.value.hint
        assert "private" not in caught.value.hint


def test_a_name_means_only_pages_within(limited: LimitedBrain) -> None:
    # In the whole brain the name has two pages, and the error lists both.
    assert limited.get("Garden").slug == "shared/garden"


def test_changes_of_the_brain_are_seen(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        whole.put("shared/new", b"---\nwing: shared\n---\n# New page\n\nabout quokkas\n")
        whole.put("shared/pond", b"---\nwing: private\n---\n# Pond\n")
        whole.rename("shared/garden", "private/garden")
        limited.reload_settings()
        slugs = [page.slug for page in limited.list()[0]]
        assert slugs in (
            ["shared/new"],
            ["shared/new", "shared/pond"],
            ["private/garden", "shared/new"],
        )
        assert [hit.slug for hit in limited.search("quokkas").hits] == ["shared/new"]
        whole.delete("shared/new")
    limited.reload_settings()
    assert not limited.search("quokkas").hits
    assert limited.history("shared/new")[-1].ending == "deleted"


def test_versions_from_outside_are_hidden(brain_path: Path, limits: Scope) -> None:
    with Brain.open(brain_path, make=True) as whole:
        whole.put("private/plan", b"---\nwing: private\n---\n# Plan\n\nzanzibar\n")
        whole.put("private/plan", b"---\nwing: shared\n---\n# Plan\n\nopen\n")
        whole.rename("private/plan", "shared/plan")
    with LimitedBrain.open_within(brain_path, limits, read_only=False) as limited:
        versions = limited.history("shared/plan")
        assert versions
        texts = [limited.text("shared/plan", version.version) for version in versions]
        assert not any("zanzibar" in text for text in texts)
        with pytest.raises(NotFound):
            limited.text("shared/plan", 1)


def test_a_deleted_page_outside_leaves_no_trace(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        whole.delete("private/diary")
    limited.reload_settings()
    for read in (limited.history, limited.get):
        with pytest.raises(NotFound, match="There is no page"):
            read("private/diary")
    assert limited.stats().versions == 0


# --- writing -----------------------------------------------------------------------------------


def test_pages_within_can_be_written(limited: LimitedBrain, brain_path: Path) -> None:
    wing = "---\nwing: shared\n---\n"
    written = limited.put("shared/hedge", f"{wing}# Hedge\n".encode(), expected_version=0)
    assert (written.outcome, written.version) == ("created", 1)
    assert limited.get("hedge").version == 1
    limited.add_to_timeline("Hedge", "Cut it", date="2026-05-01")
    limited.capture("Ask about birds", name="hedge")
    limited.put("shared/hedge", f"{wing}# Hedge\n\n- [ ] Feed the birds\n".encode())
    (task,) = limited.tasks("hedge")
    limited.finish_task(task.number)
    assert limited.undo("hedge").outcome == "updated"
    assert limited.delete("hedge").outcome == "deleted"
    assert limited.undo("shared/hedge").outcome == "undeleted"
    with Brain.open(brain_path) as whole:
        assert whole.get("shared/hedge").version == limited.get("shared/hedge").version


def writes(brain: LimitedBrain, slug: str) -> Iterator[object]:
    yield lambda: brain.put(slug, b"---\nwing: private\n---\n# x\n")
    yield lambda: brain.put(slug, b"# x\n", expected_version=7)
    yield lambda: brain.delete(slug)
    yield lambda: brain.add_to_timeline(slug, "x")
    yield lambda: brain.capture("x", name=slug)
    yield lambda: brain.capture("x")
    yield lambda: brain.undo(slug)
    yield lambda: brain.rename("shared/pond", "shared/pool")
    yield lambda: brain.supersede("shared/pond", "shared/garden")


def test_nothing_outside_can_be_written(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        before = [(page.slug, page.sha256) for page in whole.list()[0]]
    seen: dict[str, list[tuple[str, str]]] = {}
    for slug in ("private/diary", "private/other"):
        for write in writes(limited, slug):
            with pytest.raises(GbrainError) as caught:
                write()  # type: ignore[operator]
            message = caught.value.message.replace(slug, "SLUG")
            seen.setdefault(slug, []).append((caught.value.code, message))
    with Brain.open(brain_path) as whole:
        assert [(page.slug, page.sha256) for page in whole.list()[0]] == before
    # The errors do not tell whether there is such a page.
    assert seen["private/diary"] == seen["private/other"]


def test_a_page_cannot_leave_the_limits(brain_path: Path) -> None:
    fill(brain_path, SHARED)
    with LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited:
        with pytest.raises(GbrainError) as caught:
            limited.put("shared/pond", b"---\nwing: private\n---\n# Pond\n")
        assert caught.value.code == "forbidden"
        assert limited.get("shared/pond").version == 1


def test_a_task_outside_cannot_be_ticked(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        hidden = [task for task in whole.tasks() if task.slug == "private/diary"]
    assert hidden
    with pytest.raises(NotFound):
        limited.finish_task(hidden[0].number)


def test_undo_does_not_go_back_outside(brain_path: Path, limits: Scope) -> None:
    with Brain.open(brain_path, make=True) as whole:
        whole.put("private/plan", b"---\nwing: private\n---\n# Plan\n\nzanzibar\n")
        whole.put("private/plan", b"---\nwing: shared\n---\n# Plan\n")
        whole.rename("private/plan", "shared/plan")
    with LimitedBrain.open_within(brain_path, limits, read_only=False) as limited:
        errors = []
        for _ in range(3):
            try:
                limited.undo("shared/plan")
            except GbrainError as error:
                errors.append(error.full_message)
        assert errors
        assert not any("private" in message for message in errors)
        assert all("zanzibar" not in limited.text(page.slug) for page in limited.list()[0])
    with Brain.open(brain_path) as whole:
        (page,) = whole.list()[0]
        assert "zanzibar" not in whole.text(page.slug)


def test_the_copy_is_private_and_removed(limited: LimitedBrain) -> None:
    (folder,) = (cache_folder() / "limited").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "brain.db").stat().st_mode & 0o777 == 0o600
    limited.close()
    assert not folder.exists()


def test_a_read_only_brain_refuses_writes(brain_path: Path, limits: Scope) -> None:
    fill(brain_path, SHARED | PRIVATE)
    with LimitedBrain.open_within(brain_path, limits, read_only=True) as limited:
        assert limited.search("roses").hits
        with pytest.raises(GbrainError):
            limited.put("shared/x", b"---\nwing: shared\n---\n# x\n")
