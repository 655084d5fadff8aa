"""Tokens: stored hashed outside of the brain, shown once, and checked at every request."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gbrain.errors import BadBrain, Conflict, GbrainError, NotFound, UsageError
from gbrain.paths import state_folder
from gbrain.server import tokens
from gbrain.server.tokens import Authenticator
from gbrain.types import Scope

BRAIN = "2026-11-16 12:00:00.123456"
NOW = "2026-11-16T12:00:00.000Z"


def token_file() -> Path:
    (file,) = (state_folder() / "tokens").glob("*.json")
    return file


def test_a_token_is_stored_without_its_secret() -> None:
    token, secret = tokens.add_token(BRAIN, "laptop", NOW, read_only=True)
    assert secret.startswith("gbrain_")
    assert len(secret) == 50
    stored = token_file().read_text()
    assert secret not in stored
    assert secret[7:] not in stored
    assert token.sha256 in stored
    assert token_file().stat().st_mode & 0o777 == 0o600
    assert token_file().parent.stat().st_mode & 0o777 == 0o700
    assert tokens.list_tokens(BRAIN) == [token]


def test_tokens_belong_to_one_brain() -> None:
    _, secret = tokens.add_token(BRAIN, "laptop", NOW)
    assert tokens.list_tokens("another") == []
    assert Authenticator("another").authenticate(secret, NOW) is None
    with pytest.raises(BadBrain):
        tokens.list_tokens("")


def test_access_is_what_the_token_was_given() -> None:
    limits = Scope(slug_prefix="people/")
    _, secret = tokens.add_token(BRAIN, "helper", NOW, read_only=True, limits=limits)
    access = Authenticator(BRAIN).authenticate(secret, NOW)
    assert access == ("helper", True, limits)


def test_a_name_is_unique_until_it_is_revoked() -> None:
    _, secret = tokens.add_token(BRAIN, "laptop", NOW)
    with pytest.raises(Conflict):
        tokens.add_token(BRAIN, "laptop", NOW)
    known = Authenticator(BRAIN)
    assert known.authenticate(secret, NOW)
    tokens.revoke_token(BRAIN, "laptop")
    assert known.authenticate(secret, NOW) is None
    with pytest.raises(NotFound):
        tokens.revoke_token(BRAIN, "laptop")
    tokens.add_token(BRAIN, "laptop", NOW)


@pytest.mark.parametrize("name", ["", " ", "a" * 61, "a\nb", "\x1b[0m"])
def test_a_name_is_short_and_printable(name: str) -> None:
    with pytest.raises(UsageError):
        tokens.add_token(BRAIN, name, NOW)


def test_tokens_added_at_the_same_time_are_all_kept() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: tokens.add_token(BRAIN, f"t{number}", NOW), range(24)))
    assert len(tokens.list_tokens(BRAIN)) == 24


@pytest.mark.parametrize(
    "damage", [b"{", b"[1]", b'[{"name": "x"}]', b"\xff", b"null", b'{"a": 1}']
)
def test_a_damaged_file_lets_nobody_in(damage: bytes) -> None:
    _, secret = tokens.add_token(BRAIN, "laptop", NOW)
    known = Authenticator(BRAIN)
    token_file().write_bytes(damage)
    with pytest.raises(GbrainError) as caught:
        known.authenticate(secret, NOW)
    assert caught.value.code == "bad_tokens"


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_file_that_others_can_write_lets_nobody_in() -> None:
    _, secret = tokens.add_token(BRAIN, "laptop", NOW)
    token_file().chmod(0o622)
    assert Authenticator(BRAIN).authenticate(secret, NOW) is None


def test_expiry() -> None:
    noon = datetime(2026, 11, 16, 12, tzinfo=UTC)
    assert tokens.expiry("90d", noon) == "2027-02-14T12:00:00.000Z"
    assert tokens.expiry("12h", noon) == "2026-11-17T00:00:00.000Z"
    assert tokens.expiry("1Y", noon) == "2027-11-16T12:00:00.000Z"
    for wrong in ("", "90", "0d", "-1d", "soon", "99999y", "1.5d"):
        with pytest.raises(UsageError):
            tokens.expiry(wrong, noon)


def test_a_code_works_once_and_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    known = Authenticator(BRAIN)
    code = known.issue_code()
    assert known.exchange_code("wrong", NOW) is None
    secret = known.exchange_code(code, NOW)
    assert secret is not None
    assert known.exchange_code(code, NOW) is None
    access = known.authenticate(secret, NOW)
    assert access == ("browser", False, Scope())
    late = known.issue_code()
    began = tokens.monotonic()
    monkeypatch.setattr(tokens, "monotonic", lambda: began + 61)
    assert known.exchange_code(late, NOW) is None
    assert Authenticator(BRAIN).authenticate(secret, NOW) is None
