"""Calls of tools over one session: a request runs a tool, an error becomes text that an agent can act on.

A client that asks for progress gets it during a call. Tools are listed with short schemas, because agents read every
token of them: lengths, which the tool checks, and the objects in a result (see docs/wire-schema) are left out.
"""

from __future__ import annotations

import functools
import json
import sys
import traceback
import warnings
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar, get_args

import anyio
import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from kb.domain.results.answers import Disclosure
from kb.domain.results.fetched import Picture
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import KbError
from kb.mcp.text import error_text, visible_line, visible_parts
from kb.mcp.tools import Result, ToolSpec
from kb.operations.answers.audit import AuditLog
from kb.operations.opening.base import Base
from kb.operations.opening.clock import now_utc
from kb.wire.derive import to_wire
from kb.wire.schemas import json_schemas, read_arguments

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]

# Calls that run at once; others wait.
CALLS_AT_ONCE = 4
LEVELS: tuple[types.LoggingLevel, ...] = get_args(types.LoggingLevel)

_TOLD_EVERY_S = 0.2
_TOLD = {"retrieved": "passages found", "token": "writing", "hop": "a step is done"}
_NAME_CHARS = 100
_ASKED_CHARS = 200
_LEFT_OUT = frozenset({"$schema", "$id", "title", "maxLength", "minLength"})
_LEFT_OUT_OF_RESULTS = _LEFT_OUT | {"description", "$defs", "const", "enum"}


class ToolCalls:
    """The tools of one server process."""

    def __init__(self, session: Base, tools: Sequence[ToolSpec], audit: AuditLog | None = None) -> None:
        self.session = session
        self.log = ClientLog()
        self._audit = audit
        self._structured = session.config.exposure.structured_to_mcp
        self._tools = {tool.name: tool for tool in tools}
        self._limit: CapacityLimiter | None = None

    async def list_tools(self, _: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """Lists the tools."""
        require_first_page(params)
        return types.ListToolsResult(tools=self._described())

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """The schema of a tool's arguments; None for an unknown tool."""
        return next((tool.input_schema for tool in self._described() if tool.name == name), None)

    def _described(self) -> list[types.Tool]:
        return described(tuple(self._tools.values()), structured=self._structured)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Runs a tool. A failure is a result with the error's text; only an unknown tool is a protocol error."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, self._unknown(params.name))
        progress = CallProgress(counts=not tool.writes)
        work = partial(self._run, tool, params.arguments or {}, progress.handle, client_name(ctx))
        try:
            result = await with_progress(ctx, progress, lambda: self.in_thread(work, progress.handle))
        except KbError as error:
            await self.log.tell(ctx, "warning", f"{tool.name}: {error_text(error)}")
            return _failed(error_text(error))
        await self.log.tell(ctx, "info", f"{tool.name}: {len(result.places)} places")
        return types.CallToolResult(
            content=[types.TextContent(text=result.text), *map(_image, result.pictures)],
            structured_content=visible_parts(to_wire(result.structured)) if self._structured else None,
        )

    async def in_thread(self, work: Callable[[], T], handle: RunHandle) -> T:
        """Runs `work` in a thread; a canceled call stops at its next safe point.

        Raises: KbError; MCPError for an unexpected exception, without its details.
        """
        if self._limit is None:
            self._limit = CapacityLimiter(CALLS_AT_ONCE)
        try:
            return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limit)
        except anyio.get_cancelled_exc_class():
            handle.cancel()
            raise
        except (KbError, MCPError):
            raise
        except Exception as error:  # noqa: BLE001  the last handler: the agent gets no details
            traceback.print_exception(error, file=sys.stderr)
            raise MCPError(types.INTERNAL_ERROR, f"kb failed ({type(error).__name__}); its log says why") from None

    def _run(self, tool: ToolSpec, arguments: dict[str, Any], handle: RunHandle, client: str) -> Result:
        asked = next((value for value in arguments.values() if isinstance(value, str)), "")
        try:
            given = read_arguments(tool.name, tool.takes, arguments)
            result = tool.run(self.session, given, handle, client)
        except KbError as error:
            self.record(client, tool.name, asked, (), error_text(error), error.code)
            raise
        self.record(client, tool.name, asked, result.places, result.text)
        return result

    def record(
        self, client: str, tool: str, asked: str, places: Sequence[str], text: str, outcome: str = "given"
    ) -> None:
        """Records the places and tokens given to an agent, for `kb audit list`."""
        if self._audit is None:
            return
        kept = (visible_line(client)[:_NAME_CHARS], tool, visible_line(asked)[:_ASKED_CHARS])
        places_json = json.dumps([visible_line(place) for place in places], ensure_ascii=False)
        self._audit.add(Disclosure(now_utc(), *kept, places_json, 0, outcome), text)

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._tools, n=1, cutoff=0.4)
        meant = f", did you mean {near[0]!r}?" if near else "."
        return f"no tool {name[:80]!r}{meant} There are {', '.join(self._tools)}."


def require_first_page(params: types.PaginatedRequestParams | None) -> None:
    """Raises MCPError for a cursor of a list that has one page."""
    if params is not None and params.cursor:
        raise MCPError(types.INVALID_PARAMS, "this list has one page, and no cursor")


def client_name(ctx: Context) -> str:
    """The name that the agent gives itself."""
    params = ctx.session.client_params
    return "unnamed" if params is None else params.client_info.name


@functools.cache
def described(tools: tuple[ToolSpec, ...], *, structured: bool) -> list[types.Tool]:
    """The tools as they are listed. Cached: over HTTP the library checks each call by its tool's schema.

    Clients such as Claude Code give the model the structured part of a result instead of its text, which alone has the
    marks around quoted text. So results have that part, and tools its schema, only if it is asked for (`structured`).
    """
    schemas = json_schemas({each for tool in tools for each in (tool.takes, tool.gives)})
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=taken_schema(schemas[tool.takes]),
            output_schema=given_schema(schemas[tool.gives]) if structured else None,
            annotations=_annotations(tool),
        )
        for tool in tools
    ]


def _image(picture: Picture) -> types.ImageContent:
    return types.ImageContent(data=b64encode(picture.data).decode("ascii"), mime_type=picture.media_type)


def _annotations(tool: ToolSpec) -> types.ToolAnnotations:
    """The hints about a tool; the hint that a tool only reads implies the others."""
    if not tool.writes:
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)


class CallProgress:
    """The progress of a call: written by its thread, read by the event loop.

    Without `counts` it only grows by one at each report: the number of files that an ingest reads would count hidden
    documents too.
    """

    def __init__(self, *, counts: bool = True) -> None:
        self.counts = counts
        self.done = 0.0
        self.total: float | None = None
        self.message = ""
        self.handle = RunHandle(self._take)

    def _take(self, event: Any) -> None:
        if not self.counts:
            self.message = "at work"
        elif isinstance(event, StepProgress):
            self.done, self.total = float(event.done), float(event.total) or None
            self.message = event.step
        else:
            self.done += 1
            self.message = _TOLD.get(event.kind, event.kind)


async def with_progress(ctx: Context, progress: CallProgress, work: Callable[[], Awaitable[T]]) -> T:
    """Runs `work`; meanwhile reports progress, if the client asked for it."""
    if "progress_token" not in (ctx.meta or {}):
        return await work()
    failed: Exception | None = None
    found: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(_tell, ctx, progress)
        try:
            found.append(await work())
        except Exception as error:  # noqa: BLE001  raised again after the group, which would wrap it
            failed = error
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return found[0]


async def _tell(ctx: Context, progress: CallProgress) -> None:
    told = 0.0
    while True:
        await anyio.sleep(_TOLD_EVERY_S)
        if not progress.counts:
            progress.done += 1
        if progress.done > told:
            told = progress.done
            await ctx.session.report_progress(told, progress.total, progress.message)


class ClientLog:
    """Log messages to a client, from the level that it sets."""

    def __init__(self) -> None:
        self._least = LEVELS.index("warning")

    async def set_level(self, _: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        """Sets the lowest level."""
        self._least = LEVELS.index(params.level)
        return types.EmptyResult()

    async def tell(self, ctx: Context, level: types.LoggingLevel, said: str) -> None:
        """Sends a message, if its level is high enough: since 2026-07 a request sets it, and the library compares."""
        if LEVELS.index(level) < self._least and ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecated from the protocol of 2026-07 on, not in earlier ones
            await ctx.session.send_log_message(level, said, "kb", ctx.request_id)


def taken_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of arguments: each parameter with its description, required ones first."""
    return {name: part for name, part in _schema(schema, _LEFT_OUT).items() if name != "description"}


def given_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a result: its fields and their types, without the objects in them."""
    return _schema(schema, _LEFT_OUT_OF_RESULTS)


def _schema(schema: Mapping[str, Any], left_out: frozenset[str]) -> dict[str, Any]:
    """The schema without the keys in `left_out`; a type or null becomes one list of types."""
    if "$ref" in schema and "$defs" in left_out:
        return {"type": "object"}
    either = [each.get("type") for each in schema.get("anyOf", ())]
    if len(either) == 2 and either[1] == "null" and isinstance(either[0], str) and len(schema["anyOf"][0]) == 1:
        return {"type": either}
    needed = schema.get("required", [])
    return {
        name: _properties(part, needed, left_out) if name in ("properties", "$defs") else _part(part, left_out)
        for name, part in schema.items()
        if name not in left_out
    }


def _properties(named: Mapping[str, Any], needed: list[str], left_out: frozenset[str]) -> dict[str, Any]:
    """The properties, required ones first."""
    return {name: _schema(named[name], left_out) for name in sorted(named, key=lambda name: name not in needed)}


def _part(part: Any, left_out: frozenset[str]) -> Any:
    if isinstance(part, Mapping):
        return _schema(part, left_out)
    return [_part(each, left_out) for each in part] if isinstance(part, list) else part
