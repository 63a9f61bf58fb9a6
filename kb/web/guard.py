"""Admits requests of this machine's browser alone, opened at the address that `kb web` printed.

Any program of this machine, and any page of the web that the browser shows, can send requests to 127.0.0.1. So a
request is answered only where it is addressed to this server by name (`Host`: a foreign name that resolves to
127.0.0.1, DNS rebinding, is refused), comes from no other page (`Origin`, `Sec-Fetch-Site`), and has the key that the
address with the token gave the browser. A token lets one browser in: what stays in a history is of no use to another.
What changes anything takes a POST with a second token, which only the page
knows. All answers tell the browser to run scripts of this server alone and to fetch from nowhere else.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
from collections.abc import Callable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CONTENT_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "font-src 'self'",
        "media-src 'self'",
        "connect-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

HEADERS: Mapping[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "x-frame-options": "DENY",
}

TOKEN_PARAMETER = "token"
CSRF_HEADER = "x-kb-csrf"


class Keys(NamedTuple):
    """The keys a browser must send, new for each start: in its cookie, with each POST."""

    cookie: str
    csrf: str


def new_key() -> str:
    """192 random bits."""
    return secrets.token_urlsafe(24)


class Guard:
    """Passes allowed requests to `app`, and sets the headers of every response.

    `token` is what the address must hold that lets the next browser in; when one has used it, `renewed` gets the next.
    """

    def __init__(self, app: ASGIApp, keys: Keys, port: int, renewed: Callable[[str], None]) -> None:
        self.token = new_key()
        self._renewed = renewed
        self._app = app
        self._keys = keys
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._cookie = f"kb_{port}"  # a browser keeps the cookies of all ports of a host together

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one ASGI request."""
        if scope["type"] != "http":
            return  # websockets are not spoken here
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        refusal = _refused(421, "this address is not one of kb's") if len(hosts) != 1 else None
        answer = refusal or self._answer_itself(scope, headers)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _answer_itself(self, scope: Scope, headers: Mapping[str, str]) -> Response | None:
        """The refusal, or the redirect for the address with the token; None for an allowed request."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return _refused(421, "this address is not one of kb's")
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = dict(query).get(TOKEN_PARAMETER)
        if scope["method"] == "GET" and scope["path"] == "/" and token is not None:
            is_new = secrets.compare_digest(token.encode(), self.token.encode())
            if not is_new and not self._is_let_in(headers):
                return _locked("That address has been used, or is of an earlier start.")
            if is_new:
                self.token = new_key()
                self._renewed(self.token)
            return self._way_in([(name, value) for name, value in query if name != TOKEN_PARAMETER])
        origin = headers.get("origin")
        if origin is not None and origin not in (f"http://{host}",):
            return _refused(403, "the request comes from another page")
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            if headers.get("sec-fetch-mode") == "navigate":
                return _locked("Another page's link led here; kb opens for nobody but you.")
            return _refused(403, "the request comes from another page")
        if not self._is_let_in(headers):
            return _locked("This browser has not been let in.")
        if scope["method"] in ("GET", "HEAD"):
            return None
        if scope["method"] != "POST":
            return _refused(405, "only GET and POST are answered")
        if origin is None or not secrets.compare_digest(
            headers.get(CSRF_HEADER, "").encode(), self._keys.csrf.encode()
        ):
            return _refused(403, "the request does not come from kb's page")
        if headers.get("content-type", "").partition(";")[0] != "application/json":
            return _refused(415, "a POST holds JSON")
        return None

    def _way_in(self, rest: list[tuple[str, str]]) -> Response:
        """Sets the browser's cookie and sends it to the page, whose address does not have the token.

        The response goes there by a meta refresh: a request that another page redirects has no cookie.
        """
        target = "/" + (f"?{urlencode(rest)}" if rest else "")
        escaped = target.replace("&", "&amp;").replace('"', "&quot;")
        entered = HTMLResponse(
            f'<!doctype html><html lang="en"><link rel="icon" href="/static/icon.svg"><title>kb</title>'
            f'<meta http-equiv="refresh" content="0;url={escaped}">'
        )
        entered.set_cookie(self._cookie, self._keys.cookie, path="/", httponly=True, samesite="strict")
        return entered

    def _is_let_in(self, headers: Mapping[str, str]) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._keys.cookie.encode())


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", [])}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
            if b"cache-control" not in there:
                more.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return sending


def _refused(status: int, why: str) -> Response:
    return JSONResponse(
        {
            "schema_version": "error.v1",
            "code": "not_allowed",
            "message": why,
            "hint": "open the address that kb web printed last",
            "details": {},
        },
        status_code=status,
    )


_LOCKED_STYLE = (
    ":root{color-scheme:light dark}"
    "body{max-width:32rem;margin:18vh auto;padding:0 1rem;font:1rem/1.6 system-ui,sans-serif}"
    "h1{font-size:1.25rem}p{margin:.5rem 0}"
)
_LOCKED_POLICY = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"
    f"{base64.b64encode(hashlib.sha256(_LOCKED_STYLE.encode()).digest()).decode()}'"
)


def _locked(why: str) -> Response:
    return HTMLResponse(
        '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>kb</title><style>{_LOCKED_STYLE}</style><h1>Not open here</h1><p>{why}</p>"
        "<p>Open the address that <code>kb web</code> printed last in its terminal; the key in it lets one browser "
        'in.</p><p lang="ko">터미널에서 <code>kb web</code>이 마지막으로 출력한 주소를 여세요. '
        "주소의 열쇠는 브라우저 하나만 엽니다.</p>",
        status_code=403,
        headers={"content-security-policy": _LOCKED_POLICY},
    )
