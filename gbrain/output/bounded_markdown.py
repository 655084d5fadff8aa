"""Parse the Markdown of a page for HTML and for the terminal, in bounded time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

# Longer pages are shown as plain text, and so are those that take the parser more steps. Of 1,500
# notes of five people the median takes 0.06 steps for each character and the worst 0.5. The slowest
# of 180 hostile pages takes 0.6 s as HTML and 1.0 s on a terminal, where 190 kB took 15 s.
MAX_RENDERED_CHARACTERS = 200_000
MAX_STEPS = 50_000
# Rich takes longer for code: 190 kB of short lines or blocks that cost one step each took 2.8 s.
_STEPS_OF_CODE_BLOCK, _STEPS_OF_CODE_LINE = 10, 4
# A link repeats the address of its definition, which may be as long as the page.
_ADDRESS_CHARACTERS_OF_STEP = 100

# Key of the budget in the parser's environment.
STEPS = "steps"


class TooComplex(Exception):
    """The Markdown is to be shown as plain text."""


class StepBudget:
    """The steps that are left for what is shown together."""

    def __init__(self) -> None:
        self._left = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        """Take steps from the budget; raise TooComplex if there are too few."""
        self._left -= steps
        if self._left < 0:
            raise TooComplex

    def spend_on_address(self, characters: int) -> None:
        """Take the steps for an address or a title that is written once more."""
        self.spend(characters // _ADDRESS_CHARACTERS_OF_STEP)


class _CountedTokens(list[Any]):
    """Tokens of blocks: a row of a table makes any number of them in one step."""

    def __init__(self, steps: StepBudget) -> None:
        super().__init__()
        self._steps = steps

    def append(self, token: Any) -> None:
        self._steps.spend()
        super().append(token)


def markdown_parser(*, html: bool, max_nesting: int) -> Any:
    """Return a Markdown parser whose work `parse_bounded` can bound; `html` reads HTML as such."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": html, "maxNesting": max_nesting})
    parser.enable(["table", "strikethrough"])
    parser.core.ruler.before("block", "count_tokens", _count_tokens)
    # These rules come first wherever others are tried, and never match.
    ends: Any = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    parser.block.ruler.before("table", "count_blocks", _count_block, ends)
    parser.inline.ruler.before("text", "count_inlines", _count_inline)
    parser.core.ruler.push("count_content", _count_content)
    return parser


def parse_bounded(parser: Any, text: str, environment: dict[str, Any]) -> Sequence[Any]:
    """Return the tokens of a text; raise TooComplex if it is too long or takes too many steps."""
    if len(text) > MAX_RENDERED_CHARACTERS:
        raise TooComplex
    environment.setdefault(STEPS, StepBudget())
    tokens: Sequence[Any] = parser.parse(text, environment)
    return tokens


def _count_tokens(state: Any) -> None:
    state.tokens = _CountedTokens(state.env[STEPS])


def _count_block(state: Any, line: int, end: int, silent: bool) -> bool:
    state.env[STEPS].spend()
    return False


def _count_inline(state: Any, silent: bool) -> bool:
    state.env[STEPS].spend()
    return False


def _count_content(state: Any) -> None:
    """Spend steps on lines of code and on addresses, which the rules do not count."""
    steps = state.env[STEPS]
    for token in state.tokens:
        if token.type in ("fence", "code_block"):
            lines = token.content.count("\n")
            steps.spend(_STEPS_OF_CODE_BLOCK + _STEPS_OF_CODE_LINE * lines)
        for child in token.children or ():
            for value in child.attrs.values():
                steps.spend_on_address(len(str(value)))
