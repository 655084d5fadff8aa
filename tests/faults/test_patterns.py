"""No regular expression of the package can be made to hang.

    python tests/faults/patterns.py SIZE [SEED]

runs each on texts made to slow it down; the last line printed names the one that hangs.

    python tests/faults/patterns.py lexers SIZE [LANGUAGE...]

does the same with the lexers that colour code.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from patterns import FoundPattern, attacks, nested_repeats, patterns

from gbrain.output.code_colours import MAX_COLOURED_CHARACTERS, MAX_COLOURED_PAGE_CHARACTERS

# Built from constants of the package, or from a text of limited length.
BUILT_AT_RUN_TIME = {
    "gbrain.models.piece_table: f\"({'|'.join(map(re.escape, self._special_ids))})\"",
    "gbrain.store.keyword_index: f'(?<!\\\\w){word}(?!\\\\w)'",
    "gbrain.store.vocabulary: f'(?i)\\\\b{start}[^\\\\W_]*'",
    "gbrain.text.conversations: f\"(?i)\\\\b(?:{words.replace(' ', '|')})\\\\b\" if words else '(?!)'",  # noqa: E501
    "gbrain.text.foreign_dates: f'\\\\b{phrase}\\\\b'",
    "gbrain.text.cjk_dates: pattern",
    "gbrain.text.foreign_dates: pattern",
    "gbrain.text.date_questions: pattern",
    "gbrain.text.dates: f'{weekday}(?:([0-9]{{1,2}})\\\\.([0-9]{{1,2}})\\\\.([0-9]{{4}})|(?:([0-9]{{1,2}})(?:\\\\.|st|nd|rd|th|er|º)? (?:of |de )?)?({names})\\\\.?,? (?:of |de )?([0-9]{{4}})|({names})\\\\.? ([0-9]{{1,2}})(?:st|nd|rd|th)?,? ([0-9]{{4}}))(?!\\\\w|[-/.][0-9])|([0-9]{{4}})年([0-9]{{1,2}})月(?:([0-9]{{1,2}})日)?'",  # noqa: E501
    "gbrain.text.dates: pattern",
    "gbrain.text.frontmatter: f'(\\\\{{){key}: (?:[\\\\w./-]+|\\\\\"[^\\\\r\\\\n]*?\\\\\"), '",
    "gbrain.text.frontmatter: f'\\\\ufeff?---(\\\\r\\\\n?|\\\\n){written}\\\\1---\\\\1'",
    "gbrain.text.gitignore: first if last is None else f'{first}{between}.*{last}'",
    "gbrain.text.language: f'[{letters}]'",
    "gbrain.text.links: f'{_REFERENCE.pattern}|\\\\(\\\\((?P<block>{BLOCK_UUID})\\\\)\\\\)'",
    "gbrain.text.markdown: pattern",
    "gbrain.text.page: separator",
    "gbrain.text.stop_words: pattern",
    "gbrain.text.unspaced: function_words",
}


def test_every_pattern_is_known_here() -> None:
    found, unknown = patterns()
    assert len(found) > 100
    assert set(unknown) <= BUILT_AT_RUN_TIME, "check whether a text can make this pattern slow"


def test_no_repeat_within_a_repeat_is_ambiguous() -> None:
    assert [place for found in patterns()[0] for place in nested_repeats(found)] == []


@pytest.mark.parametrize(
    "slow", [r"(a+)+$", r"(?:\s*\w+)*x", r"(.*,)*!", r"(?:[a-z]+\d?)*!", r"(?:(?:a|b)*c?)*d"]
)
def test_an_ambiguous_repeat_is_found(slow: str) -> None:
    assert nested_repeats(FoundPattern("here", slow, 0))


@pytest.mark.parametrize(
    "fast", [r"(?:/[^/]+)*$", r"(?:[a-z]++\d?)*+!", r"(?:(?>a+)b)*c", r"[ab]+c*", r"(?:a{1,3})*b"]
)
def test_a_harmless_repeat_is_allowed(fast: str) -> None:
    assert nested_repeats(FoundPattern("here", fast, 0)) == []


def test_attacks_lead_up_to_a_repeat_and_fail_behind_it() -> None:
    assert "x" + "a" * 10 + "\0" in attacks(FoundPattern("here", r"xa*b", 0), 10)


@pytest.mark.parametrize("size", ["8000", pytest.param("30000", marks=pytest.mark.slow)])
def test_no_text_makes_a_pattern_hang(size: str) -> None:
    """Each takes milliseconds; one that is quadratic in 30,000 would take many minutes."""
    program = str(Path(__file__).with_name("patterns.py"))
    done = subprocess.run(
        [sys.executable, program, size], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(" texts")


@pytest.mark.parametrize(
    "size",
    [MAX_COLOURED_CHARACTERS, pytest.param(MAX_COLOURED_PAGE_CHARACTERS, marks=pytest.mark.slow)],
)
def test_no_code_makes_a_lexer_hang(size: int) -> None:
    """All of it takes half a minute; one code block of systemd takes many."""
    program = str(Path(__file__).with_name("patterns.py"))
    done = subprocess.run(
        [sys.executable, program, "lexers", str(size)],
        capture_output=True, text=True, timeout=200 if size < 10_000 else 3000,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].endswith(" texts")
