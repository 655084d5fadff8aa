"""Score chunks against a query with an ONNX cross-encoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gbrain.errors import ModelUnavailable
from gbrain.models.files import REINSTALL_HINT, TOKENIZER_FILE, check_sizes, verify_hashes
from gbrain.models.runtime import OnnxSession, open_session_and_tokenizer, usable_cores
from gbrain.threads import BackgroundCall

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from tokenizers import Tokenizer

    from gbrain.models.catalog import ModelSpec

# Characters of each text that are tokenized: about ten times what the model can read.
MAX_CHARACTERS = 1 << 14
# Scores cached in this process, by model, query and chunk; the oldest half is dropped when full.
MAX_CACHED_SCORES = 100_000

CacheKey = tuple[str, str, bytes]
_cached_scores: dict[CacheKey, float] = {}


class CrossEncoder:
    """A reranking model; its files are opened and verified when the first pair is scored.

    In a quantised network the pairs of a batch change each other's scores, so pairs are never
    batched.
    """

    def __init__(self, spec: ModelSpec, threads: int | None = None) -> None:
        """Prepare the model without opening it; `threads` score pairs (default: all cores)."""
        self.spec = spec
        self._identity = spec.identity
        self._threads = threads or usable_cores()
        self._opened: tuple[OnnxSession, Tokenizer] | None = None
        self._pool: ThreadPoolExecutor | None = None

    def score_chunks(self, query: str, chunks: Mapping[bytes, str]) -> dict[bytes, float]:
        """Return a logit for each chunk, by its hash; 0 means even odds, higher is better.

        Scores are cached for the life of this process.
        """
        keys = {name: (self._identity, query, name) for name in chunks}
        found = {name: _cached_scores[key] for name, key in keys.items() if key in _cached_scores}
        new = [name for name in chunks if name not in found]
        if new:
            session, tokenizer = self._open()

            def score(name: bytes) -> float:
                return self._score(session, tokenizer, query, chunks[name])

            for name, logit in zip(new, self._workers().map(score, new), strict=True):
                found[name] = logit
                _cache_score(keys[name], logit)
        return found

    def close(self) -> None:
        """Stop the threads after the work they have started."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _open(self) -> tuple[OnnxSession, Tokenizer]:
        if self._opened is None:
            spec = self.spec
            check_sizes(spec)
            verified = BackgroundCall(lambda: verify_hashes(spec))
            session, tokenizer = open_session_and_tokenizer(
                spec.folder / spec.model_file,
                spec.folder / TOKENIZER_FILE,
                fused=spec.fused,
                packed=True,
            )
            verified.result()
            tokenizer.enable_truncation(spec.max_tokens)
            self._opened = session, tokenizer
        return self._opened

    def _workers(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="gbrain-rerank")
        return self._pool

    def _score(self, session: OnnxSession, tokenizer: Tokenizer, query: str, chunk: str) -> float:
        import numpy as np

        pair = tokenizer.encode(query[:MAX_CHARACTERS], chunk[:MAX_CHARACTERS])
        feed = {
            "input_ids": np.array([pair.ids], dtype=np.int64),
            "attention_mask": np.array([pair.attention_mask], dtype=np.int64),
            "token_type_ids": np.array([pair.type_ids], dtype=np.int64),
        }
        try:
            (logits,) = session.run(["logits"], feed)
            logit = float(logits[0][0])
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise ModelUnavailable(
                f"{self.spec.name} failed: {reason}", hint=REINSTALL_HINT
            ) from error
        if not np.isfinite(logit):
            raise ModelUnavailable(
                f"{self.spec.name} gave a score that is not a number.", hint=REINSTALL_HINT
            )
        return logit


def clear_score_cache() -> None:
    """Forget all cached scores."""
    _cached_scores.clear()


def _cache_score(key: CacheKey, logit: float) -> None:
    if len(_cached_scores) >= MAX_CACHED_SCORES:
        for old in list(_cached_scores)[: MAX_CACHED_SCORES // 2]:
            _cached_scores.pop(old, None)
    _cached_scores[key] = logit
