"""The step `pdf-text`: a PDF's bytes → the text of its pages, by MuPDF.

MuPDF repairs what it can; a page that it cannot read is empty and named in the notes.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from importlib.metadata import version
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.errors import ExtractFailed, PasswordNeeded, worded
from kb.extract.pdf.layout import cover_title, lay_out
from kb.extract.pdf.pages import (
    REPAIRED_NOTE,
    OutlineEntry,
    PdfText,
    PdfWord,
    RawBlock,
    RawPage,
    Rectangle,
    body_height,
)
from kb.extract.pdf.repairs import SpacedText, lacks_spaces, overlap, taken_apart, whole_paragraphs
from kb.extract.pdf.tables import grids, with_tables
from kb.models.requirements import lacking_packages, require

if TYPE_CHECKING:
    import pymupdf

# Bumped whenever the same PDF would give other text, order or kinds under the same MuPDF.
_LAYOUT_VERSION = "layout-v4"

# Signs of a table: a block that is too low for its number of lines, or several pairs of blocks at one height.
_SIDE_BY_SIDE = 0.8
_LEAST_ROWS = 2

# A page with fewer letters than this is a scan with a stamp on it, if a picture covers this share of it.
_STAMP_LETTERS = 200
_SCAN_SHARE = 0.6
_DRAWN_LETTERS = 50

# The most consecutive unreadable pages before the page count is taken as false.
_MOST_BROKEN_IN_A_ROW = 100
_MOST_NOTES = 5
_PROGRESS_PAGES = 50

_JUNK_TITLE = re.compile(
    r"(?i)untitled|microsoft word\b.*|.*\.(docx?|hwpx?|pptx?|xlsx?|tex|dvi|indd|pdf)|제목 없음|\W*"
)
_HEX_TEXT = re.compile(r"<(?:[0-9A-Fa-f]{2})+>")
_ROMAN_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN_NUMERALS = ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i")
_PDF_DATE = re.compile(r"D:(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?(?:Z|([+-])(\d\d)'?(\d\d)?)?")

# A page with a picture and fewer letters and digits than this is taken for a scan.
_FEWEST_LETTERS = 16

# The text of a font without a usable character map: nothing, private codes, control codes.
_UNREADABLE = re.compile("[\ufffd\ue000-\uf8ff\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\U000f0000-\U0010ffff]")
_UNREADABLE_SHARE = 0.15

# UTF-8 or CP949 read byte by byte as Latin-1: runs of accented letters and signs that no language has.
_LATIN_1_RUN = re.compile("[\u0080-\u00ff]{3,}")
_LATIN_1_SHARE = 0.25

# Glyph numbers read as characters scatter over scripts nobody mixes: Arabic, Devanagari, Thai, Ethiopic, Cherokee …
_SCATTERED = re.compile("[\u0530-\u10ff\u1200-\u1dff\ua000-\uabff]")
_SCATTERED_SHARE = 0.2
_ONE_SCRIPT_SHARE = 0.8


def engine(settings: ExtractSettings) -> Engine:
    """The installed MuPDF. Raises: ModelMissing."""
    require("PDF files", lacking_packages(("pymupdf",), "pdf"))
    return Engine("pymupdf", version("pymupdf"), _LAYOUT_VERSION)


def load_engine(tell: object) -> None:
    """Imports MuPDF into a worker process in advance, which takes a quarter of a second."""
    import pymupdf  # noqa: F401


def derive(job: StepJob) -> bytes:
    """The text of all pages, as `PdfText` in JSON.

    Raises: ExtractFailed for a file that is no PDF, is encrypted, or has no page that can be read.
    """
    import pymupdf

    with open_pdf(job.data, job.settings.pdf_passwords) as pdf:
        notes = [REPAIRED_NOTE] if pdf.is_repaired else []
        outline = _outline(pdf)
        pages = list(_raw_pages(pdf, notes, job))
        if not any(page is not None for page in pages):
            raise ExtractFailed(
                f"no page of the PDF can be read{f': {notes[-1]}' if notes else ''}", "open and save it again"
            )
        blank = RawPage(*pymupdf.paper_size("a4"))
        meta = pdf.metadata or {}
        title = (meta.get("title") or "").strip()
        return PdfText(
            pages=tuple(lay_out([page or blank for page in pages], outline)),
            outline=tuple(outline),
            title=cover_title(pages[0] or blank) if _JUNK_TITLE.fullmatch(title) else title,
            author=(meta.get("author") or "").strip(),
            created_at=_date(meta.get("creationDate")),
            updated_at=_date(meta.get("modDate")),
            notes=tuple(notes[:_MOST_NOTES]),
        ).to_json()


def open_pdf(data: bytes, passwords: Sequence[str] = ()) -> pymupdf.Document:
    """Opens the PDF in `data`; for an encrypted one tries the passwords in turn.

    Raises: PasswordNeeded if no password fits, ExtractFailed if `data` is no PDF or has no pages.
    """
    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    pymupdf.TOOLS.mupdf_display_warnings(False)
    try:
        pdf = pymupdf.open(stream=data, filetype="pdf")
        is_locked = bool(pdf.needs_pass) and not any(map(pdf.authenticate, passwords))
        page_count = 0 if is_locked else pdf.page_count
    except _pdf_faults() as error:
        raise ExtractFailed(f"not a readable PDF: {worded(error)}", "open it in a viewer and save it again") from error
    if pdf.is_pdf and page_count:
        return pdf
    is_pdf = pdf.is_pdf
    pdf.close()
    if not is_pdf:  # MuPDF opens text and pictures too, whatever the file type it is given
        raise ExtractFailed("not a PDF, though it is named like one", "give it the extension of what it is")
    if is_locked:
        raise PasswordNeeded(
            f"the PDF is encrypted and {'none of the passwords fits' if passwords else 'opens with a password only'}",
            "add its password to extract.pdf_passwords, or save a copy without one",
        )
    raise ExtractFailed("the PDF has no pages", "open it in a viewer and save it again")


@contextmanager
def page_of(job: StepJob, number: int) -> Iterator[pymupdf.Page]:
    """A page of the job's PDF, counted from 1. Raises: PasswordNeeded; ExtractFailed if there is no such page."""
    with open_pdf(job.data, job.settings.pdf_passwords) as pdf:
        if not 1 <= number <= pdf.page_count:
            raise ExtractFailed(f"the PDF has no page {number}", "kb ingest reads it again")
        job.on_progress(Progress(0, 1))
        try:
            page = pdf[number - 1]
        except _pdf_faults() as error:
            raise ExtractFailed(
                f"page {number} cannot be read: {worded(error)}", "open it in a viewer and save it again"
            ) from error
        yield page


def _pdf_faults() -> tuple[type[Exception], ...]:
    """The exceptions that MuPDF raises for unexpected files."""
    import pymupdf

    return (
        *(RuntimeError, ValueError, LookupError, TypeError, AttributeError, OverflowError, AssertionError),
        pymupdf.mupdf.FzErrorBase,
    )


def _raw_pages(pdf: pymupdf.Document, notes: list[str], job: StepJob) -> Iterator[RawPage | None]:
    """Each page as MuPDF reads it, None for an unreadable one."""
    faults = _pdf_faults()
    labels = _labels(pdf)
    broken = 0
    for index in range(pdf.page_count):
        try:
            page = _raw_page(pdf[index], labels[index] if labels else None)
            broken = 0
        except faults as error:
            notes.append(f"page {index + 1} cannot be read: {worded(error)}")
            broken += 1
            if broken > _MOST_BROKEN_IN_A_ROW:
                return
            page = None
        yield page
        if index % _PROGRESS_PAGES == 0:
            job.on_progress(Progress(index, pdf.page_count))


def _raw_page(page: pymupdf.Page, label: str | None) -> RawPage:
    import pymupdf

    # Ligatures are split, so that words can be found; unknown characters are U+FFFD, not glyph numbers.
    flags = pymupdf.TEXT_PRESERVE_WHITESPACE | pymupdf.TEXT_MEDIABOX_CLIP
    text_page = page.get_textpage(flags=flags)
    turned = turning(page)
    found = [each for each in text_page.extractBLOCKS() if each[6] == 0]
    texts = [each[4].rstrip("\n") for each in found]
    spaced = SpacedText(text_page.extractRAWDICT()) if lacks_spaces("\n".join(texts)) else None
    if spaced is not None:
        texts = list(spaced.texts())
    blocks = [RawBlock(*turned(each[:4]), text) for each, text in zip(found, texts, strict=True)]
    parts: Sequence[int] = range(len(blocks))
    if spaced is not None and not page.rotation:
        blocks, parts = whole_paragraphs(blocks)
    is_merged = overlap(blocks)
    found_grids = list(grids(page.get_cdrawings(), page.rect[2:], turned)) if _may_have_table(blocks) else ()
    if is_merged or found_grids:  # words are read only then: they take as long as the text
        places = {each[5]: part for each, part in zip(found, parts, strict=True)}
        read = text_page.extractWORDS() if spaced is None else spaced.words([each[5] for each in found])
        words = [PdfWord(*turned(word[:4]), word[4], places[word[5]], *word[6:]) for word in read]
        if is_merged:
            blocks, words = taken_apart(blocks, words)
        if found_grids:
            blocks = with_tables(blocks, found_grids, words)
    text = "\n".join(block.text for block in blocks)
    width, height = page.rect.width, page.rect.height
    if not is_readable(text):
        return RawPage(width, height, (), label, usable=False)
    usable = _has_letters(text, _STAMP_LETTERS) or not _is_picture(page, text)
    return RawPage(width, height, blocks, label, usable)


def turning(page: pymupdf.Page) -> Callable[[Rectangle], Rectangle]:
    """The function that maps MuPDF's rectangles to the displayed page."""
    if not page.rotation:
        return lambda rectangle: rectangle
    import pymupdf

    matrix = page.rotation_matrix

    def turned(rectangle: Rectangle) -> Rectangle:
        shown = (pymupdf.Rect(rectangle) * matrix).normalize()
        return shown.x0, shown.y0, shown.x1, shown.y1

    return turned


def _may_have_table(blocks: Sequence[RawBlock]) -> bool:
    """Whether lines are side by side, in a block or in several; only then are drawings read."""
    usual = body_height(blocks)
    rows: Counter[int] = Counter()
    for block in blocks:
        lines = block.text.count("\n") + 1
        if lines > 1 and (block.y1 - block.y0) / lines < _SIDE_BY_SIDE * usual:
            return True
        rows[round(block.y0 / 2)] += 1
    return sum(count > 1 for count in rows.values()) >= _LEAST_ROWS


def _is_picture(page: pymupdf.Page, text: str) -> bool:
    """Whether a page with little text shows more than its text: a scan, or letters drawn as curves."""
    area = page.rect.get_area() or 1
    covered = (
        max((page.rect & image["bbox"]).get_area() for image in images) if (images := page.get_image_info()) else 0
    )
    if covered >= _SCAN_SHARE * area:
        return True
    return not _has_letters(text) and (covered > 0 or len(page.get_cdrawings()) >= _DRAWN_LETTERS)


def _outline(pdf: pymupdf.Document) -> Sequence[OutlineEntry]:
    try:
        toc = pdf.get_toc(simple=True)
    except _pdf_faults():
        return ()
    return [OutlineEntry(level, " ".join(title.split()), page) for level, title, page in toc if page > 0]


def _labels(pdf: pymupdf.Document) -> Sequence[str]:
    """The number printed on each page; empty where the PDF names none."""
    try:
        return _page_labels(pdf.get_page_labels(), pdf.page_count)
    except _pdf_faults():
        return ()


def _page_labels(rules: Sequence[Mapping[str, Any]], page_count: int) -> Sequence[str]:
    """The label of each page; empty if no rule covers the first page."""
    if not rules or rules[0]["startpage"] != 0:
        return ()
    labels: list[str] = []
    for (start, rule), (end, _) in pairwise([*((rule["startpage"], rule) for rule in rules), (page_count, {})]):
        prefix, style = _prefix(rule.get("prefix", "")), rule.get("style", "")
        first = rule.get("firstpagenum", 1)
        labels += [prefix + _numeral(first + index, style) for index in range(min(end, page_count) - start)]
    return labels


def _prefix(text: str) -> str:
    """A prefix as text; MuPDF gives non-ASCII text as hex: UTF-16 with a mark, else UTF-8 or Latin-1."""
    if not _HEX_TEXT.fullmatch(text):
        return text
    data = bytes.fromhex(text[1:-1])
    if data.startswith(BOM_UTF16_BE):
        return data[2:].decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def _numeral(number: int, style: str) -> str:
    if style == "D":
        return str(number)
    if style in ("r", "R"):
        numeral = ""
        for value, digits in zip(_ROMAN_VALUES, _ROMAN_NUMERALS, strict=True):
            numeral += digits * (number // value)
            number %= value
        return numeral.upper() if style == "R" else numeral
    if style in ("a", "A"):
        return chr(ord(style) + (number - 1) % 26) * ((number - 1) // 26 + 1)
    return ""


def _date(text: str | None) -> str | None:
    """A PDF's date (ISO 32000 §7.9.4) as RFC 3339 UTC; None for any other text."""
    match = _PDF_DATE.match(text or "")
    if match is None:
        return None
    year, month, day, hour, minute, second = (
        int(part or default) for part, default in zip(match.groups()[:6], (1, 1, 1, 0, 0, 0), strict=True)
    )
    offset = timedelta(hours=int(match[8] or 0), minutes=int(match[9] or 0))
    try:
        zone = timezone(-offset if match[7] == "-" else offset)
        moment = datetime(year, month, day, hour, minute, second, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _has_letters(text: str, least: int = _FEWEST_LETTERS) -> bool:
    """Whether `text` has at least `least` letters and digits."""
    return sum(map(str.isalnum, text[: 3 * least])) >= least or sum(map(str.isalnum, text)) >= least


def is_readable(text: str) -> bool:
    """Whether `text` reads like a language; an empty text does."""
    if text.isascii():
        return not _UNREADABLE.search(text) or len(_UNREADABLE.findall(text)) < _UNREADABLE_SHARE * len(text)
    size = len("".join(text.split())) or 1
    if len(_UNREADABLE.findall(text)) >= _UNREADABLE_SHARE * size:
        return False
    if sum(map(len, _LATIN_1_RUN.findall(text))) >= _LATIN_1_SHARE * size:
        return False
    scattered = _SCATTERED.findall(text)
    return len(scattered) < _SCATTERED_SHARE * size or _mostly_one_script(scattered)


def _mostly_one_script(letters: list[str]) -> bool:
    """Whether most letters come from one script, by blocks of 128 code points."""
    blocks = [ord(letter) >> 7 for letter in letters]
    return max(map(blocks.count, set(blocks))) >= _ONE_SCRIPT_SHARE * len(blocks)
