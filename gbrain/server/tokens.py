"""Access tokens of a brain: stored hashed in the user's state folder, never in the brain file.

A brain from elsewhere must not bring tokens along, so they are stored by the brain's identity, on
this machine only. The secret itself is shown once and stored nowhere.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from pathlib import Path
from secrets import token_urlsafe
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

from gbrain.errors import BadBrain, Conflict, GbrainError, NotFound, UsageError
from gbrain.messages import did_you_mean, similar_names
from gbrain.paths import make_folder, state_folder
from gbrain.text.durations import parse_duration
from gbrain.types import Scope

SECRET_PREFIX = "gbrain_"
MAX_TOKENS = 1000
MAX_NAME_CHARACTERS = 60
CODE_SECONDS = 60.0
_SECRET_BYTES = 32
# A code that nobody exchanges is forgotten; no page asks for more than this at once.
_MAX_CODES = 100
_MAX_FILE_BYTES = 1 << 20


class Access(NamedTuple):
    """What a request may do: only read or also write, and which pages exist for it."""

    name: str
    read_only: bool = False
    limits: Scope = Scope()


class Token(NamedTuple):
    """A stored token; times are ISO 8601 in UTC, `sha256` is the hash of its secret."""

    name: str
    sha256: str
    read_only: bool
    wing: str | None
    slug_prefix: str | None
    created_at: str
    expires_at: str | None

    @property
    def access(self) -> Access:
        return Access(self.name, self.read_only, Scope(self.wing, slug_prefix=self.slug_prefix))


# --- the file ----------------------------------------------------------------------------------


def list_tokens(brain: str) -> list[Token]:
    """Return the tokens of the brain with this identity, in the order they were added."""
    return _read_tokens(_token_file(brain))


def add_token(
    brain: str,
    name: str,
    now: str,
    *,
    read_only: bool = False,
    limits: Scope = Scope(),
    expires_at: str | None = None,
) -> tuple[Token, str]:
    """Add a token and return it with its secret, which is stored nowhere.

    Raises Conflict if the name is taken, UsageError if it is empty or too long.
    """
    if not name.strip() or len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        raise UsageError(
            f"The name of a token has 1 to {MAX_NAME_CHARACTERS} printable characters",
            hint="Name it after the program that uses it: gbrain token add laptop",
        )
    secret = SECRET_PREFIX + token_urlsafe(_SECRET_BYTES)
    token = Token(name, _hash(secret), read_only, limits.wing, limits.slug_prefix, now, expires_at)
    with _changing(brain) as tokens:
        if any(known.name == name for known in tokens):
            raise Conflict(
                f"There is a token {name} already",
                hint=f"Choose another name, or revoke it first: gbrain token revoke {name}",
                code="token_exists",
            )
        if len(tokens) >= MAX_TOKENS:
            raise Conflict(
                f"There are {MAX_TOKENS} tokens already",
                hint="gbrain token list shows them; gbrain token revoke NAME removes one.",
                code="too_many_tokens",
            )
        tokens.append(token)
    return token, secret


def revoke_token(brain: str, name: str) -> Token:
    """Remove a token; requests that use it fail from now on. Raises NotFound with similar names."""
    with _changing(brain) as tokens:
        for token in tokens:
            if token.name == name:
                tokens.remove(token)
                return token
        near = similar_names(name, [token.name for token in tokens])
    raise NotFound(
        f"There is no token {name}", hint=did_you_mean(near, "gbrain token list shows them.")
    )


def expiry(lifetime: str, now: datetime) -> str:
    """Return the time after a lifetime such as 12h, 90d, 6w or 1y, as tokens store it."""
    seconds = parse_duration(lifetime)
    if not seconds:
        raise UsageError(
            f"{lifetime!r} is not a lifetime", hint="For example: --expires 90d, or 12h"
        )
    try:
        moment = datetime.fromtimestamp(now.timestamp() + seconds, UTC)
    except (OverflowError, ValueError, OSError):
        raise UsageError(f"{lifetime} is too long", hint="For example: --expires 90d") from None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _token_file(brain: str) -> Path:
    if not brain:
        raise BadBrain(
            "The brain has no identity that tokens could belong to",
            hint="gbrain doctor examines the file.",
        )
    return state_folder() / "tokens" / f"{sha256(brain.encode()).hexdigest()[:32]}.json"


def _hash(secret: str) -> str:
    """Return the hash of a secret; 256 random bits need no slow hash and no salt."""
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read_tokens(file: Path) -> list[Token]:
    """Return the tokens in a file; none if there is none, or if another user could have written it.

    Raises GbrainError for a damaged file.
    """
    try:
        with file.open("rb") as stream:
            status = os.fstat(stream.fileno())
            is_unsafe = os.name == "posix" and (
                status.st_uid != os.geteuid() or bool(status.st_mode & 0o022)
            )
            data = b"" if is_unsafe else stream.read(_MAX_FILE_BYTES)
        return [_token_from(entry) for entry in json.loads(data or b"[]")]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise GbrainError(
            f"Cannot read the tokens in {file}: {type(error).__name__}",
            hint="Delete the file, then add the tokens again with gbrain token add.",
            code="bad_tokens",
        ) from None


def _token_from(entry: Any) -> Token:
    token = Token(**entry)
    texts = (token.name, token.sha256, token.created_at)
    optional = (token.wing, token.slug_prefix, token.expires_at)
    if not (
        all(isinstance(text, str) for text in texts)
        and all(text is None or isinstance(text, str) for text in optional)
        and isinstance(token.read_only, bool)
    ):
        raise ValueError("a token has a value of the wrong type")
    return token


@contextmanager
def _changing(brain: str) -> Iterator[list[Token]]:
    """Yield the tokens to change, and write the file when the block ends without an error."""
    from gbrain.store.atomic_files import flush_folder, remove_leftovers, temporary_file

    file = _token_file(brain)
    try:
        make_folder(file.parent)
        remove_leftovers(file.parent)
        with _exclusive_lock(file.with_suffix(".lock")):
            tokens = _read_tokens(file)
            yield tokens
            with temporary_file(file.parent) as temporary:
                with open(temporary.handle, "wb", closefd=False) as stream:
                    entries = [token._asdict() for token in tokens]
                    stream.write(json.dumps(entries, indent=1).encode())
                    stream.flush()
                    os.fsync(temporary.handle)
                temporary.replace(file)
            flush_folder(file.parent)
    except OSError as error:
        raise GbrainError(
            f"Cannot write the tokens to {file}: {error.strerror}",
            hint="Set $XDG_STATE_HOME to a folder that you can write to.",
            code="cannot_write",
        ) from None


@contextmanager
def _exclusive_lock(file: Path) -> Iterator[None]:
    """Wait until no other process changes the tokens of this brain."""
    handle = os.open(file, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        if os.name == "posix":
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


# --- checking requests -------------------------------------------------------------------------


class Authenticator:
    """Tells which access the secret of a request gives.

    The token file is read again when it changes, so that a revoked token fails at its next request.
    Tokens that a browser page got for a one-time code live as long as this object.
    """

    def __init__(self, brain: str) -> None:
        self._file = _token_file(brain)
        self._stamp: tuple[int, ...] | None = None
        self._tokens: list[Token] = []
        self._pages: list[Token] = []
        self._codes: list[tuple[float, str]] = []
        self._lock = Lock()

    def authenticate(self, secret: str, now: str) -> Access | None:
        """Return the access that a secret gives at the time `now`; None if it gives none."""
        given, found = _hash(secret), None
        with self._lock:
            self._reload()
            # All are compared, so that the time does not tell which one is nearly right.
            for token in (*self._tokens, *self._pages):
                if compare_digest(token.sha256, given):
                    found = token
        if found is None or (found.expires_at is not None and found.expires_at <= now):
            return None
        return found.access

    def _reload(self) -> None:
        try:
            status = self._file.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size, status.st_uid)
        except OSError:
            self._stamp, self._tokens = None, []
            return
        if stamp != self._stamp:
            # With a damaged file, no token is valid.
            self._tokens = []
            self._tokens = _read_tokens(self._file)
            self._stamp = stamp

    def issue_code(self) -> str:
        """Return a code that a page in the browser can exchange once, within a minute."""
        code = token_urlsafe(_SECRET_BYTES)
        with self._lock:
            self._forget_old_codes()
            self._codes = [*self._codes[-_MAX_CODES + 1 :], (monotonic(), _hash(code))]
        return code

    def exchange_code(self, code: str, now: str) -> str | None:
        """Return the secret of a new token for a page in the browser; None for an invalid code."""
        given = _hash(code)
        with self._lock:
            self._forget_old_codes()
            left = [entry for entry in self._codes if not compare_digest(entry[1], given)]
            if len(left) == len(self._codes):
                return None
            self._codes = left
            secret = SECRET_PREFIX + token_urlsafe(_SECRET_BYTES)
            page = Token("browser", _hash(secret), False, None, None, now, None)
            self._pages = [*self._pages[-_MAX_CODES + 1 :], page]
        return secret

    def _forget_old_codes(self) -> None:
        oldest = monotonic() - CODE_SECONDS
        self._codes = [entry for entry in self._codes if entry[0] > oldest]
