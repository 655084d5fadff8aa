"""Settings: what is written is read back, what cannot be is refused with the reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gbrain.config import (
    Setting,
    Settings,
    all_settings,
    find_setting,
    format_value,
    override_settings,
    parse_value,
)
from gbrain.errors import BadSetting

SETTINGS = list(all_settings().values())
LIMITED = [setting for setting in SETTINGS if setting.kind is not str or setting.choices]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_has_help_and_a_valid_default(setting: Setting) -> None:
    assert setting.help
    assert setting.allowed
    assert setting.source
    assert parse_value(setting.name, format_value(setting.default)) == setting.default
    if setting.kind in (int, float):
        assert setting.low is not None
        assert setting.high is not None
        assert setting.low <= setting.default <= setting.high


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_bounds_are_valid_values(setting: Setting) -> None:
    for bound in (setting.low, setting.high):
        if bound is not None:
            written = str(int(bound)) if setting.kind is int else str(bound)
            assert parse_value(setting.name, written) == bound


@pytest.mark.parametrize("setting", LIMITED, ids=lambda setting: setting.name)
@pytest.mark.parametrize("written", ["", "maybe", "nan", "inf", "-1", "1e99", "9" * 5000, "½"])
def test_invalid_values_are_refused(setting: Setting, written: str) -> None:
    with pytest.raises(BadSetting) as refused:
        parse_value(setting.name, written)
    assert refused.value.message == f"{setting.name} cannot be {written!r}"
    assert refused.value.hint == (
        f"Allowed: {setting.allowed}. The default is {format_value(setting.default)}."
    )


@given(st.sampled_from(SETTINGS), st.text())
def test_any_text_is_a_value_or_bad_setting(setting: Setting, written: str) -> None:
    try:
        value = parse_value(setting.name, written)
    except BadSetting:
        return
    assert parse_value(setting.name, format_value(value)) == value


@given(st.floats(0, 1), st.integers(1, 1000), st.booleans())
def test_formatted_values_parse_to_the_same_value(bonus: float, k: int, flag: bool) -> None:
    values = {"both_bonus": bonus, "rrf_k": k, "short_circuit": flag}
    written = {name: format_value(value) for name, value in values.items()}
    changed = override_settings(Settings(), written)
    assert {name: getattr(changed, name) for name in values} == values


@pytest.mark.parametrize("written", ["on", "ON", "true", "Yes", " 1 "])
def test_words_that_switch_on(written: str) -> None:
    assert parse_value("short_circuit", written) is True


@pytest.mark.parametrize("written", ["off", "False", "no", "0"])
def test_words_that_switch_off(written: str) -> None:
    assert parse_value("short_circuit", written) is False


def test_a_misspelt_setting_suggests_the_nearest() -> None:
    with pytest.raises(BadSetting) as refused:
        find_setting("default_limt")
    assert refused.value.message == "There is no setting 'default_limt'"
    assert refused.value.hint == "Did you mean default_limit?"


def test_part_of_a_name_suggests_the_full_name() -> None:
    with pytest.raises(BadSetting) as refused:
        find_setting("merge")
    assert refused.value.hint == "Did you mean search_merge_strategy?"


def test_an_unlike_name_points_to_the_list() -> None:
    with pytest.raises(BadSetting) as refused:
        find_setting("zzz")
    assert refused.value.hint == "gbrain config list shows them all."


def test_an_unknown_setting_is_refused() -> None:
    with pytest.raises(BadSetting, match="There is no setting 'mood'"):
        override_settings(Settings(), {"mood": "sunny"})
