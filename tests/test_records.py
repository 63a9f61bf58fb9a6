"""kb's named tuples behave as those of the standard library."""

from __future__ import annotations

import copy
import pickle
from collections import namedtuple
from typing import Any

import pytest

from kb.records import NamedTuple


class Point(NamedTuple):
    """A place."""

    x: int
    y: int
    name: str = "origin"

    @property
    def length(self) -> int:
        return abs(self.x) + abs(self.y)


class Pair(NamedTuple):
    left: str
    right: str
    weight: float


class Nothing(NamedTuple):
    pass


Usual = namedtuple("Usual", ("x", "y", "name"), defaults=("origin",))

CALLS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((1, 2), {}),
    ((1,), {"y": 2}),
    ((), {"y": 2, "x": 1, "name": "a"}),
    ((1,), {}),
    ((1, 2, "a", 4), {}),
    ((1, 2), {"z": 3}),
    ((1, 2), {"x": 3}),
]


@pytest.mark.parametrize(("args", "named"), CALLS)
def test_it_is_made_of_the_same_arguments(args: tuple[Any, ...], named: dict[str, Any]) -> None:
    def made(of: Any) -> Any:
        try:
            return tuple(of(*args, **named))
        except TypeError as error:
            return str(error).replace("Usual", "Point")

    assert made(Point) == made(Usual)


def test_it_has_what_a_named_tuple_has() -> None:
    point, usual = Point(3, -4), Usual(3, -4)
    assert (point.x, point.y, point.name, point.length) == (3, -4, "origin", 7)
    assert (point._asdict(), point._fields, point._field_defaults) == (
        usual._asdict(),
        usual._fields,
        usual._field_defaults,
    )
    assert repr(point) == repr(usual).replace("Usual", "Point")
    assert point == usual
    assert hash(point) == hash(usual)
    assert point._replace(name="b") == (3, -4, "b")
    assert (Point._make([1, 2, "c"]), Point.__doc__, Point.__module__) == (Point(1, 2, "c"), "A place.", __name__)
    assert Nothing() == ()
    match point:
        case Point(x, y):
            assert (x, y) == (3, -4)


def test_two_of_one_length_keep_their_own_names() -> None:
    assert Pair(right="b", left="a", weight=1.0) == ("a", "b", 1.0)
    assert Point(name="n", x=1, y=2) == (1, 2, "n")
    with pytest.raises(TypeError, match="weight"):
        Pair("a", "b")  # type: ignore[call-arg]


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TypeError, match="Expected 3 arguments, got 2"):
        Point._make([1, 2])
    with pytest.raises(ValueError, match="unexpected field names"):
        Point(1, 2)._replace(z=3)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Point(1, 2).x = 5  # type: ignore[misc]
    with pytest.raises(AttributeError):
        Point(1, 2).other = 5  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match="a field without a default"):
        type(NamedTuple)("Wrong", (NamedTuple,), {"__annotations__": {"a": "int", "b": "int"}, "a": 1})


def test_it_is_copied_and_pickled() -> None:
    point = Point(1, 2, "p")
    for again in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert (again, type(again)) == (point, Point)
