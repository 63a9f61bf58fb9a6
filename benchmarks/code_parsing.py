"""What kb adds to the bare parse of source files: definitions, uses, units, ids and chunks; both in turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import process_time

from tree_sitter import Parser

from benchmarks.measurement import Table
from kb.chunk.chunkers import cut_document
from kb.domain.documents import ChunkPolicy
from kb.domain.ids import AssetId
from kb.domain.text import to_posix
from kb.extract.code.document import extract_code, language_of
from kb.extract.code.grammars import GRAMMARS
from kb.extract.code.syntax import is_suspicious, tree_sitter_language

_TURNS = 5
_ANY = AssetId("0" * 32)
_POLICY = ChunkPolicy(500, 80, True, "md-heading-v1")


def parsing(root: Path, names: Sequence[str]) -> Table:
    """Processor seconds of both, and how many times the bare parse kb takes; large files, parsed apart, left out."""
    every = {name: (root / name).read_bytes() for name in names}
    files = {name: data for name, data in every.items() if not is_suspicious(data)}
    langs = {name: language_of(name, data.decode("utf-8", "replace")) for name, data in files.items()}
    parsed = [(data, langs[name]) for name, data in files.items() if langs[name] in GRAMMARS]

    def bare() -> None:
        for data, lang in parsed:
            Parser(tree_sitter_language(lang)).parse(data)

    def whole() -> None:
        for name, data in files.items():
            document = extract_code(data, workspace_path=to_posix(name), asset_id=_ANY)
            cut_document(document, "code", _POLICY)

    bare()
    turns = [(_cpu_s(bare), _cpu_s(whole)) for _ in range(_TURNS)]
    parse_s = median(turn[0] for turn in turns)
    whole_s = median(turn[1] for turn in turns)
    rows = (
        (f"tree-sitter: {len(parsed)} of them", round(parse_s, 2), 1.0),
        ("kb: definitions, uses, units, ids, chunks", round(whole_s, 2), round(whole_s / parse_s, 1)),
    )
    title = f"Parsing and cutting {len(files)} files, medians of {_TURNS} turns"
    return Table(title, ("what", "processor seconds", "× the bare parse"), rows)


def _cpu_s(work: Callable[[], None]) -> float:
    before = process_time()
    work()
    return process_time() - before
