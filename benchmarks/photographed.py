"""Made-up photographs of receipts, menus, price lists and invoices with known rows, in two families of typefaces.

What is found out on one family is tried on the other. A picture is named by language, paper and look
(`ko-receipt-tilted`). The second family needs fonts (Debian: apt install fonts-nanum fonts-dejavu).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from PIL import Image, ImageFilter

from benchmarks.measurement import Measurement, Table, Target
from benchmarks.ocr import LANGUAGES, character_error, edits
from benchmarks.scanned_pages import font_named
from benchmarks.scans import read_bare
from kb.extract.ocr.geometry import IDENTITY
from kb.extract.ocr.recognise import recognise

LEAST_ROWS, MOST_WORSE = 0.9, 0

Language = Literal["en", "ko"]
Look = Callable[[Image.Image, np.random.Generator], Image.Image]

_DIGITS = re.compile(r"\d")
_NOT_READ = re.compile(r"[^\w%,:/-]|_")

_NAMES: dict[Language, dict[str, Sequence[str]]] = {
    "en": {
        "shop": ("Harbour Lane Bakery", "North Pier Cycles", "Willow Street Grocer", "Old Mill Hardware"),
        "item": (
            *("Flat white", "Almond croissant", "Orange juice", "Sourdough loaf", "Lentil soup", "Cheese toast"),
            *("Brake pads", "Bottom bracket", "Chain oil", "Inner tube", "Rear light", "Handlebar tape"),
            *("Red onions", "Basmati rice", "Olive oil", "Green tea", "Paper towels", "Wood screws", "Masking tape"),
        ),
        "head": ("Item", "Qty", "Price", "Amount"),
        "total": ("Subtotal", "Tax", "Total"),
        "fact": ("Receipt", "Date", "Cashier", "Card"),
        "thanks": ("Thank you, please come again",),
    },
    "ko": {
        "shop": ("바다마을 빵집", "북항 자전거", "버들길 식료품", "옛방앗간 철물점"),
        "item": (
            *("아메리카노", "카페라떼", "단팥빵", "호밀 식빵", "오렌지 주스", "치즈 토스트", "김치찌개", "된장찌개"),
            *("브레이크 패드", "체인 오일", "뒷바퀴 튜브", "후미등", "손잡이 테이프", "전기 포트", "현미 쌀"),
            *("올리브유", "녹차", "종이 행주", "나사못", "제육볶음", "해물파전", "비빔국수"),
        ),
        "head": ("품목", "수량", "단가", "금액"),
        "total": ("소계", "부가세", "합계"),
        "fact": ("영수증", "날짜", "담당", "카드"),
        "thanks": ("찾아 주셔서 감사합니다",),
    },
}


class Family(NamedTuple):
    """How a family is set and photographed; lengths are points, fonts are MuPDF's names or files."""

    seed: int
    fonts: dict[Language, Sequence[str]]
    letter_size: float
    pixels_per_inch: int
    looks: dict[str, Look]


class Row(NamedTuple):
    """What stands on one line of the paper: its cells, from left to right."""

    cells: tuple[str, ...]

    @property
    def text(self) -> str:
        """The row as one line of text."""
        return " ".join(self.cells)


class Photograph(NamedTuple):
    """A picture of a paper, and its rows from the top."""

    name: str
    image: Image.Image
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """All rows, a line each."""
        return "\n".join(row.text for row in self.rows)

    def rows_read(self, text: str) -> tuple[int, int]:
        """Of the rows of several cells, how many stand on one line of `text` with their cells in order; of how many.

        Letters may be misread, a third of a label's; the figures may not.
        """
        lines = [_bare(line) for line in text.splitlines()]
        wanted = [[_bare(cell) for cell in row.cells] for row in self.rows if len(row.cells) > 1]
        return sum(any(_holds(line, cells) for line in lines) for cells in wanted), len(wanted)


def photographs(family: Family) -> Iterator[Photograph]:
    """All pictures of a family: every language, every paper, every look; the same each time."""
    for language, fonts in family.fonts.items():
        for at, (paper, rows_of) in enumerate(_PAPERS.items()):
            chance = random.Random(f"{family.seed} {language} {paper}")
            rows = rows_of(_NAMES[language], language, chance)
            image = _printed(paper, rows, fonts[at % len(fonts)], family, chance)
            for number, (look, taken) in enumerate(family.looks.items()):
                grains = np.random.default_rng([family.seed, at, number, len(language) + ord(language[0])])
                yield Photograph(f"{language}-{paper}-{look}", taken(image, grains), tuple(rows))


def _bare(text: str) -> str:
    """A line without spaces, leader dots and signs, as it is compared."""
    return _NOT_READ.sub("", text).lower()


def _holds(line: str, cells: Sequence[str]) -> bool:
    """Whether the cells stand in a line in their order, each behind the one before it."""
    at = 0
    for cell in cells:
        if _DIGITS.search(cell):
            found = line.find(cell, at)
            if found < 0:
                return False
            at = found + len(cell)
        else:
            at = _end_of_like(line, cell, at)
            if at < 0:
                return False
    return True


def _end_of_like(line: str, label: str, start: int) -> int:
    """Where the best likeness of a label ends in a line; -1 where none has two thirds of its letters."""
    ends = [
        (edits(line[begin : begin + len(label)], label), begin + len(label))
        for begin in range(start, max(start, len(line) - len(label)) + 1)
    ]
    wrong, end = min(ends)
    return end if wrong <= len(label) / 3 else -1


def _price(language: Language, chance: random.Random, most: int = 400) -> str:
    return f"{chance.randint(8, most) * 100:,}" if language == "ko" else f"{chance.randint(150, most * 25) / 100:,.2f}"


def _receipt(names: dict[str, Sequence[str]], language: Language, chance: random.Random) -> list[Row]:
    facts = (f"{chance.randint(1000, 9999)}", f"2025-0{chance.randint(1, 9)}-{chance.randint(10, 28)}")
    currency = "원" if language == "ko" else ""
    return [
        Row((chance.choice(names["shop"]),)),
        *(Row((label, fact)) for label, fact in zip(names["fact"], facts, strict=False)),
        *(Row((item, _price(language, chance) + currency)) for item in chance.sample(names["item"], 6)),
        *(Row((label, _price(language, chance, 900) + currency)) for label in names["total"]),
        Row((names["thanks"][0],)),
    ]


def _short_receipt(names: dict[str, Sequence[str]], language: Language, chance: random.Random) -> list[Row]:
    return [
        *(Row((item, _price(language, chance))) for item in chance.sample(names["item"], 3)),
        Row((names["total"][2], _price(language, chance, 900))),
    ]


def _menu(names: dict[str, Sequence[str]], language: Language, chance: random.Random) -> list[Row]:
    return [
        Row((chance.choice(names["shop"]),)),
        *(Row((item, _price(language, chance))) for item in chance.sample(names["item"], 9)),
    ]


def _invoice(names: dict[str, Sequence[str]], language: Language, chance: random.Random) -> list[Row]:
    items = chance.sample(names["item"], 7)
    return [
        Row((chance.choice(names["shop"]),)),
        Row(tuple(names["head"])),
        *(
            Row((item, str(chance.randint(1, 12)), _price(language, chance), _price(language, chance, 990)))
            for item in items
        ),
        Row((names["total"][2], _price(language, chance, 990))),
    ]


_PAPERS: dict[str, Callable[[dict[str, Sequence[str]], Language, random.Random], list[Row]]] = {
    "receipt": _receipt,
    "short": _short_receipt,
    "menu": _menu,
    "invoice": _invoice,
    "ruled": _invoice,
}


def _printed(paper: str, rows: Sequence[Row], font_name: str, family: Family, chance: random.Random) -> Image.Image:
    """The paper before it is photographed: the first cell at the left, the others right-aligned, each at its place."""
    import pymupdf

    size, margin = family.letter_size, 30.0
    leading = size * chance.uniform(1.5, 2.1)
    width = size * chance.uniform(22, 30)
    pdf = pymupdf.open()
    page = pdf.new_page(width=width + 2 * margin, height=2 * margin + leading * len(rows))
    writer = pymupdf.TextWriter(page.rect)
    font = font_named(font_name)
    columns = max(len(row.cells) for row in rows)
    edges = [margin + width * share for share in ((0.55, 0.75, 1.0) if columns == 4 else (1.0,))]
    for at, row in enumerate(rows):
        baseline = margin + size + at * leading
        if len(row.cells) == 1:
            left = margin + (width - font.text_length(row.cells[0], size)) / 2
            writer.append((left, baseline), row.cells[0], font=font, fontsize=size)
            continue
        writer.append((margin, baseline), row.cells[0], font=font, fontsize=size)
        starts = [
            edge - font.text_length(cell, size)
            for cell, edge in zip(row.cells[1:], edges[-len(row.cells) + 1 :], strict=True)
        ]
        for start, cell in zip(starts, row.cells[1:], strict=True):
            writer.append((start, baseline), cell, font=font, fontsize=size)
        if paper == "menu":
            dots_from = margin + font.text_length(row.cells[0] + " ", size)
            count = int((starts[0] - size / 2 - dots_from) / font.text_length(".", size))
            writer.append((dots_from, baseline), "." * count, font=font, fontsize=size)
        if paper == "ruled":
            level = baseline + leading * 0.35
            page.draw_line((margin, level), (margin + width, level), width=0.7)
    writer.write_text(page)
    pixels = page.get_pixmap(dpi=family.pixels_per_inch, colorspace=pymupdf.csGRAY)
    return Image.frombytes("L", (pixels.width, pixels.height), pixels.samples)


def _on_a_table(image: Image.Image, tone: int) -> Image.Image:
    """The paper on a darker surface, as a camera sees more than the paper."""
    table = Image.new("L", (int(image.width * 1.16), int(image.height * 1.12)), tone)
    table.paste(image, ((table.width - image.width) // 2, (table.height - image.height) // 2))
    return table


def _clean(image: Image.Image, chance: np.random.Generator) -> Image.Image:
    return image


def _tilted(degrees: float) -> Look:
    def taken(image: Image.Image, chance: np.random.Generator) -> Image.Image:
        turned = image.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor=255)
        return _grainy(turned.filter(ImageFilter.GaussianBlur(0.7)), chance, 5)

    return taken


def _shadowed(image: Image.Image, chance: np.random.Generator) -> Image.Image:
    """Half in the shadow of a hand, the light falling off to one side."""
    height, width = image.height, image.width
    rows, columns = np.mgrid[0:height, 0:width]
    falling = 0.7 + 0.3 * columns / width
    edge = width * chance.uniform(0.35, 0.65) + rows * chance.uniform(-0.3, 0.3)
    shadow = 0.55 + 0.45 / (1 + np.exp(-(columns - edge) / (width * 0.015)))
    lit = np.asarray(image.filter(ImageFilter.GaussianBlur(0.8)), np.float32) * 0.94 * falling * shadow
    return _grainy(Image.fromarray(lit.clip(0, 255).astype(np.uint8)), chance, 5)


def _aslant(image: Image.Image, chance: np.random.Generator) -> Image.Image:
    """Lying on a table, seen from the side and a little from below, its sides leaning by some degrees."""
    table = _on_a_table(image, 90)
    width, height = table.size
    lean = chance.uniform(0.02, 0.05, 2) * chance.choice([-1, 1], 2)
    ratio = lean[0] * 2 / width, lean[1] * 1.2 / height
    across, down = lean[1] / 2, lean[0] / 2
    data = (1 + lean[0], across, -across * height / 2, down, 1 + lean[1], -down * width / 2, *ratio)
    seen = table.transform(table.size, Image.Transform.PERSPECTIVE, data, Image.Resampling.BICUBIC, fillcolor=90)
    return _grainy(seen.filter(ImageFilter.GaussianBlur(0.8)), chance, 6)


def _grainy(image: Image.Image, chance: np.random.Generator, grain: float) -> Image.Image:
    values = np.asarray(image, np.float32) + chance.normal(0, grain, (image.height, image.width))
    return Image.fromarray(values.clip(0, 255).astype(np.uint8))


FAMILIES: dict[str, Family] = {
    "till": Family(
        seed=31,
        fonts={"en": ("helv", "cour", "tiro", "hebo"), "ko": ("korea",)},
        letter_size=12,
        pixels_per_inch=170,
        looks={"clean": _clean, "tilted": _tilted(1.3), "shadowed": _shadowed, "aslant": _aslant},
    ),
    "counter": Family(
        seed=58,
        fonts={
            "en": (
                "/usr/share/fonts/truetype/dejavu/DejaVuSansMono.ttf",
                "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
                "/usr/share/fonts/truetype/dejavu/DejaVuSerif.ttf",
            ),
            "ko": (
                "/usr/share/fonts/truetype/nanum/NanumBarunGothic.ttf",
                "/usr/share/fonts/truetype/nanum/NanumGothic.ttf",
                "/usr/share/fonts/truetype/nanum/NanumMyeongjo.ttf",
            ),
        },
        letter_size=11,
        pixels_per_inch=200,
        looks={"clean": _clean, "tilted": _tilted(-3.1), "shadowed": _shadowed, "aslant": _aslant},
    ),
}


def measure(data: Path | None = None) -> Measurement:
    """Rows and characters that kb and bare tesseract read in each picture of both families."""
    tables: list[Table] = []
    targets: list[Target] = []
    figures: dict[str, object] = {}
    for name, family in FAMILIES.items():
        rows = [_measured(picture) for picture in photographs(family)]
        columns = ("picture", "rows", "whole, kb", "whole, bare", "error, kb", "error, bare")
        tables.append(Table(f"The {name}: {family.pixels_per_inch} pixels an inch", columns, tuple(rows)))
        share = sum(row[2] for row in rows) / sum(row[1] for row in rows)
        targets += [
            Target(f"{name}: share of rows that are rows of the text", round(share, 3), "≥", LEAST_ROWS),
            Target(
                f"{name}: pictures with fewer whole rows than by bare tesseract",
                sum(row[2] < row[3] for row in rows),
                "≤",
                MOST_WORSE,
            ),
        ]
        figures[name] = [list(row) for row in rows]
    return Measurement("photographed", tuple(tables), tuple(targets), figures)


def _measured(picture: Photograph) -> tuple[str, int, int, int, float, float]:
    image = picture.image
    ours, bare = recognise(image, IDENTITY, image.size, LANGUAGES).joined, read_bare(image)
    (ours_whole, count), (bare_whole, _) = picture.rows_read(ours), picture.rows_read(bare)
    error, bare_error = (round(character_error(read, picture.text), 4) for read in (ours, bare))
    return picture.name, count, ours_whole, bare_whole, error, bare_error
