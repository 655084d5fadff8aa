"""The user's own reranker: a command that reads a question and chunks and prints scores."""

from __future__ import annotations

import json
import math
import os
import shlex
import signal
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired

from gbrain.errors import GbrainError
from gbrain.search.fusion import min_max
from gbrain.search.rerank.scores import RerankRequest, RerankScores

_SET = "gbrain config set rerank_command takes a program and its arguments."
_TRY = """Try it: echo '{"query": "x", "passages": []}' | COMMAND should print []."""
_PRINTS = "It has to print a JSON list with a number or null for each chunk, in order."


def score_pages(request: RerankRequest) -> RerankScores:
    """Return the command's scores, scaled to 0 to 1; null leaves a page where it is.

    The command gets {"query", "passages": [{"slug", "text"}]} on standard input, best page first,
    and prints a JSON list of as many numbers.
    """
    pages = [page for page in request.pages if request.chunks.get(page.page_id)]
    asked = {
        "query": request.question,
        "passages": [
            {
                "slug": page.slug,
                "text": "\n\n".join(chunk.text for chunk in request.chunks[page.page_id]),
            }
            for page in pages
        ],
    }
    answer = _run(request.resources.command, json.dumps(asked), request.settings.rerank_seconds)
    scores = _scores(answer, len(pages))
    given = [(page, score) for page, score in zip(pages, scores, strict=True) if score is not None]
    scaled = min_max([score for _, score in given])
    by_page = {page.page_id: score for (page, _), score in zip(given, scaled, strict=True)}
    return RerankScores(by_page, request.settings.rerank_mix, request.chunk_count)


def _run(command: str, text: str, seconds: float) -> bytes:
    """Return what the command prints for `text`; kill it and its children after `seconds`."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _failure(f"cannot be read: {error}", _SET) from None
    if not words:
        raise _failure("is empty", _SET)
    try:
        process = Popen(
            words,
            stdin=PIPE,
            stdout=PIPE,
            stderr=DEVNULL,
            start_new_session=os.name == "posix",
            # Not the folder that the user is in, whose files could be run instead.
            cwd=os.path.abspath(os.sep),
        )
    except (OSError, ValueError) as error:
        raise _failure(f"did not start: {error}", _SET) from None
    try:
        printed, _ = process.communicate(text.encode("utf-8", "replace"), timeout=seconds)
    except TimeoutExpired:
        raise _failure(
            f"took longer than {seconds:g} seconds",
            "gbrain config set rerank_seconds gives it more.",
        ) from None
    finally:
        _kill(process)
    if process.returncode:
        raise _failure(f"failed with exit code {process.returncode}", _TRY)
    return printed


def _kill(process: Popen[bytes]) -> None:
    if process.poll() is None:
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.communicate()


def _scores(printed: bytes, count: int) -> list[float | None]:
    try:
        scores = json.loads(printed)
    except (ValueError, RecursionError):
        raise _failure("did not print JSON", _PRINTS) from None
    if not isinstance(scores, list) or len(scores) != count:
        raise _failure(f"did not print a list of {count} scores", _PRINTS)
    return [_score(score) for score in scores]


def _score(written: object) -> float | None:
    if written is None:
        return None
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise _failure("printed a score that is not a number", _PRINTS)
    try:
        number = float(written)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise _failure("printed a score that is not a finite number", _PRINTS)
    return number


def _failure(what: str, hint: str) -> GbrainError:
    return GbrainError(f"rerank_command {what}", hint=hint)
