"""Pages written, renamed, deleted: history is kept and the keyword index always agrees."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gbrain.brain import Brain
from gbrain.errors import Conflict, GbrainError, NotFound
from gbrain.importing.import_report import ImportReport
from gbrain.store import history as store_history
from gbrain.store.connection import Database
from gbrain.store.page_writer import WriteResult


def check_index(database: Database) -> None:
    """Raises if the keyword index does not hold exactly what pages and chunks contain."""
    with database.write_transaction() as connection:
        for table in ("pages_fts", "chunks_fts"):
            connection.execute(f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")


def history(brain: Brain, slug: str) -> list[tuple[int, str, str | None]]:
    with brain.database.read_transaction() as connection:
        return [
            (v.version, v.slug, v.ending) for v in store_history.list_versions(connection, slug)
        ]


def test_a_page_comes_back_byte_for_byte(brain: Brain) -> None:
    text = "\ufeff---\r\ntitle:   'x'  # why\r\n---\r\nbody \t\r\n\r\n---\r\n- 2026 — y"
    assert brain.put("a", text.encode()).outcome == "created"
    assert brain.text("a").encode() == text.encode()


def test_the_same_bytes_again_change_nothing(brain: Brain) -> None:
    brain.put("a", b"# A\n")
    before = brain.get("a")
    assert brain.put("a", b"# A\n") == WriteResult("a", 1, "unchanged")
    assert brain.get("a") == before
    assert history(brain, "a") == [(1, "a", None)]


def test_every_write_keeps_the_text_before(brain: Brain) -> None:
    for text in (b"one", b"two", b"three"):
        brain.put("a", text)
    assert history(brain, "a") == [(1, "a", "replaced"), (2, "a", "replaced"), (3, "a", None)]
    assert [brain.text("a", version) for version in (1, 2, 3)] == ["one", "two", "three"]


def test_a_version_that_never_was_is_named_with_those_that_are(brain: Brain) -> None:
    brain.put("a", b"one")
    brain.put("a", b"two")
    with pytest.raises(NotFound, match="a has no version 7") as caught:
        brain.text("a", 7)
    assert caught.value.hint == "Its versions are 1, 2."


@pytest.mark.parametrize("expected", [0, 1, 3])
def test_an_expected_version_refuses_and_names_the_one_there(brain: Brain, expected: int) -> None:
    brain.put("a", b"one")
    brain.put("a", b"two")
    for write in (
        lambda: brain.put("a", b"mine", expected_version=expected),
        lambda: brain.delete("a", expected_version=expected),
    ):
        with pytest.raises(Conflict, match=f"a is at version 2, not at version {expected}"):
            write()
    assert brain.text("a") == "two"


def test_an_expected_version_lets_the_right_one_through(brain: Brain) -> None:
    assert brain.put("a", b"one", expected_version=0).version == 1
    assert brain.put("a", b"two", expected_version=1).version == 2
    assert brain.delete("a", expected_version=2).version == 2
    with pytest.raises(Conflict, match="a does not exist, so it is not at version 2"):
        brain.put("a", b"three", expected_version=2)


def test_a_deleted_page_keeps_its_history_and_counts_on(brain: Brain) -> None:
    brain.put("a", b"one")
    brain.put("a", b"two")
    brain.delete("a")
    with pytest.raises(NotFound):
        brain.get("a")
    assert history(brain, "a") == [(1, "a", "replaced"), (2, "a", "deleted")]
    assert brain.text("a", 2) == "two"
    assert brain.put("a", b"three").version == 3
    assert history(brain, "a")[-1] == (3, "a", None)
    assert brain.text("a", 1) == "one"


def test_a_rename_keeps_the_history(brain: Brain) -> None:
    brain.put("a", b"one")
    brain.put("a", b"two")
    assert brain.rename("a", "b").version == 3
    assert history(brain, "b") == [(1, "a", "replaced"), (2, "a", "renamed"), (3, "b", None)]
    assert [brain.text("b", version) for version in (1, 2, 3)] == ["one", "two", "two"]
    with pytest.raises(NotFound):
        brain.get("a")


def test_a_renamed_page_keeps_its_history_when_it_is_deleted(brain: Brain) -> None:
    brain.put("a", b"one")
    brain.rename("a", "b")
    brain.delete("b")
    assert history(brain, "b") == [(1, "a", "renamed"), (2, "b", "deleted")]
    assert brain.text("b", 1) == "one"


def test_a_version_of_a_deleted_page_is_never_another_page(brain: Brain) -> None:
    brain.put("a", b"first page")
    brain.put("a", b"first page, changed")
    brain.delete("a")
    brain.put("b", b"second page")
    assert brain.rename("b", "a").version == 3
    assert [brain.text("a", version) for version in (1, 2, 3)] == [
        "first page",
        "first page, changed",
        "second page",
    ]
    assert history(brain, "a") == [(1, "a", "replaced"), (2, "a", "deleted"), (3, "a", None)]
    assert brain.page("a", 1)[0].id != brain.page("a", 3)[0].id
    # The renamed page has its own first version under its former name.
    assert brain.text("b", 1) == "second page"
    brain.delete("a")
    brain.put("c", b"third page")
    brain.rename("c", "a")
    assert [brain.text("a", version) for version in (1, 2, 3, 4)] == [
        "first page",
        "first page, changed",
        "second page",
        "third page",
    ]


def test_a_version_of_a_renamed_page_keeps_its_number(brain: Brain) -> None:
    brain.put("a", b"first page")
    brain.rename("a", "b")
    assert brain.put("a", b"second page").version == 2
    assert history(brain, "a") == [(1, "a", "renamed"), (2, "a", None)]
    assert [brain.text("a", version) for version in (1, 2)] == ["first page", "second page"]
    assert brain.text("b", 1) == "first page"


def test_a_name_used_again_never_counts_a_version_twice(brain: Brain) -> None:
    brain.put("a", b"first page")
    brain.rename("a", "b")
    brain.put("a", b"second page")
    brain.delete("a")
    brain.rename("b", "a")
    numbers = [version for version, _, _ in history(brain, "a")]
    assert len(numbers) == len(set(numbers))


def test_a_rename_never_replaces_another_page(brain: Brain) -> None:
    brain.put("a", b"one")
    brain.put("b", b"two")
    with pytest.raises(Conflict) as caught:
        brain.rename("a", "B")
    assert caught.value.code == "slug_collision"
    assert (brain.text("a"), brain.text("b")) == ("one", "two")


def test_a_rename_to_the_same_name_changes_nothing(brain: Brain) -> None:
    brain.put("a", b"one")
    assert brain.rename("a", "a") == WriteResult("a", 1, "unchanged")


def test_a_missing_page_is_answered_with_the_nearest_names(brain: Brain) -> None:
    brain.put("people/alice-chen", b"# Alice\n")
    with pytest.raises(NotFound, match="There is no page people/alice-chan") as caught:
        brain.get("people/alice-chan")
    assert caught.value.hint == "Did you mean people/alice-chen?"


def test_a_part_of_a_name_is_answered_with_the_names_that_have_it(brain: Brain) -> None:
    for slug in ("people/mira-lindqvist", "notes/letter-to-mira-lindqvist", "people/mina-wu"):
        brain.put(slug, b"# Untitled\n")
    with pytest.raises(NotFound) as caught:
        brain.get("mira")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(
        "Did you mean people/mira-lindqvist or notes/letter-to-mira-lindqvist"
    )


def test_the_index_follows_a_new_title(brain: Brain) -> None:
    brain.put("a", b"# Ox\n\nwords\n")
    brain.put("a", b"# Cow\n\nwords\n")
    check_index(brain.database)
    assert not brain.search("ox").hits
    assert brain.search("cow").hits


def test_passages_that_stay_keep_their_number(brain: Brain) -> None:
    def numbers() -> dict[str, int]:
        with brain.database.read_transaction() as connection:
            return dict(connection.execute("SELECT text, id FROM chunks").fetchall())

    brain.put("a", b"# A\n\n## One\n\none\n\n## Two\n\ntwo\n")
    before = numbers()
    brain.put("a", b"# A\n\nnew first\n\n## One\n\nchanged\n\n## Two\n\ntwo\n")
    assert set(numbers()) == {"new first", "changed", "two"}
    assert numbers()["two"] == before["two"]
    check_index(brain.database)


NAMES = st.sampled_from(["a", "b", "dir/c", "Dir/C"])
TEXTS = st.lists(
    st.sampled_from(
        [
            "# Ox",
            "# Cow",
            "## Part",
            "the river runs",
            "the river runs",
            "words",
            "#tag",
            "- 2026 — x",
            "## Timeline",
            "[[b]]",
            "知识",
            "",
        ]
    ),
    max_size=6,
).map(lambda lines: "\n\n".join(lines).encode())


class AnyEdits(RuleBasedStateMachine):
    """Whatever is done to pages, the index agrees with them and the texts are those put in."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.vault = self.folder / "vault"
        self.vault.mkdir()
        self.brain = Brain.open(self.folder / "brain.db", make=True)
        self.texts: dict[str, bytes] = {}

    def teardown(self) -> None:
        self.brain.close()
        shutil.rmtree(self.folder)

    @rule(name=NAMES, text=TEXTS)
    def put(self, name: str, text: bytes) -> None:
        self.texts[self.brain.put(name, text).slug] = text

    @precondition(lambda self: self.texts)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        slug = data.draw(st.sampled_from(sorted(self.texts)))
        self.brain.delete(slug)
        del self.texts[slug]

    @precondition(lambda self: self.texts)
    @rule(data=st.data(), new=NAMES)
    def rename(self, data: st.DataObject, new: str) -> None:
        slug = data.draw(st.sampled_from(sorted(self.texts)))
        try:
            renamed = self.brain.rename(slug, new).slug
        except Conflict:
            assert new.lower() in self.texts
        else:
            self.texts[renamed] = self.texts.pop(slug)

    @rule(name=st.sampled_from(["a", "b", "d"]), text=TEXTS, overwrite=st.booleans())
    def import_folder(self, name: str, text: bytes, overwrite: bool) -> None:
        (self.vault / f"{name}.md").write_bytes(text)
        report = self.brain.import_folder(self.vault, overwrite=overwrite)
        assert not (overwrite and report.problems)
        self.follow(report)

    @rule(name=st.sampled_from(["a", "b", "d"]))
    def follow_a_vanished_file(self, name: str) -> None:
        (self.vault / f"{name}.md").unlink(missing_ok=True)
        try:
            report = self.brain.import_folder(self.vault, remove_missing=True)
        except GbrainError:
            assert not any(self.vault.iterdir())
            return
        self.follow(report)

    def follow(self, report: ImportReport) -> None:
        before = dict(self.texts)
        for change in report.changes:
            if change.action == "delete":
                del self.texts[change.slug]
                continue
            if change.old_slug is not None:
                del self.texts[change.old_slug]
            self.texts[change.slug] = (self.vault / change.path).read_bytes()
        for slug in report.merged:
            # Both texts changed. Each line of the page is from one of them.
            merged = self.brain.text(slug).encode()
            of_file = (self.vault / f"{slug}.md").read_bytes()
            assert {*merged.split(b"\n")} <= {
                *of_file.split(b"\n"),
                *before[slug].split(b"\n"),
                b"",
            }
            self.texts[slug] = merged
        for slug in report.conflicts:
            self.texts[slug] = (self.vault / f"{slug}.md").read_bytes()

    @invariant()
    def the_texts_are_those_put_in(self) -> None:
        assert {
            p.slug: self.brain.text(p.slug).encode() for p in self.brain.list()[0]
        } == self.texts

    @invariant()
    def the_index_agrees(self) -> None:
        check_index(self.brain.database)

    @invariant()
    def nothing_is_left_of_pages_that_went(self) -> None:
        with self.brain.database.read_transaction() as connection:
            for table in ("chunks", "names", "tags", "links"):
                left = f"SELECT count(*) FROM {table} WHERE page_id NOT IN (SELECT id FROM pages)"
                assert connection.execute(left).fetchone() == (0,)


TestAnyEdits = AnyEdits.TestCase
TestAnyEdits.settings = settings(
    max_examples=15,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
