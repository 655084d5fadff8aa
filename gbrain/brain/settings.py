"""`Brain` methods for settings, profiles and query aliases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gbrain.brain.base import BrainFile
from gbrain.config import find_setting, format_value, parse_value
from gbrain.store import settings


class SettingMethods(BrainFile):
    """Change settings, apply profiles, manage query aliases."""

    def set(self, name: str, written: str) -> None:
        """Change a setting; it takes effect when the brain is opened again."""
        value = format_value(parse_value(name, written))
        with self.database.write_transaction() as connection:
            settings.save_setting(connection, name, value)

    def set_all(self, values: Mapping[str, str]) -> None:
        """Change several settings at once; a value equal to the default removes the setting."""
        with self.database.write_transaction() as connection:
            for name, value in values.items():
                if parse_value(name, value) == find_setting(name).default:
                    settings.remove_setting(connection, name)
                else:
                    settings.save_setting(connection, name, value)

    def reset(self, names: Iterable[str] | None = None) -> list[str]:
        """Put settings (default: all) back to the default; return the names that were set.

        Raises BadSetting for a name that is neither a setting nor stored in the file.
        """
        with self.database.write_transaction() as connection:
            stored = settings.read_settings(connection)
            wanted = sorted(stored) if names is None else list(dict.fromkeys(names))
            for name in wanted:
                if name not in stored:
                    find_setting(name)
            changed = [name for name in wanted if name in stored]
            for name in changed:
                settings.remove_setting(connection, name)
        return changed

    def use_profile(self, name: str) -> dict[str, str]:
        """Store a profile's settings; return the old values that it overwrote."""
        from gbrain.profiles import find_profile, profile_values

        named = find_profile(name).values
        values = {
            key: format_value(parse_value(key, value))
            for key, value in profile_values(name).items()
        }
        with self.database.write_transaction() as connection:
            before = settings.read_settings(connection)
            for key, value in values.items():
                if key in named:
                    settings.save_setting(connection, key, value)
                else:
                    settings.remove_setting(connection, key)
        return {key: before[key] for key in values if before.get(key, values[key]) != values[key]}

    def aliases(self) -> dict[str, tuple[str, ...]]:
        """Return the words that queries expand, each with its synonyms."""
        with self.database.read_transaction() as connection:
            return settings.read_aliases(connection)

    def add_alias(self, word: str, synonyms: tuple[str, ...]) -> tuple[str, ...]:
        """Add synonyms for a word; return all that it has now."""
        with self.database.write_transaction() as connection:
            settings.add_alias(connection, word, synonyms)
            return settings.read_aliases(connection)[word]

    def remove_alias(self, word: str) -> tuple[str, ...]:
        """Remove a word's synonyms and return them; empty if it has none."""
        with self.database.write_transaction() as connection:
            removed = settings.read_aliases(connection).get(word, ())
            settings.remove_alias(connection, word)
        return removed
