"""Lines of JSON as pages: every form, every fault with its line, and nothing else disturbed."""

from __future__ import annotations

import json
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.brain import Brain, timestamp
from gbrain.errors import BadPage
from gbrain.importing import jsonl
from gbrain.importing.export import jsonl_lines
from gbrain.importing.import_report import ImportReport
from gbrain.importing.importer import import_jsonl
from gbrain.importing.jsonl import JsonlRecord, read_records
from gbrain.text.frontmatter import split_front_matter
from gbrain.text.slug import path_from_name

AWKWARD = Path(__file__).parents[2] / "fixtures" / "awkward"


def read(*lines: bytes) -> list[tuple[int, object]]:
    return [
        (number, found.message if isinstance(found, BadPage) else found)
        for number, found in read_records(BytesIO(b"\n".join(lines)))
    ]


def one(**said: object) -> object:
    return read(json.dumps(said).encode())[0][1]


def test_a_line_has_a_slug_and_a_text() -> None:
    assert one(slug="notes/a", text="# A\n") == JsonlRecord("notes/a", b"# A\n")
    assert one(path="Notes/A.md", slug="x", text="") == JsonlRecord("Notes/A.md", b"")
    assert one(slug="a", text="t", title="ignored", version=3) == JsonlRecord("a", b"t")


def test_a_line_may_have_metadata_and_a_body() -> None:
    assert one(title="First: one", tags=["a", "b c"], body="Text.\n", type=None) == JsonlRecord(
        "First: one", b'---\ntitle: "First: one"\ntags: ["a", "b c"]\n---\nText.\n'
    )
    assert one(slug="a", body="only\n") == JsonlRecord("a", b"only\n")


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1),
        st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"])) | st.integers(0, 9),
        max_size=5,
    ),
    st.text(st.characters(codec="utf-8", categories=["L", "N", "Zs"])),
)
def test_other_keys_become_front_matter(values: dict[str, object], body: str) -> None:
    values = {k: v for k, v in values.items() if k not in ("path", "slug", "body", "text")}
    record = one(**{"slug": "a", **values, "body": body})
    assert isinstance(record, JsonlRecord)
    front, rest = split_front_matter(record.data.decode())
    assert (dict(front.values), rest) == (values, body)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        (b"[1]", "not a JSON object"),
        (b'"text"', "not a JSON object"),
        (b'{"text": "x"}', "slug, path or title is missing or not a string"),
        (b'{"slug": 1, "text": "x"}', "slug, path or title is missing or not a string"),
        (b'{"slug": "a"}', "text or body is missing or not a string"),
        (b'{"slug": "a", "text": ["x"]}', "text or body is missing or not a string"),
        (b'{"slug": "a", "body": 1}', "text or body is missing or not a string"),
        (b'{"slug": "a", "weight": NaN, "body": ""}', "not JSON: NaN"),
        (
            b'{"slug": "a", "text": "\\ud800"}',
            "contains half of a surrogate pair, which is not a character",
        ),
        (b'{"slug": "caf\xe9"}', "not UTF-8"),
        (b"[" * 100_000, "not JSON: a number is too large or the nesting too deep"),
        (b'{"n": ' + b"1" * 5000 + b"}", "not JSON: a number is too large or the nesting too deep"),
    ],
    ids=range(13),
)
def test_an_invalid_line_is_reported_with_a_reason(line: bytes, reason: str) -> None:
    assert read(line) == [(1, reason)]


@pytest.mark.parametrize("length", [80, 100, 101, 120, 200, 350])
def test_a_line_that_is_too_long_does_not_hide_the_next(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(jsonl, "MAX_JSONL_LINE_BYTES", 100)
    good = b'{"slug": "a", "text": ""}'
    long = b'{"slug": "b", "text": "' + b"x" * length + b'"}'
    assert read(long, good) == [(1, "the line is too long"), (2, JsonlRecord("a", b""))]


def test_blank_lines_and_a_byte_order_mark_are_skipped() -> None:
    good = b'{"slug": "a", "text": ""}'
    assert [number for number, _ in read(b"\xef\xbb\xbf" + good, b"", b" ", good)] == [1, 4]


@given(st.binary(max_size=80))
def test_any_bytes_give_pages_or_problems(data: bytes) -> None:
    assert all(isinstance(found, JsonlRecord | BadPage) for _, found in read_records(BytesIO(data)))


def test_the_path_of_a_page_follows_its_slug() -> None:
    assert path_from_name("a/b") == "a/b.md"
    assert path_from_name("A.MD") == "A.MD"


# --- into the brain --------------------------------------------------------------------------


def take(brain: Brain, *lines: object, dry_run: bool = False) -> ImportReport:
    source = BytesIO("\n".join(json.dumps(line) for line in lines).encode())
    return import_jsonl(brain.database, source, timestamp(), dry_run=dry_run)


def test_valid_lines_are_imported_and_others_reported(brain: Brain) -> None:
    report = take(
        brain,
        {"slug": "a", "text": "# A\n"},
        {"slug": "../b", "text": ""},
        {"slug": "c", "text": "---\nx: [\n---\n"},
        {"slug": "A", "text": "# Again\n"},
        {"title": "Last one", "body": "See [[a]].", "tags": ["t"]},
    )
    assert [(p.path, p.code) for p in report.problems] == [
        ("stdin line 2", "bad_slug"),
        ("stdin line 3", "bad_page"),
        ("stdin line 4", "slug_collision"),
    ]
    assert [page.slug for page in brain.list()[0]] == ["a", "last-one"]
    assert (brain.get("last-one").tags, brain.text("a")) == (("t",), "# A\n")


def test_an_existing_page_gets_a_new_version(brain: Brain) -> None:
    brain.put("Notes/A.md", b"# A\n")
    report = take(brain, {"slug": "notes/a", "text": "# A2\n"})
    assert [(change.action, change.path) for change in report.changes] == [("update", "Notes/A.md")]
    assert (brain.get("notes/a").version, brain.text("notes/a", 1)) == (2, "# A\n")
    assert take(brain, {"slug": "notes/a", "text": "# A2\n"}).unchanged == 1


def test_a_dry_run_changes_nothing(brain: Brain) -> None:
    report = take(brain, {"slug": "a", "text": "# A\n"}, dry_run=True)
    assert report.count("create") == 1
    assert brain.list()[1] == 0


def test_exported_lines_import_as_the_same_bytes(brain: Brain, tmp_path: Path) -> None:
    brain.import_folder(AWKWARD)
    with brain.database.read_transaction() as connection:
        lines = list(jsonl_lines(connection))
        texts = connection.execute(TEXTS).fetchall()
    with Brain.open(tmp_path / "other.db", make=True) as other:
        report = import_jsonl(other.database, BytesIO("".join(lines).encode()), timestamp())
        assert (report.problems, len(report.changes)) == ([], len(texts))
        with other.database.read_transaction() as connection:
            assert connection.execute(TEXTS).fetchall() == texts


TEXTS = "SELECT path, front_matter || compiled_truth || timeline FROM pages ORDER BY path"
