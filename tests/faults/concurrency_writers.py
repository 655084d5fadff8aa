"""Those who write to a brain that others use: two that change pages, and one that takes care."""

from __future__ import annotations

import json
from contextlib import suppress
from time import perf_counter

from concurrency import DAY, GONE, LOG, SHARED, Crowd, counted, write_files

from gbrain.brain import Brain, timestamp
from gbrain.errors import Conflict, NotFound
from gbrain.store.timeline import add_timeline_entry

# How much of it a writer leaves to a program of its own.
BY_COMMAND = 0.05


def writer(crowd: Crowd) -> None:
    acts = crowd.dealt((put, count_up, timeline_add, delete_or_put, import_))
    with Brain.open(crowd.path) as brain:
        for turn, act in zip(crowd.turns(0.02), acts, strict=False):
            began = perf_counter()
            facts = act(crowd, brain, f"c{crowd.number}x{turn}")
            if facts:
                crowd.tell(act.__name__, began, **facts)


def put(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    slug = f"own-{crowd.number}/{crowd.chance.randint(1, 4)}"
    _put(crowd, brain, slug, stamp)
    return {"slugs": [slug], "stamp": stamp}


def _put(crowd: Crowd, brain: Brain, slug: str, stamp: str) -> None:
    if crowd.chance.random() < BY_COMMAND:
        code, _, complained = crowd.command("put", slug, "--json", stdin=counted(slug, stamp))
        assert code == 0, complained
    else:
        brain.put(slug, counted(slug, stamp).encode())


def count_up(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object] | None:
    """Reads a number and writes the next one, unless the other writer was faster."""
    slug = crowd.chance.choice(SHARED)
    page, _, text = brain.page(slug)
    following = f"# Count\n\n{int(text.split()[-1]) + 1}\n"
    if crowd.chance.random() < BY_COMMAND:
        words = ("put", slug, "--expected-version", str(page.version), "--json")
        code, _, complained = crowd.command(*words, stdin=following)
        refused = code == 1 and json.loads(complained)["error"]["code"] == "version_conflict"
        assert code == 0 or refused, complained
        return None if refused else {"slug": slug}
    try:
        brain.put(slug, following.encode(), expected_version=page.version)
    except Conflict:
        return None
    return {"slug": slug}


def timeline_add(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    line = f"said {stamp}"
    if crowd.chance.random() < BY_COMMAND:
        code, _, complained = crowd.command("timeline-add", LOG, line, "--date", DAY, "--json")
        assert code == 0, complained
    else:
        with brain.database.write_transaction() as connection:
            add_timeline_entry(connection, LOG, DAY, line, None, timestamp())
    return {"line": line}


def delete_or_put(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    slug = crowd.chance.choice(GONE)
    if crowd.chance.random() < 0.5:
        _put(crowd, brain, slug, stamp)
        return {"slugs": [slug], "stamp": stamp}
    if crowd.chance.random() < BY_COMMAND:
        code, _, complained = crowd.command("delete", slug, "--json")
        assert code == 0 or json.loads(complained)["error"]["code"] == "not_found", complained
    else:
        with suppress(NotFound):
            brain.delete(slug)
    return {"deleted": slug}


def import_(crowd: Crowd, brain: Brain, stamp: str) -> dict[str, object]:
    """Writes all files of a folder and takes them in: readers see all of them change at once."""
    root = crowd.folder / f"vault-{crowd.number}"
    slugs = write_files(root, f"notes-{crowd.number}", stamp)
    if crowd.chance.random() < BY_COMMAND:
        code, said, complained = crowd.command("import", str(root), "--no-embed", "--json")
        assert code == 0, said + complained
    else:
        report = brain.import_folder(root)
        assert not report.problems, report.problems
    return {"slugs": slugs, "stamp": stamp}


def embedder(crowd: Crowd) -> None:
    """Embeds, copies and compacts in turn, and writes files that another program watches."""
    copy = str(crowd.folder / "copies" / "brain.db")
    for turn in crowd.turns(0.2):
        write_files(crowd.folder / "watched", "watched", f"c{crowd.number}x{turn}")
        words = (("embed", "--stale"), ("compact",), ("embed",), ("backup", copy, "--force"))[
            turn % 4
        ]
        began = perf_counter()
        code, _, complained = crowd.command(*words, "--json")
        assert code == 0, complained
        crowd.tell(words[0], began)
