"""Splits a question into parts, and adds the previous question if the question depends on it.

Both work by rules, without a model. A question follows up if it points back (그건, 거기, it, they …) or has at most one
content word. A question has parts if it has two question words, a comparison, or several questions in a row. If the
rules are not sure, the question stays whole, because a wrongly cut question finds less.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from kb.domain.answers import HopReason, Turn
from kb.domain.text import stored_text
from kb.language.lists import is_stopword, pattern

_WORD = re.compile(r"[^\W_]+")

# More words than these ask for something of their topic.
_TOPIC_WORDS = 2


def resolve(question: str, history: Sequence[Turn]) -> str:
    """The text to search for: the question; if it follows up, the search text of the turn before comes first."""
    question = " ".join(stored_text(question).split())
    if not history or not follows_up(question):
        return question
    return f"{history[-1].search_query} {question}"


def follows_up(question: str) -> bool:
    """Whether a question cannot be understood without the one before it."""
    content = [w for w in _WORD.findall(question) if not is_stopword(w)]
    return len(content) <= 1 or bool(pattern("follow_up", "points_back", re.IGNORECASE).search(question))


MOST_PARTS = 4

_WORD = re.compile(r"[^\W_]+")
_ENDED = re.compile(r"(?<=[?？])\s+")
# `when and how` asks one thing in two ways.
_LEFT_OPEN = re.compile(r"\b(?:what|how|why|who|when|where|which)\Z", re.IGNORECASE)
_JOINED_BY = re.compile(r"^(?:그리고|또한|또|and)\s+", re.IGNORECASE)
_CONJUNCTIONS = frozenset(("그리고", "또한", "또", "및"))
_TOLD = re.compile(r"다[.。]?\Z")
_COMPARISONS = (
    *("compared", "compared_from", "compared_with", "compared_vs", "compared_which"),
    *("compared_ko", "compared_how_ko", "compared_which_ko"),
)
# A longer side of a comparison is a sentence, not a thing to compare.
_LONGEST_SIDE_CHARS = 60


class SubQuestion(NamedTuple):
    """One part of a question: the text to show, the text to search for, and the reason of the step."""

    text: str
    search_text: str
    why: HopReason


def names_topic(question: str) -> bool:
    """Whether a question is one or two words that name a topic and ask nothing: whatever is on the topic answers it."""
    return len(question.split()) <= _TOPIC_WORDS and not _asks(question)


def split_question(question: str) -> tuple[SubQuestion, ...]:
    """The parts of a question in their order; empty if it cannot be split."""
    text = " ".join(stored_text(question).split())
    found = _compared(text) or _each(text) or _in_a_row(text) or _joined(text) or _joined_in_korean(text)
    return found[:MOST_PARTS] if len(found) > 1 else ()


def _compared(text: str) -> tuple[SubQuestion, ...]:
    """Both sides of a comparison as parts, searched for without who has more; empty if the text is none."""
    for kind in _COMPARISONS:
        match = pattern("compound", kind, re.IGNORECASE).search(text)
        if match is None:
            continue
        sides = _whole(*(match[name].strip(" \"'“”‘’`") for name in ("one", "other")))
        asked = match.groupdict().get("rest", "")
        about, compared = pattern("compound", "comparative", re.IGNORECASE).subn("", asked)
        if all(map(_is_a_side, sides)) and (compared or not asked):
            return tuple(SubQuestion(_about(side, asked), _about(side, about), "side") for side in sides)
    return ()


def _about(side: str, asked: str) -> str:
    """A side with the words that are asked about it; what it is called itself is not said again."""
    named = side.casefold().split()
    return " ".join([side, *(word for word in asked.split() if word.casefold() not in named)])


def _whole(one: str, other: str) -> tuple[str, str]:
    """Two sides of a comparison, each with the word they share: Query and Path parameters → Query parameters, …."""
    words, others = one.split(), other.split()
    is_shared = one.isascii() and len(words) == 1 and len(others) == 2 and one.lower() not in other.lower().split()
    return (f"{one} {others[-1]}" if is_shared else one), other


def _is_a_side(side: str) -> bool:
    """Whether a text can be one side of a comparison: a few words without a topic."""
    topics = sum(bool(pattern("compound", "topic_ko").search(word)) for word in side.split())
    return bool(_WORD.search(side)) and len(side) <= _LONGEST_SIDE_CHARS and not topics


def _each(text: str) -> tuple[SubQuestion, ...]:
    """A와 B는 각각 언제 …? → the question about A, and the question about B."""
    match = pattern("compound", "each_ko").search(text)
    if match is None:
        return ()
    asked = [f"{match[name]}{_fitting(match['particle'], match[name])} {match['rest']}" for name in ("one", "other")]
    return tuple(SubQuestion(each, each, "part") for each in asked)


def _fitting(particle: str, word: str) -> str:
    """The form of a particle that may follow the word: 은 after a consonant, 는 after a vowel."""
    pairs = {"은": "은는", "는": "은는", "이": "이가", "가": "이가"}
    if particle not in pairs or not "가" <= word[-1] <= "힣":
        return particle
    return pairs[particle][0 if (ord(word[-1]) - ord("가")) % 28 else 1]


def _in_a_row(text: str) -> tuple[SubQuestion, ...]:
    """The questions of a text by their question marks; one that says too little joins the previous one."""
    sentences = _ENDED.split(text)
    if sum(each.endswith(("?", "？")) for each in sentences) < 2:
        return ()
    grouped: list[str] = []
    for sentence in sentences:
        is_own = sentence.endswith(("?", "？")) and _asks(sentence) and len(_content(sentence)) > 1
        if is_own or not grouped:
            grouped.append(sentence)
        else:
            grouped[-1] = f"{grouped[-1]} {sentence}"
    return _standing(grouped)


def _joined(text: str) -> tuple[SubQuestion, ...]:
    """Two English questions joined by `and`, each with a question word; empty if the text has another form."""
    pieces: list[str] = []
    at = 0
    for match in pattern("compound", "joined_en", re.IGNORECASE).finditer(text):
        before, behind = text[at : match.start()], text[match.end() :]
        is_own = _asks(before) and _content(before) and before.count(" ") > 1 and not _LEFT_OPEN.search(before)
        if is_own and _content(behind):
            pieces.append(before)
            at = match.end()
    return _standing([*pieces, text[at:]]) if pieces else ()


def _joined_in_korean(text: str) -> tuple[SubQuestion, ...]:
    """Two Korean clauses joined by -고, -며 or 그리고, each with a question word; else empty."""
    words = [] if _TOLD.search(text) else text.split()
    asks, joins, helps = (pattern("compound", kind) for kind in ("asks_ko", "joins_ko", "helps_ko"))
    pieces: list[list[str]] = [[]]
    for position, word in enumerate(words):
        behind = words[position + 1 :]
        if pieces[-1] or word not in _CONJUNCTIONS:
            pieces[-1].append(word)
        if not behind or not joins.search(word) or helps.match(behind[0]):
            continue
        if asks.search(" ".join(pieces[-1])) and asks.search(" ".join(behind)) and len(pieces[-1]) > 1:
            pieces.append([])
    if len(pieces) < 2:
        return ()
    topic = _topic(pieces[0])
    parts = [" ".join(pieces[0])]
    for piece in pieces[1:]:
        has_own = any(pattern("compound", "topic_ko").search(word) for word in piece)
        parts.append(" ".join(piece if has_own else [*topic, *piece]))
    return tuple(SubQuestion(each, each, "part") for each in map(_ended, parts))


def _ended(part: str) -> str:
    """A part of a Korean question with the ending of a question: 무엇이고 → 무엇인가?, 재시도하며 → 재시도하나?"""
    words = part.rstrip(" ,，;").split()
    while len(words) > 1 and words[-1] in _CONJUNCTIONS:
        words.pop()
    match = pattern("compound", "asked_end_ko").match(words[-1])
    if match is not None:
        words[-1] = match["stem"] + (
            "인가?" if match["end"][0] in "이인" else "은가?" if match["end"] == "은데" else "나?"
        )
    return " ".join(words)


def _topic(words: Sequence[str]) -> Sequence[str]:
    """The topic of a clause: its words up to the first with a topic particle, before any question word."""
    topic, asks = pattern("compound", "topic_ko"), pattern("compound", "asks_ko")
    for position, word in enumerate(words):
        if asks.search(word):
            break
        if topic.search(word):
            return words[: position + 1]
    return ()


def _standing(texts: Sequence[str]) -> tuple[SubQuestion, ...]:
    """The texts as parts; the search text of a part that refers back begins with the first part."""
    parts = []
    for position, text in enumerate(texts):
        text = _JOINED_BY.sub("", text)
        leans = position > 0 and follows_up(text)
        parts.append(SubQuestion(text, f"{texts[0]} {text}" if leans else text, "part"))
    return tuple(parts)


def _asks(text: str) -> bool:
    """Whether a text has a question word, or begins as a question."""
    in_english = pattern("compound", "asks_en", re.IGNORECASE).search(text)
    return bool(in_english or pattern("compound", "asks_ko").search(text))


def _content(text: str) -> list[str]:
    """The content words of a text."""
    return [word for word in _WORD.findall(text) if not is_stopword(word)]
