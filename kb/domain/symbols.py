"""Source code: its definitions, where they are used (the rows of `symbols` and `symbol_refs`), its repository."""

from __future__ import annotations

from kb.records import NamedTuple

OBJECT_KINDS = frozenset(("resource", "stage", "image", "service", "job", "package", "dependency"))
"""Kinds of objects that files around source code declare: of Kubernetes, Docker, Compose, CI, and package manifests.

A `resource` is called `Kind/name`. An image is called without registry and tag, a package without what publishes it:
the whole is its `qualified` name.
"""


def shown_name(qualified: str, path: str) -> str:
    """A qualified name without the module that its file's path shows: `Foo.bar`."""
    module = path.rpartition(".")[0].removesuffix("/__init__")
    for prefix in (f"{module}.", f"{module.replace('/', '.')}."):
        if qualified.startswith(prefix) and module:
            return qualified[len(prefix) :]
    return qualified


class Symbol(NamedTuple):
    """One definition of a source file; lines count from 1, both included.

    `qualified` is its name with those around it, as its language writes it: `pkg.mod.Foo.bar` (Python),
    `src/foo.Foo.bar` (JavaScript, TypeScript), `pkg.(*Foo).Bar` (Go), `com.foo.Foo.bar` (Java, Kotlin), `ns::Foo::bar`
    (C++). `kind` is `function`, `method`, `class`, …; of files around source code one of OBJECT_KINDS or what the part
    is: `section`, `rule`. `line_start` is the first line of the comment, decorators or attributes that belong to it,
    `defined_at` the line where the definition itself begins. `is_inner`: it is inside a function.
    """

    name: str
    qualified: str
    kind: str
    lang: str
    parent: str | None
    signature: str
    doc: str | None
    line_start: int
    defined_at: int
    line_end: int
    visibility: str
    is_inner: bool = False


class Reference(NamedTuple):
    """A name that is called or constructed at a line, from inside the definition `source` (None: outside of any)."""

    name: str
    source: str | None
    line: int


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
