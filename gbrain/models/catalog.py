"""Model specifications: the packaged models, and those described in a folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from gbrain.errors import ModelUnavailable
from gbrain.models.files import TOKENIZER_FILE, read_json
from gbrain.models.piece_table import PIECES_FILE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGED_MODEL = "bge-small-en-v1.5"
# Models in separate wheels, by the name of the package that contains their files.
OPTIONAL_MODELS = {"multilingual-e5-small": "gbrain_multilingual_e5_small"}
INSTALL_OPTIONAL = "pip install 'gbrain[languages]'"
PACKAGED_RERANKER = "ms-marco-MiniLM-L-12-v2"
DESCRIPTION_FILE = "gbrain.json"
# Another file name, so that a reranker is never mistaken for an embedding model.
RERANKER_DESCRIPTION_FILE = "reranker.json"
# Applied to every vector so that languages are no longer apart: rows of float32, a square matrix,
# then an offset of queries and one of chunks.
LANGUAGE_MAP_FILE = "language_map.f32"
MODEL_PATHS = ("model.onnx", "onnx/model.onnx")
POOLINGS = ("cls", "mean")
MAX_SLOPE = 100
# Part of every identity: increase it when the same files and settings give different vectors.
EMBEDDING_RECIPE = 1


class ModelFile(NamedTuple):
    """One file of a model: its path below the folder with forward slashes, sha256 and bytes."""

    path: str
    sha256: str
    size: int


class Calibration(NamedTuple):
    """How to read the cosines of a model.

    `slope` and `offset` turn a cosine into a similarity on the scale of bge-small-en-v1.5, for
    which all thresholds of the program were fitted. `english_only` says that the model does not
    read other languages.
    """

    slope: float = 1.0
    offset: float = 0.0
    english_only: bool = False

    def similarity(self, cosine: float) -> float:
        """Return the cosine on the common scale."""
        return self.slope * cosine + self.offset

    def cosine(self, similarity: float) -> float:
        """Return the cosine that has this similarity."""
        return (similarity - self.offset) / self.slope


class ModelSpec(NamedTuple):
    """Everything needed to open a model; `sha256` is that of the ONNX file.

    `max_tokens` includes special tokens. `fused` says that the graph in the file is already
    optimised, so that opening it skips that step. `files` lists the recorded size and hash of each.
    `average_query` says that queries are found best by the mean of their vectors with and without
    the prefix. `calibration` is None for a model whose cosines are not known.
    """

    name: str
    sha256: str
    pooling: Literal["cls", "mean"]
    query_prefix: str
    passage_prefix: str
    dimension: int
    max_tokens: int
    folder: Path
    normalize: bool = True
    fused: bool = False
    model_file: str = "model.onnx"
    files: tuple[ModelFile, ...] = ()
    average_query: bool = False
    calibration: Calibration | None = None

    @property
    def identity(self) -> str:
        """Return a SHA-256 of everything that a vector depends on; name and folder do not count."""
        import hashlib
        import json

        parts = [
            EMBEDDING_RECIPE,
            self.sha256,
            # A table of pieces is made from the tokenizer and gives the same ids.
            sorted(
                [file.path, file.sha256]
                for file in self.files
                if file.path not in (self.model_file, PIECES_FILE)
            ),
            self.pooling,
            self.normalize,
            self.query_prefix,
            self.passage_prefix,
            self.max_tokens,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def description(self) -> dict[str, Any]:
        """Return the JSON object from which `spec_from_description` makes this spec."""
        return {
            "name": self.name,
            "pooling": self.pooling,
            "normalize": self.normalize,
            "query_prefix": self.query_prefix,
            "passage_prefix": self.passage_prefix,
            "dimension": self.dimension,
            "max_tokens": self.max_tokens,
            "fused": self.fused,
            "average_query": self.average_query,
            "calibration": self.calibration._asdict() if self.calibration else None,
            "files": {
                file.path: {"bytes": file.size, "sha256": file.sha256} for file in self.files
            },
        }


class Embedder(Protocol):
    """An object that turns text into vectors of `spec.dimension` float32 numbers."""

    @property
    def spec(self) -> ModelSpec: ...

    def embed_query(self, text: str) -> NDArray[np.float32]: ...

    def embed_chunks(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]: ...

    def count_tokens(self, text: str) -> int: ...

    def close(self) -> None: ...


def packaged_model(name: str = PACKAGED_MODEL) -> ModelSpec:
    """Return the packaged model with this name, without checking its files."""
    folder = _packaged_folder(name)
    described = read_json(folder / DESCRIPTION_FILE) if folder else None
    if folder is None or described is None:
        if name in OPTIONAL_MODELS:
            raise ModelUnavailable(
                f"The model {name} is not installed.", hint=f"Install it: {INSTALL_OPTIONAL}"
            )
        known = ", ".join(spec.name for spec in packaged_models())
        raise ModelUnavailable(
            f"No model named {name} ships with gbrain.",
            hint=f"Packaged: {known or 'none; reinstall gbrain'}.",
        )
    return spec_from_description(described, folder)


def packaged_models() -> list[ModelSpec]:
    """Return the packaged models that are installed, the default one first."""
    folders = {name: _packaged_folder(name) for name in (PACKAGED_MODEL, *OPTIONAL_MODELS)}
    return [
        packaged_model(name)
        for name, folder in folders.items()
        if folder and (folder / DESCRIPTION_FILE).is_file()
    ]


def _packaged_folder(name: str) -> Path | None:
    """Return the folder of a packaged model, in gbrain or in its own wheel; None if missing."""
    folder = Path(__file__).parent / name
    if name != folder.name:
        return None
    if name in OPTIONAL_MODELS and not folder.is_dir():
        from importlib.util import find_spec

        found = find_spec(OPTIONAL_MODELS[name])
        places = found.submodule_search_locations if found else None
        return Path(next(iter(places))) if places else None
    return folder


def packaged_reranker() -> ModelSpec:
    """Return the cross-encoder that ships with gbrain, without checking its files."""
    folder = Path(__file__).parent / PACKAGED_RERANKER
    described = read_json(folder / RERANKER_DESCRIPTION_FILE)
    if described is None:
        raise ModelUnavailable(
            f"The reranking model {PACKAGED_RERANKER} is missing from gbrain.",
            hint="Reinstall gbrain.",
        )
    return spec_from_description(described, folder)


def spec_from_folder(
    folder: Path,
    *,
    name: str | None = None,
    pooling: str | None = None,
    query_prefix: str | None = None,
    passage_prefix: str | None = None,
    max_tokens: int | None = None,
) -> ModelSpec:
    """Return the spec of the ONNX sentence model in a folder; arguments override its settings.

    Without a gbrain.json the files are hashed, and the model is opened if no file records its
    dimension.
    """
    folder = Path(folder).absolute()
    if not folder.is_dir():
        raise ModelUnavailable(
            f"There is no folder {folder}.", hint="Choose the folder that contains model.onnx."
        )
    _model_file(folder)
    if not (folder / TOKENIZER_FILE).is_file():
        raise ModelUnavailable(
            f"{folder} has no {TOKENIZER_FILE}.",
            hint="Save the fast tokenizer of the model in this folder.",
        )
    arguments = {
        "name": name,
        "pooling": pooling,
        "query_prefix": query_prefix,
        "passage_prefix": passage_prefix,
        "max_tokens": max_tokens,
    }
    flags = {key: value for key, value in arguments.items() if value is not None}
    description = read_json(folder / DESCRIPTION_FILE)
    if description is None:
        from gbrain.models.files import read_config

        return _spec_from_files({"name": folder.name} | read_config(folder, flags) | flags, folder)
    if not isinstance(description, dict):
        raise _bad_description(folder, "the description", "an object")
    return spec_from_description(description | flags, folder)


def spec_from_description(described: Mapping[str, Any], folder: Path) -> ModelSpec:
    """Return the spec in a gbrain.json object; raise ModelUnavailable if it is not valid."""
    if not isinstance(described, Mapping):
        raise _bad_description(folder, "the description", "an object")
    files = _parse_files(described.get("files"), folder)
    model_file = next((p for p in MODEL_PATHS if any(f.path == p for f in files)), None)
    if model_file is None or not any(f.path == TOKENIZER_FILE for f in files):
        raise _bad_description(
            folder, "files", f"an object with {MODEL_PATHS[0]} and {TOKENIZER_FILE} in it"
        )
    return ModelSpec(
        name=_parse_text(described, "name", folder) or folder.name,
        sha256=next(f.sha256 for f in files if f.path == model_file),
        pooling=_parse_pooling(described.get("pooling"), folder),
        query_prefix=_parse_text(described, "query_prefix", folder),
        passage_prefix=_parse_text(described, "passage_prefix", folder),
        dimension=_parse_count(described, "dimension", folder),
        max_tokens=_parse_max_tokens(described, folder),
        folder=folder,
        normalize=described.get("normalize", True) is not False,
        fused=described.get("fused", False) is True,
        average_query=described.get("average_query", False) is True,
        calibration=_parse_calibration(described.get("calibration"), folder),
        model_file=model_file,
        files=files,
    )


def _spec_from_files(described: dict[str, Any], folder: Path) -> ModelSpec:
    """Return the spec of a folder without gbrain.json; check its settings before hashing files."""
    from gbrain.models.files import file_sha256

    _parse_pooling(described.get("pooling"), folder)
    _parse_max_tokens(described, folder)
    model = _model_file(folder)
    if described.get("dimension") is None:
        from gbrain.models.runtime import Transformer

        described["dimension"] = Transformer.open(folder / model, fused=False, packed=False).width()
    weights = sorted(path for path in (folder / model).parent.glob("*.onnx?data"))
    paths = [model, TOKENIZER_FILE, *(path.relative_to(folder).as_posix() for path in weights)]
    described["files"] = {
        path: {"bytes": (folder / path).stat().st_size, "sha256": file_sha256(folder / path)}
        for path in paths
    }
    return spec_from_description(described, folder)


def _model_file(folder: Path) -> str:
    for path in MODEL_PATHS:
        if (folder / path).is_file():
            return path
    raise ModelUnavailable(
        f"{folder} has no {' or '.join(MODEL_PATHS)}.", hint="Export the model to ONNX first."
    )


def _parse_files(value: object, folder: Path) -> tuple[ModelFile, ...]:
    if not isinstance(value, Mapping):
        raise _bad_description(folder, "files", "an object")
    return tuple(_parse_file(path, recorded, folder) for path, recorded in value.items())


def _parse_file(path: str, recorded: object, folder: Path) -> ModelFile:
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\\" in path or ":" in path:
        raise _bad_description(folder, f"files: {path}", "a path inside the folder")
    if not isinstance(recorded, Mapping) or not isinstance(recorded.get("sha256"), str):
        raise _bad_description(folder, f"files: {path}", "an object with sha256 and bytes")
    return ModelFile(path, recorded["sha256"], _parse_count(recorded, "bytes", folder))


def _parse_calibration(value: object, folder: Path) -> Calibration | None:
    if value is None:
        return None
    if not isinstance(value, Mapping):
        raise _bad_description(folder, "calibration", "an object")
    slope, offset = value.get("slope"), value.get("offset")
    for number in (slope, offset):
        if isinstance(number, bool) or not isinstance(number, int | float):
            raise _bad_description(folder, "calibration", "an object with slope and offset")
    if not (isinstance(slope, int | float) and 0 < slope <= MAX_SLOPE):
        raise _bad_description(folder, "calibration: slope", f"above 0 and at most {MAX_SLOPE}")
    assert isinstance(offset, int | float)
    return Calibration(float(slope), float(offset), value.get("english_only") is True)


def _parse_pooling(value: object, folder: Path) -> Literal["cls", "mean"]:
    if value == "cls":
        return "cls"
    if value == "mean":
        return "mean"
    choose = f"Choose with --pooling {' or --pooling '.join(POOLINGS)}."
    if value is None:
        raise ModelUnavailable(
            f"{folder} does not say how token vectors become one vector.", hint=choose
        )
    raise ModelUnavailable(f"{folder}: pooling {value!r} is not known.", hint=choose)


def _parse_max_tokens(described: Mapping[str, Any], folder: Path) -> int:
    if described.get("max_tokens") is None:
        raise ModelUnavailable(
            f"{folder} does not say how many tokens the model takes.",
            hint="Set it with --max-tokens; 512 is common.",
        )
    return _parse_count(described, "max_tokens", folder)


def _parse_count(described: Mapping[str, Any], key: str, folder: Path) -> int:
    value = described.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise _bad_description(folder, key, "a whole number above 0")
    return value


def _parse_text(described: Mapping[str, Any], key: str, folder: Path) -> str:
    value = described.get(key, "")
    if not isinstance(value, str):
        raise _bad_description(folder, key, "a text")
    return value


def _bad_description(folder: Path, what: str, expected: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"{folder / DESCRIPTION_FILE}: {what} must be {expected}.",
        hint="Download the model again, or correct its configuration.",
    )
