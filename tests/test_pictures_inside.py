"""Pictures inside documents (`tools/make_album_fixtures`): their text, its places, those left out, hostile ones."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import unruly_pictures
from conftest import run_kb
from ingest_fixtures import Workspace, analyse_by_word, counted
from media_fixtures import LANGUAGES, MEDIA, needs_tesseract

from kb.domain.citations import PartCitation, parse_citation
from kb.domain.derived import Derived, DerivedName, Engine, ExtractSettings, OcrSettings, StepJob
from kb.domain.ids import AssetId, content_hash
from kb.domain.kinds import family_of, media_type_of
from kb.domain.text import WorkspacePath
from kb.extract import pictures
from kb.extract.cited_text import cited_text
from kb.extract.notebook import notebook_pictures
from kb.extract.parts import FoundPicture, Part, PartBlock, Parts, assemble_parts, read_parts, read_picture_texts
from kb.extract.registry import extractor_of
from kb.extract.steps import Work, derive_steps
from kb.operations.ingest import engine_files, read
from kb.operations.inspect.status import base_status
from kb.operations.inspect.view import view_document
from kb.operations.opening.base import open_base
from kb.store.caches import DerivedCache

ALBUM = MEDIA / "album"
TRUTH: Mapping[str, list[dict[str, str]]] = json.loads((ALBUM / "truth.json").read_text(encoding="utf-8"))
SETTINGS = ExtractSettings(OcrSettings(LANGUAGES, 300))
LEAST_RECALL = 0.95


def results_of(name: str, data: bytes, settings: ExtractSettings = SETTINGS) -> dict[DerivedName, bytes]:
    """What the steps of a file derive from it."""
    media_type = media_type_of(name)
    assert media_type is not None
    steps = extractor_of(family_of(media_type)).steps[: None if settings.ocr else 1]
    done = derive_steps(lambda told: None, Work(media_type, steps, {}, settings), data)
    assert done.error is None
    return done.results


@needs_tesseract
@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(TRUTH))
def test_the_text_of_each_picture_is_cited_where_it_is(name: str) -> None:
    derived = results_of(name, (ALBUM / name).read_bytes())
    facts = TRUTH[name]
    found = [cited_text(PartCitation(name, fact["part"]), b"", derived) or "" for fact in facts]
    words = [(word, text) for fact, text in zip(facts, found, strict=True) for word in fact["text"].split()]
    assert sum(word in text for word, text in words) >= LEAST_RECALL * len(words)
    assert len(read_parts(derived["parts"]).pictures) == len(facts)


def document_of(derived: Mapping[DerivedName, bytes]) -> Any:
    made = {name: Derived(name, Engine("kb", "test"), data) for name, data in derived.items()}
    return assemble_parts(made, workspace_path=WorkspacePath("a.docx"), asset_id=AssetId("0" * 32))


def test_a_document_without_pictures_keeps_its_results_and_version() -> None:
    derived = results_of("manual-en.docx", (MEDIA / "office/manual-en.docx").read_bytes())
    assert list(derived) == ["parts"]
    assert json.loads(derived["parts"]).keys() == {
        "parts",
        "title",
        "author",
        "created_at",
        "updated_at",
        "notes",
        "user",
    }
    assert document_of(derived).parser_version == "parts-v1;parts=kb-test"


def test_pictures_that_are_not_read_are_counted_and_their_text_can_come_later() -> None:
    derived = results_of("album-en.docx", (ALBUM / "album-en.docx").read_bytes(), ExtractSettings())
    document = document_of(derived)
    assert document.parser_version == "parts-v1;parts=kb-test;ocr=none"
    assert document.metadata.user["pictures"] == 3
    assert [(each.kind, each.note) for each in document.warnings] == [("no_text", "3 pictures in it: OCR reads them")]


def png(width: int, height: int, rows: bytes | None = None) -> bytes:
    """A PNG whose header says that size."""

    def piece(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    pixels = zlib.compress(bytes((width // 8 + 2) * height) if rows is None else rows)
    head = piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + piece(b"IDAT", pixels) + piece(b"IEND", b"")


def job_of(data: bytes = b"", settings: ExtractSettings = SETTINGS) -> StepJob:
    media_type = media_type_of("a.docx")
    assert media_type is not None
    return StepJob(data, media_type, {}, settings, lambda progress: None)


def reader(data: bytes) -> Callable[[int], bytes]:
    return lambda most_bytes: data[:most_bytes]


def listed(*images: bytes, settings: ExtractSettings = SETTINGS) -> Parts:
    found = tuple(FoundPicture("para=1", f"{at}.png", reader(each)) for at, each in enumerate(images))
    return read_parts(
        pictures.listed(
            Parts((Part("para=1", (PartBlock("paragraph", "Text"),)),), found=found), job_of(settings=settings)
        )
    )


@pytest.mark.parametrize("size", [(31, 400), (400, 31), (64, 64)])
def test_icons_and_lines_are_left_out(size: tuple[int, int]) -> None:
    assert listed(png(*size)) == listed()


def test_what_is_no_picture_of_pixels_is_left_out() -> None:
    assert listed(b"<svg/>", b"\x01\0\0\0EMF", b"", b"\x89PNG") == listed()


@pytest.mark.parametrize("extension", ["png", "jpeg", "gif", "bmp"])
def test_the_size_of_a_picture_is_in_its_first_bytes(extension: str) -> None:
    image = pytest.importorskip("PIL.Image")
    written = io.BytesIO()
    image.new("L", (321, 123), 255).save(
        written, extension, **({"exif": b"Exif\0\0" + bytes(9_000)} if extension == "jpeg" else {})
    )
    assert pictures.picture_size(written.getvalue()) == (321, 123)


def test_a_picture_is_read_where_it_is_first() -> None:
    image = png(200, 200)
    assert [each.part for each in listed(image, png(200, 201), image).pictures] == ["para=1", "para=1"]


@pytest.mark.parametrize("settings", [SETTINGS, ExtractSettings()], ids=["read", "off"])
def test_ten_thousand_pictures_are_bounded_and_noted_once(settings: ExtractSettings) -> None:
    images = [png(200, 200 + at % 700, at.to_bytes(4, "big")) for at in range(10_000)]
    found = listed(*images, settings=settings)
    assert len(found.pictures) == pictures.MOST_PICTURES
    assert found.notes == ("9,500 pictures in it not read: damaged, too large, or behind the first 500",)


def test_a_picture_that_unpacks_to_too_much_is_noted() -> None:
    large = FoundPicture("", "a.png", lambda most_bytes: (png(200, 200) + bytes(most_bytes))[:most_bytes])
    read = pictures.listed(Parts((), found=(large,)), job_of())
    assert read_parts(read).notes == ("1 picture in it not read: damaged, too large, or behind the first 500",)


def with_pictures(*images: bytes) -> bytes:
    """A .docx whose paragraph has these pictures."""
    shown = "".join(f'<w:drawing><a:blip r:embed="r{at}"/></w:drawing>' for at in range(len(images)))
    spaces = 'xmlns:w="w" xmlns:a="a" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
    targets = "".join(f'<Relationship Id="r{at}" Target="media/{at}.png"/>' for at in range(len(images)))
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as package:
        body = f"<w:document {spaces}><w:body><w:p><w:r><w:t>Kept words</w:t>{shown}</w:r></w:p></w:body></w:document>"
        package.writestr("word/document.xml", body)
        package.writestr("word/_rels/document.xml.rels", f"<Relationships>{targets}</Relationships>")
        for at, image in enumerate(images):
            package.writestr(f"word/media/{at}.png", image)
    return made.getvalue()


@needs_tesseract
def test_a_bomb_and_a_truncated_picture_are_noted_and_the_rest_is_kept() -> None:
    image = (ALBUM.parent / "images/en.png").read_bytes()
    bomb = png(50_000, 50_000, bytes(1_000))
    derived = results_of("a.docx", with_pictures(bomb, image[: len(image) // 3]))
    document = document_of(derived)
    assert document.source_text == "Kept words"
    (warning,) = document.warnings
    assert warning.note.startswith("2 of 2 pictures in it cannot be read: ")
    texts = read_picture_texts(derived["ocr"])
    assert "million" in texts[content_hash(bomb)].failed


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.configure(f"storage.cache_dir={tmp_path / 'cache'}")
    return made


@needs_tesseract
@pytest.mark.slow
def test_pictures_are_read_once_ocr_is_on_found_cited_and_shown(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write("album.docx", (ALBUM / "album-en.docx").read_bytes())
    cache = f"storage.cache_dir={tmp_path / 'cache'}"
    workspace.configure(cache, "ocr.enabled=false")
    report = workspace.ingest()
    assert "3 pictures in 1 document not read: OCR is switched off" in report.notes
    assert workspace.search("Rowan Pell") == []
    with open_base(workspace.config) as session:
        assert any(each.startswith("3 pictures in 1 document not read") for each in base_status(session).missing)
    workspace.configure(cache)
    assert counted(workspace.ingest()) == {"updated": 1}
    (hit,) = workspace.search("Rowan Pell")
    assert hit.citation.to_uri() == "album.docx#para=3&picture=1"
    assert (hit.snippet, hit.heading_path) == ("Spare keys are kept with Rowan Pell in cabin four", ("Harbour notes",))
    assert counted(workspace.ingest()) == {"unchanged": 1}
    with open_base(workspace.config) as session:
        assert not any("pictures" in each for each in base_status(session).missing)
    shown = run_kb("--config", str(workspace.config_path), "fetch", "album.docx#para=3&picture=1")
    assert "Rowan Pell in cabin four" in shown.stdout
    assert workspace.is_sound()


@needs_tesseract
@pytest.mark.slow
def test_a_picture_in_another_file_is_taken_from_the_cache(workspace: Workspace, tmp_path: Path) -> None:
    image = (ALBUM.parent / "images/en.png").read_bytes()
    workspace.write("a.docx", with_pictures(image))
    assert counted(workspace.ingest()) == {"new": 1}
    engine = pictures.engine(SETTINGS)
    assert engine is not None
    with closing(DerivedCache(workspace.config.derived_cache, 10**9)) as cache:
        known = cache.get(content_hash(image), "ocr", engine.label)
        assert known is not None
        cache.put(content_hash(image), "ocr", engine.label, known.replace(b"harbour", b"marigold"))
    workspace.write("b.docx", with_pictures(png(200, 200), image))
    workspace.write("c.png", image)
    workspace.ingest()
    assert {hit.doc_path for hit in workspace.search("marigold")} == {"b.docx", "c.png"}


@needs_tesseract
@pytest.mark.slow
def test_pictures_of_pages_and_notebooks_are_behind_their_lines(workspace: Workspace, tmp_path: Path) -> None:
    for end in ("html", "ipynb"):
        workspace.write(f"a.{end}", (ALBUM / f"album-ko.{end}").read_bytes())
    cache = f"storage.cache_dir={tmp_path / 'cache'}"
    workspace.configure(cache, "ocr.enabled=false")
    assert "5 pictures in 2 documents not read: OCR is switched off" in workspace.ingest().notes
    of_lines = set(workspace.query("SELECT text FROM chunks"))
    workspace.configure(cache)
    assert counted(workspace.ingest()) == {"updated": 2}
    assert {hit.citation.to_uri() for hit in workspace.search("한나리가 보관한다")} == {
        "a.html#picture=2",
        "a.ipynb#cell=2&picture=2",
    }
    assert of_lines < set(workspace.query("SELECT text FROM chunks"))
    with open_base(workspace.config) as session:
        view = view_document(session, "a.ipynb#cell=2&picture=2")
        assert view.place_text == "예비 열쇠는 네 번 선실의\n한나리가 보관한다"
        assert view_document(session, "a.html#L4").text is not None
    assert counted(workspace.ingest()) == {"unchanged": 2}
    assert workspace.is_sound()


def test_a_page_without_pictures_in_it_keeps_its_version() -> None:
    page = b"<p>One paragraph.</p><img src='https://harbour.example/a.png'>"
    document = extractor_of("html").document(
        page, {}, workspace_path=WorkspacePath("a.html"), asset_id=AssetId("0" * 32)
    )
    assert document.parser_version == extractor_of("html").parser_version
    assert document.metadata.user == {}


@pytest.mark.parametrize(
    "text", ['{"cells": 1, "a": "image/"}', "[" * 5_000 + '"image/', '{"cells": [{"outputs": {"image/png": [1]}}]}']
)
def test_notebooks_with_pictures_nowhere_have_none(text: str) -> None:
    assert all(found.read(40) == b"" for found in notebook_pictures(text.encode()))


@needs_tesseract
@pytest.mark.slow
def test_pictures_whose_engine_is_killed_leave_the_rest_of_the_document_and_are_read_by_a_later_run(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_files, "derive_steps", unruly_pictures.derive_steps)
    workspace.write("a.docx", with_pictures((ALBUM.parent / "images/en.png").read_bytes()))
    report = workspace.ingest()
    assert counted(report) == {"new": 1}
    (item,) = report.items
    (warning,) = item.warnings
    assert warning.startswith("read_in_part: 1 of 1 picture in it cannot be read: the engine's process")
    assert [hit.citation.to_uri() for hit in workspace.search("Kept words")] == ["a.docx#para=1"]
    assert counted(workspace.ingest()) == {"updated": 1}  # tried again, and killed again
    monkeypatch.setattr(engine_files, "derive_steps", derive_steps)
    assert counted(workspace.ingest()) == {"updated": 1}
    (hit,) = workspace.search("harbour crane")
    assert hit.citation.to_uri().startswith("a.docx#para=1&picture=1")
    assert counted(workspace.ingest()) == {"unchanged": 1}


def test_a_citation_of_a_picture_reads_back() -> None:
    citation = parse_citation("a.pptx#slide=3&picture=2")
    assert isinstance(citation, PartCitation)
    assert (citation.label, citation.to_uri()) == ("Slide 3, picture 2", "a.pptx#slide=3&picture=2")
