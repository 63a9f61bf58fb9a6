"""The objects of files around source code that a question names: by what they are, and their name, in any order.

`Kubernetes Deployment named redis`, `redis-sentinel 이름의 쿠버네티스 Service`; a name alone is too plain a word.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

from kb.language.lists import is_stopword, pattern, rows, words
from kb.language.names import singular, squashed
from kb.records import NamedTuple
from kb.store import queries

# A name of one plain word is meant where nothing is said beside it and what it is; one word may be, where it is said of
# what kind and where: a service of Compose.
_FEW_BESIDE_PLAIN = {1: 0, 2: 1}
# Names of kinds are of so many words at most: `horizontal pod autoscaler`.
_WORDS_OF_KIND = 3
_TOKEN = re.compile(r"[^\s\"'`“”‘’«»「」(),;?!]+")
# What stands right behind a name in Hangul is a particle.
_BARE = re.compile(r"(?P<name>[!-~]*[A-Za-z0-9}])(?:[.:]*|[가-힣]+[.:]*)")
_PLAIN = re.compile(r"[A-Za-z]+")
# Of these a name that is no plain word is meant also by itself; packages and images are rather what notes are about.
_ALONE = ("resource", "stage", "service", "job")
_GROUP_OF = {
    "resource": "kubernetes",
    "stage": "dockerfile",
    "image": "dockerfile",
    "service": "compose",
    "job": "ci",
    "package": "manifest",
    "dependency": "manifest",
}


class AskedObjects(NamedTuple):
    """The objects that a question means, as (kind, name in full), and how many words it says beside them."""

    meant: frozenset[tuple[str, str]]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    words_beside: int


def name_forms(text: str) -> list[str]:
    """What objects may be called of each word of a question, squashed: an image without its tag, a path by its end."""
    return [form for token in _names(text) for form in _forms(token)]


def asked_objects(text: str, known: Sequence[queries.SymbolName]) -> AskedObjects:
    """The objects that a question names, of those that are `known` by one of its `name_forms`."""
    found: dict[str, list[queries.SymbolName]] = {}
    for each in known:
        if each.kind is not None:
            found.setdefault(squashed(each.name), []).append(each)
    tokens = _TOKEN.findall(text) if found else []
    said = _kinds(tokens, {_kind(each) for held in found.values() for each in held})
    used = {at for span in said for at in span}
    scored: list[tuple[tuple[int, int], queries.SymbolName, int]] = []
    for at, token in enumerate(tokens):
        name = _bare(token) or ""
        called = [each for form in _forms(name) for each in found.get(form, ())]
        terms = frozenset[str]().union(*(of_span for span, of_span in said.items() if at not in span)) if called else ()
        for each in called:
            many = len({_kind(each), _GROUP_OF[each.kind or ""]}.intersection(terms))
            if many or (each.kind in _ALONE and not _PLAIN.fullmatch(name)):
                scored.append(((many, _exactness(name, each)), each, at))
    named = {at for *_, at in scored}
    beside = sum(at not in used | named and _says_something(token) for at, token in enumerate(tokens))
    best = max((rank for rank, *_ in scored), default=(0, 0))
    meant = [
        each
        for rank, each, at in scored
        if rank == best
        and (best[0] or not beside)
        and (beside <= _FEW_BESIDE_PLAIN.get(best[0], 0) or not _PLAIN.fullmatch(_bare(tokens[at]) or ""))
    ]
    return AskedObjects(
        frozenset((each.kind or "", each.qualified or "") for each in meant),
        tuple(dict.fromkeys(each.name for each in meant)),
        tuple(sorted(frozenset[str]().union(*said.values()))) if meant else (),
        beside,
    )


def _exactness(name: str, known: queries.SymbolName) -> int:
    """How far a word is the name: its last part, all of it in another case, as it is, or also in full."""
    whole = known.qualified or ""
    if squashed(name) not in (squashed(known.name), squashed(whole)):
        return 0
    return 1 + (name in (known.name, whole)) + (name == whole or known.kind == "resource")


def _kinds(tokens: Sequence[str], of_known: set[str]) -> dict[tuple[int, ...], frozenset[str]]:
    """The kinds and groups that words of a question say, by the places of those words; the longest of them count."""
    said: dict[tuple[int, ...], frozenset[str]] = {}
    used: set[int] = set()
    for many in range(_WORDS_OF_KIND, 0, -1):
        for at in range(len(tokens) - many + 1):
            span = tuple(range(at, at + many))
            if used.isdisjoint(span) and (terms := _terms(tokens[at : at + many], of_known)):
                said[span] = terms
                used.update(span)
    return said


def _terms(tokens: Sequence[str], of_known: set[str]) -> frozenset[str]:
    """The kinds that these words together are called; the last may have a particle, or be in the plural."""
    joined = squashed("".join(tokens))
    before = len(squashed("".join(tokens[:-1])))
    longer = (key for key in _vocabulary() if len(key) > before and not key.isascii() and joined.startswith(key))
    hangul = max(longer, key=len, default="")
    latin = squashed("".join([*tokens[:-1], _bare(tokens[-1]) or tokens[-1]]))
    for word in (latin, singular(latin), hangul):
        if word in _vocabulary():
            return _vocabulary()[word]
        if word in of_known:
            return frozenset((word,))
    return frozenset()


@functools.cache
def _vocabulary() -> dict[str, frozenset[str]]:
    """The kinds by each of the words that name them."""
    found: dict[str, frozenset[str]] = {}
    for kind, texts in rows("object_words").items():
        if kind not in ("filler", "asking"):
            for word in [kind, *" ".join(texts).split()]:
                found[word] = found.get(word, frozenset()) | {kind}
    return found


def _kind(known: queries.SymbolName) -> str:
    """`deployment` of `Deployment/redis`, else what the kind is."""
    kind = known.kind or ""
    return squashed((known.qualified or "").partition("/")[0]) if kind == "resource" else kind


def _names(text: str) -> Iterator[str]:
    return filter(None, map(_bare, _TOKEN.findall(text)))


def _bare(token: str) -> str | None:
    """A word of a question as a name: without what stands behind it; None of a word in Hangul."""
    match = _BARE.fullmatch(token)
    return match["name"] if match else None


def _forms(name: str) -> set[str]:
    last = re.sub(r"/v\d+\Z", "", name).rpartition("/")[2]
    return {squashed(form) for form in (name, last, *re.split(r"[:@]", last)) if squashed(form)}


def _says_something(token: str) -> bool:
    word = (_bare(token) or token).lower()
    if word in words("object_words", "filler") or word in words("code_words", "about") or is_stopword(word):
        return False
    if word.isascii():
        return True
    return not (pattern("object_words", "asking").match(word) or pattern("code_words", "about_korean").match(word))
