"""Words that mean the opposite of each other, and what denies: how a sentence can say the reverse of what is asked."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Mapping

from kb.language.words import folded_term

# Base forms; their endings fall with the stem. Irregular forms stand by themselves.
_ENGLISH = (
    "first last|first second|best worst|most least|more less|many few|most fewest|before after|early late"
    "|earlier later|north south|east west|northern southern|eastern western|increase decrease|increase reduce"
    "|high low|higher lower|highest lowest|large small|larger smaller|largest smallest|big small|bigger smaller"
    "|biggest smallest|long short|longer shorter|longest shortest|tall short|tallest shortest|old new|old young"
    "|older younger|oldest youngest|ancient modern|past future|fast slow|faster slower|quickly slowly"
    "|strong weak|stronger weaker|easy hard|easy difficult|easier harder|begin end|began ended|start end"
    "|start stop|start finish|open close|win lose|won lost|winner loser|buy sell|bought sold|gain lose"
    "|gained lost|rise fall|rose fell|grow shrink|grow decline|grew declined|above below|over under"
    "|inside outside|internal external|inner outer|upper lower|top bottom|left right|male female|man woman"
    "|men women|father mother|son daughter|brother sister|king queen|husband wife|born died|birth death"
    "|build destroy|built destroyed|create destroy|add remove|accept reject|allow forbid|allow prohibit"
    "|allow prevent|cause prevent|permit prohibit|ban allow|common rare|same different|similar different"
    "|positive negative|true false|public private|rich poor|minimum maximum|import export|enter leave"
    "|join leave|arrive leave|arrive depart|support oppose|friend enemy|ally enemy|war peace|success failure"
    "|succeed fail|day night|hot cold|hotter colder|warm cool|heat cool|wet dry|light dark|light heavy"
    "|thick thin|wide narrow|deep shallow|full empty|tight loose|dense sparse|near far|nearest farthest"
    "|closest farthest|always never|simple complex|natural artificial|urban rural|majority minority|major minor"
    "|primary secondary|victory defeat|attack defend|encourage discourage|include exclude|push pull"
    "|temporary permanent|local global|domestic foreign|unite divide|expand shrink|expansion contraction"
    "|attract repel|appoint dismiss|predecessor successor|ancestor descendant|input output|send receive"
    "|sent received|lend borrow|give take|gave took|multiply divide|horizontal vertical|advantage disadvantage"
    "|survive die"
)
_KOREAN = (
    "처음 마지막|최초 최후|최초 마지막|최고 최저|최고 최악|최대 최소|최다 최소|최대 최저|이전 이후|증가 감소"
    "|상승 하락|승리 패배|찬성 반대|남성 여성|아버지 어머니|아들 딸|전반 후반|합격 불합격|수입 수출|북쪽 남쪽"
    "|동쪽 서쪽|북부 남부|동부 서부"
)
_PREFIXED = re.compile(r"(?:un|in|im|il|ir|dis|non)(\w{4,})")

# A question that denies, and a sentence that does so in whatever words.
_DENIED = re.compile(
    r"\b(?i:not|never|no|nor|neither|none|nobody|without|cannot)\b|n['’]t\b|\b[Nn]on-|않|아닌|아니|없는|없었|못하|못한|못했"
)
_DENYING = re.compile(
    r"\b(?i:not|never|no|nor|neither|none|nobody|nothing|without|cannot|fail(?:s|ed)?|unable|lack(?:s|ed)?|except|hardly"
    r"|rarely|refus\w+|prevent\w*|prohibit\w*|stop\w*|den(?:y|ies|ied)|reject\w*|unlike|instead of|rather than)\b"
    r"|n['’]t\b|\b[Nn]on-|않|없|아니|아닌|못하|못한|못했|외에|제외|불가|금지|거부|반대|실패|중단"
)


def is_denied(question: str) -> bool:
    """Whether a question asks for what is not so."""
    return _DENIED.search(question) is not None


def denies(sentence: str) -> bool:
    """Whether a sentence says of something that it is not so."""
    return _DENYING.search(sentence) is not None


def says_opposite(asked: Collection[str], said: Collection[str]) -> bool:
    """Whether a stem of a question is missing among a sentence's, and its opposite stands there."""
    missing = [stem for stem in asked if stem not in said]
    return any(not _opposites().get(stem, frozenset()).isdisjoint(said) for stem in missing) or any(
        _is_negated(stem, said) for stem in missing
    )


def says_korean_opposite(question: str, sentence: str) -> bool:
    """The same of Korean words, which stand within others."""
    return any(
        (one in question and one not in sentence and other in sentence)
        or (other in question and other not in sentence and one in sentence)
        for one, other in _pairs(_KOREAN)
    )


def _is_negated(stem: str, said: Collection[str]) -> bool:
    """Whether a stem is another one's with a negating prefix, as illegitimate is of legitimate."""
    match = _PREFIXED.fullmatch(stem)
    return match is not None and match[1] in said


@functools.cache
def _opposites() -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for one, other in _pairs(_ENGLISH):
        one, other = folded_term(one), folded_term(other)
        found.setdefault(one, set()).add(other)
        found.setdefault(other, set()).add(one)
    return {stem: frozenset(stems) for stem, stems in found.items()}


@functools.cache
def _pairs(listed: str) -> tuple[tuple[str, str], ...]:
    return tuple((one, other) for one, _, other in (pair.partition(" ") for pair in listed.split("|")))
