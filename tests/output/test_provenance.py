"""What led to a page, drawn and written."""

from __future__ import annotations

from gbrain.output.provenance import origin_lines, show_origin
from gbrain.store.provenance import Cause, Origin


def cause(kind: str, name: str, *below: Origin, state: str = "page", more: int = 0) -> Origin:
    title = f"{name.title()} [red]" if state in ("page", "repeated") else None
    return Origin(Cause(kind, name, title, None, state), below, more)


TREE = cause(
    "link",
    "plan",
    cause("derived_from", "talk", cause("source", "https://example.org/\x1b[2J", state="outside")),
    cause("supersedes", "gone", state="missing"),
    cause("superseded_by", "talk", state="repeated"),
    more=7,
)


def test_causes_are_a_tree_on_a_terminal(capsys):
    show_origin(TREE)
    assert capsys.readouterr().out.splitlines() == [
        "Plan [red]  plan",
        "├── derived_from  talk  Talk [red]",
        "│   └── source  https://example.org/\ufffd[2J",
        "├── supersedes  gone  (no such page)",
        "├── superseded_by  talk  Talk [red]  (elsewhere in this tree)",
        "└── and 7 more",
    ]


def test_causes_are_indented_lines_in_a_pipe():
    assert origin_lines(TREE) == [
        "plan  Plan [red]",
        "  derived_from  talk  Talk [red]",
        "    source  https://example.org/\ufffd[2J",
        "  supersedes  gone  (no such page)",
        "  superseded_by  talk  Talk [red]  (elsewhere in this tree)",
        "  and 7 more",
    ]
