"""Whether a passage says what a sentence of a language model says, by three exact rules.

- `support`: one sentence of a cited passage contains the claim nearly word for word: all its content words in order
  (English by stems, Korean as morphemes with the particle of each noun), numbers, names, negations and words of
  certainty. The clause around them has no other negation or condition.
- `contradiction`: a number, date, name or quotation differs. Either the quotation is in no passage; or a sentence has
  most of the claim's words with another number of the unit, or without the name, and no passage has that number or
  name; or a sentence contains the claim word for word except for neighbouring numbers or a name. A claim is also a
  contradiction if it only repeats an instruction found in a passage, or shares hardly a word with its passages.
- `unknown`: everything else, including a sentence in another language than its passages. It was not checked.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from kb.answer.quantities import Quantity, quantities
from kb.answer.quoting import quotes_in, stands_in
from kb.answer.wording import say
from kb.answer.words import Words, carried, folded_term, words_of
from kb.domain.answers import Verdict
from kb.domain.citations import CodeCitation
from kb.domain.search import Passage, Sentence
from kb.language.detect import query_language
from kb.language.korean import has_hangul, tagged
from kb.language.lists import pattern, rows, words
from kb.language.sentences import sentences

FEWEST_WORDS = 0.1
"""A sentence that shares a smaller part of its words with its passages is about something else."""

MOST_WORDS = 0.6
"""A sentence or passage with this share of a claim's words is about the same thing."""

REPEATED = 0.8
"""A sentence with this share of its words from an instruction repeats the instruction."""

LONGEST_CHARS = 1_000
"""A longer text is no sentence, of a model or of a source, and is not compared word by word."""

# How many of a sentence's words between the first and the last shared one a claim may leave out, as a share of the
# claim's own words.
_LEFT_OUT = 0.6
_LEFT_OUT_BESIDE_ANOTHER = 0.34
_FEWEST_TOKENS = 2

_LISTS = "claim_words"
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*|[;:,]")
_NOT = re.compile(r"(?:(ca|wo)|(.*))n['’]t")
_MODALS = {"ca": "can", "wo": "will"}

# Tags of Kiwi: nouns and names, words that take no particle, and what may be an operator.
_NOUNS = frozenset(("NNG", "NNP", "NR", "NP", "SL", "SH", "XR", "NNB", "XSN", "SN"))
_OTHER_CONTENT = frozenset(("VV", "VA", "MAG", "MM", "XPN"))
_MAY_BE_OPERATOR = _OTHER_CONTENT | {"VX", "VCN", "JX", "JKB", "NNB", "NNG", "EP", "EC", "XSN"}


class JudgedClaim(NamedTuple):
    """A verdict; `reason` says, in the language of the question, what differs or is missing. None for support."""

    verdict: Verdict
    reason: str | None = None


class Token(NamedTuple):
    """A word, name or number of a sentence: `text` as written, and `key`, `particle` and `quantity` to compare it by.

    An `operator` negates, limits or doubts; a `break` is between two clauses.
    """

    text: str
    key: str
    kind: Literal["word", "name", "number", "preposition", "operator", "break"]
    particle: str = ""
    quantity: Quantity | None = None

    def is_same(self, other: Token) -> bool:
        """Whether two tokens mean the same and have the same role in their sentences."""
        if self.quantity is not None and other.quantity is not None:
            return self.quantity.agrees(other.quantity)
        return self.key == other.key and self.quantity is other.quantity and _may_stand_for(self, other)

    def is_other(self, other: Token) -> bool:
        """Whether two tokens have the same role but are different names, or different numbers of one unit."""
        if self.quantity is not None and other.quantity is not None:
            return self.quantity.value != other.quantity.value and self.quantity.unit == other.quantity.unit
        return self.kind == other.kind == "name" and self.key != other.key and _may_stand_for(self, other)


def _may_stand_for(one: Token, other: Token) -> bool:
    """Whether two Korean particles may mark the same role: a topic is a subject or an object."""
    particles = {one.particle, other.particle}
    return len(particles) == 1 or any(particles <= {part, "topic", ""} for part in ("subject", "object"))


def judge_claim(claim: str, question: str, cited: Sequence[Passage]) -> JudgedClaim:
    """Judges a sentence by the cited passages (at least one); a statement of the question itself needs no source."""
    language = query_language(question)

    def judged(verdict: Verdict, reason: str, *about: str) -> JudgedClaim:
        return JudgedClaim(verdict, say(language, reason, *about))

    if len(claim) > LONGEST_CHARS:
        return judged("unknown", "too_long")
    if _repeats_instruction(claim, cited):
        return judged("contradiction", "instruction")
    if (quote := _absent_quotation(claim, cited)) is not None:
        return judged("contradiction", "quotation_absent", quote)
    number, name = _absent_number(claim, question, cited), _absent_name(claim, question, cited)
    nearest = nearest_sentence(claim, cited)
    if nearest is not None and nearest.share >= MOST_WORDS:
        if number is not None and any(number.unit == each.unit for each in quantities(nearest.sentence.text)):
            return judged("contradiction", "absent", _digits(number))
        if name is not None:
            return judged("contradiction", "absent", name)
    said = _tokens(claim)
    there = [piece for passage in cited for piece in _pieces(passage)]
    if any(_holds(said, tokens) for tokens, _ in there):
        return JudgedClaim("support")
    for tokens, text in there:
        if (pair := _difference(said, tokens)) is not None:
            return judged("contradiction", "instead", pair[1].text, pair[0].text, text)
    if not is_of_one_script(claim, cited):
        return judged("unknown", "other_language")
    is_about_else = carried_share(claim, cited) < FEWEST_WORDS
    verdict: Verdict = "contradiction" if is_about_else else "unknown"
    absent = name if number is None else _digits(number)
    if absent is not None:
        return judged(verdict, "absent", absent)
    return judged(verdict, "no_words" if is_about_else else "not_held")


class Nearest(NamedTuple):
    """The sentence that has most of a claim's words, and the `share` of them that it has, 0 to 1."""

    share: float
    passage: Passage
    sentence: Sentence


def nearest_sentence(claim: str, cited: Sequence[Passage]) -> Nearest | None:
    """The sentence of the cited passages that has most of a claim's words; None where they contain no sentence."""
    said = words_of(claim)
    ranked = (
        Nearest(carried(said, words_of(sentence.text)), passage, sentence)
        for passage in cited
        for sentence in sentences(passage)
    )
    return max(ranked, key=lambda each: each.share, default=None)


def is_of_one_script(claim: str, cited: Sequence[Passage]) -> bool:
    """Whether a sentence and any of its passages are both in Hangul, or both are not."""
    return any(has_hangul(claim) == has_hangul(passage.text) for passage in cited)


def carried_share(claim: str, cited: Sequence[Passage]) -> float:
    """The largest share of a sentence's words, 0 to 1, that one of the passages has."""
    asked = words_of(claim)
    return max((carried(asked, _words_of_whole(passage)) for passage in cited), default=0.0)


@functools.lru_cache(maxsize=64)
def _words_of_whole(passage: Passage) -> Words:
    """The words of a passage with its title and headings: the text may leave out a name that these give."""
    return words_of(_whole(passage))


def _whole(passage: Passage) -> str:
    return "\n".join((passage.title, *passage.heading_path, passage.text))


# --- what the passages lack -----------------------------------------------------------------------------------------


def _repeats_instruction(claim: str, cited: Sequence[Passage]) -> bool:
    """Whether a sentence repeats an instruction to the answerer from a passage, and does not report it as one.

    `kb/language/data/instructions.tsv` lists wordings of instructions, and of reports on them ("the note asks …").
    """
    if pattern("instructions", "tells", re.IGNORECASE).search(claim):
        return False
    told = (sentence.text for passage in cited for sentence in sentences(passage))
    instructions = filter(pattern("instructions", "instruction", re.IGNORECASE).search, told)
    said = words_of(claim)
    return any(carried(said, words_of(instruction)) >= REPEATED for instruction in instructions)


def _absent_quotation(claim: str, cited: Sequence[Passage]) -> str | None:
    sources = "\n".join(map(_whole, cited))
    return next((quote for quote in quotes_in(claim) if not stands_in(quote, sources)), None)


def _absent_number(claim: str, question: str, cited: Sequence[Passage]) -> Quantity | None:
    """The first number or date of a claim that is neither in the passages nor in the question; None if all are."""
    known = [*(each for passage in cited for each in _quantities(_whole(passage))), *quantities(question)]
    absent = (number for number in quantities(claim) if not any(number.agrees(each) for each in known))
    return next((each for each in absent if each.unit != "ordinal"), None)


def _digits(number: Quantity) -> str:
    return number.value if number.value in number.text.replace(",", "") else number.text


@functools.lru_cache(maxsize=64)
def _quantities(text: str) -> tuple[Quantity, ...]:
    return tuple(quantities(text))


def _absent_name(claim: str, question: str, cited: Sequence[Passage]) -> str | None:
    """A name of a claim that is neither in the passages nor in the question; None if all are.

    A name in another script than the passages' does not count.
    """
    known = "\n".join((*map(_whole, cited), question)).lower()
    if has_hangul(claim) != has_hangul(known):
        return None
    stems = words_of(known).stems
    for token in _tokens(claim):
        is_latin = token.key.isascii()
        if token.kind == "name" and token.key not in (stems if is_latin else known):
            return token.text
    return None


# --- what one sentence of a passage contains ------------------------------------------------------------------------


@functools.lru_cache(maxsize=64)
def _pieces(passage: Passage) -> tuple[tuple[tuple[Token, ...], str], ...]:
    """The sentences of a passage, each as tokens and as text. Code is read by lines, and its `if` is no condition."""
    is_code = isinstance(passage.citation, CodeCitation)
    found = passage.text.split("\n") if is_code else [sentence.text for sentence in sentences(passage)]
    return tuple((_tokens(sentence), sentence) for sentence in found if len(sentence) <= LONGEST_CHARS)


def _holds(said: Sequence[Token], there: Sequence[Token]) -> bool:
    """Whether a sentence of a passage contains a claim word for word."""
    found = _aligned(said, there, may_differ=False)
    return found is not None and _is_whole(said, there, [at for _, at in found], _LEFT_OUT)


def _difference(said: Sequence[Token], there: Sequence[Token]) -> tuple[Token, Token] | None:
    """The only token of a claim for which a sentence has another token, and that token; None without such a pair.

    Neighbouring numbers, such as those of a date, count as one token.
    """
    found = _aligned(said, there, may_differ=True)
    if found is None or not _is_whole(said, there, [at for _, at in found], _LEFT_OUT_BESIDE_ANOTHER):
        return None
    others = [place for place, (token, at) in enumerate(found) if not token.is_same(there[at])]
    if not others or others[-1] - others[0] >= len(others):
        return None
    token, at = found[others[0]]
    is_listed = token.kind == "name" and any(token.key == each.key for each in there)
    return None if is_listed or (token.kind == "name" and len(others) > 1) else (token, there[at])


def _aligned(said: Sequence[Token], there: Sequence[Token], *, may_differ: bool) -> list[tuple[Token, int]] | None:
    """Each content token of a claim with the index of its token in a sentence, in order, as near to the end as can be.

    Of several alignments, the one that leaves out fewest tokens. None if one is missing, or the claim has too few.
    """
    content = [token for token in said if token.kind not in ("operator", "break")]
    if sum(token.kind != "preposition" for token in content) < _FEWEST_TOKENS:
        return None
    best: list[int] | None = None
    for end in range(len(there) - 1, -1, -1):
        places: list[int] = []
        at = end
        for token in reversed(content):
            while at >= 0 and not (token.is_same(there[at]) or (may_differ and token.is_other(there[at]))):
                if not places:
                    at = 0  # the last one is looked for at `end` alone
                at -= 1
            if at < 0:
                break
            places.append(at)
            at -= 1
        if len(places) == len(content) and (best is None or places[0] - places[-1] < best[0] - best[-1]):
            best = places
    return None if best is None else list(zip(content, reversed(best), strict=True))


def _is_whole(said: Sequence[Token], there: Sequence[Token], places: Sequence[int], left_out: float) -> bool:
    """Whether a sentence, at the `places` of a claim's tokens, says just the claim.

    It may have few other words between them, no condition, and in its clause the same operators as the claim.
    """
    first, last = places[0], places[-1]
    between = [there[at] for at in range(first, last) if at not in places]
    content = sum(token.kind in ("word", "name", "number") for token in said)
    omitted = sum(token.kind in ("word", "name", "number") for token in between)
    if omitted > left_out * content or (omitted and any(token.kind == "break" for token in between)):
        return False
    while first > 0 and there[first - 1].kind != "break":
        first -= 1
    while last + 1 < len(there) and there[last + 1].kind != "break":
        last += 1
    conditions = words(_LISTS, "condition") - {token.key for token in said}
    is_conditional = any(token.kind == "operator" and token.key in conditions for token in there)
    return _operators(said) == _operators(there[first : last + 1]) and not is_conditional


def _operators(tokens: Sequence[Token]) -> Counter[str]:
    return Counter(token.key for token in tokens if token.kind == "operator")


# --- a sentence as tokens -------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=512)
def _tokens(text: str) -> tuple[Token, ...]:
    """The words, names and numbers of a sentence in order, without function words."""
    numbers = _quantities(text)
    found = [(each.start, Token(each.text, each.value, "number", quantity=each)) for each in numbers]
    others = _korean(text) if has_hangul(text) else _english(text)
    found += [(at, token) for at, token in others if not any(each.start <= at < each.end for each in numbers)]
    return tuple(token for _, token in sorted(found, key=lambda each: each[0]))


def _english(text: str) -> Iterator[tuple[int, Token]]:
    free, breaks, prepositions, operators = (
        words(_LISTS, kind) for kind in ("free", "break", "preposition", "operator")
    )
    for match in _WORD.finditer(text):
        at, word = match.start(), match[0].lower()
        if (denied := _NOT.fullmatch(word)) is not None:
            yield at, Token(match[0], "not", "operator")
            word = _MODALS.get(denied[1] or "", denied[2] or "")
        word = re.sub(r"['’]s?$", "", word)
        if word in breaks or match[0] in ";:,":
            yield at, Token(word, word, "break")
        elif word in operators:
            yield at, Token(word, word, "operator")
        elif word in prepositions:
            yield at, Token(word, word, "preposition")
        elif word and word not in free:
            is_name = at > 0 and match[0][0].isupper() and len(word) > 1
            yield at, Token(word, folded_term(word), "name" if is_name else "word")


def _korean(text: str) -> Iterator[tuple[int, Token]]:
    operators, breaks = words(_LISTS, "operator_korean"), words(_LISTS, "break_korean")
    same, particles = _same_operators(), _particles()
    tags = tagged(text)
    for place, (form, tag, at) in enumerate(tags):
        if form in operators and tag in _MAY_BE_OPERATOR:
            yield at, Token(form, same.get(form, form), "operator")
        elif tag in _NOUNS:
            following = tags[place + 1] if place + 1 < len(tags) else ("", "", 0)
            particle = particles.get(following[0], following[0]) if following[1].startswith("J") else ""
            kind: Literal["name", "word"] = "name" if tag == "NNP" else "word"
            yield at, Token(form, form.lower(), kind, "" if particle == "의" else particle)
        elif tag in _OTHER_CONTENT:
            yield at, Token(form, form, "word")
        elif tag == "SP" or (tag == "EC" and form in breaks):
            yield at, Token(form, form, "break")


@functools.cache
def _same_operators() -> dict[str, str]:
    """Each form of a Korean operator → the form that represents it: 않 → 안."""
    return {form: listed.split()[0] for listed in rows(_LISTS)["same"] for form in listed.split()[1:]}


@functools.cache
def _particles() -> dict[str, str]:
    """Each Korean particle → the part of a sentence that it marks."""
    kinds = {kind: texts for kind, texts in rows(_LISTS).items() if kind.startswith("particle ")}
    return {each: kind.removeprefix("particle ") for kind, texts in kinds.items() for each in texts[0].split()}
