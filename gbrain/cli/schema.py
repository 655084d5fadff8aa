"""`schema`: print the JSON Schemas of the documents that commands print with --json."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Json
from gbrain.output import screen

command = Module()


@command.command(
    "schema",
    epilog=examples(
        "gbrain schema",
        "gbrain schema query | jq .properties",
        "gbrain schema 'config list' > settings.schema.json",
    ),
)
def schema(
    name: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="A document, or a command that prints it."),
    ] = None,
    json: Json = False,
) -> None:
    """List the JSON documents that commands print, or show the JSON Schema of one."""
    from gbrain.output.schemas import document_schema, list_documents

    if name:
        found = document_schema(" ".join(name))
        screen.write_json(found) if json else screen.write(_indented(found))
        return
    known = list_documents()
    if json:
        screen.write_json({"schemas": [document._asdict() for document in known]})
        return
    rows = [(d.name, ", ".join(d.commands), d.about) for d in known]
    screen.write_table(("Document", "Printed by", "What it is"), rows, "")


def _indented(document: object) -> str:
    from json import dumps

    return dumps(document, indent=2, ensure_ascii=False)
