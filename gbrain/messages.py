"""Wording that messages of all layers share: counted nouns and "did you mean"."""

from __future__ import annotations

from collections.abc import Iterable


def plural(count: int, noun: str) -> str:
    """Return the noun in the form that fits the count: `page` or `pages`."""
    return noun if count == 1 else f"{noun}s"


def counted(count: int, noun: str) -> str:
    """Return `1 page`, `2 pages`, `1,500 pages`."""
    return f"{count:,} {plural(count, noun)}"


def similar_names(name: str, known: Iterable[str], limit: int = 1) -> list[str]:
    """Return up to `limit` of the known names that are spelt like `name`, best first."""
    # Loaded only for a mistyped name: it costs every start of the program otherwise.
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=limit)


def did_you_mean(names: Iterable[str], otherwise: str = "") -> str:
    """Return `Did you mean a or b?` for the hint of an error; `otherwise` if there are no names."""
    listed = " or ".join(names)
    return f"Did you mean {listed}?" if listed else otherwise
