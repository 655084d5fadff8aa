"""Render settings as JSON, plain lines and a terminal screen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gbrain.config import HEADINGS, Setting, SettingValue, format_value, parse_value
from gbrain.errors import BadSetting
from gbrain.messages import tab_separated
from gbrain.output import screen
from gbrain.output.json import Document


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting and its value in this brain; `set` is False if that is the default."""

    setting: Setting
    value: SettingValue
    set: bool

    @property
    def value_text(self) -> str:
        """Return the value as a user types it."""
        return format_value(self.value)


def setting_row(setting: Setting, stored: Mapping[str, str]) -> SettingRow:
    """Return a setting with its stored value; an invalid value counts as the default."""
    try:
        value = parse_value(setting.name, stored[setting.name])
    except (KeyError, BadSetting):
        value = setting.default
    return SettingRow(setting, value, setting.name in stored)


def value_document(row: SettingRow) -> Document:
    """Return the value of a setting as JSON, for `config get` and `config set`."""
    return {
        "name": row.setting.name,
        "value": row.value,
        "default": row.setting.default,
        "set": row.set,
    }


def setting_document(row: SettingRow) -> Document:
    """Return all about a setting as JSON, for `config list`."""
    return {
        "name": row.setting.name,
        "value": row.value,
        "default": row.setting.default,
        "type": row.setting.kind.__name__,
        "allowed": row.setting.allowed,
        "source": row.setting.source,
        "set": row.set,
        "help": row.setting.help,
    }


def settings_text(rows: Sequence[SettingRow]) -> str:
    """Return a line for each setting: name, value, default, allowed, source, set, help."""
    return tab_separated(
        (
            row.setting.name,
            row.value_text,
            format_value(row.setting.default),
            row.setting.allowed,
            row.setting.source,
            "set" if row.set else "default",
            row.setting.help,
        )
        for row in rows
    )


def show_settings(rows: Sequence[SettingRow], *, pager: bool = True) -> None:
    """Print two lines for each setting: name, value and allowed values; then its help."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from gbrain.output.screen import open_pager

    terminal = screen.console()
    names = max(len(row.setting.name) for row in rows)
    values = max(len(row.value_text) for row in rows)
    with open_pager(terminal, wanted=pager):
        for row in rows:
            if row.setting.name in HEADINGS:
                terminal.print(Text(f"\n{HEADINGS[row.setting.name]}", style="bold"))
            line = Table.grid(padding=(0, 2, 0, 0))
            line.add_column(width=names, style="cyan")
            line.add_column(min_width=values, overflow="fold")
            line.add_column(style="dim", overflow="fold")
            value = Text(row.value_text, "bold" if row.set else "")
            line.add_row(Text(row.setting.name), value, Text(row.setting.allowed))
            terminal.print(line)
            default = f" (default {format_value(row.setting.default)})" if row.set else ""
            terminal.print(Padding(Text(row.setting.help + default, style="dim"), (0, 0, 0, 2)))
