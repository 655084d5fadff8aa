"""Fit what is removed from the vectors of a multilingual model: languages and common parts.

    python tests/benchmarks/fit_language_directions.py MODEL MANPAGES FOLDER

A multilingual model places texts of one language close together, so that a question finds notes in
its own language before those that answer it. The differences between the mean vectors of languages
span few dimensions; a file in FOLDER gets an orthonormal basis of them, which the embedder removes
from every vector. The means are those of fixtures/languages/parallel.txt, as queries and as chunks,
and of the commands' manual pages in MANPAGES, in which Debian's manpages-* packages, coreutils and
util-linux are unpacked. bench_manpages.py asks for pages of other sections.

What is left has a common part: two unrelated sentences of the same or of two languages have a
cosine of .83, one of which is English .81. Questions in other languages lose English pages by that,
so a share of the mean vectors of queries and of chunks, in a second file, is subtracted.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from bench_languages import LISTS, open_model
from bench_manpages import read_page
from numpy.typing import NDArray

from gbrain.models.catalog import COMMON_PARTS_FILE, LANGUAGE_DIRECTIONS_FILE
from gbrain.models.embedder import OnnxEmbedder

# Of 20 languages with manual pages and 27 with sentences. Fewer leave some of the languages apart,
# more take away from what the texts are about.
DIRECTIONS = 20
PAGES_PER_LANGUAGE = 60
MIN_PAGES = 15
PAGE_CHARACTERS = 300
# With the whole mean, questions find less in their own language.
COMMON_SHARE = 0.7

Floats = NDArray[np.float32]


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


def mean_without(basis: Floats, vectors: Floats) -> Floats:
    """Return the mean of the vectors after the directions were removed from each."""
    rest = vectors - (vectors @ basis.T) @ basis
    return (rest / np.linalg.norm(rest, axis=1, keepdims=True)).mean(axis=0)


def main() -> None:
    model, manpages, folder = sys.argv[1:]
    spec = open_model(model)[0]
    # What an earlier fit removes would be missing from the new one.
    fitted = (LANGUAGE_DIRECTIONS_FILE, COMMON_PARTS_FILE)
    files = tuple(file for file in spec.files if file.path not in fitted)
    embedder = OnnxEmbedder(spec._replace(files=files))
    sentences, pages = parallel_sentences().values(), command_pages(Path(manpages)).values()
    as_chunks = [np.array(list(embedder.embed_chunks(texts))) for texts in sentences]
    as_queries = [np.array([*map(embedder.embed_query, texts)]) for texts in sentences]
    of_pages = [np.array(list(embedder.embed_chunks(texts))) for texts in pages]
    centred = []
    for texts in (as_chunks, as_queries, of_pages):
        means = np.array([vectors.mean(axis=0) for vectors in texts])
        centred.append(means - means.mean(axis=0))
    basis = np.linalg.svd(np.vstack(centred), full_matrices=False)[2][:DIRECTIONS]
    Path(folder, LANGUAGE_DIRECTIONS_FILE).write_bytes(basis.astype("<f4").tobytes())
    common = [mean_without(basis, np.vstack(texts)) for texts in (as_queries, as_chunks)]
    rows = (COMMON_SHARE * np.array(common)).astype("<f4")
    Path(folder, COMMON_PARTS_FILE).write_bytes(rows.tobytes())
    print(f"{len(as_chunks)} languages of sentences, {len(of_pages)} of manual pages")


if __name__ == "__main__":
    main()
