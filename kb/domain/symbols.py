"""Source code: definitions and uses (the rows of `symbols` and `symbol_refs`), and the repository of a file."""

from typing import NamedTuple

from kb.domain.citations import Citation, CodeCitation
from kb.domain.on_wire import on_wire

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
    """One definition. `line_start` includes its comment, decorators and attributes; `defined_at` is the line after
    them.
    """

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
        """The lines of the definition, its comment included."""
        return CodeCitation(self.path, self.line_start, self.line_end, self.qualified_name, self.kind, self.language)


@on_wire(fields="citation from_symbol")
class SymbolUse(NamedTuple):
    """A line that calls or constructs `name`; `from_symbol` is the definition that contains the line, None outside of
    any.
    """

    # While its file is read, `path` is empty; of a row, `name`.
    line: int
    from_symbol: str | None
    name: str = ""
    path: str = ""

    def citation(self) -> Citation:
        """The line as a citation."""
        return CodeCitation(self.path, self.line, self.line)


class Repository(NamedTuple):
    """The checkout that contains a file, as the last scan of the file found it.

    `path` is the folder of the checkout on this machine. `branch` is None if no branch is checked out; `commit`, in
    hex, is None if there is no commit yet or kb cannot tell it.
    """

    path: str
    name: str
    branch: str | None
    commit: str | None

    @property
    def label(self) -> str:
        """The name, branch and short commit, `kb main@3f2a91c04d5e`, as far as they are known."""
        commit = self.commit[:12] if self.commit else "no commit"
        return f"{self.name} {self.branch or ''}@{commit}"

    @property
    def is_dirty(self) -> bool | None:
        """Always None: kb does not compare files with their commit."""
        return None
