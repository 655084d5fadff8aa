"""Drives a brain and a model of it in memory side by side, and compares them after each step.

    python tests/faults/test_store_model.py OPERATIONS [SEED]

The model is a few dictionaries: texts by slug, texts by slug and version, settings, files of an
imported folder, and what all of them were at the end of each day. Pages in `notes/` are written
through their files, all others through the brain.
"""

from __future__ import annotations

import copy
import os
import shutil
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from soundness import check_sound, page_texts

from gbrain.as_of import brain_as_of
from gbrain.brain import Brain
from gbrain.errors import Conflict, NotFound
from gbrain.store.backup import restore_brain

STEPS = 50
SLUGS = st.sampled_from(["alpha", "beta", "people/gamma", "people/delta", "alpha-2"])
FILES = st.sampled_from(["notes/one.md", "notes/two.md", "notes/deep/three.md"])
TEXTS = st.builds(
    lambda title, body, ending: f"{title}{body}{ending}",
    st.sampled_from(["", "# Title\n\n", "---\ntags: [a]\n---\n# Other\n\n", "\ufeff# Mark\n"]),
    st.text(st.sampled_from("ab é🙂\n-[]|:#\t"), max_size=30),
    st.sampled_from(["", "\n", "\r\n"]),
)
SETTINGS = st.sampled_from(["rrf_k", "candidate_pool"])


@dataclass
class Model:
    """What a brain must hold: texts now, texts of every version ever acknowledged, settings."""

    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[tuple[str, int], str] = field(default_factory=dict)
    settings: dict[str, int] = field(default_factory=dict)


class BrainBesideModel(RuleBasedStateMachine):
    """Every rule changes the brain and the model; every invariant compares them."""

    operations = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="gbrain-model-"))
        self.root = self.folder / "root"
        (self.root / "notes" / "deep").mkdir(parents=True)
        os.environ["XDG_CACHE_HOME"] = str(self.folder / "cache")
        self.path = self.folder / "brain" / "brain.db"
        self.now = datetime(2026, 1, 1, 12, tzinfo=UTC)
        self._tick()
        self.brain = Brain.open(self.path, make=True)
        self.model = Model()
        self.files: dict[str, str] = {}
        self.days: dict[str, dict[str, str]] = {}
        self.backups: list[tuple[Path, Model]] = []

    def teardown(self) -> None:
        self.brain.close()
        check_sound(self.path)
        shutil.rmtree(self.folder)

    def _tick(self) -> None:
        """Let a second pass, so that no two writes have the same time."""
        self.now += timedelta(seconds=1)
        os.environ["GBRAIN_NOW"] = self.now.isoformat()
        type(self).operations += 1

    def _acknowledge(self, slug: str, version: int, text: str) -> None:
        known = self.model.versions.setdefault((slug, version), text)
        assert known == text, f"{slug}@{version} names two texts"
        self.model.texts[slug] = text

    @rule(slug=SLUGS, text=TEXTS)
    def put(self, slug: str, text: str) -> None:
        self._tick()
        written = self.brain.put(slug, text.encode())
        assert (written.outcome == "created") == (slug not in self.model.texts)
        self._acknowledge(slug, written.version, text)

    @rule(slug=SLUGS, text=TEXTS, wrong=st.integers(1, 3))
    def put_at_wrong_version(self, slug: str, text: str, wrong: int) -> None:
        self._tick()
        known = self.brain.find(slug)
        with pytest.raises(Conflict):
            self.brain.put(
                slug, text.encode(), expected_version=(known.version if known else 0) + wrong
            )

    @rule(slug=SLUGS)
    def delete(self, slug: str) -> None:
        self._tick()
        if slug in self.model.texts:
            self.brain.delete(slug)
            del self.model.texts[slug]
        else:
            with pytest.raises(NotFound):
                self.brain.delete(slug)

    @rule(old=SLUGS, new=SLUGS)
    def rename(self, old: str, new: str) -> None:
        self._tick()
        if old not in self.model.texts:
            with pytest.raises(NotFound):
                self.brain.rename(old, new)
        elif new in self.model.texts and new != old:
            with pytest.raises(Conflict):
                self.brain.rename(old, new)
        else:
            text = self.model.texts.pop(old)
            self._acknowledge(new, self.brain.rename(old, new).version, text)

    @precondition(lambda self: self.model.versions)
    @rule(data=st.data())
    def put_back_a_version(self, data: st.DataObject) -> None:
        """Undo a change or a deletion: write the text that an earlier version had."""
        self._tick()
        slug, version = data.draw(st.sampled_from(sorted(self.model.versions)))
        if not slug.startswith("notes/"):
            text = self.brain.text(slug, version)
            self._acknowledge(slug, self.brain.put(slug, text.encode()).version, text)

    @rule(name=SETTINGS, value=st.integers(1, 1000))
    def set_setting(self, name: str, value: int) -> None:
        self._tick()
        self.brain.set(name, str(value))
        self.model.settings[name] = value

    @rule(name=SETTINGS)
    def reset_setting(self, name: str) -> None:
        self._tick()
        self.brain.reset([name])
        self.model.settings.pop(name, None)

    @rule(file=FILES, text=TEXTS)
    def write_file(self, file: str, text: str) -> None:
        (self.root / file).write_bytes(text.encode())
        self.files[file] = text

    @rule(file=FILES)
    def remove_file(self, file: str) -> None:
        (self.root / file).unlink(missing_ok=True)
        self.files.pop(file, None)

    @rule(old=FILES, new=FILES)
    def move_file(self, old: str, new: str) -> None:
        if old in self.files:
            (self.root / old).replace(self.root / new)
            self.files[new] = self.files.pop(old)

    @precondition(lambda self: self.files)
    @rule()
    def sync(self) -> None:
        self._tick()
        self.brain.import_folder(self.root, remove_missing=True)
        for slug in [slug for slug in self.model.texts if slug.startswith("notes/")]:
            del self.model.texts[slug]
        for file, text in self.files.items():
            slug = file.removesuffix(".md")
            self._acknowledge(slug, self.brain.get(slug).version, text)

    @rule()
    def reopen(self) -> None:
        self._tick()
        self.brain.close()
        self.brain = Brain.open(self.path)

    @rule()
    def end_the_day(self) -> None:
        """Remember what the brain holds today, and go on tomorrow."""
        self.days[self.now.astimezone().date().isoformat()] = dict(self.model.texts)
        self.now += timedelta(days=1)
        self._tick()

    @precondition(lambda self: self.days)
    @rule(data=st.data())
    def look_back(self, data: st.DataObject) -> None:
        self._tick()
        day = data.draw(st.sampled_from(sorted(self.days)))
        with closing(brain_as_of(self.brain, day)) as past:
            assert page_texts(past.path) == self.days[day]

    @precondition(lambda self: len(self.backups) < 3)
    @rule()
    def back_up(self) -> None:
        self._tick()
        target = self.folder / "backups" / f"{len(self.backups)}.db"
        target.parent.mkdir(mode=0o700, exist_ok=True)
        self.brain.backup(target)
        self.backups.append((target, copy.deepcopy(self.model)))

    @precondition(lambda self: self.backups)
    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        """Bring a backup back. What was written since is in the file that restore keeps."""
        self._tick()
        backup, model = data.draw(st.sampled_from(self.backups))
        self.brain.close()
        moment = f"{BrainBesideModel.operations}"
        done = restore_brain(self.path, backup, moment, 1.0)
        assert done.kept
        assert page_texts(done.kept) == self.model.texts
        self.model = copy.deepcopy(model)
        self.days.clear()
        self.brain = Brain.open(self.path)

    @invariant()
    def pages_are_those_of_the_model(self) -> None:
        stored, count = self.brain.list()
        assert {page.slug for page in stored} == set(self.model.texts)
        assert count == len(self.model.texts)
        assert {slug: self.brain.text(slug) for slug in self.model.texts} == self.model.texts

    @invariant()
    def every_version_keeps_its_text(self) -> None:
        for (slug, version), text in self.model.versions.items():
            assert self.brain.text(slug, version) == text, (slug, version)

    @invariant()
    def settings_are_those_of_the_model(self) -> None:
        self.brain.reload_settings()
        defaults = type(self.brain.settings)()
        for name in ("rrf_k", "candidate_pool"):
            expected = self.model.settings.get(name, getattr(defaults, name))
            assert getattr(self.brain.settings, name) == expected


def drive(examples: int, number: int | None) -> None:
    """Run the state machine on so many brains; the same ones every time without a number."""
    chosen = settings(
        max_examples=examples,
        stateful_step_count=STEPS,
        deadline=None,
        derandomize=number is None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,) if examples < 10 else (Phase.generate, Phase.shrink),
    )
    machine = BrainBesideModel if number is None else with_seed(number)(BrainBesideModel)
    run_state_machine_as_test(machine, settings=chosen)  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("examples", [6, pytest.param(1000, marks=pytest.mark.slow)])
def test_a_brain_behaves_like_its_model(examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GBRAIN_NOW", "2026-01-01T12:00:00+00:00")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    drive(examples, None)


def main() -> None:
    operations, number = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    began = monotonic()
    drive(operations // STEPS, number)
    done = BrainBesideModel.operations
    print(f"{done} operations in {monotonic() - began:.0f} s, seed {number}: no difference")


if __name__ == "__main__":
    main()
