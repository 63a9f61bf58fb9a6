"""Who the page's server answers: its own page in a browser that was let in; and `kb web` as a process."""

from __future__ import annotations

import os
import re
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
from web_fixtures import Served, serving

from kb.web.guard import CONTENT_POLICY
from kb.web.serve import STATIC


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault) as made:
        yield made


def test_the_address_with_the_token_lets_a_browser_in(served: Served) -> None:
    host = {"host": f"127.0.0.1:{served.port}"}
    token = served.guard.token
    entered = served.ask("/", {"token": token, "q": 'a&b "c"'}, headers=host)
    assert entered.status == 200
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert b'url=/?q=a%26b+%22c%22"' in entered.body
    assert token.encode() not in entered.body
    shown = served.ask("/", headers={**host, "cookie": cookie.partition(";")[0]})
    assert shown.status == 200
    script = re.search(rb'src="(/static/[0-9a-f]{12}/page.js)"', shown.body)
    assert script is not None
    assert shown.headers["cache-control"] == "no-cache"
    kept = served.ask(script[1].decode(), headers={**host, "cookie": cookie.partition(";")[0]})
    assert (kept.status, kept.headers["cache-control"]) == (200, "private, max-age=31536000, immutable")
    assert kept.body == (STATIC / "page.js").read_bytes()


def test_an_address_lets_one_browser_in(served: Served) -> None:
    host = {"host": f"127.0.0.1:{served.port}"}
    token = served.guard.token
    assert served.ask("/", {"token": token}, headers=host).status == 200
    second = served.ask("/", {"token": token}, headers=host)
    assert (second.status, "set-cookie" in second.headers) == (403, False)
    again = served.ask("/", {"token": token, "q": "gateway"})  # by the browser that was let in
    assert (again.status, b'url=/?q=gateway"' in again.body) == (200, True)
    assert served.renewed[-1] == served.guard.token != token
    assert served.ask("/", {"token": served.renewed[-1]}, headers=host).status == 200


@pytest.mark.parametrize("cookie", ["", "kb_1=x", "kb_{port}=guess", "kb_{port}=", ";;=", 'kb_{port}="'])
@pytest.mark.parametrize("path", ["/", "/static/page.js", "/api/start", "/api/search?q=gateway", "/file?path=x.pdf"])
def test_a_browser_that_was_not_let_in_sees_nothing(path: str, cookie: str, served: Served) -> None:
    headers = {"host": f"127.0.0.1:{served.port}", "cookie": cookie.format(port=served.port)}
    refused = served.ask(path, headers=headers)
    assert refused.status == 403
    assert b"kb web" in refused.body
    assert b"gateway" not in refused.body.lower()


def test_a_wrong_token_lets_nobody_in(served: Served) -> None:
    refused = served.ask("/", {"token": "guess"}, headers={"host": f"127.0.0.1:{served.port}"})
    assert refused.status == 403
    assert "set-cookie" not in refused.headers


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:{port}"]
)
def test_a_foreign_name_that_resolves_to_this_machine_is_refused(host: str, served: Served) -> None:
    headers = {**served.let_in, "host": host.format(port=served.port)}
    assert served.ask("/api/search", {"q": "gateway"}, headers=headers).status == 421
    assert served.ask("/", {"token": served.guard.token}, headers=headers).status == 421


@pytest.mark.parametrize(
    "foreign",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_another_page_is_refused(foreign: dict[str, str], served: Served) -> None:
    refused = served.ask("/api/search", {"q": "gateway"}, headers={**served.let_in, **foreign})
    assert (refused.status, refused.json["code"]) == (403, "not_allowed")


def test_a_link_of_another_page_ends_at_a_page_that_can_be_read(served: Served) -> None:
    led = {**served.let_in, "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    refused = served.ask("/", headers=led)
    assert refused.status == 403
    assert refused.headers["content-type"].startswith("text/html")
    assert "unsafe" not in refused.headers["content-security-policy"]
    assert "script-src" not in refused.headers["content-security-policy"]


def test_the_name_localhost_is_this_machine_too(served: Served) -> None:
    headers = {**served.let_in, "host": f"localhost:{served.port}", "origin": f"http://localhost:{served.port}"}
    assert served.ask("/api/start", headers=headers).status == 200


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(method: str, served: Served) -> None:
    assert served.ask("/api/search", {"q": "gateway"}, method=method).status == 405


def test_a_post_needs_the_second_token_and_the_page_as_its_origin(served: Served) -> None:
    own = {**served.let_in, "content-type": "application/json", "origin": f"http://127.0.0.1:{served.port}"}
    whole = {**own, "x-kb-csrf": served.keys.csrf}
    posted = lambda headers: served.ask("/api/nothing", method="POST", headers=headers, body={}).status  # noqa: E731
    assert posted(whole) == 404
    assert posted(own) == 403
    assert posted({**whole, "x-kb-csrf": served.keys.cookie}) == 403
    assert posted({name: value for name, value in whole.items() if name != "origin"}) == 403
    assert posted({**whole, "content-type": "text/plain"}) == 415


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/api/start", "/nowhere", "/static/none.js"])
def test_every_answer_says_what_a_browser_may_load(path: str, served: Served) -> None:
    headers = served.ask(path).headers
    assert headers["content-security-policy"] == CONTENT_POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "unsafe" not in CONTENT_POLICY
    assert "http" not in CONTENT_POLICY
    assert not {"access-control-allow-origin", "server"} & headers.keys() - {"server"}


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/guard.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/file?path=../../../etc/passwd",
        "/file?path=/etc/passwd",
        "/file?path=chunking.md",
        "/api/document?at=../kb.toml",
        "/api/document?at=%2Fetc%2Fpasswd%23L1",
        "/api/linked?name=../../../../etc/passwd&from=chunking.md",
    ],
)
def test_no_path_leads_out_of_what_is_indexed(path: str, served: Served) -> None:
    refused = served.ask(path)
    assert refused.status == 404
    assert b"root:" not in refused.body
    assert b"workspace" not in refused.body


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
        with pytest.raises(HTTPError) as refused:
            urlopen(address)
        assert refused.value.code == 403
        refused.value.close()
        assert process.stderr is not None
        told = process.stderr.readline() + process.stderr.readline()
        with urlopen(told.split()[-1]) as entered:
            assert entered.status == 200
    assert process.returncode == 0


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
