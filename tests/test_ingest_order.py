"""The order of an ingest: text that is read at once, its vectors, and then what slow engines read."""

from __future__ import annotations

import io
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from fake_embedder import PRIMARY, FakeModels, fake_models
from ingest_fixtures import Workspace, analyse_by_word

pymupdf = pytest.importorskip("pymupdf")

from kb.domain.ingest_events import AssetFinished, EmbedProgress  # noqa: E402
from kb.domain.results.ingest import IngestReport  # noqa: E402
from kb.domain.run_handle import RunHandle  # noqa: E402
from kb.extract.registry import EXTRACTORS, Step  # noqa: E402
from kb.operations.ingest import ingest as ingesting  # noqa: E402
from kb.operations.ingest import read  # noqa: E402
from kb.operations.ingest.ingest import ingest  # noqa: E402
from kb.operations.ingest.requests import ingest_request  # noqa: E402

__all__ = ["fake_models"]

pytestmark = pytest.mark.slow

FIXTURES = Path(__file__).parents[1] / "fixtures"


def pdf_of(text: str, *, is_scan: bool = False) -> bytes:
    pdf = pymupdf.open()
    page = pdf.new_page()
    for line in range(4):
        page.insert_text((72, 100 + 20 * line), f"{text} It is written on line {line} of this page.", fontsize=14)
    if is_scan:
        picture = page.get_pixmap(dpi=150).tobytes("png")
        pdf = pymupdf.open()
        pdf.new_page().insert_image(pdf[0].rect, stream=io.BytesIO(picture))
    data: bytes = pdf.tobytes()
    return data


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_models: FakeModels) -> Workspace:
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.configure(f"storage.cache_dir={tmp_path / 'cache'}", f"models.embedding.model={PRIMARY}")
    made.write("note.md", "# Note\n\nThe heron waits.\n")
    made.write("mail.eml", b"Subject: Pump\nFrom: a@b.test\n\nThe pump runs dry.\n")
    return made


@pytest.fixture
def slow_pdf(monkeypatch: pytest.MonkeyPatch) -> None:
    """PDFs are read by one step, which is slow."""
    step = Step("pdf-text", "kb.extract.pdf.text", is_required=True, is_slow=True)
    monkeypatch.setitem(EXTRACTORS, "pdf", replace(EXTRACTORS["pdf"], steps=(step,)))


def order(workspace: Workspace, *, for_watch: bool = False) -> tuple[list[str], IngestReport]:
    """The files in the order in which they were stored, with `embedded` where all passages so far got a vector."""
    told: list[str] = []

    def note(event: object) -> None:
        if isinstance(event, AssetFinished):
            told.append(event.path)
        elif isinstance(event, EmbedProgress) and event.done == event.total:
            told.append("embedded")

    request = ingest_request(workspace.config, None, dry_run=False, allow_empty=False, embed=True, for_watch=for_watch)
    return told, ingest(request, RunHandle(note))


def vectors(workspace: Workspace) -> tuple[int, int]:
    (counts,) = workspace.query(
        "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM embedding_records WHERE status = 'committed')"
    )
    return counts


def test_text_that_is_read_at_once_is_embedded_before_slow_engines_begin(workspace: Workspace, slow_pdf: None) -> None:
    workspace.write("scan.pdf", pdf_of("The lighthouse."))
    told, report = order(workspace)
    assert told == ["note.md", "mail.eml", "embedded", "scan.pdf", "embedded"]
    assert (report.counts.new, report.counts.embeddings_indexed) == (3, vectors(workspace)[0])
    assert vectors(workspace)[0] == vectors(workspace)[1]
    workspace.write("another.pdf", pdf_of("The harbour."))
    assert order(workspace)[0] == ["another.pdf", "embedded"], "nothing lacked a vector before"


def test_few_slow_files_do_not_wait_for_many_passages(
    workspace: Workspace, slow_pdf: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingesting, "_PASSAGES_A_SLOW_FILE", 1)
    workspace.write("scan.pdf", pdf_of("The lighthouse."))
    assert order(workspace)[0] == ["note.md", "mail.eml", "scan.pdf", "embedded"]


def test_for_watch_slow_files_are_left_to_the_next_run(workspace: Workspace, slow_pdf: None) -> None:
    workspace.write("scan.pdf", pdf_of("The lighthouse."))
    told, report = order(workspace, for_watch=True)
    assert (told, report.slow_left) == (["note.md", "mail.eml"], 1)
    assert order(workspace)[0] == ["embedded", "scan.pdf", "embedded"]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_only_pages_without_text_make_a_pdf_slow(workspace: Workspace) -> None:
    workspace.write("a-scan.pdf", pdf_of("The lighthouse.", is_scan=True))
    workspace.write("b-text.pdf", pdf_of("The harbour at noon."))
    told, _ = order(workspace)
    assert set(told[:3]) == {"note.md", "mail.eml", "b-text.pdf"}
    assert told[3:] == ["embedded", "a-scan.pdf", "embedded"]
    assert workspace.query("SELECT 1 FROM chunks WHERE text LIKE '%lighthouse%'")


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
@pytest.mark.parametrize("name", ["album-en.docx", "album-en.html"])
def test_the_text_of_a_document_is_stored_before_its_pictures_are_read(workspace: Workspace, name: str) -> None:
    workspace.write(name, (FIXTURES / "media/album" / name).read_bytes())
    told, report = order(workspace, for_watch=True)
    assert (sorted(told), report.slow_left, report.counts.new) == (sorted(["note.md", "mail.eml", name]), 1, 3)
    in_pictures = "SELECT count(*) FROM chunks WHERE source_spans_json LIKE '%picture=%'"
    in_text = f"SELECT count(*) FROM chunks JOIN documents USING (doc_id) WHERE workspace_path = '{name}'"
    assert workspace.query(in_pictures) == [(0,)]
    assert workspace.query(in_text)[0][0] > 0
    waiting = "SELECT workspace_path FROM unread_files WHERE code = 'not_read_yet'"
    assert workspace.query(waiting) == [(name,)]
    told, report = order(workspace)
    assert told == ["embedded", name, "embedded"]
    assert workspace.query(waiting) == []
    assert workspace.query(in_pictures)[0][0] > 1
    assert order(workspace)[1].counts.unchanged == 3


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")
def test_a_document_whose_pictures_are_read_behind_its_text_counts_once(workspace: Workspace) -> None:
    workspace.write("album.docx", (FIXTURES / "media/album/album-en.docx").read_bytes())
    told, report = order(workspace)
    assert (sorted(told[:3]), told[3:]) == (
        sorted(["note.md", "mail.eml", "album.docx"]),
        ["embedded", "album.docx", "embedded"],
    )
    counts = report.counts
    assert (counts.new, counts.updated, counts.chunks_indexed) == (3, 0, vectors(workspace)[0])
    assert counts.embeddings_indexed == vectors(workspace)[1]
