"""What an agent may call, over one session: requests of the protocol → tools, errors → what an agent can act on."""

from __future__ import annotations

import functools
import json
import sys
import traceback
from base64 import b64encode
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any, TypeVar

import anyio
import mcp_types as types
from anyio import CapacityLimiter, to_thread
from mcp.shared.exceptions import MCPError

from kb.domain.results.disclosure import Disclosure
from kb.domain.results.fetched import Picture
from kb.domain.run_handle import RunHandle
from kb.errors import KbError
from kb.mcp.hidden import visible_line, visible_parts
from kb.mcp.progress import ClientLog, Context, Progress, with_progress
from kb.mcp.schemas import given_schema, taken_schema
from kb.mcp.text import error_text
from kb.mcp.tools import Result, ToolSpec
from kb.operations.answers.audit import AuditLog
from kb.operations.opening.clock import now_utc
from kb.operations.session.session import Session
from kb.wire.schemas import json_schemas, read_arguments

T = TypeVar("T")

# So many calls are worked on at once; the others wait for their turn.
CALLS_AT_ONCE = 4


class Door:
    """The tools of one server process."""

    def __init__(self, session: Session, tools: Sequence[ToolSpec], audit: AuditLog | None = None) -> None:
        self.session = session
        self.log = ClientLog()
        self._audit = audit
        self._tools = {tool.name: tool for tool in tools}
        self._limit: CapacityLimiter | None = None

    async def list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        """The tools, as agents choose by."""
        return types.ListToolsResult(tools=described(tuple(self._tools.values())))

    def input_schema(self, name: str) -> dict[str, Any] | None:
        """What a tool takes."""
        found = (tool.input_schema for tool in described(tuple(self._tools.values())) if tool.name == name)
        return next(found, None)

    async def call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """What a tool gives. What goes wrong in it is a result that says so; only an unknown tool is an error."""
        tool = self._tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, self._unknown(params.name))
        progress = Progress(counts=not tool.writes)
        work = partial(self._run, tool, params.arguments or {}, progress.handle, client_name(ctx))
        try:
            result = await with_progress(ctx, progress, lambda: self.in_thread(work, progress.handle))
        except KbError as error:
            await self.log.tell(ctx, "warning", f"{tool.name}: {error_text(error)}")
            return _failed(error_text(error))
        await self.log.tell(ctx, "info", f"{tool.name}: {len(result.places)} places")
        return types.CallToolResult(
            content=[types.TextContent(text=result.text), *map(_image, result.pictures)],
            structured_content=visible_parts(result.structured),
        )

    async def in_thread(self, work: Callable[[], T], handle: RunHandle) -> T:
        """What `work` gives, done beside the protocol; a canceled call stops at its next safe point.

        Raises: KbError; MCPError, which tells nothing of what nobody foresaw.
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
        except Exception as error:  # noqa: BLE001  the last handler: nothing of it reaches the agent
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
        """Keeps what an agent was given for `kb audit list`."""
        if self._audit is None:
            return
        kept = (visible_line(client)[:_NAME_CHARS], tool, visible_line(asked)[:_ASKED_CHARS])
        places_json = json.dumps([visible_line(place) for place in places], ensure_ascii=False)
        self._audit.add(Disclosure(now_utc(), *kept, places_json, 0, outcome), text)

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._tools, n=1, cutoff=0.4)
        meant = f", did you mean {near[0]!r}?" if near else "."
        return f"no tool {name[:80]!r}{meant} There are {', '.join(self._tools)}."


_NAME_CHARS = 100
_ASKED_CHARS = 200


def client_name(ctx: Context) -> str:
    """The agent, as it names itself."""
    params = ctx.session.client_params
    return "unnamed" if params is None else params.client_info.name


@functools.cache
def described(tools: tuple[ToolSpec, ...]) -> list[types.Tool]:
    """The tools as they are listed. Made once: over HTTP the library checks each call by its tool's schema."""
    schemas = json_schemas({each for tool in tools for each in (tool.takes, tool.gives)})
    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=taken_schema(schemas[tool.takes]),
            output_schema=given_schema(schemas[tool.gives]),
            annotations=_annotations(tool),
        )
        for tool in tools
    ]


def _image(picture: Picture) -> types.ImageContent:
    return types.ImageContent(data=b64encode(picture.data).decode("ascii"), mime_type=picture.media_type)


def _annotations(tool: ToolSpec) -> types.ToolAnnotations:
    """What a client may rely on; of what only reads, that says the rest."""
    if not tool.writes:
        return types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    return types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )


def _failed(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(text=text)], is_error=True)
