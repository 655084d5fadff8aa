"""Sections of the man pages that are not in the help: paragraphs, and items as `term :: text`.

Backquotes mark text that is typed or shown literally.
"""

from __future__ import annotations

Section = tuple[str, str]

PROGRAM: tuple[Section, ...] = (
    (
        "DESCRIPTION",
        """
        Stores Markdown notes in one SQLite file and finds them by keyword and by meaning. It needs
        no network and no API key: the embedding model is part of the program.

        `gbrain import DIR` imports a folder, `gbrain search` and `gbrain query` find notes,
        `gbrain sync` imports later changes, and `gbrain export` writes every page to a file, byte
        for byte. Each write to a page keeps its earlier text, and is written to the page's file in
        the imported folder.
        """,
    ),
    (
        "PAGES",
        """
        A page is a Markdown file: front matter, text and, if you like, a timeline. The text above
        the timeline is called compiled truth: what you know today. For search it is split into
        chunks, one for each section; each timeline entry is a separate chunk. The timeline begins
        at a `## Timeline` heading, or at a `---` line followed by a Timeline heading or a dated
        entry. An entry is written `- 2026-04-03: text`, or with a source
        `- **2026-04** | letter: text`; a dash may replace the colon.

        Every page has a slug: its path without the extension, in lower case, with dashes for
        spaces. Its wing is its subject area (people, projects), chosen by folder, type and tags.
        Its room is its form (profile, meeting, how-to). Front matter can set `wing`, `room`,
        `type`, `tags`, `aliases`, `date` and `superseded_by`; `--where` filters by any other key.

        Where a command takes the slug of an existing page, its title, an alias or its file name
        works too: `gbrain get "Alice Chen"`. Case and accents do not matter, and an exact slug
        comes first. A name that several pages have is an error that lists them. A name that ends
        with `.md` is always read as a path.
        """,
    ),
    (
        "OUTPUT",
        """
        Data goes to standard output, messages go to standard error. Output is formatted on a
        terminal; in a pipe it is plain text with tabs between columns, in a format that does not
        change between versions.

        With `--json` a command prints exactly one document; if it fails, an error document with
        `code`, `message` and `hint` on standard error. Keys are never renamed, and a missing value
        is null. `gbrain schema COMMAND` prints the JSON Schema.

        `--quiet` suppresses progress and messages, but not errors.
        """,
    ),
    (
        "FILES",
        """
        `$XDG_DATA_HOME/gbrain/brain.db` :: The brain. Without `XDG_DATA_HOME` it is
        `~/.local/share/gbrain/brain.db`, on macOS
        `~/Library/Application Support/gbrain/brain.db`. Only its owner can read it, and it is a
        single file while no program has it open.

        `brain.db-wal`, `brain.db-shm` :: Files next to the brain while it is open. To copy a brain
        that is in use, run `gbrain backup`; cp may copy half of a write.

        `.gbrainignore` :: A file in a folder of notes: paths that import and sync ignore, in the
        format of `.gitignore`.

        `$XDG_CACHE_HOME/gbrain` :: Brains that `gbrain eval` built from datasets, and copies of
        pages for limited tokens while a server runs. You can delete them.

        `$XDG_STATE_HOME/gbrain` :: The commands that you allowed a brain to run, the hashes of its
        tokens, and in `audit` who wrote which page over HTTP.

        `$XDG_RUNTIME_DIR/gbrain` :: The socket of a process that `gbrain up` started. Without
        `XDG_RUNTIME_DIR` it is in a separate folder in `$TMPDIR` or /tmp.
        """,
    ),
    (
        "CONCURRENCY",
        """
        Any number of programs can use a brain at the same time. Reading never waits. A write waits
        for another write, at most for the seconds of the setting `busy_seconds`; then it fails with
        the code `locked` and has changed nothing. Several `gbrain embed` share the work.
        """,
    ),
)

ENVIRONMENT = """
    `GBRAIN_DB` :: The brain file, or the URL of a shared brain, if `--db` is not given. With the
    path of a file the program needs no home folder.

    `PGPASSWORD`, `PGSERVICE` :: The password and the service of remotes, as for other programs that
    use PostgreSQL. The password is better kept in ~/.pgpass.

    `GBRAIN_NOW` :: An ISO time that replaces the current time, for example to read relative dates.

    `GBRAIN_DEBUG` :: If set, a bug is shown with its traceback, which may contain text of your
    pages.

    `GBRAIN_MIGRATE_WITHOUT_BACKUP` :: If set, a brain of an earlier version is converted even if
    the disk has no room for a copy of it.

    `NO_COLOR` :: If set, output has no colour.

    `TERM` :: With `dumb`, output is plain text, as in a pipe.

    `VISUAL`, `EDITOR` :: The editor of `gbrain edit` and `gbrain open`.

    `GBRAIN_PAGER`, `PAGER` :: The pager for output that is taller than the screen; empty for none.

    `SHELL` :: The shell of `gbrain completion`, if none is named.

    `XDG_DATA_HOME`, `XDG_CACHE_HOME`, `XDG_STATE_HOME`, `XDG_RUNTIME_DIR` :: The folders named
    under FILES; on Windows `LOCALAPPDATA`.

    `SQLITE_TMPDIR`, `TMPDIR` :: The folder for temporary files of `gbrain compact` and large sorts.
    """

EXIT_STATUS = """
    `0` :: Success.

    `1` :: An error that you can fix; the message says how.

    `2` :: Wrong usage.

    `3` :: Nothing found (only with `--exit-code`).

    `70` :: A bug in gbrain.

    `130` :: Interrupted.
    """

_LANGUAGE = """
    Any text is a valid query. Words match in any order; pages with all of them tend to come first.
    Common words such as "the" are ignored, unless the query quotes something or has no other words.
    `get-together`, `v1.2`, `C++` and `2026-04-18` match as they are written.

    `"two words"` :: These words next to each other.

    `prefix*` :: Words that start with prefix.

    `a AND b`, `a OR b` :: In capitals. AND binds closer than OR; use brackets for anything else.

    `a NOT b` :: Leave out pages that contain b.

    `title:x` :: The title contains x.

    `tag:x`, `wing:x`, `room:x`, `type:x` :: Only such pages. `tag:(a OR b)` and `tag:"two words"`
    work too.

    `after:x` :: Dated on the first day of x or later: `after:2026-03`, `after:yesterday`.

    `before:x` :: Dated before the first day of x. (`--until` includes all of x.)

    A query of fields alone lists the matching pages. Text that only looks like a field or an
    operator is searched as words. A word with synonyms (`gbrain alias`) also finds them.
    """

COMMANDS: dict[str, tuple[Section, ...]] = {
    "serve": (
        (
            "HTTP",
            """
            With `--http` the server listens on 127.0.0.1, port 8420, or on HOST:PORT. MCP clients
            use `/mcp` (streamable HTTP), other programs the routes below `/api`, which return the
            documents of `--json`: `GET /api/search?q=TEXT`, `POST /api/query`, `GET
            /api/pages/SLUG` and so on. `GET /api/openapi.json` describes all of them. Filters have
            the names of the options, with `_` for `-`. Errors are the documents of `--json`, with
            an HTTP status.

            Every request needs the header `Authorization: Bearer SECRET`, with the secret of a
            token that `gbrain token add` made for this brain, also on this machine. A revoked or
            expired token fails at its next request.

            Without TLS (`--cert` and `--key`, PEM files) it refuses every address that other
            machines can reach, unless `--behind-proxy` says that a proxy in front does TLS.
            Requests must name the address that the server listens on; `--allow-host NAME` allows
            another name, such as that of the proxy. A page of another site cannot use the server.

            A request may have 20 MB and has 30 seconds to arrive; a call has 120 seconds. Writes
            are recorded in the state folder: time, token, action and slug, without text.
            """,
        ),
    ),
    "token": (
        (
            "LIMITED TOKENS",
            """
            For a token with `--wing` or `--slug-prefix` only these pages exist, for reading and for
            writing, in every route and tool: other pages do not appear in results, links, tags,
            counts, suggestions or errors, and do not change the scores. For this the server copies
            the pages within the limits when the token is used first, which takes about a
            millisecond for each page, and follows later changes.

            New pages: a token with a prefix creates them below it, and a token with a wing in the
            folders that give a page this wing, such as `projects/` and `01-projects/` for projects;
            with both, where both allow it. What a page says of itself does not count: a token could
            otherwise take the name of a note that you write tomorrow. The inbox, to which `capture`
            adds, is no exception.

            Versions are numbered for a limited token as if those outside of the limits had never
            been written. A page that leaves the limits takes its history along; what was read of it
            before cannot be taken back. A limited token cannot rename a page, and undo brings back
            no earlier name.

            A page in a folder of the wing whose front matter names another wing is hidden. Its name
            could be guessed by creating pages, so while there is one, the token creates none: it
            learns only that there is one. To be free of this, limit the token by a prefix.
            Limited tokens get no images.
            """,
        ),
    ),
    "query": (
        (
            "HOW A QUERY IS ANSWERED",
            """
            A query that is a page's slug, title or alias, perhaps with a typing error, is answered
            with that page at once.

            Otherwise several lanes, each of which finds pages in its own way, run at the same time.
            The keyword lane finds pages by their words (BM25), the vector lane by their meaning
            (cosine similarity of embedding vectors). A graph lane and an associative lane can be
            switched on. If the keyword lane finds nothing, it relaxes the query step by step and
            at last corrects words that no page contains. `--mode` chooses the lanes. A brain
            without vectors is searched by keyword alone, and a message says so.

            The setting `search_merge_strategy` says how the lists of the lanes become one:
            `set-union` takes the higher of a page's scores and adds a share of the other, `rrf`
            adds up reciprocal ranks, `blend` adds up weighted scores. Then factors raise or lower
            scores, for example for pages of the time that the query mentions. With `--rerank` a
            second packaged model (a cross-encoder) sorts the first results again. Superseded pages
            are left out.

            Filters apply to every lane from the start. `gbrain explain` shows each of these steps
            for a query, with its numbers.
            """,
        ),
        ("QUERY LANGUAGE", _LANGUAGE),
        (
            "CONTEXT FOR A LANGUAGE MODEL",
            """
            `--depth auto` prints text to answer from: the most relevant lines of the pages, the
            lines around them, and linked pages that contain missing words of the question.
            `--limit` is the maximum number of pages it comes from. Tokens are counted as the
            embedding model counts them. In JSON, `stopped` says why the text ends: the rest is not
            relevant enough (`relevance`, see the setting `context_floor`), the budget is used
            (`budget`), nothing new would be added (`coverage`), there is no more text
            (`exhausted`), or no page answers the question, so that only the closest text is
            printed (`verdict`).

            Each chunk has its slug, its lines and a citation such as
            `[people/alice-chen#L12-18 ab12cd34ef56]`. `gbrain verify` later checks whether the
            cited text is still the same. In a pipe, what a page says stands behind `> ` on every
            line, and on a terminal it is indented: all else is written by gbrain, so no page can
            pass off its text as the title or citation of another one.
            """,
        ),
        (
            "VERDICT",
            """
            The verdict on an answer is `strong`, `partial` or `nothing`. It says how likely the
            first page contains what was asked for, with a confidence from 0 to 1 and the reasons;
            `missing` lists the rarest words of the query that the best chunk does not contain. If
            the page is a chat, an interview or notes of a meeting, and what fits is said of another
            speaker than the one asked about, the verdict is at most `partial`, and `about` is that
            other speaker. Any verdict but `strong` is also printed as a message. The settings
            `verdict_strong` and `verdict_nothing` are its bounds. With `--exit-code` the verdict
            `nothing` exits with 3, even if there are pages to show.
            """,
        ),
        (
            "MANY QUERIES",
            """
            If the text is `-`, queries are read from standard input, one per line, and one JSON
            document is printed for each, in order. The model is loaded once. A line can be a JSON
            object with its own options: `{"query": "backups", "limit": 3, "tag": "home"}`. A line
            that fails gives a document with `query` and `error`.
            """,
        ),
    ),
    "search": (("QUERY LANGUAGE", _LANGUAGE),),
    "tasks": (
        (
            "TASKS",
            """
            A task is an item of a list, at any depth, with a checkbox: `- [ ]`, `* [ ]` or
            `1. [ ]` is open, `[/]` is in progress, `[x]` is done and `[-]` cancelled. Logseq's
            `TODO`, `DOING`, `NOW` and `LATER` are open, `DONE` and `CANCELED` are not. Code and
            comments have no tasks.

            The due date is the one after 📅, `due:` or `@` in the item, one that the item begins
            with, or Logseq's `DEADLINE` or `SCHEDULED` below it. `--tag` is a tag in the item, or
            one that the page has outside its tasks.

            The number of a task depends on its page and its text alone. If two
            tasks would have the same number, both get another digit. A number with too few digits
            is an error that lists the tasks.
            """,
        ),
    ),
    "embed": (
        (
            "UNDER CRON",
            """
            `gbrain embed --stale --quiet --db FILE` needs no home folder and no terminal. It prints
            nothing unless there is an error. Overlapping runs share the work; `--max-seconds` ends
            a run before the next one starts.

            It exits with 0 if everything is embedded or the time is up; with 1 if some text failed,
            now or in an earlier run, or if another program was writing for longer than
            `busy_seconds`.
            """,
        ),
    ),
    "completion": (
        (
            "WHAT IS COMPLETED",
            """
            Commands and options; slugs (folders first, if there are many); wings, rooms, types and
            tags of the brain that `--db` or `GBRAIN_DB` names; settings and their values; profiles,
            models, aliases and the results of the last query. Any part of a slug is enough if no
            other page has it: `gbrain get alice` and Tab.

            Names with special characters are quoted.
            """,
        ),
    ),
}

SETTINGS: tuple[Section, ...] = (
    (
        "DESCRIPTION",
        """
        Settings are stored in the brain file and take effect on the next command. `gbrain config
        list` shows them, `gbrain config set NAME VALUE` changes one, and `gbrain config reset NAME`
        restores its default. The default replaces a stored value that this version does not allow.

        An option of a command overrides `--profile`, a profile overrides the settings of the brain,
        and these override the defaults. A profile is a named set of settings: `gbrain profile list`
        shows them, `gbrain query --profile NAME` uses one once, and `gbrain profile use NAME`
        stores its settings in the brain. `gbrain tune` finds good merge settings for a brain, and
        `gbrain eval --set NAME=VALUE` measures a change.

        Switches take on or off, true or false, yes or no. "From" names the project that the idea of
        a setting comes from.
        """,
    ),
)
