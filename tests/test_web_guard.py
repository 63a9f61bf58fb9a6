"""Who the page's server answers: its own page in a browser that was let in, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import Vault
from web_fixtures import Served, serving

from kb.web.guard import CONTENT_POLICY


@pytest.fixture(scope="module")
def served(vault: Vault) -> Iterator[Served]:
    with serving(vault) as made:
        yield made


def test_the_address_with_the_token_lets_a_browser_in(served: Served) -> None:
    host = {"host": f"127.0.0.1:{served.port}"}
    entered = served.ask("/", {"token": served.keys.token, "q": 'a&b "c"'}, headers=host)
    assert entered.status == 200
    cookie = entered.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert b'url=/?q=a%26b+%22c%22"' in entered.body
    assert served.keys.token.encode() not in entered.body
    shown = served.ask("/", headers={**host, "cookie": cookie.partition(";")[0]})
    assert shown.status == 200
    assert b"/static/page.js" in shown.body


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
    assert served.ask("/", {"token": served.keys.token}, headers=headers).status == 421


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
