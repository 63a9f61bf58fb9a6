"""Photographs in a folder, beside a file that kb does not read: looked at and left, at little cost, no error."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from conftest import Vault, make_vault, run_kb
from media_fixtures import needs_tesseract

np = pytest.importorskip("numpy")
pytest.importorskip("PIL")

from PIL import Image, ImageDraw  # noqa: E402

from kb.extract.ocr import recognise as ocr  # noqa: E402
from kb.extract.ocr.geometry import IDENTITY  # noqa: E402
from kb.extract.ocr.page_image import is_photograph, prepare_page  # noqa: E402

pytestmark = pytest.mark.slow  # real engines

TURNED_RIGHT = 6
MOST_CPU_S = 30.0


def hills() -> Image.Image:
    """A photograph of 12 megapixels: soft shapes of all greys, and the grain of a sensor."""
    chance = np.random.default_rng(5)
    small = Image.fromarray(chance.integers(0, 255, (30, 40, 3), dtype=np.uint8))
    large = np.asarray(small.resize((4000, 3000), Image.Resampling.BICUBIC), np.int16)
    return Image.fromarray((large + chance.integers(-8, 9, large.shape)).clip(0, 255).astype(np.uint8))


def branches() -> Image.Image:
    """Dark twigs before an even sky: as sharp as ink on paper, and no text."""
    chance = random.Random(4)
    image = Image.new("L", (1600, 1200), 210)
    draw = ImageDraw.Draw(image)
    for _ in range(200):
        x, y = chance.random() * 1600, chance.random() * 1200
        for _ in range(30):
            next_x, next_y = x + chance.gauss(0, 24), y + chance.gauss(0, 24)
            draw.line((x, y, next_x, next_y), fill=30, width=chance.randint(1, 6))
            x, y = next_x, next_y
    return image


def save_as_taken(image: Image.Image, path: Path) -> None:
    """As a camera held upright writes it: lying, with a mark how to turn it."""
    exif = image.getexif()
    exif[0x0112] = TURNED_RIGHT
    image.save(path, quality=88, exif=exif.tobytes())


@pytest.fixture
def photo_vault(tmp_path: Path) -> Vault:
    vault = make_vault(tmp_path, {"note.md": "# Harbour\n\nThe harbour opens at seven.\n"})
    save_as_taken(hills(), vault.root / "IMG_2041.jpg")
    (vault.root / "budget.xlsx").write_bytes(b"PK\x03\x04")
    return vault


def children_cpu_s() -> float:
    used = os.times()
    return used.children_user + used.children_system


@needs_tesseract
def test_a_large_photograph_without_text_and_a_spreadsheet_end_no_ingest(photo_vault: Vault) -> None:
    before = children_cpu_s()
    ran = run_kb("--config", str(photo_vault.config), "ingest", "--no-embed")
    assert children_cpu_s() - before < MOST_CPU_S
    assert ran.code == 0
    assert "2 new, 0 updated, 0 moved, 0 removed, 0 unchanged, 0 errors" in ran.stdout
    assert "not read: 1 .xlsx\n" in ran.stdout
    assert "IMG_2041.jpg: empty_file: no text in the image" in ran.stderr


@needs_tesseract
def test_branches_are_not_read_as_letters() -> None:
    image = branches()
    assert not is_photograph(prepare_page(image).image)
    assert ocr.recognise(image, IDENTITY, image.size, "kor+eng").regions == ()
