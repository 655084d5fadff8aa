"""Measure finding a manual page by its one-line description, within and across languages.

    python tests/benchmarks/bench_manpages.py MANPAGES [MODEL...] [--languages de,fr,ja,zh_CN]
        [--pages N] [--mode semantic]

MANPAGES is a folder in which Debian's packages manpages, manpages-dev, manpages-de, manpages-fr …
are unpacked (`apt-get download` and `dpkg -x`). Each language is one brain of its pages without the
line that is asked for. Questions are the lines of the same language and, across, those of the
English pages of the same names. Pages of commands are left out.
"""

from __future__ import annotations

import argparse
import gzip
import math
import re
import tempfile
from pathlib import Path
from typing import NamedTuple, get_args

from bench_languages import MODES, open_model

from gbrain.brain import Brain
from gbrain.models.catalog import PACKAGED_MODEL
from gbrain.types import Mode

_ESCAPES = re.compile(r"\\f(?:\[[^]]*\]|.)|\\[&/,~c]|\\m\[[^]]*\]|\\s[+-]?\d|\\\(..|\\\[[^]]*\]")
_FONT = re.compile(r"\.(?:B|I|BR|IR|BI|RB|IB|RI|SM|SB)\s+")
_MIN_BODY_CHARACTERS = 200
_MAX_BODY_CHARACTERS = 3000


class ManualPage(NamedTuple):
    """The one-line description of a manual page, and the text of its sections."""

    summary: str
    body: str


def read_page(path: Path) -> ManualPage | None:
    """Return a manual page as text; None without a description."""
    try:
        source = gzip.decompress(path.read_bytes()).decode("utf-8", "replace")
    except OSError:
        return None
    sections: list[list[str]] = []
    for line in source.splitlines():
        if line.startswith(".SH"):
            sections.append([])
            continue
        if line.startswith((".", "'")):
            font = _FONT.match(line)
            if not font or line.startswith("'"):
                continue
            line = line[font.end() :].replace('"', "")
        text = _ESCAPES.sub("", line.replace("\\-", "-").replace("\\(aq", "'")).replace("\\", "")
        if sections and text.strip():
            sections[-1].append(text.strip())
    name = " ".join(sections[0]) if sections else ""
    _, dash, summary = name.partition(" - ")
    body = "\n\n".join(" ".join(lines) for lines in sections[1:])
    return ManualPage(summary.strip(), body) if dash and summary.strip() else None


def read_pages(folder: Path, language: str) -> dict[str, ManualPage]:
    """Return the pages of one language by file name, without those of commands."""
    below = "man[234567]" if language == "en" else f"{language}/man[234567]"
    pages = {
        path.name.removesuffix(".gz"): page
        for path in sorted(folder.glob(f"*/usr/share/man/{below}/*.gz"))
        if not path.is_symlink() and (page := read_page(path))
    }
    by_summary = {page.summary: name for name, page in pages.items()}
    # Pages that only refer to another one, and those that share a description, have no answer.
    return {
        name: page
        for name, page in pages.items()
        if len(page.body) > _MIN_BODY_CHARACTERS and by_summary[page.summary] == name
    }


def build_brain(path: Path, pages: dict[str, ManualPage], model: str) -> Brain:
    """Return a brain of the pages' bodies, embedded with the model."""
    brain = Brain.open(path, make=True)
    with tempfile.TemporaryDirectory() as folder:
        for number, page in enumerate(pages.values()):
            Path(folder, f"p{number}.md").write_text(page.body[:_MAX_BODY_CHARACTERS], "utf-8")
        brain.import_folder(Path(folder))
    spec, packaged = open_model(model)
    brain.add_model(spec, packaged=packaged)
    brain.use_model(spec.name)
    brain.embed()
    return brain


def ndcg(brain: Brain, summaries: list[str], mode: Mode) -> float:
    """Return the mean nDCG@10 of questions whose answers are the pages p0, p1, …, in order."""
    total = 0.0
    for number, summary in enumerate(summaries):
        found = [hit.slug for hit in brain.query(summary, mode=mode, limit=10, all_hits=True).hits]
        if f"p{number}" in found:
            total += 1 / math.log2(found.index(f"p{number}") + 2)
    return total / len(summaries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("manpages", type=Path)
    parser.add_argument("models", nargs="*", default=[PACKAGED_MODEL])
    parser.add_argument("--languages", default="de,fr,ja,zh_CN")
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument("--mode", choices=get_args(Mode), action="append")
    options = parser.parse_args()
    english = read_pages(options.manpages, "en")
    modes = options.mode or MODES
    print(f"nDCG@10 {'':34} {'  '.join(f'{mode:>8}' for mode in modes)}")
    for language in ["en", *options.languages.split(",")]:
        pages = read_pages(options.manpages, language)
        shared = sorted(pages.keys() & english.keys())[: options.pages]
        pages = {name: pages[name] for name in shared}
        for model in options.models:
            with (
                tempfile.TemporaryDirectory() as folder,
                build_brain(Path(folder) / "brain.db", pages, model) as brain,
            ):
                for asked in dict.fromkeys((language, "en")):
                    known = english if asked == "en" else pages
                    summaries = [known[name].summary for name in shared]
                    figures = "  ".join(f"{ndcg(brain, summaries, mode):8.3f}" for mode in modes)
                    pair = f"{asked:>5} → {language:5}"
                    print(f"{Path(model).name:22} {pair} {len(shared):4}  {figures}")


if __name__ == "__main__":
    main()
