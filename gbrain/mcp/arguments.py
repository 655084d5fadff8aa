"""What an agent may ask with: arguments held against their schema, and read into filters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gbrain.brain import today as today
from gbrain.errors import UsageError
from gbrain.messages import did_you_mean, similar_names

if TYPE_CHECKING:
    from gbrain.text.dates import Period

Schema = Mapping[str, Any]
Arguments = Mapping[str, Any]

_KINDS: dict[str, tuple[Any, str]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
    "array": (list, "a list"),
    "object": (dict, "an object"),
}
# Characters of a wrong value that a message repeats.
_SHOWN = 40
_LARGE = 1e15


def checked(schema: Schema, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments without those that are null; raises UsageError for one the schema forbids.

    A whole number may come as 5.0, as some programs write it.
    """
    known = schema["properties"]
    arguments = {name: value for name, value in (given or {}).items() if value is not None}
    for name in arguments:
        if name not in known:
            raise _unknown(name, list(known))
    for name in schema.get("required", ()):
        if name not in arguments:
            raise UsageError(f"{name} is missing", hint=_about(known[name]))
    read = {name: _whole(known[name], value) for name, value in arguments.items()}
    for name, value in read.items():
        fault = next(_faults(known[name], value), None)
        if fault:
            raise UsageError(f"{name} {fault}", hint=_about(known[name]))
    return read


def _unknown(name: str, known: list[str]) -> UsageError:
    similar = similar_names(name[:_SHOWN], known)
    meant = f"{did_you_mean(similar)} " if similar else ""
    return UsageError(
        f"There is no argument {_shown(name)}", hint=f"{meant}There are {', '.join(known)}."
    )


def _about(schema: Schema) -> str:
    description: str = schema["description"]
    return description


def _whole(schema: Schema, value: Any) -> Any:
    if schema["type"] == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _faults(schema: Schema, value: Any) -> Iterator[str]:
    """What is wrong with a value, in words that follow its name."""
    kind, named = _KINDS[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield f"takes {named}, not {_shown(value)}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"takes {' | '.join(schema['enum'])}, not {_shown(value)}"
    elif "minimum" in schema and not schema["minimum"] <= value <= schema["maximum"]:
        low, high = schema["minimum"], schema["maximum"]
        yield f"takes a number from {low} to {high}, not {_shown(value)}"
    elif "maxLength" in schema and len(value) > schema["maxLength"]:
        yield f"has {len(value):,} characters; the limit is {schema['maxLength']:,}"
    elif "maxItems" in schema:
        yield from _faults_inside(list(value), schema["maxItems"], schema["items"])
    elif "maxProperties" in schema:
        of_each = schema["additionalProperties"]
        yield from _faults_inside(list(value.values()), schema["maxProperties"], of_each)


def _faults_inside(values: list[Any], most: int, of_each: Schema) -> Iterator[str]:
    if len(values) > most:
        yield f"has {len(values)} entries; the limit is {most}"
    for value in values:
        yield from (f"holds an entry that {fault}" for fault in _faults(of_each, value))


def _shown(value: object) -> str:
    """A wrong value, short enough for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value) if abs(value) < _LARGE else "a number beyond all bounds"
    if isinstance(value, str):
        return repr(value if len(value) <= _SHOWN else value[:_SHOWN] + "…")
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    return "null"


def day_of(written: str) -> Period:
    """The days that a date means, counted from today; raises UsageError if it cannot be read."""
    from gbrain.text.dates import parse_bound

    return parse_bound(written, today())
