"""Read the settings of a sentence-transformers folder that has no gbrain.json."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gbrain.errors import ModelUnavailable
from gbrain.models.files import read_json

SUPPORTED_MODULES = ("Transformer", "Pooling", "Normalize")
# Writers put huge numbers where the true length is unknown.
MAX_PLAUSIBLE_COUNT = 1_000_000
# A position table may hold a few more rows than tokens can use (RoBERTa's has 514).
MAX_SAFE_POSITIONS = 512


def read_config(folder: Path, flags: Mapping[str, Any]) -> dict[str, Any]:
    """What the folder's files say of pooling, prefixes, dimension and max_tokens.

    Keys nobody says anything about are absent. A pooling that is not supported raises unless
    `flags` brings its own.
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
    """Where the pooling's configuration lies; a module that changes vectors otherwise raises."""
    place = folder / "1_Pooling"
    for module in map(_object, modules):
        kind = str(module.get("type", "")).rpartition(".")[2]
        if kind == "Pooling" and isinstance(module.get("path"), str):
            place = folder / Path(module["path"]).name
        elif kind not in SUPPORTED_MODULES:
            raise ModelUnavailable(
                f"{folder} has a {kind or 'nameless'} layer that its ONNX file leaves out.",
                hint="Only models of a transformer, pooling and normalisation can be used.",
            )
    return place


def _pooling(config: Mapping[str, Any]) -> str | None:
    """One word for the pooling, None if the configuration is silent."""
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
    """The first that is a number of things, not a placeholder."""
    for value in values:
        if type(value) is int and 0 < value <= MAX_PLAUSIBLE_COUNT:
            return value
    return None
