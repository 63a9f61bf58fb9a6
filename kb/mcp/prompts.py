"""Prompts: what a person may pick from a menu, worded so that an agent uses the tools well."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import NamedTuple

import mcp_types as types
from mcp.shared.exceptions import MCPError

from kb.mcp.hidden import visible_line
from kb.mcp.progress import Context

_MOST_CHARS = 2000


class _Prompt(NamedTuple):
    """A prompt: its title, what it asks for (`{}` in its text is that), and what that is."""

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


async def list_prompts(_: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
    """All prompts."""
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
    """A prompt with its argument filled in."""
    prompt = PROMPTS.get(params.name)
    if prompt is None:
        near = get_close_matches(params.name, PROMPTS, n=1, cutoff=0.4)
        meant = f", did you mean {near[0]!r}?" if near else "."
        raise MCPError(types.INVALID_PARAMS, f"no prompt {params.name[:80]!r}{meant} There are {', '.join(PROMPTS)}.")
    given = dict(params.arguments or {})
    value = visible_line(given.pop(prompt.argument, ""))[:_MOST_CHARS]
    if given or not value:
        raise MCPError(types.INVALID_PARAMS, f"{params.name} takes {prompt.argument}: {prompt.meaning}")
    text = types.TextContent(text=prompt.text.replace("{}", value, 1))
    return types.GetPromptResult(description=prompt.title, messages=[types.PromptMessage(role="user", content=text)])
