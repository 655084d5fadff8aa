"""A brain within limits: other pages cannot be read, written, counted or guessed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.ask import answer_query
from gbrain.brain import Brain
from gbrain.errors import Conflict, GbrainError, NotFound
from gbrain.limited import LimitedBrain
from gbrain.output.json import answer_document
from gbrain.paths import cache_folder
from gbrain.store import limits as store
from gbrain.store.limits import guard_limits
from gbrain.text.page import parse_page
from gbrain.text.slug import slug_from_path
from gbrain.types import Scope

NOON = "2026-11-16T12:00:00"
# The private pages share words, links, tags, tasks, dates and almost their whole text with the
# shared ones; only they contain "zanzibar".
SHARED = {
    "projects/garden": "---\ntags: [green]\n---\n# Garden\n\nSee [[private/diary]] and "
    "[[pond]].\n\n- [ ] Water the roses due: 2026-11-16\n\n"
    "## Timeline\n- 2026-04-03 — Planted roses\n",
    "projects/pond": "# Pond\n\nFish and water lilies. See [[garden]].\n",
}
PRIVATE = {
    "private/diary": "---\ntags: [secret]\naliases: [Garden]\n---\n# Diary\n\nAbout [[garden]] and "
    "zanzibar.\n\n- [ ] Call the zanzibar bank due: 2026-11-16\n\n"
    "## Timeline\n- 2026-04-05 — Moved to zanzibar\n",
    "private/pond-copy": "# Pond\n\nFish and water lilies. See [[garden]] of zanzibar.\n",
}
LIMITS = {"prefix": Scope(slug_prefix="projects/"), "wing": Scope(wing="projects")}


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
        brain.links("projects/garden"),
        brain.backlinks("projects/garden"),
        brain.graph().pages,
        brain.tags(),
        brain.timeline(),
        brain.tasks(),
        [page.slug for page in brain.agenda().written],
        brain.agenda().due,
        brain.similar_slugs("private/diar"),
        brain.near_duplicate("projects/pond"),
        brain.provenance("projects/garden"),
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
    assert limited.get("Garden").slug == "projects/garden"


def test_changes_of_the_brain_are_seen(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        whole.put("projects/new", b"---\nwing: projects\n---\n# New page\n\nabout quokkas\n")
        whole.put("projects/pond", b"---\nwing: private\n---\n# Pond\n")
        whole.rename("projects/garden", "private/garden")
        limited.reload_settings()
        slugs = [page.slug for page in limited.list()[0]]
        assert slugs in (
            ["projects/new"],
            ["projects/new", "projects/pond"],
            ["private/garden", "projects/new"],
        )
        assert [hit.slug for hit in limited.search("quokkas").hits] == ["projects/new"]
        whole.delete("projects/new")
    limited.reload_settings()
    assert not limited.search("quokkas").hits
    assert limited.history("projects/new")[-1].ending == "deleted"


def test_versions_from_outside_are_hidden(brain_path: Path, limits: Scope) -> None:
    with Brain.open(brain_path, make=True) as whole:
        whole.put("private/plan", b"---\nwing: private\n---\n# Plan\n\nzanzibar\n")
        whole.put("private/plan", b"---\nwing: projects\n---\n# Plan\n\nopen\n")
        whole.rename("private/plan", "projects/plan")
    with LimitedBrain.open_within(brain_path, limits, read_only=False) as limited:
        versions = limited.history("projects/plan")
        assert versions
        texts = [limited.text("projects/plan", version.version) for version in versions]
        assert not any("zanzibar" in text for text in texts)
        # Their numbers do not tell that there was a version before.
        assert [version.version for version in versions] == list(range(1, len(versions) + 1))
        assert limited.get("projects/plan").version == len(versions)
        assert limited.get("projects/plan").created_at == versions[0].written_at


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
    wing = "---\nwing: projects\n---\n"
    written = limited.put("projects/hedge", f"{wing}# Hedge\n".encode(), expected_version=0)
    assert (written.outcome, written.version) == ("created", 1)
    assert limited.get("hedge").version == 1
    limited.add_to_timeline("Hedge", "Cut it", date="2026-05-01")
    limited.capture("Ask about birds", name="hedge")
    limited.put("projects/hedge", f"{wing}# Hedge\n\n- [ ] Feed the birds\n".encode())
    (task,) = limited.tasks("hedge")
    limited.finish_task(task.number)
    assert limited.undo("hedge").outcome == "updated"
    assert limited.delete("hedge").outcome == "deleted"
    assert limited.undo("projects/hedge").outcome == "undeleted"
    with Brain.open(brain_path) as whole:
        assert whole.get("projects/hedge").version == limited.get("projects/hedge").version


def writes(brain: LimitedBrain, slug: str) -> Iterator[object]:
    yield lambda: brain.put(slug, b"---\nwing: private\n---\n# x\n")
    yield lambda: brain.put(slug, b"# x\n", expected_version=7)
    yield lambda: brain.delete(slug)
    yield lambda: brain.add_to_timeline(slug, "x")
    yield lambda: brain.capture("x", name=slug)
    yield lambda: brain.capture("x")
    yield lambda: brain.undo(slug)
    yield lambda: brain.rename("projects/pond", "projects/pool")
    yield lambda: brain.supersede("projects/pond", "projects/garden")


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


# --- where pages can be created ----------------------------------------------------------------

OWN = b"---\nwing: projects\n---\n# Mine\n"
BOTH = Scope(wing="projects", slug_prefix="projects/alpha")


def refusal(brain: LimitedBrain, slug: str) -> tuple[str, str]:
    """Return the error for a page that names the wing of the limits, without the slug in it."""
    with pytest.raises(GbrainError) as caught:
        brain.put(slug, OWN)
    return caught.value.code, caught.value.full_message.replace(slug, "SLUG")


@pytest.mark.parametrize(
    ("limits", "slugs"),
    [
        (LIMITS["wing"], ("2026-11-20", "inbox", "projects", "journal/x", "private/diary")),
        (LIMITS["prefix"], ("2026-11-20", "inbox", "projects", "projects2/x", "private/diary")),
        (BOTH, ("projects/beta", "projectss/alpha", "inbox", "private/diary")),
    ],
)
def test_a_name_elsewhere_cannot_be_claimed(
    brain_path: Path, limits: Scope, slugs: tuple[str, ...]
) -> None:
    fill(brain_path, SHARED | PRIVATE)
    with LimitedBrain.open_within(brain_path, limits, read_only=False) as limited:
        (answer,) = {refusal(limited, slug) for slug in slugs}
        assert answer[0] == "forbidden"
        assert limited.put("Projects/Alpha plan.md", OWN).slug == "projects/alpha-plan"


FOLDERS = st.sampled_from(
    ["projects", "PROJECT", "CİTY", "city", "cıty", "booKs", "diaries", "Team"]
).flatmap(
    lambda name: st.lists(
        st.sampled_from([*name, " ", "-", "_", "'", "’", "1", ".", "\u200b", "\u0301", "ﬀ", "+"]),
        max_size=3,
    ).map(lambda more: "".join((*more[:1], name, *more[1:])))
)


@given(FOLDERS, st.sampled_from(["projects", "places", "resources", "journal", "people"]))
def test_a_folder_that_may_be_created_in_gives_its_wing(folder: str, wing: str) -> None:
    path = f"{folder}/2026-11-20.md"
    if store.may_create(Scope(wing=wing), slug_from_path(path)):
        assert parse_page(path, b"# Diary\n").wing == wing
    assert store.may_create(Scope(wing="projects"), "01-projects/x")
    assert not store.may_create(Scope(wing="places"), slug_from_path("CİTY/x.md"))


@pytest.mark.parametrize("slug", ["2026-11-20", "inbox", "notes/x"])
def test_the_guard_refuses_a_claimed_name_from_any_code(brain_path: Path, slug: str) -> None:
    fill(brain_path, SHARED)
    with Brain(guard_limits(brain_path, LIMITS["wing"])) as guarded:
        for write in (
            lambda: guarded.put(slug, OWN),
            lambda: guarded.rename("projects/pond", slug),
            lambda: guarded.delete("private/diary"),
        ):
            with pytest.raises(GbrainError):
                write()
        assert [page.slug for page in guarded.list()[0]] == list(SHARED)
        assert guarded.rename("projects/pond", "projects/pool").slug == "projects/pool"


@pytest.mark.parametrize("slug", ["2026-11-20", "inbox", "notes/plan"])
@pytest.mark.parametrize("order", ["file first", "token first"])
def test_a_note_of_the_owner_stays_hidden(
    brain_path: Path, tmp_path: Path, limits: Scope, slug: str, order: str
) -> None:
    folder = tmp_path / "notes"
    file = folder / f"{slug}.md"
    file.parent.mkdir(parents=True)
    (folder / "start.md").write_text("# Start\n")
    fill(brain_path, SHARED)
    with (
        Brain.open(brain_path) as whole,
        LimitedBrain.open_within(brain_path, limits, read_only=False) as limited,
    ):
        whole.allow_writing(folder)
        whole.import_folder(folder)
        if order == "file first":
            file.write_text("# Today\n\nzanzibar\n")
        refusal(limited, slug)
        file.write_text("# Today\n\nzanzibar\n")
        whole.import_folder(folder)
        whole.capture("zanzibar again", name=slug)
        limited.reload_settings()
        assert slug not in {page.slug for page in limited.list()[0]}
        assert not limited.search("zanzibar").hits
        assert "wing" not in whole.text(slug)


def test_an_unseen_file_of_another_wing_keeps_its_text(brain_path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    file = folder / "projects" / "salary.md"
    file.parent.mkdir(parents=True)
    (folder / "start.md").write_text("# Start\n")
    secret = "---\nwing: private\n---\n# Salary\n\nzanzibar\n"
    with (
        Brain.open(brain_path, make=True) as whole,
        LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited,
    ):
        whole.allow_writing(folder)
        whole.import_folder(folder)
        file.write_text(secret)
        written = limited.put("projects/salary", OWN)
        assert (written.version, written.file) == (1, None)
        assert limited.text("projects/salary") == OWN.decode()
        assert file.read_text() == secret
        whole.import_folder(folder)
        assert file.read_text() == whole.text("projects/salary") == secret
        assert [conflict.slug for conflict in whole.conflicts()] == ["projects/salary"]
        limited.reload_settings()
        assert not limited.search("zanzibar").hits
        for read in (limited.get, limited.history):
            with pytest.raises(NotFound, match="There is no page"):
                read("projects/salary")


def test_a_hidden_page_between_them_closes_the_wing_for_new_ones(brain_path: Path) -> None:
    fill(brain_path, SHARED)
    with (
        Brain.open(brain_path) as whole,
        LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited,
    ):
        assert limited.put("projects/before", OWN).outcome == "created"
        whole.put("01-projects/secret", b"---\nwing: private\n---\n# Secret\n")
        # Only this page cannot be created; but then its name could be guessed.
        answers = {refusal(limited, slug) for slug in ("01-projects/secret", "projects/other")}
        assert len(answers) == 1
        assert limited.put("projects/before", OWN + b"more\n").outcome == "updated"
        whole.delete("01-projects/secret")
        assert limited.put("01-projects/secret", OWN).version == 1


def test_a_deleted_page_returns_only_where_it_could_be_created(brain_path: Path) -> None:
    fill(brain_path, SHARED)
    with Brain.open(brain_path) as whole:
        whole.put("notes/plan", OWN)
    with LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited:
        assert limited.delete("notes/plan").outcome == "deleted"
        with pytest.raises(GbrainError) as caught:
            limited.undo("notes/plan")
        assert caught.value.code == "forbidden"
        assert limited.delete("projects/pond").outcome == "deleted"
        assert limited.undo("projects/pond").outcome == "undeleted"


# --- versions ----------------------------------------------------------------------------------


def state(brain: LimitedBrain, slug: str) -> list[tuple[int, str, str | None, str]]:
    """Return the number, slug, ending and text of each version of a page."""
    return [
        (each.version, each.slug, each.ending, brain.text(slug, each.version))
        for each in brain.history(slug)
    ]


def test_numbers_skip_what_is_hidden(brain_path: Path) -> None:
    limits = Scope(wing="projects", slug_prefix="projects/")
    hidden, shown = (f"---\nwing: {wing}\n---\n# Plan\n" for wing in ("private", "projects"))
    with (
        Brain.open(brain_path, make=True) as whole,
        LimitedBrain.open_within(brain_path, limits, read_only=False) as limited,
    ):
        whole.put("private/plan", hidden.encode())
        whole.put("private/plan", f"{hidden}zanzibar\n".encode())
        whole.rename("private/plan", "projects/plan")
        whole.put("projects/plan", shown.encode())
        whole.put("projects/plan", f"{shown}two\n".encode())
        limited.reload_settings()
        assert state(limited, "projects/plan") == [
            (1, "projects/plan", "replaced", shown),
            (2, "projects/plan", None, f"{shown}two\n"),
        ]
        page = limited.get("projects/plan")
        assert page.created_at == limited.history("projects/plan")[0].written_at
        with pytest.raises(GbrainError) as caught:
            limited.put("projects/plan", OWN, expected_version=whole.get("projects/plan").version)
        assert "is at version 2," in caught.value.message
        assert limited.put("projects/plan", OWN, expected_version=2).version == 3
        assert limited.get("projects/plan").version == 3
        assert limited.undo("projects/plan").version == 4
        assert limited.undo("projects/plan").version == 5
        assert limited.text("projects/plan") == shown
        with pytest.raises(NotFound, match="no earlier text"):
            limited.undo("projects/plan")
        assert limited.undo("projects/plan", redo=True).version == 6
        assert limited.text("projects/plan") == f"{shown}two\n"
        assert limited.add_to_timeline("plan", "x", expected_version=6).version == 7
        assert limited.delete("projects/plan", expected_version=7).version == 7


def test_a_slug_that_was_of_a_hidden_page_starts_at_one(brain_path: Path) -> None:
    fill(brain_path, SHARED)
    with Brain.open(brain_path) as whole:
        for _ in range(2):
            whole.put("projects/plan", b"---\nwing: private\n---\n# Secret\n")
            whole.put("projects/plan", b"---\nwing: private\n---\n# Secret\n\nzanzibar\n")
            whole.delete("projects/plan")
    with LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited:
        assert limited.put("projects/plan", OWN, expected_version=0).version == 1
        assert limited.put("projects/plan", OWN + b"two\n").version == 2
        assert [row[0] for row in state(limited, "projects/plan")] == [1, 2]
        assert limited.undo("projects/plan").version == 3
        with pytest.raises(NotFound, match="no earlier text"):
            limited.undo("projects/plan")


def test_a_deleted_page_looks_the_same_after_a_hidden_one_took_its_slug(brain_path: Path) -> None:
    fill(brain_path, SHARED)
    with (
        Brain.open(brain_path) as whole,
        LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited,
    ):
        limited.put("projects/plan", OWN)
        limited.delete("projects/plan")
        before = state(limited, "projects/plan")
        assert before
        whole.put("projects/plan", b"---\nwing: private\n---\n# Secret\n")
        limited.reload_settings()
        assert state(limited, "projects/plan") == before
        whole.delete("projects/plan")
        whole.put("projects/plan", OWN + b"again\n")
        limited.reload_settings()
        assert [row[0] for row in state(limited, "projects/plan")] == [1, 2]


def test_a_page_that_leaves_takes_its_history_along(brain_path: Path, limits: Scope) -> None:
    fill(brain_path, SHARED)
    with (
        Brain.open(brain_path) as whole,
        LimitedBrain.open_within(brain_path, limits, read_only=False) as limited,
    ):
        whole.put("projects/pond", b"---\nwing: private\n---\n# Pond\n")
        whole.rename("projects/pond", "private/pond")
        limited.reload_settings()
        with pytest.raises(NotFound, match="There is no page"):
            limited.history("projects/pond")
        # When it returns, nothing tells that it is the same page. A number that somebody may have
        # seen means no other text.
        whole.rename("private/pond", "projects/pond")
        whole.put("projects/pond", OWN)
        limited.reload_settings()
        assert [row[0] for row in state(limited, "projects/pond")][-1:] == [
            limited.get("projects/pond").version
        ]
        assert limited.get("projects/pond").version > 1
        assert "Fish" not in str(state(limited, "projects/pond"))
        whole.put("projects/pond", b"---\nwing: private\n---\n# Pond\n")
        whole.rename("projects/pond", "private/pond")
        whole.delete("private/pond")
        limited.reload_settings()
        with pytest.raises(NotFound, match="There is no page"):
            limited.history("projects/pond")


def test_a_failed_update_of_the_copy_is_made_again(
    brain_path: Path, limits: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(brain_path, SHARED)
    with (
        Brain.open(brain_path) as whole,
        LimitedBrain.open_within(brain_path, limits, read_only=False) as limited,
    ):
        whole.put("projects/pond", OWN)
        whole.delete("projects/garden")
        with monkeypatch.context() as patch:
            patch.setattr(store, "_copy_model", lambda *arguments: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                limited.reload_settings()
        limited.reload_settings()
        assert [page.slug for page in limited.list()[0]] == ["projects/pond"]
        assert limited.get("projects/pond").version == 2
        assert limited.history("projects/garden")[-1].ending == "deleted"


def test_an_ambiguous_name_counts_only_visible_pages(brain_path: Path, limits: Scope) -> None:
    fill(brain_path, SHARED)
    with (
        Brain.open(brain_path) as whole,
        LimitedBrain.open_within(brain_path, limits, read_only=False) as limited,
    ):
        for slug in ("private/a", "private/b"):
            whole.put(slug, b"---\nwing: private\naliases: [Pond, Two]\n---\n# Two\n")
        assert limited.put("Pond", OWN).slug == "projects/pond"
        assert refusal(limited, "Two")[0] == "forbidden"


# --- limits that pages could leave -------------------------------------------------------------


def test_a_page_cannot_leave_the_limits(brain_path: Path) -> None:
    fill(brain_path, SHARED)
    with LimitedBrain.open_within(brain_path, LIMITS["wing"], read_only=False) as limited:
        with pytest.raises(GbrainError) as caught:
            limited.put("projects/pond", b"---\nwing: private\n---\n# Pond\n")
        assert caught.value.code == "forbidden"
        assert limited.get("projects/pond").version == 1


def test_a_task_outside_cannot_be_ticked(limited: LimitedBrain, brain_path: Path) -> None:
    with Brain.open(brain_path) as whole:
        hidden = [task for task in whole.tasks() if task.slug == "private/diary"]
    assert hidden
    with pytest.raises(NotFound):
        limited.finish_task(hidden[0].number)


def test_undo_does_not_go_back_outside(brain_path: Path, limits: Scope) -> None:
    with Brain.open(brain_path, make=True) as whole:
        whole.put("private/plan", b"---\nwing: private\n---\n# Plan\n\nzanzibar\n")
        whole.put("private/plan", b"---\nwing: projects\n---\n# Plan\n")
        whole.rename("private/plan", "projects/plan")
    with LimitedBrain.open_within(brain_path, limits, read_only=False) as limited:
        errors = []
        for _ in range(3):
            try:
                limited.undo("projects/plan")
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
            limited.put("projects/x", b"---\nwing: projects\n---\n# x\n")


# --- what a token's page is called -----------------------------------------------------------


@pytest.fixture
def planted(limited: LimitedBrain, brain_path: Path) -> Iterator[Brain]:
    """Return the owner's brain, in which a token gave its page names that the owner may use."""
    names = "[todo, 2026-11-21, Bob Stone, private/new]"
    limited.put("projects/catch", f"---\naliases: {names}\n---\n# Groceries\n".encode())
    with Brain.open(brain_path) as brain:
        yield brain


@pytest.mark.parametrize("name", ["todo", "2026-11-21", "private/new"])
def test_a_name_that_a_token_gave_catches_nothing_of_the_owner(planted: Brain, name: str) -> None:
    assert planted.capture("secret", name=name).slug == name
    assert planted.put(name, b"# Secret\n").slug == name
    assert "secret" not in planted.text("projects/catch").casefold()


def test_a_title_that_a_token_gave_is_not_written_to_by_the_owner(planted: Brain) -> None:
    for write in (
        lambda: planted.capture("secret", name="Bob Stone"),
        lambda: planted.put("Bob Stone", b"# Secret\n"),
        lambda: planted.add_to_timeline("Groceries", "secret"),
    ):
        with pytest.raises(Conflict, match="a limited token has written"):
            write()
    assert planted.capture("for all", name="projects/catch").slug == "projects/catch"
    assert planted.add_to_timeline("Diary", "secret").slug == "private/diary"


def test_links_that_a_token_wrote_learn_no_new_names(
    limited: LimitedBrain, brain_path: Path
) -> None:
    limited.put("projects/links", b"# L\n\n[[private/diary]] [[diary]]\n")
    with Brain.open(brain_path) as brain:
        brain.rename("private/diary", "private/merger")
        brain.update_links()
        assert brain.text("projects/links") == "# L\n\n[[private/diary]] [[diary]]\n"
        assert "[[private/diary]]" not in brain.text("projects/garden")
