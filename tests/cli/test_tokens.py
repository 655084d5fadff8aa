"""`token`: add, list and revoke tokens of the HTTP server."""

from __future__ import annotations

import pytest


def test_a_token_is_added_listed_and_revoked(run, sample) -> None:
    added = run("token", "add", "laptop", "--read-only", "--wing", "People", "--expires", "90d")
    assert added.exit_code == 0
    assert added.stdout.startswith("gbrain_")
    assert "shown only now" in added.stderr
    listed = run("token", "list")
    assert listed.stdout == "laptop\tread\twing people\t2026-11-16\t2027-02-14\n"
    assert added.stdout.strip() not in listed.stdout
    assert run("token").stdout == listed.stdout
    assert run("token", "revoke", "laptop").exit_code == 0
    assert run("token", "list").stdout == ""


def test_the_secret_is_in_the_document_of_add_only(run, sample) -> None:
    added = run("token", "add", "helper", "--slug-prefix", "People/", "--json").json
    assert added["slug_prefix"] == "people/"
    (listed,) = run("token", "list", "--json").json["tokens"]
    assert {**listed, "secret": added["secret"]} == added
    assert run("token", "revoke", "helper", "--json").json == {"name": "helper", "revoked": True}


def test_a_token_can_have_both_limits(run, sample) -> None:
    words = ("--wing", "projects", "--slug-prefix", "projects/alpha")
    added = run("token", "add", "helper", *words, "--json").json
    assert (added["wing"], added["slug_prefix"]) == ("projects", "projects/alpha")
    assert "wing projects, projects/alpha…" in run("token", "list").stdout


def test_an_expired_token_is_marked(run, sample, monkeypatch) -> None:
    run("token", "add", "old", "--expires", "1d")
    monkeypatch.setenv("GBRAIN_NOW", "2026-11-18T12:00:00")
    assert "expired" in run("token", "list").stdout


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "x", "--wing", "a", "--slug-prefix", ""), "usage"),
        (("add", "x", "--wing", ""), "usage"),
        (("add", "x", "--slug-prefix", "a\0b"), "usage"),
        (("add", "x", "--expires", "soon"), "usage"),
        (("add", "taken"), "token_exists"),
        (("revoke", "takn"), "not_found"),
    ],
)
def test_wrong_tokens_are_errors(run, sample, words: tuple[str, ...], code: str) -> None:
    run("token", "add", "taken")
    ran = run("token", *words, "--json")
    assert ran.exit_code in (1, 2)
    assert ran.error["code"] == code


def test_a_mistyped_name_gets_a_hint(run, sample) -> None:
    run("token", "add", "laptop")
    assert "Did you mean laptop?" in run("token", "revoke", "laptp").stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--http", "0.0.0.0:0"), "not_encrypted"),
        (("--http", "192.168.1.5"), "not_encrypted"),
        (("--http", "notes.example:80"), "not_encrypted"),
        (("--http", "127.0.0.1:99999"), "usage"),
        (("--http", "127.0.0.1:x"), "usage"),
        (("--http", "--cert", "cert.pem"), "usage"),
        (("--http", "127.0.0.1:0", "--cert", "no.pem", "--key", "no.pem"), "bad_certificate"),
        (("--http", "256.1.1.1:0", "--behind-proxy"), "cannot_listen"),
        (("127.0.0.1:0",), "usage"),
        (("--behind-proxy",), "usage"),
        (("--allow-host", "x"), "usage"),
    ],
)
def test_serve_refuses_addresses(run, sample, words: tuple[str, ...], code: str) -> None:
    ran = run("serve", *words)
    assert ran.exit_code in (1, 2)
    wording = {
        "not_encrypted": "Without TLS",
        "bad_certificate": "cannot be used",
        "cannot_listen": "Cannot listen",
    }
    assert wording.get(code, "") in ran.stderr
