"""Run an ONNX transformer: token ids in, one vector per token out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gbrain.errors import ModelUnavailable
from gbrain.models.runtime import Session, open_session

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")
KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Transformer:
    """An open network; several threads can call it at once."""

    def __init__(self, session: Session, source: Path) -> None:
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


def _token_output(session: Session, source: Path) -> str:
    outputs = {output.name: len(output.shape) for output in session.get_outputs()}
    named = [name for name in TOKEN_OUTPUTS if outputs.get(name) == 3]
    chosen = named or [name for name, rank in outputs.items() if rank == 3]
    if not chosen:
        raise ModelUnavailable(
            f"{source} gives no vector per token, only {', '.join(outputs)}.",
            hint="Export the transformer itself, with last_hidden_state as its output.",
        )
    return chosen[0]


def _input_types(session: Session, source: Path) -> dict[str, str]:
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
