"""Source files in units: every line in exactly one, definitions named, whatever the text is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.chunk.chunkers import chunk_units
from kb.domain.documents import Chunk, ChunkPolicy, Document
from kb.domain.ids import AssetId
from kb.domain.spans import CodeSpan
from kb.domain.text import WorkspacePath
from kb.extract.code import document as code_document
from kb.extract.code.document import extract_code
from kb.extract.code.grammars import GRAMMARS

POLICY = ChunkPolicy(400, 60, True, "code-unit-v1")

SOURCES = {
    "a.rs": """//! About the crate.
use std::fmt;

/// A thing.
#[derive(Debug)]
pub struct Thing {
    size: u32,
}

impl Thing {
    /// Grows it.
    pub fn grow(&mut self) { step(self) }
}

const LIMIT: u32 = 3;
""",
    "a.py": '''"""About."""
import os

LIMIT = 3


@cached
class Thing(Base):
    """A thing."""

    size: int = 0

    def grow(self) -> None:
        """Grows it."""
        step(self)


if os.name == "nt":
    def windows() -> None:
        pass
''',
    "a.ts": """import { a } from "b";

/** A thing. */
export class Thing<T> extends Base {
  size = 0;
  grow(): void { step(this); }
}
export const shrink = async (n: number) => {
  step(n);
  return n;
};
export interface Sized { size: number }
""",
    "a.tsx": "export function View(p: Props) {\n  return <Row a={p.a} />;\n}\n",
    "a.js": "// Adds.\nfunction add(a, b) {\n  return a + b;\n}\nmodule.exports = { add };\n",
    "a.go": """package a

// Thing is a thing.
type Thing struct {
	size int
}

// Grow grows it.
func (t *Thing) Grow() error {
	return step(t)
}
""",
    "A.java": """package a;

/** A thing. */
public class Thing {
    private int size;

    public Thing() { }

    @Override
    public void grow() {
        step(this);
    }
}
""",
    "a.kt": """package a

class Thing(val size: Int) : Base() {
    fun grow() {
        step(this)
    }
    companion object {
        fun make() = Thing(1)
    }
}
""",
    "a.c": """#ifndef A_H
#define A_H
typedef struct { int size; } Thing;

/* Grows it. */
int grow(Thing *t)
{
    return step(t);
}
#endif
""",
    "a.cpp": """namespace n {
template <class T>
class Thing : public Base {
 public:
  int size() const { return step(1); }
};
}

void n::Thing::grow() {
  step(2);
}
""",
}

DEFINED = {
    "a.rs": {"Thing": "struct", "Thing.grow": "method", "LIMIT": "constant"},
    "a.py": {"a.Thing": "class", "a.Thing.grow": "method", "a.LIMIT": "constant", "a.windows": "function"},
    "a.ts": {"a.Thing": "class", "a.Thing.grow": "method", "a.shrink": "function", "a.Sized": "interface"},
    "a.tsx": {"a.View": "function"},
    "a.js": {"a.add": "function"},
    "a.go": {"a.Thing": "struct", "a.(*Thing).Grow": "method"},
    "A.java": {"a.Thing": "class", "a.Thing.Thing": "constructor", "a.Thing.grow": "method"},
    "a.kt": {"a.Thing": "class", "a.Thing.grow": "method", "a.Thing.Companion.make": "method"},
    "a.c": {"Thing": "type", "grow": "function"},
    "a.cpp": {"n::Thing": "class", "n::Thing::size": "method", "n::Thing::grow": "method"},
}


def read(name: str, text: str | bytes) -> Document:
    data = text.encode() if isinstance(text, str) else text
    return extract_code(data, workspace_path=WorkspacePath(name), asset_id=AssetId("a"))


def cut(name: str, text: str | bytes) -> tuple[Chunk, ...]:
    return chunk_units(read(name, text), POLICY)


def spans(chunks: tuple[Chunk, ...]) -> list[CodeSpan]:
    return [span for chunk in chunks for span in chunk.spans if isinstance(span, CodeSpan)]


def assert_every_line_is_in_one(text: str, found: list[CodeSpan]) -> None:
    held = [line for span in found for line in range(span.line_start, span.line_end + 1)]
    assert len(held) == len(set(held)), "no line in two"
    assert {number for number, line in enumerate(text.split("\n"), 1) if line.strip()} <= set(held)


@pytest.mark.parametrize("name", SOURCES)
def test_every_line_is_in_exactly_one_unit_and_what_is_defined_is_named(name: str) -> None:
    document = read(name, SOURCES[name])
    assert_every_line_is_in_one(SOURCES[name], spans(chunk_units(document, POLICY)))
    found = {(symbol.qualified_name, symbol.kind) for symbol in document.symbols}
    assert set(DEFINED[name].items()) <= found


@pytest.mark.parametrize("name", SOURCES)
def test_a_chunk_is_the_text_of_the_lines_it_cites(name: str) -> None:
    lines = SOURCES[name].split("\n")
    for chunk in cut(name, SOURCES[name]):
        (span,) = spans((chunk,))
        assert chunk.text == "\n".join(lines[span.line_start - 1 : span.line_end])


def test_a_definition_stands_with_what_documents_and_decorates_it() -> None:
    grown = next(each for each in spans(cut("a.rs", SOURCES["a.rs"])) if each.symbol == "Thing")
    assert (grown.line_start, grown.line_end) == (4, 8)
    thing = next(each for each in read("a.py", SOURCES["a.py"]).symbols if each.name == "Thing")
    assert (thing.line_start, thing.doc, thing.signature) == (7, "A thing.", "class Thing(Base)")


def test_a_bare_container_is_no_unit_of_its_own() -> None:
    symbols = [span.symbol for span in spans(cut("a.rs", SOURCES["a.rs"]))]
    assert symbols.count("Thing") == 1, "the struct; impl Thing joins its first method"


def test_calls_are_known_with_the_definition_they_stand_in() -> None:
    for name in SOURCES:
        if name not in ("a.js", "a.tsx"):
            assert "step" in {each.name for each in read(name, SOURCES[name]).references}, name
    (call,) = read("a.go", SOURCES["a.go"]).references
    assert (call.name, call.from_symbol, call.line) == ("step", "a.(*Thing).Grow", 10)


def test_a_long_definition_is_cut_where_statements_begin() -> None:
    body = "".join(f"    if value_{n} > limit:\n        total += value_{n} * weight_of(value_{n})\n" for n in range(60))
    text = f"def long(total):\n{body}    return total\n"
    chunks = cut("a.py", text)
    assert [chunk.section_label for chunk in chunks] == [f"long [{n}/{len(chunks)}]" for n in range(1, len(chunks) + 1)]
    assert len(chunks) > 2
    assert all(chunk.text.startswith(("def ", "    if ", "    return")) for chunk in chunks)
    assert all(chunk.token_estimate <= 485 for chunk in chunks)
    assert_every_line_is_in_one(text, spans(chunks))


def test_an_edit_keeps_the_text_of_every_other_unit() -> None:
    before = {chunk.text for chunk in cut("a.py", SOURCES["a.py"])}
    after = {chunk.text for chunk in cut("a.py", SOURCES["a.py"].replace("step(self)", "step(self, 2)"))}
    assert len(before - after) == len(after - before) == 1


def test_broken_syntax_leaves_the_definitions_that_parse() -> None:
    text = "def good():\n    return 1\n\ndef bad(:\n    pass\n\ndef fine():\n    return 2\n"
    document = read("a.py", text)
    assert {"good", "fine"} <= {symbol.name for symbol in document.symbols}
    assert_every_line_is_in_one(text, spans(chunk_units(document, POLICY)))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 10_000,
        "{" * 10_000 + "}" * 10_000,
        "\t\tif (a) {\r\n\t\t}\r\n",
        "함수 = 1  # 한글\n",
        "{{ range .Values }}\nfn {{ .name }}() {}\n{{ end }}\n",
        "",
        "\n\n",
    ],
)
@pytest.mark.parametrize("name", ["a.py", "a.rs", "a.c", "a.ts", "a.yaml", "a.sql"])
def test_no_text_makes_it_fail(name: str, text: str) -> None:
    normal = text.replace("\r\n", "\n")
    found = spans(cut(name, text))
    held = {line for span in found for line in range(span.line_start, span.line_end + 1)}
    assert {number for number, line in enumerate(normal.split("\n"), 1) if line.strip()} <= held


@given(
    st.sampled_from([*SOURCES]),
    st.lists(
        st.tuples(st.integers(0, 400), st.sampled_from(["", "}", "{", "\n", "class X {", "def f(", "/*", '"'])),
        max_size=5,
    ),
)
def test_damaged_sources_keep_every_line_in_exactly_one_unit(name: str, damage: list[tuple[int, str]]) -> None:
    text = SOURCES[name]
    for at, piece in damage:
        text = text[:at] + piece + text[at + 1 :]
    assert_every_line_is_in_one(text, spans(cut(name, text)))


def test_mixed_encodings_are_read() -> None:
    document = read("a.py", "def 이름():\n    return '값'\n".encode("cp949"))
    assert [symbol.name for symbol in document.symbols] == ["이름"]


def test_without_a_grammar_a_file_is_cut_by_paragraphs_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code_document, "lacking_module", lambda lang: f"tree_sitter_{lang}")
    text = "\n".join(f"x{n} = {n}" for n in range(200))
    document = read("a.py", text)
    assert [warning.kind for warning in document.warnings] == ["grammar_missing"]
    assert document.symbols == ()
    first = [block.span for block in document.blocks if isinstance(block.span, CodeSpan)]
    assert all(span.line_end - span.line_start < 80 for span in first)
    assert all(0 < a.line_end - b.line_start + 1 <= 20 for a, b in pairwise(first))


def test_every_language_has_an_example_here() -> None:
    assert {read(name, text).blocks[0].span.lang for name, text in SOURCES.items()} == set(GRAMMARS)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
        '/// Frees it.\nextern "C" inline void free_it(T *it) {\n  gone(it);\n}\n',
        "BEGIN(detail)\n\n/// Frees it.\nvoid free_it(T *it) {\n  gone(it);\n}\n",
        "class A {\n  /// Frees it.\n  NOINLINE kind; some_type free_it() {\n    gone();\n  }\n};\n",
    ],
)
def test_a_comment_in_cpp_belongs_to_what_it_documents_whatever_stands_before_that(text: str) -> None:
    document = read("a.hpp", text)
    (symbol,) = [each for each in document.symbols if each.name == "free_it"]
    assert symbol.doc == "Frees it."
    (chunk,) = [each for each in chunk_units(document, POLICY) if "gone(" in each.text]
    assert "Frees it." in chunk.text
