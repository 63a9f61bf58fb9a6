"""Modules that a process of kb loads when something in them is first used.

click imports `inspect`, `gettext` and `threading`, `uuid` (which click imports) `platform`, pathlib `ipaddress`,
`ntpath` and `urllib.parse`. With what these import in turn they are a fifth of the work of a cold search, which uses
none of them: each is loaded by the first use of anything in it.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock, _local, allocate_lock
from collections.abc import Callable
from types import ModuleType
from typing import Any

DEFERRED = {
    "inspect": (),
    "ipaddress": (),
    "ntpath": (),
    "platform": (),
    "gettext": ("gettext", "ngettext"),
    "threading": (),
    "urllib.parse": ("quote_from_bytes",),
}
"""Each module with its functions that other modules import by `from … import`; a stand-in function loads the module."""

_BUILT_IN = {"threading": {"local": _local, "Lock": allocate_lock, "RLock": RLock}}
"""The names a module takes from the interpreter, available without loading it."""

_loading = RLock()


class DeferredModule(ModuleType):
    """A module that is loaded when an attribute of it is first used.

    `importlib.util.LazyLoader` of Python 3.11 is not thread-safe: a second thread may find the module half loaded.
    """

    _is_loading = False

    def __getattr__(self, name: str) -> object:
        """Loads the module and returns its attribute; Python calls this for an attribute that is not set yet."""
        if name == "__path__":  # every `from … import` asks whether the module is a package
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self._load(name)
        return getattr(self, name)

    def _load(self, name: str) -> None:
        from importlib.machinery import PathFinder

        with _loading:  # waits for the thread that loads it
            if type(self) is not DeferredModule:
                return
            package = sys.modules.get(self.__package__ or "")
            spec = PathFinder.find_spec(self.__name__, package.__path__ if package else None)
            if self._is_loading or spec is None or spec.loader is None:
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
            self._is_loading = True
            try:
                self.__spec__, self.__loader__, self.__file__ = spec, spec.loader, spec.origin
                spec.loader.exec_module(self)
                self.__class__ = ModuleType  # type: ignore[assignment]
            finally:
                del self._is_loading


def defer() -> None:
    """Replaces each of the modules that is not loaded yet by a deferred one."""
    for name, functions in DEFERRED.items():
        if name in sys.modules:
            continue
        module = DeferredModule(name)
        package, _, last = name.rpartition(".")
        module.__package__ = package
        for function in functions:
            setattr(module, function, _stand_in(module, function))
        for built_in, value in _BUILT_IN.get(name, {}).items():
            setattr(module, built_in, value)
        sys.modules[name] = module
        if package:
            setattr(__import__(package), last, module)
    if sys.platform == "linux":
        _know_the_system(sys.modules["platform"])


def _stand_in(module: DeferredModule, name: str) -> Callable[..., Any]:
    """A function that loads the module when called, replaces itself by the module's function, and calls that."""

    def function(*arguments: Any, **named: Any) -> Any:
        DeferredModule._load(module, name)  # the module may be an ordinary one by now
        return getattr(module, name)(*arguments, **named)

    return function


def _know_the_system(platform: ModuleType) -> None:
    """Gives uuid the system's name, for which it asks on import, without loading `platform`."""
    if type(platform) is DeferredModule:
        platform.system = lambda: os.uname().sysname  # type: ignore[attr-defined]
