"""Measure embedding speed against fastembed and against this processor's matrix products.

    python tests/benchmarks/bench_embed.py DATA [options]

DATA has a corpus.jsonl of objects with "text" and perhaps "title". The same chunks go through the
same model file in the same process, a few at a time, in turns. fastembed pads all texts of a batch
to one length; 256 is its default batch size. "matrix products alone" multiplies matrices of the
model's shapes in numpy (float32, all cores) and does nothing else: what the processor can do
without tokens, attention and 8-bit weights.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from gbrain.models.catalog import ModelSpec, packaged_model
from gbrain.models.embedder import OnnxEmbedder

Contender = Callable[[list[str]], Any]
OURS = "gbrain"
# bge-small: layers, and how much wider than a vector the inner layer is.
LAYERS, WIDENING = 12, 4
OPENING = """
import sys, time
sys.path.insert(0, {root!r})
start = time.perf_counter()
{imports}
imported = time.perf_counter()
{opening}
opened = time.perf_counter()
{first}
print(imported - start, opened - imported, time.perf_counter() - opened)
"""
EAGER = {
    "imports": "import numpy, onnxruntime, tokenizers",
    "opening": "from gbrain.models.catalog import packaged_model\n"
    "from gbrain.models.embedder import OnnxEmbedder\n"
    "embedder = OnnxEmbedder(packaged_model())",
    "first": "embedder.embed_query('who said so?')",
}
LAZY = EAGER | {"imports": ""}


@dataclass(frozen=True, slots=True)
class Lap:
    """The seconds of one contender for one slice of the chunks: wall clock and processor."""

    wall: float
    processor: float


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--chunks", type=int, default=640)
    parser.add_argument("--words", type=int, default=75, help="words in a chunk")
    parser.add_argument("--slice", type=int, default=64, help="chunks in a lap")
    options = parser.parse_args()
    chunks = list(islice(read_chunks(options.data, options.words), options.chunks))
    slices = [chunks[at : at + options.slice] for at in range(0, len(chunks), options.slice)]
    spec = packaged_model()
    embedder = OnnxEmbedder(spec)
    tokens = sum(map(embedder.count_tokens, chunks))
    print(f"{len(chunks)} chunks, {tokens} tokens, {os.cpu_count()} processors")
    print_openings()

    contenders: dict[str, Contender] = {OURS: lambda texts: list(embedder.embed_chunks(texts))}
    contenders["matrix products alone"] = matrix_products(embedder)
    with tempfile.TemporaryDirectory() as scratch:
        contenders |= fastembed_contenders(spec, Path(scratch))
        laps = time_in_turns(contenders, slices)
    embedder.close()
    print_rates(laps, len(chunks), tokens)


def time_in_turns(
    contenders: dict[str, Contender], slices: list[list[str]]
) -> dict[str, list[Lap]]:
    """Let each contender embed every slice, starting with another one each time."""
    laps: dict[str, list[Lap]] = {name: [] for name in contenders}
    for run in contenders.values():
        run(slices[0][:4])
    names = deque(contenders)
    for texts in slices:
        for name in names:
            wall, processor = perf_counter(), process_time()
            contenders[name](texts)
            laps[name].append(Lap(perf_counter() - wall, process_time() - processor))
        names.rotate(1)
    return laps


def print_rates(laps: dict[str, list[Lap]], chunks: int, tokens: int) -> None:
    """Print rates over all laps, and the median ratio of each contender to gbrain."""
    print(f"{'':28}{'chunks/s':>12}{'tokens/s':>10}{'tokens/cpu-s':>14}{'gbrain is':>11}")
    for name, own in laps.items():
        wall = sum(lap.wall for lap in own)
        processor = sum(lap.processor for lap in own)
        ratio = statistics.median(
            theirs.wall / ours.wall for ours, theirs in zip(laps[OURS], own, strict=True)
        )
        print(
            f"{name:28}{chunks / wall:12.1f}{tokens / wall:10.0f}"
            f"{tokens / processor:14.0f}{ratio:10.2f}x"
        )


def matrix_products(embedder: OnnxEmbedder) -> Contender:
    """Return a function that only multiplies the matrices that the model multiplies for a text."""
    import numpy as np

    width = embedder.spec.dimension
    random = np.random.default_rng(1)
    square = random.standard_normal((width, width), dtype=np.float32)
    wide = random.standard_normal((width, WIDENING * width), dtype=np.float32)
    narrow = random.standard_normal((WIDENING * width, width), dtype=np.float32)

    def multiply(texts: list[str]) -> None:
        for text in texts:
            # Two special tokens are embedded with each text.
            rows = np.ones((embedder.count_tokens(text) + 2, width), np.float32)
            for _ in range(LAYERS):
                for _ in range(4):
                    rows @ square
                (rows @ wide) @ narrow

    return multiply


def read_chunks(folder: Path, words: int) -> Iterator[str]:
    """Yield chunks of `words` words; the last of a document may be shorter."""
    with (folder / "corpus.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            document = json.loads(line)
            text = f"{document.get('title', '')} {document['text']}".split()
            for start in range(0, len(text), words):
                yield " ".join(text[start : start + words])


def fastembed_contenders(spec: ModelSpec, scratch: Path) -> dict[str, Contender]:
    """Return fastembed with its default batch size and smaller ones, on all cores."""
    try:
        fastembed = import_module("fastembed")
        described = import_module("fastembed.common.model_description")
    except ImportError:
        print("fastembed is NOT installed: nothing to compare with (pip install fastembed).")
        return {}
    for file in spec.files:
        os.symlink(spec.folder / file.path, scratch / file.path)
    (scratch / "tokenizer_config.json").write_text(
        json.dumps({"model_max_length": spec.max_tokens, "pad_token": "[PAD]"})
    )
    (scratch / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    fastembed.TextEmbedding.add_custom_model(
        model="same/file",
        pooling=described.PoolingType.CLS,
        normalization=True,
        sources=described.ModelSource(hf="same/file"),
        dim=spec.dimension,
        model_file=spec.model_file,
    )
    model = fastembed.TextEmbedding("same/file", specific_model_path=str(scratch))

    def embed(batch_size: int, texts: list[str]) -> list[Any]:
        return list(model.embed(texts, batch_size=batch_size))

    return {f"fastembed, batches of {size}": partial(embed, size) for size in (256, 32, 8, 1)}


def print_openings(runs: int = 7) -> None:
    """Print the milliseconds to open the model in fresh processes: median and best."""
    root = str(Path(__file__).resolve().parents[2])
    for label, parts in {"libraries first": EAGER, "from nothing": LAZY}.items():
        script = OPENING.format(root=root, **parts)
        rows = []
        for _ in range(runs):
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            )
            rows.append([float(value) * 1000 for value in done.stdout.split()])
        steps = zip(("import", "open", "first query"), zip(*rows, strict=True), strict=True)
        shown = ", ".join(f"{n} {statistics.median(v):.0f} ({min(v):.0f})" for n, v in steps)
        print(f"opening, {label}, ms: {shown}")


if __name__ == "__main__":
    main()
