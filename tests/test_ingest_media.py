"""Ingesting files that need an engine: cached, in processes of their own, one that fails never the end of the run."""

from __future__ import annotations

import json
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import run_kb
from ingest_fixtures import Workspace, analyse_by_word, counted

pymupdf = pytest.importorskip("pymupdf")

from kb.domain.citations import PageCitation  # noqa: E402
from kb.domain.derived import Engine, ExtractSettings  # noqa: E402  # noqa: E402
from kb.domain.ingest_events import AssetFinished, ExtractProgress  # noqa: E402
from kb.errors import ModelMissing  # noqa: E402
from kb.extract.pdf import text as pdf_text  # noqa: E402
from kb.extract.registry import EXTRACTORS, Step  # noqa: E402
from kb.operations.ingest import engine_files, read  # noqa: E402
from kb.store.caches import DerivedCache  # noqa: E402
from kb.workers.pool import WorkerPool  # noqa: E402

pytestmark = pytest.mark.slow


WORDS = ["The watchdog restarts the gateway.", "The pump runs dry at noon.", "배터리는 네 시간을 버틴다."]


def pdf_of(*pages: str) -> bytes:
    pdf = pymupdf.open()
    for text in pages:
        page = pdf.new_page()
        font = "korea" if not text.isascii() else "helv"
        page.insert_text((72, 100), text, fontname=font)
        page.insert_text((72, 400), "A second paragraph of the page, far below the first.")
    data: bytes = pdf.tobytes()
    return data


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.configure(f"storage.cache_dir={tmp_path / 'cache'}")
    return made


@pytest.fixture
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on, an engine that is asked to work is a failure."""

    def refuse(*args: object) -> None:
        raise AssertionError("an engine was started")

    monkeypatch.setattr(WorkerPool, "submit", refuse)


def test_a_hit_names_its_page_and_the_region_on_it(workspace: Workspace) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.write("notes.md", "# Notes\n\nNothing of the kind.\n")
    report = workspace.ingest()
    assert counted(report) == {"new": 2}
    for page, asked in enumerate(("watchdog", "noon pump", "배터리는"), 1):
        cited = workspace.search(asked)[0].citation
        assert isinstance(cited, PageCitation)
        assert cited.to_uri() == f"manual.pdf#page={page}"
        ((x, y, w, h),) = cited.regions
        assert 60 < x < 90
        assert 80 < y < 110, "the paragraph that was met, not the one below it"
        assert w > 50
        assert 5 < h < 30
    assert workspace.is_sound()


def test_a_word_cut_at_the_end_of_a_line_or_a_column_is_found(workspace: Workspace) -> None:
    pdf = pymupdf.open()
    page = pdf.new_page(width=600, height=800)
    for x, first, cut in (
        (60, "The keeper wrote a decla-", "ration of what he owes"),
        (330, "ter had seen", "nothing of it"),
    ):
        lines = [first, cut, *(f"and another line of column {x}, {at}" for at in range(8))]
        if x == 60:
            lines.append("until the harbour mas-")
        page.insert_text((x, 100), lines, fontsize=11)
    workspace.write("report.pdf", pdf.tobytes())
    workspace.ingest()
    for word in ("declaration", "master"):
        found = [hit.citation.to_uri() for hit in workspace.search(word)]
        assert found == ["report.pdf#page=1"], word
    assert workspace.search("ration") == []
    ((x, y, _, h),) = workspace.search("master")[0].citation.regions
    assert 55 < x < 65
    assert y < 100 < y + h


def test_the_view_cites_pages_as_a_search_does(workspace: Workspace) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.ingest()
    cited = workspace.query("SELECT citation, line_start FROM chunk_source ORDER BY chunk_rowid")
    assert cited == [(f"manual.pdf#page={page}", None) for page in (1, 2, 3)]


def test_unchanged_moved_and_broken_files_start_no_engine(
    workspace: Workspace, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.write("broken.pdf", b"%PDF-1.7 and no more")
    first = workspace.ingest()
    assert counted(first) == {"new": 1, "errors": 1}
    before = workspace.contents()
    request.getfixturevalue("no_worker")
    second = workspace.ingest()
    assert counted(second) == {"unchanged": 1, "still_unread": 1}
    assert workspace.contents() == before
    workspace.touch("manual.pdf")
    assert counted(workspace.ingest())["unchanged"] == 1
    workspace.move("manual.pdf", "shelf/manual.pdf")
    assert counted(workspace.ingest())["moved"] == 1
    (workspace.root / "broken.pdf").unlink()
    workspace.sqlite.unlink()
    assert counted(workspace.ingest())["new"] == 1
    assert workspace.search("watchdog")[0].citation.to_uri() == "shelf/manual.pdf#page=1"


def test_artifacts_follow_their_documents(workspace: Workspace) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.ingest()
    ((doc_id, provenance),) = workspace.query("SELECT doc_id, provenance_json FROM documents")
    artifact = workspace.config.artifact_dir / doc_id / "pdf-text.json"
    assert [page["text"].split("\n")[0] for page in json.loads(artifact.read_bytes())["pages"]] == WORDS
    assert {"pdf-text.json"} <= {event["note"] for event in json.loads(provenance)["events"]}
    workspace.write("manual.pdf", pdf_of("Another text altogether."))
    workspace.ingest()
    ((doc_id,),) = workspace.query("SELECT doc_id FROM documents")
    assert [folder.name for folder in workspace.config.artifact_dir.iterdir()] == [doc_id]
    (workspace.root / "manual.pdf").unlink()
    workspace.ingest(allow_empty=True)
    assert list(workspace.config.artifact_dir.iterdir()) == []


def test_a_new_engine_reads_its_files_again_and_no_others(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.write("notes.md", "# Notes\n\nText.\n")
    workspace.ingest()
    monkeypatch.setattr(pdf_text, "engine", lambda settings: Engine("pymupdf", "9.9.9"))
    assert counted(workspace.ingest()) == {"updated": 1, "unchanged": 1}
    (version,) = workspace.query("SELECT parser_version FROM documents WHERE workspace_path = 'manual.pdf'")[0]
    assert version == "pdf-v2;pdf-text=pymupdf-9.9.9"
    assert counted(workspace.ingest()) == {"unchanged": 2}


def test_a_missing_engine_is_one_line_and_keeps_what_is_stored(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("stored.pdf", pdf_of(*WORDS))
    workspace.ingest()
    for name in ("one.pdf", "two.pdf"):
        workspace.write(name, pdf_of("New words."))
    workspace.touch("stored.pdf")

    def missing(settings: ExtractSettings) -> Engine:
        raise ModelMissing("PDF files need pymupdf, which is not installed", "pip install 'x[pdf]'")

    monkeypatch.setattr(pdf_text, "engine", missing)
    report = workspace.ingest()
    assert report.notes == ["PDF files need pymupdf, which is not installed: 3 files not read (pip install 'x[pdf]')"]
    assert counted(report) == {}
    assert workspace.paths() == ["stored.pdf"]


def test_only_the_kinds_asked_for_are_looked_at(workspace: Workspace) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.write("notes.md", "# Notes\n\nText.\n")
    report = run_kb("--config", str(workspace.config_path), "ingest", "--no-embed", "--media", "markdown", "--json")
    assert report.lines[-1]["new"] == 1
    assert workspace.paths() == ["notes.md"]
    workspace.ingest()
    (workspace.root / "notes.md").unlink()
    again = run_kb("--config", str(workspace.config_path), "ingest", "--no-embed", "--media", "pdf", "--json")
    assert again.lines[-1]["removed"] == 1
    assert workspace.paths() == ["manual.pdf"]
    wrong = run_kb("--config", str(workspace.config_path), "ingest", "--media", "video")
    assert wrong.code == 2
    assert "markdown, text, " in wrong.stderr


def test_a_dry_run_starts_no_engine_and_writes_nothing(workspace: Workspace, no_worker: None) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    report = workspace.ingest(dry_run=True)
    assert [(item.kind, item.doc_path) for item in report.items] == [("new", "manual.pdf")]
    assert not workspace.sqlite.exists()
    assert not workspace.config.artifact_dir.exists()


def test_the_progress_names_the_engine(workspace: Workspace) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.ingest()
    engines = {event.engine for event in workspace.events if isinstance(event, ExtractProgress)}
    assert engines == {f"pymupdf {pymupdf.VersionBind}"}


@pytest.fixture
def unruly(monkeypatch: pytest.MonkeyPatch) -> None:
    """PDFs are read by the engine of this module."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parent)])
    step = Step("pdf-text", "unruly_engine", is_required=True)
    monkeypatch.setitem(EXTRACTORS, "pdf", replace(EXTRACTORS["pdf"], steps=(step,)))


def test_an_engine_that_fails_costs_its_file_only(workspace: Workspace, unruly: None) -> None:
    for name in ("crash", "leave", "noise", "memory", "wordless"):
        workspace.write(f"{name}.pdf", name.encode())
    workspace.write("fine.pdf", pdf_of(*WORDS))
    report = workspace.ingest()
    assert counted(report) == {"new": 1, "errors": 5}
    failed = {item.doc_path: item.error for item in report.items if item.error is not None}
    assert {error.code for error in failed.values()} == {"engine_failed"}
    assert all(error.hint for error in failed.values())
    assert "SIGABRT" in failed["crash.pdf"].message
    assert "code 3" in failed["leave.pdf"].message
    assert failed["noise.pdf"].message == "the engine failed (ZeroDivisionError): an engine's bug"
    assert failed["wordless.pdf"].message == "the engine failed (AssertionError)"
    assert "memory" in failed["memory.pdf"].message
    assert workspace.search("watchdog")


def test_a_stopped_run_ends_its_engines_and_the_next_goes_on(
    workspace: Workspace, unruly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("a.pdf", pdf_of(*WORDS))
    workspace.write("hang.pdf", b"hang")
    monkeypatch.setattr(engine_files, "_POLL_S", 0.01)
    report = workspace.ingest(is_canceled=lambda: any(isinstance(event, AssetFinished) for event in workspace.events))
    assert report.aborted
    assert workspace.paths() == ["a.pdf"]


def test_a_long_step_that_was_stopped_goes_on_from_what_it_had(
    workspace: Workspace, unruly: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.write("long.pdf", b"long")
    monkeypatch.setattr(engine_files, "_POLL_S", 0.01)

    def two_of_three() -> bool:
        return any(isinstance(event, ExtractProgress) and event.done == 2 for event in workspace.events)

    assert workspace.ingest(is_canceled=two_of_three).aborted
    (item,) = workspace.ingest().items
    assert item.error is not None
    assert item.error.message == "goes on after one two"
    with closing(DerivedCache(workspace.config.cache_dir / "derived.sqlite", 10**9)) as cache:
        assert cache.size()[0] == 1, "what was unfinished gives way to what came of it"


def test_the_cache_is_shown_and_pruned(workspace: Workspace, tmp_path: Path) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS))
    workspace.ingest()
    call = ("--config", str(workspace.config_path), "--set", f"storage.cache_dir={tmp_path / 'cache'}", "cache")
    shown = {part["name"]: part["entries"] for part in run_kb(*call, "stats", "--json").json["parts"]}
    assert shown == {"vectors": 0, "derived": 1}
    pruned = run_kb(*call, "prune", "--max-size", "0", "--json").json
    assert pruned["parts"][1]["entries"] == 0
    assert run_kb(*call, "prune", "--max-size", "much").code == 2
    assert "derived" in run_kb(*call, "stats").stdout


def test_a_repaired_pdf_is_no_failure(workspace: Workspace) -> None:
    workspace.write("manual.pdf", pdf_of(*WORDS).replace(b"startxref", b"startxxxx"))
    (item,) = workspace.ingest().items
    assert (item.kind, item.error) == ("new", None)
    assert item.warnings == ("repaired: the PDF is damaged; it was repaired while it was read",)
    assert workspace.search("watchdog")
