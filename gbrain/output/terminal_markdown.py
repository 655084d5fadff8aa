"""Show the Markdown of pages on a terminal, in bounded time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.markdown import CodeBlock, Markdown, MarkdownElement
from rich.segment import Segment, Segments
from rich.syntax import Syntax
from rich.text import Text

from gbrain.output.bounded_markdown import (
    STEPS,
    StepBudget,
    TooComplex,
    markdown_parser,
    parse_bounded,
)
from gbrain.output.code_colours import CodeColours

# On deeper lists and quotes no room is left for text.
_MAX_NESTING_DEPTH = 20
# Terminals ignore longer links, and each line of a link's text repeats it.
_MAX_LINK_CHARACTERS = 2_000
_PLAIN = "text"


class TerminalMarkdown:
    """What is shown together, and so shares the limits of work: a whole page, or some chunks."""

    def __init__(self, *, whole: bool) -> None:
        self._whole = whole
        self._steps = StepBudget()
        self._colours = CodeColours()

    def render(self, text: str) -> RenderableType:
        """Return a text for Rich to print: rendered, or as it is if that takes too long."""
        parser = markdown_parser(html=True, max_nesting=_MAX_NESTING_DEPTH)
        try:
            tokens = parse_bounded(parser, text, {STEPS: self._steps})
        except TooComplex:
            # Rich does not wrap it, which takes it minutes for the longest pages.
            return Segments([Segment(text)]) if self._whole else Text(text, overflow="fold")
        _remove_long_links(tokens)
        return _ParsedMarkdown(tokens, self._colours)


def _remove_long_links(tokens: Iterable[Any]) -> None:
    for token in tokens:
        for child in token.children or ():
            for name in ("href", "src"):
                if len(str(child.attrs.get(name, ""))) > _MAX_LINK_CHARACTERS:
                    del child.attrs[name]


class _CodeBlock(CodeBlock):
    """A block of code, in colours if its language and length allow it."""

    colours: CodeColours

    @classmethod
    def create(cls, markdown: Markdown, token: Any) -> _CodeBlock:
        assert isinstance(markdown, _ParsedMarkdown)
        language = (token.info or "").partition(" ")[0]
        block = cls(language, markdown.code_theme)
        block.colours = markdown.colours
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        lexer = self.colours.lexer_for(code, self.lexer_name) or _PLAIN
        theme = Syntax.get_theme(self.theme)
        yield Syntax(code, lexer, theme=theme, word_wrap=True, padding=1)


class _ParsedMarkdown(Markdown):
    """Markdown that Rich does not parse itself, as its parser has no limits."""

    elements: ClassVar[dict[str, type[MarkdownElement]]] = {
        **Markdown.elements,
        "fence": _CodeBlock,
        "code_block": _CodeBlock,
    }

    def __init__(self, tokens: Any, colours: CodeColours) -> None:
        super().__init__("")
        self.parsed = tokens
        self.colours = colours
