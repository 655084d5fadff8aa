"""Earlier texts of pages, unpacked within bounds."""

from __future__ import annotations

import zlib


def unpacked(content: bytes) -> str:
    """The text of a version; raises ValueError or zlib.error for what is none.

    A file from elsewhere may hold a few bytes that unpack to more than there is room for.
    """
    from gbrain.text.page import MAX_PAGE_BYTES

    unpacker = zlib.decompressobj()
    data = unpacker.decompress(content, MAX_PAGE_BYTES + 1)
    if not unpacker.eof or len(data) > MAX_PAGE_BYTES:
        raise ValueError("a version that is cut short or too large")
    return data.decode()
