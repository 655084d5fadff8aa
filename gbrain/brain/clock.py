"""The current time and day, which $GBRAIN_NOW can fix for tests and recordings."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, date, datetime


def clock() -> datetime:
    """Return the current time in UTC, or the ISO time in $GBRAIN_NOW."""
    fixed = os.environ.get("GBRAIN_NOW")
    if fixed:
        with suppress(ValueError):
            moment = datetime.fromisoformat(fixed)
            return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC)
    return datetime.now(UTC)


def today() -> date:
    """Return the current day in local time."""
    return clock().astimezone().date()


def timestamp() -> str:
    """Return the current time in the format the brain stores: ISO, UTC, milliseconds."""
    return clock().isoformat(timespec="milliseconds").replace("+00:00", "Z")
