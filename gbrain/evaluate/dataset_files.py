"""Read the files of a dataset line by line: JSON Lines and relevance judgements (qrels)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import GbrainError


class DatasetRow(NamedTuple):
    """One JSON object of a file, with its line number from 1."""

    path: Path
    line: int
    values: Mapping[str, object]

    def id(self) -> str:
        """Return the row's `_id`; a number is returned as its digits."""
        value = self.values.get("_id")
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if isinstance(value, str) and value.strip():
            return _replace_surrogates(value)
        raise row_error(self.path, self.line, '"_id" is missing')

    def text(self, key: str) -> str:
        """Return a text, or an empty one if the key is missing."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise row_error(self.path, self.line, f'"{key}" is not a text')
        return _replace_surrogates(value)

    def required_text(self, key: str) -> str:
        """Return a text that must be there."""
        if self.values.get(key) is None:
            raise row_error(self.path, self.line, f'"{key}" is missing')
        return self.text(key)

    def metadata(self, key: str) -> str | None:
        """Return a text or number of the row's metadata as text."""
        metadata = self.values.get("metadata")
        if metadata is None:
            return None
        if not isinstance(metadata, dict):
            raise row_error(self.path, self.line, '"metadata" is not an object')
        value = metadata.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise row_error(self.path, self.line, f'"{key}" in "metadata" is not a text')
        return _replace_surrogates(str(value)).strip() or None


class Judgement(NamedTuple):
    """How well a document answers a question; a grade of 0 or less means not at all."""

    line: int
    question: str
    document: str
    grade: int


def dataset_error(message: str) -> GbrainError:
    """Return the error for a folder that is not a dataset."""
    return GbrainError(
        message,
        hint="A dataset is a folder with corpus.jsonl (or a folder named vault with Markdown "
        "files), queries.jsonl and qrels.tsv.",
        code="bad_set",
    )


def row_error(path: Path, line: int, reason: str) -> GbrainError:
    """Return the error for one line of a dataset file."""
    return GbrainError(
        f"{path}, line {line}: {reason}", hint="Correct or remove that line.", code="bad_set"
    )


def read_json_rows(path: Path) -> Iterator[DatasetRow]:
    """Yield the JSON object of each line, in order; blank lines are skipped."""
    for number, line in _read_lines(path):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise row_error(path, number, "not JSON") from None
        if not isinstance(values, dict):
            raise row_error(path, number, "not a JSON object")
        yield DatasetRow(path, number, values)


def read_judgements(path: Path) -> Iterator[Judgement]:
    """Yield the question, document and grade of each line; a header line is skipped.

    Fields are separated by tabs or else by spaces. The column of zeros that trec_eval has after
    the question may be there.
    """
    for number, line in _read_lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if len(cells) == 4:
            del cells[1]
        if len(cells) != 3 or not all(cells):
            raise row_error(path, number, "not a question, a document and a grade")
        question, document, grade_text = cells
        if number == 1 and not any(char.isdigit() for char in grade_text):
            continue
        try:
            grade = int(grade_text)
        except ValueError:
            raise row_error(
                path, number, f"the grade {grade_text!r} is not a whole number"
            ) from None
        yield Judgement(number, question, document, grade)


def _read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank with their numbers; only a line feed ends a line."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise row_error(path, number, "not UTF-8") from None
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise dataset_error(f"{path} does not exist") from None
    except OSError as error:
        raise dataset_error(f"Cannot read {path}: {error.strerror}") from None


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON can spell but UTF-8 cannot encode."""
    return text.encode("utf-8", "replace").decode()
