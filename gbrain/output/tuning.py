"""Render the result of `tune` as JSON, plain rows and a terminal screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gbrain.evaluate.tune import TuneResult
from gbrain.messages import tab_separated
from gbrain.output import screen
from gbrain.output.json import Document
from gbrain.output.plots import bar

if TYPE_CHECKING:
    from rich.table import Table

_MAX_BAR_WIDTH = 24
# The width of the table without its bars.
_TABLE_WIDTH = 53


def tuned_document(
    tuned: TuneResult, *, source: str, written: dict[str, str], undo: str
) -> Document:
    return {
        "questions": tuned.questions,
        "source": source,
        "present": {
            "settings": tuned.present._asdict(),
            "ndcg_at_10": round(tuned.present_score, 6),
        },
        "best": {"settings": tuned.best._asdict(), "ndcg_at_10": round(tuned.best_score, 6)},
        "held_out_gain": {
            "mean": round(tuned.gain, 6),
            "low": round(tuned.low, 6),
            "high": round(tuned.high, 6),
        },
        "lanes_ahead": {lane: round(sum_, 4) for lane, sum_ in tuned.ahead.items()},
        "by_fold": [fit._asdict() for fit in tuned.by_fold],
        "best_of": [
            {"settings": fit._asdict(), "ndcg_at_10": round(score, 6)}
            for fit, score in tuned.best_of
        ],
        "written": written or None,
        "undo": undo or None,
    }


def tuned_text(tuned: TuneResult) -> str:
    """Return tab-separated rows: present settings, the best of each strategy, the gain."""
    rows: list[tuple[object, ...]] = [
        ("present", *tuned.present, f"{tuned.present_score:.4f}"),
        *(("best", *fit, f"{score:.4f}") for fit, score in tuned.best_of),
        ("gain", f"{tuned.gain:+.4f}", f"{tuned.low:+.4f}", f"{tuned.high:+.4f}"),
    ]
    return tab_separated(rows)


def show_tuned(tuned: TuneResult) -> None:
    """Print the present settings and the best of each strategy with a bar, then the gain."""
    from rich.text import Text

    terminal = screen.console()
    terminal.print(_table(tuned, min(_MAX_BAR_WIDTH, terminal.width - _TABLE_WIDTH)))
    style = "green" if tuned.is_gain else ""
    gain = (f"{tuned.gain:+.4f}", f"bold {style}".strip())
    interval = (f"  (95 % interval {tuned.low:+.4f} to {tuned.high:+.4f})", "dim")
    terminal.print(Text.assemble("Gain on questions not used to choose: ", gain, interval))
    chosen = len(set(tuned.by_fold))
    agree = "the same settings" if chosen == 1 else f"{chosen} different settings"
    folds = f"Chosen {len(tuned.by_fold)} times, each time on other questions: {agree}."
    terminal.print(Text(folds, style="dim"))


def _table(tuned: TuneResult, bar_width: int) -> Table:
    from rich.text import Text

    table = screen.narrow_table()
    for head in ("", "Merge"):
        table.add_column(head, no_wrap=True)
    for head in ("Vector", "Keyword", "Bonus"):
        table.add_column(head, justify="right", no_wrap=True)
    table.add_column("nDCG@10", no_wrap=True)
    rows = [("present", tuned.present, tuned.present_score)]
    rows += [("best", fit, score) for fit, score in tuned.best_of]
    # Bars from zero would all look the same, so they start just below the lowest score.
    floor = 2 * min(score for *_, score in rows) - max(score for *_, score in rows)
    top = max(score for *_, score in rows)
    for label, fit, score in rows:
        length = bar(score - floor, top - floor, bar_width) if top > floor else ""
        best = label == "best" and fit == tuned.best
        table.add_row(
            Text(label if label == "present" else "", style="dim"),
            Text(fit.search_merge_strategy, style="bold" if best else ""),
            f"{fit.semantic_weight:g}",
            f"{fit.keyword_weight:g}",
            f"{fit.both_bonus:g}" if fit.search_merge_strategy == "set-union" else "",
            Text.assemble(f"{score:.4f} ", (length, "green" if best else "cyan")),
        )
    return table


def recommendation(tuned: TuneResult, *, mined: bool, written: dict[str, str], undo: str) -> str:
    """Return what the outcome means and what to do next."""
    if written:
        changed = ", ".join(f"{name} {value}" for name, value in written.items())
        return f"Settings changed: {changed}.\nTo undo: {undo}"
    if not tuned.is_gain:
        return "No gain beyond chance. The present settings stay."
    if mined and not tuned.is_balanced:
        return (
            "The gain is not reliable: one lane wins nearly all questions made from the pages, "
            "and settings that suit them do not help with real questions. The present settings "
            "stay.\nTo tune with real questions: gbrain tune DIR, or record your own queries for "
            "a while with gbrain config set record_queries on"
        )
    change = ", ".join(f"{n} {v}" for n, v in tuned.best.changes_from(tuned.present).items())
    return f"Recommended: {change}. To apply it: gbrain tune --apply"
