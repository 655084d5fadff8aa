"""`config` and `alias`: what a brain keeps about how it is to be asked."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import default_path
from gbrain.cli.commands import Module, examples
from gbrain.cli.options import Db, Json, NoPager, Quiet
from gbrain.config import all_settings, find_setting, format_value, parse_value
from gbrain.errors import NotFound, UsageError
from gbrain.output import screen
from gbrain.output.settings import (
    setting_document,
    setting_row,
    settings_text,
    show_settings,
    value_document,
)
from gbrain.store import aliases, settings
from gbrain.store.connection import Database
from gbrain.text.query_terms import normalise_query, parse_terms

command = Module()

config = command.group(
    "config",
    "Settings of this brain: show, change, put back.",
    epilog=examples("gbrain config list", "gbrain config set default_limit 20"),
)
alias = command.group(
    "alias",
    "Words that also mean other words in a query.",
    epilog=examples('gbrain alias add k8s kubernetes "kube cluster"', "gbrain alias list"),
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A setting; config list shows them.")]
Word = Annotated[str, typer.Argument(metavar="WORD", help="The word as you type it.")]


def _open(db: Path | None) -> Database:
    """The file alone: a value in it that no setting takes must not keep one from resetting it."""
    return Database(db.expanduser() if db else default_path())


# --- config ----------------------------------------------------------------------------------


@config.command("list", epilog=examples("gbrain config list", "gbrain config list --json"))
def config_list(no_pager: NoPager = False, json: Json = False, db: Db = None) -> None:
    """Show every setting: value, what it takes, what it does."""
    with closing(_open(db)) as database, database.read_transaction() as connection:
        stored = settings.read_settings(connection)
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
    with closing(_open(db)) as database, database.read_transaction() as connection:
        row = setting_row(setting, settings.read_settings(connection))
    if json:
        screen.write_json(value_document(row))
    else:
        screen.write(row.written)


# A negative number is a value that may be wrong, not an option.
@config.command(
    "set",
    epilog=examples("gbrain config set default_limit 20", "gbrain config set search_mode bm25"),
    context_settings={"ignore_unknown_options": True},
)
def config_set(
    name: Name,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="config list says what it takes.")],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Change a setting; it takes effect on the next command."""
    setting = find_setting(name)
    written = format_value(parse_value(name, value))
    with closing(_open(db)) as database, database.write_transaction() as connection:
        settings.save_setting(connection, name, written)
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
        list[str] | None, typer.Argument(metavar="[NAME]...", help="The settings.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="All settings.")] = False,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Put settings, or all of them, back to the default."""
    if bool(names) == all_:
        raise UsageError("Name settings, or say --all", hint="gbrain config reset default_limit")
    with closing(_open(db)) as database, database.write_transaction() as connection:
        stored = settings.read_settings(connection)
        for name in names or ():
            if name not in stored:
                find_setting(name)
        changed = [name for name in dict.fromkeys(names or sorted(stored)) if name in stored]
        for name in changed:
            settings.remove_setting(connection, name)
    if json:
        screen.write_json({"reset": changed})
    elif not quiet:
        done = f"Back to the default: {', '.join(changed)}."
        screen.say(done if changed else "Nothing to reset: the default holds already.")


# --- alias -----------------------------------------------------------------------------------


@alias.command(
    "add",
    epilog=examples("gbrain alias add k8s kubernetes", 'gbrain alias add gcp "google cloud"'),
)
def alias_add(
    word: Word,
    expansions: Annotated[
        list[str], typer.Argument(metavar="EXPANSION...", help="What it means too.")
    ],
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
) -> None:
    """Let a word find pages that say it otherwise."""
    key = _alias_word(word)
    meant = tuple(dict.fromkeys(_expansion(text, key) for text in expansions))
    with closing(_open(db)) as database, database.write_transaction() as connection:
        aliases.add_alias(connection, key, meant)
        known = aliases.read_aliases(connection)[key]
    if json:
        screen.write_json({"aliases": [{"word": key, "expansions": list(known)}]})
    elif not quiet:
        screen.say(f"{key} also means {', '.join(known)}.")


@alias.command("remove", epilog=examples("gbrain alias remove k8s"))
def alias_remove(word: Word, quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Forget what a word also means."""
    key = _alias_word(word)
    with closing(_open(db)) as database, database.write_transaction() as connection:
        known = aliases.read_aliases(connection)
        if key not in known:
            raise NotFound(f"There is no alias {key!r}", hint=_nearest(key, known))
        aliases.remove_alias(connection, key)
    if json:
        screen.write_json({"removed": [{"word": key, "expansions": list(known[key])}]})
    elif not quiet:
        screen.say(f"{key} means only itself again.")


@alias.command("list", epilog=examples("gbrain alias list", "gbrain alias list --json"))
def alias_list(quiet: Quiet = False, json: Json = False, db: Db = None) -> None:
    """Show the words that mean other words too."""
    with closing(_open(db)) as database, database.read_transaction() as connection:
        known = aliases.read_aliases(connection)
    if json:
        listed = [{"word": word, "expansions": list(meant)} for word, meant in known.items()]
        screen.write_json({"aliases": listed})
        return
    rows = [(word, ", ".join(meant)) for word, meant in known.items()]
    screen.write_table(("Word", "Also means"), rows, "No aliases.", quiet=quiet)


def _alias_word(written: str) -> str:
    """The word as a query reads it, lower case; raises UsageError for none or several."""
    terms = parse_terms(normalise_query(written))
    if len(written.split()) != 1 or len(terms) != 1 or terms[0].quoted:
        raise UsageError(
            f"An alias is one word, not {written!r}",
            hint='gbrain alias add k8s kubernetes "kube cluster"',
        )
    return terms[0].words[0].casefold()


def _expansion(written: str, word: str) -> str:
    """What a word also means, as it is looked up; raises UsageError for nothing or the word."""
    text = normalise_query(written)
    if not parse_terms(text):
        raise UsageError(
            f"{written!r} holds no word that {word} could mean", hint="Name a word or a phrase."
        )
    if text.casefold() == word:
        raise UsageError(f"{word} means {word} already", hint="Name another word for it.")
    return text


def _nearest(word: str, known: dict[str, tuple[str, ...]]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1)
    return f"Did you mean {near[0]}?" if near else "gbrain alias list shows them all."
