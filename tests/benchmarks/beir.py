"""Labelled sets in BEIR form as brains: shared by the benchmarks that measure answers."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from gbrain.brain import Brain, timestamp
from gbrain.store.writing import write_page
from gbrain.text.page import parse_page
from gbrain.text.slug import slug_of


@dataclass(frozen=True)
class LabelledSet:
    """Documents as (path, bytes), queries as (id, text, scope), and graded answers by slug."""

    documents: list[tuple[str, bytes]]
    queries: list[tuple[str, str, str | None]]
    relevant: dict[str, dict[str, int]]


def _rows(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def load(folder: Path) -> LabelledSet:
    """A folder with corpus.jsonl (or a `vault` of Markdown files), queries.jsonl, qrels.tsv."""
    vault = folder / "vault"
    if vault.is_dir():
        files = sorted(vault.rglob("*.md"))
        documents = [(str(file.relative_to(vault)), file.read_bytes()) for file in files]
    else:
        rows = _rows(folder / "corpus.jsonl")
        documents = [(page_path(row["_id"]), page_bytes(row)) for row in rows]
    queries = [
        (row["_id"], row["text"], row.get("metadata", {}).get("scope"))
        for row in _rows(folder / "queries.jsonl")
    ]
    relevant: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant[query][slug_of(page_path(document))] = int(grade)
    return LabelledSet(documents, [q for q in queries if q[0] in relevant], relevant)


def texts(folder: Path) -> dict[str, str]:
    """The documents' texts by slug, on one line each."""
    rows = _rows(folder / "corpus.jsonl")
    return {slug_of(page_path(row["_id"])): " ".join(row["text"].split()) for row in rows}


def page_path(document_id: str) -> str:
    return document_id if document_id.endswith(".md") else f"{document_id}.md"


def page_bytes(row: dict) -> bytes:
    text = row["text"]
    if text.startswith("---\n"):
        return text.encode()
    front = {"title": row.get("title") or row["_id"]}
    date = row.get("metadata", {}).get("date")
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in front.items()]
    if date:
        lines.append(f"date: {date}")
    return ("---\n" + "\n".join(lines) + "\n---\n" + text).encode()


def build(labelled: LabelledSet, path: Path) -> Brain:
    """A brain of the documents at `path`, reused when it is there."""
    brain = Brain.open(path, make=True)
    with brain.database.writing() as connection:
        for name, data in labelled.documents:
            write_page(connection, parse_page(name, data), timestamp())
    return brain


def ndcg(ranking: list[str], grades: dict[str, int], k: int = 10) -> float:
    """Gain by grade, as trec_eval counts it."""
    gained = sum(grades.get(d, 0) / math.log2(r + 2) for r, d in enumerate(ranking[:k]))
    ideal = sorted(grades.values(), reverse=True)[:k]
    return gained / sum(g / math.log2(r + 2) for r, g in enumerate(ideal))


def recall(ranking: list[str], grades: dict[str, int], k: int) -> float:
    return len(set(ranking[:k]) & set(grades)) / len(grades)
