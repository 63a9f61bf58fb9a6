"""Source code as packages ship it, with questions about it whose lines another program, universal-ctags, gives.

Source distributions (pip), packages of npm and source packages of Debian, all under permissive licences, are fetched
into a cache folder and unpacked; nothing of them is kept in the project. A question is made of a definition that has
its name alone: by the name, by the first sentence of the comment above it or in it, by what that sentence says without
the words of the name, and by a line of a stack trace.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from kb.domain.kinds import media_type_of
from kb.extract.code.left_out import reason_left_out
from kb.language.lists import english_stopwords
from kb.language.names import parts_of

Kind = Literal["name", "bare name", "korean", "doc", "behaviour", "trace"]
KINDS: dict[Kind, int] = {"name": 60, "bare name": 30, "korean": 30, "doc": 60, "behaviour": 60, "trace": 20}
"""How many questions of each kind are asked: a half by what the code does, not by a name."""

SDISTS = ("click", "requests", "flask", "attrs", "pybind11", "kiwisolver", "ujson", "jpype1", "bcrypt", "tiktoken")
NPM = ("express", "koa", "commander", "zod", "react-native-screens", "react-native-svg")
DEBIAN = (
    "golang-github-spf13-cobra",
    "golang-github-gorilla-mux",
    "rust-hashbrown",
    "rust-log",
    "rust-semver",
    "rust-clap-builder",
    "rust-bitflags",
)

_LANGUAGES = {
    "Python": "python",
    "Rust": "rust",
    "Go": "go",
    "Java": "java",
    "Kotlin": "kotlin",
    "C": "c",
    "C++": "cpp",
    "JavaScript": "javascript",
    "TypeScript": "typescript",
}
_KINDS = frozenset("function method class struct interface func type trait enum".split())
_MOST_BYTES = 400_000
_MOST_FILES = 120
_COMPILED = re.compile(r"\.d\.[cm]?ts\Z|\.[cm]ts\Z|/lib/(?:commonjs|module|typescript)/|/deps/")
SEED = 14
"""That of the questions that are measured; weights are fitted on those of another."""
_WORD = re.compile(r"[A-Za-z][A-Za-z']+")
_COMMENT = re.compile(r"^\s*(?:/\*\*?|\*/|\*|///?!?|#+!?|\"\"\"|''')\s?|\s*(?:\*/|\"\"\")\s*$")
_DOC_CHARS = (30, 160)
_LEAST_WORDS = 5


class Question(NamedTuple):
    """A question about code and the lines that answer it; `line` is that of the definition itself, or of the trace.

    `end` is 0 where ctags does not know it.
    """

    kind: Kind
    text: str
    language: str
    path: str
    line: int
    start: int
    end: int


class _Tag(NamedTuple):
    name: str
    path: str
    language: str
    line: int
    end: int


def fetch_sources(cache: Path) -> Path:
    """The folder of unpacked sources; fetched once."""
    return fetch_packages(cache, SDISTS, NPM, DEBIAN)


def fetch_packages(cache: Path, sdists: Sequence[str], npm: Sequence[str], debian: Sequence[str]) -> Path:
    """The folder below `cache` of the unpacked sources of these packages of PyPI, npm and Debian; fetched once."""
    root = cache / "sources"
    if (root / ".complete").exists():
        return root
    archives = cache / "archives"
    archives.mkdir(parents=True, exist_ok=True)
    for name in sdists:
        _run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", name, "-d", ".", name], archives
        )
    for name in npm:
        _run(["npm", "pack", "--silent", name], archives)
    if shutil.which("apt-get"):
        for name in debian:
            _run(["apt-get", "source", "--download-only", "-q", name], archives)
    for archive in sorted(archives.iterdir()):
        if (".tar" in archive.name or archive.suffix == ".tgz") and ".debian." not in archive.name:
            _unpack(archive, root / re.split(r"[-_]\d", archive.name)[0])
    (root / ".complete").touch()
    return root


def files_of(root: Path) -> list[str]:
    """The source files below `root` that kb reads, in order, the first of each package; no output of compilers."""
    paths = (path for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink())
    names = [path.relative_to(root).as_posix() for path in paths]
    source = [name for name in names if (media_type_of(name) or "").startswith("code/") and _is_kept(root, name)]
    package = Counter[str]()
    package_of = {name: name.partition("/")[0] for name in source}
    kept = []
    for name in source:
        package[package_of[name]] += 1
        if package[package_of[name]] <= _MOST_FILES:
            kept.append(name)
    return kept


def questions_of(root: Path, files: Sequence[str], seed: int = SEED) -> list[Question]:
    """The questions, the same for the same sources and seed."""
    tags = [tag for tag in _tags(root, files) if "test" not in tag.path.lower() and "example" not in tag.path.lower()]
    counts = Counter(tag.name.lower() for tag in tags)
    alone = [tag for tag in tags if counts[tag.name.lower()] == 1 and len(tag.name) > 3]
    chance = random.Random(seed)
    chance.shuffle(alone)
    texts = {path: (root / path).read_text("utf-8", "replace").split("\n") for path in {tag.path for tag in alone}}
    asked = list(_even(alone))
    documented = [(tag, doc) for tag in asked if (doc := _doc(tag, texts[tag.path]))]
    said = Counter(doc for _, doc in documented)
    documented = [(tag, doc) for tag, doc in documented if said[doc] == 1]
    found: list[Question] = []
    for kind, many in KINDS.items():
        if kind in ("doc", "behaviour"):
            made = [(tag, _described(kind, tag, doc)) for tag, doc in documented]
            documented = documented[many:]
        else:
            made = [(tag, _by_name(kind, tag, chance)) for tag in asked]
            asked = asked[many:]
        for tag, text in [(tag, text) for tag, text in made if text][:many]:
            line = int(text.rpartition(" ")[2].rstrip(")")) if kind == "trace" else tag.line
            found.append(Question(kind, text, tag.language, tag.path, line, tag.line, tag.end))
    return found


def _even(tags: Sequence[_Tag]) -> Iterator[_Tag]:
    """The tags, every language in turn."""
    by_language: dict[str, list[_Tag]] = {}
    for tag in tags:
        by_language.setdefault(tag.language, []).append(tag)
    while by_language:
        for language in sorted(by_language):
            yield by_language[language].pop()
            if not by_language[language]:
                del by_language[language]


def _by_name(kind: Kind, tag: _Tag, chance: random.Random) -> str:
    if kind == "name":
        return f"Where is {tag.name} defined?"
    if kind == "korean":
        return f"{tag.name}는 어디에 정의돼 있나?"
    if kind == "trace":
        return f'File "/build/{tag.path}", line {chance.randint(tag.line, tag.end)}' if tag.end else ""
    return tag.name


def _described(kind: Kind, tag: _Tag, doc: str) -> str:
    """The sentence that documents the definition; as behaviour without the words of its name, as a question."""
    if kind == "doc":
        return doc
    named = {part[:4] for part in parts_of(tag.name)}
    kept = [word for word in _WORD.findall(doc) if word.lower()[:4] not in named and word.lower() != tag.name.lower()]
    content = [word for word in kept if word.lower() not in english_stopwords()]
    return f"what code does this: {' '.join(kept)}" if len(content) >= _LEAST_WORDS else ""


def _doc(tag: _Tag, lines: Sequence[str]) -> str:
    """The first sentence of the comment above a definition, or of a Python definition's doc string."""
    own: list[str] = []
    if tag.language == "python":
        at = tag.line
        while at < min(len(lines), tag.line + 12) and not lines[at - 1].rstrip().endswith(":"):
            at += 1
        if at < len(lines) and lines[at].strip().startswith('"""'):
            own = list(lines[at : at + 4])
    else:
        at = tag.line - 2
        while at >= 0 and re.match(r"\s*(?:#\[|@)", lines[at]):
            at -= 1
        while at >= 0 and re.match(r"\s*(?://|/\*|\*)", lines[at]):
            own.insert(0, lines[at])
            at -= 1
    text = " ".join(" ".join(_COMMENT.sub("", line) for line in own).replace('"""', " ").split())
    sentence = re.split(r"(?<=[.!?])\s|\s@|\s:\w+", text)[0]
    is_prose = sentence[:1].isalpha() and "NOLINT" not in sentence
    return sentence if is_prose and _DOC_CHARS[0] <= len(sentence) <= _DOC_CHARS[1] else ""


def _tags(root: Path, files: Sequence[str]) -> Iterator[_Tag]:
    """What universal-ctags finds in the files, with their ends."""
    command = ["ctags", "--output-format=json", "--fields=+neKl", "--sort=no", "-f", "-", "-L", "-"]
    done = subprocess.run(command, cwd=root, input="\n".join(files), capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        tag = json.loads(line)
        language = _LANGUAGES.get(tag.get("language", ""))
        if (
            language
            and tag.get("kind") in _KINDS
            and re.fullmatch(r"(?!__anon|Anonymous)[A-Za-z_$][\w$]*", tag["name"])
        ):
            yield _Tag(tag["name"], tag["path"], language, tag["line"], tag.get("end", 0))


def _is_kept(root: Path, name: str) -> bool:
    if _COMPILED.search(name):
        return False
    data = (root / name).read_bytes()
    return len(data) <= _MOST_BYTES and reason_left_out(data, name) is None


def _unpack(archive: Path, into: Path) -> None:
    with tarfile.open(archive) as packed:
        packed.extractall(into, filter="data")


def _run(command: Sequence[str], folder: Path) -> None:
    """A package that cannot be fetched is left out; the table says how much there is."""
    subprocess.run(command, cwd=folder, capture_output=True, check=False)
