"""A command is over before garbage would be collected; what serves for days collects it."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from conftest import Vault, run_kb


@pytest.fixture
def as_started() -> Iterator[None]:
    """Without collection, as `kb.cli.entry` begins."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    ("call", "module", "door"),
    [
        (("mcp",), "kb.mcp.server", "serve_stdio"),
        (("mcp", "--http"), "kb.mcp.http", "serve_http"),
        (("web", "--no-open"), "kb.web.serve", "serve"),
        (("ui", "--plain"), "kb.tui.plain", "converse"),
        (("search", "--bulk"), "kb.cli.bulk", "_lines"),
    ],
    ids=["mcp", "mcp --http", "web", "ui", "search --bulk"],
)
@pytest.mark.usefixtures("as_started")
def test_what_stays_collects_garbage(
    call: tuple[str, ...], module: str, door: str, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    collects: list[bool] = []

    def opened(*_: object, **__: object) -> tuple[()]:
        collects.append(gc.isenabled())
        return ()

    monkeypatch.setattr(f"{module}.{door}", opened)
    run_kb("--config", str(vault.config), *call)
    assert collects == [True]


@pytest.mark.usefixtures("as_started")
def test_what_ends_does_not(vault: Vault) -> None:
    assert run_kb("--config", str(vault.config), "search", "gateway").code == 0
    assert not gc.isenabled()
