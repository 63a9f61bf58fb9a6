"""What a hit shows of its chunk: the text around the matches, and the spans that its citation names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, takewhile
from typing import Any

from kb.domain.search import Snippet
from kb.domain.text import Range, stored_text
from kb.language.words import is_syllable

_ELLIPSIS = "…"
_FENCES = ("```", "~~~")
# English endings, the longest first.
_ENDINGS = ("ations", "ation", "ings", "ing", "ies", "ed", "es", "s", "e", "y")

_LEFT_OUT = "\0"  # stands for lines until white space is folded; no text holds it
_RULER = "|:- \t"
# A line of mere markup, or the first of several, begins with one of these.
_UNREAD = ("<", "{", "import ", "export ", "%%")
_TARGET = r"(?<=\]\()[^()\s]+(?:\([^()\s]*\)[^()\s]*)*"
_LONGEST_TARGET = 40
_PHRASE = 100
_LAST_LATIN = "\u024f"
_SEARCHED_CHARS = 20  # how far from its edges a window looks for a space


def below_headings(text: str, heading_path: Sequence[str] = ()) -> str:
    """`text` without its first headings, which a hit shows separately; unchanged if nothing else is left.

    Outside of Markdown a heading has no mark and is recognised by `heading_path`.
    """
    rest = text
    for heading in heading_path:
        first, _, below = rest.partition("\n\n")
        rest = below if heading == " ".join(first.split()) else _past_marked(rest, heading)
    while rest.startswith("#") and rest.lstrip("#")[:1] in ("", " ", "\t", "\n"):  # a heading, not a #tag
        rest = rest.partition("\n")[2].lstrip("\n")
    return rest or text


def _past_marked(text: str, heading: str) -> str:
    """`text` without the `heading` that begins it in the syntax of Org, AsciiDoc or reStructuredText, if it does."""
    lines = text.split("\n")
    at = 1 if _is_ruler(lines[0]) and len(lines) > 1 else 0
    if lines[at].strip() == heading and _is_ruler("".join(lines[at + 1 : at + 2])):
        return "\n".join(lines[at + 2 :]).lstrip("\n")
    marks, _, words = lines[0].partition(" ")
    words = words.strip()
    is_org = words.endswith(":") or words.partition(" ")[0].isupper()  # a keyword before it, tags behind it
    if marks and set(marks) <= {marks[0]} <= {"*", "="} and (words == heading or (is_org and heading in words)):
        return "\n".join(lines[1:]).lstrip("\n")
    return text


def _is_ruler(line: str) -> bool:
    line = line.strip()
    return len(line) > 2 and len(set(line)) == 1 and not line[0].isalnum()


def make_snippet(text: str, terms: Sequence[str], snippet_chars: int) -> Snippet:
    """The part of `text` with the most matches, at most `snippet_chars` characters; matches are whole words.

    The text is unchanged, except that white space outside of code is folded, and that an ellipsis replaces what comes
    before and after the part, long link targets, lines of only tags, components or statements, and table rulers.
    """
    kept = stored_text(text)
    folded = _folded(kept) or " ".join(kept.split())
    flat = folded.replace(_LEFT_OUT, _ELLIPSIS)
    matches = find_matches(flat, terms)
    if len(flat) <= snippet_chars:
        return Snippet(flat, _LEFT_OUT not in folded, tuple(whole_words(flat, matches)))
    start, end = _window(flat, matches, max(1, snippet_chars - 2 * len(_ELLIPSIS)))
    head = _ELLIPSIS if start else ""
    tail = _ELLIPSIS if end < len(flat) else ""
    shift = len(head) - start
    inside = [each for each in matches if each[0] >= start and each[1] <= end]
    shown = tuple((a + shift, b + shift) for a, b in whole_words(flat, inside))
    return Snippet(head + flat[start:end] + tail, False, shown)


def _folded(text: str) -> str:
    """`text` on one line, except that fenced code keeps its lines and their indentation."""
    written = text.split("\n")
    read = written
    if any(line.lstrip(" \t>").startswith(_UNREAD) for line in written):
        from kb.language.markup import without_tags  # most passages have none

        read = without_tags(text).split("\n")
    lines: list[str] = []
    prose: list[str] = []
    fence = ""
    for line, words in zip(written, read, strict=True):
        start = line.lstrip(" \t>")[:3]
        is_fence = start in _FENCES and fence in ("", start)
        if not fence and not is_fence:
            is_left_out = line.strip() and (not words.strip() or not line.strip(_RULER))
            prose += [_LEFT_OUT] if is_left_out else _short_targets(line).split()
            continue
        lines += _one_line(prose)
        prose = []
        lines.append(line.rstrip())
        if is_fence:
            fence = "" if fence else start
    return "\n".join([*lines, *_one_line(prose)]).strip(f"{_LEFT_OUT} \t\n")


def _short_targets(line: str) -> str:
    """The line without link targets that would take up much of the snippet."""
    if "](" not in line:
        return line
    return re.sub(_TARGET, lambda target: target[0] if len(target[0]) <= _LONGEST_TARGET else _LEFT_OUT, line)


def _one_line(words: Sequence[str]) -> list[str]:
    """The words joined by spaces, with repeated ellipses as one; empty without words."""
    kept = [word for word, before in zip(words, ("", *words), strict=False) if (word, before) != (_LEFT_OUT, _LEFT_OUT)]
    return [" ".join(kept)] if kept else []


def find_matches(text: str, terms: Sequence[str]) -> list[Range]:
    """The ranges of the terms in `text`: Korean morphemes anywhere, other words only at a word's start.

    English endings differ between question and text, so a word matches by the first letters of its stem.
    """
    pattern = _any_of(tuple(terms))
    return [match.span() for match in pattern.finditer(text)] if pattern else []


def whole_words(text: str, found: Iterable[Range]) -> Iterator[Range]:
    """The ranges, of ascending ones, that a reader takes for words: not 하나 in 서하나, nor 번 in 당번.

    Adjacent ranges are one word. A Latin one begins a word. A Korean one does so, too (배 of 배터리 while one types);
    one of two syllables may have two before it, and a longer one may be anywhere.
    """
    run: list[Range] = []
    for each in found:
        if run and run[-1][1] != each[0]:
            yield from run if _is_word(text, run[0][0], run[-1][1]) else ()
            run = []
        run.append(each)
    if run and _is_word(text, run[0][0], run[-1][1]):
        yield from run


def _is_word(text: str, start: int, end: int) -> bool:
    if not is_syllable(text[start]):
        return text[start] > _LAST_LATIN or not text[start - 1 : start].isalnum()
    before = sum(1 for _ in takewhile(is_syllable, reversed(text[max(0, start - 2) : start])))
    return end - start > 2 or not before or before == end - start == 2


@lru_cache(maxsize=64)
def _any_of(terms: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern for any of a question's terms, cached for all its hits; None without terms."""
    patterns: list[str] = []
    for is_word, group in groupby(sorted(filter(None, set(terms)), key=_longest_first), str.isascii):
        if is_word:  # whether a word starts here is asked once for all of them
            patterns.append(rf"(?<![^\W_])(?:{'|'.join(map(_word_pattern, group))})")
        else:
            patterns.extend(map(re.escape, group))
    return re.compile("|".join(patterns), re.IGNORECASE) if patterns else None


def _longest_first(term: str) -> tuple[int, str]:
    return -len(term), term


def _word_pattern(word: str) -> str:
    if len(word) <= 3 or not word.isalpha():
        return rf"{re.escape(word)}(?![^\W_])"
    stem = next((word[: -len(ending)] for ending in _ENDINGS if word.lower().endswith(ending)), word)
    stem = stem if len(stem) >= 3 else word
    return rf"{re.escape(stem)}[^\W_]{{0,5}}"


def _window(text: str, matches: Sequence[Range], room: int) -> Range:
    """The [start, end) of the best `room` characters, shortened to word boundaries if that costs few characters."""
    start = _window_start(text, matches, room)
    end = min(len(text), start + room)
    middle = (start + end) // 2
    inside = [(a, b) for a, b in matches if a >= start and b <= end]
    first, last = (inside[0][0], inside[-1][1]) if inside else (end, start)
    if start:
        space = text.find(" ", start, min(start + _SEARCHED_CHARS, first, middle))
        start = space + 1 if space >= 0 else start
    if end < len(text):
        space = text.rfind(" ", max(end - _SEARCHED_CHARS, last, middle), end)
        end = space if space >= 0 else end
    return start, end


def _window_start(text: str, matches: Sequence[Range], room: int) -> int:
    """The start of the window of `room` characters with the most distinct matched words, earliest first.

    A phrase is worth more than any words apart.
    """
    best_start, best_end, best_worth = 0, 0, -1
    words = [text[start:end].lower() for start, end in matches]
    inside: Counter[str] = Counter()  # the words of the window that slides from match to match
    after = 0
    for index, (start, _) in enumerate(matches):
        while after < len(matches) and matches[after][1] <= start + room:
            inside[words[after]] += 1
            after += 1
        worth = sum(_PHRASE if " " in word else 1 for word in inside)
        if worth > best_worth:
            best_start, best_end, best_worth = start, matches[max(after, index + 1) - 1][1], worth
        if after > index:
            inside[words[index]] -= 1
            if not inside[words[index]]:
                del inside[words[index]]
        else:  # a match longer than the window
            after = index + 1
    lead = min(room // 6, max(0, best_start + room - best_end))  # what is before it costs no match
    return max(0, min(best_start - lead, len(text) - room))


def code_snippet(text: str, terms: Sequence[str], snippet_chars: int) -> Snippet:
    """The whole lines around the line with the most terms, outdented, at most `snippet_chars` characters."""
    lines = _outdented(stored_text(text).split("\n"))
    whole = "\n".join(lines)
    if len(whole) <= snippet_chars:
        return Snippet(whole, True, _marks(whole, terms))
    found = [len({line[a:b].lower() for a, b in find_matches(line, terms)}) for line in lines]
    best = max(range(len(lines)), key=lambda at: (found[at], -at))
    first = last = best
    room = snippet_chars - len(lines[best])
    while True:
        grown = False
        for at in (last + 1, first - 1):
            if 0 <= at < len(lines) and len(lines[at]) + 1 <= room:
                room -= len(lines[at]) + 1
                first, last = min(first, at), max(last, at)
                grown = True
        if not grown:
            break
    shown = "\n".join(lines[first : last + 1])[:snippet_chars]
    return Snippet(shown, False, _marks(shown, terms))


def _marks(text: str, terms: Sequence[str]) -> tuple[Range, ...]:
    return tuple(whole_words(text, find_matches(text, terms)))


def _outdented(lines: Sequence[str]) -> list[str]:
    indents = [len(line) - len(line.lstrip(" \t")) for line in lines if line.strip()]
    least = min(indents, default=0)
    return [line[least:].rstrip() for line in lines]


Span = Mapping[str, Any]
"""A stored span; all but those of lines say which characters of their source they hold."""


def matched_spans(spans: Sequence[Span], text: str, terms: Sequence[str]) -> Sequence[Span]:
    """The consecutive spans of a chunk that contain most of a question's words; all spans if none contains any.

    The first chosen span is the one with the most different words; neighbours are added if they contain another word.
    """
    if len(spans) < 2:
        return spans
    words = _words_by_span(spans, text, terms)
    best = max(range(len(spans)), key=lambda index: (len(words[index]), -index))
    if not words[best]:
        return spans
    first = last = best
    held = set(words[best])
    while True:
        if first > 0 and words[first - 1] - held:
            first -= 1
            held |= words[first]
        elif last + 1 < len(spans) and words[last + 1] - held:
            last += 1
            held |= words[last]
        else:
            return spans[first : last + 1]


def _words_by_span(spans: Sequence[Span], text: str, terms: Sequence[str]) -> list[set[str]]:
    """For each span, the question's words that begin in it, as they are written there."""
    origin = spans[0]["char_start"]
    words: list[set[str]] = [set() for _ in spans]
    at = 0
    for start, end in find_matches(text, terms):
        while at + 1 < len(spans) and spans[at + 1]["char_start"] - origin <= start:
            at += 1
        words[at].add(text[start:end].lower())
    return words
