"""What the man pages say beyond the help: sections of paragraphs, and items as `term :: text`.

Backquotes stand around what is typed or shown as it is.
"""

from __future__ import annotations

Section = tuple[str, str]

PROGRAM: tuple[Section, ...] = (
    (
        "DESCRIPTION",
        """
        Keeps Markdown notes in one SQLite file and finds them by word and by meaning, with no
        network and no key: the embedding model ships with the program.

        `gbrain import DIR` takes in a folder, `gbrain search` and `gbrain query` find what is in
        it, `gbrain sync` follows later changes, and `gbrain export` gives every page back byte for
        byte. Each write keeps the earlier text of a page.
        """,
    ),
    (
        "PAGES",
        """
        A page is a Markdown file: front matter, text, and perhaps a timeline. What stands above
        the timeline is compiled truth, cut into passages under its headings; each dated entry of
        the timeline is a passage of its own. The timeline begins at a lone `---` that a Timeline
        heading or a dated entry follows, or at a `## Timeline` heading. An entry is written as
        `- 2026-04-03: text`, or with a source as `- **2026-04** | letter: text`; a dash may stand
        for the colon.

        The slug names a page: its path without the extension, in lower case, with dashes for
        spaces. The wing says what the page is about, by its folder, type and tags; the room says
        what shape it has. `wing`, `room`, `type`, `tags`, `aliases`, `date` and `superseded_by` in
        front matter are understood, and any other key can be filtered by with `--where`.
        """,
    ),
    (
        "OUTPUT",
        """
        Data goes to standard output, talk to standard error. On a terminal output is laid out and
        coloured; in a pipe it is plain text, tabs between columns, that stays the same from
        version to version.

        With `--json` a command prints exactly one document, on failure an error document on
        standard error with `code`, `message` and `hint`. Keys are never renamed, numbers are
        numbers, and what is absent is null. `gbrain schema COMMAND` prints the JSON Schema.

        `--quiet` leaves out progress and talk; what is wrong is still said.
        """,
    ),
    (
        "FILES",
        """
        `$XDG_DATA_HOME/gbrain/brain.db` :: The brain, else `~/.local/share/gbrain/brain.db`; on
        macOS `~/Library/Application Support/gbrain/brain.db`. It is readable by its owner alone
        and one file whenever nobody has it open.

        `brain.db-wal`, `brain.db-shm` :: Stand beside the brain while it is open. Copy a brain in
        use with `gbrain backup`, not with cp.

        `.gbrainignore` :: In a folder of notes: what import and sync leave out, written as in
        `.gitignore`.

        `$XDG_CACHE_HOME/gbrain` :: Brains of labelled sets that `gbrain eval` made; can be deleted.

        `$XDG_STATE_HOME/gbrain` :: Which commands of which brains you agreed to run.
        """,
    ),
    (
        "CONCURRENCY",
        """
        Any number of programs may use a brain at once. Reading never waits. A write waits for
        another one up to `busy_seconds` and then fails with the code `locked`; nothing is half
        written. Several `gbrain embed` share the queue.
        """,
    ),
)

ENVIRONMENT = """
    `GBRAIN_DB` :: The brain file, when `--db` does not name one. With either of them the program
    needs no home folder.

    `GBRAIN_NOW` :: An ISO time to take for the present: relative dates are read against it.

    `GBRAIN_DEBUG` :: Set to anything, it shows a bug with its traceback, which may hold words of
    your pages.

    `GBRAIN_MIGRATE_WITHOUT_BACKUP` :: Set to anything, it lets a brain of an earlier version be
    brought up to date where there is no room for the copy that is kept of it otherwise.

    `NO_COLOR` :: No colour on a terminal.

    `TERM` :: With `dumb` a terminal gets the plain text of a pipe.

    `VISUAL`, `EDITOR` :: What `gbrain edit` and `gbrain open` start.

    `GBRAIN_PAGER`, `PAGER` :: What shows an answer that is taller than the screen; empty for none.

    `SHELL` :: The shell that `gbrain completion` is for, when it is not told.

    `XDG_DATA_HOME`, `XDG_CACHE_HOME`, `XDG_STATE_HOME` :: Where the folders named under FILES are;
    on Windows `LOCALAPPDATA`.

    `SQLITE_TMPDIR`, `TMPDIR` :: Where `gbrain compact` and large sorts keep what they need for a
    moment.
    """

EXIT_STATUS = """
    `0` :: Done.

    `1` :: Something that you can fix; the message says how.

    `2` :: The command was called wrongly.

    `3` :: Nothing found, with `--exit-code`.

    `70` :: A bug in gbrain.

    `130` :: Interrupted.
    """

_LANGUAGE = """
    Any text is a query, and none is a syntax error. Words are looked for in any order; a page that
    holds all of them comes before one that holds some. Common words are left out unless something
    is quoted or nothing else is left. `get-together`, `v1.2`, `C++` and `2026-04-18` are looked for
    as they are written.

    `"two words"` :: These words, next to each other.

    `prefix*` :: Words that begin so.

    `a AND b`, `a OR b` :: In capitals. AND binds closer than OR, brackets closer than both.

    `a NOT b` :: Pages that hold b are left out, of what is found by meaning too.

    `title:x` :: The title holds x.

    `tag:x`, `wing:x`, `room:x`, `type:x` :: Only such pages. `tag:(a OR b)` and `tag:"two words"`
    are understood.

    `after:x` :: Dated on the first day of x or later: `after:2026-03`, `after:yesterday`.

    `before:x` :: Dated before the first day of x. With `--until` the whole of x counts.

    A query of fields alone lists the pages they allow. What only looks like a field or an operator
    is read as words. Words that `gbrain alias` knows bring what they also mean.
    """

COMMANDS: dict[str, tuple[Section, ...]] = {
    "query": (
        (
            "HOW A QUERY IS ANSWERED",
            """
            A query that is a page's slug, title or alias, or a slip of the pen from one, is
            answered by that page at once, and no model is loaded.

            Otherwise lanes look for pages at the same time: the keyword lane by the words of
            pages and passages (BM25), the vector lane by the meaning of passages (cosine), and if
            they are switched on, a graph lane and an associative one. When the keyword lane finds
            nothing, it reads the query in looser and looser ways; a misspelt word that no page
            holds is repaired. `--mode` chooses lanes; a brain without vectors is asked by keywords
            alone, and says so.

            The lanes' lists become one by `search_merge_strategy`: `set-union` takes a page's
            better lane and adds a share of the other, `rrf` adds up reciprocal ranks, `blend` adds
            up weighted scores. Then come factors, each named in the answer: the time that the
            query mentions, and others that are off by default. With `--rerank` the packaged
            cross-encoder reads the first pages again. Pages that another supersedes are left out.

            Filters hold in every lane, before anything is cut off. `gbrain explain` shows each of
            these steps for a query, with the numbers.
            """,
        ),
        ("QUERY LANGUAGE", _LANGUAGE),
        (
            "CONTEXT FOR A LANGUAGE MODEL",
            """
            `--depth auto` adds text to the pages: their most relevant lines, the lines around
            them, and linked pages that contain missing words of the question. `--limit` is the
            maximum number of pages it comes from. It ends when the rest is not relevant enough
            (relevance; the setting `context_floor`), when the budget is used (budget), when
            nothing new would be added (coverage), or when there is no more (exhausted). If no page
            answers the question, only the closest text is added (verdict). Tokens are counted as
            the model counts them.

            Each chunk carries its slug, lines and a citation like
            `[people/alice-chen#L12-18 ab12cd34ef56]`; `gbrain verify` says later whether the cited
            text still stands.
            """,
        ),
        (
            "VERDICT",
            """
            Each answer is graded by how likely its first five pages hold what was asked for:
            `strong`, `partial` or `nothing`, with the confidence from 0 to 1 and the reasons.
            The bounds are `verdict_strong` and `verdict_nothing`. With `--exit-code` an answer of
            `nothing` exits with 3, also if there are pages to show.
            """,
        ),
        (
            "MANY QUERIES",
            """
            With `-` for the text, queries are read from standard input, one a line, and one
            document is printed for each, in order; models are loaded once. A line that is a JSON
            object carries options of its own: `{"query": "backups", "limit": 3, "tag": "home"}`.
            A line that fails gives a document with `query` and `error`.
            """,
        ),
    ),
    "search": (("QUERY LANGUAGE", _LANGUAGE),),
    "embed": (
        (
            "UNDER CRON",
            """
            `gbrain embed --stale --quiet --db FILE` needs no home folder and no terminal. It prints
            nothing unless something is wrong. Runs that overlap share the work, and
            `--max-seconds` ends one in time for the next.

            It exits with 0 when all that was due is done, or the time was up; with 1 when some
            text failed, now or at an earlier try, or when another program held the file for
            longer than `busy_seconds`.
            """,
        ),
    ),
    "completion": (
        (
            "WHAT IS COMPLETED",
            """
            Commands and options; slugs, of many only the folders first; wings, rooms, types and
            tags of the brain that `--db` or `GBRAIN_DB` names; settings and their values; profiles,
            models, aliases and the hits of the last answer. Part of a slug that only one page has
            is enough: `gbrain get alice` and Tab.

            Names reach the command line quoted, whatever they hold.
            """,
        ),
    ),
}

SETTINGS: tuple[Section, ...] = (
    (
        "DESCRIPTION",
        """
        Settings live in the brain file and hold from the next command on. `gbrain config list`
        shows them, `gbrain config set NAME VALUE` changes one, and `gbrain config reset NAME` takes
        a change back. A value that a setting does not take is refused; one that a newer program
        left in the file counts as the default until it is reset.

        An option of a command goes before `--profile`, this before what the brain has set, and that
        before the default. A profile is a named set of settings: `gbrain profile list` shows them,
        `gbrain query --profile NAME` uses one once, and `gbrain profile use NAME` makes it the
        brain's own. `gbrain tune` fits the merge to a brain, and `gbrain eval --set NAME=VALUE`
        measures what a change is worth.

        Switches take on and off, true and false, yes and no.
        """,
    ),
)
