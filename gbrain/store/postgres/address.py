"""The URL of a shared store: what it may contain, and how it is shown. Loads no driver."""

from __future__ import annotations

import os
import re
from urllib.parse import parse_qsl, unquote

from gbrain.errors import UsageError

_SCHEMES = ("postgresql://", "postgres://")
_SECRET_PARAMETERS = (
    "password", "sslpassword", "oauth_client_secret", "scram_client_key", "scram_server_key",
)  # fmt: skip
# A shorter password would blank out ordinary words of a message.
_MIN_REDACTED_CHARACTERS = 4
# Of any URL, and of one whose scheme is misspelt.
_PASSWORD_IN_URL = r"(?i)([a-z][\w+.-]*(?::/{1,2}|//)[^\s:/@?]*:)\S*(?=@)"
_PASSWORD_PARAMETER = rf"(?i)((?:{'|'.join(_SECRET_PARAMETERS)})=)('[^']*'|[^\s&]+)"
_URL_PARAMETER = r"([?&][^\s=&]+=)[^\s&]+"


def check_url(url: str) -> str:
    """Return the URL of a shared store; raise UsageError if it is none or has a password in it."""
    if not url.lower().startswith(_SCHEMES):
        raise UsageError(
            f"{redact(url)} is not the URL of a PostgreSQL database",
            hint="Write postgresql://host/database or postgresql://user@host:port/database.",
        )
    if any(ord(char) < 33 or ord(char) == 127 for char in url):
        raise UsageError(
            "The URL contains a space or a control character",
            hint="Write %20 for a space in a name.",
        )
    user = _authority(url).rpartition("@")[0]
    names = {name.lower() for name, _ in _parameters(url)}
    if ":" in user or names.intersection(_SECRET_PARAMETERS):
        raise UsageError(
            f"The URL contains a password: {redact(url)}",
            hint="Leave it out of the URL, and put it into ~/.pgpass (a line "
            "host:port:database:user:password, mode 0600), $PGPASSWORD or a service file.",
            code="password_in_url",
        )
    return url


def url_parameters(url: str) -> dict[str, str]:
    """Return the parameters after the question mark of a URL."""
    return dict(_parameters(url))


def url_hosts(url: str) -> list[str]:
    """Return the hosts that a URL names, its parameters included; empty for the default host."""
    hosts = []
    for part in _authority(url).rpartition("@")[2].split(","):
        host = part[1:].partition("]")[0] if part.startswith("[") else part.partition(":")[0]
        hosts.append(unquote(host))
    given = url_parameters(url)
    for name in ("host", "hostaddr"):
        hosts += given.get(name, "").split(",")
    return [host for host in hosts if host]


def redact(text: str, password: str = "") -> str:
    """Return a message without passwords: those in URLs and parameters, $PGPASSWORD, and one more.

    `password` is the one of the connection, which may come from a file.
    """
    text = re.sub(_PASSWORD_IN_URL, r"\1***", text)
    text = re.sub(_PASSWORD_PARAMETER, r"\1***", text)
    text = re.sub(_URL_PARAMETER, _redact_parameter, text)
    for secret in (os.environ.get("PGPASSWORD", ""), password):
        if len(secret) >= _MIN_REDACTED_CHARACTERS:
            text = text.replace(secret, "***")
    return text


def _redact_parameter(found: re.Match[str]) -> str:
    """Return a parameter of a URL without its value if it is a password, however it is written."""
    name = unquote(found[1][1:-1]).lower()
    return f"{found[1]}***" if name in _SECRET_PARAMETERS else found[0]


def _authority(url: str) -> str:
    """Return user, host and port of a URL.

    An unescaped slash or question mark in a password ends it early; then it is all before the last
    @, so that the password is noticed.
    """
    rest = url.partition("://")[2]
    authority, rest_of_path = re.split(r"(?=[/?#])|$", rest, maxsplit=1)
    port = authority.rpartition(":")[2]
    if "@" not in authority and ":" in authority:
        early_end = "@" in rest_of_path.partition("?")[0] or not port.isdecimal()
        if early_end and "@" in rest_of_path:
            return rest
    return authority


def _parameters(url: str) -> list[tuple[str, str]]:
    return parse_qsl(url.partition("?")[2], keep_blank_values=True)
