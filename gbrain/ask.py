"""Answer a query whose options are values by name, as commands, batch lines and HTTP give them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gbrain.brain import Brain, today
from gbrain.query_options import parse_scope, setting_overrides
from gbrain.text.query_tree import unread_dates
from gbrain.types import Answer

if TYPE_CHECKING:
    from gbrain.search.boost_factors import CustomBoost


def answer_query(brain: Brain, text: str, given: Mapping[str, Any]) -> Answer:
    """Return the answer, with a notice that says what of the query could not be used."""
    options = query_arguments(given)
    answer = brain.query(
        text,
        depth=given.get("depth"),
        budget=given.get("budget"),
        all_hits=bool(given.get("all")),
        **options,
    )
    scope = options["scope"]
    notices = [
        answer.notice,
        "These are keyword results." if answer.notice and answer.fell_back_to_bm25 else None,
        *(
            f"Cannot read the date in {field}, so it was searched as text."
            for field in unread_dates(text, today())
        ),
    ]
    if not answer.hits and not text.strip():
        notices.append("The query is empty.")
    if not (answer.hits or scope.unlimited):
        notices += brain.filter_hints(scope)
    return answer._replace(notice=" ".join(filter(None, notices)) or None)


def query_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that `query` and `explain` share, as Brain takes them."""
    return {
        "scope": parse_scope(given, today()),
        "limit": given.get("limit"),
        "mode": given.get("mode"),
        "merge": given.get("merge"),
        "boosts": parse_boosts(given.get("boost")),
        "changes": setting_overrides(given),
    }


def option_by_setting(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the option that a setting's value comes from, by setting."""
    profile, rerank = given.get("profile"), given.get("rerank")
    sources: dict[str, str] = {}
    if profile:
        from gbrain.profiles import profile_values

        values = profile_values(profile)
        sources = dict.fromkeys(values, f"--profile {profile}")
        if rerank and values["rerank"] != "off":
            return sources | {"rerank": f"--profile {profile} and --rerank"}
    return sources | ({"rerank": "--rerank"} if rerank else {})


def parse_boosts(values: list[str] | None) -> tuple[CustomBoost, ...]:
    """Return the values of --boost; raises UsageError for one that is malformed."""
    if not values:
        return ()
    from gbrain.search.boosts import parse_boost

    return tuple(parse_boost(value) for value in values)
