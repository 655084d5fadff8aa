"""Fit the directions that tell languages apart in the vectors of a multilingual model.

    python tests/benchmarks/fit_language_directions.py MODEL MANPAGES OUTPUT

A multilingual model places texts of one language close together, so that a question finds notes in
its own language before those that answer it. The differences between the mean vectors of languages
span few dimensions; OUTPUT gets an orthonormal basis of them, which the embedder removes from every
vector. The means are those of fixtures/languages/parallel.txt, as queries and as chunks, and of the
commands' manual pages in MANPAGES, in which Debian's manpages-* packages, coreutils and util-linux
are unpacked. bench_manpages.py asks for pages of other sections.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from bench_languages import LISTS, open_model
from bench_manpages import read_page

from gbrain.models.catalog import LANGUAGE_DIRECTIONS_FILE
from gbrain.models.embedder import OnnxEmbedder

# Of 20 languages with manual pages and 27 with sentences. Fewer leave some of the languages apart,
# more take away from what the texts are about.
DIRECTIONS = 20
PAGES_PER_LANGUAGE = 60
MIN_PAGES = 15
PAGE_CHARACTERS = 300


def parallel_sentences() -> dict[str, list[str]]:
    """Return the same sentences by language."""
    parts = re.split(r"(?m)^# ", (LISTS / "parallel.txt").read_text("utf-8"))[1:]
    return {lines[0]: lines[1:] for lines in map(str.splitlines, map(str.strip, parts))}


def command_pages(folder: Path) -> dict[str, list[str]]:
    """Return the openings of manual pages of commands by language."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.glob("*/usr/share/man/**/man[18]/*.gz")):
        language = path.parents[1].name
        if len(found[language]) < PAGES_PER_LANGUAGE:
            page = read_page(path)
            if page and len(page.body) > PAGE_CHARACTERS // 2:
                found[language].append(page.body[:PAGE_CHARACTERS])
    return {language: texts for language, texts in found.items() if len(texts) >= MIN_PAGES}


def main() -> None:
    model, manpages, output = sys.argv[1:]
    spec = open_model(model)[0]
    # Directions of an earlier fit would be missing from the new one.
    files = tuple(file for file in spec.files if file.path != LANGUAGE_DIRECTIONS_FILE)
    embedder = OnnxEmbedder(spec._replace(files=files))
    sentences, pages = parallel_sentences().values(), command_pages(Path(manpages)).values()
    as_chunks = [np.mean(list(embedder.embed_chunks(texts)), axis=0) for texts in sentences]
    as_queries = [np.mean([*map(embedder.embed_query, texts)], axis=0) for texts in sentences]
    of_pages = [np.mean(list(embedder.embed_chunks(texts)), axis=0) for texts in pages]
    centred = [
        np.array(means) - np.mean(means, axis=0) for means in (as_chunks, as_queries, of_pages)
    ]
    basis = np.linalg.svd(np.vstack(centred), full_matrices=False)[2][:DIRECTIONS]
    Path(output).write_bytes(basis.astype("<f4").tobytes())
    print(f"{len(as_chunks)} languages of sentences, {len(of_pages)} of manual pages")


if __name__ == "__main__":
    main()
