"""`conflicts` and `resolve`: pages that could not be merged with their file or a remote."""

from __future__ import annotations

from pathlib import Path
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
    is_stream,
    read_input,
    refuse_together,
)
from gbrain.cli.drafts import keep_text
from gbrain.cli.edit import edit_text, print_edited
from gbrain.cli.open_brain import open_brain
from gbrain.errors import BadPage, UsageError
from gbrain.output import screen

if TYPE_CHECKING:
    from gbrain.store.conflicts import PageConflict
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
    """List pages that could not be merged.

    A page and its file, or a page here and on a remote, changed in the same place. With a file, the
    page now has the file's text and the brain's text is kept as the version that is listed. With a
    remote, the page has the brain's text and the remote's is that version; the page is not pushed.
    gbrain resolve merges the two.
    """
    with open_brain(db) as brain:
        found = brain.conflicts()
    if json:
        documents = [
            {
                "slug": c.slug,
                "path": c.path,
                "version": c.version,
                "found_at": c.found_at,
                "remote": c.remote,
                "kind": c.kind,
            }
            for c in found
        ]
        screen.write_json({"conflicts": documents, "total": len(found)})
    else:
        rows = [(c.slug, c.version, c.found_at, _other_side(c)) for c in found]
        headers = ("Slug", "Version", "Found", "With")
        screen.write_table(headers, rows, "No conflicts.", quiet=quiet, pager=not no_pager)
    exit_if_nothing(found, exit_code)


def _other_side(conflict: PageConflict) -> str:
    if conflict.remote is None:
        return conflict.path
    where = {
        "both_changed": "",
        "deleted_there": ", which deleted it",
        "deleted_here": ", where it was changed; it was deleted here",
    }
    return f"remote {conflict.remote}{where[conflict.kind]}"


@command.command(
    "resolve",
    epilog=examples(
        "gbrain resolve people/alice-chen",
        "gbrain resolve people/alice-chen --theirs",
        "gbrain resolve people/alice-chen --file merged.md",
    ),
)
def resolve(
    slug: Slug,
    merged_file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Merged text for --file (- for standard input)."),
    ] = None,
    ours: Annotated[bool, typer.Option("--ours", "--brain", help="Use the brain's text.")] = False,
    theirs: Annotated[
        bool, typer.Option("--theirs", help="Use the text of the file or the remote.")
    ] = False,
    file: Annotated[
        bool,
        typer.Option("--file", help="Use the text of FILE; without FILE, of the page's own file."),
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Merge the two texts of a conflict in your editor.

    Where they differ, both are shown between lines of <<<<<<< and >>>>>>>. Keep the text that you
    want and remove these lines. If one side deleted the page, choose with --ours or --theirs. What
    resolves a conflict with a remote is pushed by the next gbrain push.
    """
    refuse_together({"--file": file, "--ours": ours, "--theirs": theirs})
    if merged_file and not file:
        raise UsageError(
            f"gbrain resolve does not take this argument: {merged_file}",
            hint=f"To use the text of that file: gbrain resolve {slug} --file {merged_file}",
        )
    given = read_input(merged_file) if merged_file and is_stream(merged_file) else b""
    with keep_text(slug, given), open_brain(db) as brain:
        name = brain.resolve(slug)
        texts = brain.conflict_texts(name)

        def write(data: bytes) -> WriteResult:
            refuse_markers(data)
            return brain.resolve_conflict(name, data, texts)

        if merged_file:
            written: WriteResult | None = write(given or read_input(merged_file))
        elif file and texts.remote:
            raise UsageError(
                f"The conflict of {name} is with the remote {texts.remote}, not with a file",
                hint=f"gbrain resolve {name} --theirs takes the text of {texts.remote}.",
            )
        elif file or ours or theirs:
            # Not checked for markers: the page may be about merging.
            chosen = texts.brain if ours else texts.theirs
            taken = None if chosen is None else chosen.encode()
            written = brain.resolve_conflict(name, taken, texts)
        elif texts.brain is None or texts.theirs is None:
            raise UsageError(
                f"{name} was deleted {'here' if texts.brain is None else 'there'} and changed "
                f"{'there' if texts.brain is None else 'here'}, so there is nothing to merge",
                hint=f"gbrain resolve {name} --{'theirs' if texts.brain is None else 'ours'} keeps "
                f"the page, --{'ours' if texts.brain is None else 'theirs'} deletes it.",
            )
        else:
            from gbrain.text.merge import merge_texts

            merged = merge_texts(texts.base, texts.brain, texts.theirs)
            written = edit_text(name, merged.text, write, quiet=quiet or json)
        left = [conflict for conflict in brain.conflicts() if conflict.slug == name]
        to_push = texts.remote is not None and name in brain.waiting(texts.remote)
    if left and not quiet:
        screen.say(f"{name} has another conflict: run gbrain resolve {name} again.")
    assert written is not None
    print_edited(name, written.version, written.outcome, written, quiet=quiet, json=json)
    if texts.remote and not (quiet or json):
        then = "; the next gbrain push shares it" if to_push else ""
        screen.say(f"The conflict with {texts.remote} is resolved{then}.")


def refuse_markers(data: bytes) -> None:
    """Raise BadPage for a text that still has the marks of a conflict."""
    from gbrain.text.merge import has_markers

    if has_markers(data.decode(errors="replace")):
        raise BadPage(
            "The text still has lines of <<<<<<< or >>>>>>>",
            hint="Keep the text that you want, and remove these lines.",
            code="unresolved",
        )
