"""Resources and prompts that a person picks in a client: documents, places (`kb://doc/…`, `kb://citation/…`, …)."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from functools import partial
from typing import NamedTuple, NoReturn
from urllib.parse import quote

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from kb.domain.results.fetched import FetchRequest, FetchTarget
from kb.domain.run_handle import RunHandle
from kb.errors import KbError, NotFound
from kb.mcp.calls import Context, ToolCalls, client_name, require_first_page
from kb.mcp.text import COUNTED, Fence, as_name, error_text, fetch_text, visible_line
from kb.operations.fetch.fetch import fetch
from kb.operations.inspect.listing import complete_path, complete_symbol, list_things
from kb.operations.opening.base import Base

SCHEME = "kb://"
MOST_TOKENS = 20_000
_LISTED = 100
_COMPLETED = 50
_ARGUMENT_CHARS = 2000
_NOT_FOUND = -32002  # resource not found, in versions of the protocol before 2026-07-28


class _Template(NamedTuple):
    """A kind of resource, and the form of its address, which `plain_citation` reads."""

    address: str
    title: str
    description: str


TEMPLATES: Mapping[str, _Template] = {
    "doc": _Template("kb://doc/{+id}", "A document", "A whole document, by its path or id."),
    "citation": _Template(
        "kb://citation/{+uri}", "A citation", "What search cites: notes/a.md#L12-L34, with # as %23."
    ),
    "lines": _Template("kb://lines/{lines}/{+path}", "Lines of a document", "Lines such as 12-34, then the path."),
    "page": _Template("kb://page/{page}/{+path}", "A page of a PDF", "The page, from 1, then the path."),
    "time": _Template(
        "kb://time/{time}/{+path}", "A stretch of a recording", "Seconds such as 822-850, then the path."
    ),
    "symbol": _Template("kb://symbol/{+symbol}", "A definition in code", "A name such as Parser.parse."),
}


class Resources:
    """Resources over the calls of one server process."""

    def __init__(self, calls: ToolCalls) -> None:
        self._calls = calls

    async def list(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        """Lists documents, a page at a time."""
        cursor = None if params is None else params.cursor
        work = partial(list_things, self._calls.session, "documents", limit=_LISTED, cursor=cursor)
        try:
            listing = await self._calls.in_thread(work, RunHandle())
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

    async def templates(
        self, _: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Lists the kinds of addresses."""
        require_first_page(params)
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
        """Reads the text at an address, as the tool `fetch` gives it."""
        uri = str(params.uri)
        work = partial(self._read, uri, client_name(ctx))
        try:
            text = await self._calls.in_thread(work, RunHandle())
        except KbError as error:
            code = _NOT_FOUND if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS else types.INVALID_PARAMS
            fence = Fence()
            raise MCPError(code, f"{fence.said}\n{fence.around(error_text(error))}") from error
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)]
        )

    async def complete(self, _: Context, params: types.CompleteRequestParams) -> types.CompleteResult:
        """Completes paths, folders and names, of arguments that there are."""
        name, ref = params.argument.name, params.ref
        if isinstance(ref, types.PromptReference):
            there = name == PROMPTS[ref.name].argument if ref.name in PROMPTS else False
        else:
            known = ref.uri in (each.address for each in TEMPLATES.values())
            there = known and any(f"{{{sign}{name}}}" in ref.uri for sign in ("", "+"))
        finds = {"id": complete_path, "uri": complete_path, "path": complete_path, "folder": _folders}
        find = complete_symbol if name == "symbol" else finds.get(name)
        values: list[str] = []
        if there and find is not None:
            work = partial(find, self._calls.session, params.argument.value[:1000], _COMPLETED + 1)
            try:
                values = await self._calls.in_thread(work, RunHandle())
            except KbError as error:
                raise MCPError(types.INVALID_PARAMS, error_text(error)) from error
        shown = [as_name(value) for value in values[:_COMPLETED]]
        return types.CompleteResult(completion=types.Completion(values=shown, has_more=len(values) > _COMPLETED))

    def _read(self, uri: str, client: str) -> str:
        kind = uri.removeprefix(SCHEME).partition("/")[0]
        if not uri.startswith(SCHEME) or kind not in TEMPLATES:
            known = ", ".join(each.address for each in TEMPLATES.values())
            self._refuse(client, uri, NotFound("no resource has such an address", f"there are {known}"))
        counted = partial(fetch_text, fence=COUNTED)
        fetched = fetch(self._calls.session, FetchRequest((FetchTarget(uri),), max_tokens=MOST_TOKENS), counted)
        if not fetched.places:
            self._refuse(client, uri, fetched.failures[0].error)
        text = fetch_text(fetched, Fence())
        self._calls.record(client, "resource", uri, [each.citation.to_uri() for each in fetched.places], text)
        return text

    def _refuse(self, client: str, uri: str, error: KbError) -> NoReturn:
        self._calls.record(client, "resource", uri, (), error_text(error), error.code)
        raise error


def _folders(session: Base, typed: str, limit: int) -> list[str]:
    """Folders whose path contains the typed text, of the paths that do."""
    paths = complete_path(session, typed, 20 * limit)
    folders = {path[:at] for path in paths for at, char in enumerate(path) if char == "/"}
    return sorted(each for each in folders if typed.casefold() in each.casefold())[:limit]


class _Prompt(NamedTuple):
    """A prompt with one argument, which replaces `{}` in its text."""

    title: str
    argument: str
    meaning: str
    text: str


PROMPTS: Mapping[str, _Prompt] = {
    "answer_from_my_notes": _Prompt(
        "Answer from my notes",
        "question",
        "what you want to know",
        "Answer this from my own documents: {}\n\n"
        "Search kb with the question and with other words for it, in Korean and in English where that may help. Fetch "
        "the passages you rely on. Answer from them alone, each statement with its citation. Where they do not answer "
        "it, say so and name the nearest places; do not fill in from memory.",
    ),
    "what_did_i_decide": _Prompt(
        "What did I decide about …",
        "topic",
        "what the decision is about",
        "Find out what I decided about: {}\n\n"
        "Search kb for it, for decisions, reasons, alternatives and dates around it. Fetch the places. Say what "
        "was decided, when, and why, with citations; name earlier decisions that it replaced, and what is still open. "
        "Where the documents contradict each other, show both with their dates.",
    ),
    "summarise_this_folder": _Prompt(
        "Summarise this folder",
        "folder",
        "a folder of the workspace, e.g. projects/gateway",
        "Summarise what my documents in this folder say: {}\n\n"
        "List its documents with kb (what: documents, glob: the folder with /** behind it). Fetch them, the newest "
        "first, as far as the budget goes. Give the main points, open questions and dates, each with its citation, and "
        "name the documents you did not read.",
    ),
}


async def list_prompts(_: Context, params: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    """Lists the prompts."""
    require_first_page(params)
    return types.ListPromptsResult(
        prompts=[
            types.Prompt(
                name=name,
                title=each.title,
                description=each.text.partition("\n\n")[2],
                arguments=[types.PromptArgument(name=each.argument, description=each.meaning, required=True)],
            )
            for name, each in PROMPTS.items()
        ]
    )


async def get_prompt(_: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    """Returns a prompt with its argument filled in."""
    prompt = PROMPTS.get(params.name)
    if prompt is None:
        near = get_close_matches(params.name, PROMPTS, n=1, cutoff=0.4)
        meant = f", did you mean {near[0]!r}?" if near else "."
        raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name[:80]!r}{meant} There are {', '.join(PROMPTS)}.")
    given = dict(params.arguments or {})
    value = visible_line(given.pop(prompt.argument, ""))[:_ARGUMENT_CHARS]
    if given or not value:
        raise MCPError(types.INVALID_PARAMS, f"{params.name} takes {prompt.argument}: {prompt.meaning}")
    text = types.TextContent(text=prompt.text.replace("{}", value, 1))
    return types.GetPromptResult(description=prompt.title, messages=[types.PromptMessage(role="user", content=text)])
