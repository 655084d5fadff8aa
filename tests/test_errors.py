"""What every error carries, wherever it is raised and whichever process it comes from."""

from __future__ import annotations

import ast
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest

from gbrain import errors
from gbrain.errors import GbrainError, NotFound

PACKAGE = Path(errors.__file__).parent
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type)} & {
    kind.__name__ for kind in (GbrainError, *GbrainError.__subclasses__())
}


def made(tree: ast.AST) -> Iterator[ast.Call]:
    """Every place where an error of ours is made."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS:
            yield node


def has_hint(call: ast.Call) -> bool:
    hint = next((word.value for word in call.keywords if word.arg == "hint"), None)
    return hint is not None and not (isinstance(hint, ast.Constant) and not hint.value)


def test_every_error_has_a_hint() -> None:
    calls = {
        f"{file.relative_to(PACKAGE)}:{call.lineno}": has_hint(call)
        for file in PACKAGE.rglob("*.py")
        for call in made(ast.parse(file.read_text("utf-8")))
    }
    assert len(calls) > 100
    assert [place for place, hinted in calls.items() if not hinted] == []


@pytest.mark.parametrize(
    ("source", "hinted"),
    [
        ("NotFound('x', hint='gbrain list')", True),
        ("NotFound('x', hint=near(x), code='y')", True),
        ("NotFound('x')", False),
        ("BadBrain('x', hint=None)", False),
        ("BadBrain('x', hint='')", False),
    ],
)
def test_a_missing_or_empty_hint_is_detected(source: str, hinted: bool) -> None:
    (call,) = made(ast.parse(source))
    assert has_hint(call) is hinted


def test_errors_can_be_pickled() -> None:
    error = NotFound("There is no page x", hint="gbrain list", code="gone")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), again.message, again.hint, again.code, str(again)) == (
        NotFound, "There is no page x", "gbrain list", "gone", "There is no page x",
    )  # fmt: skip


@pytest.mark.parametrize("message", ["There is no page x", "There is no page x."])
def test_message_and_hint_in_one_line(message: str) -> None:
    assert NotFound(message, hint="See list.").full_message == "There is no page x. See list."
