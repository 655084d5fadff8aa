"""The address that the HTTP server listens on, and which addresses need encryption."""

from __future__ import annotations

from ipaddress import ip_address

from gbrain.errors import UsageError

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8420
_MAX_PORT = 65_535


def parse_address(text: str | None) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`, `HOST`, `:PORT` or `[IPV6]:PORT`; 0 is any free port.

    Raises UsageError for other texts.
    """
    if not text:
        return DEFAULT_HOST, DEFAULT_PORT
    host, port = text, ""
    if text.startswith("["):
        host, _, port = text[1:].partition("]")
        port = port.removeprefix(":")
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    elif text.isdecimal():
        host, port = "", text
    if port and not (port.isascii() and port.isdecimal() and int(port) <= _MAX_PORT):
        raise UsageError(
            f"{text!r} is not an address", hint="For example: gbrain serve --http 127.0.0.1:8420"
        )
    return host or DEFAULT_HOST, int(port) if port else DEFAULT_PORT


def is_loopback(host: str) -> bool:
    """Return whether only programs on this machine can reach a host."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_plain_address(host: str, *, encrypted: bool) -> None:
    """Raise UsageError for an address that others can reach, unless what is sent is encrypted."""
    if not (encrypted or is_loopback(host)):
        raise UsageError(
            f"Without TLS, others on the network could read the token and the notes sent to {host}",
            hint="Give --cert and --key, or --behind-proxy if a proxy in front does TLS.",
            code="not_encrypted",
        )
