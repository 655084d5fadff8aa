"""Read the settings of a sentence-transformers folder that has no gbrain.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gbrain.errors import ModelUnavailable
from gbrain.models.files import read_json

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
