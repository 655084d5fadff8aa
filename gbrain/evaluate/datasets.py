"""Load labelled datasets in BEIR form: documents as pages, questions, and relevance grades."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import BadPage
from gbrain.evaluate.dataset_files import (
    DatasetRow,
    dataset_error,
    read_json_rows,
    read_judgements,
    row_error,
)
from gbrain.text.slug import slug_from_path
from gbrain.types import Scope

CORPUS, PAGES_FOLDER, QUERIES = "corpus.jsonl", "vault", "queries.jsonl"
QRELS = ("qrels.tsv", "qrels/test.tsv", "qrels/dev.tsv", "qrels/train.tsv")

_PLAIN_DATE = r"[0-9][0-9A-Za-z:.+ -]*"
_FENCES = ("---\n", "---\r\n")

# Grades above 0 by slug: how well each page answers a question.
Grades = Mapping[str, int]


class DatasetDocument(NamedTuple):
    """A page's path and bytes; those from `text_start` on are the document's own.

    `source` is the file, and line if there are several, for error messages.
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
    """A question and the scope of pages that may answer it."""

    id: str
    text: str
    scope: Scope


class Dataset(NamedTuple):
    """Documents, the questions that have relevant documents, and the grades by question id.

    A graded document that the corpus lacks is in `relevant` as its id in brackets, which no slug
    has. `notes` say what was left out of the files.
    """

    folder: Path
    qrels: Path
    documents: tuple[DatasetDocument, ...]
    questions: tuple[DatasetQuestion, ...]
    relevant: Mapping[str, Grades]
    notes: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Return a name for the corpus that changes with its content."""
        total = sha256()
        for document in self.documents:
            for field in (document.path.encode(), document.data):
                total.update(len(field).to_bytes(8, "big") + field)
        return total.hexdigest()[:20]


def load_dataset(folder: Path) -> Dataset:
    """Return the dataset in `folder`; raises GbrainError with file and line if it is invalid."""
    if not folder.is_dir():
        raise dataset_error(f"{folder} is not a folder")
    if (folder / CORPUS).exists():
        documents = dict(_read_corpus(folder / CORPUS))
    elif (folder / PAGES_FOLDER).is_dir():
        documents = dict(_read_pages(folder / PAGES_FOLDER))
    else:
        raise dataset_error(f"{folder} has neither {CORPUS} nor a folder {PAGES_FOLDER}")
    if not documents:
        raise dataset_error(f"{folder} has no documents")
    questions = _read_questions(folder / QUERIES)
    qrels = next((folder / name for name in QRELS if (folder / name).exists()), folder / QRELS[0])
    graded = _read_grades(qrels)
    relevant = {
        question: {_document_slug(name, documents): grade for name, grade in grades.items()}
        for question, grades in graded.items()
        if question in questions and grades
    }
    answerable = tuple(question for question in questions.values() if question.id in relevant)
    if not answerable:
        raise dataset_error(f"No question of {folder / QUERIES} has an answer in {qrels}")
    missing = sum(slug.startswith("(") for grades in relevant.values() for slug in grades)
    notes = (
        _note(len(questions) - len(answerable), "question has no answer and is left out",
              "questions have no answer and are left out"),
        _note(len(graded.keys() - questions.keys()), f"judged question is not in {QUERIES}",
              f"judged questions are not in {QUERIES}"),
        _note(missing, "answer is not in the corpus and counts as not found",
              "answers are not in the corpus and count as not found"),
    )  # fmt: skip
    return Dataset(
        folder, qrels, tuple(documents.values()), answerable, relevant, tuple(filter(None, notes))
    )


def _note(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}." if count else ""


def select_questions(
    questions: Sequence[DatasetQuestion], first: int | None, sample: int | None, seed: int
) -> tuple[DatasetQuestion, ...]:
    """Return the `first` questions, or a random `sample` of them, in the order of the file."""
    some = questions[:first]
    if sample is None or sample >= len(some):
        return tuple(some)
    drawn = sorted(random.Random(seed).sample(range(len(some)), sample))
    return tuple(some[number] for number in drawn)


# --- documents -------------------------------------------------------------------------------


def _read_corpus(path: Path) -> Iterator[tuple[str, DatasetDocument]]:
    """Yield (id, document) of each line of corpus.jsonl."""
    lines: dict[str, int] = {}
    slugs: set[str] = set()
    for row in read_json_rows(path):
        name = row.id()
        if name in lines:
            raise row_error(path, row.line, f"{name!r} is already on line {lines[name]}")
        lines[name] = row.line
        page_path = _page_path(row, name, slugs)
        slug = slug_from_path(page_path)
        slugs.add(slug)
        head, text = _front_matter(row, name), row.required_text("text").encode()
        source = f"{path}, line {row.line}"
        yield name, DatasetDocument(slug, page_path, head + text, len(head), source)


def _page_path(row: DatasetRow, name: str, slugs: set[str]) -> str:
    """Return a path for the document: its id, below its scope, numbered if the slug is taken."""
    scope = row.metadata("scope")
    prefix = _scope_prefix(row, scope) if scope else ""
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


def _scope_prefix(row: DatasetRow, scope: str) -> str:
    """Return the slug prefix of a scope."""
    try:
        return f"{slug_from_path(scope)}/"
    except BadPage:
        raise row_error(row.path, row.line, f"the scope {scope!r} cannot name a folder") from None


def _front_matter(row: DatasetRow, name: str) -> bytes:
    """Return title and date as front matter, or nothing if the text has its own."""
    if row.required_text("text").startswith(_FENCES):
        return b""
    lines = [f"title: {json.dumps(row.text('title') or name, ensure_ascii=False)}"]
    date = row.metadata("date")
    if date:
        plain = re.fullmatch(_PLAIN_DATE, date)
        lines.append(f"date: {date if plain else json.dumps(date, ensure_ascii=False)}")
    return "\n".join(["---", *lines, "---", ""]).encode()


def _read_pages(folder: Path) -> Iterator[tuple[str, DatasetDocument]]:
    """Yield (path, document) of each Markdown file that is not hidden."""
    paths: dict[str, str] = {}
    for file in sorted(folder.rglob("*")):
        path = file.relative_to(folder).as_posix()
        hidden = any(name.startswith(".") for name in path.split("/"))
        if hidden or file.suffix.lower() not in (".md", ".markdown") or not file.is_file():
            continue
        slug = slug_from_path(path)
        if slug in paths:
            raise dataset_error(f"{file} has the same slug as {paths[slug]}: {slug}")
        paths[slug] = path
        try:
            yield path, DatasetDocument(slug, path, file.read_bytes(), 0, str(file))
        except OSError as error:
            raise dataset_error(f"Cannot read {file}: {error.strerror}") from None


def _document_slug(name: str, documents: Mapping[str, DatasetDocument]) -> str:
    """Return the slug of the document that qrels name by its id, or its path without .md."""
    document = documents.get(name) or documents.get(f"{name}.md")
    return document.slug if document else f"({name})"


# --- questions and grades --------------------------------------------------------------------


def _read_questions(path: Path) -> dict[str, DatasetQuestion]:
    questions: dict[str, DatasetQuestion] = {}
    for row in read_json_rows(path):
        name = row.id()
        if name in questions:
            raise row_error(path, row.line, f"the question {name!r} is there twice")
        scope = row.metadata("scope")
        within = Scope(slug_prefix=_scope_prefix(row, scope)) if scope else Scope()
        questions[name] = DatasetQuestion(name, row.required_text("text"), within)
    return questions


def _read_grades(path: Path) -> dict[str, dict[str, int]]:
    """Return grades above 0 by question and document; a question may have none."""
    judged: dict[tuple[str, str], int] = {}
    for row in read_judgements(path):
        key = (row.question, row.document)
        if judged.setdefault(key, row.grade) != row.grade:
            reason = f"{row.question} and {row.document} already have the grade {judged[key]}"
            raise row_error(path, row.line, reason)
    grades: dict[str, dict[str, int]] = {}
    for (question, document), grade in judged.items():
        answers = grades.setdefault(question, {})
        if grade > 0:
            answers[document] = grade
    return grades
