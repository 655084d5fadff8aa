"""Open ONNX sessions and tokenizers in parallel and without log output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Protocol

from gbrain.errors import ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

LOG_FATAL_ONLY = 4
# The C library's names for what to keep: freed memory at the heap's end, and large blocks.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_stderr_lock = Lock()


class Session(Protocol):
    """What is used of an onnxruntime session, which comes without types."""

    def get_inputs(self) -> list[Any]: ...

    def get_outputs(self) -> list[Any]: ...

    def run(self, outputs: list[str], feed: dict[str, Any]) -> list[Any]: ...


def open_session(model: Path, *, fused: bool, packed: bool) -> Session:
    """Open a session that computes on the calling thread; several threads can run it at once.

    `packed` rearranges the weights while opening: opening takes a fifth longer, every run a
    fifteenth less, and results are identical.
    """
    onnxruntime = _onnxruntime()
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = LOG_FATAL_ONLY
        # Patterns are kept per input length, of which there are hundreds here.
        options.enable_mem_pattern = False
        if not packed:
            options.add_session_config_entry("session.disable_prepacking", "1")
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = (
            levels.ORT_DISABLE_ALL if fused else levels.ORT_ENABLE_ALL
        )
        session: Session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        return session
    except Exception as error:
        raise _unusable(model, error) from error


def open_tokenizer(path: Path) -> Tokenizer:
    """Open a tokenizer.json, with its padding and truncation turned off."""
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(path))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return tokenizer
    except Exception as error:
        raise _unusable(path, error) from error


def open_session_and_tokenizer(
    model: Path, tokenizer: Path, *, fused: bool, packed: bool = False
) -> tuple[Session, Tokenizer]:
    """Open both at the same time, in little more than the time of the session."""
    # Only the opening itself runs without the GIL, so it has to begin before the tokenizer's.
    _onnxruntime()
    outcome: list[Session | ModelUnavailable] = []

    def load() -> None:
        try:
            outcome.append(open_session(model, fused=fused, packed=packed))
        except ModelUnavailable as error:
            outcome.append(error)

    thread = Thread(target=load, name="gbrain-open-model")
    thread.start()
    try:
        opened = open_tokenizer(tokenizer)
    finally:
        thread.join()
    session = outcome[0]
    if isinstance(session, ModelUnavailable):
        raise session
    return session, opened


@contextmanager
def silence_stderr() -> Iterator[None]:
    """Drops what native code writes to file descriptor 2 meanwhile.

    onnxruntime warns about graphics cards and processors it does not know while it is being
    imported, before its log level can be set.
    """
    with _stderr_lock:
        try:
            if sys.stderr is not None:
                sys.stderr.flush()
            kept = os.dup(2)
        except (OSError, ValueError):
            yield
            return
        try:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), 2)
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def keep_freed_memory() -> None:
    """Lets this process keep what it frees, for a program that ends soon after its work.

    Opening a model frees each tensor that it has read and takes fresh pages for the next; where
    the C library is not glibc, nothing changes.
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


def _onnxruntime() -> Any:
    if "onnxruntime" in sys.modules:
        return import_module("onnxruntime")
    # Since 1.31 the library gathers events on disk and sends them home; nothing may leave here.
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        _numpy()
        with silence_stderr():
            return import_module("onnxruntime")
    except Exception as error:
        raise ModelUnavailable(
            f"onnxruntime cannot be loaded: {error}", hint="Reinstall gbrain with its dependencies."
        ) from error


def _numpy() -> None:
    """Loads numpy with a single thread for its products: the lanes bring threads of their own."""
    wanted = os.environ.get("OPENBLAS_NUM_THREADS")
    os.environ["OPENBLAS_NUM_THREADS"] = wanted or "1"
    try:
        import_module("numpy")
    finally:
        if wanted is None:
            del os.environ["OPENBLAS_NUM_THREADS"]


def _unusable(path: Path, error: Exception) -> ModelUnavailable:
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    return ModelUnavailable(f"{path} cannot be opened: {reason}", hint="See `gbrain model verify`.")
