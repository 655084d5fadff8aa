"""Processes that write to a brain while others use it: two writers and an embedder."""

from __future__ import annotations

import json
from contextlib import suppress
from time import perf_counter

from concurrency import DAY, GONE, LOG, SHARED, Member, stamped_page, write_files

from gbrain.brain import Brain, timestamp
from gbrain.errors import Conflict, NotFound
from gbrain.store.timeline import add_timeline_entry

# Share of the writes that are made by a command instead of the library.
BY_COMMAND = 0.05


def writer(member: Member) -> None:
    actions = member.shuffled((put, count_up, timeline_add, delete_or_put, import_))
    with Brain.open(member.path) as brain:
        for turn, action in zip(member.turns(0.02), actions, strict=False):
            began = perf_counter()
            details = action(member, brain, f"c{member.number}x{turn}")
            if details:
                member.report(action.__name__, began, **details)


def put(member: Member, brain: Brain, stamp: str) -> dict[str, object]:
    slug = f"own-{member.number}/{member.rng.randint(1, 4)}"
    _put(member, brain, slug, stamp)
    return {"slugs": [slug], "stamp": stamp}


def _put(member: Member, brain: Brain, slug: str, stamp: str) -> None:
    if member.rng.random() < BY_COMMAND:
        code, _, errors = member.command("put", slug, "--json", stdin=stamped_page(slug, stamp))
        assert code == 0, errors
    else:
        brain.put(slug, stamped_page(slug, stamp).encode())


def count_up(member: Member, brain: Brain, stamp: str) -> dict[str, object] | None:
    """Increment a number on a page, unless the other writer was faster."""
    slug = member.rng.choice(SHARED)
    page, _, text = brain.page(slug)
    following = f"# Count\n\n{int(text.split()[-1]) + 1}\n"
    if member.rng.random() < BY_COMMAND:
        arguments = ("put", slug, "--expected-version", str(page.version), "--json")
        code, _, errors = member.command(*arguments, stdin=following)
        refused = code == 1 and json.loads(errors)["error"]["code"] == "version_conflict"
        assert code == 0 or refused, errors
        return None if refused else {"slug": slug}
    try:
        brain.put(slug, following.encode(), expected_version=page.version)
    except Conflict:
        return None
    return {"slug": slug}


def timeline_add(member: Member, brain: Brain, stamp: str) -> dict[str, object]:
    line = f"said {stamp}"
    if member.rng.random() < BY_COMMAND:
        code, _, errors = member.command("timeline-add", LOG, line, "--date", DAY, "--json")
        assert code == 0, errors
    else:
        with brain.database.write_transaction() as connection:
            add_timeline_entry(connection, LOG, DAY, line, None, timestamp())
    return {"line": line}


def delete_or_put(member: Member, brain: Brain, stamp: str) -> dict[str, object]:
    slug = member.rng.choice(GONE)
    if member.rng.random() < 0.5:
        _put(member, brain, slug, stamp)
        return {"slugs": [slug], "stamp": stamp}
    if member.rng.random() < BY_COMMAND:
        code, _, errors = member.command("delete", slug, "--json")
        assert code == 0 or json.loads(errors)["error"]["code"] == "not_found", errors
    else:
        with suppress(NotFound):
            brain.delete(slug)
    return {"deleted": slug}


def import_(member: Member, brain: Brain, stamp: str) -> dict[str, object]:
    """Write all files of a folder and import them; readers must see all change at once."""
    root = member.folder / f"folder-{member.number}"
    slugs = write_files(root, f"notes-{member.number}", stamp)
    if member.rng.random() < BY_COMMAND:
        code, output, errors = member.command("import", str(root), "--no-embed", "--json")
        assert code == 0, output + errors
    else:
        report = brain.import_folder(root)
        assert not report.problems, report.problems
    return {"slugs": slugs, "stamp": stamp}


def embedder(member: Member) -> None:
    """Embed, back up and compact in turn, and write files of the watched folder."""
    copy = str(member.folder / "copies" / "brain.db")
    for turn in member.turns(0.2):
        write_files(member.folder / "watched", "watched", f"c{member.number}x{turn}")
        arguments = (("embed", "--stale"), ("compact",), ("embed",), ("backup", copy, "--force"))[
            turn % 4
        ]
        began = perf_counter()
        code, _, errors = member.command(*arguments, "--json")
        assert code == 0, errors
        member.report(arguments[0], began)
