"""How surely a word finds the one file that has it: Korean words as they are typed, English words, identifiers.

What has it is told from the files' own text, whole, and not by kb's index. A Korean word is a run of Hangul; one that
is written with a particle in one place and without in another is one word. English words are compared without letter
case, numbers without the commas in them; an underscore belongs to the word it is in, and Hangul behind Latin letters or
digits does not. A word is asked as the file has it: without its particle only where it stands so somewhere in the file.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.embedded_base import embedded
from benchmarks.installed_models import CACHE, installed_models
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.remembered_questions import remembered_questions
from kb.domain.search import SearchMode, SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

FOLDERS = {"notes-ko": "notes-ko", "xling-fastapi": "xling-fastapi/corpus"}
OWN = Path(__file__).parents[1] / "fixtures/vault"
"""Notes that come with kb: few, so fewer words are drawn, and no target is set."""
MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
HITS = 10
LEAST_IN_TEN, LEAST_FIRST = 0.99, 0.93
DRAWN = {"Korean": 150, "English": 150}
IDENTIFIERS = 60
"""In all: as many of each kind below as there are, in turn."""

_HANGUL = re.compile(r"(?<![^\W_])[가-힣]{3,}(?![^\W_])")
_PARTICLE = re.compile(
    r"(?<=[가-힣]{2})(?:에서는|에서도|에서의|으로는|으로의|이라는|까지는|부터는|에게는|입니다|에서|에게|으로|까지|부터|처럼|보다"
    r"|이나|이란|이고|이다|들은|들이|들을|들의|은|는|이|가|을|를|에|의|도|로|와|과|만|나|란)$"
)
_ENGLISH = re.compile(r"(?<![A-Za-z0-9_])[A-Za-z]{3,20}(?![A-Za-z0-9_])")
_NAME = re.compile(r"(?<![A-Za-z0-9_.,/:#@+%-])[A-Za-z0-9][A-Za-z0-9_.,/:#@+-]{1,58}[A-Za-z0-9](?![A-Za-z0-9_])")
_KINDS = {
    "letters and digits": re.compile(r"[A-Za-z]+[0-9][A-Za-z0-9]*|[0-9]+[A-Za-z][A-Za-z0-9]*"),
    "dotted": re.compile(r"[A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)+"),
    "snake or camel": re.compile(r"[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|[A-Za-z]*[a-z][A-Z][A-Za-z]*"),
    "number": re.compile(r"[1-9][0-9]{0,2}(?:,[0-9]{3})+|[1-9][0-9]{2,9}"),
    "path": re.compile(
        r"[A-Za-z0-9_.-]+/(?:[A-Za-z0-9_.-]+/)*(?:[A-Za-z0-9_-]+/[A-Za-z0-9_-]+|[A-Za-z0-9_.-]+\.[a-z0-9]{1,5})"
    ),
}


class Drawn(NamedTuple):
    """A word that one file has, as it is asked."""

    kind: str
    text: str
    path: str


class Place(NamedTuple):
    """Where the file of a drawn word was found: the rank of its first passage, 0 where it is not among the hits."""

    drawn: Drawn
    rank: int


def measure(data: Path | None, *, seed: int = 1, modes: Sequence[SearchMode] = MODES) -> Measurement:
    """The share of drawn words whose file is among ten hits, and first, by folder, kind and mode."""
    if data is None:
        raise SystemExit("words needs --data DIR")
    folders = {name: data / path for name, path in FOLDERS.items()} | {"fixtures/vault": OWN}
    rows: list[tuple[str | int | float, ...]] = []
    targets: list[Target] = []
    missed: list[str] = []
    with remembered_questions(installed_models() / CACHE / "questions.sqlite"):
        for name, folder in folders.items():
            drawn = draw(texts_of(folder), seed)
            with embedded(folder, name) as base:
                for mode in modes:
                    places = ask_all(base, drawn, mode)
                    rows += [(name, mode, *row) for row in _by_kind(places)]
                    if folder != OWN:
                        targets += _targets(f"{name}, {mode}", places)
                    missed += [f"{name}, {mode}: {each.drawn.text} ({each.rank or '-'})" for each in _low(places)]
    table = Table("Words of one file", ("folder", "mode", "kind", "words", "in ten", "first"), tuple(rows))
    return Measurement("words", (table,), tuple(targets), {"seed": seed, "not_first": missed})


def texts_of(folder: Path) -> dict[str, str]:
    """The text of each Markdown file below a folder, by its path."""
    files = sorted(path for path in folder.rglob("*.md") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8-sig") for path in files}


def draw(texts: Mapping[str, str], seed: int) -> list[Drawn]:
    """Words and identifiers that exactly one file has; the same ones for a seed."""
    chance = random.Random(seed)
    drawn: list[Drawn] = []
    for kind, found in (("Korean", _korean(texts)), ("English", _english(texts))):
        drawn += chance.sample(found, min(DRAWN[kind], len(found)))
    left = {kind: list(_identifiers(texts, kind, chance)) for kind in _KINDS}
    chosen: list[Drawn] = []
    while len(chosen) < IDENTIFIERS and any(left.values()):
        chosen += [found.pop() for found in left.values() if found][: IDENTIFIERS - len(chosen)]
    return drawn + chosen


def _korean(texts: Mapping[str, str]) -> list[Drawn]:
    written: dict[str, dict[str, set[str]]] = {}
    for path, text in texts.items():
        for word in _HANGUL.findall(text):
            written.setdefault(_PARTICLE.sub("", word), {}).setdefault(path, set()).add(word)
    found = []
    for bare, files in written.items():
        (path, forms), *others = files.items()
        asked = bare if bare in forms else min(forms)
        if not others and len(asked) >= 3:
            found.append(Drawn("Korean", asked, path))
    return found


def _english(texts: Mapping[str, str]) -> list[Drawn]:
    files: dict[str, dict[str, str]] = {}
    for path, text in texts.items():
        for word in _ENGLISH.findall(text):
            files.setdefault(word.lower(), {}).setdefault(path, word)
    return [Drawn("English", *reversed(*found.items())) for found in files.values() if len(found) == 1]


def _identifiers(texts: Mapping[str, str], kind: str, chance: random.Random) -> Iterator[Drawn]:
    names = {name: path for path, text in texts.items() for name in _NAME.findall(text) if _is_of(kind, name)}
    candidates = sorted(names)
    chance.shuffle(candidates)
    kept = 0
    for name in candidates:
        if kept < IDENTIFIERS and _files_with(name, kind, texts) == 1:
            kept += 1
            yield Drawn(kind, name, names[name])


def _is_of(kind: str, name: str) -> bool:
    return _KINDS[kind].fullmatch(name) is not None


def _files_with(name: str, kind: str, texts: Mapping[str, str]) -> int:
    if kind == "number":
        digits = name.replace(",", "")
        written = f"(?:{digits}|{int(digits):,})"
        anywhere = re.compile(rf"(?<![\d.,A-Za-z_]){written}(?![A-Za-z_]|[.,]?\d)")
    else:
        anywhere = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", re.IGNORECASE)
    return sum(anywhere.search(text) is not None for text in texts.values())


def ask_all(base: KnowledgeBase, drawn: Sequence[Drawn], mode: SearchMode) -> list[Place]:
    """Each word searched for by itself, in one process."""
    places = []
    with open_base(base.config, many=True) as session:
        for each in drawn:
            paths = [hit.doc_path for hit in search(session, SearchQuery(each.text, mode, HITS)).hits]
            places.append(Place(each, paths.index(each.path) + 1 if each.path in paths else 0))
    return places


def _by_kind(places: Sequence[Place]) -> Iterator[tuple[str, int, float, float]]:
    for kind in dict.fromkeys(each.drawn.kind for each in places):
        yield kind, *_shares([each for each in places if each.drawn.kind == kind])
    yield "all", *_shares(places)


def _shares(places: Sequence[Place]) -> tuple[int, float, float]:
    in_ten, first = sum(each.rank > 0 for each in places), sum(each.rank == 1 for each in places)
    return len(places), round(in_ten / len(places), 3), round(first / len(places), 3)


def _targets(label: str, places: Sequence[Place]) -> Iterator[Target]:
    for kind in ("Korean", "English", "identifiers"):
        of_kind = [
            each
            for each in places
            if (each.drawn.kind in DRAWN and each.drawn.kind == kind)
            or (kind == "identifiers" and each.drawn.kind not in DRAWN)
        ]
        _, in_ten, first = _shares(of_kind)
        yield Target(f"{label}, {kind}: in ten", in_ten, "≥", LEAST_IN_TEN)
        yield Target(f"{label}, {kind}: first", first, "≥", LEAST_FIRST)


def _low(places: Sequence[Place]) -> list[Place]:
    return [each for each in places if each.rank != 1]
