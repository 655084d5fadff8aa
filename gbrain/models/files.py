"""Read and check the files of a model: sizes, hashes, and sentence-transformers settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gbrain.errors import ModelUnavailable

if TYPE_CHECKING:
    from gbrain.models.catalog import ModelSpec

TOKENIZER_FILE = "tokenizer.json"
REINSTALL_HINT = (
    "Reinstall gbrain, or add the model again from an intact folder with `gbrain model add`."
)


def check_sizes(spec: ModelSpec) -> None:
    """Raise ModelUnavailable if a file is missing or has another size; reads no file."""
    sizes = {spec.model_file: None, TOKENIZER_FILE: None} | {f.path: f.size for f in spec.files}
    for path, expected in sizes.items():
        found = _file_size(spec, path)
        if expected is not None and found < expected:
            raise _damaged_error(spec, path, f"is truncated: {found} of {expected} bytes")
        if expected is not None and found > expected:
            raise _damaged_error(spec, path, f"was altered: {found} bytes instead of {expected}")


def verify_hashes(spec: ModelSpec) -> None:
    """Raise ModelUnavailable if a size or sha256 is not the recorded one; reads every file."""
    check_sizes(spec)
    digests = {f.path: f.sha256 for f in spec.files} | {spec.model_file: spec.sha256}
    for path, expected in digests.items():
        found = file_sha256(spec.folder / path)
        if found != expected:
            problem = f"was altered: sha256 {found[:12]}… instead of {expected[:12]}…"
            raise _damaged_error(spec, path, problem)


def verify_if_changed(spec: ModelSpec, seen: str | None) -> str:
    """Return the files' stamp; verify their hashes first, unless the stamp is `seen`.

    A caller that stores the stamp pays for hashing only once after a change.
    """
    check_sizes(spec)
    now = files_stamp(spec)
    if now != seen:
        verify_hashes(spec)
    return now


def files_stamp(spec: ModelSpec) -> str:
    """Return a text that changes when a file is rewritten, replaced or touched."""
    paths = dict.fromkeys([spec.model_file, TOKENIZER_FILE, *(f.path for f in spec.files)])
    stats = [os.stat(spec.folder / path) for path in paths]
    marks = [f"{s.st_size},{s.st_mtime_ns},{s.st_ctime_ns},{s.st_ino}" for s in stats]
    return ";".join([spec.sha256, *(f.sha256 for f in spec.files), *marks])


def file_sha256(path: Path) -> str:
    """Return the hexadecimal sha256 of a file."""
    import hashlib

    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelUnavailable(
            f"{path} cannot be read: {error.strerror or error}.", hint=REINSTALL_HINT
        ) from error


def read_json(path: Path) -> Any:
    """Return the value in a JSON file; None if there is no such file."""
    import json

    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ModelUnavailable(
            f"{path} cannot be read: {error.strerror or error}.",
            hint="Check the permissions of the file and its folder.",
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelUnavailable(f"{path} is not JSON.", hint="Download the model again.") from error


def _file_size(spec: ModelSpec, path: str) -> int:
    full = spec.folder / path
    try:
        if not full.is_file():
            raise _damaged_error(spec, path, f"is missing from {spec.folder}")
        return full.stat().st_size
    except OSError as error:
        raise _damaged_error(spec, path, f"cannot be read: {error.strerror or error}") from error


def _damaged_error(spec: ModelSpec, path: str, problem: str) -> ModelUnavailable:
    return ModelUnavailable(f"Model {spec.name}: {path} {problem}.", hint=REINSTALL_HINT)


# --- settings of a sentence-transformers folder without gbrain.json --------------------------

SUPPORTED_MODULES = ("Transformer", "Pooling", "Normalize")
# Some files have a huge number in place of an unknown length.
MAX_PLAUSIBLE_COUNT = 1_000_000
# A position table can have a few more rows than usable tokens (RoBERTa's has 514).
MAX_SAFE_POSITIONS = 512


def read_config(folder: Path, flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return pooling, prefixes, dimension and max_tokens as the folder's files record them.

    Keys that no file records are absent. The pooling is not read if `flags` sets it.
    """
    modules = read_json(folder / "modules.json")
    pooling_folder = _pooling_folder(folder, modules if isinstance(modules, list) else [])
    pooling = _object(read_json(pooling_folder / "config.json"))
    prompts = _object(
        _object(read_json(folder / "config_sentence_transformers.json")).get("prompts")
    )
    network = _object(read_json(folder / "config.json"))
    found = {
        "pooling": None if "pooling" in flags else _pooling(pooling),
        "query_prefix": _first_text(prompts, "query"),
        "passage_prefix": _first_text(prompts, "document", "passage", "corpus"),
        "dimension": _first_count(
            pooling.get("word_embedding_dimension"),
            pooling.get("embedding_dimension"),
            network.get("hidden_size"),
        ),
        "max_tokens": _max_tokens(folder, network),
    }
    return {key: value for key, value in found.items() if value is not None}


def _pooling_folder(folder: Path, modules: list[Any]) -> Path:
    """Return the folder of the pooling's configuration; refuse unsupported modules."""
    found = folder / "1_Pooling"
    for module in map(_object, modules):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling" and isinstance(module.get("path"), str):
            found = folder / Path(module["path"]).name
        elif kind not in SUPPORTED_MODULES:
            raise ModelUnavailable(
                f"{folder} has a {kind or 'nameless'} layer, which is not in its ONNX file.",
                hint="Only models of a transformer, pooling and normalisation can be used.",
            )
    return found


def _pooling(config: Mapping[str, Any]) -> str | None:
    """Return the pooling, several joined by +; None if the configuration has none."""
    names = {"cls_token": "cls", "mean_tokens": "mean"}
    chosen = [
        names.get(key.removeprefix("pooling_mode_"), key.removeprefix("pooling_mode_"))
        for key, value in config.items()
        if key.startswith("pooling_mode_") and value is True
    ]
    if isinstance(config.get("pooling_mode"), str):
        chosen.append(config["pooling_mode"])
    return "+".join(chosen) or None


def _max_tokens(folder: Path, network: Mapping[str, Any]) -> int | None:
    positions = _first_count(network.get("max_position_embeddings"))
    return _first_count(
        _object(read_json(folder / "sentence_bert_config.json")).get("max_seq_length"),
        _object(read_json(folder / "tokenizer_config.json")).get("model_max_length"),
        None if positions is None else min(positions, MAX_SAFE_POSITIONS),
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _first_text(values: Mapping[str, Any], *keys: str) -> str | None:
    return next((values[key] for key in keys if isinstance(values.get(key), str)), None)


def _first_count(*values: object) -> int | None:
    """Return the first value that is a plausible count; None if there is none."""
    for value in values:
        if type(value) is int and 0 < value <= MAX_PLAUSIBLE_COUNT:
            return value
    return None
