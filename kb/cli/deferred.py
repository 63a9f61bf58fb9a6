"""Modules of the standard library that a process of kb loads when an attribute of them is first used.

click imports `inspect`, `uuid` (which click imports) `platform`, and pathlib `ipaddress` and `ntpath`. With what these
import in turn they are a tenth of the work of a cold search, which uses none of them.
"""

from __future__ import annotations

import os
import sys
from _thread import RLock
from types import ModuleType

DEFERRED = ("inspect", "ipaddress", "ntpath", "platform")

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
            spec = PathFinder.find_spec(self.__name__)
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
    for name in DEFERRED:
        if name not in sys.modules:
            sys.modules[name] = DeferredModule(name)
    platform = sys.modules["platform"]
    if sys.platform == "linux" and type(platform) is DeferredModule:
        platform.system = lambda: os.uname().sysname  # type: ignore[attr-defined]  # uuid calls it on import
