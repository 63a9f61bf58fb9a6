"""From a file to a hit, with the real engines: a scanned page, a photograph and a recording answer questions."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, run_kb
from ingest_fixtures import PATIENCE_S
from media_fixtures import IMAGES, MODELS, SPEECH, needs_decoder, needs_tesseract, needs_whisper, truth

from kb.wire.schemas import validate

pytestmark = pytest.mark.slow  # real engines

Search = Callable[[str], Ran]


def workspace(directory: Path) -> Path:
    """The configuration file of a workspace below `directory`, with nothing in it yet."""
    (directory / "notes").mkdir()
    config = directory / "kb.toml"
    config.write_text(
        '[workspace]\nroot = "notes"\n[search]\nmode = "lexical"\n[audio]\nlanguage = "en"\n'
        f"[indexing]\nextract_timeout_s = {PATIENCE_S}\n"
        f'[storage]\ndata_dir = "data"\ncache_dir = "cache"\nlog_dir = "logs"\nmodel_dir = "{MODELS}"\n',
        encoding="utf-8",
    )
    return config


def ingest(config: Path) -> Any:
    """The report of an ingest."""
    ran = run_kb("--config", str(config), "ingest", "--no-embed", "--json")
    assert ran.code == 0, ran.stderr
    return ran.lines[-1]


def scan_of(pages: list[str], target: Path) -> None:
    """A PDF whose pages are pictures."""
    from PIL import Image

    first, *others = (Image.open(IMAGES / page).convert("L") for page in pages)
    first.save(target, save_all=True, append_images=others, resolution=110)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Search:
    """Searches a workspace with a scan of three pages and two images."""
    config = workspace(tmp_path_factory.mktemp("scanned"))
    notes = config.parent / "notes"
    scan_of(["en-serif.png", "ko-serif.png", "ko.png"], notes / "scan.pdf")
    shutil.copy(IMAGES / "en-photo.jpg", notes / "crane.jpg")
    shutil.copy(IMAGES / "ko-serif-photo.jpg", notes / "도서관.jpg")
    ingest(config)
    return lambda question: run_kb("--config", str(config), "search", question, "--json")


@needs_tesseract
@pytest.mark.parametrize(
    ("question", "uri"),
    [
        ("난방비는 매달 며칠에 정산하나", "scan.pdf#page=3"),
        ("딸기 모종은 어디에 두나", "scan.pdf#page=3"),
        ("어린이 열람실은 토요일에 몇 시까지 여나", "scan.pdf#page=2"),
        ("When are old apple trees thinned", "scan.pdf#page=1"),
    ],
)
def test_a_question_finds_the_page_of_a_scan(scanned: Search, question: str, uri: str) -> None:
    pytest.importorskip("pymupdf")
    hits = scanned(question).json["hits"]
    assert next(hit["citation"]["uri"] for hit in hits if hit["citation"]["path"] == "scan.pdf") == uri


@needs_tesseract
def test_a_photograph_is_cited_by_a_region_of_its_own_pixels(scanned: Search) -> None:
    found = scanned("Where are the spare brake pads kept").json
    validate("search_response.v1", found)
    citation = found["hits"][0]["citation"]
    assert (citation["kind"], citation["path"]) == ("region", "crane.jpg")
    boxes = truth(IMAGES)["en.png"]["boxes"]
    assert citation["x"] <= boxes[4][0] + 20
    assert citation["y"] <= boxes[4][1] + 20
    assert citation["y"] + citation["h"] >= boxes[4][1] + boxes[4][3] - 20


@needs_decoder
@needs_whisper
def test_a_question_finds_the_second_of_a_recording(tmp_path: Path) -> None:
    config = workspace(tmp_path)
    shutil.copy(SPEECH / "meeting.mp3", config.parent / "notes")
    ingest(config)
    found = run_kb("--config", str(config), "search", "How much has the price of copper risen?", "--json").json
    validate("search_response.v1", found)
    citation = found["hits"][0]["citation"]
    said_ms = next(start for start, _, text in truth(SPEECH)["meeting.mp3"]["sentences"] if "copper" in text)
    assert citation["kind"] == "time"
    assert abs(citation["start_ms"] - said_ms) <= 2000

    assert ingest(config)["unchanged"] == 1


@needs_tesseract
def test_what_cannot_be_read_is_an_item_of_the_report(tmp_path: Path) -> None:
    config = workspace(tmp_path)
    notes = config.parent / "notes"
    (notes / "text.png").write_text("# no image")
    (notes / "empty.jpg").write_bytes(b"")
    shutil.copy(IMAGES / "en.png", notes / "whole.png")
    report = ingest(config)
    validate("ingest_report.v1", report)
    results = {item["doc_path"]: item["kind"] for item in report["items"]}
    assert results == {"text.png": "error", "empty.jpg": "error", "whole.png": "new"}


def test_inspect_shows_what_was_derived_and_what_was_not(tmp_path: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    pdf = pymupdf.open()
    for text in ("The pump runs dry at noon.", "The watchdog restarts the gateway."):
        pdf.new_page().insert_text((72, 400), text)
    pdf.new_page().draw_rect((60, 60, 500, 700), fill=(0.2, 0.2, 0.2))
    config = workspace(tmp_path)
    pdf.save(config.parent / "notes" / "manual.pdf")
    ingest(config)
    shown = run_kb("--config", str(config), "inspect", "doc", "manual.pdf").stdout.splitlines()
    assert "  pages    3" in shown
    assert "  version  1 (parser pdf-v2)" in shown
    assert f"  derived  pdf-text by pymupdf-{pymupdf.VersionBind},layout-v4" in shown
    assert [line.split("  ")[-1] for line in shown[-2:]] == [
        "The pump runs dry at noon.",
        "The watchdog restarts the gateway.",
    ]
    assert not any(line.endswith(" ") for line in shown)


@needs_decoder
@needs_whisper
def test_inspect_shows_how_long_a_recording_is(tmp_path: Path) -> None:
    config = workspace(tmp_path)
    shutil.copy(SPEECH / "meeting.mp3", config.parent / "notes")
    ingest(config)
    shown = run_kb("--config", str(config), "inspect", "doc", "meeting.mp3").stdout
    assert "  length   0:00:44\n" in shown
    assert "  8 blocks, 1 chunk\n" in shown
    assert "Good morning, everyone" in shown.splitlines()[-1]
