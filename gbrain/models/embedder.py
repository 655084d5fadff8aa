"""Turn texts into vectors with an ONNX sentence model."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from gbrain.errors import ModelUnavailable
from gbrain.models.catalog import LANGUAGE_MAP_FILE
from gbrain.models.files import check_sizes
from gbrain.models.runtime import Transformer, open_session_and, usable_cores
from gbrain.models.tokenizer import ModelTokenizer
from gbrain.threads import BackgroundCall

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    import numpy as np
    from numpy.typing import NDArray

    from gbrain.models.catalog import ModelSpec

# Texts read ahead of the vector that is returned next: enough to keep the threads busy while the
# caller writes, few enough to bound memory.
MAX_QUEUED_PER_THREAD = 16
# After this many texts a packed session and the library's tokenizer save more time than opening
# them takes.
PACK_AFTER_TEXTS = 64


class OnnxEmbedder:
    """An open model; one session serves all threads, one text in each run and without padding.

    In a quantised network the texts of a batch change each other's vectors, so texts are never
    batched. A text longer than `spec.max_tokens` is embedded as windows of equal length, and its
    vector is the direction of the sum of their unit vectors. If the model has a language map, it is
    applied to every vector: a question is then as close to notes in other languages as to its own.
    """

    def __init__(
        self, spec: ModelSpec, threads: int | None = None, *, for_many_texts: bool = False
    ) -> None:
        """Open the model if its files have the right sizes.

        `threads` is the number of threads that embed chunks (default: all cores). Opened
        `for_many_texts` it takes longer to open, and a third less for a short query.
        """
        check_sizes(spec)
        self.spec = spec
        self._model = spec.folder / spec.model_file
        self._open(for_many_texts=for_many_texts)
        self._threads = threads or usable_cores()
        self._embedded_chunks = 0
        self._pool: ThreadPoolExecutor | None = None
        self._language_map = _read_language_map(spec)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a query, with the query prefix; shape (dimension,)."""
        return self._embed(self.spec.query_prefix + text)

    def embed_query_averaged(self, text: str) -> NDArray[np.float32]:
        """Return the mean of the query's unit vectors with and without its prefix."""
        import numpy as np

        plain = BackgroundCall(lambda: self._embed(text))
        total = self.embed_query(text).astype(np.float64) + plain.result()
        return _unit(total).astype(np.float32)

    def embed_chunks(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
        """Yield one vector for each text, in order, as soon as it is ready.

        `texts` is read on the caller's thread, only a few texts ahead.
        """
        pool = self._workers()
        max_pending = MAX_QUEUED_PER_THREAD * self._threads
        pending: deque[Future[NDArray[np.float32]]] = deque()
        try:
            for text in texts:
                self._embedded_chunks += 1
                if self._embedded_chunks == PACK_AFTER_TEXTS and not self._is_for_many_texts:
                    self._open(for_many_texts=True)
                prefixed = self.spec.passage_prefix + text
                pending.append(pool.submit(self._embed, prefixed, is_chunk=True))
                while pending and (pending[0].done() or len(pending) >= max_pending):
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def count_tokens(self, text: str) -> int:
        """Return how many tokens the text has, without special tokens and prefixes."""
        return self._tokens.count(text)

    def count_tokens_of(self, texts: Sequence[str]) -> list[int]:
        """Return how many tokens each text has, as `count_tokens` does."""
        return self._tokens.count_all(texts)

    def close(self) -> None:
        """Stop the threads after the work they have started."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def _workers(self) -> ThreadPoolExecutor:
        if self._pool is None:
            from concurrent.futures import ThreadPoolExecutor

            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="gbrain-embed")
        return self._pool

    def _open(self, *, for_many_texts: bool) -> None:
        session, self._tokens = open_session_and(
            self._model,
            lambda: ModelTokenizer.open(self.spec, for_many_texts=for_many_texts),
            fused=self.spec.fused,
            packed=for_many_texts,
        )
        self._network = Transformer(session, self._model)
        self._is_for_many_texts = for_many_texts

    def _embed(self, text: str, *, is_chunk: bool = False) -> NDArray[np.float32]:
        import numpy as np

        total = np.zeros(self.spec.dimension, dtype=np.float64)
        count = 0
        for ids in self._tokens.windows(text):
            pooled = self._pooled_vector(ids)
            total += _unit(pooled) if self.spec.normalize else pooled
            count += 1
        vector = _unit(total) if self.spec.normalize else total / count
        if self._language_map is not None:
            matrix, offsets = self._language_map[:-2], self._language_map[-2:]
            vector = _unit(matrix @ vector + offsets[int(is_chunk)])
        return vector.astype(np.float32)

    def _pooled_vector(self, ids: list[int]) -> NDArray[np.float64]:
        import numpy as np

        vectors = self._network.token_vectors(ids)
        if vectors.shape[-1] != self.spec.dimension:
            raise ModelUnavailable(
                f"Model {self.spec.name} gives {vectors.shape[-1]} numbers per vector, "
                f"not {self.spec.dimension}.",
                hint="Its gbrain.json belongs to another model: download the model again.",
            )
        wide = vectors.astype(np.float64)
        pooled: NDArray[np.float64] = wide[0] if self.spec.pooling == "cls" else wide.mean(axis=0)
        if not np.isfinite(pooled).all():
            raise ModelUnavailable(
                f"Model {self.spec.name} gives vectors that are not numbers.",
                hint="Its files may be damaged; gbrain model verify checks them.",
            )
        return pooled


def _read_language_map(spec: ModelSpec) -> NDArray[np.float64] | None:
    """Return the rows of a matrix, an offset of queries and one of chunks; None without them."""
    if not any(known.path == LANGUAGE_MAP_FILE for known in spec.files):
        return None
    import numpy as np

    rows = np.fromfile(spec.folder / LANGUAGE_MAP_FILE, dtype="<f4")
    if rows.size != (spec.dimension + 2) * spec.dimension:
        raise ModelUnavailable(
            f"{LANGUAGE_MAP_FILE} of {spec.name} has not {spec.dimension + 2} rows of "
            f"{spec.dimension} numbers.",
            hint="Its files may be damaged; gbrain model verify checks them.",
        )
    return rows.reshape(-1, spec.dimension).astype(np.float64)


def _unit(vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the vector scaled to length 1; a zero vector is returned unchanged."""
    import numpy as np

    length = float(np.sqrt(np.dot(vector, vector)))
    return vector / length if length else vector
