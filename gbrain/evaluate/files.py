"""The rows of a labelled set's files; whatever cannot be read is an error with file and line."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from gbrain.errors import GbrainError

Values = Mapping[str, object]


class Row(NamedTuple):
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
        raise bad_row(self.path, self.line, 'there is no "_id"')

    def text(self, key: str) -> str:
        """A text that may be absent, and is then empty."""
        value = self.values.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise bad_row(self.path, self.line, f'"{key}" is not a text')
        return _encodable(value)

    def required(self, key: str) -> str:
        if self.values.get(key) is None:
            raise bad_row(self.path, self.line, f'there is no "{key}"')
        return self.text(key)

    def detail(self, key: str) -> str | None:
        """A text or number in the row's metadata, as written."""
        metadata = self.values.get("metadata")
        if metadata is None:
            return None
        if not isinstance(metadata, dict):
            raise bad_row(self.path, self.line, '"metadata" is not an object')
        value = metadata.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise bad_row(self.path, self.line, f'"{key}" in its metadata is not a text')
        return _encodable(str(value)).strip() or None


class Judgement(NamedTuple):
    """How well a document answers a question; 0 and less is not at all."""

    line: int
    question: str
    document: str
    grade: int


def bad_set(message: str) -> GbrainError:
    return GbrainError(
        message,
        hint="A set is a folder with corpus.jsonl (or a vault of Markdown files), queries.jsonl "
        "and qrels.tsv.",
        code="bad_set",
    )


def bad_row(path: Path, line: int, reason: str) -> GbrainError:
    return GbrainError(
        f"{path}, line {line}: {reason}", hint="Mend or remove that line.", code="bad_set"
    )


def json_rows(path: Path) -> Iterator[Row]:
    """The objects of a file that holds one a line, in order; blank lines do not count."""
    for number, line in _lines(path):
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise bad_row(path, number, "this is no JSON") from None
        if not isinstance(values, dict):
            raise bad_row(path, number, "this is no JSON object")
        yield Row(path, number, values)


def judgements(path: Path) -> Iterator[Judgement]:
    """Question, document and grade of each line, with or without a header above them.

    Between them stand tabs, or spaces; trec_eval's column of zeros after the question may be there.
    """
    for number, line in _lines(path):
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if len(cells) == 4:
            del cells[1]
        if len(cells) != 3 or not all(cells):
            raise bad_row(path, number, "not a question, a document and a grade")
        question, document, written = cells
        if number == 1 and not any(char.isdigit() for char in written):
            continue
        try:
            grade = int(written)
        except ValueError:
            raise bad_row(path, number, f"the grade {written!r} is no whole number") from None
        yield Judgement(number, question, document, grade)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines that are not blank, with their numbers; only a line feed ends one."""
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError:
                    raise bad_row(path, number, "this is not UTF-8") from None
                if line.strip():
                    yield number, line
    except FileNotFoundError:
        raise bad_set(f"There is no {path}") from None
    except OSError as error:
        raise bad_set(f"Cannot read {path}: {error.strerror}") from None


def _encodable(text: str) -> str:
    """`text` with half characters, which JSON can spell and no page can hold, replaced."""
    return text.encode("utf-8", "replace").decode()
