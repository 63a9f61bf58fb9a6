"""Office files that LibreOffice wrote (`tools/make_office_fixtures`): their text, its places, and hostile ones."""

from __future__ import annotations

import io
import json
import re
import struct
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import make_vault, run_kb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ingest_fixtures import Workspace, analyse_by_word, counted

from kb.config import load
from kb.domain.citations import PartCitation
from kb.domain.derived import Derived, Engine, ExtractSettings, StepJob
from kb.domain.ids import AssetId
from kb.domain.kinds import family_of, media_type_of
from kb.domain.spans import PartSpan
from kb.domain.text import WorkspacePath
from kb.errors import ExtractFailed, FileError, FileTooLarge, PasswordNeeded
from kb.extract.cited_text import cited_text
from kb.extract.office import hangul, package, sheets
from kb.extract.office.sheet_pictures import column
from kb.extract.office.sheets import sheet_parts
from kb.extract.parts import Parts, assemble_parts, read_parts
from kb.extract.registry import extractor_of
from kb.operations.ingest import read
from kb.operations.inspect.view import view_document
from kb.operations.opening.base import Base

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures/media/office"
TRUTH: Mapping[str, list[dict[str, Any]]] = json.loads((FIXTURES / "truth.json").read_text(encoding="utf-8"))
FILES = sorted(path.name for path in FIXTURES.iterdir() if not path.name.endswith((".json", ".html.xls")))
LEAST_RECALL, LEAST_PLACED = 0.98, 0.95


def parts_of(name: str, data: bytes) -> bytes:
    media_type = media_type_of(name)
    assert media_type is not None
    step, *_ = extractor_of(family_of(media_type)).steps
    return step.load().derive(StepJob(data, media_type, {}, ExtractSettings(), lambda progress: None))


def headings_of(name: str, derived: bytes) -> dict[str, list[str]]:
    made = {"parts": Derived("parts", Engine("kb", "test"), derived)}
    document = assemble_parts(made, workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32))
    return {block.span.part: list(block.heading_path) for block in document.blocks if isinstance(block.span, PartSpan)}


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
    over = headings_of(name, derived)
    placed = [
        fact["text"] in (found or "") and fact["headings"] in ([], over.get(fact["part"]))
        for fact, found in zip(facts, at, strict=True)
    ]
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
    of_english = [uri.partition("#")[2] for uri in cited if uri.startswith("manual-en")]
    assert of_english[:4] == ["para=1:5", "para=6:8", "para=9:12", "para=13:26"]
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
            target.writestr(each, data, zipfile.ZIP_STORED if each == "mimetype" else None)
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
    [(b"PK", "not a readable file"), (package.OLE_START + bytes(600), "encrypted"), (b"", "the file is empty")],
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
    view = view_document(Base(load(str(vault.config), ())), "manual.docx#para=11")
    assert view.before is not None
    assert view.before.endswith("Upkeep\n\nGates\n\n")
    assert view.after is not None
    assert view.after.startswith("\n\nGrease")
    nowhere = view_document(Base(load(str(vault.config), ())), "manual.docx#para=999")
    assert nowhere.place_text is None
    assert nowhere.before is not None
    assert "The gate seals are replaced" in nowhere.before
    fetched = run_kb(*config, "fetch", "manual.docx#para=11").stdout
    assert "The gate seals are replaced every 17 months by Idris Vale." in fetched
    assert "unchanged manual.docx#para=11" in " ".join(run_kb(*config, "verify").stdout.split())
    one_more = "<w:body><w:p><w:r><w:t>One more paragraph.</w:t></w:r></w:p>"
    path.write_bytes(changed("manual-en.docx", "word/document.xml", old=b"<w:body>", new=one_more.encode()))
    run_kb(*config, "ingest", "--no-embed")
    moved = " ".join(run_kb(*config, "verify").stdout.split())
    assert "moved" in moved
    assert "manual.docx#para=10:13" in moved


def test_a_table_with_commas_or_tabs_is_read_by_rows() -> None:
    korean = '품목,단가,비고\n볼트,30,"두 줄\n메모"\n\n너트,12,\n'
    for data, name in ((korean.encode("cp949"), "a.csv"), (korean.replace(",", "\t").encode("utf-16"), "b.tsv")):
        parts = read_parts(parts_of(name, data)).parts
        assert [(part.name, part.blocks[0].text) for part in parts] == [
            ("cells=A1:C1", "| 품목 | 단가 | 비고 |"),
            ("cells=A2:C2", "| 품목: 볼트 | 단가: 30 | 비고: 두 줄 메모 |"),
            ("cells=A4:C4", "| 품목: 너트 | 단가: 12 |"),
        ]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["a", "b"], ["c", "d"]], ["| a | b |", "| a: c | b: d |"]),
        ([["1", "2"], ["3", "4"]], ["| 1 | 2 |", "| 3 | 4 |"]),
        ([["Prices"], ["Item", "Price"], ["Bolt", "3"]], ["Prices", "| Item | Price |", "| Item: Bolt | Price: 3 |"]),
        ([["Item", "Price"], ["Bolt", "3"], [], ["Day", "Hour", "Who"], ["2", "3", "Kim"]],
         ["| Item | Price |", "| Item: Bolt | Price: 3 |", "| Day | Hour | Who |", "| Day: 2 | Hour: 3 | Who: Kim |"]),
        ([["", "Item", "Price"], ["", "Bolt", "3"], [], ["", "Total", ""], ["", "all", "3"]],
         ["| Item | Price |", "| Item: Bolt | Price: 3 |", "Total", "| Item: all | Price: 3 |"]),
    ],
)  # fmt: skip
def test_a_row_is_read_with_the_header_of_its_table(rows: list[list[str]], said: list[str]) -> None:
    assert [part.blocks[0].text for part in sheet_parts(rows)] == said


def test_a_sheet_with_a_cell_far_away_is_read_by_its_first_columns() -> None:
    whole, packed = zipfile.ZipFile(FIXTURES / "stock-en.xlsx"), io.BytesIO()
    far = b'<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>far</t></is></c></row></sheetData>'
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as made:
        for name in whole.namelist():
            data = whole.read(name)
            made.writestr(name, data.replace(b"</sheetData>", far) if name.endswith("sheet1.xml") else data)
    before = read_parts(parts_of("a.xlsx", (FIXTURES / "stock-en.xlsx").read_bytes()))
    found = read_parts(parts_of("a.xlsx", packed.getvalue()))
    assert [part.name for part in found.parts] == [part.name for part in before.parts]
    assert found.parts[0] == before.parts[0]
    assert found.notes == ("sheet Price list: it has a cell far away; of its columns 256 are read",)


def test_a_far_cell_of_an_opendocument_sheet_is_read_so_too() -> None:
    name = "stock-en.ods"
    row = (
        b'<table:table-row table:number-rows-repeated="1000000"><table:table-cell/></table:table-row>'
        b'<table:table-row><table:table-cell table:number-columns-repeated="16000"/>'
        b"<table:table-cell><text:p>far</text:p></table:table-cell></table:table-row></table:table>"
    )
    far = changed(name, "content.xml", old=b"</table:table>", new=row)
    before, found = (read_parts(parts_of(name, each)) for each in ((FIXTURES / name).read_bytes(), far))
    assert [part.name for part in found.parts] == [part.name for part in before.parts]
    assert [part.blocks for part in found.parts] == [part.blocks for part in before.parts]
    assert found.notes == ("a sheet has a cell far away: of the columns 256 are read",)


def test_old_binary_sheets_with_cells_far_away_are_refused_before_memory_is_taken() -> None:
    data = bytearray((FIXTURES / "stock-en.xls").read_bytes())
    shared_text = b"\xfd\x00\x0a\x00"  # a cell of a shared text: row and column follow
    for at in (data.find(shared_text, 1536), data.rfind(shared_text)):
        struct.pack_into("<HH", data, at + 4, 65_535, 255)
    with pytest.raises(ExtractFailed, match="a cell far away"):
        parts_of("a.xls", bytes(data))


def test_a_workbook_that_begins_as_one_and_is_none_is_called_damaged() -> None:
    with pytest.raises(ExtractFailed, match="not a readable spreadsheet"):
        parts_of("a.xls", package.OLE_START + bytes(600))


def xlsb(*cells: tuple[int, int, str]) -> bytes:
    """A workbook of one sheet with those texts, by row and column from 0."""

    def record(kind: int, data: bytes = b"") -> bytes:
        head = bytes([kind]) if kind < 128 else bytes([kind & 127 | 128, kind >> 7])
        assert len(data) < 128
        return head + bytes([len(data)]) + data

    def text(words: str) -> bytes:
        return struct.pack("<I", len(words)) + words.encode("utf-16-le")

    sheet = record(129) + record(148, bytes(16)) + record(145)
    for row, at, words in cells:
        sheet += record(0, struct.pack("<I", row) + bytes(21)) + record(6, struct.pack("<II", at, 0) + text(words))
    named = record(156, struct.pack("<II", 0, 1) + text("rId1") + text("Stock"))
    of = "http://schemas.openxmlformats.org"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("[Content_Types].xml", f'<Types xmlns="{of}/package/2006/content-types"/>')
        made.writestr(
            "xl/_rels/workbook.bin.rels",
            f'<Relationships xmlns="{of}/package/2006/relationships"><Relationship Id="rId1" '
            f'Type="{of}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.bin"/></Relationships>',
        )
        made.writestr("xl/workbook.bin", record(131) + record(143) + named + record(144) + record(132))
        made.writestr("xl/worksheets/sheet1.bin", sheet + record(146) + record(130))
    return packed.getvalue()


def test_a_binary_workbook_is_read_unless_a_cell_is_far_away() -> None:
    (part,) = read_parts(parts_of("a.xlsb", xlsb((1, 1, "bolt")))).parts
    assert (part.name, part.blocks[0].text) == ("sheet=Stock&cells=B2:B2", "bolt")
    with pytest.raises(ExtractFailed, match="a cell far away"):
        parts_of("a.xlsb", xlsb((0, 0, "bolt"), (1_048_575, 16_383, "far")))


def test_a_row_that_is_repeated_without_end_is_read_some_times() -> None:
    row = (
        b'<table:table-row table:number-rows-repeated="1000000">'
        b'<table:table-cell office:value-type="float" office:value="3" table:number-columns-repeated="1000">'
        b"<text:p>3.00</text:p></table:table-cell></table:table-row></table:table>"
    )
    found = read_parts(parts_of("a.ods", changed("stock-en.ods", "content.xml", old=b"</table:table>", new=row)))
    assert len(found.parts) < 300
    assert found.parts[-100].blocks[0].text.count("3") == 256


@pytest.mark.parametrize(("at", "letters"), [(0, "A"), (25, "Z"), (26, "AA"), (701, "ZZ"), (702, "AAA")])
def test_columns_have_the_letters_of_spreadsheets(at: int, letters: str) -> None:
    assert column(at) == letters


def test_more_rows_than_are_read_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "MOST_ROWS", 4)
    read = read_parts(parts_of("a.xlsx", (FIXTURES / "stock-en.xlsx").read_bytes()))
    assert len(read.parts) == 4
    assert read.notes == (
        "sheet Price list: the rows behind row 4 are not read",
        "sheet Deliveries: the rows behind row 0 are not read",
    )


def test_text_in_rich_text_format_is_decoded_and_what_is_no_text_left_out() -> None:
    data = rb"""{\rtf1\ansi\ansicpg949\deff0{\fonttbl{\f0\fcharset129 Batang;}{\f1\fcharset0 Arial;}}
{\stylesheet{\s0 Normal;}{\s1\b Heading 1;}{\s2\outlinelevel1 Mine;}}
{\info{\title T\u233? {}x}{\author Kim}{\*\company None}}{\header Running head}
\pard\s1 \f0\'b0\'a1\par \pard\s2 Sub\par
\pard\f1 caf\u233? {\f0 \'b3\'aa} \u50857\'3f\u-10179?\u-8694 ?{\v hidden}{\deleted gone}\line next {\pict\bin4 }}\}}
{\field{\*\fldinst HYPERLINK "http://x.test"}{\fldrslt link}}\{\par
{\listtext\'b7\tab}Item\par
\trowd\intbl A\cell B\cell\row\trowd\intbl 1\cell 2\cell\row\pard End{\footnote Below\par twice}.}"""
    read = read_parts(parts_of("a.rtf", data))
    assert [(part.name, part.blocks[0].kind, part.blocks[0].text) for part in read.parts] == [
        ("para=1", "heading", "가"),
        ("para=2", "heading", "Sub"),
        ("para=3", "paragraph", "café 나 용😊\nnext link{"),
        ("para=4", "list", "- Item"),
        ("para=5", "table", "| A | B |"),
        ("para=6", "table", "| A: 1 | B: 2 |"),
        ("para=7", "paragraph", "End."),
        ("note=1", "paragraph", "Below twice"),
    ]
    assert (read.title, read.author) == ("Té x", "Kim")


def test_a_file_of_groups_without_end_is_refused() -> None:
    with pytest.raises(FileTooLarge, match="levels"):
        parts_of("a.rtf", b"{\\rtf1" + b"{" * 100_000)


def flagged(flag: int) -> bytes:
    """The document with one more of the flags that its header has."""
    data = bytearray((FIXTURES / "hangul-ko.hwp").read_bytes())
    for header in re.finditer(rb"HWP Document File", data):
        data[header.start() + 36] |= flag
    return bytes(data)


def test_a_hangul_document_whose_text_is_encrypted_says_so() -> None:
    with pytest.raises(ExtractFailed, match="encrypted"):
        parts_of("a.hwp", flagged(2))


@pytest.mark.parametrize("seed", [0, 0x1234_567F, 0xFFFF_FFFF])
def test_a_hangul_document_for_distribution_is_read_as_any_other(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    import olefile

    whole = parts_of("a.hwp", (FIXTURES / "hangul-ko.hwp").read_bytes())
    opened, listed = olefile.OleFileIO.openstream, olefile.OleFileIO.listdir

    def covered(ole: olefile.OleFileIO, name: str) -> io.BytesIO:
        if not name.startswith("ViewText/"):
            return opened(ole, name)
        return io.BytesIO(distributed(opened(ole, name.replace("ViewText", "BodyText")).read(), seed))

    monkeypatch.setattr(olefile.OleFileIO, "openstream", covered)
    monkeypatch.setattr(
        olefile.OleFileIO,
        "listdir",
        lambda ole: [[at.replace("BodyText", "ViewText") for at in e] for e in listed(ole)],
    )
    assert parts_of("a.hwp", flagged(4)) == whole


def distributed(section: bytes, seed: int) -> bytes:
    """A section as documents for distribution have it: its key, covered by the numbers of a generator, goes before."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    record = bytearray(range(256))
    start = 4 + seed % 16
    key = bytes(record[start : start + 16])
    state, at = seed, 0

    def drawn() -> int:
        nonlocal state
        state = (state * 214013 + 2531011) % 2**32
        return (state // 2**16) % 2**15

    while at < 256:
        cover = drawn() % 256
        for _ in range(drawn() % 16 + 1):
            if at < 256:
                record[at] ^= cover
                at += 1
    record[:4] = seed.to_bytes(4, "little")
    locked = Cipher(algorithms.AES128(key), modes.ECB()).encryptor()
    padded = section + bytes(-len(section) % 16)
    return (28 | 256 << 20).to_bytes(4, "little") + bytes(record) + locked.update(padded) + locked.finalize()


def test_a_hangul_document_is_unpacked_within_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    data = (FIXTURES / "hangul-ko.hwp").read_bytes()
    with pytest.raises(ExtractFailed, match="Hangul document"):
        parts_of("a.hwp", data[:9000])
    monkeypatch.setattr(hangul, "MOST_EXPANDED_BYTES", 1_000)
    with pytest.raises(FileTooLarge, match="unpacked"):
        parts_of("a.hwp", data)


def test_control_characters_of_hangul_are_no_text() -> None:
    units = [
        ord("가"),
        2,
        *range(100, 106),
        2,
        ord("나"),
        9,
        0,
        0,
        0,
        0,
        0,
        0,
        9,
        ord("b"),
        10,
        ord("c"),
        30,
        ord("d"),
        13,
    ]
    assert hangul.decoded(b"".join(unit.to_bytes(2, "little") for unit in units)) == "가나\tb\nc d\n"


@pytest.mark.parametrize(("name", "part"), [("briefing-en.pptx", "slide=1"), ("briefing-ko.odp", "slide=1")])
def test_a_slide_has_its_title_and_its_notes(name: str, part: str) -> None:
    blocks = read_parts(parts_of(name, (FIXTURES / name).read_bytes())).parts[0].blocks
    assert (blocks[0].kind, blocks[0].level, blocks[-1].kind) == ("heading", 1, "quote")


@pytest.mark.parametrize("name", [name for name in FILES if "-en" in name and "stock" not in name])
@given(st.integers(0, 2**32), st.integers(0, 255), st.booleans())
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_a_damaged_file_ends_in_an_error_of_its_own(name: str, at: int, byte: int, is_cut: bool) -> None:
    data = bytearray((FIXTURES / name).read_bytes())
    data[at % len(data)] = byte
    with suppress(FileError):
        parts_of(name, bytes(data[: at % len(data)] if is_cut else data))
