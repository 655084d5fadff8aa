"""Measures what the stages of a query cost: merging alone, the defaults, everything switched on.

    python tests/benchmarks/bench_stages.py DATA BRAIN [QUESTIONS]

DATA has questions (queries.jsonl); BRAIN is only read, and built by bench_cold.py. All
configurations answer each question one after the other, each time starting with another one, so
that a slow minute slows them all. Times are those of a warm process and include embedding the
question.
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from gbrain.brain import Brain

PLAIN, DEFAULT, ALL, OVERLAP = "plain fusion", "default", "all stages", "all and overlap reranker"
ROUNDS = 3

# The stages of a default query besides the two lanes and their merge.
_OFF = {
    "short_circuit": "off", "retry_ladder": "off", "repair_words": "off", "date_boost": "off",
    "drop_superseded": "off", "all_words_bonus": "0", "chunk_bonus": "0",
}  # fmt: skip
_ON = {
    "graph_weight": "1", "associative_weight": "1", "intent_weights": "on",
    "hypothetical_questions": "authored", "wing_boost": "1.15", "exact_boost": "1.22",
    "preference_boost": "on", "concrete_boost": "on", "importance_boost": "on",
    "access_boost": "on", "recency_half_life_days": "30", "noise_sigma": "0.02",
    "threshold": "0.01", "relevance_floor": "0.01", "mmr_lambda": "0.9",
}  # fmt: skip
CONFIGURATIONS: dict[str, dict[str, str]] = {
    PLAIN: _OFF,
    DEFAULT: {},
    ALL: _ON,
    OVERLAP: {**_ON, "rerank": "overlap"},
}
MISSPELLINGS = ("kuberntes", "sourdogh starter")


def read_questions(data: Path, count: int) -> list[str]:
    """Return `count` questions of all sets below `data`, the same ones each time."""
    found = [
        json.loads(line)["text"]
        for file in sorted(data.rglob("queries.jsonl"))
        for line in file.read_text().splitlines()
        if line.strip()
    ]
    return random.Random(7).sample(found, min(count, len(found)))


def time_configurations(brain: Brain, asked: list[str]) -> dict[str, float]:
    """Return the median milliseconds of each configuration; the slowest runs only one round."""
    names = list(CONFIGURATIONS)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for turn, text in enumerate(asked * ROUNDS):
        at = turn % len(names)
        for name in names[at:] + names[:at]:
            if name == OVERLAP and turn >= len(asked):
                continue
            began = perf_counter()
            brain.query(text, changes=CONFIGURATIONS[name])
            taken[name].append((perf_counter() - began) * 1000)
    return {name: median(times) for name, times in taken.items()}


def describe_word_repair(brain: Brain, text: str) -> str:
    """Return how a misspelt query was read, and the first and median milliseconds of that."""
    times = []
    for _ in range(11):
        answer = brain.query(text, mode="bm25", changes={"short_circuit": "off"})
        stages = [s.ms for s in answer.trace.stages if s.name in ("retry_ladder", "repair")]
        times.append(sum(stages))
    return f"read as {answer.read_as!r}: first {times[0]:.1f} ms, median {median(times):.1f} ms"


def main() -> None:
    data, path = Path(sys.argv[1]), Path(sys.argv[2])
    asked = read_questions(data, int((sys.argv[3:] or ["40"])[0]))
    with Brain.open(path) as brain:
        for text in MISSPELLINGS:
            print(f"{text}: {describe_word_repair(brain, text)}")
        for changes in CONFIGURATIONS.values():
            brain.query(asked[0], changes=changes)
        times = time_configurations(brain, asked)
    print(f"{len(asked)} questions, {ROUNDS} times each, medians:")
    for name, taken in times.items():
        print(f"{name:26} {taken:8.1f} ms")
    for name, against in ((DEFAULT, PLAIN), (ALL, DEFAULT), (OVERLAP, DEFAULT)):
        print(f"{name} / {against}: {times[name] / times[against]:.2f}")


if __name__ == "__main__":
    main()
