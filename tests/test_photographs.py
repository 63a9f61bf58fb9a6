"""Photographs in a folder, beside a file that kb does not read: looked at and left, at little cost, no error."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Vault, bounded_work, make_vault, run_kb
from media_fixtures import needs_tesseract

np = pytest.importorskip("numpy")
pytest.importorskip("PIL")

from PIL import Image, ImageDraw, ImageFont  # noqa: E402

from kb.extract.ocr import recognise as ocr  # noqa: E402
from kb.extract.ocr import tesseract  # noqa: E402
from kb.extract.ocr.geometry import IDENTITY  # noqa: E402

pytestmark = pytest.mark.slow  # real engines

TURNED_RIGHT = 6

# Five looks at a copy of 1,000 by 750 pixels: one in each quarter turn and one for labels. To read a picture of 1600 by
# 1200 as a page after the first look takes more.
MOST_PIXELS = 4_500_000


def hills() -> Image.Image:
    """A photograph of 12 megapixels: soft shapes of all greys, and the grain of a sensor."""
    chance = np.random.default_rng(5)
    small = Image.fromarray(chance.integers(0, 255, (30, 40, 3), dtype=np.uint8))
    large = np.asarray(small.resize((4000, 3000), Image.Resampling.BICUBIC), np.int16)
    return Image.fromarray((large + chance.integers(-8, 9, large.shape)).clip(0, 255).astype(np.uint8))


def branches(seed: int = 4) -> Image.Image:
    """Dark twigs before an even sky: as sharp as ink on paper, and no text."""
    chance = random.Random(seed)
    image = Image.new("L", (1600, 1200), 210)
    draw = ImageDraw.Draw(image)
    for _ in range(200):
        x, y = chance.random() * 1600, chance.random() * 1200
        for _ in range(30):
            next_x, next_y = x + chance.gauss(0, 24), y + chance.gauss(0, 24)
            draw.line((x, y, next_x, next_y), fill=30, width=chance.randint(1, 6))
            x, y = next_x, next_y
    return image


def noise() -> Image.Image:
    """Every pixel another grey."""
    return Image.fromarray(np.random.default_rng(1).integers(0, 256, (1200, 1600), dtype=np.uint8))


def leaves() -> Image.Image:
    """Leaves of all greys, one over the other."""
    chance = random.Random(2)
    image = Image.new("L", (1600, 1200), 120)
    for _ in range(3000):
        x, y = chance.randrange(1600), chance.randrange(1200)
        width, height = chance.randint(8, 60), chance.randint(4, 24)
        leaf = Image.new("L", (width, height), 0)
        ImageDraw.Draw(leaf).ellipse((0, 0, width, height), fill=255)
        leaf = leaf.rotate(chance.random() * 360, expand=True)
        image.paste(chance.randint(10, 250), (x, y), leaf)
    return image


def grating() -> Image.Image:
    """Dark bars, evenly apart, before a light wall."""
    image = Image.new("L", (1600, 1200), 230)
    draw = ImageDraw.Draw(image)
    for x in range(0, 1600, 24):
        draw.rectangle((x, 0, x + 7, 1200), fill=40)
    for y in range(0, 1200, 60):
        draw.rectangle((0, y, 1600, y + 5), fill=60)
    return image


def evening_sky() -> Image.Image:
    """From black to white without an edge."""
    return Image.fromarray(np.tile(np.linspace(0, 255, 1600).astype(np.uint8), (1200, 1)))


def many_twigs() -> Image.Image:
    """`branches`, of 12 megapixels."""
    return branches().resize((4000, 3000), Image.Resampling.BICUBIC)


LABEL = ("Greenhouse 14, bed C", "water on Tuesday")


def labelled(image: Image.Image, left: int, top: int) -> Image.Image:
    """A picture with a paper label of two lines in it."""
    label = Image.new("L", (620, 190), 250)
    for at, line in enumerate(LABEL):
        ImageDraw.Draw(label).text((40, 20 + 80 * at), line, font=ImageFont.load_default(44), fill=15)
    image.paste(label, (left, top))
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
    (vault.root / "budget.numbers").write_bytes(b"PK\x03\x04")
    return vault


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pixels of each image that tesseract is given."""
    pixels: list[int] = []

    def counted(pictures: Sequence[Path], languages: str, mode: int) -> list[list[tesseract.Line]]:
        for picture in pictures:
            with Image.open(picture) as image:
                pixels.append(image.width * image.height)
        return read_pictures(pictures, languages, mode)

    read_pictures = tesseract.read_pictures
    monkeypatch.setattr(tesseract, "read_pictures", counted)
    return pixels


@needs_tesseract
def test_a_large_photograph_without_text_and_a_spreadsheet_end_no_ingest(photo_vault: Vault) -> None:
    ran = run_kb("--config", str(photo_vault.config), "ingest", "--no-embed")
    assert ran.code == 0
    assert "2 new, 0 updated, 0 moved, 0 removed, 0 unchanged, 0 errors" in ran.stdout
    assert "not read: 1 .numbers\n" in ran.stdout
    assert "IMG_2041.jpg: empty file: no text in the image" in ran.stderr


@needs_tesseract
@pytest.mark.parametrize("picture", [hills, noise, leaves, grating, evening_sky, branches, many_twigs])
def test_a_picture_without_text_is_given_up_early(picture: Callable[[], Image.Image], looked_at: list[int]) -> None:
    image = picture().convert("L")
    with bounded_work():
        read = ocr.recognise(image, IDENTITY, image.size, "kor+eng")
    assert 0 < sum(looked_at) < MOST_PIXELS
    assert read.regions == ()


@needs_tesseract
def test_a_label_among_twigs_is_read_and_the_twigs_are_not() -> None:
    image = labelled(branches(seed=6), 480, 500)
    read = ocr.recognise(image, IDENTITY, image.size, "kor+eng")
    words = {word for region in read.regions for word in region.text.split()}
    assert {"bed", "Tuesday"} <= words <= {word for line in LABEL for word in line.split()}


@needs_tesseract
@pytest.mark.parametrize(("picture", "left", "top"), [(leaves, 480, 500), (noise, 480, 500)])
def test_a_label_in_a_busy_picture_is_read(picture: Callable[[], Image.Image], left: int, top: int) -> None:
    image = labelled(picture(), left, top)
    read = ocr.recognise(image, IDENTITY, image.size, "kor+eng")
    assert [line for line in LABEL if line not in read.joined] == []
    (first,) = (region.box for region in read.regions if LABEL[0] in region.text)
    assert left < first.x + first.w / 2 < left + 620
    assert top < first.y + first.h / 2 < top + 100
