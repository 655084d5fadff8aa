"""Which code of a page is coloured, in HTML and on the terminal: the languages and how much."""

from __future__ import annotations

from functools import cache
from typing import Any

# Named one by one, because a page chooses the language and most lexers of Pygments are slow for
# some texts. Hostile code of this length takes each of these at most 0.1 s, and all code of a page
# four times that; the rest of it stays plain. tests/faults/patterns.py tries them. Not here: bash,
# console and docker, for which some texts of 50 to 1,000 characters never end, css and ini (0.2 s).
MAX_COLOURED_CHARACTERS = 3_000
MAX_COLOURED_PAGE_CHARACTERS = 12_000
COLOURED_LANGUAGES = frozenset(
    "diff go html javascript js json lua php py python rb ruby rust sql swift toml xml yaml "
    "yml".split()
)
_LONGEST_LANGUAGE_NAME = 20


class CodeColours:
    """The lexers for the code of one page, until its limit is reached."""

    def __init__(self) -> None:
        self._left = MAX_COLOURED_PAGE_CHARACTERS

    def lexer_for(self, code: str, language: str) -> Any | None:
        """Return the Pygments lexer that colours a block of code; None if it stays plain."""
        name = language.lower()[:_LONGEST_LANGUAGE_NAME]
        if name not in COLOURED_LANGUAGES or len(code) > min(self._left, MAX_COLOURED_CHARACTERS):
            return None
        self._left -= len(code)
        return _lexer(name)


@cache
def _lexer(name: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(name, stripnl=False)
