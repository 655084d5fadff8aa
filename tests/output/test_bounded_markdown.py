"""The limits of what is rendered: the same for HTML and for the terminal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from gbrain.output import answer_terminal, bounded_markdown
from gbrain.output.bounded_markdown import MAX_RENDERED_CHARACTERS, MAX_STEPS, StepBudget
from gbrain.output.code_colours import COLOURED_LANGUAGES, CodeColours
from gbrain.output.page_html import markdown_renderer, render_page
from gbrain.output.terminal_markdown import TerminalMarkdown
from gbrain.text.markdown import scan_blocks

LONG = 190_000
ROWS = "|a|b|\n"
HOSTILE = {
    "pictures": "![" * (LONG // 2),
    "brackets": "[" * LONG,
    "lines of brackets": "[\n" * (LONG // 2),
    "lazy quotes": "> " * 30 + "a\n" + "a\n" * (LONG // 2),
    "angles": "<b" * (LONG // 2),
    "escapes": "a\\\n" * (LONG // 3),
    "stars": "*a " * (LONG // 3),
    "table": f"{ROWS}|-|-|\n{ROWS * (LONG // len(ROWS))}",
    "empty cells": "|a" * 200 + "|\n" + "|-" * 200 + "|\n" + "a|\n" * 600,
    "references": "[a]: /" + "b" * (LONG // 2) + "\n\n" + "[a] " * (LONG // 8),
    "code": "```\n" + "a\n" * (LONG // 8),
    "blocks of code": "```\n```\n" * (LONG // 8),
    "indented code": "    a\n" * (LONG // 6),
}


def as_html(text: str) -> str:
    markup: Any = SimpleNamespace(
        path="a.md",
        targets={"b/a": ("a" * 400, '"' * 300)},
        first_line=None,
        page_url=lambda slug, heading: slug,
        missing_page_html=lambda target, text: text,
        image_html=lambda source, text: text,
    )
    return render_page(markdown_renderer(), markup, text, scan_blocks(text))


def at_terminal(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    answer_terminal.show_page(text, pager=False)
    return capsys.readouterr().out


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_that_takes_too_long_is_shown_as_it_is(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = HOSTILE[name]
    assert len(text) < MAX_RENDERED_CHARACTERS
    assert as_html(text).startswith("<pre>")
    assert at_terminal(text, capsys).rstrip("\n") == text.rstrip("\n")


def test_titles_of_linked_pages_count_like_addresses() -> None:
    links = "[[b/a]] " * 9000
    assert len(as_html(links[: len(links) // 10])) > 900 * 700
    assert as_html(links).startswith("<pre>")


def test_a_long_ordinary_page_is_rendered(capsys: pytest.CaptureFixture[str]) -> None:
    section = "# Part\n\nWords **and** more [[words]], all of [them](b.md).\n\n- one\n- `two`\n\n"
    text = section * (60_000 // len(section))
    assert as_html(text).count("<h1") == text.count("# Part")
    assert "**" not in at_terminal(text, capsys)


def test_chunks_of_one_answer_share_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_markdown, "MAX_STEPS", 50)
    markdown = TerminalMarkdown(whole=False)
    kinds = [type(markdown.render("*a* " * 5)).__name__ for _ in range(3)]
    assert kinds[0] != kinds[-1] == "Text"


def test_a_long_address_is_not_repeated_on_every_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    for length, times in ((1000, 100), (50_000, 1)):
        shown = at_terminal(f"[{'word ' * 10_000}](http://{'b' * length})", capsys)
        assert "word word" in shown
        assert (len(shown) > 100_000) == (times > 1)


def test_a_budget_of_steps_ends() -> None:
    steps = StepBudget()
    steps.spend(MAX_STEPS)
    with pytest.raises(bounded_markdown.TooComplex):
        steps.spend()


@pytest.mark.parametrize("shows", [as_html, None])
def test_only_listed_languages_are_coloured(
    shows: Callable[[str], str] | None, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    asked: list[str] = []
    lexer_for = CodeColours.lexer_for

    def spy(self: CodeColours, code: str, language: str) -> object:
        found = lexer_for(self, code, language)
        asked.append(f"{language} {found is not None}")
        return found

    monkeypatch.setattr(CodeColours, "lexer_for", spy)
    text = "```json\n{}\n```\n\n```systemd\na\n```\n\n```bash\na\n```\n"
    assert shows(text) if shows else at_terminal(text, capsys)
    assert asked == ["json True", "systemd False", "bash False"]
    assert not COLOURED_LANGUAGES & {"systemd", "bash", "docker"}


def test_code_of_any_language_is_shown_in_time() -> None:
    """On a terminal, 4 kB of this once took minutes."""
    program = (
        "from gbrain.output.answer_terminal import show_page\n"
        "show_page('```systemd\\na' + ' ' * 4000 + 'b\\n```\\n', pager=False)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
