"""`kb web` as a process: it says where it is, answers there, and ends by Ctrl-C without a trace."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from conftest import Vault, cpu_limited, run_kb


@contextmanager
def started(vault: Vault, *args: str, **env: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and the address that it printed."""
    command = cpu_limited([sys.executable, "-m", "kb", "--config", str(vault.config), "web", *args])
    surroundings = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **env}
    with subprocess.Popen(
        command, env=surroundings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            yield process, line.rpartition(" ")[2].strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()


@pytest.mark.slow
def test_the_address_it_prints_opens_and_ctrl_c_ends_it(vault: Vault) -> None:
    with started(vault, "--no-open", "gateway", "retries") as (process, address):
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("&q=gateway+retries")
        with urlopen(address) as entered:
            assert entered.status == 200
        with pytest.raises(HTTPError) as refused:
            urlopen(address.partition("?")[0])
        assert refused.value.code == 403
        refused.value.close()
    assert process.returncode == 0
    assert process.stderr is not None


def test_a_port_that_is_taken_is_told(vault: Vault) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = run_kb("--config", str(vault.config), "web", "--no-open", "--port", str(port))
    assert ran.code == 2
    assert f"port {port} cannot be listened on" in ran.stderr
    assert "--port" in ran.stderr


@pytest.mark.slow
def test_the_browser_is_handed_the_address_by_a_file_only_its_user_can_read(vault: Vault, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {seen}.new\nstat -c %a "${{1#file://}}" >> {seen}.new\n'
                       f'cat "${{1#file://}}" >> {seen}.new\nmv {seen}.new {seen}\n', encoding="utf-8")  # fmt: skip
    browser.chmod(0o755)
    with started(vault, BROWSER=str(browser)) as (process, address):
        while not seen.exists():
            assert process.poll() is None
        page, mode, text = seen.read_text(encoding="utf-8").split("\n", 2)
    assert "token" not in page
    assert mode == "600"
    assert address in text.replace("&amp;", "&")
    assert not Path(page.removeprefix("file://")).exists()


def test_what_is_not_installed_is_told_with_the_command_that_adds_it(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.models.requirements.find_spec", lambda name: None)
    ran = run_kb("--config", str(vault.config), "web", "--no-open")
    assert ran.code == 2
    assert "kb web need" in ran.stderr
    assert "[web]" in ran.stderr


def test_without_a_knowledge_base_there_is_no_page(tmp_path: Path) -> None:
    ran = run_kb("--config", "/dev/null", "--set", f"storage.data_dir={tmp_path}", "web", "--no-open")
    assert (ran.code, "kb ingest" in ran.stderr) == (2, True)
