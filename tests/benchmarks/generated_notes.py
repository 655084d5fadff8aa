"""Makes folders of notes of any size for the benchmarks: real sentences, recombined."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("people", "companies", "concepts", "projects", "meetings", "resources", "journal")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def read_sentences(data: Path) -> list[str]:
    """Return the sentences of all corpus.jsonl and Markdown files below `data`, in order."""
    found: list[str] = []
    for corpus in sorted(data.rglob("corpus.jsonl")):
        for line in corpus.read_text().splitlines():
            found += _SENTENCE.split(json.loads(line)["text"].replace("\n", " "))
    for page in sorted(data.rglob("*.md")):
        for paragraph in page.read_text().split("\n\n"):
            if not paragraph.startswith(("#", "```", "|", "<", "---")):
                found += _SENTENCE.split(paragraph.replace("\n", " "))
    return [sentence for sentence in found if 30 < len(sentence) < 300]


def generate_pages(data: Path, count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """Yield `count` pages of about 1.2 kB as (path, text), always the same for a seed."""
    rng = random.Random(seed)
    stock = read_sentences(data)
    for number in range(count):
        words = " ".join(re.findall(r"\w+", rng.choice(stock))[:5])
        folder = rng.choice(_FOLDERS)
        tag = re.findall(r"\w+", rng.choice(stock))[0].lower()
        day = f"20{rng.randint(18, 26)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        text = lambda n: " ".join(rng.choice(stock) for _ in range(n))  # noqa: E731
        yield (
            f"{folder}/note {number:06}.md",
            f'---\ntitle: "{words} {number}"\ntype: note\ntags: ["{tag}", bench]\n---\n'
            f"# {words} {number}\n\n{text(3)} See [[note {rng.randrange(count):06}]].\n\n"
            f"## Details\n\n{text(3)}\n\n---\n## Timeline\n- {day} — {text(1)}\n",
        )


def write_notes(data: Path, folder: Path, count: int) -> int:
    """Write `count` pages into a folder; return their size in bytes."""
    size = 0
    for name in _FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path, text in generate_pages(data, count):
        size += (folder / path).write_bytes(text.encode())
    return size
