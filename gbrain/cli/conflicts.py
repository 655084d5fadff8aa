"""`conflicts` and `resolve`: pages that could not be merged with their file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gbrain.cli.commands import (
    Db,
    ExitCode,
    Json,
    Module,
    NoPager,
    Quiet,
    Slug,
    examples,
    exit_if_nothing,
    open_brain,
    refuse_together,
)
from gbrain.cli.edit import edit_text, print_edited
from gbrain.errors import BadPage
from gbrain.output import screen

if TYPE_CHECKING:
    from gbrain.store.page_writer import WriteResult

command = Module()


@command.command("conflicts", epilog=examples("gbrain conflicts", "gbrain conflicts --exit-code"))
def conflicts(
    exit_code: ExitCode = False,
    no_pager: NoPager = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """List pages that could not be merged with their file.

    The same lines changed in the brain and in the file. The page now has the file's text; the
    brain's text is kept as the version that is listed. gbrain resolve merges the two.
    """
    with open_brain(db) as brain:
        found = brain.conflicts()
    if json:
        documents = [
            {"slug": c.slug, "path": c.path, "version": c.version, "found_at": c.found_at}
            for c in found
        ]
        screen.write_json({"conflicts": documents, "total": len(found)})
    else:
        rows = [(c.slug, c.version, c.found_at, c.path) for c in found]
        headers = ("Slug", "Version", "Found", "File")
        screen.write_table(headers, rows, "No conflicts.", quiet=quiet, pager=not no_pager)
    exit_if_nothing(found, exit_code)


@command.command(
    "resolve",
    epilog=examples("gbrain resolve people/alice-chen", "gbrain resolve people/alice-chen --file"),
)
def resolve(
    slug: Slug,
    file: Annotated[bool, typer.Option("--file", help="Keep the file's text.")] = False,
    brain_text: Annotated[bool, typer.Option("--brain", help="Use the brain's text.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Merge the two texts of a conflict in your editor.

    Where they differ, both are shown between lines of <<<<<<< and >>>>>>>. Keep the text that you
    want and remove these lines.
    """
    refuse_together({"--file": file, "--brain": brain_text})
    with open_brain(db) as brain:
        name = brain.resolve(slug)
        texts = brain.conflict_texts(name)

        def write(data: bytes) -> WriteResult:
            refuse_markers(data)
            return brain.resolve_conflict(name, data, texts)

        if file or brain_text:
            # Not checked for markers: the page may be about merging.
            chosen = texts.file if file else texts.brain
            written: WriteResult | None = brain.resolve_conflict(name, chosen.encode(), texts)
        else:
            from gbrain.text.merge import merge_texts

            merged = merge_texts(texts.base, texts.brain, texts.file)
            written = edit_text(name, merged.text, write, quiet=quiet or json)
        left = [conflict for conflict in brain.conflicts() if conflict.slug == name]
    if left and not quiet:
        screen.say(f"{name} has another conflict: run gbrain resolve {name} again.")
    assert written is not None
    print_edited(name, written.version, written.outcome, written, quiet=quiet, json=json)


def refuse_markers(data: bytes) -> None:
    """Raise BadPage for a text that still has the marks of a conflict."""
    from gbrain.text.merge import has_markers

    if has_markers(data.decode(errors="replace")):
        raise BadPage(
            "The text still has lines of <<<<<<< or >>>>>>>",
            hint="Keep the text that you want, and remove these lines.",
            code="unresolved",
        )
