"""Check the arguments of a tool call against the schema; an error says what to change."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gbrain.errors import UsageError
from gbrain.messages import did_you_mean, similar_names

if TYPE_CHECKING:
    from jsonschema import ValidationError

Schema = Mapping[str, Any]
Arguments = Mapping[str, Any]

_TYPE_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
# How much of a wrong value a message repeats.
_SHOWN_CHARACTERS = 40
_MAX_SHOWN_NUMBER = 1e15


def check_arguments(schema: Schema, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments without those that are null, whole numbers as int.

    Raises UsageError, which names the argument and quotes its description, for an argument that
    is unknown, missing or not what the schema allows.
    """
    known: dict[str, Schema] = schema["properties"]
    arguments = {name: value for name, value in (given or {}).items() if value is not None}
    for name in arguments:
        if name not in known:
            raise _unknown_argument(name, list(known))
    for name in schema["required"]:
        if name not in arguments:
            raise UsageError(f"{name} is missing", hint=known[name]["description"])
    for name, value in arguments.items():
        problem = _first_problem(known[name], name, value)
        if problem:
            raise UsageError(problem, hint=known[name]["description"])
    # JSON Schema counts 5.0 as an integer.
    return {
        name: int(value) if isinstance(value, float) else value for name, value in arguments.items()
    }


def _unknown_argument(name: str, known: list[str]) -> UsageError:
    similar = similar_names(name[:_SHOWN_CHARACTERS], known)
    suggestion = f"{did_you_mean(similar)} " if similar else ""
    listed = f"The arguments are {', '.join(known)}." if known else "The tool takes no arguments."
    return UsageError(f"There is no argument {_short_value(name)}", hint=suggestion + listed)


def _first_problem(schema: Schema, name: str, value: Any) -> str | None:
    """Return what the schema forbids about a value, or None."""
    # Loading jsonschema takes 0.1 s, which a server should not spend before its first call.
    from jsonschema import Draft202012Validator

    try:
        for error in Draft202012Validator(schema).iter_errors(value):
            place = "".join(f"[{_short_value(step)}]" for step in error.path)
            return _describe(error, name + place)
    except ValueError:
        # jsonschema puts the value into its message; Python refuses to print so many digits.
        return f"{name} has a number of more than 4,300 digits"
    return None


def _describe(error: ValidationError, name: str) -> str:
    """Return a problem in words that start with the name of the argument."""
    value: Any = error.instance
    rule: Any = error.validator_value
    if error.validator == "maxLength":
        return f"{name} has {len(value):,} characters; the limit is {rule:,}"
    if error.validator in ("maxItems", "maxProperties"):
        return f"{name} has {len(value)} entries; the limit is {rule}"
    if error.validator == "type":
        expected = _TYPE_WORDS[rule]
    elif error.validator == "enum":
        expected = " | ".join(rule)
    else:
        expected = f"a number from {error.schema['minimum']} to {error.schema['maximum']}"
    return f"{name} takes {expected}, not {_short_value(value)}"


def _short_value(value: object) -> str:
    """Return a wrong value as JSON writes it, or its kind if it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value) if abs(value) < _MAX_SHOWN_NUMBER else "a very large number"
    if isinstance(value, str):
        long = len(value) > _SHOWN_CHARACTERS
        return repr(value[:_SHOWN_CHARACTERS] + "…" if long else value)
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return "null"
