"""From a file to a hit and an answer, with the real engines: scanned pages, photographs and recordings, each cited."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, run_kb
from ingest_fixtures import PATIENCE_S
from media_fixtures import IMAGES, MODELS, SPEECH, needs_decoder, needs_tesseract, needs_whisper, truth

from kb.wire.schemas import validate

pytestmark = pytest.mark.slow  # real engines

QUESTION = "어린이 열람실은 토요일에 몇 시까지 여나?"


def workspace(directory: Path) -> Path:
    """The configuration file of a workspace below `directory`, with nothing in it yet."""
    (directory / "notes").mkdir()
    config = directory / "kb.toml"
    config.write_text(
        '[workspace]\nroot = "notes"\n[search]\nmode = "lexical"\n[audio]\nlanguage = "en"\n'
        f"[indexing]\nextract_timeout_s = {PATIENCE_S}\n"
        f'[storage]\ndata_dir = "data"\ncache_dir = "cache"\nlog_dir = "logs"\nmodel_dir = "{MODELS}"\n'
        '[models.llm]\nprovider = "extractive"\n[rag]\nscore_gate = 0\n',
        encoding="utf-8",
    )
    return config


def kb(config: Path, *args: str, **options: Any) -> Ran:
    return run_kb("--config", str(config), *args, **options)


def ingest(config: Path) -> Any:
    """The report of an ingest."""
    ran = kb(config, "ingest", "--no-embed", "--json")
    assert ran.code == 0, ran.stderr
    return ran.lines[-1]


def scan_of(pages: list[str], target: Path) -> None:
    """A PDF whose pages are pictures."""
    from PIL import Image

    first, *others = (Image.open(IMAGES / page).convert("L") for page in pages)
    first.save(target, save_all=True, append_images=others, resolution=110)


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a scan of three pages and two photographs."""
    config = workspace(tmp_path_factory.mktemp("scanned"))
    notes = config.parent / "notes"
    scan_of(["en-serif.png", "ko-serif.png", "ko.png"], notes / "scan.pdf")
    shutil.copy(IMAGES / "en-photo.jpg", notes / "crane.jpg")
    shutil.copy(IMAGES / "ko-serif-photo.jpg", notes / "도서관.jpg")
    ingest(config)
    return config


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the first 29 s of a recording of a meeting: whisper reads 30 at once."""
    config = workspace(tmp_path_factory.mktemp("recorded"))
    (config.parent / "notes" / "meeting.mp3").write_bytes((SPEECH / "meeting.mp3").read_bytes()[:88_000])
    ingest(config)
    return config


def standings(config: Path) -> set[str]:
    """How the quotations of the last answer stand."""
    check = kb(config, "verify", "--json")
    assert (check.code, check.stderr) == (0 if check.json["holds"] else 1, "")
    return {quote["standing"] for quote in check.json["quotes"]}


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
def test_a_question_finds_the_page_of_a_scan(scanned: Path, question: str, uri: str) -> None:
    hits = kb(scanned, "search", question, "--json").json["hits"]
    assert next(hit["citation"]["uri"] for hit in hits if hit["citation"]["path"] == "scan.pdf") == uri


@needs_tesseract
def test_a_photograph_is_cited_by_a_region_of_its_own_pixels(scanned: Path) -> None:
    found = kb(scanned, "search", "Where are the spare brake pads kept", "--json").json
    validate("search_response.v1", found)
    citation = found["hits"][0]["citation"]
    assert (citation["kind"], citation["path"]) == ("region", "crane.jpg")
    boxes = truth(IMAGES)["en.png"]["boxes"]
    assert citation["x"] <= boxes[4][0] + 20
    assert citation["y"] <= boxes[4][1] + 20
    assert citation["y"] + citation["h"] >= boxes[4][1] + boxes[4][3] - 20


@needs_tesseract
def test_what_is_quoted_of_a_scanned_page_or_a_picture_can_be_checked(scanned: Path, tmp_path: Path) -> None:
    config = tmp_path / "copy" / scanned.name
    shutil.copytree(scanned.parent, config.parent)
    assert kb(config, "ingest", "--no-embed", "--moved").code == 0
    pictured = kb(config, "ask", "How much does the crane lift when the wind is weak?", "--json").json
    assert pictured["citations"][0]["citation"]["uri"].startswith("crane.jpg#xywh=")
    assert standings(config) == {"stands"}
    answer = kb(config, "ask", QUESTION, "--path-glob", "scan.pdf", "--json").json
    assert answer["citations"][0]["citation"]["uri"] == "scan.pdf#page=2"
    assert standings(config) == {"stands"}
    scan_of(["en-serif.png"], config.parent / "notes" / "scan.pdf")
    assert "changed" in standings(config)


@needs_decoder
@needs_whisper
def test_a_recording_is_found_answers_and_opens_at_its_second(recorded: Path, tmp_path: Path) -> None:
    question = "How much has the price of copper risen?"
    found = kb(recorded, "search", question, "--json").json
    validate("search_response.v1", found)
    said_ms = next(start for start, _, text in truth(SPEECH)["meeting.mp3"]["sentences"] if "copper" in text)
    assert abs(found["hits"][0]["citation"]["start_ms"] - said_ms) <= 2000
    answer = kb(recorded, "ask", question, "--json").json
    assert "9%" in answer["answer"]
    citation = answer["citations"][0]["citation"]
    assert (citation["kind"], citation["path"]) == ("time", "meeting.mp3")
    assert citation["start_ms"] - 2000 <= said_ms <= citation["end_ms"]
    assert standings(recorded) == {"stands"}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpv").touch(mode=0o755)
    shown = kb(recorded, "open", "1", "--print", env={"PATH": str(tmp_path / "bin")}).stdout
    assert shown == f"mpv --start={citation['start_ms'] / 1000:g} {recorded.parent / 'notes' / 'meeting.mp3'}\n"


@needs_decoder
@needs_whisper
def test_what_is_quoted_of_a_recording_stands_where_it_is_cited(recorded: Path) -> None:
    asked = kb(recorded, "ask", "Who opens the warehouse and when?", "--json").json
    for cited in asked["citations"]:
        spoken = kb(recorded, "fetch", cited["citation"]["uri"]).stdout
        assert " ".join(cited["quote"].split()) in " ".join(spoken.split())
    assert standings(recorded) == {"stands"}
    shown = kb(recorded, "inspect", "doc", "meeting.mp3").stdout
    assert "  length   0:00:29\n" in shown
    assert "  5 blocks, 1 chunk\n" in shown
    assert "Good morning, everyone" in shown.splitlines()[-1]
    assert ingest(recorded)["unchanged"] == 1


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
    assert results == {"text.png": "error", "whole.png": "new"}
    assert report["skip_examples"] == {"empty": ["empty.jpg"]}


def test_inspect_shows_what_was_derived_and_what_was_not(tmp_path: Path) -> None:
    pymupdf = pytest.importorskip("pymupdf")
    pdf = pymupdf.open()
    for text in ("The pump runs dry at noon.", "The watchdog restarts the gateway."):
        pdf.new_page().insert_text((72, 400), text)
    pdf.new_page().draw_rect((60, 60, 500, 700), fill=(0.2, 0.2, 0.2))
    config = workspace(tmp_path)
    pdf.save(config.parent / "notes" / "manual.pdf")
    ingest(config)
    shown = kb(config, "inspect", "doc", "manual.pdf").stdout.splitlines()
    assert "  pages    3" in shown
    assert "  version  1 (parser pdf-v2)" in shown
    assert f"  derived  pdf-text by pymupdf-{pymupdf.VersionBind},layout-v4" in shown
    assert [line.split("  ")[-1] for line in shown[-2:]] == [
        "The pump runs dry at noon.",
        "The watchdog restarts the gateway.",
    ]
    assert not any(line.endswith(" ") for line in shown)
