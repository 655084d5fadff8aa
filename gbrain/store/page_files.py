"""The files of a vault that pages came from."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from pathlib import Path


def page_files(connection: sqlite3.Connection, slugs: Iterable[str]) -> dict[str, Path]:
    """The file of each page that came from one, by slug; whether it still exists is not asked.

    A crafted brain may name any file: one that is no page is left out, for it may be clicked on.
    """
    rows = connection.execute(
        "SELECT slug, root, path FROM pages JOIN vaults ON vaults.id = vault_id "
        "WHERE slug IN (SELECT value FROM json_each(?)) AND "
        "(path LIKE '%.md' OR path LIKE '%.markdown')",
        (json.dumps(list(slugs)),),
    )
    return {slug: Path(root, path) for slug, root, path in rows}
