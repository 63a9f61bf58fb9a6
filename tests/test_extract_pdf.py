"""PDF to document: pages in reading order, headings, tables, furniture, and files that are broken in some way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

pymupdf = pytest.importorskip("pymupdf")

from kb.chunk.chunkers import chunk_pages  # noqa: E402
from kb.domain.citations import Box  # noqa: E402
from kb.domain.derived import Derived, ExtractSettings, OcrRegion, OcrSettings, OcrText, StepJob, read_labels  # noqa: E402  # noqa: E402
from kb.domain.documents import Chunk, ChunkPolicy, Document, Heading, Table  # noqa: E402  # noqa: E402
from kb.domain.ids import asset_id, content_hash  # noqa: E402
from kb.domain.kinds import PDF  # noqa: E402
from kb.domain.spans import PageSpan  # noqa: E402
from kb.domain.text import WorkspacePath  # noqa: E402
from kb.errors import ExtractFailed  # noqa: E402
from kb.extract.ocr.result import page_ocr_json, read_page_ocr  # noqa: E402
from kb.extract.pdf import text as pdf_text  # noqa: E402
from kb.extract.pdf.document import assemble_pdf  # noqa: E402
from kb.extract.pdf.layout import reading_order  # noqa: E402
from kb.extract.pdf.pages import PdfText, RawBlock, read_pdf_text, unusable_pages  # noqa: E402
from kb.extract.pdf.text import is_readable  # noqa: E402

A4 = (595, 842)
POLICY = ChunkPolicy(500, 80, True, "pdf-page-v1")
SENTENCE = "The gateway keeps a failed batch on disk and sends it again when the line is back. "


def new_pdf(pages: int = 1) -> pymupdf.Document:
    pdf = pymupdf.open()
    for _ in range(pages):
        pdf.new_page(width=A4[0], height=A4[1])
    return pdf


def derive(data: bytes) -> bytes:
    return pdf_text.derive(StepJob(data, PDF, {}, ExtractSettings(), lambda progress: None))


def pages_of(pdf: pymupdf.Document) -> PdfText:
    return read_pdf_text(derive(pdf.tobytes()))


def document_of(data: bytes, ocr: dict[int, OcrText] | None = None) -> Document:
    engine = pdf_text.engine(ExtractSettings())
    derived = {"pdf-text": Derived("pdf-text", engine, derive(data))}
    if ocr is not None:
        derived["ocr"] = Derived("ocr", engine._replace(name="reader"), page_ocr_json(ocr))
    return assemble_pdf(derived, workspace_path=WorkspacePath("a/b.pdf"), asset_id=asset_id(content_hash(data)))


def write(page: pymupdf.Page, at: tuple[float, float], text: str, size: float = 11) -> None:
    page.insert_text(at, text, fontsize=size)


def fill(page: pymupdf.Page, box: tuple[float, float, float, float], text: str, size: float = 11) -> None:
    assert page.insert_textbox(box, text, fontsize=size) >= 0


def chunks_of(document: Document) -> tuple[Chunk, ...]:
    return chunk_pages(document, POLICY)


def test_columns_are_read_one_after_the_other() -> None:
    pdf = new_pdf()
    write(pdf[0], (60, 80), "A title across both columns of the page", 18)
    # The right column is written first: the order of the file is not the order of reading.
    for x, name in ((310, "right"), (60, "left")):
        for part in range(4):
            top = 120 + 130 * part
            fill(pdf[0], (x, top, x + 220, top + 120), f"{name} {part} begins. " + SENTENCE * 3)
    text = pages_of(pdf).pages[0].text
    order = [text.index(f"{name} {part}") for name in ("left", "right") for part in range(4)]
    assert order == sorted(order)
    assert text.startswith("A title")


def test_what_repeats_is_furniture_and_counts_in_the_spans() -> None:
    pdf = new_pdf(4)
    for number, page in enumerate(pdf, 1):
        write(page, (60, 40), "Field manual of the gateway")
        write(page, (280, 810), f"page {number} of 4")
        fill(page, (60, 100, 500, 300), f"Body of sheet {number}. " + SENTENCE * 2)
    document = document_of(pdf.tobytes())
    assert [block.kind for block in document.blocks] == ["paragraph"] * 4
    chunks = chunks_of(document)
    assert len(chunks) == 4
    for number, (chunk, page) in enumerate(zip(chunks, document.source_text.split("\f"), strict=True), 1):
        assert "Field manual" not in chunk.text
        assert "of 4" not in chunk.text
        assert page.startswith("Field manual of the gateway\n\n")
        (span,) = chunk.spans
        assert isinstance(span, PageSpan)
        assert (span.page, page[span.char_start : span.char_end]) == (number, chunk.text)


def test_headings_come_from_the_size_of_the_letters() -> None:
    pdf = new_pdf()
    write(pdf[0], (60, 80), "Gateway manual", 24)
    write(pdf[0], (60, 130), "1 Power", 15)
    fill(pdf[0], (60, 150, 500, 250), SENTENCE * 3)
    write(pdf[0], (60, 300), "2 Network", 15)
    fill(pdf[0], (60, 320, 500, 420), "The uplink is slow. " + SENTENCE * 3)
    document = document_of(pdf.tobytes())
    headings = [block.payload for block in document.blocks if isinstance(block.payload, Heading)]
    assert headings == [Heading(1, "Gateway manual"), Heading(2, "1 Power"), Heading(2, "2 Network")]
    assert document.title == "Gateway manual"
    assert [chunk.heading_path for chunk in chunks_of(document)] == [
        ("Gateway manual", "1 Power"),
        ("Gateway manual", "2 Network"),
    ]


def test_headings_come_from_the_outline_where_there_is_one() -> None:
    pdf = new_pdf(2)
    write(pdf[0], (60, 80), "Large words that are no heading", 24)
    write(pdf[0], (60, 120), "Introduction")
    fill(pdf[0], (60, 150, 500, 250), SENTENCE * 3)
    write(pdf[1], (60, 80), "1.2 Retry")
    fill(pdf[1], (60, 150, 500, 250), SENTENCE * 3)
    pdf.set_toc([[1, "Introduction", 1], [2, "Retry", 2]])
    document = document_of(pdf.tobytes())
    headings = [block.payload for block in document.blocks if isinstance(block.payload, Heading)]
    assert headings == [Heading(1, "Introduction"), Heading(2, "1.2 Retry")]
    assert chunks_of(document)[-1].heading_path == ("Introduction", "1.2 Retry")


@pytest.mark.parametrize("rotation", [0, 90])
def test_a_ruled_table_is_markdown(rotation: int) -> None:
    pdf = new_pdf()
    page = pdf[0]
    rows = [("Part", "Price"), ("fan", "3"), ("pump | valve", "14")]
    fill(page, (60, 60, 500, 100), "Prices of this year. " + SENTENCE)
    for index in range(len(rows) + 1):
        page.draw_line((60, 120 + 24 * index), (400, 120 + 24 * index))
    for x in (60, 230, 400):
        page.draw_line((x, 120), (x, 120 + 24 * len(rows)))
    for index, row in enumerate(rows):
        for x, cell in zip((66, 236), row, strict=True):
            write(page, (x, 136 + 24 * index), cell)
    if rotation:  # what is drawn upright on a page that is shown turned
        turned = new_pdf()
        turned[0].show_pdf_page(turned[0].rect, pdf, 0, rotate=rotation, keep_proportion=False)
        turned[0].set_rotation(rotation)
        pdf = turned
    document = document_of(pdf.tobytes())
    (table,) = (block for block in document.blocks if block.kind == "table")
    assert table.payload == Table(("Part", "Price"), (("fan", "3"), ("pump \\| valve", "14")))
    assert "| fan | 3 |" in document.source_text
    assert isinstance(table.span, PageSpan)
    assert table.span.box is not None
    if not rotation:
        assert abs(table.span.box.x - 60) <= 2
        assert abs(table.span.box.h - 72) <= 2


def test_lines_that_frame_a_text_are_no_table() -> None:
    pdf = new_pdf()
    pdf[0].draw_rect((50, 50, 500, 300))
    fill(pdf[0], (60, 60, 490, 290), SENTENCE * 4)
    assert {block.kind for block in document_of(pdf.tobytes()).blocks} == {"paragraph"}


def test_words_cut_at_the_end_of_a_line_are_whole() -> None:
    pdf = new_pdf()
    write(pdf[0], (60, 80), "The file holds the decla-\nration of the type, and a well-\nKnown name.")
    assert "declaration\nof the type" in pages_of(pdf).pages[0].text
    assert "well-\nKnown" in pages_of(pdf).pages[0].text


def test_page_labels_are_kept() -> None:
    pdf = new_pdf(4)
    for page in pdf:
        fill(page, (60, 60, 490, 290), SENTENCE * 4)
    pdf.set_page_labels(
        [
            {"startpage": 0, "prefix": "", "style": "r", "firstpagenum": 3},
            {"startpage": 2, "prefix": "가-", "style": "D", "firstpagenum": 9},
        ]
    )
    assert [page.label for page in pages_of(pdf).pages] == ["iii", "iv", "가-9", "가-10"]
    assert chunks_of(document_of(pdf.tobytes()))[2].spans[0].to_json()["label"] == "가-9"  # type: ignore[index]


def test_a_rotated_page_has_boxes_as_it_is_shown() -> None:
    pdf = new_pdf()
    write(pdf[0], (60, 80), SENTENCE)
    pdf[0].set_rotation(90)
    page = pages_of(pdf).pages[0]
    assert (page.width, page.height) == (842, 595)
    box = page.blocks[0].box
    assert box.x > 700
    assert box.h > box.w


def test_what_the_pdf_says_of_itself() -> None:
    pdf = new_pdf()
    fill(pdf[0], (60, 60, 490, 290), SENTENCE)
    pdf.set_metadata({"title": "Field notes", "author": "Kim", "creationDate": "D:20240229120000+09'00'"})
    document = document_of(pdf.tobytes())
    assert document.title == "Field notes"
    assert document.metadata.created_at == "2024-02-29T03:00:00Z"
    assert document.metadata.user == {"pages": 1, "author": "Kim"}
    pdf.set_metadata({"title": "Microsoft Word - draft.docx", "creationDate": "D:20241399"})
    again = document_of(pdf.tobytes())
    assert (again.title, again.metadata.created_at) == ("b", None)


def scan_of(text: str) -> pymupdf.Document:
    written = new_pdf()
    fill(written[0], (60, 60, 490, 290), text)
    scanned = new_pdf()
    scanned[0].insert_image(scanned[0].rect, pixmap=written[0].get_pixmap(dpi=60))
    return scanned


def test_a_scanned_page_is_known_and_read_by_ocr() -> None:
    pdf = scan_of(SENTENCE * 3)
    write(pdf[0], (60, 800), "Downloaded from the library on 3 March, for private use only")
    pdf.new_page(width=A4[0], height=A4[1])  # a blank page asks for nothing
    data = pdf.tobytes()
    assert unusable_pages(derive(data)) == [1]
    unread = document_of(data)
    assert read_labels(unread.parser_version)[1]["ocr"] == "none"
    assert [warning.kind for warning in unread.warnings] == ["no_text"]
    lines = (
        OcrRegion(Box(200, 100, 800, 40), "수령한 부품", 0.9, 0),
        OcrRegion(Box(200, 150, 700, 40), "목록", 0.8, 0),
    )
    read = document_of(data, {1: OcrText(lines, 1190, 1684, "reader", "1")})
    (chunk,) = chunks_of(read)
    assert chunk.text == "수령한 부품\n목록"
    assert chunk.spans == (PageSpan(1, 0, 9, Box(100, 50, 400, 45)),)
    assert read.doc_id != unread.doc_id
    assert read.warnings == ()


def test_ocr_that_was_interrupted_goes_on_from_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("PIL")
    from kb.extract.pdf import document as pdf_document

    pdf = scan_of(SENTENCE * 3)
    for _ in range(4):
        pdf.fullcopy_page(0)
    data = pdf.tobytes()
    read: list[tuple[int, int]] = []

    def recognise(grey: object, to_original: object, size: tuple[int, int], languages: str) -> OcrText:
        read.append(size)
        return OcrText((), *size, "reader", "1")

    monkeypatch.setattr("kb.extract.ocr.recognise.recognise", recognise)
    monkeypatch.setattr(pdf_document, "_KEPT_EVERY_PAGES", 2)
    kept: list[bytes] = []
    settings = ExtractSettings(ocr=OcrSettings("eng", 72))
    job = StepJob(data, PDF, {"pdf-text": derive(data)}, settings, lambda progress: None, on_kept=kept.append)
    whole = pdf_document.derive(job)
    assert (len(read), [sorted(read_page_ocr(part)) for part in kept]) == (5, [[1, 2], [1, 2, 3, 4]])
    assert pdf_document.derive(replace(job, kept=kept[0])) == whole
    assert len(read) == 5 + 3


def test_a_text_layer_of_rubbish_is_left_to_ocr() -> None:
    pdf = new_pdf()
    fill(pdf[0], (60, 60, 490, 290), SENTENCE * 2)
    for xref in range(1, pdf.xref_length()):
        if pdf.xref_get_key(xref, "Type")[1] == "/Font":  # every letter of the font becomes a private one
            cmap = pdf.get_new_xref()
            pdf.update_object(cmap, "<<>>")
            ranges = b"1 begincodespacerange <00> <ff> endcodespacerange 1 beginbfrange <00> <ff> <e000> endbfrange"
            pdf.update_stream(cmap, b"/CIDInit /ProcSet findresource begin begincmap " + ranges + b" endcmap end")
            pdf.xref_set_key(xref, "ToUnicode", f"{cmap} 0 R")
    page = pages_of(pdf).pages[0]
    assert not page.usable
    assert page.text == ""


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("", True),
        ("Plain words, 3.14 and some more of them.", True),
        ("청킹 규칙은 제목을 경계로 한다.", True),
        ("Größe, café, naïve: accents are fine, señor.", True),
        ("ในประเทศไทยมีหลายภาษา", True),
        ("\ufffd\ufffd\ufffd\ufffd and a word", False),
        ("\ue001\ue002\ue003\ue004\ue005", False),
        ("한국어 문서".encode().decode("latin-1") * 3, False),
        ("".join(chr(0x0600 + 0x61 * n % 0x0B00) for n in range(40)), False),
        ("\x01\x02\x03\x04\x05abc", False),
    ],
)
def test_what_reads_like_a_language(text: str, readable: bool) -> None:
    assert is_readable(text) is readable


def test_an_encrypted_pdf_says_so() -> None:
    pdf = new_pdf()
    fill(pdf[0], (60, 60, 490, 290), SENTENCE)
    locked = pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="secret", owner_pw="secret")
    with pytest.raises(ExtractFailed) as caught:
        derive(locked)
    assert "password" in caught.value.message
    assert caught.value.hint
    restricted = pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="", owner_pw="secret")
    assert "failed batch" in read_pdf_text(derive(restricted)).pages[0].text


def test_a_truncated_pdf_gives_what_is_left_of_it() -> None:
    pdf = new_pdf(3)
    for number, page in enumerate(pdf, 1):
        fill(page, (60, 60, 490, 290), f"sheet {number}. " + SENTENCE * 3)
    data = pdf.tobytes()
    document = document_of(data[: len(data) - 200])
    assert "sheet 1" in document.source_text
    assert any("damaged" in warning.note for warning in document.warnings)
    assert "repaired" in {warning.kind for warning in document.warnings}


def test_a_fault_without_words_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    raw_page = pdf_text._raw_page

    def failing(page: pymupdf.Page, label: str | None) -> object:
        assert page.number != 1
        return raw_page(page, label)

    monkeypatch.setattr(pdf_text, "_raw_page", failing)
    pdf = new_pdf(3)
    for page in pdf:
        fill(page, (60, 60, 490, 290), SENTENCE)
    document = document_of(pdf.tobytes())
    (warning,) = document.warnings
    assert warning.kind == "read_in_part"
    assert warning.note.startswith("page 2 cannot be read")
    assert not warning.note.endswith(": ")
    assert len(chunks_of(document)) == 2


boxes = st.tuples(st.integers(0, 500), st.integers(0, 700), st.integers(1, 90), st.integers(1, 90))


@given(st.lists(boxes, max_size=25), st.integers(1, 400))
def test_reading_order_loses_no_block(found: list[tuple[int, int, int, int]], chars: int) -> None:
    blocks = [RawBlock(x, y, x + w, y + h, f"{n:<{chars}}") for n, (x, y, w, h) in enumerate(found)]
    assert sorted(reading_order(blocks)) == sorted(blocks)


@pytest.mark.parametrize("target_tokens", [40, 120, 500])
def test_a_chunk_is_what_stands_at_its_spans(target_tokens: int) -> None:
    pdf = new_pdf(3)
    for number, page in enumerate(pdf, 1):
        write(page, (60, 60), f"Part {number}", 18)
        for part in range(4):
            fill(page, (60, 80 + 150 * part, 500, 220 + 150 * part), f"{number}.{part} " + SENTENCE * 5)
    document = document_of(pdf.tobytes())
    pages = document.source_text.split("\f")
    chunks = chunk_pages(document, ChunkPolicy(target_tokens, 20, True, "pdf-page-v1"))
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    for chunk in chunks:
        first, last = chunk.spans[0], chunk.spans[-1]
        assert isinstance(first, PageSpan)
        assert isinstance(last, PageSpan)
        assert {span.page for span in chunk.spans if isinstance(span, PageSpan)} == {first.page}
        assert pages[first.page - 1][first.char_start : last.char_end] == chunk.text
    words = {word for chunk in chunks for word in chunk.text.split()}
    assert words >= {word for page in pages for word in page.split()}
