"""Broken, locked, empty and enormous files: each is an item of the report with a hint, or is read to its end."""

from __future__ import annotations

import struct
import wave
import zlib
from pathlib import Path

import pytest
from conftest import run_kb
from ingest_fixtures import Workspace, analyse_by_word, counted
from media_fixtures import IMAGES, MODELS, SPEECH, needs_decoder, needs_tesseract, needs_whisper

pymupdf = pytest.importorskip("pymupdf")

from kb.operations.ingest import read  # noqa: E402

pytestmark = pytest.mark.slow  # real engines

SMALL_MEMORY_MB = 600


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace whose engines may take little memory."""
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.configure(
        f"storage.cache_dir={tmp_path / 'cache'}",
        f"storage.model_dir={MODELS}",
        f"indexing.extract_memory_mb={SMALL_MEMORY_MB}",
    )
    return made


def assert_told(workspace: Workspace, bad: dict[str, bytes], fine: str) -> dict[str, str]:
    """Each bad file is an item with a hint, twice over; the fine one beside them is indexed. Returns the messages."""
    for name, data in bad.items():
        workspace.write(name, data)
    report = workspace.ingest()
    failed = {item.doc_path: item.error for item in report.items if item.error}
    assert set(failed) == set(bad)
    assert {name for name, error in failed.items() if not error.hint} == set()
    assert workspace.paths() == [fine]
    again = workspace.ingest(retry=True)
    assert counted(again) == {"unchanged": 1, "errors": len(bad)}
    messages = {name: error.message for name, error in failed.items()}
    assert {item.doc_path: item.error.message for item in again.items if item.error} == messages
    return messages


def pdf_with(body: bytes) -> bytes:
    return b"%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj " + body + b" trailer<</Root 1 0 R>>"


def test_bad_pdfs_are_told(workspace: Workspace) -> None:
    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "The watchdog restarts the gateway.")
    whole = pdf.tobytes()
    workspace.write("fine.pdf", whole)
    looped = b"2 0 obj<</Type/Pages/Kids[3 0 R]/Count 9>>endobj 3 0 obj<</Type/Pages/Kids[2 0 R]/Count 9>>endobj"
    bad = {
        "cut.pdf": whole[:40],
        "locked.pdf": pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="secret"),
        "looped.pdf": pdf_with(looped),
        "no-page.pdf": pdf_with(b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj"),
        "picture.pdf": (IMAGES / "en.png").read_bytes(),
        "text.pdf": b"# A note under a wrong name",
    }
    assert_told(workspace, bad, "fine.pdf")
    failed = {item.doc_path: item.error.message for item in workspace.ingest(retry=True).items if item.error}
    assert failed["text.pdf"] == failed["picture.pdf"] == "not a PDF, though it is named like one"


def test_five_thousand_pages_are_read_in_little_memory(workspace: Workspace) -> None:
    workspace.write("register.pdf", pdf_of_sheets(5000))
    assert counted(workspace.ingest()) == {"new": 1}
    assert workspace.search("s4987")[0].citation.to_uri() == "register.pdf#page=4987"


def pdf_of_sheets(count: int) -> bytes:
    """A PDF of so many pages, each with its number on it, written by hand: a library takes longer than kb."""
    pages = range(4, 4 + 2 * count, 2)
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count {count}/Kids[{' '.join(f'{page} 0 R' for page in pages)}]>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, page in enumerate(pages, 1):
        shown = f"BT /F 11 Tf 72 400 Td (Sheet s{number} of the register of pumps and valves.) Tj ET"
        resources = "/MediaBox[0 0 595 842]/Resources<</Font<</F 3 0 R>>>>"
        objects.append(f"<</Type/Page/Parent 2 0 R{resources}/Contents {page + 1} 0 R>>")
        objects.append(f"<</Length {len(shown)}>>stream\n{shown}\nendstream")
    data = bytearray(b"%PDF-1.7\n")
    table = ["0000000000 65535 f "]
    for number, content in enumerate(objects, 1):
        table.append(f"{len(data):010} 00000 n ")
        data += f"{number} 0 obj{content}endobj\n".encode()
    trailer = f"trailer<</Root 1 0 R/Size {len(table)}>>\nstartxref\n{len(data)}\n%%EOF"
    return bytes(data) + "\n".join(["xref", f"0 {len(table)}", *table, trailer]).encode()


@needs_tesseract
def test_bad_images_are_told(workspace: Workspace) -> None:
    workspace.write("fine.png", (IMAGES / "en.png").read_bytes())
    whole = (IMAGES / "en-serif.png").read_bytes()
    bad = {
        "bomb.png": png_of(60_000, 60_000),
        "cut.png": whole[: len(whole) // 3],
        "no-pixels.png": png_of(0, 0),
        "nowhere.tiff": b"II*\0\xff\xff\xff\x7f",
        "signature.png": b"\x89PNG\r\n\x1a\n",
        "spoilt.png": whole[:3000] + bytes(200) + whole[3200:],
        "text.png": b"# A note under a wrong name",
    }
    assert "kb reads up to 150 million" in assert_told(workspace, bad, "fine.png")["bomb.png"]


def png_of(width: int, height: int) -> bytes:
    """A PNG that says it has so many pixels, and holds one row of them."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    rows = zlib.compress(bytes(1 + width))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@needs_decoder
@needs_whisper
def test_bad_recordings_are_told(workspace: Workspace, tmp_path: Path) -> None:
    silent = tmp_path / "silent.wav"
    with wave.open(str(silent), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes(bytes(64_000))
    nothing = tmp_path / "nothing.wav"
    with wave.open(str(nothing), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
    workspace.write("fine.wav", silent.read_bytes())
    bad = {
        "cut.mp3": (SPEECH / "meeting.mp3").read_bytes()[:100],
        "cut.m4a": (SPEECH / "korean.m4a").read_bytes()[:2000],
        "nothing.wav": nothing.read_bytes(),
        "text.ogg": b"# A note under a wrong name",
    }
    assert_told(workspace, bad, "fine.wav")


@pytest.mark.parametrize("name", ["one\x1b[31m.pdf", "-rf.pdf"])
def test_an_odd_name_is_no_matter(workspace: Workspace, name: str) -> None:
    workspace.write(name, b"no PDF")
    ran = run_kb("--config", str(workspace.config_path), "ingest", "--no-embed")
    assert ran.code in (0, 1)
    assert "\x1b" not in ran.stdout
