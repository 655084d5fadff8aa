"""`config`, `profile` and `alias`: settings of the brain and synonyms for queries."""

from __future__ import annotations

from typing import Annotated

import typer

from gbrain.cli.commands import Db, Json, Module, NoPager, Quiet, examples
from gbrain.cli.open_brain import open_brain
from gbrain.config import all_settings, find_setting
from gbrain.errors import NotFound, UsageError
from gbrain.messages import did_you_mean, similar_names
from gbrain.output import screen
from gbrain.output.settings import (
    setting_document,
    setting_row,
    settings_text,
    show_settings,
    value_document,
)
from gbrain.profiles import PROFILES, find_profile, is_active_profile, profile_values
from gbrain.text.query_terms import normalise_query, parse_terms

command = Module()

config = command.group(
    "config",
    "Show, change and reset the settings of this brain.",
    epilog=examples("gbrain config list", "gbrain config set default_limit 20"),
)
profile = command.group(
    "profile",
    "List, show and use profiles: named sets of settings.",
    epilog=examples(
        "gbrain profile list", "gbrain query 'river ai' --profile sift", "gbrain profile use sift"
    ),
)
alias = command.group(
    "alias",
    "Add, remove and list synonyms for queries.",
    epilog=examples('gbrain alias add k8s kubernetes "kube cluster"', "gbrain alias list"),
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Setting; gbrain config list shows them.")
]
ProfileName = Annotated[
    str, typer.Argument(metavar="NAME", help="Profile; gbrain profile list shows them.")
]
Word = Annotated[str, typer.Argument(metavar="WORD", help="Word as you type it in a query.")]


# --- config ----------------------------------------------------------------------------------


@config.command("list", epilog=examples("gbrain config list", "gbrain config list --json"))
def config_list(no_pager: NoPager = False, json: Json = False, db: Db = None) -> None:
    """List every setting with its value, allowed values and purpose."""
    with open_brain(db) as brain:
        stored = brain.stored_settings
    rows = [setting_row(setting, stored) for setting in all_settings().values()]
    if json:
        screen.write_json({"settings": [setting_document(row) for row in rows]})
    elif screen.on_terminal():
        show_settings(rows, pager=not no_pager)
    else:
        screen.write(settings_text(rows))


@config.command("get", epilog=examples("gbrain config get default_limit"))
def config_get(name: Name, json: Json = False, db: Db = None) -> None:
    """Print a setting's value."""
    setting = find_setting(name)
    with open_brain(db) as brain:
        row = setting_row(setting, brain.stored_settings)
    if json:
        screen.write_json(value_document(row))
    else:
        screen.write(row.value_text)


# A negative number is a value, not an option.
@config.command(
    "set",
    epilog=examples("gbrain config set default_limit 20", "gbrain config set search_mode bm25"),
    context_settings={"ignore_unknown_options": True},
)
def config_set(
    name: Name,
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE", help="New value; gbrain config list shows what is allowed."
        ),
    ],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Change a setting; it takes effect on the next command."""
    setting = find_setting(name)
    with open_brain(db) as brain:
        written = brain.set(name, value)
    if json:
        screen.write_json(value_document(setting_row(setting, {name: written})))
    elif not quiet:
        screen.say(f"{name} is now {written}; it takes effect on the next command.")


@config.command(
    "reset",
    epilog=examples(
        "gbrain config reset default_limit",
        "gbrain config reset rerank rerank_head",
        "gbrain config reset --all",
    ),
)
def config_reset(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME...]", help="Settings to reset.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Reset all settings.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Reset settings to their defaults."""
    if bool(names) == all_:
        raise UsageError(
            "Name the settings to reset, or use --all", hint="gbrain config reset default_limit"
        )
    with open_brain(db) as brain:
        changed = brain.reset(names or None)
    if json:
        screen.write_json({"reset": changed})
    elif not quiet:
        done = f"Reset to the default: {', '.join(changed)}."
        screen.say(done if changed else "Nothing to reset: the defaults are in use.")


# --- profile ---------------------------------------------------------------------------------


@profile.command("list", epilog=examples("gbrain profile list"))
def profile_list(json: Json = False, db: Db = None) -> None:
    """List the profiles; the active one is marked.

    Each profile reproduces the search of a project that gbrain builds on.
    """
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
            ("Profile", "", "Purpose"),
            [(row["name"], "active" if row["active"] else "", row["help"]) for row in rows],
            "",
        )


@profile.command("show", epilog=examples("gbrain profile show engram"))
def profile_show(name: ProfileName, quiet: Quiet = False, json: Json = False) -> None:
    """Show the settings of a profile."""
    known = find_profile(name)
    if json:
        screen.write_json(
            {"name": known.name, "source": known.source, "help": known.help,
             "settings": profile_values(name)}
        )  # fmt: skip
    else:
        rows = list(known.values.items())
        screen.write_table(("Setting", "Value"), rows, "It uses the defaults.", quiet=quiet)


@profile.command("use", epilog=examples("gbrain profile use engram"))
def profile_use(name: ProfileName, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Store the settings of a profile in this brain."""
    with open_brain(db) as brain:
        replaced = brain.use_profile(name)
    if json:
        screen.write_json({"profile": name, "settings": profile_values(name), "replaced": replaced})
    elif not quiet:
        undo = "" if name == "default" else " To undo: gbrain profile use default"
        screen.say(f"This brain now uses the profile {name}.{undo}")
        if replaced:
            values = ", ".join(f"{key} {value}" for key, value in replaced.items())
            screen.say(f"It replaced your own settings: {values}.")


# --- alias -----------------------------------------------------------------------------------


@alias.command(
    "add",
    epilog=examples("gbrain alias add k8s kubernetes", 'gbrain alias add gcp "google cloud"'),
)
def alias_add(
    word: Word,
    expansions: Annotated[
        list[str], typer.Argument(metavar="EXPANSION...", help="Synonyms: words or quoted phrases.")
    ],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Add synonyms for a word: a query with the word also finds them."""
    key = _alias_word(word)
    synonyms = tuple(dict.fromkeys(_synonym(text, key) for text in expansions))
    with open_brain(db) as brain:
        known = brain.add_alias(key, synonyms)
    if json:
        screen.write_json({"aliases": [{"word": key, "expansions": list(known)}]})
    elif not quiet:
        screen.say(f"Queries for {key} also find {', '.join(known)}.")


@alias.command("remove", epilog=examples("gbrain alias remove k8s"))
def alias_remove(word: Word, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Remove the synonyms of a word."""
    key = _alias_word(word)
    with open_brain(db) as brain:
        removed = brain.remove_alias(key)
        if not removed:
            similar = similar_names(key, brain.aliases())
            hint = did_you_mean(similar, "gbrain alias list shows them all.")
            raise NotFound(f"There is no alias {key!r}", hint=hint)
    if json:
        screen.write_json({"removed": [{"word": key, "expansions": list(removed)}]})
    elif not quiet:
        screen.say(f"Removed the synonyms of {key}.")


@alias.command("list", epilog=examples("gbrain alias list", "gbrain alias list --json"))
def alias_list(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """List the words that have synonyms."""
    with open_brain(db) as brain:
        known = brain.aliases()
    if json:
        listed = [{"word": word, "expansions": list(synonyms)} for word, synonyms in known.items()]
        screen.write_json({"aliases": listed})
        return
    rows = [(word, ", ".join(synonyms)) for word, synonyms in known.items()]
    screen.write_table(("Word", "Synonyms"), rows, "No aliases.", quiet=quiet)


def _alias_word(written: str) -> str:
    """Return the word as a query reads it, lower case; raise UsageError if it is not one word."""
    terms = parse_terms(normalise_query(written))
    if len(written.split()) != 1 or len(terms) != 1 or terms[0].quoted:
        raise UsageError(
            f"An alias is one word, not {written!r}",
            hint='gbrain alias add k8s kubernetes "kube cluster"',
        )
    return terms[0].words[0].casefold()


def _synonym(written: str, word: str) -> str:
    """Return a synonym as a query reads it; raise UsageError if it is empty or the word itself."""
    text = normalise_query(written)
    if not parse_terms(text):
        raise UsageError(f"{written!r} contains no word", hint="Give a word or a phrase.")
    if text.casefold() == word:
        raise UsageError(f"{word} cannot be a synonym of itself", hint="Give another word.")
    return text
