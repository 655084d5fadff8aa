"""Labelled sets in BEIR form: documents as pages, questions, and the pages that answer them."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadPage, GbrainError
from gbrain.text.slug import slug_from_path
from gbrain.types import Scope

CORPUS, PAGES_FOLDER, QUERIES = "corpus.jsonl", "vault", "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")

_PLAIN_DATE = r"[0-9][0-9A-Za-z:.+ -]*"
_FENCES = ("---\n", "---\r\n")

Grades = Mapping[str, int]


class DatasetDocument(NamedTuple):
    """A page to be: `data` are its bytes, of which those from `text_start` on are the document's.

    `source` says where it was read, for messages.
    """

    slug: str
    path: str
    data: bytes
    text_start: int
    source: str

    @property
    def text(self) -> str:
        return self.data[self.text_start :].decode("utf-8", "replace")


class DatasetQuestion(NamedTuple):
    """A question with the pages it may be answered from."""

    id: str
    text: str
    scope: Scope


class Dataset(NamedTuple):
    """Documents, the questions that have an answer, and by question id the answers' grades.

    `relevant` holds grades above 0 by slug; a judged document that the corpus lacks stands there
    as its id in brackets, which no slug has. `notes` say what of the files was left out.
    """

    folder: Path
    qrels: Path
    documents: tuple[DatasetDocument, ...]
    questions: tuple[DatasetQuestion, ...]
    relevant: Mapping[str, Grades]
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """A name for the corpus that changes with its content."""
        total = sha256()
        for document in self.documents:
            for part in (document.path.encode(), document.data):
                total.update(len(part).to_bytes(8, "big") + part)
        return total.hexdigest()[:20]


def load_dataset(folder: Path) -> Dataset:
    """The set in `folder`; raises GbrainError with file and line for what cannot be read."""
    if not folder.is_dir():
        raise dataset_error(f"There is no folder {folder}")
    if (folder / CORPUS).exists():
        documents = dict(_corpus(folder / CORPUS))
    elif (folder / PAGES_FOLDER).is_dir():
        documents = dict(_vault(folder / PAGES_FOLDER))
    else:
        raise dataset_error(f"{folder} holds neither {CORPUS} nor a folder {PAGES_FOLDER}")
    if not documents:
        raise dataset_error(f"{folder} holds no documents")
    questions = _questions(folder / QUERIES)
    qrels = next((folder / name for name in QRELS if (folder / name).exists()), folder / QRELS[0])
    graded = _grades(qrels)
    relevant = {
        question: {_slug(name, documents): grade for name, grade in grades.items()}
        for question, grades in graded.items()
        if question in questions and grades
    }
    asked = tuple(question for question in questions.values() if question.id in relevant)
    if not asked:
        raise dataset_error(f"No question of {folder / QUERIES} has an answer in {qrels}")
    lacking = sum(slug.startswith("(") for grades in relevant.values() for slug in grades)
    notes = (
        _note(len(questions) - len(asked), "question has no answer and is left out",
              "questions have no answer and are left out"),
        _note(len(graded.keys() - questions.keys()), f"judged question is not in {QUERIES}",
              f"judged questions are not in {QUERIES}"),
        _note(lacking, "answer is not in the corpus and counts as not found",
              "answers are not in the corpus and count as not found"),
    )  # fmt: skip
    return Dataset(
        folder, qrels, tuple(documents.values()), asked, relevant, tuple(filter(None, notes))
    )


def _note(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}." if count else ""


def select_questions(
    questions: Sequence[DatasetQuestion], first: int | None, sample: int | None, seed: int
) -> tuple[DatasetQuestion, ...]:
    """The `first` questions, or `sample` of them drawn by `seed`, in the order of the file."""
    some = questions[:first]
    if sample is None or sample >= len(some):
        return tuple(some)
    drawn = sorted(random.Random(seed).sample(range(len(some)), sample))
    return tuple(some[number] for number in drawn)


# --- documents -------------------------------------------------------------------------------


def _corpus(path: Path) -> Iterator[tuple[str, DatasetDocument]]:
    """The documents by id."""
    lines: dict[str, int] = {}
    slugs: set[str] = set()
    for row in read_json_rows(path):
        name = row.name()
        if name in lines:
            raise row_error(path, row.line, f"{name!r} stands on line {lines[name]} already")
        lines[name] = row.line
        page_path = _page_path(row, name, slugs)
        slug = slug_from_path(page_path)
        slugs.add(slug)
        head, text = _front_matter(row, name), row.required("text").encode()
        source = f"{path}, line {row.line}"
        yield name, DatasetDocument(slug, page_path, head + text, len(head), source)


def _page_path(row: DatasetRow, name: str, slugs: set[str]) -> str:
    """The path of a document's page: its id, below its scope, with a number if that is taken."""
    scope = row.detail("scope")
    prefix = _prefix(row, scope) if scope else ""
    try:
        inside = slug_from_path(name).startswith(prefix)
    except BadPage:
        name, inside = f"document-{row.line}", not prefix
    path = name if inside else prefix + name
    path = path if path.endswith(".md") else f"{path}.md"
    slug = slug_from_path(path)
    if slug not in slugs:
        return path
    return next(f"{slug}-{n}.md" for n in count(row.line) if f"{slug}-{n}" not in slugs)


def _prefix(row: DatasetRow, scope: str) -> str:
    """What the slugs of a scope begin with."""
    try:
        return f"{slug_from_path(scope)}/"
    except BadPage:
        raise row_error(row.path, row.line, f"the scope {scope!r} cannot name a folder") from None


def _front_matter(row: DatasetRow, name: str) -> bytes:
    """Title and date as front matter, unless the text brings its own."""
    if row.required("text").startswith(_FENCES):
        return b""
    lines = [f"title: {json.dumps(row.text('title') or name, ensure_ascii=False)}"]
    date = row.detail("date")
    if date:
        plain = re.fullmatch(_PLAIN_DATE, date)
        lines.append(f"date: {date if plain else json.dumps(date, ensure_ascii=False)}")
    return "\n".join(["---", *lines, "---", ""]).encode()


def _vault(folder: Path) -> Iterator[tuple[str, DatasetDocument]]:
    """The pages of a folder by path."""
    paths: dict[str, str] = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in path.split("/"))
        if hidden or file.suffix.lower() not in (".md", ".markdown") or not file.is_file():
            continue
        slug = slug_from_path(path)
        if slug in paths:
            raise dataset_error(f"{file} shares the slug {slug} with {paths[slug]}")
        paths[slug] = path
        try:
            yield path, DatasetDocument(slug, path, file.read_bytes(), 0, str(file))
        except OSError as error:
            raise dataset_error(f"Cannot read {file}: {error.strerror}") from None


def _slug(name: str, documents: Mapping[str, DatasetDocument]) -> str:
    """The slug of the document that a judgement names by its id, or its path without .md."""
    document = documents.get(name) or documents.get(f"{name}.md")
    return document.slug if document else f"({name})"


# --- questions and answers -------------------------------------------------------------------


def _questions(path: Path) -> dict[str, DatasetQuestion]:
    questions: dict[str, DatasetQuestion] = {}
    for row in read_json_rows(path):
        name = row.name()
        if name in questions:
            raise row_error(path, row.line, f"there is a question {name!r} already")
        scope = row.detail("scope")
        within = Scope(slug_prefix=_prefix(row, scope)) if scope else Scope()
        questions[name] = DatasetQuestion(name, row.required("text"), within)
    return questions


def _grades(path: Path) -> dict[str, dict[str, int]]:
    """Grades above 0 by question and document; a question that has none is there all the same."""
    judged: dict[tuple[str, str], int] = {}
    for row in read_judgements(path):
        key = (row.question, row.document)
        if judged.setdefault(key, row.grade) != row.grade:
            reason = f"{row.question} and {row.document} have the grade {judged[key]} already"
            raise row_error(path, row.line, reason)
    grades: dict[str, dict[str, int]] = {}
    for (question, document), grade in judged.items():
        answers = grades.setdefault(question, {})
        if grade > 0:
            answers[document] = grade
    return grades


Values = Mapping[str, object]


class DatasetRow(NamedTuple):
    """One JSON object of a file, with the line it stands on, from 1."""

    path: Path
    line: int
    values: Values

    def name(self) -> str:
        """The row's `_id`; a number counts as its digits."""
        value = self.values.get("_id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return _encodable(value)
        raise row_error(self.path, self.line, 'there is no "_id"')

    def text(self, key: str) -> str:
        """A text that may be absent, and is then empty."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise row_error(self.path, self.line, f'"{key}" is not a text')
        return _encodable(value)

    def required(self, key: str) -> str:
        if self.values.get(key) is None:
            raise row_error(self.path, self.line, f'there is no "{key}"')
        return self.text(key)

    def detail(self, key: str) -> str | None:
        """A text or number in the row's metadata, as written."""
        metadata = self.values.get("metadata")
        if metadata is None:
            return None
        if not isinstance(metadata, dict):
            raise row_error(self.path, self.line, '"metadata" is not an object')
        value = metadata.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise row_error(self.path, self.line, f'"{key}" in its metadata is not a text')
        return _encodable(str(value)).strip() or None


class Judgement(NamedTuple):
    """How well a document answers a question; 0 and less is not at all."""

    line: int
    question: str
    document: str
    grade: int


def dataset_error(message: str) -> GbrainError:
    return GbrainError(
        message,
        hint="A set is a folder with corpus.jsonl (or a vault of Markdown files), queries.jsonl "
        "and qrels.tsv.",
        code="bad_set",
    )


def row_error(path: Path, line: int, reason: str) -> GbrainError:
    return GbrainError(
        f"{path}, line {line}: {reason}", hint="Mend or remove that line.", code="bad_set"
    )


def read_json_rows(path: Path) -> Iterator[DatasetRow]:
    """The objects of a file that holds one a line, in order; blank lines do not count."""
    for number, line in _lines(path):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise row_error(path, number, "this is no JSON") from None
        if not isinstance(values, dict):
            raise row_error(path, number, "this is no JSON object")
        yield DatasetRow(path, number, values)


def read_judgements(path: Path) -> Iterator[Judgement]:
    """Question, document and grade of each line, with or without a header above them.

    Between them stand tabs, or spaces; trec_eval's column of zeros after the question may be there.
    """
    for number, line in _lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if len(cells) == 4:
            del cells[1]
        if len(cells) != 3 or not all(cells):
            raise row_error(path, number, "not a question, a document and a grade")
        question, document, written = cells
        if number == 1 and not any(char.isdigit() for char in written):
            continue
        try:
            grade = int(written)
        except ValueError:
            raise row_error(path, number, f"the grade {written!r} is no whole number") from None
        yield Judgement(number, question, document, grade)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers; only a line feed ends one."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise row_error(path, number, "this is not UTF-8") from None
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise dataset_error(f"There is no {path}") from None
    except OSError as error:
        raise dataset_error(f"Cannot read {path}: {error.strerror}") from None


def _encodable(text: str) -> str:
    """`text` with half characters, which JSON can spell and no page can hold, replaced."""
    return text.encode("utf-8", "replace").decode()
