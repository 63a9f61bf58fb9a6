"""Source code → its definitions, their first lines, and the names they use, by tree-sitter.

bytes → tree → marks: from this line on, the text belongs to that definition, or to none

Marks alone decide how a file is cut into units (`kb.extract.code.document`), so that every line is in exactly one unit.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from kb.domain.symbols import Symbol, SymbolUse
from kb.extract.code.grammars import GRAMMARS, Grammar
from kb.extract.code.naming import body_of, doc_of, kind_of, name_of, signature_of, text_of, visibility_of

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

    from kb.workers.pool import Tell, WorkerPool

# Definitions of these kinds share a unit with the lines around them unless they are longer than this.
_MINOR = frozenset(("constant", "variable", "field", "type", "macro"))
_MINOR_LINES = 4
# Files nested deeper than this are cut by paragraphs: no person wrote them.
_DEEPEST = 200

# Some grammars explode: 30 kB of `a<b<c<` take Java's three gigabytes. So a file is parsed in a worker process if it is
# large or opens this many angle brackets in a row, with none closed and no statement ended between them. Starting a
# worker takes longer than parsing any usual file, so it is kept for a while.
_LARGE_BYTES = 100_000
_MANY = 12
_OPENED = re.compile(rb"(?:<[^<>;{}()]{0,40}){%d}" % _MANY)
_MOST_CPU_S = 20
_MOST_MB = 1_000
_IDLE_S = 5


class Mark(NamedTuple):
    """From line `line` on, the text belongs to `symbol`, or to no definition if that is None.

    `is_bare`: the definition is a container (`impl`, namespace) that needs no separate unit if it has only members.
    """

    line: int
    symbol: Symbol | None
    is_bare: bool = False


class Parsed(NamedTuple):
    """The marks of a file in the order of lines, its definitions, and the names that it uses.

    `is_flat`: all definitions are inside of functions.
    """

    marks: tuple[Mark, ...]
    symbols: tuple[Symbol, ...]
    references: tuple[SymbolUse, ...]
    is_flat: bool


def parse(source: bytes, lang: str) -> Parsed | None:
    """Parses a source file in UTF-8; None if it has no definitions."""
    from tree_sitter import Parser

    root = Parser(tree_sitter_language(lang)).parse(source).root_node
    walk = _Walk(source, lang)
    walk.block(root.named_children, None, 0)
    is_flat = not walk.symbols
    walk.inside(root)
    if not walk.symbols:
        return None
    references = _references(root, lang, walk.symbols)
    return Parsed(tuple(walk.marks), tuple(walk.symbols), tuple(references), is_flat)


class TooCostly(Exception):
    """A file that cannot be parsed within the limits."""


def is_suspicious(source: bytes) -> bool:
    """Whether parsing a file may take unusual time or memory."""
    return len(source) > _LARGE_BYTES or (source.count(b"<") >= _MANY and _OPENED.search(source) is not None)


def parse_in_worker(source: bytes, lang: str) -> Parsed | None:
    """Parses a source file as `parse` does, in another process.

    Raises: TooCostly if it takes too much time or memory, or if the parser crashes.
    """
    from kb.workers.pool import Lost

    reply = parsers().run(None, _parse_told, source, lang)
    if isinstance(reply, Lost):
        raise TooCostly(f"parsing takes more than {_MOST_CPU_S} s or {_MOST_MB} MB")
    return cast("Parsed | None", reply.value)


@cache
def parsers() -> WorkerPool[None]:
    """The pool with the process that parses suspicious files; it is started at its first use."""
    import atexit

    from kb.workers.pool import Limits, WorkerPool

    pool: WorkerPool[None] = WorkerPool(1, Limits(_MOST_MB * 1_000_000, _MOST_CPU_S, _IDLE_S))
    atexit.register(pool.close)
    return pool


def _parse_told(tell: Tell, source: bytes, lang: str) -> Parsed | None:
    return parse(source, lang)


@cache
def tree_sitter_language(lang: str) -> Language:
    """The grammar of a language; its module is imported at the first use."""
    from tree_sitter import Language

    grammar = GRAMMARS[lang]
    return Language(getattr(import_module(grammar.module), grammar.function)())


class _Walk:
    """One pass over a file's definitions, the outermost first."""

    def __init__(self, source: bytes, lang: str) -> None:
        self.marks: list[Mark] = []
        self.symbols: list[Symbol] = []
        self._source = source
        self._lang = lang
        self._grammar: Grammar = GRAMMARS[lang]
        self._seen: set[int] = set()

    def block(self, nodes: Sequence[Node], owner: Symbol | None, depth: int) -> None:
        """Adds the definitions among sibling nodes; `owner` is the definition around them, if any."""
        lead: list[Node] = []
        for at, node in enumerate(nodes):
            if node.type in self._grammar.leads:
                lead = [*_adjacent(lead, node), node]
                continue
            found = self._defined(node)
            if found is not None:
                self._definition(node, found, owner, _adjacent(lead, node), depth)
            elif self._holds_definitions(node) and depth < _DEEPEST:
                self.marks.append(Mark(_first_line(node), owner))
                self.block(node.named_children, owner, depth + 1)
                self.marks.append(Mark(_last_line(node) + 1, owner))
            elif at + 1 < len(nodes) and _last_line(node) == _first_line(nodes[at + 1]):
                lead = [*_adjacent(lead, node), node]  # a macro before a definition, which no grammar expects there
                continue
            lead = self._ending(node) if found is None else []

    def _ending(self, node: Node) -> list[Node]:
        """The comments at the end of a node, where the parser puts comments after a macro without a semicolon."""
        if node.start_point[0] == node.end_point[0]:
            return []
        lead: list[Node] = []
        for each in reversed(node.named_children):
            if each.type not in self._grammar.leads:
                break
            lead.insert(0, each)
        return lead

    def _defined(self, node: Node) -> Node | None:
        """The defining node: `node`, or the only one that it wraps; None if `node` defines nothing."""
        for _ in range(4):
            if node.type in self._grammar.definitions:
                return node
            if node.type not in self._grammar.wrappers:
                return None
            inner = [
                each
                for each in node.named_children
                if each.type in self._grammar.definitions or each.type in self._grammar.wrappers
            ]
            if len(inner) != 1:
                return None
            node = inner[0]
        return None

    def _holds_definitions(self, node: Node) -> bool:
        if node.type in self._grammar.wrappers and node.type not in self._grammar.transparent:
            return any(self._defined(each) is not None for each in node.named_children)
        return node.type in self._grammar.transparent or node.type == "ERROR"

    def _definition(self, outer: Node, node: Node, owner: Symbol | None, lead: Sequence[Node], depth: int) -> None:
        self._seen.add(node.id)
        symbol = self._symbol(outer, node, owner, lead)
        if symbol is None:
            return
        self.symbols.append(symbol)
        if symbol.kind in _MINOR and symbol.line_end - symbol.defined_at < _MINOR_LINES:
            return
        is_container = node.type in self._grammar.containers or symbol.kind == "class"
        is_bare = symbol.kind in ("impl", "namespace", "module", "object") and not symbol.doc
        self.marks.append(Mark(symbol.line_start, symbol, is_bare))
        body = body_of(node) if is_container else None
        if body is not None and depth < _DEEPEST:
            self.block(body.named_children, symbol, depth + 1)
        self.marks.append(Mark(symbol.line_end + 1, owner))

    def inside(self, root: Node) -> None:
        """Adds the definitions inside of functions, each below the definition around it."""
        from tree_sitter import QueryCursor

        query = _inner(self._lang)
        if query is None:
            return
        nodes = [node for node in QueryCursor(query).captures(root).get("inner", ()) if node.id not in self._seen]
        around = _Enclosing(self.symbols)
        for node in sorted(nodes, key=lambda each: each.start_byte):
            outer = node
            while outer.parent is not None and outer.parent.type in self._grammar.wrappers:
                outer = outer.parent
            owner = around.innermost(_first_line(node), _last_line(node))
            symbol = self._symbol(outer, node, owner, self._comments_before(outer))
            if symbol is not None:
                self.symbols.append(symbol._replace(is_inner=True))
                around.open.append(symbol)

    def _comments_before(self, node: Node) -> list[Node]:
        lead: list[Node] = []
        at = node.prev_sibling
        while at is not None and at.type in self._grammar.leads:
            lead.insert(0, at)
            at = at.prev_sibling
        return _adjacent(lead, node)

    def _symbol(self, outer: Node, node: Node, owner: Symbol | None, lead: Sequence[Node]) -> Symbol | None:
        name = name_of(node, self._lang)
        if not name:
            return None
        *above, bare = name.replace("::", ".").strip(".").split(".")
        kind = kind_of(node, self._grammar.definitions[node.type], owner.kind if owner else None, self._lang)
        parent = ".".join([*([owner.qualified_name] if owner else []), *above]) or None
        comments = "\n".join(text_of(each) for each in lead if "comment" in each.type)
        return Symbol(
            name=bare,
            qualified_name=f"{parent}.{bare}" if parent else bare,
            kind=kind,
            language=self._lang,
            parent=parent,
            signature=signature_of(outer, node, self._source),
            doc=doc_of(node, comments, self._lang),
            line_start=_first_line(lead[0] if lead else outer),
            defined_at=_first_line(outer),
            line_end=_last_line(outer),
            visibility=visibility_of(outer, bare, self._lang, self._source),
        )


class _Enclosing:
    """Finds the definitions around a place in a file, for places in the order of lines."""

    def __init__(self, symbols: Sequence[Symbol]) -> None:
        self.open: list[Symbol] = []
        self._coming = sorted(symbols, key=lambda each: (each.line_start, -each.line_end))[::-1]

    def innermost(self, first_line: int, last_line: int) -> Symbol | None:
        """The innermost definition around those lines; None outside of any."""
        while self._coming and self._coming[-1].line_start <= first_line:
            self.open.append(self._coming.pop())
        while self.open and self.open[-1].line_end < last_line:
            self.open.pop()
        return self.open[-1] if self.open else None


def _adjacent(lead: Sequence[Node], node: Node) -> list[Node]:
    """The comments directly before a node, with no blank line between, which belong to it."""
    if not lead or _first_line(node) - _last_line(lead[-1]) > 1:
        return []
    first = len(lead) - 1
    while first > 0 and _first_line(lead[first]) - _last_line(lead[first - 1]) <= 1:
        first -= 1
    return list(lead[first:])


def _first_line(node: Node) -> int:
    return node.start_point[0] + 1


def _last_line(node: Node) -> int:
    """The last line of a node, from 1; a line end at the node's end belongs to that line."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1


@cache
def _inner(lang: str) -> Query | None:
    from tree_sitter import Query, QueryError

    try:
        return Query(tree_sitter_language(lang), GRAMMARS[lang].inner) if GRAMMARS[lang].inner else None
    except QueryError:  # a version of the grammar with other node names
        return None


@cache
def _calls(lang: str) -> tuple[Query, ...]:
    from tree_sitter import Query, QueryError

    calls = GRAMMARS[lang].calls
    try:
        return (Query(tree_sitter_language(lang), "\n".join(calls)),)
    except QueryError:  # a version of the grammar with other node names: the other queries still work
        queries = []
        for text in calls:
            with suppress(QueryError):
                queries.append(Query(tree_sitter_language(lang), text))
        return tuple(queries)


def _references(root: Node, lang: str, symbols: Sequence[Symbol]) -> list[SymbolUse]:
    """The called or constructed names, each once per line, with the innermost definition around them."""
    from tree_sitter import QueryCursor

    nodes = [node for query in _calls(lang) for node in QueryCursor(query).captures(root).get("name", ())]
    names = {(node.start_point[0] + 1, node.text or b"") for node in nodes}
    found = {(line, name.decode("utf-8", "replace")) for line, name in names}
    around = _Enclosing(symbols)
    references = []
    for line, name in sorted(found):
        source = around.innermost(line, line)
        references.append(SymbolUse(line, source and source.qualified_name, name))
    return references
