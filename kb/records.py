"""`NamedTuple` and `TypedDict`, made in a fraction of the time, because a cold search imports many of them.

Those of `typing` compile the annotation of each field: 185 µs for a tuple of five. `collections.namedtuple` takes 100,
most of it to compile a constructor for each; here the constructors of all tuples of one length share their code, under
other names, and it is 25. A search makes some forty. To a type checker these are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple", "TypedDict"]

if TYPE_CHECKING:
    from typing import NamedTuple, TypedDict
else:
    from collections import _tuplegetter

    class _Record(tuple):
        """The methods of all named tuples, as those of `collections.namedtuple`."""

        __slots__ = ()

        @classmethod
        def _make(cls, values: Iterable[Any]) -> _Record:
            """The tuple of these values, one per field."""
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **values: Any) -> _Record:
            """A copy with other values for some fields."""
            made = self._make(map(values.pop, self._fields, self))
            if values:
                raise ValueError(f"Got unexpected field names: {list(values)!r}")
            return made

        def _asdict(self) -> dict[str, Any]:
            """The values by their fields."""
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self) -> str:
            values = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self) -> tuple[Any, ...]:
            """The arguments that make a copy."""
            return tuple(self)

    class _Made(type):
        """Makes the tuple that a class body describes: its annotations are fields, their values defaults."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            defaults = {field: body[field] for field in fields if field in body}
            if fields[len(fields) - len(defaults) :] != tuple(defaults):
                raise TypeError(f"{name}: a field without a default follows one that has one")
            body |= {field: _tuplegetter(at, f"Alias for field number {at}") for at, field in enumerate(fields)}
            body |= {"__slots__": (), "_fields": fields, "_field_defaults": defaults, "__match_args__": fields}
            body["__new__"] = _constructor(name, fields, tuple(defaults.values()))
            return type(name, (_Record,), body)

    _new = tuple.__new__
    # Compiled with this module. A search needs these lengths, and a few longer ones that are compiled when they come.
    _constructors: dict[int, FunctionType] = {
        1: lambda _cls, a: _new(_cls, (a,)),
        2: lambda _cls, a, b: _new(_cls, (a, b)),
        3: lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        4: lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        5: lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        6: lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        7: lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        8: lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
        9: lambda _cls, a, b, c, d, e, f, g, h, i: _new(_cls, (a, b, c, d, e, f, g, h, i)),
        10: lambda _cls, a, b, c, d, e, f, g, h, i, j: _new(_cls, (a, b, c, d, e, f, g, h, i, j)),
        11: lambda _cls, a, b, c, d, e, f, g, h, i, j, k: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k)),
        12: lambda _cls, a, b, c, d, e, f, g, h, i, j, k, m: _new(_cls, (a, b, c, d, e, f, g, h, i, j, k, m)),
    }

    def _constructor(record: str, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> Callable[..., Any]:
        """`__new__` with these parameters: that of another tuple of as many, its parameters renamed."""
        count = len(fields)
        if count not in _constructors:
            names = "".join(f"_{at}, " for at in range(count))
            _constructors[count] = eval(f"lambda _cls, {names}: _new(_cls, ({names}))", {"_new": _new})
        alike = _constructors[count]
        named = {"co_name": "__new__", "co_qualname": f"{record}.__new__", "co_varnames": ("_cls", *fields)}
        code = alike.__code__.replace(**named)
        return FunctionType(code, alike.__globals__, "__new__", defaults)

    class NamedTuple(metaclass=_Made):
        """The base of a named tuple's class body."""

    class TypedDict(dict):
        """The base of a dictionary whose keys a type checker knows; nothing of them is kept at run time."""
