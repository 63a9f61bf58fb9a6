"""Spreadsheets under the name .xls that are HTML, SpreadsheetML or separated text, as banks and offices export them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import bounded_work, make_vault, run_kb

from kb.domain.derived import ExtractSettings, StepJob
from kb.domain.kinds import MediaType
from kb.errors import ExtractFailed
from kb.extract.office import exported, sheets
from kb.extract.parts import Parts

OFFICE = Path(__file__).resolve().parents[1] / "fixtures/media/office"

LEDGER = """\
<html xmlns:x="urn:schemas-microsoft-com:office:excel"><head>
<meta http-equiv="Content-Type" content="text/html; charset=euc-kr">
<style>td {mso-number-format:"\\@"} .t {content: "<td>"}</style><title>거래내역 조회</title></head>
<body><h3>거래내역 조회</h3>예금주: 문태오<br>기간: 2026.03.01 ~ 2026.03.31
<table border=1>
<tr><th rowspan=2>거래일<th colspan="2">금액<th rowspan="2">적요</tr>
<tr><th>출금<th>입금</tr>
<tr><td>2026.03.02</td><td>84,500</td><td>&nbsp;</td><td>북항상사 &amp; 한들<br>정밀</td></tr>
<tr><td>2026.03.09<td><td align=right>912,000<td><b>가온</b>기계<!-- <td>no cell -->
</table>
<p>합계 827,500</p></body></html>
"""

LEDGER_ROWS = [
    ("cells=A1:D1", "거래내역 조회"),
    ("cells=A2:D2", "예금주: 문태오"),
    ("cells=A3:D3", "기간: 2026.03.01 ~ 2026.03.31"),
    ("cells=A4:D4", "| 거래일 | 금액 | 적요 |"),
    ("cells=A5:D5", "| 금액: 출금 | 입금 |"),
    ("cells=A6:D6", "| 거래일: 2026.03.02 | 금액: 84,500 | 적요: 북항상사 & 한들 정밀 |"),
    ("cells=A7:D7", "| 거래일: 2026.03.09 | 912,000 | 적요: 가온기계 |"),
    ("cells=A8:D8", "합계 827,500"),
]


def read(text: str | bytes) -> Parts:
    """The parts of a file with that content named .xls."""
    data = text.encode() if isinstance(text, str) else text
    return sheets.read(StepJob(data, MediaType("sheet/xls"), {}, ExtractSettings(), lambda progress: None))


def rows_of(text: str | bytes) -> list[tuple[str, str]]:
    return [(part.name, part.blocks[0].text) for part in read(text).parts]


@pytest.mark.parametrize("encoding", ["cp949", "utf-8", "utf-8-sig", "utf-16"])
def test_a_table_of_html_is_read_by_cells_in_any_encoding(encoding: str) -> None:
    assert rows_of(LEDGER.encode(encoding)) == LEDGER_ROWS
    assert read(LEDGER.encode(encoding)).title == "거래내역 조회"


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_tables_of_another_program_are_read_row_by_row(language: str) -> None:
    truth = json.loads((OFFICE / "truth.json").read_text(encoding="utf-8"))[f"stock-{language}"]
    rows = rows_of((OFFICE / f"stock-{language}.html.xls").read_bytes())
    at = [next(n for n, (_, text) in enumerate(rows) if text == fact["text"]) for fact in truth]
    assert at == sorted(at)
    assert {name.partition("&")[0] for name, _ in rows} == {"sheet=Table%201", "sheet=Table%202"}


def test_cells_are_in_the_columns_that_spans_leave_free() -> None:
    table = (
        "<table><tr><td rowspan=3>A<td colspan=2 rowspan=2>B<td>C<tr><td>D<tr><td>E<td>F<td>G<tr><td>H"
        "<tr><td colspan=0>I<td colspan=x>J<td rowspan=0>K<tr><td>L</table>"
    )
    assert [text for _, text in rows_of(table)] == [
        "| A | B | C |",
        "D",
        "| B: E | F | C: G |",
        "H",
        "| A: I | B: J | K |",
        "L",
    ]


def test_several_tables_are_sheets_by_their_captions_or_numbers() -> None:
    named = "<table><caption>가격 표</caption><tr><td>a<td>1</table>"
    page = f"<html>{named}<p>between<table><tr><td>b<td>2</table><table><tr><td></table>{named}</html>"
    assert rows_of(page) == [
        ("sheet=가격%20표&cells=A1:B1", "| a | 1 |"),
        ("sheet=Table%202&cells=A1:B1", "between"),
        ("sheet=Table%202&cells=A2:B2", "| b | 2 |"),
        ("sheet=가격%20표%20%282%29&cells=A1:B1", "| a | 1 |"),
    ]


def test_a_table_inside_another_is_a_sheet_too() -> None:
    page = "<table><tr><td>Menu<td><table><tr><td>a<td>1<tr><td>b<td>2</table>behind</table>"
    assert rows_of(page) == [
        ("sheet=Table%201&cells=A1:B1", "| Menu | behind |"),
        ("sheet=Table%202&cells=A1:B1", "| a | 1 |"),
        ("sheet=Table%202&cells=A2:B2", "| b | 2 |"),
    ]


def test_rows_without_a_table_are_read() -> None:
    assert rows_of("<html></table><tr><td>a<td>1</tr></table><td>b") == [
        ("cells=A1:B1", "| a | 1 |"),
        ("cells=A2:B2", "b"),
    ]


WORKBOOK = """
<?xml version="1.0" encoding="{encoding}"?>
<?mso-application progid="Excel.Sheet"?>
<Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet">
<Worksheet ss:Name="입출고"><Table>
<Row><Cell ss:MergeAcross="1"><Data ss:Type="String">품목</Data></Cell>
<Cell><Data ss:Type="String">수량</Data></Cell></Row>
<Row ss:Index="4" ss:Span="1"><Cell ss:Index="2"><Data ss:Type="String">밀봉 고리</Data>
<Comment><Data>no cell</Data></Comment></Cell><Cell><Data ss:Type="Number">12</Data></Cell></Row>
<Row><Cell><Data ss:Type="DateTime">2026-03-02T00:00:00.000</Data></Cell>
<Cell ss:Index="4"><Data ss:Type="Boolean">1</Data></Cell></Row>
</Table></Worksheet></Workbook>"""


@pytest.mark.parametrize("encoding", ["utf-8", "euc-kr"])
def test_a_workbook_of_xml_is_read_by_the_places_of_its_cells(encoding: str) -> None:
    assert rows_of(WORKBOOK.format(encoding=encoding).encode(encoding)) == [
        ("sheet=입출고&cells=A1:D1", "| 품목 | 수량 |"),
        ("sheet=입출고&cells=A4:D4", "| 밀봉 고리 | 12 |"),
        ("sheet=입출고&cells=A6:D6", "| 2026-03-02 | TRUE |"),
    ]


@pytest.mark.parametrize("separator", ["\t", ","])
def test_separated_text_is_read_as_a_table(separator: str) -> None:
    text = f"2026 ledger\nDay{separator}Sum\n2026.03.02{separator}84500\n".encode("cp949")
    assert rows_of(text)[1:] == [("cells=A2:B2", "| Day | Sum |"), ("cells=A3:B3", "| Day: 2026.03.02 | Sum: 84500 |")]


def test_a_page_with_pictures_under_the_name_of_a_workbook_is_called_so() -> None:
    with pytest.raises(ExtractFailed, match="MHTML") as caught:
        read(b"MIME-Version: 1.0\nContent-Type: multipart/related\n\n--x\n")
    assert caught.value.hint == "rename it to .mht: so it is read"


@pytest.mark.parametrize(
    "data", [b"\x09\x08\x10\0\0\6\5\0", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", b"MIME-Version: 1.0\n\nx", b"<svg>a</svg>"]
)
def test_what_is_no_table_is_refused(data: bytes) -> None:
    with pytest.raises(ExtractFailed):
        read(data)


@pytest.mark.parametrize(
    "declared",
    [
        "<!DOCTYPE a [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;&a;'>]>",
        "<!DOCTYPE a [<!ENTITY a SYSTEM 'file:///etc/passwd'>]>",
    ],
)
def test_declared_entities_are_not_read(declared: str) -> None:
    with pytest.raises(ExtractFailed, match="declares a document type"):
        read(WORKBOOK.format(encoding="utf-8").replace("<Workbook", f"{declared}<Workbook").replace("품목", "&a;"))
    assert rows_of(f"{declared}<table><tr><td>&a;<td>&b;</table>")[-1] == ("cells=A2:B2", "| &a; | &b; |")


def test_only_the_first_rows_and_columns_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exported, "MOST_ROWS", 3)
    wide = "<tr>" + "<td>x" * 300 + "<td colspan=9999999>y<td rowspan=9999999 colspan=9999>z</tr>"
    found = read(f"<table>{wide}<tr><td>a</tr><tr><td>b</tr><tr><td>c</tr></table>")
    assert [part.name for part in found.parts] == [f"cells=A{row}:IV{row}" for row in (1, 2, 3)]
    assert found.notes == ("of its tables the first 100,000 rows and 256 columns are read",)
    far = WORKBOOK.format(encoding="utf-8").replace('ss:Index="4"', 'ss:Index="9999999"')
    assert [text for _, text in rows_of(far)] == ["| 품목 | 수량 |"]


@pytest.mark.slow
def test_tables_in_tables_without_end_and_many_cells_are_read_in_linear_time() -> None:
    with bounded_work(30):
        assert len(read("<table><tr><td>x" * 30_000).parts) == 30_000
        found = read("<table>" + ("<tr>" + "<td>cell" * 10 + "</tr>") * 30_000 + "</table>")
        assert len(found.parts) == 30_000


@pytest.mark.slow
def test_a_cited_row_of_an_exported_table_is_verified(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    path = vault.root / "거래내역.xls"
    path.write_bytes(LEDGER.encode("cp949"))
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed").code == 0
    hit = run_kb(*config, "search", "북항상사", "--json").json["hits"][0]
    assert "cells=A" in hit["citation"]["uri"]
    answer = run_kb(*config, "ask", "--json", "북항상사 & 한들 정밀에 출금한 금액은?").json
    assert answer["citations"]
    assert "unchanged" in run_kb(*config, "verify").stdout
    assert "84,500" in run_kb(*config, "fetch", "거래내역.xls#cells=A6:D6").stdout
    path.write_bytes(LEDGER.replace("84,500", "85,500").encode("cp949"))
    assert "unchanged" not in run_kb(*config, "verify").stdout
