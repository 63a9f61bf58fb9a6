"""Facts of known pages, in Korean and English, found again: `fixtures/media/pdf`, made by `tools/make_pdf_fixtures`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import run_kb
from ingest_fixtures import Workspace
from media_fixtures import needs_tesseract

pytest.importorskip("pymupdf")

from kb.domain.citations import PageCitation
from kb.domain.filters import SearchFilters
from kb.domain.search import Passage, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

pytestmark = pytest.mark.slow  # real engines

FIXTURES = Path(__file__).parents[1] / "fixtures/media/pdf"
LEAST_RIGHT = 0.98
LEAST_RIGHT_IN_SCANS = 0.95


class Truth(NamedTuple):
    """A fact, the page it stands on, and a question that asks for it."""

    file: str
    page: int
    question: str
    answer: str
    text: str


TRUTHS = [Truth(**truth) for truth in json.loads((FIXTURES / "truth.json").read_text(encoding="utf-8"))]
TEXT_TRUTHS = [truth for truth in TRUTHS if not truth.file.startswith("scan")]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The PDFs with a text layer, indexed."""
    base = tmp_path_factory.mktemp("library")
    workspace = Workspace(base / "workspace")
    workspace.configure(f"storage.cache_dir={base / 'cache'}", "ocr.enabled=false")
    for path in FIXTURES.glob("*.pdf"):
        shutil.copy(path, workspace.root)
    report = workspace.ingest()
    assert report.counts.errors == 0
    return workspace


def first_hit(workspace: Workspace, truth: Truth) -> Passage | None:
    asked = SearchQuery(truth.question, "lexical", 1, SearchFilters(path_globs=(truth.file,)))
    with open_base(workspace.config) as session:
        return next(iter(search(session, asked).hits), None)


def test_the_page_of_the_hit_is_right(library: Workspace) -> None:
    wrong = []
    for truth in TEXT_TRUTHS:
        hit = first_hit(library, truth)
        cited = hit.citation if hit else None
        if not (isinstance(cited, PageCitation) and cited.page == truth.page):
            wrong.append((truth, cited))
    assert len(TEXT_TRUTHS) >= 200
    assert len(wrong) <= (1 - LEAST_RIGHT) * len(TEXT_TRUTHS), wrong[:5]


def test_the_cited_page_holds_the_fact(library: Workspace) -> None:
    for truth in TEXT_TRUTHS[::7]:
        fetched = run_kb("--config", str(library.config_path), "fetch", f"{truth.file}#page={truth.page}", "--json")
        flat = " ".join(fetched.json["places"][0]["text"].split())
        assert truth.answer in flat
        if not truth.file.startswith("tables"):
            assert truth.text in flat


def test_the_region_of_the_hit_is_where_the_fact_is_printed(library: Workspace) -> None:
    import pymupdf

    for truth in TEXT_TRUTHS[::7]:
        hit = first_hit(library, truth)
        assert hit is not None
        assert isinstance(hit.citation, PageCitation)
        with pymupdf.open(FIXTURES / truth.file) as pdf:
            answers = pdf[truth.page - 1].search_for(truth.answer)
        regions = [pymupdf.Rect(x - 2, y - 2, x + w + 4, y + h + 4) for x, y, w, h in hit.citation.regions]
        assert any(region.contains(answer) for region in regions for answer in answers)


def test_tables_columns_and_furniture(library: Workspace) -> None:
    kinds = dict(
        library.query(
            "SELECT d.workspace_path, group_concat(DISTINCT b.kind) "
            "FROM blocks AS b JOIN documents AS d USING (doc_id) GROUP BY 1"
        )
    )
    assert "table" in kinds["tables-ko.pdf"]
    assert "heading" in kinds["handbook-en.pdf"]
    assert library.query("SELECT text FROM chunks WHERE text LIKE '%- 3 -%'") == []
    titles = dict(library.query("SELECT workspace_path, title FROM documents"))
    assert titles["handbook-ko.pdf"] == titles["columns-ko.pdf"] == "하천 관측소 정비 편람"
    labels = library.query(
        "SELECT DISTINCT s.value ->> 'label' FROM documents AS d JOIN chunks AS c USING (doc_id), "
        "json_each(c.source_spans_json) AS s WHERE d.workspace_path = 'handbook-en.pdf' ORDER BY s.value ->> 'page'"
    )
    assert labels[0] == ("11",)


@needs_tesseract
def test_the_page_of_the_hit_is_right_in_scans(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    workspace.configure(f"storage.cache_dir={tmp_path / 'cache'}")
    for path in FIXTURES.glob("scan-*.pdf"):
        shutil.copy(path, workspace.root)
    assert workspace.ingest().counts.errors == 0
    truths = [truth for truth in TRUTHS if truth.file.startswith("scan")]
    hits = [first_hit(workspace, truth) for truth in truths]
    pages = [hit.citation.page if hit and isinstance(hit.citation, PageCitation) else None for hit in hits]
    right = [page == truth.page for page, truth in zip(pages, truths, strict=True)]
    assert len(truths) >= 16
    assert sum(right) >= LEAST_RIGHT_IN_SCANS * len(truths)


def test_scans_are_known_for_what_they_are(library: Workspace) -> None:
    versions = dict(library.query("SELECT workspace_path, parser_version FROM documents"))
    assert versions["scan-ko.pdf"].endswith(";ocr=none")
    assert "ocr" not in versions["handbook-ko.pdf"]
