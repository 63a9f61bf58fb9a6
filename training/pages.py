"""Sections of documentation in Korean and English, which ask for each other: training data that nobody wrote for it.

A table names the repositories and where a page has its two languages. The sections of a page are paired by its
headings. A section in one language is a passage; its heading and sentences in the other, one of its own sentences that
is left out of it, and its heading where that is left out, are asked for it.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from training.batches import Batch
from training.questions import BadData, Passage, checkout_of

_COLUMNS = "repository commit licence korean english english_repository english_commit most".split()

_FENCE = re.compile(r"\s*(```|~~~)")
_HEADING = re.compile(r"(#{1,5})\s+(.*?)\s*#*$")
_DIRECTIVE = re.compile(r"\s*(:::|import |export |\{%|\{:)")
_TITLE = re.compile(r"^title:\s*(.+)$", re.M)
_ANCHOR = re.compile(r"\{#.*?\}|\[\[.*?\]\]|/\*.*?\*/")
# What is taken out of a line, with what takes its place.
_MARKS = (
    (re.compile(r"!\[[^\]]*\]\([^)]*\)"), " "),
    (re.compile(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])"), r"\1"),
    (re.compile(r"<[^>]{1,200}>|\{[#%{/][^}]*\}+|\[!\w+\]"), " "),
    (re.compile(r"\*\*|`"), ""),
    (re.compile(r"[ \t]+"), " "),
)
_HANGUL = re.compile(r"[가-힣]")
_LATIN_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9.]{2,}")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")

_LONGEST = {"ko": 620, "en": 1100}
_SHORTEST = {"ko": 60, "en": 90}
_LEAST_HANGUL = 0.25
_LENGTHS = (0.2, 1.5)  # of the Korean text, relative to the English one
_LONGEST_CODE_LINE = 300
_LONGEST_CELL = 500
# Sections without equal headings are paired if they share so much of so many Latin words, among the next few.
_LEAST_WORDS, _LEAST_SHARE, _AHEAD = 4, 0.6, 6
_LONGEST_SENTENCE = 300
_SHORTEST_SENTENCE = 12
_SENTENCES_ASKED = 2


class Pair(NamedTuple):
    """A section in Korean, and the same in English if the page is there in both."""

    korean: Passage
    english: Passage | None


@dataclass(slots=True)
class Pages:
    """The sections of all repositories of a table; `counts` are pairs by repository."""

    pairs: list[Pair] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        """The hash of all texts, in their order."""
        told = json.dumps([[each and asdict(each) for each in pair] for pair in self.pairs], ensure_ascii=False)
        return hashlib.sha256(told.encode()).hexdigest()


def read_pages(table: Path, checkouts: Path | None) -> Pages:
    """The sections of the pages that a table names, from the repositories in `checkouts`.

    The table has a header and a line a folder: repository, commit, licence, the part of a path that tells Korean, the
    part that takes its place in English (empty: there is none), the English repository and its commit if it is another,
    and the most pairs to take (empty: all).

    Raises: BadData for a table of another form, CheckoutMissing for a repository that is not there.
    """
    pages, known = Pages(), set[str]()
    with table.open(encoding="utf-8", newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t"), 2):
            if any(row.get(name) is None for name in _COLUMNS) or not (row["most"] or "0").isdecimal():
                raise BadData(table, number, "a line of pages lacks a field, or has a wrong number")
            root = checkout_of(table, number, row["repository"], row["commit"], checkouts)
            apart = root
            if other := row["english_repository"]:
                apart = checkout_of(table, number, other, row["english_commit"], checkouts)
            most = int(row["most"]) if row["most"] else None
            found = islice(_paired(root, apart, row["korean"], row["english"]), most)
            fresh = {pair.korean.text: pair for pair in found if pair.korean.text not in known}
            known |= fresh.keys()
            pages.pairs += fresh.values()
            pages.counts[row["repository"]] = pages.counts.get(row["repository"], 0) + len(fresh)
    if not pages.pairs:
        raise BadData(table, None, "its repositories have no page in Korean")
    return pages


def _paired(korean_root: Path, english_root: Path, korean: str, english: str) -> Iterator[Pair]:
    """The pairs of all pages whose path has `korean` in it, in an order that mixes the folders."""
    kinds = (".md", ".mdx", ".ipynb")
    relative = [path.relative_to(korean_root) for path in korean_root.rglob("*") if path.suffix in kinds]
    paths = sorted(path.as_posix() for path in relative)
    random.Random(1).shuffle(paths)
    is_apart = korean_root != english_root
    for path in paths:
        if korean not in path:
            continue
        there = english_root / path.replace(korean, english, 1)
        has_other = bool(english) or is_apart
        if has_other and not there.is_file():
            continue
        yield from _pairs(sections(_markdown(korean_root / path)), sections(_markdown(there)) if has_other else None)


def _pairs(korean: Sequence[Passage], english: Sequence[Passage] | None) -> Iterator[Pair]:
    """The pairs of a page: section by section where the levels of the headings are equal, else by shared words."""
    if english is None:
        pairs = [Pair(each, None) for each in korean if each.headings]
    elif [len(each.headings) for each in korean] == [len(each.headings) for each in english]:
        pairs = [Pair(*each) for each in zip(korean, english, strict=True)]
    else:
        pairs = list(_by_words(korean, english))
    for pair in pairs:
        cut = Pair(_cut(pair.korean, _LONGEST["ko"]), pair.english and _cut(pair.english, _LONGEST["en"]))
        if _is_usable(cut):
            yield cut


def _by_words(korean: Sequence[Passage], english: Sequence[Passage]) -> Iterator[Pair]:
    """Sections of the same level that share most of the Korean one's Latin words, in the order of the page."""
    at = 0
    for each in korean:
        words = _latin_words(each)
        if len(words) < _LEAST_WORDS:
            continue
        shared = {
            other: len(words & _latin_words(english[other])) / (len(words) + 1)
            for other in range(at, min(at + _AHEAD, len(english)))
            if len(english[other].headings) == len(each.headings)
        }
        best = max(shared, key=lambda other: (shared[other], -other), default=None)
        if best is not None and shared[best] > _LEAST_SHARE:
            yield Pair(each, english[best])
            at = best + 1


def _latin_words(section: Passage) -> set[str]:
    return set(_LATIN_WORD.findall(" ".join((*section.headings[-1:], section.text))))


def _is_usable(pair: Pair) -> bool:
    """Whether a section is long enough, in its language, and as long as its translation can be."""
    korean, english = pair.korean.text, pair.english
    if len(korean) < _SHORTEST["ko"] or _hangul_share(korean) < _LEAST_HANGUL:
        return False
    if english is None:
        return True
    least, most = _LENGTHS
    is_english = len(english.text) >= _SHORTEST["en"] and not _HANGUL.search(english.text)
    return is_english and least < len(korean) / len(english.text) < most


def _hangul_share(text: str) -> float:
    return len(_HANGUL.findall(text)) / (sum(map(str.isalpha, text)) or 1)


def _cut(section: Passage, most: int) -> Passage:
    """The section up to the last line or sentence that ends before `most` characters."""
    text = section.text
    if len(text) > most:
        at = max(text.rfind("\n", 0, most), text.rfind(". ", 0, most) + 1)
        text = text[: at if at > most // 2 else most].rstrip()
    return Passage(section.title, section.headings, text)


def sections(markdown: str) -> list[Passage]:
    """The sections of a page of Markdown, in order: its title, the headings above, the text without marks and links."""
    title, markdown = _front_matter(markdown.lstrip("\ufeff"))
    found: list[Passage] = []
    headings: list[tuple[int, str]] = []
    body: list[str] = []
    is_code = False

    def close() -> None:
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(body)).strip()
        found.append(Passage(title, tuple(name for _, name in headings), text))
        body.clear()

    for line in re.sub(r"<!--.*?-->", "", markdown, flags=re.S).splitlines():
        if _FENCE.match(line):
            is_code = not is_code
        elif is_code:
            body.append(line[:_LONGEST_CODE_LINE])
        elif heading := _HEADING.match(line):
            close()
            level, name = len(heading[1]), _plain(_ANCHOR.sub("", heading[2])).strip()
            headings = [*(each for each in headings if each[0] < level), (level, name)]
            title = title or (name if level == 1 else "")
        elif not _DIRECTIVE.match(line):
            body.append(_plain(line))
    close()
    return found


def _front_matter(markdown: str) -> tuple[str, str]:
    """The title that a page's front matter gives, or an empty text, and the page without it."""
    end = markdown.find("\n---", 3) if markdown.startswith("---") else -1
    if end < 0:
        return "", markdown
    named = _TITLE.search(markdown, 0, end)
    return named[1].strip().strip("\"'") if named else "", markdown[end + 4 :]


def _plain(line: str) -> str:
    for mark, instead in _MARKS:
        line = mark.sub(instead, line)
    return line.rstrip()


def _markdown(path: Path) -> str:
    """A page's text; of a notebook the Markdown and the short cells of code."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix != ".ipynb":
        return text
    try:
        cells = json.loads(text)["cells"]
    except (ValueError, KeyError, TypeError):
        return ""  # not a notebook: there is nothing to learn from
    parts = []
    for cell in cells:
        source = "".join(cell.get("source", ""))
        if "Licensed under the Apache" in source:
            continue
        if cell.get("cell_type") == "markdown":
            parts.append(source)
        elif len(source) < _LONGEST_CELL:
            parts.append(f"```\n{source}\n```")
    return "\n\n".join(parts)


class PageBatches:
    """Batches of sections, without end: an epoch has each pair once, in an order of `seed`.

    A section's passage is in either language; one without a translation asks for itself alone.
    """

    def __init__(self, pages: Pages, sections_of_a_step: int, seed: int) -> None:
        self._pairs = pages.pairs
        self._together = min(sections_of_a_step, len(pages.pairs))
        self._random = random.Random(seed)

    def __iter__(self) -> Iterator[Batch]:
        while True:
            order = self._random.sample(self._pairs, len(self._pairs))
            for begin in range(0, len(order) - self._together + 1, self._together):
                yield self._batch(order[begin : begin + self._together])

    def _batch(self, pairs: Sequence[Pair]) -> Batch:
        batch = Batch()
        of_question: dict[str, int] = {}
        for pair in pairs:
            sides = [each for each in pair if each is not None]
            section = self._random.choice(sides)
            others = [each for each in sides if each is not section]
            passage, questions = self._own(section)
            questions += [each for other in others for each in self._of_other(other)]
            number = len(batch.passages)
            batch.passages.append(passage)
            for question in questions:
                # What two sections are asked by, a common heading, tells them apart from no other.
                if of_question.setdefault(question, number) == number and question not in batch.questions:
                    batch.questions.append(question)
                    batch.right.append(number)
        batch.barred = [[] for _ in batch.questions]
        return batch

    def _own(self, section: Passage) -> tuple[str, list[str]]:
        """The text that is encoded of a section, without one of its sentences or its heading, and what was left out."""
        sentences = _sentences(section.text)
        if section.headings and (len(sentences) < 2 or self._random.random() < 0.5):
            above = Passage(section.title, section.headings[:-1], section.text)
            return above.encoded_text(), [section.headings[-1]]
        if len(sentences) < 2:
            return section.encoded_text(), []
        left_out = self._random.choice(sentences)
        return section.encoded_text(section.text.replace(left_out, "", 1)), [left_out[:_LONGEST_SENTENCE]]

    def _of_other(self, section: Passage) -> list[str]:
        sentences = _sentences(section.text)
        chosen = self._random.sample(sentences, min(len(sentences), _SENTENCES_ASKED))
        return [*section.headings[-1:], *(each[:_LONGEST_SENTENCE] for each in chosen)]


def _sentences(text: str) -> list[str]:
    return [each for each in map(str.strip, _SENTENCE_END.split(text)) if len(each) >= _SHORTEST_SENTENCE]
