"""What the URL of a shared store may contain, and that no password is ever shown."""

from __future__ import annotations

import pytest

from gbrain.errors import UsageError
from gbrain.store.postgres.address import check_url, redact, url_hosts


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://host/db",
        "postgres://user@host:5433/db",
        "postgresql:///db",
        "postgresql://user@%2Frun%2Fpostgresql:5433/db",
        "postgresql://one:1,two:2/db?target_session_attrs=read-write",
        "postgresql://host/db?options=a@b",
        "postgresql://[::1]:5432/db",
        "postgresql:///?service=team",
    ],
)
def test_urls_without_a_password_are_accepted(url: str) -> None:
    assert check_url(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://user:hunter22@host/db",
        "postgres://user:hunter22@host:5432/db",
        "postgresql://user:hunter22/x@host/db",
        "postgresql://user:12hunter22/x@host/db",
        "postgresql://user:hunter22?x@host/db",
        "postgresql://user:hunter22@x@host/db",
        "postgresql://host/db?password=hunter22",
        "postgresql://host/db?user=x&PassWord=hunter22",
        "postgresql://host/db?sslpassword=hunter22",
        "postgresql://host/db?user=x&pass%77ord=hunter22",
        "postgresql://host/db?oauth_client_secret=hunter22",
        "postgresql://host/db?scram_client_key=hunter22",
    ],
)
def test_a_url_with_a_password_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(UsageError) as raised:
        check_url(url)
    assert raised.value.code == "password_in_url"
    assert "hunter22" not in raised.value.full_message
    assert "~/.pgpass" in raised.value.hint


@pytest.mark.parametrize("url", ["mysql://host/db", "brain.db", "", "postgresql:/host/db"])
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(UsageError):
        check_url(url)


def test_control_characters_are_refused() -> None:
    with pytest.raises(UsageError):
        check_url("postgresql://host/db\x1b[31m")


def test_redact_hides_every_form_of_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "tiger-lily")
    text = redact(
        "no postgresql://u:hunter22@h/db, host=h password=hunter22 user=u password='hunter 22' "
        "?password=hunter22&x=1 tiger-lily"
    )
    assert "hunter" not in text
    assert "tiger" not in text
    assert "postgresql://u:***@h/db" in text
    assert "user=u" in text
    assert "x=1" in text


def test_redact_leaves_other_text_alone() -> None:
    assert redact("postgresql://u@h:5432/db says no") == "postgresql://u@h:5432/db says no"


def test_hosts_of_a_url() -> None:
    assert url_hosts("postgresql:///db") == []
    assert url_hosts("postgresql://u@[::1]:1,b:2/db") == ["::1", "b"]
    assert url_hosts("postgresql://%2Frun%2Fpg/db") == ["/run/pg"]
    assert url_hosts("postgresql:///db?host=a,b&hostaddr=10.0.0.1") == ["a", "b", "10.0.0.1"]
