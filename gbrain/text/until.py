"""A page as it can have been on a day: without the timeline entries of later ones."""

from __future__ import annotations

from gbrain.text.frontmatter import split
from gbrain.text.markdown import scan
from gbrain.text.sections import split_sections, timeline_line


def without_later_entries(text: str, day: str) -> str:
    """The text without what its timeline dates after `day` (ISO), other characters untouched.

    A dated heading in the timeline goes with all that stands under it and has no date of its own.
    """
    front, body = split(text)
    structure = scan(body)
    timeline = timeline_line(body, structure)
    top = structure.starts[timeline]
    kept = [front.raw]
    later: tuple[str, ...] | None = None
    for section in split_sections(body, structure, timeline):
        path = section.heading_path
        if section.start < top:
            cut = False
        elif section.first_day is not None:
            cut = section.first_day > day
            if section.kind == "truth":
                later = path if cut else None
        else:
            cut = later is not None and path[: len(later)] == later
        if not cut:
            kept.append(body[section.start : section.stop])
    return "".join(kept)
