"""An object store on this machine that speaks as much of S3, and of the XML of Google's store, as Lance needs.

It loses connections when a test wants it.

The servers of S3 that the registry has need an older python-dateutil than kb's own dependencies.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from threading import RLock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape


class ObjectStore(ThreadingHTTPServer):
    """`objects` by bucket and key. `cut`: the share of requests whose connection is lost, by turns before the request
    is carried out, after it, and within the reply."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.objects: dict[str, bytes] = {}
        self.parts: dict[str, dict[int, bytes]] = {}
        self.requests = 0
        self.lost = 0
        self.cut = 0.0
        self.random = Random(7)
        self.lock = RLock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A lost connection is no news."""


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    with ObjectStore() as store:
        thread = Thread(target=store.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield store
        store.shutdown()
        thread.join()


class _Request(BaseHTTPRequestHandler):
    server: ObjectStore
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 20  # one packet a reply

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        store = self.server
        with store.lock:
            store.requests += 1
            how = store.random.randrange(3) if store.random.random() < store.cut else None
            store.lost += how is not None
            if how == 0:
                raise ConnectionResetError
            status, headers, reply = self._answer(body)
        if how == 1:
            raise ConnectionResetError
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(reply))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply[: len(reply) // 2] if how == 2 else reply)
        self.wfile.flush()
        if how == 2:
            raise ConnectionResetError

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do

    def _answer(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        at = urlsplit(self.path)
        asked = {name: values[0] for name, values in parse_qs(at.query, keep_blank_values=True).items()}
        key, objects = unquote(at.path).strip("/"), self.server.objects
        if self.command in ("GET", "HEAD"):
            return self._listed(key, asked) if "list-type" in asked else self._read(key)
        if self.command == "POST" and "delete" in asked:
            names = re.findall(r"<Key>([^<]+)</Key>", body.decode())
            for name in names:
                objects.pop(f"{key}/{name}", None)
            deleted = "".join(f"<Deleted><Key>{name}</Key></Deleted>" for name in names)
            return _xml(f"<DeleteResult>{deleted}</DeleteResult>")
        if self.command == "POST" and "uploads" in asked:
            upload = f"upload-{len(self.server.parts)}"
            self.server.parts[upload] = {}
            return _xml(f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId></InitiateMultipartUploadResult>")
        if self.command == "PUT" and "partNumber" in asked:
            self.server.parts[asked["uploadId"]][int(asked["partNumber"])] = body
            return 200, {"ETag": _tag(body)}, b""
        if self.command == "DELETE":
            objects.pop(key, None)
            return 204, {}, b""
        source = self.headers.get("x-amz-copy-source") or self.headers.get("x-goog-copy-source")
        if source:
            body = objects[unquote(source).strip("/")]
        elif self.command == "POST":
            parts = self.server.parts[asked["uploadId"]]
            body = b"".join(parts[number] for number in sorted(parts))
        is_new = self.headers.get("If-None-Match") == "*" or self.headers.get("x-goog-if-generation-match") == "0"
        if is_new and key in objects:
            return _error(412, "PreconditionFailed")
        objects[key] = body
        if self.command == "POST":
            return _xml(f"<CompleteMultipartUploadResult><ETag>{_tag(body)}</ETag></CompleteMultipartUploadResult>")
        if source:
            return _xml(f"<CopyObjectResult><ETag>{_tag(body)}</ETag></CopyObjectResult>")
        return 200, {"ETag": _tag(body)}, b""

    def _read(self, key: str) -> tuple[int, dict[str, str], bytes]:
        if key not in self.server.objects:
            return _error(404, "NoSuchKey")
        whole = self.server.objects[key]
        headers = {"ETag": _tag(whole), "Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT", "Accept-Ranges": "bytes"}
        if self.command == "HEAD":
            return 200, headers | {"Content-Length": str(len(whole))}, b""
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers.get("Range") or "")
        if asked is None:
            return 200, headers, whole
        start = int(asked[1]) if asked[1] else max(0, len(whole) - int(asked[2]))
        end = min(int(asked[2]) + 1, len(whole)) if asked[1] and asked[2] else len(whole)
        return 206, headers | {"Content-Range": f"bytes {start}-{end - 1}/{len(whole)}"}, whole[start:end]

    def _listed(self, bucket: str, asked: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        names = sorted(key.removeprefix(f"{bucket}/") for key in self.server.objects if key.startswith(f"{bucket}/"))
        shown, folders = [], {}
        for name in names:
            if not name.startswith(prefix) or name <= asked.get("start-after", ""):
                continue
            inside, found, _ = name[len(prefix) :].partition(delimiter) if delimiter else (name, "", "")
            if found:
                folders[f"{prefix}{inside}{delimiter}"] = True
            else:
                whole = self.server.objects[f"{bucket}/{name}"]
                shown.append(
                    f"<Contents><Key>{escape(name)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                    f"<ETag>{_tag(whole)}</ETag><Size>{len(whole)}</Size></Contents>"
                )
        common = "".join(f"<CommonPrefixes><Prefix>{escape(each)}</Prefix></CommonPrefixes>" for each in folders)
        return _xml(
            f"<ListBucketResult><Name>{bucket}</Name><Prefix>{escape(prefix)}</Prefix><IsTruncated>false</IsTruncated>"
            f"<KeyCount>{len(shown)}</KeyCount>{''.join(shown)}{common}</ListBucketResult>"
        )


def _xml(text: str) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/xml"}, f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode()


def _error(status: int, code: str) -> tuple[int, dict[str, str], bytes]:
    return status, {"Content-Type": "application/xml"}, f"<Error><Code>{code}</Code></Error>".encode()


def _tag(content: bytes) -> str:
    return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'
