"""`token`: who may use the HTTP server, for what and how long."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gbrain.brain import clock, timestamp
from gbrain.cli.commands import Db, Json, Module, Quiet, examples
from gbrain.cli.open_brain import open_brain
from gbrain.errors import UsageError, needs_replica
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.server import tokens as store
from gbrain.types import Scope

command = Module()

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the token.")]
ForNoReplica = Annotated[
    bool, typer.Option("--no-replica", help="For a server started with --no-replica.")
]


def list_default(*, quiet: bool, json: bool, db: Path | None) -> None:
    """List the tokens."""
    list_(quiet=quiet, json=json, db=db)


tokens = command.group(
    "token",
    "Add, list and revoke tokens for gbrain serve --http.",
    epilog=examples("gbrain token add laptop", "gbrain token", "gbrain token revoke laptop"),
    default=list_default,
)


@tokens.command(
    "add",
    epilog=examples(
        "gbrain token add laptop",
        "gbrain token add reader --read-only --expires 90d",
        "gbrain token add helper --slug-prefix projects/",
    ),
)
def add(
    name: Name,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Allow the token to read only.")
    ] = False,
    wing: Annotated[
        str | None, typer.Option("--wing", metavar="WING", help="Only pages of this wing.")
    ] = None,
    slug_prefix: Annotated[
        str | None,
        typer.Option("--slug-prefix", metavar="PREFIX", help="Only slugs that start with PREFIX."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="Lifetime: 90d, 12h (default: unlimited)."),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
    no_replica: ForNoReplica = False,
) -> None:
    """Add a token and print its secret, which is shown only this once.

    A token with --wing or --slug-prefix can find, read and change only those pages. It creates
    pages only below PREFIX, and with --wing only in a folder of the wing, such as projects/.
    A server that runs with --no-replica needs tokens that are added with it, and takes none with
    such a limit.
    """
    limits = Scope(
        wing=wing.strip().lower() if wing else None,
        slug_prefix=slug_prefix.strip().lower() if slug_prefix else None,
    )
    given = ((wing, limits.wing), (slug_prefix, limits.slug_prefix))
    if any(text is not None and not (limit and text.isprintable()) for text, limit in given):
        raise UsageError(
            "The limit is empty or unprintable", hint="Name a wing or the start of slugs."
        )
    if no_replica and not limits.unlimited:
        raise needs_replica("A token that is limited to some pages")
    expires_at = store.expiry(expires, clock()) if expires else None
    with open_brain(db, no_replica=no_replica) as brain:
        identity = brain.identity()
    token, secret = store.add_token(
        identity, name, timestamp(), read_only=read_only, limits=limits, expires_at=expires_at
    )
    if json:
        screen.write_json({**token_document(token), "secret": secret})
        return
    if not quiet:
        screen.say(f"Added the token {name}. Its secret is shown only now:")
    screen.write(secret)


@tokens.command("list", epilog=examples("gbrain token list", "gbrain token list --json"))
def list_(
    quiet: Quiet = False, json: Json = False, db: Db = None, no_replica: ForNoReplica = False
) -> None:
    """List the tokens; their secrets are not stored."""
    with open_brain(db, no_replica=no_replica) as brain:
        known = store.list_tokens(brain.identity())
    if json:
        screen.write_json({"tokens": [token_document(token) for token in known]})
        return
    now = timestamp()
    rows = [
        (
            token.name,
            "read" if token.read_only else "read and write",
            _limit_text(token),
            token.created_at[:10],
            _expiry_text(token, now),
        )
        for token in known
    ]
    headers = ("Name", "May", "Pages", "Added", "Expires")
    screen.write_table(headers, rows, "No tokens; gbrain token add NAME adds one.", quiet=quiet)


@tokens.command("revoke", epilog=examples("gbrain token revoke laptop"))
def revoke(
    name: Name,
    quiet: Quiet = False,
    json: Json = False,
    db: Db = None,
    no_replica: ForNoReplica = False,
) -> None:
    """Remove a token; requests that use it fail at once, also on running servers."""
    with open_brain(db, no_replica=no_replica) as brain:
        token = store.revoke_token(brain.identity(), name)
    if json:
        screen.write_json({"name": token.name, "revoked": True})
    elif not quiet:
        screen.say(f"Revoked the token {token.name}.")


def token_document(token: store.Token) -> Document:
    """Return a token without its hash."""
    return {
        "name": token.name,
        "read_only": token.read_only,
        "wing": token.wing,
        "slug_prefix": token.slug_prefix,
        "created_at": token.created_at,
        "expires_at": token.expires_at,
    }


def _limit_text(token: store.Token) -> str:
    limits = [f"wing {token.wing}"] if token.wing else []
    limits += [f"{token.slug_prefix}…"] if token.slug_prefix else []
    return ", ".join(limits) or "all"


def _expiry_text(token: store.Token, now: str) -> str:
    if token.expires_at is None:
        return "never"
    return "expired" if token.expires_at <= now else token.expires_at[:10]
