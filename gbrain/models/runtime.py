"""Open ONNX sessions and tokenizers, in parallel and without log output, and run transformers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from gbrain.errors import ModelUnavailable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

T = TypeVar("T")

LOG_FATAL_ONLY = 4
# glibc's mallopt parameters M_TRIM_THRESHOLD and M_MMAP_THRESHOLD.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_stderr_lock = Lock()


class OnnxSession(Protocol):
    """The methods of an onnxruntime session that gbrain uses; the library has no types."""

    def get_inputs(self) -> list[Any]: ...

    def get_outputs(self) -> list[Any]: ...

    def run(self, outputs: list[str], feed: dict[str, Any]) -> list[Any]: ...


def open_session(model: Path, *, fused: bool, packed: bool) -> OnnxSession:
    """Open a session that computes on the calling thread; several threads can run it at once.

    `packed` rearranges the weights while opening: opening takes 20 % longer, every run 7 % less,
    and results are identical.
    """
    onnxruntime = _import_onnxruntime()
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = LOG_FATAL_ONLY
        # A memory pattern is stored for each input length, and here there are hundreds.
        options.enable_mem_pattern = False
        if not packed:
            options.add_session_config_entry("session.disable_prepacking", "1")
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = (
            levels.ORT_DISABLE_ALL if fused else levels.ORT_ENABLE_ALL
        )
        session: OnnxSession = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        return session
    except Exception as error:
        raise _cannot_open(model, error) from error


def open_tokenizer(path: Path) -> Tokenizer:
    """Open a tokenizer.json, with its padding and truncation turned off."""
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer
    except Exception as error:
        raise _cannot_open(path, error) from error


def open_session_and_tokenizer(
    model: Path, tokenizer: Path, *, fused: bool, packed: bool = False
) -> tuple[OnnxSession, Tokenizer]:
    """Open a session and a tokenizer in parallel, in little more time than the session needs."""
    return open_session_and(model, lambda: open_tokenizer(tokenizer), fused=fused, packed=packed)


def open_session_and(
    model: Path, open_other: Callable[[], T], *, fused: bool, packed: bool = False
) -> tuple[OnnxSession, T]:
    """Open a session on a second thread while `open_other` runs; return both results."""
    # Opening a session runs without the GIL, importing the library does not: import it first.
    _import_onnxruntime()
    outcome: list[OnnxSession | ModelUnavailable] = []

    def load() -> None:
        try:
            outcome.append(open_session(model, fused=fused, packed=packed))
        except ModelUnavailable as error:
            outcome.append(error)

    thread = Thread(target=load, name="gbrain-open-model")
    thread.start()
    try:
        opened = open_other()
    finally:
        thread.join()
    session = outcome[0]
    if isinstance(session, ModelUnavailable):
        raise session
    return session, opened


@contextmanager
def silence_stderr() -> Iterator[None]:
    """Discard what native code writes to file descriptor 2 during the block.

    While it is imported, before its log level can be set, onnxruntime warns about graphics cards
    and processors that it does not know.
    """
    with _stderr_lock:
        try:
            if sys.stderr is not None:
                sys.stderr.flush()
            saved = os.dup(2)
        except (OSError, ValueError):
            yield
            return
        try:
            with open(os.devnull, "wb") as null:
                os.dup2(null.fileno(), 2)
            yield
        finally:
            os.dup2(saved, 2)
            os.close(saved)


def keep_freed_memory() -> None:
    """Let this process keep freed memory instead of returning it to the system.

    For a program that ends soon: opening a model frees each tensor after reading it and would
    request new memory for the next. Has no effect without glibc.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        allocator = ctypes.CDLL(None)
        for threshold in (_TRIM_THRESHOLD, _MMAP_THRESHOLD):
            allocator.mallopt(threshold, 1 << 30)


def usable_cores() -> int:
    """Return how many processors this process can run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _import_onnxruntime() -> Any:
    if "onnxruntime" in sys.modules:
        return import_module("onnxruntime")
    # Since 1.31 the library collects telemetry on disk and sends it; gbrain sends nothing.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        _import_numpy()
        with silence_stderr():
            return import_module("onnxruntime")
    except Exception as error:
        raise ModelUnavailable(
            f"onnxruntime cannot be loaded: {error}", hint="Reinstall gbrain with its dependencies."
        ) from error


def _import_numpy() -> None:
    """Import numpy so that its products use one thread: the lanes run in parallel already."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = threads or "1"
    try:
        import_module("numpy")
    finally:
        if threads is None:
            del os.environ["OPENBLAS_NUM_THREADS"]


def _cannot_open(path: Path, error: Exception) -> ModelUnavailable:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return ModelUnavailable(
        f"{path} cannot be opened: {reason}", hint="gbrain model verify checks the files."
    )


# --- transformer: token ids in, one vector per token out -------------------------------------

TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Transformer:
    """An open network; several threads can call it at once."""

    def __init__(self, session: OnnxSession, source: Path) -> None:
        self._session = session
        self._source = source
        self._output = _token_output(session, source)
        self._types = _input_types(session, source)

    @classmethod
    def open(cls, model: Path, *, fused: bool, packed: bool) -> Transformer:
        """Open the network in an ONNX file; see `open_session` for the options."""
        return cls(open_session(model, fused=fused, packed=packed), model)

    def token_vectors(self, ids: Sequence[int]) -> NDArray[np.float32]:
        """Return the last layer for one unpadded sequence, shape (number of ids, dimension)."""
        import numpy as np

        row = np.array([ids], dtype=np.int64)
        values = {
            "input_ids": row,
            "attention_mask": np.ones_like(row),
            "token_type_ids": np.zeros_like(row),
        }
        feed = {name: values[name].astype(kind, copy=False) for name, kind in self._types.items()}
        try:
            (found,) = self._session.run([self._output], feed)
        except Exception as error:
            reason = " ".join(str(error).split())[:200]
            raise ModelUnavailable(
                f"{self._source} failed on {len(ids)} tokens: {reason}",
                hint="gbrain model verify checks its files; --max-tokens may be too high.",
            ) from error
        vectors: NDArray[np.float32] = np.asarray(found[0], dtype=np.float32)
        return vectors

    def width(self) -> int:
        """Return the dimension of a vector, found by running the network."""
        return int(self.token_vectors([0]).shape[-1])


def _token_output(session: OnnxSession, source: Path) -> str:
    outputs = {output.name: len(output.shape) for output in session.get_outputs()}
    named = [name for name in TOKEN_OUTPUTS if outputs.get(name) == 3]
    chosen = named or [name for name, rank in outputs.items() if rank == 3]
    if not chosen:
        raise ModelUnavailable(
            f"{source} gives no vector per token, only {', '.join(outputs)}.",
            hint="Export the transformer itself, with last_hidden_state as its output.",
        )
    return chosen[0]


def _input_types(session: OnnxSession, source: Path) -> dict[str, str]:
    inputs = {
        node.name: node.type.removeprefix("tensor(").removesuffix(")")
        for node in session.get_inputs()
    }
    unknown = [name for name in inputs if name not in KNOWN_INPUTS]
    if unknown or "input_ids" not in inputs:
        raise ModelUnavailable(
            f"{source} has the inputs {', '.join(inputs)}.",
            hint=f"gbrain supports only {', '.join(KNOWN_INPUTS)}.",
        )
    return inputs
