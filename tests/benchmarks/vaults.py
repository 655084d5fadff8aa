"""Vaults of any size for the benchmarks: real sentences from a data folder, recombined."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("people", "companies", "concepts", "projects", "meetings", "resources", "journal")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def sentences(data: Path) -> list[str]:
    """Sentences of every corpus.jsonl and Markdown file below `data`, in a fixed order."""
    found: list[str] = []
    for corpus in sorted(data.rglob("corpus.jsonl")):
        for line in corpus.read_text().splitlines():
            found += _SENTENCE.split(json.loads(line)["text"].replace("\n", " "))
    for page in sorted(data.rglob("*.md")):
        for paragraph in page.read_text().split("\n\n"):
            if not paragraph.startswith(("#", "```", "|", "<", "---")):
                found += _SENTENCE.split(paragraph.replace("\n", " "))
    return [sentence for sentence in found if 30 < len(sentence) < 300]


def pages(data: Path, count: int, seed: int = 7) -> Iterator[tuple[str, str]]:
    """`count` pages as (path, text): front matter, two sections and a dated entry, about 1.2 kB."""
    pick = random.Random(seed)
    stock = sentences(data)
    for number in range(count):
        words = " ".join(re.findall(r"\w+", pick.choice(stock))[:5])
        folder = pick.choice(_FOLDERS)
        tag = re.findall(r"\w+", pick.choice(stock))[0].lower()
        day = f"20{pick.randint(18, 26)}-{pick.randint(1, 12):02}-{pick.randint(1, 28):02}"
        text = lambda n: " ".join(pick.choice(stock) for _ in range(n))  # noqa: E731
        yield (
            f"{folder}/note {number:06}.md",
            f'---\ntitle: "{words} {number}"\ntype: note\ntags: ["{tag}", bench]\n---\n'
            f"# {words} {number}\n\n{text(3)} See [[note {pick.randrange(count):06}]].\n\n"
            f"## Details\n\n{text(3)}\n\n---\n## Timeline\n- {day} — {text(1)}\n",
        )


def write_vault(data: Path, folder: Path, count: int) -> int:
    """Writes a vault and says how many bytes it has."""
    size = 0
    for name in _FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for path, text in pages(data, count):
        size += (folder / path).write_bytes(text.encode())
    return size
