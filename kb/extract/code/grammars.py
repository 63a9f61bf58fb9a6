"""The grammars of nine languages: the node types of definitions, which grammars are installed, and their version."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec

# Bumped when the same file would give other units, symbols or references.
_VERSION = "code-v4"

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language's grammar: its module, and the types of its nodes.

    `definitions` maps each defining node to its kind. The members of `containers` are definitions too. `wrappers`
    belong to the one definition they hold; the content of `transparent` nodes is read as if they were not there. A node
    that is both (`extern "C"`) wraps if it holds one definition. `leads` come before the definition they belong to.
    `inner` is a query for definitions inside of functions; no unit begins there. `calls` are queries for used names,
    one each, so that a version of the grammar that rejects one loses only that one.
    """

    module: str
    definitions: Mapping[str, str]
    containers: frozenset[str]
    calls: tuple[str, ...]
    function: str = "language"
    wrappers: frozenset[str] = _NONE
    transparent: frozenset[str] = _NONE
    inner: str = ""
    leads: frozenset[str] = field(default=frozenset({"comment", "line_comment", "block_comment", "multiline_comment"}))

    @property
    def package(self) -> str:
        """The name of the grammar's package, for pip."""
        return self.module.replace("_", "-")


def _all(words: str) -> frozenset[str]:
    return frozenset(words.split())


def _kinds(text: str) -> dict[str, str]:
    """Parses `kind: node node; kind: node` into a map from node type to kind."""
    split = (part.partition(":") for part in text.split(";"))
    return {node: kind.strip() for kind, _, nodes in split for node in nodes.split()}


_C_DEFINITIONS = _kinds(
    "function: function_definition; struct: struct_specifier; union: union_specifier; enum: enum_specifier; "
    "type: type_definition; macro: preproc_def preproc_function_def"
)
_C_TRANSPARENT = _all(
    "preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification declaration_list"
)
_C_CALLS = (
    "(call_expression function: (identifier) @name)",
    "(call_expression function: (field_expression field: (field_identifier) @name))",
)
_SCRIPT_DEFINITIONS = _kinds(
    "function: function_declaration generator_function_declaration; class: class_declaration; "
    "method: method_definition; field: field_definition; variable: variable_declarator assignment_expression"
)
_SCRIPT_WRAPPERS = _all(
    "export_statement lexical_declaration variable_declaration ambient_declaration expression_statement"
)
_SCRIPT_CALLS = (
    "(call_expression function: (identifier) @name)",
    "(call_expression function: (member_expression property: (property_identifier) @name))",
    "(new_expression constructor: (identifier) @name)",
)
_TYPE_SCRIPT = {
    **_SCRIPT_DEFINITIONS,
    **_kinds(
        "field: public_field_definition; class: abstract_class_declaration; interface: interface_declaration; "
        "type: type_alias_declaration; enum: enum_declaration; namespace: internal_module module; "
        "function: function_signature; method: abstract_method_signature"
    ),
}
_TYPE_SCRIPT_CONTAINERS = _all("class_declaration abstract_class_declaration internal_module module")
# Some scripts wrap all their functions and classes in one function.
_SCRIPT_INNER = """
  (function_declaration) @inner (generator_function_declaration) @inner (class_declaration) @inner
  (variable_declarator value: [(arrow_function) (function_expression)]) @inner
  (assignment_expression left: (member_expression) right: [(arrow_function) (function_expression)]) @inner
"""
_JSX_CALLS = (
    "(jsx_opening_element name: (identifier) @name)",
    "(jsx_self_closing_element name: (identifier) @name)",
)

GRAMMARS: dict[str, Grammar] = {
    "rust": Grammar(
        "tree_sitter_rust",
        _kinds(
            "function: function_item function_signature_item; struct: struct_item; enum: enum_item; "
            "union: union_item; trait: trait_item; impl: impl_item; module: mod_item; type: type_item; "
            "macro: macro_definition; constant: const_item static_item"
        ),
        _all("trait_item impl_item mod_item"),
        (
            "(call_expression function: (identifier) @name)",
            "(call_expression function: (field_expression field: (field_identifier) @name))",
            "(call_expression function: (scoped_identifier name: (identifier) @name))",
            "(macro_invocation macro: (identifier) @name)",
            "(struct_expression name: (type_identifier) @name)",
        ),
        leads=_all("line_comment block_comment attribute_item"),
        inner="(function_item) @inner",
    ),
    "python": Grammar(
        "tree_sitter_python",
        {"function_definition": "function", "class_definition": "class", "assignment": "variable"},
        _all("class_definition"),
        (
            "(call function: (identifier) @name)",
            "(call function: (attribute attribute: (identifier) @name))",
        ),
        wrappers=_all("decorated_definition expression_statement"),
        transparent=_all("if_statement try_statement with_statement else_clause elif_clause except_clause block"),
        inner="(function_definition) @inner (class_definition) @inner",
    ),
    "typescript": Grammar(
        "tree_sitter_typescript",
        _TYPE_SCRIPT,
        _TYPE_SCRIPT_CONTAINERS,
        _SCRIPT_CALLS,
        "language_typescript",
        _SCRIPT_WRAPPERS,
        leads=_all("comment decorator"),
        inner=_SCRIPT_INNER,
    ),
    "tsx": Grammar(
        "tree_sitter_typescript",
        _TYPE_SCRIPT,
        _TYPE_SCRIPT_CONTAINERS,
        _SCRIPT_CALLS + _JSX_CALLS,
        "language_tsx",
        _SCRIPT_WRAPPERS,
        leads=_all("comment decorator"),
        inner=_SCRIPT_INNER,
    ),
    "javascript": Grammar(
        "tree_sitter_javascript",
        _SCRIPT_DEFINITIONS,
        _all("class_declaration"),
        _SCRIPT_CALLS + _JSX_CALLS,
        wrappers=_SCRIPT_WRAPPERS,
        leads=_all("comment decorator"),
        inner=_SCRIPT_INNER,
    ),
    "go": Grammar(
        "tree_sitter_go",
        _kinds(
            "function: function_declaration; method: method_declaration; type: type_spec type_alias; "
            "constant: const_spec; variable: var_spec"
        ),
        _NONE,
        (
            "(call_expression function: (identifier) @name)",
            "(call_expression function: (selector_expression field: (field_identifier) @name))",
            "(composite_literal type: (type_identifier) @name)",
        ),
        wrappers=_all("type_declaration const_declaration var_declaration"),
        transparent=_all("var_spec_list"),
    ),
    "java": Grammar(
        "tree_sitter_java",
        _kinds(
            "class: class_declaration; interface: interface_declaration; enum: enum_declaration; "
            "annotation: annotation_type_declaration; record: record_declaration; method: method_declaration; "
            "constructor: constructor_declaration compact_constructor_declaration"
        ),
        _all("class_declaration interface_declaration enum_declaration record_declaration"),
        (
            "(method_invocation name: (identifier) @name)",
            "(object_creation_expression type: (type_identifier) @name)",
        ),
        transparent=_all("enum_body_declarations"),
    ),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        _kinds(
            "class: class_declaration; object: object_declaration companion_object; type: type_alias; "
            "function: function_declaration; constructor: secondary_constructor; variable: property_declaration"
        ),
        _all("class_declaration object_declaration companion_object"),
        (
            "(call_expression . (identifier) @name)",
            "(call_expression . (navigation_expression (identifier) @name .))",
        ),
        inner="(function_declaration) @inner",
    ),
    "c": Grammar(
        "tree_sitter_c",
        _C_DEFINITIONS,
        _NONE,
        _C_CALLS,
        wrappers=_all("linkage_specification"),
        transparent=_C_TRANSPARENT,
    ),
    "cpp": Grammar(
        "tree_sitter_cpp",
        {
            **_C_DEFINITIONS,
            **_kinds(
                "class: class_specifier; namespace: namespace_definition; type: alias_declaration; "
                "concept: concept_definition"
            ),
        },
        _all("class_specifier struct_specifier namespace_definition"),
        (*_C_CALLS, "(call_expression function: (qualified_identifier name: (identifier) @name))"),
        wrappers=_all("template_declaration linkage_specification"),
        transparent=_C_TRANSPARENT,
    ),
}
"""By the language's name, as `code/<language>` has it."""


@cache
def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


def lacking_module(lang: str) -> str | None:
    """The missing module for parsing the language; None where nothing is missing."""
    return next((name for name in ("tree_sitter", GRAMMARS[lang].module) if not _is_installed(name)), None)


def parser_version() -> str:
    """`code-v4` and the languages that this installation cannot parse, so that a new grammar changes the version."""
    lacking = sorted(lang for lang in GRAMMARS if lacking_module(lang) is not None)
    if not lacking:
        return _VERSION
    return f"{_VERSION}-without-{'all' if len(lacking) == len(GRAMMARS) else '-'.join(lacking)}"
