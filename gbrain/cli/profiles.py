"""`profile`: named sets of settings, to look at or to make the brain's own."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, Quiet, open_brain
from gbrain.output import screen
from gbrain.profiles import PROFILES, find_profile, is_active_profile, profile_values

command = Module()

profile = command.group(
    "profile",
    "Named sets of settings: whole pipelines, to be tried or kept.",
    epilog=examples(
        "gbrain profile list", "gbrain query 'river ai' --profile sift", "gbrain profile use sift"
    ),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A profile; profile list shows them.")]


@profile.command("list", epilog=examples("gbrain profile list"))
def profile_list(json: Json = False, db: Db = None) -> None:
    """Show the profiles and which of them holds."""
    with open_brain(db) as brain:
        settings = brain.settings
    rows = [
        {
            "name": known.name,
            "source": known.source,
            "active": is_active_profile(settings, known.name),
            "help": known.help,
        }
        for known in PROFILES
    ]
    if json:
        screen.write_json({"profiles": rows})
    else:
        screen.write_table(
            ("Profile", "", "What it is"),
            [(row["name"], "active" if row["active"] else "", row["help"]) for row in rows],
            "",
        )


@profile.command("show", epilog=examples("gbrain profile show engram"))
def profile_show(name: Name, quiet: Quiet = False, json: Json = False) -> None:
    """Show what a profile sets."""
    known = find_profile(name)
    if json:
        screen.write_json(
            {"name": known.name, "source": known.source, "help": known.help,
             "settings": profile_values(name)}
        )  # fmt: skip
    else:
        rows = list(known.values.items())
        screen.write_table(("Setting", "Value"), rows, "It keeps all defaults.", quiet=quiet)


@profile.command("use", epilog=examples("gbrain profile use engram"))
def profile_use(name: Name, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Make a profile's settings the brain's own."""
    with open_brain(db) as brain:
        replaced = brain.use_profile(name)
    if json:
        screen.write_json({"profile": name, "settings": profile_values(name), "replaced": replaced})
    elif not quiet:
        back = "" if name == "default" else "; gbrain profile use default goes back to the defaults"
        screen.say(f"The brain now answers as {name}{back}.")
        if replaced:
            were = ", ".join(f"{key} {value}" for key, value in replaced.items())
            screen.say(f"It was set before and is no more: {were}.")
