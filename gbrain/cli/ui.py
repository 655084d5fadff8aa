"""`ui`: the brain as a page in the browser."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from functools import partial
from typing import Annotated

import typer

from gbrain.brain import Brain
from gbrain.cli.commands import Db, Module, examples
from gbrain.cli.open_brain import may_only_read
from gbrain.output import screen

command = Module()

# A browser that has not ended by then was found.
_BROWSER_SECONDS = 2.0


@command.command(
    "ui", epilog=examples("gbrain ui", "gbrain ui --port 8400", "gbrain ui --no-browser")
)
def ui(
    port: Annotated[
        int,
        typer.Option("--port", metavar="N", min=0, max=65535, help="Port (default: any free one)."),
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open no browser.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Allow no changes to the brain.")
    ] = False,
    db: Db = None,
) -> None:
    """Open the brain as a page in the browser.

    Search as you type, read, edit, and see links and history. The page is served to this computer
    only, until you press Ctrl-C, and it requests nothing from elsewhere. Open the
    address within a minute; it works only once. The browser gets it from a private file, because
    others could read it on its command line. A browser that may not read this file, as some from
    snap or flatpak, shows an error: copy the printed address into it.
    """
    read_only = read_only or may_only_read(db)
    open_brain = partial(Brain.open, db, read_only=read_only)
    # A missing or damaged file is reported before a browser opens.
    open_brain().close()
    from gbrain.server.http import HttpOptions, Listening, serve_http
    from gbrain.server.redirect_file import redirect_file
    from gbrain.server.tokens import CODE_SECONDS

    with ExitStack() as stack:

        def announce(listening: Listening) -> None:
            address = f"{listening.url}#code={listening.authenticator.issue_code()}"
            screen.write(address)
            opened = False
            if not no_browser:
                with suppress(OSError):
                    file = stack.enter_context(redirect_file(address, CODE_SECONDS))
                    opened = _open_browser(file.as_uri())
            if opened:
                screen.say("If the browser shows an error, copy this address into it.")
                screen.say("Press Ctrl-C to stop.")
            else:
                screen.say("Open this address in your browser.")

        options = HttpOptions(port=port, read_only=read_only, load_model=True)
        serve_http(open_brain, options, announce)


def _open_browser(address: str) -> bool:
    """Open an address in the browser; return whether there is one.

    Python waits for some browsers until they end, and these wait for the server.
    """
    import webbrowser
    from threading import Thread

    found = [True]
    thread = Thread(target=lambda: found.append(webbrowser.open(address)), daemon=True)
    thread.start()
    thread.join(_BROWSER_SECONDS)
    return found[-1]
