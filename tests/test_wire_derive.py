"""The wire form of a record follows from its fields, from `Wire` at a field and `on_wire` over the class."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from kb.domain.on_wire import Wire, on_wire
from kb.errors import NotFound
from kb.wire.derive import to_wire


class Plain(NamedTuple):
    """A record that goes as it is."""

    name: str
    path: Path
    parts: tuple[tuple[int, int], ...]
    counts: Mapping[str, int]


class Renamed(NamedTuple):
    """Fields with another name or value on the wire."""

    tags_json: Annotated[str, Wire("tags", list[str], json.loads)]
    ms: Annotated[float, Wire(by=round)]


@on_wire("told.v1", fields="label k=inner.name note? found=size *extra lost=nothing.name")
@dataclass(frozen=True)
class Told:
    """An object with a head, in an order of its own, with what is computed and without what is not there."""

    kind: ClassVar = "told"

    inner: Plain
    extra: Renamed
    nothing: Plain | None = None
    note: str | None = None

    @property
    def label(self) -> str:
        """A property."""
        return self.inner.name.upper()

    def size(self) -> int:
        """A method."""
        return len(self.inner.parts)


PLAIN = Plain("a", Path("/x/y"), ((1, 2), (3, 4)), {"n": 1})
RENAMED = Renamed('["p", "q"]', 1.6)


def test_a_record_goes_as_it_is() -> None:
    assert to_wire(PLAIN) == {"name": "a", "path": "/x/y", "parts": [[1, 2], [3, 4]], "counts": {"n": 1}}


def test_a_field_says_its_other_name_and_how_it_is_converted() -> None:
    assert to_wire([RENAMED]) == [{"tags": ["p", "q"], "ms": 2}]


def test_a_class_says_its_head_order_and_what_is_left_out() -> None:
    made = to_wire(Told(PLAIN, RENAMED))
    expected = {"schema_version": "told.v1", "kind": "told", "label": "A", "k": "a", "found": 2}
    assert list(made.items()) == list((expected | {"tags": ["p", "q"], "ms": 2}).items())
    assert to_wire(Told(PLAIN, RENAMED, PLAIN, "n"))["note"] == "n"
    assert to_wire(Told(PLAIN, RENAMED, PLAIN))["lost"] == "a"


def test_an_error_is_a_record() -> None:
    assert to_wire(NotFound("no", "look")) == {
        "schema_version": "error.v1",
        "code": "not_found",
        "message": "no",
        "hint": "look",
        "details": {},
    }
