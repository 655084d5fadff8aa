"""Measure the grades of right first hits, and of questions that the pages do not answer.

    python tests/benchmarks/bench_verdicts.py SET [--unanswerable CATEGORY] [--sample N]

SET is a dataset in the BEIR layout whose questions have a "category" in their metadata, such as
LoCoMo. Questions of CATEGORY (default: adversarial) ask for what the pages do not say, for example
what one speaker did who is asked about as if it were the other. Printed for each scope: how the
unanswerable ones are graded, how right first hits of the others are, and the processor time that
the check for other people takes in each query.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from gbrain.evaluate.dataset_cache import open_dataset_brain
from gbrain.evaluate.datasets import load_dataset
from gbrain.evaluate.runs import evenly_spaced
from gbrain.search import other_person

GRADES = ("strong", "partial", "nothing")


def format_shares(counts: Counter[str]) -> str:
    """Return the share of each grade, and the number of questions."""
    total = sum(counts.values()) or 1
    shares = "  ".join(f"{grade} {counts[grade] / total:.3f}" for grade in GRADES)
    return f"{sum(counts.values()):4}  {shares}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--unanswerable", default="adversarial", metavar="CATEGORY")
    parser.add_argument("--sample", type=int, metavar="N")
    parser.add_argument("--cache", type=Path)
    options = parser.parse_args()
    dataset = load_dataset(options.dataset)
    lines = (options.dataset / "queries.jsonl").read_text("utf-8").splitlines()
    about: dict[str, Any] = {row["_id"]: row["metadata"] for row in map(json.loads, lines)}
    seconds: list[float] = []
    find = other_person.find_other_person

    def find_timed(*arguments: Any) -> Any:
        started = time.process_time()
        found = find(*arguments)
        seconds.append(time.process_time() - started)
        return found

    other_person.find_other_person = find_timed
    counts: dict[str, dict[str, Counter[str]]] = defaultdict(lambda: defaultdict(Counter))
    chosen = evenly_spaced(len(dataset.questions), options.sample or len(dataset.questions))
    with open_dataset_brain(dataset, options.cache) as brain:
        brain.embed()
        for question in (dataset.questions[number] for number in chosen):
            answer = brain.query(question.text, scope=question.scope)
            right = answer.hits and answer.hits[0].slug in dataset.relevant[question.id]
            kind = "right first hit" if right else "wrong first hit"
            if about[question.id].get("category") == options.unanswerable:
                kind = "unanswerable"
            for scope in (about[question.id].get("scope", ""), "all"):
                counts[scope][kind][answer.verdict.grade] += 1
    for scope, kinds in sorted(counts.items()):
        for kind, grades in sorted(kinds.items()):
            print(f"{scope:12} {kind:16} {format_shares(grades)}")
    if seconds:
        print(f"{1000 * sum(seconds) / len(seconds):.2f} ms of processor time for other people")


if __name__ == "__main__":
    main()
