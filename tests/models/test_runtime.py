"""Opening sessions and tokenizers quietly, and saying what is wrong with a file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gbrain.errors import ModelUnavailable
from gbrain.models.catalog import ModelSpec
from gbrain.models.runtime import (
    open_session_and_tokenizer,
    open_tokenizer,
    silence_stderr,
    usable_cores,
)


def test_native_warnings_are_dropped_and_nothing_after(capfd: pytest.CaptureFixture[str]) -> None:
    with silence_stderr():
        os.write(2, b"warning from native code\n")
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


def test_an_error_inside_passes_through_and_stderr_is_back(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(KeyError), silence_stderr():
        raise KeyError
    os.write(2, b"heard\n")
    assert capfd.readouterr().err == "heard\n"


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_whichever_file_is_broken_is_named(spec: ModelSpec, tmp_path: Path, broken: str) -> None:
    nonsense = tmp_path / broken
    nonsense.write_bytes(b"nonsense")
    paths = {name: spec.folder / name for name in ("model.onnx", "tokenizer.json")}
    paths[broken] = nonsense
    with pytest.raises(ModelUnavailable, match=f"{broken} cannot be opened: ") as caught:
        open_session_and_tokenizer(paths["model.onnx"], paths["tokenizer.json"], fused=True)
    assert "gbrain model verify" in (caught.value.hint or "")


def test_padding_and_truncation_in_the_file_are_switched_off(
    spec: ModelSpec, tmp_path: Path
) -> None:
    from tokenizers import Tokenizer

    padded = Tokenizer.from_file(str(spec.folder / "tokenizer.json"))
    padded.enable_padding(length=64)
    padded.enable_truncation(4)
    padded.save(str(tmp_path / "tokenizer.json"))
    opened = open_tokenizer(tmp_path / "tokenizer.json")
    assert len(opened.encode("one two three four five").ids) == 7


def test_there_is_a_core_to_run_on() -> None:
    assert 1 <= usable_cores() <= (os.cpu_count() or 1)


def test_the_library_keeps_nothing_about_its_use(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "GBRAIN_NOW": "2026-11-16"}
    program = (
        "from gbrain.models.runtime import _import_onnxruntime as load; load().SessionOptions()"
    )
    subprocess.run([sys.executable, "-c", program], env=home, check=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="counts threads by /proc")
def test_numpy_uses_one_thread_and_leaves_the_environment() -> None:
    script = (
        "import os\n"
        "from gbrain.models.catalog import packaged_model\n"
        "from gbrain.models.embedder import OnnxEmbedder\n"
        "OnnxEmbedder(packaged_model())\n"
        "print(len(os.listdir('/proc/self/task')), os.environ.get('OPENBLAS_NUM_THREADS'))\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "OPENBLAS_NUM_THREADS"}
    told = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert told.stdout.split() == ["1", "None"]
