"""Source code: its definitions, where they are used (the rows of `symbols` and `symbol_refs`), its repository."""

from __future__ import annotations

from kb.domain.citations import Citation, CodeCitation
from kb.domain.on_wire import on_wire
from kb.records import NamedTuple

OBJECT_KINDS = frozenset(("resource", "stage", "image", "service", "job", "package", "dependency"))
"""Kinds of objects that files around source code declare: of Kubernetes, Docker, Compose, CI, and package manifests.

A `resource` is called `Kind/name`. An image is called without registry and tag, a package without what publishes it:
the whole is its qualified name.
"""


@on_wire(
    "symbol_summary.v1",
    title="SymbolSummaryV1",
    fields="name qualified_name kind code_lang=language parent signature doc defined_at visibility citation",
)
class Symbol(NamedTuple):
    """One definition; `defined_at` is the line where it begins behind its comment, decorators and attributes."""

    # Lines count from 1, both included; `line_start` is the first line of what belongs to the definition.
    # `qualified_name` is the name with those around it, as the language writes it: `pkg.mod.Foo.bar` (Python),
    # `src/foo.Foo.bar` (JavaScript, TypeScript), `pkg.(*Foo).Bar` (Go), `com.foo.Foo.bar` (Java, Kotlin), and
    # `ns::Foo::bar` (C++). `kind` is `function`, `method`, `class`, …; of files around source code one of OBJECT_KINDS
    # or the kind of part: `section`, `rule`. `is_inner`: inside a function. `path` is empty while the file is read.
    name: str
    qualified_name: str
    kind: str
    language: str
    parent: str | None
    signature: str
    doc: str | None
    line_start: int
    defined_at: int
    line_end: int
    visibility: str
    is_inner: bool = False
    path: str = ""

    def citation(self) -> Citation:
        """Where it is, its comment included."""
        return CodeCitation(self.path, self.line_start, self.line_end, self.qualified_name, self.kind, self.language)


@on_wire(fields="citation from_symbol")
class SymbolUse(NamedTuple):
    """A line that calls or constructs the name; `from_symbol` is the definition around it."""

    # While its file is read, `path` is empty; of a row, `name`.
    line: int
    from_symbol: str | None
    name: str = ""
    path: str = ""

    def citation(self) -> Citation:
        """The line."""
        return CodeCitation(self.path, self.line, self.line)


class Repository(NamedTuple):
    """The checkout that contains a file, as it was at the last scan of the file.

    `path` is that of the checkout's folder on this machine. `branch` is None where none is checked out; `commit`, in
    hex, where there is none yet or it is unknown.
    """

    path: str
    name: str
    branch: str | None
    commit: str | None

    @property
    def label(self) -> str:
        """`kb main@3f2a91c04d5e`; as much of it as is known."""
        commit = self.commit[:12] if self.commit else "no commit"
        return f"{self.name} {self.branch or ''}@{commit}"

    @property
    def is_dirty(self) -> bool | None:
        """None: kb does not compare files with their commit."""
        return None
