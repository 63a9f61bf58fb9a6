"""Runs work on another thread, where importing `concurrent.futures` would take longer than a short search."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def submit(work: Callable[[], T]) -> Callable[[], T]:
    """Starts `work` on another thread. The returned function waits for its result, or raises its exception."""
    given: list[T] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            given.append(work())
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            raised.append(error)

    thread = Thread(target=run, name="kb-models", daemon=True)
    thread.start()

    def wait() -> T:
        thread.join()
        if raised:
            raise raised[0]
        return given[0]

    return wait
