"""Office files that LibreOffice wrote (`tools/make_office_fixtures`): their text, its places, and hostile ones."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from conftest import make_vault, run_kb
from ingest_fixtures import Workspace, analyse_by_word, counted

from kb.domain.citations import PartCitation
from kb.domain.derived import ExtractSettings, Job
from kb.domain.kinds import family_of, media_type_of
from kb.errors import ExtractFailed, FileTooLarge, PasswordNeeded
from kb.extract.cited_text import cited_text
from kb.extract.office import package
from kb.extract.parts import Parts, read_parts
from kb.extract.registry import extractor_of
from kb.operations.ingest import read

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/media/office"
TRUTH: Mapping[str, list[dict[str, Any]]] = json.loads((FIXTURES / "truth.json").read_text(encoding="utf-8"))
FILES = sorted(path.name for path in FIXTURES.iterdir() if path.suffix != ".json")
LEAST_RECALL, LEAST_PLACED = 0.98, 0.95


def parts_of(name: str, data: bytes) -> bytes:
    media_type = media_type_of(name)
    assert media_type is not None
    (step,) = extractor_of(family_of(media_type)).steps
    return step.load().derive(Job(data, media_type, {}, ExtractSettings(), lambda progress: None))


def facts_of(name: str) -> list[dict[str, Any]]:
    return TRUTH[name.partition(".")[0]]


@pytest.mark.parametrize("name", FILES)
def test_all_text_is_read_and_cited_where_it_is(name: str) -> None:
    derived = parts_of(name, (FIXTURES / name).read_bytes())
    facts = facts_of(name)
    text = read_parts(derived).laid_out[0]
    words = [word for fact in facts for word in fact["text"].split()]
    assert sum(word in text for word in words) >= LEAST_RECALL * len(words)
    at = [cited_text(PartCitation(name, fact["part"]), b"", {"parts": derived}) for fact in facts]
    placed = [fact["text"] in (found or "") for fact, found in zip(facts, at, strict=True)]
    assert sum(placed) >= LEAST_PLACED * len(facts), [
        fact for fact, is_there in zip(facts, placed, strict=True) if not is_there
    ]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.configure(f"storage.cache_dir={tmp_path / 'cache'}")
    return made


@pytest.mark.slow
def test_hits_in_a_document_name_their_paragraphs(workspace: Workspace) -> None:
    for name in ("manual-en.docx", "manual-ko.docx"):
        workspace.write(name, (FIXTURES / name).read_bytes())
    assert counted(workspace.ingest()) == {"new": 2}
    for asked, uri, headings in (
        ("chamber level", "manual-en.docx#para=7", ("Operation", "Signals")),
        ("문태오가", "manual-ko.docx#para=11", ("정비", "수문")),
    ):
        hit = workspace.search(asked)[0]
        assert (hit.citation.to_uri(), hit.heading_path) == (uri, headings)
    cited = [row[0] for row in workspace.query("SELECT citation FROM chunk_source ORDER BY chunk_rowid")]
    assert cited[:4] == [f"manual-en.docx#para={part}" for part in ("1:5", "6:8", "9:12", "13:26")]
    assert workspace.is_sound()


def changed(name: str, member: str, *, old: bytes = b"", new: bytes = b"") -> bytes:
    """A fixture with one member changed: `old` replaced, or all of it."""
    made = io.BytesIO()
    with zipfile.ZipFile(FIXTURES / name) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for each in source.namelist():
            data = source.read(each)
            if each == member:
                assert old in data
                data = data.replace(old, new, 1) if old else new
            target.writestr(each, data)
    return made.getvalue()


BOMB = b"<!DOCTYPE a [<!ENTITY a '" + b"a" * 1000 + b"'><!ENTITY b '&a;&a;&a;&a;'>]>"
OUTSIDE = b"<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>"


@pytest.mark.parametrize("declared", [BOMB, OUTSIDE], ids=["entities", "outside"])
def test_a_document_type_is_refused(declared: bytes) -> None:
    data = changed("manual-en.docx", "word/document.xml", old=b"<w:document", new=declared + b"<w:document")
    with pytest.raises(ExtractFailed, match="declares a document type"):
        parts_of("a.docx", data)


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = changed("manual-en.docx", "word/document.xml", new=b" " * 3_000_000)
    assert len(data) < 20_000
    monkeypatch.setattr(package, "MOST_EXPANDED_BYTES", 1_000_000)
    with pytest.raises(FileTooLarge, match="unpacked"):
        parts_of("a.docx", data)


def test_levels_without_end_are_refused() -> None:
    deep = b"<w:document>" + b"<w:p>" * 100_000
    with pytest.raises(FileTooLarge, match="levels"):
        package.parse_xml(deep.replace(b"w:", b""))


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"PK", "not a readable file"), (package.OLE_START + bytes(600), "encrypted"), (b"", "not a readable file")],
)
def test_what_is_no_document_says_so(data: bytes, said: str) -> None:
    with pytest.raises(ExtractFailed, match=said) as raised:
        parts_of("a.docx", data)
    assert isinstance(raised.value, PasswordNeeded) == (said == "encrypted")


def edited(old: str, new: str) -> Parts:
    return read_parts(
        parts_of("a.docx", changed("manual-en.docx", "word/document.xml", old=old.encode(), new=new.encode()))
    )


def test_a_tracked_deletion_is_not_read_and_an_insertion_is() -> None:
    old = '<w:t xml:space="preserve">Grease'
    data = (FIXTURES / "manual-en.docx").read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as source:
        document = source.read("word/document.xml").decode()
    run = next(run for run in document.split("<w:r>") if "Grease of grade" in run).partition("</w:r>")[0]
    deleted = f"<w:del><w:r>{run.replace('w:t', 'w:delText')}</w:r></w:del><w:ins><w:r><w:t>Oil it.</w:t></w:r></w:ins>"
    text = edited(f"<w:r>{run}</w:r>", deleted).laid_out[0]
    assert old not in text
    assert "Grease" not in text
    assert "Oil it." in text


@pytest.mark.slow
def test_a_quotation_is_found_again_in_its_paragraph_and_where_it_moved(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    path = vault.root / "manual.docx"
    path.write_bytes((FIXTURES / "manual-en.docx").read_bytes())
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed").code == 0
    answer = run_kb(*config, "ask", "--json", "Who replaces the gate seals every 17 months?").json
    (cited,) = [each["citation"] for each in answer["citations"]]
    assert (cited["uri"], cited["label"]) == ("manual.docx#para=11", "Gates, paragraph 11")
    assert "Upkeep › Gates, paragraph 11" in [each["label"] for each in answer["citations"]]
    fetched = run_kb(*config, "fetch", "manual.docx#para=11").stdout
    assert "The gate seals are replaced every 17 months by Idris Vale." in fetched
    assert "unchanged manual.docx#para=11" in " ".join(run_kb(*config, "verify").stdout.split())
    one_more = "<w:body><w:p><w:r><w:t>One more paragraph.</w:t></w:r></w:p>"
    path.write_bytes(changed("manual-en.docx", "word/document.xml", old=b"<w:body>", new=one_more.encode()))
    run_kb(*config, "ingest", "--no-embed")
    moved = " ".join(run_kb(*config, "verify").stdout.split())
    assert "moved" in moved
    assert "manual.docx#para=10:13" in moved
