"""Measure answers to everyday questions: literal words, dates, facts, unanswerable ones, typos.

    python tests/benchmarks/bench_everyday.py [DATA] [--brain FILE] [--list NAME] [--misses]

DATA has notes/ and one .jsonl list for each kind of question (default: fixtures/everyday, whose
README describes them). The notes are imported and embedded into a temporary brain, or into FILE,
which a later run uses again. --misses prints each question that was not answered as it should be.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("GBRAIN_NOW", "2026-11-16T09:00:00+00:00")

from gbrain.brain import Brain
from gbrain.types import Answer

EVERYDAY = Path(__file__).parents[2] / "fixtures" / "everyday"
Row = dict[str, Any]
Measures = dict[str, float]


def rank_measures(answer: Answer, row: Row) -> Measures:
    """Return whether a right page is first, and among the first three."""
    right, found = set(row["slugs"]), [hit.slug for hit in answer.hits]
    return {"first": found[:1] != [] and found[0] in right, "in 3": bool(right & {*found[:3]})}


def literal(brain: Brain, row: Row) -> Measures:
    """Measure a question whose words all stand on one page."""
    answer = brain.query(row["question"])
    return rank_measures(answer, row) | {"strong": answer.verdict.grade == "strong"}


def dates(brain: Brain, row: Row) -> Measures:
    """Measure whether the first hit is right and shows something of the asked period."""
    answer = brain.query(row["question"])
    shown = answer.hits[0].date if answer.hits else None
    inside = shown is not None and row["first"][: len(shown)] <= shown[:10] <= row["last"]
    return rank_measures(answer, row) | {"period shown": inside}


def answerable(brain: Brain, row: Row) -> Measures:
    """Measure rank, grade, and whether the context holds the answer in how many tokens."""
    answer = brain.query(row["question"], depth="auto")
    measures = rank_measures(answer, row)
    context = " ".join(" ".join(chunk.text for chunk in answer.context or ()).split())
    measures["in context"] = " ".join(row["answer"].split()) in context
    measures["tokens"] = answer.budget.used if answer.budget else 0
    if measures["first"]:
        measures["right, graded nothing"] = answer.verdict.grade == "nothing"
    return measures


def unanswerable(brain: Brain, row: Row) -> Measures:
    """Measure how the answer to a question that no note answers is graded."""
    answer = brain.query(row["question"], depth="auto")
    missing = (row["missing"] or "").casefold().split()
    reasons = " ".join(answer.verdict.reasons).casefold()
    grade = answer.verdict.grade
    named = grade == "partial" and any(word in reasons for word in missing)
    return {
        "nothing": grade == "nothing",
        "partial": grade == "partial",
        "strong": grade == "strong",
        "nothing, or missing word named": grade == "nothing" or named,
        "tokens": answer.budget.used if answer.budget else 0,
    }


def languages(brain: Brain, row: Row) -> Measures:
    """Measure a question in some language."""
    return rank_measures(brain.query(row["question"]), row)


def typos(brain: Brain, row: Row) -> Measures:
    """Measure whether a typo finds its page and is asked about; a correct word stays as it is."""
    answer = brain.query(row["question"])
    suggested = answer.did_you_mean or answer.read_as
    if row["misspelt"]:
        corrected = suggested is not None and row["misspelt"] not in suggested
        return rank_measures(answer, row) | {"corrected": corrected}
    asked, read = row["question"].casefold(), answer.read_as
    left_alone = read is None or all(word in asked for word in read.casefold().split())
    return {"left alone": left_alone, "not asked about": answer.did_you_mean is None}


def fresh(brain: Brain, row: Row) -> Measures:
    """Measure whether a note that was just written is found by meaning, as it is after `embed`."""
    brain.put(row["slug"], row["note"].encode())
    answer = brain.query(row["question"])
    brain.embed()
    later = brain.query(row["question"])
    brain.delete(row["slug"])
    same = [hit.slug for hit in answer.hits] == [hit.slug for hit in later.hits]
    return rank_measures(answer, {"slugs": [row["slug"]]}) | {"as after embed": same}


LISTS: dict[str, Callable[[Brain, Row], Measures]] = {
    "literal": literal,
    "dates": dates,
    "answerable": answerable,
    "unanswerable": unanswerable,
    "languages": languages,
    "typos": typos,
    "fresh": fresh,
}


def kind_of(row: Row) -> str:
    """Return the kind under which a question is counted."""
    if "across" in row:
        return "across languages" if row["across"] else "same language"
    return str(row.get("kind", ""))


def is_miss(measures: Measures) -> bool:
    """Return whether a question was not answered as it should be."""
    good = [measures[name] for name in ("first", "period shown", "left alone") if name in measures]
    return not all(good) or bool(measures.get("strong") and "nothing" in measures)


def run_list(brain: Brain, name: str, rows: list[Row], show_misses: bool) -> None:
    """Ask every question of a list and print the mean of each measure by kind."""
    results: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        measures = LISTS[name](brain, row)
        for kind in {kind_of(row), "all"}:
            for measure, value in measures.items():
                results[kind][measure].append(float(value))
        if show_misses and is_miss(measures):
            print(f"  miss: {row['question']}  {row.get('slugs', '')}")
    for kind in sorted(filter(None, results), key=lambda kind: (kind != "all", kind)):
        figures = [
            f"{measure} {sum(values) / len(values):.0f}"
            if measure == "tokens"
            else f"{measure} {sum(values) / len(values):.3f}"
            for measure, values in results[kind].items()
        ]
        count = max(len(values) for values in results[kind].values())
        print(f"{name:13} {kind:17} {count:4}  {'  '.join(figures)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=EVERYDAY)
    parser.add_argument("--brain", type=Path)
    parser.add_argument("--list", choices=LISTS, action="append")
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.brain or Path(folder) / "everyday.db"
        new = not path.exists()
        with Brain.open(path, make=True) as brain:
            if new:
                brain.import_folder(options.data / "notes")
            brain.embed()
            for name in options.list or LISTS:
                file = options.data / f"{name}.jsonl"
                if file.exists():
                    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
                    run_list(brain, name, rows, options.misses)


if __name__ == "__main__":
    main()
