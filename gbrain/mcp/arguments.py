"""The arguments and results of tools: their JSON Schemas, and the check of a call's arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gbrain.errors import UsageError
from gbrain.messages import did_you_mean, similar_names
from gbrain.output.schemas import Schema, document_outline
from gbrain.query_options import QUERY_OPTIONS, QueryOption

if TYPE_CHECKING:
    from jsonschema import ValidationError

Arguments = Mapping[str, Any]

MAX_ENTRIES = 100
MAX_TOKENS = QUERY_OPTIONS["budget"].tool_maximum
DEFAULT_CHARACTERS = 20_000
_MAX_NAME_CHARACTERS = 1000
MAX_INTEGER = 1_000_000_000

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


# --- arguments -------------------------------------------------------------------------------


def arguments_schema(required: tuple[str, ...] = (), /, **properties: Schema) -> Schema:
    """Return the schema of a tool's arguments; others than these are refused."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def option_schemas(*names: str) -> dict[str, Schema]:
    """Return the schemas of options of a query, by the name that tools give them."""
    options = [QUERY_OPTIONS[name] for name in names]
    return {option.tool_argument: _option(option) for option in options}


def _option(option: QueryOption) -> Schema:
    description = option.tool_help or option.help
    name = {"type": "string", "maxLength": _MAX_NAME_CHARACTERS}
    match option.kind:
        case "text":
            return text_schema(description)
        case "texts":
            bounds: Schema = {"items": name, "maxItems": MAX_ENTRIES}
            return {"type": "array", "description": description, **bounds}
        case "pairs":
            bounds = {"additionalProperties": name, "maxProperties": MAX_ENTRIES}
            return {"type": "object", "description": description, **bounds}
        case "flag":
            return {"type": "boolean", "description": description}
        case "number":
            return number_schema(description, 1, option.tool_maximum)
        case "choice":
            return {"type": "string", "description": description, "enum": list(option.choices)}


def text_schema(description: str, max_characters: int = _MAX_NAME_CHARACTERS) -> Schema:
    """Return the schema of a text."""
    return {"type": "string", "description": description, "maxLength": max_characters}


def number_schema(description: str, low: int, high: int) -> Schema:
    """Return the schema of a whole number from `low` to `high`."""
    return {"type": "integer", "description": description, "minimum": low, "maximum": high}


# --- documents -------------------------------------------------------------------------------

NEXT_OFFSET: Schema = {
    "type": ["integer", "null"],
    "description": "Pass it as offset to get the rest; null if there is no more",
}
_TRUNCATED: Schema = {
    "type": "array",
    "items": {"type": "string"},
    "description": "What was cut to keep the document short; absent if nothing was",
}


def reply_schema(*names: str, **added: Schema) -> Schema:
    """Return the schema of the printed documents `names` in one, with properties of the tool."""
    outlines = [document_outline(name) for name in names]
    properties: Schema = {}
    required: list[str] = []
    for outline in outlines:
        properties |= outline["properties"]
        required += [name for name in outline["required"] if name not in required]
    return {
        "type": "object",
        "properties": {**properties, **added, "truncated": _TRUNCATED},
        "required": [*required, *added],
    }
