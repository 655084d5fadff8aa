"""Measure questions in fifteen languages, within a language and across, for each model.

    python tests/benchmarks/bench_languages.py [MODEL...] [--language de] [--half tune|confirm]
        [--mode hybrid] [--together] [--keep FOLDER] [--misses] [--lists fixtures/other-languages]

MODEL is the name of a packaged model or the folder of another one; a folder of E5 without a
gbrain.json is read with its prefixes and mean pooling (default: the packaged models). Each language
is a small vault of its notes and the English ones; --together asks all questions on one vault of
all notes. --keep keeps the brains in FOLDER for later runs. The lists are in fixtures/languages. On
those in fixtures/other-languages and fixtures/mixed-vaults nothing was fitted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, get_args

os.environ.setdefault("GBRAIN_NOW", "2026-11-16T09:00:00+00:00")

from gbrain.brain import Brain
from gbrain.models.catalog import PACKAGED_MODEL, ModelSpec, packaged_model, spec_from_folder
from gbrain.types import Mode

LISTS = Path(__file__).parents[2] / "fixtures" / "languages"
MODES: tuple[Mode, ...] = ("bm25", "semantic", "hybrid")
E5_SETTINGS = {"pooling": "mean", "query_prefix": "query: ", "passage_prefix": "passage: "}


class Question(NamedTuple):
    """One labelled question; `slug` is None if no note answers it."""

    question: str
    slug: str | None
    asked_in: str
    half: str

    @property
    def kind(self) -> str:
        """Return whether the question is in the language of its note, from or to English."""
        if self.slug is None:
            return "unanswerable"
        if self.slug.startswith(f"{self.asked_in}/"):
            return "same language"
        return "from English" if self.asked_in == "en" else "to English"


class Result(NamedTuple):
    """How a question was answered in one mode."""

    language: str
    question: Question
    first: bool
    in_three: bool
    grade: str


def read_questions(language: str, half: str | None, lists: Path = LISTS) -> list[Question]:
    """Return the questions of a language's list, or of one half of it."""
    lines = (lists / f"{language}.jsonl").read_text("utf-8").splitlines()
    questions = [Question(**json.loads(line)) for line in lines]
    return [question for question in questions if half in (None, question.half)]


def open_model(name: str) -> tuple[ModelSpec, bool]:
    """Return the spec of a packaged model or of a folder, and whether it is packaged."""
    folder = Path(name)
    if not folder.is_dir():
        return packaged_model(name), True
    if (folder / "gbrain.json").exists():
        return spec_from_folder(folder), False
    return spec_from_folder(folder, max_tokens=512, **E5_SETTINGS), False


def build_brain(path: Path, languages: Iterable[str], model: str, lists: Path = LISTS) -> Brain:
    """Return a brain with the notes of the languages, embedded with the model."""
    new = not path.exists()
    brain = Brain.open(path, make=True)
    if new:
        with tempfile.TemporaryDirectory() as folder:
            for language in languages:
                shutil.copytree(lists / "notes" / language, Path(folder) / language)
            brain.import_folder(Path(folder))
        spec, packaged = open_model(model)
        brain.add_model(spec, packaged=packaged)
        brain.use_model(spec.name)
    brain.embed()
    return brain


def ask(brain: Brain, language: str, question: Question, mode: Mode) -> Result:
    """Return how a question is answered."""
    answer = brain.query(question.question, mode=mode, limit=10)
    found = [hit.slug for hit in answer.hits]
    grade = answer.verdict.grade
    return Result(language, question, question.slug in found[:1], question.slug in found[:3], grade)


def share(values: Sequence[bool]) -> str:
    """Return the share of true values, or a dash for none."""
    return f"{sum(values) / len(values):.3f}".removeprefix("0") if values else "-"


def print_results(name: str, results: Sequence[Result]) -> None:
    """Print one line: share first and in three by kind, and the errors of the verdict."""
    cells = []
    for kind in ("same language", "from English", "to English"):
        some = [one for one in results if one.question.kind == kind]
        first, three = share([one.first for one in some]), share([one.in_three for one in some])
        cells.append(f"{first:>5} {three:>5} ({len(some):3})")
    right = [one.grade == "nothing" for one in results if one.first]
    none = [one.grade for one in results if one.question.slug is None]
    nothing, strong = (share([grade == one for grade in none]) for one in ("nothing", "strong"))
    print(
        f"  {name:9} {'  '.join(cells)}  {share(right):>5}  {nothing:>5} {strong:>5} ({len(none)})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=[PACKAGED_MODEL])
    parser.add_argument("--language", action="append")
    parser.add_argument("--half", choices=("tune", "confirm"))
    parser.add_argument("--mode", choices=get_args(Mode), action="append")
    parser.add_argument("--together", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--misses", action="store_true")
    parser.add_argument("--lists", type=Path, default=LISTS)
    options = parser.parse_args()
    known = sorted(file.stem for file in options.lists.glob("*.jsonl"))
    results: dict[tuple[str, str], list[Result]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        for model in options.models:
            for language in options.language or known:
                name = "all" if options.together else language
                notes = known if options.together else sorted({"en", language})
                path = folder / f"{Path(model).name}-{name}.db"
                with build_brain(path, notes, model, options.lists) as brain:
                    for mode in options.mode or MODES:
                        for question in read_questions(language, options.half, options.lists):
                            result = ask(brain, language, question, mode)
                            results[model, mode].append(result)
                            if options.misses and question.slug and not result.first:
                                print(f"miss: {Path(model).name} {mode} {question.question} "
                                      f"→ {question.slug}")  # fmt: skip
    for (model, mode), found in results.items():
        print(f"{Path(model).name}, {mode}")
        print(f"  {'':9} {'same language':17}  {'from English':17}  {'to English':17}  "
              "right,  unanswerable,")  # fmt: skip
        print(f"  {'':9} {'  '.join(['first  in 3   (n)'] * 3)}  graded  graded nothing, strong")
        for language in options.language or known:
            print_results(language, [one for one in found if one.language == language])
        print_results("all", found)


if __name__ == "__main__":
    main()
