"""The embedding models that are open in this process; all brains that use a model share it."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gbrain.models.catalog import ModelSpec
    from gbrain.models.embedder import OnnxEmbedder

    Key = tuple[type[OnnxEmbedder], str, str]

_lock = Lock()
_open: dict[Key, OnnxEmbedder] = {}
_users: dict[Key, int] = {}


def acquire_embedder(spec: ModelSpec, *, for_many_texts: bool = False) -> OnnxEmbedder:
    """Return the model, opened if no brain uses it yet; the caller releases it."""
    from gbrain.models.embedder import OnnxEmbedder

    key = (OnnxEmbedder, spec.identity, str(spec.folder))
    with _lock:
        if key not in _open:
            _open[key] = OnnxEmbedder(spec, for_many_texts=for_many_texts)
        _users[key] = _users.get(key, 0) + 1
        return _open[key]


def release_embedder(embedder: OnnxEmbedder) -> None:
    """Close a model unless another brain still uses it."""
    with _lock:
        key = next((key for key, model in _open.items() if model is embedder), None)
        if key is not None:
            _users[key] -= 1
            if _users[key]:
                return
            del _open[key], _users[key]
    embedder.close()
