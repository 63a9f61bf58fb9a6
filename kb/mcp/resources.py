"""Documents and places as resources, for clients that attach them by hand: `kb://doc/…`, `kb://citation/…`, …."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple
from urllib.parse import quote, unquote

import mcp_types as types
from mcp.shared.exceptions import MCPError

from kb.domain.results.fetched import Fetched, FetchRequest, FetchTarget
from kb.domain.run_handle import RunHandle
from kb.errors import KbError
from kb.mcp.door import Door, client_name
from kb.mcp.hidden import as_name, visible_line
from kb.mcp.progress import Context
from kb.mcp.text import error_text, fetch_text
from kb.mcp.tools import with_plain_names
from kb.operations.fetch.completion import complete_path, complete_symbol
from kb.operations.fetch.fetch import fetch
from kb.operations.inspect.listing import list_things

SCHEME = "kb://"
MOST_TOKENS = 20_000
_LISTED = 100
_COMPLETED = 50
_NOT_FOUND = -32002  # of the protocol: resource not found


class _Template(NamedTuple):
    """A kind of place: its address, what it is, and the part of a target that its first segment fills."""

    address: str
    title: str
    description: str
    part: str | None = None


TEMPLATES: Mapping[str, _Template] = {
    "doc": _Template("kb://doc/{+id}", "A document", "A whole document, by its path or id."),
    "citation": _Template(
        "kb://citation/{+uri}", "A citation", "What search cites: notes/a.md#L12-L34, with # as %23."
    ),
    "lines": _Template(
        "kb://lines/{lines}/{+path}", "Lines of a document", "Lines such as 12-34, then the path.", "lines"
    ),
    "page": _Template("kb://page/{page}/{+path}", "A page of a PDF", "The page, from 1, then the path.", "page"),
    "time": _Template(
        "kb://time/{time}/{+path}", "A stretch of a recording", "Seconds such as 822-850, then the path.", "time"
    ),
    "symbol": _Template("kb://symbol/{+symbol}", "A definition in code", "A name such as Parser.parse."),
}


class Resources:
    """The resources of one server process."""

    def __init__(self, door: Door) -> None:
        self._door = door

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """The documents, a page at a time."""
        cursor = None if params is None else params.cursor
        work = partial(list_things, self._door.session, "documents", limit=_LISTED, cursor=cursor)
        try:
            listing = await self._door.in_thread(work, RunHandle())
        except KbError as error:
            raise MCPError(types.INVALID_PARAMS, error_text(error)) from error
        found = [
            types.Resource(
                name=as_name(each.name),
                title=visible_line(each.detail or as_name(each.name)),
                uri=f"{SCHEME}doc/{quote(each.name)}",
                mime_type="text/plain",
            )
            for each in listing.items
        ]
        return types.ListResourcesResult(resources=found, next_cursor=listing.next_cursor)

    async def templates(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourceTemplatesResult:
        """The kinds of places."""
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    name=name,
                    title=each.title,
                    uri_template=each.address,
                    description=each.description,
                    mime_type="text/plain",
                )
                for name, each in TEMPLATES.items()
            ]
        )

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        """The text at an address, as the tool `fetch` gives it."""
        uri = str(params.uri)
        work = partial(self._read, uri, client_name(ctx))
        try:
            text = await self._door.in_thread(work, RunHandle())
        except KbError as error:
            raise MCPError(_NOT_FOUND, error_text(error)) from error
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)]
        )

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Paths and names that go on with what was typed."""
        finds = {"id": complete_path, "uri": complete_path, "path": complete_path, "folder": complete_path}
        find = complete_symbol if params.argument.name == "symbol" else finds.get(params.argument.name)
        values: list[str] = []
        if find is not None:
            work = partial(find, self._door.session, params.argument.value[:1000], _COMPLETED + 1)
            try:
                values = await self._door.in_thread(work, RunHandle())
            except KbError as error:
                raise MCPError(types.INVALID_PARAMS, error_text(error)) from error
        shown = [as_name(value) for value in values[:_COMPLETED]]
        return types.CompleteResult(completion=types.Completion(values=shown, has_more=len(values) > _COMPLETED))

    def _read(self, uri: str, client: str) -> str:
        fetched: Fetched | None = None
        target = read_address(uri)
        if target is not None:
            fetched = fetch(self._door.session, FetchRequest((target,), max_tokens=MOST_TOKENS))
        if fetched is None or not fetched.places:
            known = ", ".join(each.address for each in TEMPLATES.values())
            why = f"no resource has such an address; there are {known}" if fetched is None else ""
            said = why or error_text(fetched.failures[0].error if fetched and fetched.failures else KbError("nothing"))
            self._door.record(client, "resource", uri, (), said, "not_found")
            raise MCPError(_NOT_FOUND, said)
        text = fetch_text(with_plain_names(fetched))
        self._door.record(client, "resource", uri, [each.citation.to_uri() for each in fetched.places], text)
        return text


def read_address(uri: str) -> FetchTarget | None:
    """The place that an address names; None for one that is none."""
    kind, _, rest = uri.removeprefix(SCHEME).partition("/")
    template = TEMPLATES.get(kind)
    if not uri.startswith(SCHEME) or template is None or not rest:
        return None
    if kind == "symbol":
        return FetchTarget("", symbol=unquote(rest))
    if template.part is None:
        return FetchTarget(unquote(rest))
    part, _, path = rest.partition("/")
    if template.part == "page":
        return FetchTarget(unquote(path), page=int(part)) if part.isascii() and part.isdecimal() and path else None
    if not path:
        return None
    lines, time = (unquote(part) if template.part == name else None for name in ("lines", "time"))
    return FetchTarget(unquote(path), lines=lines, time=time)
