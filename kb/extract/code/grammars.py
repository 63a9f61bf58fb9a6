"""What the syntax trees of nine languages call their definitions: one table for all that is told apart by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language's grammar: the module that brings it, and the types of its nodes.

    `definitions` gives each defining node its kind. The members of `containers` are definitions of their own.
    `wrappers` hold one definition, and belong to it; what `transparent` nodes hold stands as if they were not there.
    What is both (`extern "C"`) wraps where it holds one.
    `leads` stand before the definition they belong to. `inner` is a query for what is defined inside of functions; no
    unit begins there. `calls` are queries for the names that are used, one each, so that one a version of the grammar
    does not know costs only itself.
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
        """The distribution that brings the grammar."""
        return self.module.replace("_", "-")


def _all(words: str) -> frozenset[str]:
    return frozenset(words.split())


_C_DEFINITIONS = {
    "function_definition": "function",
    "struct_specifier": "struct",
    "union_specifier": "union",
    "enum_specifier": "enum",
    "type_definition": "type",
    "preproc_def": "macro",
    "preproc_function_def": "macro",
}
_C_TRANSPARENT = _all(
    "preproc_ifdef preproc_if preproc_else preproc_elif preproc_elifdef linkage_specification declaration_list"
)
_C_CALLS = (
    "(call_expression function: (identifier) @name)",
    "(call_expression function: (field_expression field: (field_identifier) @name))",
)
_SCRIPT_DEFINITIONS = {
    "function_declaration": "function",
    "generator_function_declaration": "function",
    "class_declaration": "class",
    "method_definition": "method",
    "field_definition": "field",
    "variable_declarator": "variable",
    "assignment_expression": "variable",
}
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
    "public_field_definition": "field",
    "abstract_class_declaration": "class",
    "interface_declaration": "interface",
    "type_alias_declaration": "type",
    "enum_declaration": "enum",
    "internal_module": "namespace",
    "module": "namespace",
    "function_signature": "function",
    "abstract_method_signature": "method",
}
_TYPE_SCRIPT_CONTAINERS = _all("class_declaration abstract_class_declaration internal_module module")
# Functions and classes of a script that wraps all it holds in one function stand inside that.
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
        {
            "function_item": "function",
            "function_signature_item": "function",
            "struct_item": "struct",
            "enum_item": "enum",
            "union_item": "union",
            "trait_item": "trait",
            "impl_item": "impl",
            "mod_item": "module",
            "macro_definition": "macro",
            "const_item": "constant",
            "static_item": "constant",
            "type_item": "type",
        },
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
        {
            "function_declaration": "function",
            "method_declaration": "method",
            "type_spec": "type",
            "type_alias": "type",
            "const_spec": "constant",
            "var_spec": "variable",
        },
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
        {
            "class_declaration": "class",
            "interface_declaration": "interface",
            "annotation_type_declaration": "annotation",
            "enum_declaration": "enum",
            "record_declaration": "record",
            "method_declaration": "method",
            "constructor_declaration": "constructor",
            "compact_constructor_declaration": "constructor",
        },
        _all("class_declaration interface_declaration enum_declaration record_declaration"),
        (
            "(method_invocation name: (identifier) @name)",
            "(object_creation_expression type: (type_identifier) @name)",
        ),
        transparent=_all("enum_body_declarations"),
    ),
    "kotlin": Grammar(
        "tree_sitter_kotlin",
        {
            "class_declaration": "class",
            "object_declaration": "object",
            "companion_object": "object",
            "function_declaration": "function",
            "secondary_constructor": "constructor",
            "type_alias": "type",
            "property_declaration": "variable",
        },
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
            "class_specifier": "class",
            "namespace_definition": "namespace",
            "alias_declaration": "type",
            "concept_definition": "concept",
        },
        _all("class_specifier struct_specifier namespace_definition"),
        (*_C_CALLS, "(call_expression function: (qualified_identifier name: (identifier) @name))"),
        wrappers=_all("template_declaration linkage_specification"),
        transparent=_C_TRANSPARENT,
    ),
}
"""By the language's name, as `code/<language>` has it."""
