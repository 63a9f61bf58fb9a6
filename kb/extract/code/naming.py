"""Nodes of a syntax tree → names, kinds, signatures and documentation of definitions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

# Functions inside these kinds are methods.
TYPE_KINDS = frozenset(("class", "struct", "union", "enum", "interface", "trait", "impl", "object", "record"))

_FUNCTION_VALUES = ("arrow_function", "function_expression", "generator_function", "function")
_CLASS_VALUES = ("class", "class_expression")
_SIGNATURE_CHARS = 240
_DOC_CHARS = 2_000
_HEAD_CHARS = 200
_COMMENT_MARKS = re.compile(r"^\s*(?:/\*+!?|\*+/|\*(?!/)|//[/!]?|#+)\s?|\s*\*+/\s*$")
_DOC_STRING = re.compile(r"""^[rRuUbB]*(?:'''|\"\"\"|'|")|(?:'''|\"\"\"|'|")$""")
_TYPE_ARGUMENTS = re.compile(r"<.*>|\[.*\]|[&*\s]", re.DOTALL)


def text_of(node: Node | None) -> str:
    """The text of a node; empty without one."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def name_of(node: Node, lang: str) -> str:
    """The name in a defining node, with its type in front if the language's names include it; "" without a name."""
    if lang in ("c", "cpp"):
        return _declared(node)
    if node.type == "impl_item":
        return bare_type(text_of(node.child_by_field_name("type")))
    if node.type == "companion_object":
        return text_of(node.child_by_field_name("name")) or "Companion"
    if node.type == "secondary_constructor":
        return "constructor"
    if node.type == "method_declaration" and lang == "go":
        receiver = node.child_by_field_name("receiver")
        types = [text_of(each.child_by_field_name("type")) for each in receiver.named_children] if receiver else []
        return ".".join([*(bare_type(each) for each in types if each), text_of(node.child_by_field_name("name"))])
    if node.type == "assignment_expression":  # exports.a = function () {}
        value, left = node.child_by_field_name("right"), node.child_by_field_name("left")
        if value is None or left is None or value.type not in (*_FUNCTION_VALUES, *_CLASS_VALUES):
            return ""
        return text_of(left.child_by_field_name("property") or left)
    named = next(
        filter(None, (node.child_by_field_name(field) for field in ("name", "left", "property", "type"))), None
    )
    if named is None:
        named = next((each for each in node.named_children if each.type == "variable_declaration"), None)
        named = named.named_children[0] if named is not None and named.named_children else None
    if named is None or named.type not in _NAME_TYPES:
        return ""
    return text_of(named).strip("\"'")


_NAME_TYPES = frozenset(
    (
        "identifier type_identifier property_identifier private_property_identifier field_identifier simple_identifier "
        "string nested_identifier computed_property_name"
    ).split()
)


def kind_of(node: Node, kind: str, owner_kind: str | None, lang: str) -> str:
    """The kind of a definition: `kind` from the grammar's table, made more specific by its content and its owner."""
    if kind in ("variable", "field"):
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is not None and value.type in _FUNCTION_VALUES:
            return "method" if kind == "field" else "function"
        if value is not None and value.type in _CLASS_VALUES:
            return "class"
        return "constant" if text_of(node).lstrip("_")[:2].isupper() else kind
    if kind == "type" and lang == "go":
        inner = node.child_by_field_name("type")
        return {"struct_type": "struct", "interface_type": "interface"}.get(inner.type if inner else "", kind)
    if lang == "kotlin" and kind == "class":
        words = {text_of(each) for each in node.children if not each.is_named}
        enum = any(each.type == "enum_class_body" for each in node.named_children)
        return "interface" if "interface" in words else "enum" if enum else kind
    if kind == "function" and (owner_kind in TYPE_KINDS or (lang == "cpp" and "::" in _declared(node))):
        return "method"
    return kind


def body_of(node: Node) -> Node | None:
    """The node of a definition that contains its members or statements; None without one."""
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    value = node.child_by_field_name("value") or node.child_by_field_name("right")
    if value is not None and value.type in (*_FUNCTION_VALUES, *_CLASS_VALUES):
        return value.child_by_field_name("body")
    return next((each for each in node.named_children if each.type.endswith(("_body", "_list"))), None)


def signature_of(outer: Node, node: Node, source: bytes) -> str:
    """The text of a definition before its body, on one line."""
    body = body_of(node)
    end = outer.end_byte
    if body is not None and body.start_byte > node.start_byte and not node.type.startswith(("type_", "preproc")):
        end = body.start_byte
    head = source[node.start_byte if outer.type == "decorated_definition" else outer.start_byte : end]
    text = " ".join(head.decode("utf-8", "replace").split())
    return text[:_SIGNATURE_CHARS].rstrip(" {=:") if end < outer.end_byte else text[:_SIGNATURE_CHARS].rstrip(" ;")


def doc_of(node: Node, comments: str, lang: str) -> str | None:
    """The documentation of a definition: its doc string, or the comment before it; None without either."""
    if lang == "python" and (body := body_of(node)) is not None and body.named_children:
        first = body.named_children[0]
        string = first.named_children[0] if first.type == "expression_statement" and first.named_children else first
        if string.type == "string":
            return _tidy(_DOC_STRING.sub("", text_of(string)))
    return _tidy("\n".join(_COMMENT_MARKS.sub("", line) for line in comments.split("\n")))


def _beginning(node: Node, source: bytes, chars: int) -> str:
    """The first `chars` characters of a node's text."""
    start = node.start_byte
    return source[start : min(node.end_byte, start + 4 * chars)].decode("utf-8", "replace")[:chars]


def bare_type(name: str) -> str:
    """The name of a type without pointers, path and parameters: `*Foo[T]` and `a::Foo<T>` → `Foo`."""
    return _TYPE_ARGUMENTS.sub("", name).rpartition("::")[2]


def visibility_of(outer: Node, name: str, lang: str, source: bytes) -> str:
    """`public` or `private`, by the language's rules."""
    if lang == "go":
        return "public" if name.rpartition(".")[2][:1].isupper() else "private"
    if lang == "python":
        return "private" if name.startswith("_") and not name.endswith("__") else "public"
    head = _beginning(outer, source, _HEAD_CHARS).split("{")[0]
    if lang == "rust":
        return "public" if re.search(r"\bpub\b", head) else "private"
    if lang in ("c", "cpp"):
        return "private" if re.match(r"\s*static\b", head) else "public"
    return "private" if re.search(r"\b(?:private|protected)\b", head) or name.startswith("#") else "public"


def _tidy(text: str) -> str | None:
    return " ".join(text.split())[:_DOC_CHARS] or None


def _declared(node: Node) -> str:
    """The name in a C declarator, which may follow pointers, arrays and parameters."""
    at = node.child_by_field_name("name")
    if at is not None:
        return _TYPE_ARGUMENTS.sub("", text_of(at)) if node.type.endswith("specifier") else text_of(at)
    at = node.child_by_field_name("declarator")
    for _ in range(20):
        if at is None or at.type in ("identifier", "field_identifier", "type_identifier"):
            break
        if at.type in ("qualified_identifier", "destructor_name", "operator_name"):
            return _TYPE_ARGUMENTS.sub("", text_of(at))
        at = at.child_by_field_name("declarator") or next(iter(at.named_children), None)
    return text_of(at)
