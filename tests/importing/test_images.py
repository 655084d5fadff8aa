"""Images of notes: found where people put them, never outside their folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gbrain.brain import Brain
from gbrain.errors import NotFound
from gbrain.importing import images
from gbrain.importing.images import find_image, read_image


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    (root / "sub" / "attachments").mkdir(parents=True)
    (root / "assets").mkdir()
    (root / "sub" / "near.png").write_bytes(b"near")
    (root / "sub" / "attachments" / "kept.webp").write_bytes(b"kept")
    (root / "assets" / "top.GIF").write_bytes(b"top")
    (root / "sub" / "note.md").write_text("# Note\n")
    (tmp_path / "outside.png").write_bytes(b"outside")
    (root / "link.png").symlink_to(tmp_path / "outside.png")
    (root / "disguised.png").symlink_to(root / "sub" / "note.md")
    return root


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("near.png", "sub/near.png"),
        ("near%2Epng", "sub/near.png"),
        ("near.png?raw=1#part", "sub/near.png"),
        ("/sub/near.png", "sub/near.png"),
        ("kept.webp", "sub/attachments/kept.webp"),
        ("../assets/top.GIF", "assets/top.GIF"),
        ("top.GIF", "assets/top.GIF"),
        ("../../outside.png", None),
        ("%2e%2e/%2e%2e/outside.png", None),
        ("/etc/passwd", None),
        ("../link.png", None),
        ("../disguised.png", None),
        ("note.md", None),
        ("near.png\0.png", None),
        ("attachments", None),
        ("", None),
    ],
)
def test_an_image_is_found_inside_its_folder(folder: Path, written: str, found: str | None) -> None:
    expected = folder / found if found else None
    assert find_image(str(folder), "sub/note.md", written) == expected


def test_an_image_beyond_the_limit_is_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_IMAGE_BYTES", 3)
    assert find_image(str(folder), "sub/note.md", "near.png") is None
    assert read_image(folder / "sub" / "near.png") is None
    assert read_image(folder / "gone.png") is None


def test_a_brain_from_elsewhere_shows_no_images(folder: Path, brain: Brain) -> None:
    brain.import_folder(folder)
    with pytest.raises(NotFound):
        brain.image("sub/note", "near.png")
    brain.allow_writing(folder)
    assert brain.image("sub/note", "near.png") == ("image/png", b"near")
    with pytest.raises(NotFound):
        brain.image("sub/note", "gone.png")
