"""Fit the map that takes the language out of the vectors of a multilingual model.

    python tests/benchmarks/fit_language_map.py MODEL PACKAGES FOLDER

A multilingual model places texts of one language close together, so that a question finds notes in
its own language before those that answer it. A linear map of the vectors, with an offset each for
queries and chunks, is written to FOLDER; the embedder applies it to every vector. It is fitted by
contrast: among the chunks of two languages, a query in either one has to be nearest to its own.

PACKAGES is a folder in which Debian's unicode-cldr-core and gnome-user-docs are unpacked
(`apt-get download` and `dpkg -x`). Queries and chunks are the names of emoji and their keywords,
the descriptions of help pages and their texts, and the questions and notes of the half `tune` in
fixtures/languages. Of every tenth emoji and page the share that is found is printed, before and
after: those are not fitted on. Takes about ten minutes.
"""

from __future__ import annotations

import random
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_languages import LISTS, open_model, read_questions
from numpy.typing import NDArray

from gbrain.models.catalog import LANGUAGE_MAP_FILE
from gbrain.models.embedder import OnnxEmbedder

LANGUAGES = (
    "en de fr es it pt nl sv da fi cs pl hu ro ru uk el tr he ar fa hi bn ta th vi id ko ja zh hr "
    "lt ca sr"
).split()
MAX_LANGUAGES_PER_EMOJI = 13
HELP_FOLDERS = {"en": "C", "pt": "pt_BR", "zh": "zh_CN"}
MAX_HELP_CHARACTERS, ENOUGH_HELP_CHARACTERS, MIN_HELP_CHARACTERS = 420, 200, 100
MALLARD = "{http://projectmallard.org/1.0/}"

# The loss falls no more on what is not fitted on from about 1,500 steps on; of temperatures from
# .03 to .1, batches from 24 to 96 and rates from 3e-4 to 1e-3, the results differ by chance.
STEPS, BATCH_TEXTS, TEMPERATURE, RATE = 2000, 64, 0.035, 3e-4
MIN_BATCH_TEXTS = 8
# Of the steps, these are on small vaults of notes with the questions of their half `tune`.
SHARE_OF_NOTES = 0.2
HELD_OUT, VAULT_TEXTS = 10, 20

Floats = NDArray[np.float32]
Text = tuple[str, str]
Vault = tuple[Floats, Floats, NDArray[np.int64]]


class Texts(NamedTuple):
    """Vectors of the same queries and chunks by language; NaN where a language has none."""

    languages: list[str]
    queries: Floats
    chunks: Floats

    def shared(self, one: str, other: str, rows: Iterable[int]) -> list[int]:
        """Return those of the rows that two languages have."""
        places = [self.languages.index(one), self.languages.index(other)]
        return [row for row in rows if not np.isnan(self.queries[row, places, 0]).any()]


class LanguageMap:
    """A linear map with an offset for queries and another for chunks."""

    def __init__(self, dimension: int) -> None:
        self.rows: Floats = np.vstack(
            [np.eye(dimension), np.zeros((2, dimension))], dtype=np.float32
        )

    def apply(self, vectors: Floats, *, chunks: bool) -> tuple[Floats, Floats]:
        """Return the unit vectors after the map, and their lengths before."""
        mapped = vectors @ self.rows[:-2].T + self.rows[-1 if chunks else -2]
        lengths = np.linalg.norm(mapped, axis=1, keepdims=True)
        return mapped / lengths, lengths

    def gradient(self, queries: Floats, chunks: Floats, wanted: NDArray[np.int64]) -> Floats:
        """Return the gradient of the loss if each query should be nearest to its wanted chunk.

        If there are as many queries as chunks, each chunk should be nearest to its query as well.
        """
        asked, asked_lengths = self.apply(queries, chunks=False)
        found, found_lengths = self.apply(chunks, chunks=True)
        cosines = asked @ found.T / TEMPERATURE
        right = np.zeros_like(cosines)
        right[np.arange(len(asked)), wanted] = 1
        change = softmax(cosines) - right
        if len(asked) == len(found):
            change = (change + softmax(cosines.T).T - right) / 2
        change /= len(asked) * TEMPERATURE
        of_asked = tangent(asked, change @ found) / asked_lengths
        of_found = tangent(found, change.T @ asked) / found_lengths
        return np.vstack(
            [of_asked.T @ queries + of_found.T @ chunks, of_asked.sum(0), of_found.sum(0)]
        )


def softmax(rows: Floats) -> Floats:
    """Return the rows as probabilities."""
    powers = np.exp(rows - rows.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def tangent(units: Floats, change: Floats) -> Floats:
    """Return the part of each change that does not alter the length of its unit vector."""
    return change - units * (units * change).sum(axis=1, keepdims=True)


def read_emoji(folder: Path) -> dict[str, dict[str, Text]]:
    """Return the names and keywords of emoji, by sign and language."""
    found: dict[str, dict[str, Text]] = {}
    annotations = folder / "unicode-cldr-core/usr/share/unicode/cldr/common/annotations"
    for language in LANGUAGES:
        names: dict[str, str] = {}
        keywords: dict[str, str] = {}
        for one in ET.parse(annotations / f"{language}.xml").getroot().iter("annotation"):
            (names if one.get("type") else keywords)[one.get("cp", "")] = one.text or ""
        for sign, name in names.items():
            words = keywords.get(sign, "")
            is_picture = 0x1F300 <= ord(sign[0]) <= 0x1FAFF or 0x2600 <= ord(sign[0]) <= 0x27BF
            enough = words.count("|") >= (2 if language == "en" else 1)
            # An arrow stands for the text of a parent language.
            if is_picture and enough and "↑" not in name + words:
                others = [word.strip() for word in words.split("|") if word.strip() != name]
                found.setdefault(sign, {})[language] = name, ", ".join(others) or words
    return {sign: some_languages(sign, texts) for sign, texts in found.items() if "en" in texts}


def some_languages(sign: str, texts: Mapping[str, Text]) -> dict[str, Text]:
    """Return the texts in English and some other languages, chosen by chance but always alike."""
    others = [language for language in LANGUAGES[1:] if language in texts]
    random.Random(sign).shuffle(others)
    chosen = ["en", *others[: MAX_LANGUAGES_PER_EMOJI - 1]]
    return {language: texts[language] for language in chosen}


def read_help(folder: Path) -> dict[str, dict[str, Text]]:
    """Return descriptions and beginnings of translated help pages, by page and language."""
    found: dict[str, dict[str, Text]] = {}
    for language in LANGUAGES:
        name = HELP_FOLDERS.get(language, language)
        pages = folder / f"gnome-user-docs/usr/share/help/{name}/gnome-help"
        for path in sorted(pages.glob("*.page")):
            page = read_help_page(path)
            english = found.get(path.stem, {}).get("en")
            # Texts that nobody has translated yet are English.
            if page and (language == "en" or (english and not is_same(page, english))):
                found.setdefault(path.stem, {})[language] = page
    return found


def read_help_page(path: Path) -> Text | None:
    """Return the description of a help page, and its title with its first paragraphs."""
    try:
        root = ET.parse(path).getroot()
    except ET.ParseError:
        return None
    title, summary = root.find(f"{MALLARD}title"), root.find(f"{MALLARD}info/{MALLARD}desc")
    if title is None or summary is None:
        return None
    body = ""
    for paragraph in root.iter(f"{MALLARD}p"):
        if len(body) <= ENOUGH_HELP_CHARACTERS:
            body = f"{body} {plain(paragraph)}".strip()
    least = MIN_HELP_CHARACTERS if body[:1] < "\u2e80" else MIN_HELP_CHARACTERS // 2
    if len(body) < least:
        return None
    return plain(summary), f"{plain(title)}\n{body[:MAX_HELP_CHARACTERS]}"


def plain(element: ET.Element) -> str:
    """Return the text of an element on one line."""
    return re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def is_same(one: Text, other: Text) -> bool:
    """Tell whether two pages share their description, the beginning or the end of their text."""
    return one[0] == other[0] or one[1][:60] == other[1][:60] or one[1][-60:] == other[1][-60:]


def embed(embedder: OnnxEmbedder, texts: Mapping[str, Mapping[str, Text]]) -> Texts:
    """Return the vectors of queries and chunks by their names, in sorted order, and languages."""
    languages = sorted({language for by_language in texts.values() for language in by_language})
    shape = len(texts), len(languages), embedder.spec.dimension
    queries, chunks = (np.full(shape, np.nan, np.float32) for _ in range(2))
    for row, name in enumerate(sorted(texts)):
        for language, (query, chunk) in texts[name].items():
            place = row, languages.index(language)
            queries[place] = embedder.embed_query(query)
            (chunks[place],) = embedder.embed_chunks([chunk])
    return Texts(languages, queries, chunks)


def embed_notes(embedder: OnnxEmbedder) -> list[Vault]:
    """Return of each vault of notes the questions to fit on, the notes, and which are wanted."""
    vaults = []
    for path in sorted(LISTS.glob("*.jsonl")):
        notes = {
            f"{file.parent.name}/{file.stem}": file.read_text("utf-8").removeprefix("# ").strip()
            for language in sorted({"en", path.stem})
            for file in sorted((LISTS / "notes" / language).glob("*.md"))
        }
        slugs = list(notes)
        asked = [one for one in read_questions(path.stem, "tune") if one.slug]
        queries = np.array([embedder.embed_query(one.question) for one in asked])
        wanted = np.array([slugs.index(one.slug or "") for one in asked])
        vaults.append((queries, np.array(list(embedder.embed_chunks(notes.values()))), wanted))
    return vaults


def draw_batch(chance: np.random.Generator, texts: Texts) -> tuple[Floats, Floats] | None:
    """Return queries and their chunks, each in one of two languages; one is often English."""
    one = "en" if chance.random() < 0.6 else str(chance.choice(texts.languages))
    other = str(chance.choice([language for language in texts.languages if language != one]))
    rows = [row for row in range(len(texts.queries)) if row % HELD_OUT]
    rows = texts.shared(one, other, rows)
    if len(rows) < MIN_BATCH_TEXTS:
        return None
    chosen = chance.choice(rows, min(BATCH_TEXTS, len(rows)), replace=False)
    places = np.array([texts.languages.index(one), texts.languages.index(other)])
    of_queries, of_chunks = (places[chance.integers(2, size=len(chosen))] for _ in range(2))
    return texts.queries[chosen, of_queries], texts.chunks[chosen, of_chunks]


def fit(dimension: int, corpora: Mapping[str, Texts], vaults: list[Vault]) -> LanguageMap:
    """Return the map that Adam finds, with a rate that falls to 0."""
    chance = np.random.default_rng(0)
    fitted = LanguageMap(dimension)
    names = list(corpora)
    mean, square = np.zeros_like(fitted.rows), np.zeros_like(fitted.rows)
    for step in range(1, STEPS + 1):
        if chance.random() < SHARE_OF_NOTES:
            gradient = fitted.gradient(*vaults[chance.integers(len(vaults))])
        else:
            batch = draw_batch(chance, corpora[names[chance.integers(len(names))]])
            if batch is None:
                continue
            gradient = fitted.gradient(*batch, np.arange(len(batch[0])))
        mean += 0.1 * (gradient - mean)
        square += 0.001 * (gradient**2 - square)
        rate = RATE * (1 - step / (STEPS + 1))
        scale = np.sqrt(square / (1 - 0.999**step)) + 1e-8
        fitted.rows -= rate * mean / (1 - 0.9**step) / scale
    return fitted


def share_found(fitted: LanguageMap, texts: Texts) -> str:
    """Return the share of held-out queries whose chunk is first among those of two languages."""
    chance = np.random.default_rng(1)
    found: dict[str, list[bool]] = {"same language": [], "from English": [], "to English": []}
    for language in texts.languages:
        rows = texts.shared("en", language, range(0, len(texts.queries), HELD_OUT))
        if language == "en" or len(rows) < VAULT_TEXTS:
            continue
        for _ in range(10):
            chosen = chance.choice(rows, VAULT_TEXTS, replace=False)
            foreign = np.arange(VAULT_TEXTS) % 2 == 1
            places = np.array([texts.languages.index("en"), texts.languages.index(language)])
            chunks = fitted.apply(texts.chunks[chosen, places[foreign * 1]], chunks=True)[0]
            for asked in (0, 1):
                queries = fitted.apply(texts.queries[chosen, places[asked]], chunks=False)[0]
                first = (queries @ chunks.T).argmax(axis=1) == np.arange(VAULT_TEXTS)
                across = "to English" if asked else "from English"
                found["same language"] += list(first[foreign == bool(asked)])
                found[across] += list(first[foreign != bool(asked)])
    return ", ".join(f"{kind} {np.mean(hits):.3f}" for kind, hits in found.items())


def main() -> None:
    model, packages, folder = sys.argv[1:]
    spec = open_model(model)[0]
    # What an earlier map removes would be missing from the new one.
    files = tuple(file for file in spec.files if file.path != LANGUAGE_MAP_FILE)
    embedder = OnnxEmbedder(spec._replace(files=files), for_many_texts=True)
    texts = {"emoji": read_emoji(Path(packages)), "help": read_help(Path(packages))}
    corpora = {name: embed(embedder, some) for name, some in texts.items()}
    fitted = fit(spec.dimension, corpora, embed_notes(embedder))
    for name, some in corpora.items():
        before, after = share_found(LanguageMap(spec.dimension), some), share_found(fitted, some)
        print(f"{name}, {len(some.queries)}: {before}\n{' ' * len(name)}  fitted: {after}")
    Path(folder, LANGUAGE_MAP_FILE).write_bytes(fitted.rows.astype("<f4").tobytes())


if __name__ == "__main__":
    main()
