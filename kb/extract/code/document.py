"""Source file to document: bytes in, units with exact lines, symbols and references out.

    decode → by syntax, by section or by paragraph → units → blocks → Document

This never fails: a file that cannot be parsed is cut by paragraphs, with a warning where it should be parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from kb.domain.documents import Code, Document, Metadata, Warning
from kb.domain.ids import AssetId
from kb.domain.kinds import media_type_of
from kb.domain.spans import CodeSpan
from kb.domain.symbols import OBJECT_KINDS, Symbol, SymbolUse
from kb.domain.text import WorkspacePath
from kb.extract.code.grammars import GRAMMARS, lacking_module, parser_version
from kb.extract.code.sections import OVERLAP_LINES, PARAGRAPH_LINES, FilePart, objects_of, parts_of
from kb.extract.code.syntax import Mark, TooCostly, is_suspicious, parse, parse_in_worker
from kb.extract.decode import decode
from kb.extract.document_builder import DocumentBuilder, written_lines

_SHEBANG = re.compile(r"#!.*?\b(?P<program>python|bash|sh|zsh|dash|ksh|node|deno|bun)[\d.]*\b")
_OF_PROGRAM = {"python": "python", "node": "javascript", "deno": "typescript", "bun": "typescript"}
# A C++ header has the same extension as a C one.
_CPP = re.compile(r"^\s*(?:namespace\b|class\s+\w+|template\s*<|using\s+|public:|private:)", re.MULTILINE)
_SIGNATURE_CHARS = 240
_PACKAGE = {
    "go": re.compile(r"^package\s+(\w+)\s*(?:/[/*].*)?$", re.MULTILINE),
    "java": re.compile(r"^package\s+([\w.]+)\s*;", re.MULTILINE),
    "kotlin": re.compile(r"^package\s+([\w.]+)\s*;?\s*$", re.MULTILINE),
}
# A line that only closes brackets or blocks belongs to the previous lines.
_CLOSES = re.compile(r"[\s)}\];,]*(?:end|#endif.*|#else.*)?[\s;]*\Z")
_IMPORTS = re.compile(r"\s*(?:import|from|use|using|#\s*include|package|require|extern crate|pub use|mod)\b")
_NAMED = 3
_POINTER_RECEIVER = re.compile(r"func\s*\(\s*\w*\s*\*")


class FileUnit(NamedTuple):
    """Lines `start`..`end` of a file, from 1; `symbol` is the definition that they belong to, None outside of any.

    `names` describe lines outside of definitions: the small definitions in them, else `imports` or `statements`.
    """

    start: int
    end: int
    symbol: Symbol | None
    names: tuple[str, ...] = ()

    @property
    def path(self) -> tuple[str, ...]:
        """The names of the definitions around the unit, outermost first."""
        if self.symbol is None:
            return self.names_shown
        whole = self.symbol.qualified_name
        return (*([whole] if self.symbol.kind in OBJECT_KINDS else whole.split(".")), *self.names_shown)

    @property
    def names_shown(self) -> tuple[str, ...]:
        """The first name, followed by the number of further names; empty without names."""
        more = f" and {len(self.names) - _NAMED} more" if len(self.names) > _NAMED else ""
        return (", ".join(self.names[:_NAMED]) + more,) if self.names else ()


class _Read(NamedTuple):
    units: list[FileUnit]
    symbols: tuple[Symbol, ...] = ()
    references: tuple[SymbolUse, ...] = ()
    warnings: tuple[Warning, ...] = ()


def extract_code(data: bytes, *, workspace_path: WorkspacePath, asset_id: AssetId) -> Document:
    """The document in the bytes of one source file."""
    decoded = decode(data)
    text = decoded.text
    lines = text.split("\n")
    language = language_of(workspace_path, text)
    read = _read(text, lines, language, PurePosixPath(workspace_path).name)
    module = _module(workspace_path, text, language)
    names = {symbol.qualified_name: _qualified(symbol, module) for symbol in read.symbols}
    builder = DocumentBuilder(workspace_path, asset_id, parser_version())
    builder.warnings.extend((*decoded.warnings, *read.warnings))
    for unit in read.units:
        symbol = unit.symbol
        span = CodeSpan(
            unit.start,
            unit.end,
            ".".join(filter(None, (symbol and _qualified(symbol, module), *unit.names_shown))) or None,
            symbol.kind if symbol and not unit.names else None,
            language,
        )
        builder.add("code", Code(language, "\n".join(lines[unit.start - 1 : unit.end])), span, unit.path)
    return builder.document(
        text,
        Metadata(source_type="reference"),
        title=builder.name.name,
        lang="und",
        symbols=tuple(
            symbol._replace(
                qualified_name=_qualified(symbol, module),
                parent=symbol.parent and names.get(symbol.parent, symbol.parent),
            )
            for symbol in read.symbols
        ),
        references=tuple(
            each._replace(from_symbol=each.from_symbol and names[each.from_symbol]) for each in read.references
        ),
    )


def _module(path: str, text: str, language: str) -> str:
    """The prefix of the qualified names in a file, from its path or from the package that it declares."""
    if language in _PACKAGE:
        match = _PACKAGE[language].search(text)
        return match[1] if match else ""
    stem = path.rpartition(".")[0]
    if language == "python":
        return stem.removesuffix("__init__").strip("/").replace("/", ".")
    return stem if language in ("javascript", "typescript", "tsx") else ""


def _qualified(symbol: Symbol, module: str) -> str:
    """The qualified name in the notation of the language; `symbol.qualified_name` joins names by dots."""
    name = symbol.qualified_name
    if symbol.language == "cpp":
        return name.replace(".", "::")
    if symbol.language == "go" and symbol.parent and _POINTER_RECEIVER.match(symbol.signature):
        name = f"(*{symbol.parent}).{symbol.name}"
    return f"{module}.{name}" if module else name


def language_of(path: str, text: str) -> str:
    """The language of a source file, by its name, or by its first line where the name gives none."""
    named = (media_type_of(path) or "").partition("/")[2]
    if named and named != "text":
        return "cpp" if named == "c" and path.endswith(".h") and _CPP.search(text) else named
    match = _SHEBANG.match(text)
    return "text" if match is None else _OF_PROGRAM.get(match["program"], "shell")


def _read(text: str, lines: Sequence[str], language: str, file_name: str) -> _Read:
    if language not in GRAMMARS:
        return _by_section(lines, language, file_name)
    if lacking := lacking_module(language):
        note = f"{lacking} is not installed, {language} is cut by paragraphs"
        return _Read(_paragraphs(lines), warnings=(Warning("grammar_missing", note),))
    source = text.encode("utf-8", "replace")
    try:
        parsed = parse_in_worker(source, language) if is_suspicious(source) else parse(source, language)
    except TooCostly as error:
        return _Read(_paragraphs(lines), warnings=(Warning("not_parsed", f"cut by paragraphs: {error}"),))
    if parsed is None:
        return _Read(_paragraphs(lines))
    if parsed.is_flat:
        return _Read(_paragraphs(lines), parsed.symbols, parsed.references)
    units = _absorb_closers(lines, _units_of(lines, parsed.marks, parsed.symbols))
    return _Read(units, parsed.symbols, parsed.references)


def _by_section(lines: Sequence[str], language: str, file_name: str) -> _Read:
    parts = parts_of(lines, language, file_name)
    objects = objects_of(lines, language, file_name)
    if not parts:
        return _Read(
            _paragraphs(lines), tuple(_named(each, lines, language, each.start, each.start) for each in objects)
        )
    symbols: list[Symbol] = []
    units: list[FileUnit] = []
    if any(line.strip() for line in lines[: parts[0].start - 1]):
        units.append(FileUnit(1, parts[0].start - 1, None, ("top of the file",)))
    for part, following in zip(parts, [*parts[1:], None], strict=True):
        end = following.start - 1 if following else len(lines)
        while end > part.start and not lines[end - 1].strip():
            end -= 1
        if end < part.start:
            continue
        symbol = _named(part, lines, language, part.start, end)
        symbols.append(symbol)
        units.append(FileUnit(part.start, end, symbol))
        inside = (each for each in objects if part.start <= each.start <= end)
        symbols += (_named(each, lines, language, part.start, end) for each in inside)
    return _Read(units, tuple(symbols))


def _named(part: FilePart, lines: Sequence[str], language: str, start: int, end: int) -> Symbol:
    """The symbol of a part, or of an object inside a part; `start` and `end` are the lines of the part."""
    signature = next((line.strip() for line in lines[part.start - 1 : end] if not _is_comment(line)), "")
    return Symbol(
        name=part.name,
        qualified_name=part.qualified or part.name,
        kind=part.kind,
        language=language,
        parent=None,
        signature=signature[:_SIGNATURE_CHARS],
        doc=None,
        line_start=start,
        defined_at=part.start,
        line_end=end,
        visibility="public",
    )


def _is_comment(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith(("#", "--", "//"))


def _paragraphs(lines: Sequence[str]) -> list[FileUnit]:
    """Units of at most 80 lines, cut at the last blank line of the second half, else repeating 20 lines."""
    units: list[FileUnit] = []
    start = 1
    _, count = written_lines(lines, 0, len(lines))
    while start <= count:
        end = min(count, start + PARAGRAPH_LINES - 1)
        overlap = 0
        if end < count:
            blank = next((at for at in range(end, start + PARAGRAPH_LINES // 2, -1) if not lines[at - 1].strip()), None)
            end, overlap = (blank, 0) if blank else (end, OVERLAP_LINES)
        first, last = written_lines(lines, start - 1, end)
        if first < last:
            units.append(FileUnit(first + 1, last, None, (f"lines from {first + 1}",)))
        start = end + 1 - overlap if end < count else count + 1
    return units


def _units_of(lines: Sequence[str], marks: Sequence[Mark], symbols: Sequence[Symbol]) -> list[FileUnit]:
    """The units of a file, which together contain every non-blank line exactly once."""
    runs = _joined(_runs(lines, marks))
    return [FileUnit(start, end, mark.symbol, _names(lines, start, end, mark, symbols)) for start, end, mark in runs]


def _runs(lines: Sequence[str], marks: Sequence[Mark]) -> Iterator[tuple[int, int, Mark]]:
    """Runs of lines, each with the mark at its beginning and without blank lines at its ends."""
    latest: dict[int, Mark] = {}
    for mark in (Mark(1, None), *marks):
        known = latest.get(mark.line)
        # Where several begin at one line, the outermost definition gets it; a definition goes before none.
        if known is None or known.symbol is None or (mark.symbol is not None and known.symbol.line_end < mark.line):
            latest[mark.line] = mark
    order = sorted(latest)
    for at, line in enumerate(order):
        end = order[at + 1] - 1 if at + 1 < len(order) else len(lines)
        start, end = written_lines(lines, line - 1, min(end, len(lines)))
        if start < end:
            yield start + 1, end, latest[line]


def _joined(runs: Iterator[tuple[int, int, Mark]]) -> Iterator[tuple[int, int, Mark]]:
    """The runs, with adjacent runs of the same definition joined, and a bare container joined with its first member."""
    held: tuple[int, int, Mark] | None = None
    for start, end, mark in runs:
        if held is None:
            held = (start, end, mark)
        elif held[2].is_bare and end >= start and held[1] - held[0] < 2 and mark.symbol is not None:
            held = (held[0], end, mark)
        elif held[2].symbol is mark.symbol:
            held = (held[0], end, held[2])
        else:
            yield held
            held = (start, end, mark)
    if held is not None:
        yield held


def _absorb_closers(lines: Sequence[str], units: Sequence[FileUnit]) -> list[FileUnit]:
    """The units, with a unit that only closes brackets joined to the previous one."""
    kept: list[FileUnit] = []
    for unit in units:
        closes = all(_CLOSES.match(line) for line in lines[unit.start - 1 : unit.end])
        if kept and closes:
            kept[-1] = kept[-1]._replace(end=unit.end)
        else:
            kept.append(unit)
    return kept


def _names(lines: Sequence[str], start: int, end: int, mark: Mark, symbols: Sequence[Symbol]) -> tuple[str, ...]:
    """The names that describe lines outside of definitions."""
    own = mark.symbol
    if own is not None and own.line_start <= end and start <= own.defined_at <= end:
        return ()
    names = tuple(dict.fromkeys(each.name for each in symbols if start <= each.defined_at <= end))
    if names or own is not None:
        return names
    texts = [line for line in lines[start - 1 : end] if line.strip()]
    return ("imports",) if any(map(_IMPORTS.match, texts)) else ("statements",)
