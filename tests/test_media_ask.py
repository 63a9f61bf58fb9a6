"""A scanned page, a photograph and a recording answer questions, and what they were quoted for can be checked."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import Ran, run_kb
from media_fixtures import IMAGES, SPEECH, needs_decoder, needs_tesseract, needs_whisper, truth
from test_media_search import ingest, scan_of, workspace

pytestmark = pytest.mark.slow  # real engines

QUESTION = "어린이 열람실은 토요일에 몇 시까지 여나?"


@pytest.fixture(scope="module")
def scanned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a scan of two pages and a photograph."""
    config = workspace(tmp_path_factory.mktemp("asked-scans"))
    notes = config.parent / "notes"
    scan_of(["en-serif.png", "ko-serif.png"], notes / "scan.pdf")
    shutil.copy(IMAGES / "en-photo.jpg", notes / "crane.jpg")
    ingest(config)
    return config


def kb(config: Path, *args: str) -> Ran:
    settings = ("--set", "models.llm.provider=extractive", "--set", "rag.score_gate=0")
    return run_kb("--config", str(config), *settings, *args)


@needs_tesseract
def test_a_scanned_korean_page_answers_with_its_page(scanned: Path) -> None:
    answer = kb(scanned, "ask", QUESTION, "--json").json
    assert answer["citations"][0]["citation"]["uri"] == "scan.pdf#page=2"
    check = kb(scanned, "verify", "--json").json
    assert check["holds"]
    assert {quote["standing"] for quote in check["quotes"]} == {"stands"}


@needs_tesseract
def test_a_quotation_from_a_picture_can_be_checked(scanned: Path) -> None:
    answer = kb(scanned, "ask", "How much does the crane lift when the wind is weak?", "--json").json
    cited = answer["citations"][0]["citation"]["uri"]
    assert cited.startswith("crane.jpg#xywh=")
    ran = kb(scanned, "verify", "--json")
    assert (ran.code, ran.stderr) == (0, "")
    assert {quote["standing"] for quote in ran.json["quotes"]} == {"stands"}
    assert {quote["citation"]["uri"] for quote in ran.json["quotes"]} == {cited}


@needs_tesseract
def test_a_changed_scan_no_longer_stands(scanned: Path, tmp_path: Path) -> None:
    config = tmp_path / "copy" / scanned.name
    shutil.copytree(scanned.parent, config.parent)
    assert kb(config, "ingest", "--no-embed", "--moved").code == 0
    kb(config, "ask", QUESTION)
    scan_of(["en-serif.png"], config.parent / "notes" / "scan.pdf")
    ran = kb(config, "verify", "--json")
    assert ran.code == 1
    assert "changed" in {quote["standing"] for quote in ran.json["quotes"]}


@needs_decoder
@needs_whisper
def test_a_recording_answers_with_its_second(tmp_path: Path) -> None:
    config = workspace(tmp_path)
    shutil.copy(SPEECH / "meeting.mp3", config.parent / "notes")
    ingest(config)
    answer = kb(config, "ask", "How much has the price of copper risen?", "--json").json
    assert "9%" in answer["answer"]
    citation = answer["citations"][0]["citation"]
    said_ms = next(start for start, _, text in truth(SPEECH)["meeting.mp3"]["sentences"] if "copper" in text)
    assert (citation["kind"], citation["path"]) == ("time", "meeting.mp3")
    assert citation["start_ms"] - 2000 <= said_ms <= citation["end_ms"]
    check = kb(config, "verify", "--json").json
    assert check["holds"]
    assert {quote["standing"] for quote in check["quotes"]} == {"stands"}
    env = {"PATH": str(tmp_path / "bin")}
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mpv").touch(mode=0o755)
    shown = run_kb("--config", str(config), "open", "1", "--print", env=env).stdout
    assert shown == f"mpv --start={citation['start_ms'] / 1000:g} {config.parent / 'notes' / 'meeting.mp3'}\n"


@needs_decoder
@needs_whisper
def test_what_is_quoted_of_a_recording_stands_where_it_is_cited(tmp_path: Path) -> None:
    config = workspace(tmp_path)
    shutil.copy(SPEECH / "meeting.mp3", config.parent / "notes")
    ingest(config)
    asked = kb(config, "ask", "Who opens the warehouse and when?", "--json").json
    for cited in asked["citations"]:
        spoken = run_kb("--config", str(config), "fetch", cited["citation"]["uri"]).stdout
        assert " ".join(cited["quote"].split()) in " ".join(spoken.split())
    check = kb(config, "verify", "--json").json
    assert {quote["standing"] for quote in check["quotes"]} == {"stands"}
