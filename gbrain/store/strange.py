"""What reading a damaged row may lead to: anything can stand where a text or a number belongs."""

from __future__ import annotations

from zlib import error as unpacking

STRANGE = (
    TypeError, ValueError, LookupError, AttributeError, ArithmeticError, AssertionError,
    RecursionError, MemoryError, unpacking,
)  # fmt: skip
