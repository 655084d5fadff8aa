"""Quality of answers on labelled sets in BEIR form, by the whole program.

    python tests/benchmarks/bench_quality.py BRAINS SET...
    python tests/benchmarks/bench_quality.py BRAINS --evidence SESSIONS TURNS

BRAINS is a folder that keeps the built brains, so that a second run embeds nothing. A set is a
folder with corpus.jsonl (or a `vault`), queries.jsonl and qrels.tsv. The second form measures what
share of the relevant turns' text is inside the context that --depth auto assembles from sessions:
the mean over queries, at several budgets.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

import beir

from gbrain.brain import Brain
from gbrain.types import Answer, Scope

CONFIGURATIONS = (
    ("fts", "bm25", None),
    ("semantic", "semantic", None),
    ("set-union", "hybrid", "set-union"),
    ("set-union-rank", "hybrid", "set-union-rank"),
    ("rrf", "hybrid", "rrf"),
    ("blend", "hybrid", "blend"),
)
BUDGETS = (250, 500, 1000, 2000, 4000)


def within(scope: str | None) -> Scope:
    return Scope(slug_prefix=f"{scope.lower()}/") if scope else Scope()


def brain_of(brains: Path, folder: Path) -> tuple[Brain, beir.LabelledSet]:
    labelled = beir.load(folder)
    brains.mkdir(parents=True, exist_ok=True)
    name = "-".join(folder.resolve().parts[-2:])
    brain = beir.build(labelled, brains / f"{name}.db")
    began = perf_counter()
    done = brain.embed().done
    if done:
        rate = done / (perf_counter() - began)
        print(f"{name}: {done} passages embedded, {rate:.0f} a second", flush=True)
    return brain, labelled


def remember_queries(brain: Brain) -> None:
    """Each query is embedded once, however often it is asked."""
    known, embed = {}, brain._embed_query
    brain._embed_query = lambda text: (
        known[text] if text in known else known.setdefault(text, embed(text))
    )  # type: ignore[method-assign]


def measure(brains: Path, folder: Path) -> None:
    brain, labelled = brain_of(brains, folder)
    remember_queries(brain)
    print(f"{folder}: {len(labelled.documents)} pages, {len(labelled.queries)} queries")
    print(f"  {'':15}{'nDCG@10':>9}{'R@5':>8}{'R@10':>8}{'MRR@10':>8}")
    for name, mode, merge in CONFIGURATIONS:
        rows = []
        for query_id, text, scope in labelled.queries:
            answer = brain.query(text, scope=within(scope), limit=10, mode=mode, merge=merge)
            rows.append(scored(answer, labelled.relevant[query_id]))
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        print(
            f"  {name:15}{means[0]:9.4f}" + "".join(f"{mean:8.4f}" for mean in means[1:]),
            flush=True,
        )
    brain.close()


def scored(answer: Answer, grades: dict[str, int]) -> tuple[float, float, float, float]:
    ranking = [hit.slug for hit in answer.hits]
    first = next((rank for rank, slug in enumerate(ranking, 1) if slug in grades), None)
    return (
        beir.ndcg(ranking, grades),
        beir.recall(ranking, grades, 5),
        beir.recall(ranking, grades, 10),
        1 / first if first else 0.0,
    )


def evidence(brains: Path, sessions: Path, turns: Path) -> None:
    brain, labelled = brain_of(brains, sessions)
    remember_queries(brain)
    texts = beir.texts(turns)
    relevant = beir.load(turns).relevant
    queries = [query for query in labelled.queries if query[0] in relevant]
    for budget in BUDGETS:
        shares = []
        for query_id, text, scope in queries:
            answer = brain.query(text, scope=within(scope), depth="auto", budget=budget)
            context = " ".join(" ".join(piece.text.split()) for piece in answer.context or ())
            found = [texts[slug] in context for slug in relevant[query_id]]
            shares.append(sum(found) / len(found))
        print(f"  {budget:5} tokens: {sum(shares) / len(shares):.4f} of the evidence", flush=True)
    brain.close()


def main() -> None:
    brains, rest = Path(sys.argv[1]), sys.argv[2:]
    if rest[0] == "--evidence":
        evidence(brains, Path(rest[1]), Path(rest[2]))
    else:
        for folder in rest:
            measure(brains, Path(folder))


if __name__ == "__main__":
    main()
