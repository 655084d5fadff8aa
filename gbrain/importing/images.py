"""Find and read the images that notes show; only inside the folder of the note."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from urllib.parse import unquote

MAX_IMAGE_BYTES = 20_000_000
IMAGE_TYPES = {
    ".avif": "image/avif", ".bmp": "image/bmp", ".gif": "image/gif", ".jpeg": "image/jpeg",
    ".jpg": "image/jpeg", ".png": "image/png", ".svg": "image/svg+xml", ".webp": "image/webp",
}  # fmt: skip
# Where Obsidian, Logseq and people put images; an embed names only the file.
_USUAL_FOLDERS = ("", "attachments", "assets", "images", "img", "media", "files")


def find_image(root: str, page_path: str, written: str) -> Path | None:
    """Return the file of an image that a page names, or None.

    It is looked for next to the page, at the top of the folder, and there in folders with a usual
    name. A file outside the folder, also by a symbolic link, is ignored.
    """
    name = PurePosixPath(unquote(written.partition("#")[0].partition("?")[0]).lstrip("/"))
    if "\0" in str(name) or name.suffix.lower() not in IMAGE_TYPES:
        return None
    real_root = os.path.realpath(root)
    for start in dict.fromkeys((PurePosixPath(page_path).parent, PurePosixPath())):
        for usual in _USUAL_FOLDERS:
            real = os.path.realpath(Path(real_root, start, usual, name))
            if real.startswith(f"{real_root}{os.sep}") and _is_image(real):
                return Path(real)
    return None


def _is_image(path: str) -> bool:
    """Tell whether a path is a file with the name of an image, not larger than the limit."""
    try:
        is_small = os.path.isfile(path) and os.path.getsize(path) <= MAX_IMAGE_BYTES
    except OSError:
        return False
    return is_small and Path(path).suffix.lower() in IMAGE_TYPES


def read_image(path: Path) -> bytes | None:
    """Return the content of an image, None if it cannot be read or grew beyond the limit."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_IMAGE_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_IMAGE_BYTES else None
