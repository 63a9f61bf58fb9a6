"""Modules of the standard library that are imported early and used late, if at all.

click imports `inspect`, pathlib `ipaddress`. With what these import in turn they are a seventh of the work of a cold
search, which uses neither. Deferred, each is loaded by the first use of anything in it.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType

DEFERRED = ("inspect", "ipaddress")

_loading = RLock()


class DeferredModule(ModuleType):
    """A module that is not loaded yet; an ordinary one from then on.

    `importlib.util.LazyLoader` of Python 3.11 serves one thread alone: a second one may find the module half loaded.
    """

    _is_loading = False

    def __getattr__(self, name: str) -> object:
        """What the module has under that name; asked where it has nothing yet."""
        with _loading:  # waits for the thread that loads it
            if type(self) is DeferredModule:
                self._load(name)
        return getattr(self, name)

    def _load(self, name: str) -> None:
        if self._is_loading or self.__spec__ is None or self.__spec__.loader is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        self._is_loading = True
        try:
            self.__spec__.loader.exec_module(self)
            self.__class__ = ModuleType  # type: ignore[assignment]
        finally:
            del self._is_loading


def defer() -> None:
    """Puts a deferred module in the place of each that is not loaded yet."""
    for name in DEFERRED:
        spec = None if name in sys.modules else find_spec(name)
        if spec is not None:
            module = module_from_spec(spec)
            module.__class__ = DeferredModule
            sys.modules[name] = module
