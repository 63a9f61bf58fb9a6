"""Reading text from pixels: the fixtures' errors, spaces, places and order; and how tesseract's output is taken in."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import pytest
from ingest_fixtures import Workspace
from media_fixtures import IMAGES, LANGUAGES, needs_pillow, needs_tesseract, truth

from kb.domain.derived import Derived, Engine
from kb.domain.ids import AssetId
from kb.domain.spans import RegionSpan
from kb.domain.text import WorkspacePath
from kb.errors import ModelMissing
from kb.extract.ocr.tesseract import read_table

sys.path.append(str(Path(__file__).parents[1]))

from benchmarks import ocr
from benchmarks.ocr import CLEAN_LIMIT, DEGRADED_LIMIT, character_error

pytestmark = pytest.mark.slow  # real engines

TRUTH = truth(IMAGES)
read_image = functools.cache(ocr.read_image)  # each fixture once


@needs_tesseract
@pytest.mark.parametrize("name", TRUTH)
def test_character_error_of_the_fixtures(name: str) -> None:
    true = "\n".join(TRUTH[name]["lines"])
    limit = CLEAN_LIMIT if TRUTH[name]["look"] == "clean" else DEGRADED_LIMIT
    assert character_error(read_image(IMAGES / name).joined, true) <= limit


@needs_tesseract
def test_lines_stand_where_they_were_drawn() -> None:
    read = read_image(IMAGES / "ko.png")
    assert len(read.regions) == len(TRUTH["ko.png"]["boxes"])
    for region, (x, y, w, h) in zip(read.regions, TRUTH["ko.png"]["boxes"], strict=True):
        box = region.box
        assert abs(box.x - x) <= 6
        assert abs(box.x + box.w - x - w) <= 6
        assert y - 6 <= box.y < box.y + box.h <= y + h + 6
        assert region.confidence > 0.8


@needs_tesseract
def test_a_page_on_its_side_is_cited_in_its_own_pixels() -> None:
    read = read_image(IMAGES / "en-side.png")
    assert (read.width, read.height) == _size(IMAGES / "en-side.png")
    assert all(region.box.h > region.box.w for region in read.regions)


@needs_tesseract
def test_a_picture_without_text_says_nothing(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    random = np.random.default_rng(3)
    for name, values in {
        "white": np.full((200, 300), 255),
        "grain": random.integers(0, 255, (200, 300)),
        "dot": np.zeros((1, 1)),
    }.items():
        path = tmp_path / f"{name}.png"
        Image.fromarray(values.astype(np.uint8)).save(path)
        assert len(read_image(path).joined) <= 3


@needs_tesseract
def test_a_language_that_is_not_installed_is_named() -> None:
    from kb.extract.ocr.tesseract import check_languages

    with pytest.raises(ModelMissing, match="xyz"):
        check_languages("kor+xyz")


@needs_pillow
def test_the_document_of_an_image() -> None:
    from kb.extract.image import assemble_image

    lines = [
        {"box": [10, 20, 100, 12], "text": "첫 줄", "confidence": 0.9, "block": 0},
        {"box": [12, 40, 120, 12], "text": "둘째 줄", "confidence": 0.9, "block": 0},
        {"box": [10, 90, 50, 12], "text": "apart", "confidence": 0.8, "block": 1},
    ]
    page = {"page": 1, "regions": lines, "width": 200, "height": 150, "engine": "tesseract", "engine_version": "5-1"}
    derived = Derived("ocr", Engine("tesseract", "5-1", LANGUAGES), json.dumps({"pages": [page]}).encode())
    made = assemble_image({"ocr": derived}, workspace_path=WorkspacePath("a/사진.png"), asset_id=AssetId("a" * 32))
    assert made.source_text == "첫 줄\n둘째 줄\n\napart"
    assert made.title == "사진"
    assert made.parser_version == f"image-v2;ocr=tesseract-5-1,{LANGUAGES};caption=none"
    first, second = (block.span for block in made.blocks)
    assert isinstance(first, RegionSpan)
    assert isinstance(second, RegionSpan)
    assert first.box == (10, 20, 122, 32)
    assert made.source_text[second.char_start : second.char_end] == "apart"


@needs_pillow
def test_words_cut_at_the_end_of_a_recognised_line_stand_whole_where_they_begin() -> None:
    from kb.extract.image import assemble_image

    texts = (("The decla-", 0), ("ration of an extraor-", 0), ("di-", 0), ("nary harbour mas-", 0), ("ter and crew", 1))
    lines = [
        {"box": [10 + 300 * block, 20 + 20 * at, 200, 12], "text": text, "confidence": 0.9, "block": block}
        for at, (text, block) in enumerate(texts)
    ]
    page = {"page": 1, "regions": lines, "width": 600, "height": 150, "engine": "tesseract", "engine_version": "5-1"}
    derived = Derived("ocr", Engine("tesseract", "5-1", LANGUAGES), json.dumps({"pages": [page]}).encode())
    made = assemble_image({"ocr": derived}, workspace_path=WorkspacePath("page.png"), asset_id=AssetId("a" * 32))
    assert made.source_text == "The declaration\nof an extraordinary\nharbour master\n\nand crew"
    spans = [block.span for block in made.blocks if isinstance(block.span, RegionSpan)]
    cut = [made.source_text[span.char_start : span.char_end] for span in spans]
    assert cut == ["The declaration\nof an extraordinary\nharbour master", "and crew"]
    assert [span.box for span in spans] == [(10, 20, 200, 72), (310, 100, 200, 12)]


@needs_tesseract
def test_a_word_cut_at_a_line_end_of_a_picture_is_found(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    page = Image.new("L", (900, 300), 255)
    written = "The keeper wrote a long decla-\nration of what the harbour office owes\nto those who mend the nets."
    ImageDraw.Draw(page).text((40, 40), written, font=ImageFont.load_default(36), fill=0, spacing=20)
    workspace = Workspace(tmp_path / "workspace")
    page.save(workspace.root / "page.png")
    workspace.ingest()
    (hit,) = workspace.search("declaration")
    assert hit.citation.to_uri().startswith("page.png#xywh=")
    assert workspace.search("ration") == []


def test_a_table_row_that_is_cut_short_is_left_out() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    line = "4\t1\t1\t1\t1\t0\t5\t6\t70\t12\t-1\t\n"
    word = '5\t1\t1\t1\t1\t1\t5\t6\t30\t12\t91.5\t"a\n'
    (read,) = read_table(head + line + word + "5\t1\t1", 1)
    assert [(line.text, line.area.right, line.words[0].confidence) for line in read] == [('"a', 75, 0.915)]


def test_character_error_counts_edits_and_one_space_as_many() -> None:
    assert character_error("가나  다\n라", "가나 다 라") == 0
    assert character_error("abd", "abcd") == 0.25


def _size(path: Path) -> tuple[int, int]:
    from PIL import Image

    with Image.open(path) as image:
        return image.size
