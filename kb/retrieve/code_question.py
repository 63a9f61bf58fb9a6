"""Parses a question about source code: names, words, the places of a stack trace, and objects.

Objects are declared in files around source code. A question asks for one by its kind and name in any order: `Kubernetes
Deployment named redis`, `redis-sentinel 이름의 쿠버네티스 Service`. A name alone is too ordinary a word.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kb.domain.symbols import OBJECT_KINDS
from kb.language.lists import english_stopwords, is_stopword, pattern, rows, words
from kb.language.names import IDENTIFIER, dotted, is_identifier_like, parts_of, singular, squashed
from kb.store import queries
from kb.store.connection import Connection
from kb.store.tokens import indexed_token

# A word; what stands right behind Latin letters in another script is a particle: `refresh를`.
_WORD = re.compile(r"[A-Za-z0-9]+|(?<![A-Za-z0-9])[^\W_A-Za-z0-9]+")
_READ_CHARS = 4_000
_MAX_TERMS = 48
# A question of so many words beside those that ask may mean a plain word as a name; of more, it describes more than
# it names.
FEW_WORDS = 3
# A plain word is a name where a question about code says no more beside it than where that is.
_NAME_AND_PLACE = 2
_WITH_ARTICLE = re.compile(r"\b(?:an?|the) ([A-Za-z]\w*)", re.IGNORECASE)
# `pkg.(*Foo).Bar`
_RECEIVER = re.compile(r"\(\*?([A-Za-z_]\w*)\)\.")
_QUOTED = re.compile(r"`([^`\n]+)`")

# What a question asks which of that asks for a definition of whatever file: a function, a module.
ANY_KIND = "*"


class TraceLine(NamedTuple):
    """A line of a file as a stack trace or an error message names it."""

    path: str
    line: int


class CodeQuestion(NamedTuple):
    """A question as source code is searched for it.

    `tokens` are pairs of a word as the index stores it and as it is searched; `match_expr` joins them. `named` are the
    definitions that the question names, spelled as they are defined; `spelled` are these names as the question spells
    them; `objects` are those of them that are objects of a kind that the question says, with their full names.
    `qualified` are names with what is written around them: `Foo.bar`. `used` are the names whose uses it asks for.
    `owner_expr` finds what mentions the type or module that the names are said to belong to. `files` are paths, or ends
    of paths, that it names. `words_beside` counts its words besides the names.

    `is_of_code`: the question cannot mean notes. `asked_kind`: it asks which `test` or which `migration` (a word of
    paths), or for some definition (ANY_KIND); mostly None. `is_how_to`: it asks how, when, why, or by which setting,
    which notes explain. `searched_share`: the share of its words, 0 to 1, by which code is searched; words that only
    say that the question is about code are left to notes.
    """

    match_expr: str
    tokens: tuple[tuple[str, str], ...]
    terms: tuple[str, ...]
    named: tuple[str, ...]
    objects: frozenset[tuple[str, str]]
    spelled: frozenset[str]
    qualified: tuple[str, ...]
    used: tuple[str, ...]
    owner_expr: str
    places: tuple[TraceLine, ...]
    files: tuple[str, ...]
    words_beside: int
    wants_tests: bool
    wants_stubs: bool
    is_of_code: bool
    asked_kind: str | None
    is_how_to: bool
    searched_share: float


def names_tests(text: str) -> bool:
    """Whether a question or a path names tests: `tests/`, `FooTest`, `testing`, but not `latest`."""
    return any(part.startswith("test") or part == "conftest" for part in parts_of(text))


def read_code_question(db: Connection, text: str, terms: Sequence[str]) -> CodeQuestion:
    """Parses a question for a search of code; `terms` are its search terms among notes, Korean ones as morphemes."""
    text = _RECEIVER.sub(r"\1.", text[:_READ_CHARS])
    places = tuple(_places(text))
    bare = pattern("code_words", "frame").sub(" ", text) if places else text
    written = list(dict.fromkeys(match[0] for match in IDENTIFIER.finditer(bare)))
    candidates = _candidates(bare, written)
    found = _known(db, [*map(squashed, candidates), *name_forms(bare)])
    objects = asked_objects(bare, found)
    known = list(dict.fromkeys(row.name for row in found if row.kind is None))
    naming = [_without_ending(name, known) for name in written]
    names = _candidates(bare, naming)
    spelled = {squashed(name) for name in known if name in names}
    known = [name for name in known if name in names or squashed(name) in set(map(squashed, names)) - spelled]
    searched = list(dict.fromkeys([*objects.kinds, *_searched(text, written, terms)]))[:_MAX_TERMS]
    named = tuple(dict.fromkeys([*_meant(known, names, text, naming), *objects.names]))
    tokens = {token: word for word in searched if (token := indexed_token(db, word))}
    words_beside = len(_content(bare) - {name.lower() for name in named for name in _WORD.findall(name)})
    if objects.meant:
        words_beside = min(words_beside, objects.words_beside)
    qualified = tuple(dotted(name) for name in naming if dotted(name).count("."))
    owners = [name.split(".")[-2] for name in qualified]
    means_names = any(_is_written_as_name(name, text) for name in names if squashed(name) in map(squashed, named))
    return CodeQuestion(
        match_expr=" OR ".join(f'"{word}"' for word in tokens.values()),
        tokens=tuple(tokens.items()),
        terms=tuple(dict.fromkeys([*searched, *written])),
        named=named,
        objects=objects.meant,
        spelled=frozenset([*names, *objects.names]),
        qualified=qualified,
        used=tuple(_used(named, qualified, text, names)),
        owner_expr=" OR ".join(f'"{name}"' for name in owners),
        places=places,
        files=tuple(match[0] for match in pattern("code_words", "file").finditer(bare)),
        words_beside=words_beside,
        wants_tests=names_tests(text),
        wants_stubs=bool(pattern("code_words", "stub", re.IGNORECASE).search(text)),
        is_of_code=bool(places)
        or (
            words_beside <= FEW_WORDS and bool(named) and (means_names or bool(objects.meant) or _speaks_of_code(text))
        ),
        asked_kind=_asked_kind(text),
        is_how_to=bool(pattern("code_words", "how_to", re.IGNORECASE).search(text)),
        searched_share=len(tokens) / (len(tokens) + _left_to_notes(terms)) if tokens else 0.0,
    )


def _known(db: Connection, names: Sequence[str]) -> list[queries.SymbolName]:
    """The names of definitions that equal one of `names` after `squashed`."""
    if not names:
        return []
    objects = json.dumps(sorted(OBJECT_KINDS))
    return queries.select_symbol_names(db, names_json=json.dumps(list(dict.fromkeys(names))), objects_json=objects)


def _without_ending(name: str, known: Sequence[str]) -> str:
    """`load_rows` for `load_rows.sql` if that is the name of a definition: the part after the dot is no member."""
    stem, dot, ending = name.rpartition(".")
    is_file = dot and ending in words("code_words", "file_ending") and stem[:1].islower()
    return stem if is_file and squashed(stem) in map(squashed, known) else name


def _asked_kind(text: str) -> str | None:
    found = pattern("code_words", "which", re.IGNORECASE).search(text)
    kind = found["kind"].lower() if found else ""
    if kind in words("code_words", "naming"):
        return ANY_KIND
    return singular(kind) if kind and not _says_nothing(kind) else None


def _left_to_notes(terms: Sequence[str]) -> int:
    """The number of terms that only say that the question is about code."""
    return len({term.lower() for term in terms} & (words("code_words", "about") - words("code_words", "naming")))


def _candidates(text: str, written: Sequence[str]) -> list[str]:
    """The words that may name a definition: all but stop words, and each part of `Foo.bar`."""
    quoted = {part for each in _QUOTED.findall(text) for part in re.split(r"\W+", each) if part}
    parts = list(dict.fromkeys(part for name in written for part in dotted(name).split(".")))
    found = [part for part in parts if part in quoted or not _says_nothing(part)]
    return found or [part for part in parts if len(parts) == 1 or part.lower() not in english_stopwords()]


def _used(named: Sequence[str], qualified: Sequence[str], text: str, names: Sequence[str]) -> Iterator[str]:
    """The names whose uses the question asks for: `bar` for `Foo.bar`, and `load` but not `_load` if it says `load`."""
    around = {squashed(part) for name in qualified for part in name.split(".")[:-1]}
    exact = {squashed(name) for name in named if name in names}
    if pattern("code_words", "uses", re.IGNORECASE).search(text):
        for name in named:
            if squashed(name) not in around and (name in names or squashed(name) not in exact):
                yield name


def _meant(known: Sequence[str], names: Sequence[str], text: str, written: Sequence[str]) -> Iterator[str]:
    """The known names that the question means as names, not as ordinary words.

    A word that is written like code is a name. An ordinary word is one if the question says little else: with an inner
    capital, if the question has few words; without, if the word is the whole question, or the only thing asked of code.
    With an article or in capitals alone (PDF), a word is a noun. A word with more parts than the name does not mean it:
    `SQLite` is not `sqlite`.
    """
    wanted = {squashed(name): name for name in names}
    content = _content(text)
    first = (_WORD.search(text) or [""])[0]
    of_code = _speaks_of_code(text)
    # `which module reads …` describes what it asks for, and names nothing.
    is_code = of_code and len(content) <= (1 if _asked_kind(text) == ANY_KIND else _NAME_AND_PLACE)
    members = {part for each in written if "." in dotted(each) for part in dotted(each).split(".") if of_code}
    nouns = set(_WITH_ARTICLE.findall(text))
    for name in known:
        asked = wanted.get(squashed(name), "")
        as_name = _is_written_as_name(asked, text) or asked in members
        is_type = asked[:1].isupper() and (of_code or not asked.isupper())
        is_capital = is_type and asked != first and len(content) <= FEW_WORDS
        is_only = len(written) == 1 and (text.isascii() or (of_code and len(content) <= FEW_WORDS))
        is_all = is_only or (len(content) <= 1 and asked not in nouns)
        is_called = _asked_kind(text) != ANY_KIND and bool(asked) and _is_called_one(asked, text)
        if (as_name and len(parts_of(asked)) <= len(parts_of(name))) or (
            asked == name and (is_capital or is_code or is_all or is_called)
        ):
            yield name


def _is_written_as_name(name: str, text: str) -> bool:
    return is_identifier_like(name) or f"{name}(" in text or f"`{name}`" in text


def _is_called_one(name: str, text: str) -> bool:
    """Whether the word beside a name gives its kind: `the function pack`, `pack 함수`."""
    name = re.escape(name)
    before = pattern("code_words", "kind_before").pattern
    behind = pattern("code_words", "kind_behind").pattern
    return bool(re.search(rf"(?i:{before}) `?{name}\b|(?<![\w.]){name}`? ?(?:{behind})", text))


def _content(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text) if not _says_nothing(word)}


def _speaks_of_code(text: str) -> bool:
    """Whether a question says that it asks for a definition or for its uses."""
    asked = {word.lower() for word in _WORD.findall(text)}
    about = words("code_words", "naming")
    uses = pattern("code_words", "uses", re.IGNORECASE)
    korean_about = pattern("code_words", "about_korean")
    return bool(asked & about) or bool(uses.search(text)) or bool(korean_about.search(text))


def _searched(text: str, written: Sequence[str], terms: Sequence[str]) -> Iterator[str]:
    """The words by which code is searched: names, whole and in parts, and the terms of the question."""
    for name in written:
        for part in dotted(name).split("."):
            if len(written) == 1 or not _says_nothing(part):
                yield squashed(part)
                yield from parts_of(part)
    for term in terms:
        if not _says_nothing(term):
            yield term


def _says_nothing(word: str) -> bool:
    if is_stopword(word):
        return True
    if word.isascii():
        return word.lower() in words("code_words", "about")
    return pattern("code_words", "about_korean").fullmatch(word) is not None


def _places(text: str) -> Iterator[TraceLine]:
    """The places in a stack trace, innermost first: Python's traces end with it, others begin with it."""
    found = []
    for match in pattern("code_words", "frame").finditer(text):
        groups = match.groupdict()
        path, line = groups["python"] or groups["any"], groups["python_line"] or groups["any_line"]
        found.append((bool(groups["python"]), TraceLine(path.replace("\\", "/"), int(line))))
    is_python = bool(found) and found[0][0]
    yield from (place for _, place in (reversed(found) if is_python else found))


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
    """The objects that a question means, as pairs of kind and full name; `words_beside` counts its other words."""

    meant: frozenset[tuple[str, str]]
    names: tuple[str, ...]
    kinds: tuple[str, ...]
    words_beside: int


def name_forms(text: str) -> list[str]:
    """The names that objects may have for each word of a question, squashed: an image without tag, a path's end."""
    return [form for token in _names(text) for form in _forms(token)]


def asked_objects(text: str, known: Sequence[queries.SymbolName]) -> AskedObjects:
    """The objects that a question names, out of the `known` ones, which have a name among its `name_forms`."""
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
    """How exactly a word names an object: 0 not at all, 1 in another case, 2 by its last part, 3 by its full name."""
    whole = known.qualified or ""
    if squashed(name) not in (squashed(known.name), squashed(whole)):
        return 0
    return 1 + (name in (known.name, whole)) + (name == whole or known.kind == "resource")


def _kinds(tokens: Sequence[str], of_known: set[str]) -> dict[tuple[int, ...], frozenset[str]]:
    """The kinds and groups of objects that words of a question name, by the words' indices; the longest names count."""
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
    """The kinds that some words name together, empty if none; the last word may have a particle or be a plural."""
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
    """The kinds of objects by each word that names them."""
    found: dict[str, frozenset[str]] = {}
    for kind, texts in rows("object_words").items():
        if kind not in ("filler", "asking"):
            for word in [kind, *" ".join(texts).split()]:
                found[word] = found.get(word, frozenset()) | {kind}
    return found


def _kind(known: queries.SymbolName) -> str:
    """The kind of an object: `deployment` for `Deployment/redis`, otherwise the kind of the symbol."""
    kind = known.kind or ""
    return squashed((known.qualified or "").partition("/")[0]) if kind == "resource" else kind


def _names(text: str) -> Iterator[str]:
    return filter(None, map(_bare, _TOKEN.findall(text)))


def _bare(token: str) -> str | None:
    """A word of a question as a name, without a particle after it; None for a word in Hangul."""
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
