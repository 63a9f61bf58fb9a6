"""The agents' door: calls through the protocol against the same in Python, memory, many clients, a scripted agent.

The agent may use the tools alone: one search, then one fetch of the places it was shown.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple
from urllib.parse import unquote

import httpx2 as httpx
from mcp import StdioServerParameters, stdio_client
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.agent_questions import AgentQuestion, crossing_questions, noted_questions
from benchmarks.embedded_base import embedded
from benchmarks.knowledge_base import KnowledgeBase, knowledge_base
from benchmarks.measurement import Measurement, Table, Target
from benchmarks.processes import Memory, memory_of, process_tree
from benchmarks.progress import step
from kb.mcp.calls import described
from kb.mcp.tools import READING_TOOLS
from kb.operations.opening.base import open_base
from kb.operations.opening.paging import token_counter
from kb.operations.search.pages import search_page

QUESTIONS = 30
ROUNDS = 12
CLIENTS, CALLS_A_CLIENT = 8, 125
LOOP_CALLS, LOOP_PARTS = 3_000, 3
FETCHED = 8
SEARCH_TOKENS, FETCH_TOKENS, MOST_TOKENS = 3_000, 3_900, 6_000

_OBJECTS = "exposure.structured_to_mcp=true"  # the measurement reads hits and places by their names
_ENTRY = "import sys; from kb.cli.entry import run; sys.exit(run())"


def measure(data: Path | None, *, questions: int = QUESTIONS) -> Measurement:
    """Latency, memory, answers to many clients at once, and how often the agent reads what answers."""
    if data is None:
        raise SystemExit("mcp needs --data DIR, with xling-fastapi and notes-ko in it")
    crossing, noted = crossing_questions(data / "xling-fastapi", questions), noted_questions(questions)
    read: dict[str, tuple[float, float, int]] = {}
    with embedded(data / "xling-fastapi" / "corpus", "xling-fastapi") as base:
        words = [each.text for each in crossing]
        with step("one call at a time"):  # first: a client that holds the answers of the others is slower itself
            first_s, python_ms, through_ms, with_models = asyncio.run(in_turns(base, words))
        read["xling-fastapi"] = asyncio.run(_agent(base, crossing))
        with step(f"{CLIENTS} clients over HTTP"):
            clients_s, wrong = asyncio.run(_clients(base, words[:CLIENTS]))
        passages = passages_of(base)
        costs = _tool_tokens(base)
    with embedded(data / "notes-ko", "notes-ko") as base:
        read["notes-ko"] = asyncio.run(_agent(base, noted))
    with knowledge_base(data / "notes-ko", settings='\n[models.embedding]\nprovider = "none"') as base:
        base.ingest()
        with step(f"{LOOP_CALLS} calls in a loop"):
            parts_mb = asyncio.run(looped(base, [each.text for each in noted]))
    ratio = round(through_ms / python_ms, 2)
    share = sum(right * questions for right, _, _ in read.values()) / (len(read) * questions)
    spoken = tuple((name, round(right, 3), round(tokens), most) for name, (right, tokens, most) in sorted(read.items()))
    tables = (
        Table(
            f"A warm search, hybrid, over {passages:,} passages",
            ("by", "p50 ms", "ratio"),
            (("Python", round(python_ms, 1), 1.0), ("stdio", round(through_ms, 1), ratio)),
        ),
        Table(
            "Resident memory of the server, MB",
            ("server", "MB"),
            (
                ("with both models, after the searches above", round(with_models.resident_mb)),
                ("of it files that it maps", round(with_models.mapped_mb)),
                *(
                    (f"without models, after {LOOP_CALLS * (at + 1) // LOOP_PARTS:,} calls", round(mb, 1))
                    for at, mb in enumerate(parts_mb)
                ),
            ),
        ),
        Table(
            "A scripted agent: one search, one fetch",
            ("documents", "right passage read", "tokens, mean", "tokens, most"),
            spoken,
        ),
        Table("What the tools' texts cost an agent", ("tool", "tokens"), costs),
    )
    targets = (
        Target("stdio / Python, p50", ratio, "≤", 1.2),
        Target("first answer after the start, s", round(first_s, 2), "≤", 2.0),
        Target("memory with models, MB", round(with_models.resident_mb), "≤", 400),
        Target("memory without models, MB", round(max(parts_mb)), "≤", 120),
        Target("memory of the last third of calls / the first", round(parts_mb[-1] / parts_mb[0], 3), "≤", 1.05),
        Target(f"{CLIENTS * CALLS_A_CLIENT:,} calls of {CLIENTS} clients: wrong or failed", wrong, "≤", 0),
        Target("right passage read by the agent", round(share, 3), "≥", 0.9),
        Target("most tokens of a question", max(most for _, _, most in read.values()), "≤", MOST_TOKENS),
    )
    figures: dict[str, object] = {"clients_s": round(clients_s, 1), "passages": passages, "p50_ms": through_ms}
    notes = (f"The {CLIENTS} clients' calls took {clients_s:.0f} s, client side included.",)
    return Measurement("mcp", tables, targets, figures, notes)


def _started(base: KnowledgeBase, *args: str) -> tuple[str, list[str]]:
    return sys.executable, ["-c", _ENTRY, "--config", str(base.config_path), "--set", _OBJECTS, "mcp", *args]


def spoken(base: KnowledgeBase) -> Client:
    program, args = _started(base)
    return Client(stdio_client(StdioServerParameters(command=program, args=args)))


async def _agent(base: KnowledgeBase, asked: Sequence[AgentQuestion]) -> tuple[float, float, int]:
    """The share of questions whose passage was read, and the tokens a question took: mean and most."""
    right: list[bool] = []
    spent: list[int] = []
    with open_base(base.config) as session:
        counter = token_counter(session.config, session.models)
    async with spoken(base) as client:
        for each in asked:
            search = {"query": each.text, "max_tokens": SEARCH_TOKENS}
            found = await client.call_tool("search", search)
            cited = [hit["citation"] for hit in found.structured_content["hits"][:FETCHED]]
            texts = [found.content[0].text]  # type: ignore[union-attr]
            places: list[dict[str, Any]] = []
            if cited:
                fetched = await client.call_tool("fetch", {"citations": cited, "max_tokens": FETCH_TOKENS})
                texts.append(fetched.content[0].text)  # type: ignore[union-attr]
                places = fetched.structured_content["places"]
            right.append(any(_answers(each, place) for place in places))
            spent.append(sum(counter.count(text) for text in texts))
    return sum(right) / len(right), sum(spent) / len(spent), max(spent)


def _answers(asked: AgentQuestion, place: dict[str, Any]) -> bool:
    """Whether a fetched place is of a document that answers, and holds what the answer is known by."""
    of = unquote(place["citation"].rpartition("#")[0]) in asked.files  # blanks are encoded for agents
    return of and (not asked.must or any(re.search(each, place["text"], re.IGNORECASE) for each in asked.must))


def turned(texts: Sequence[str], by: int) -> Iterator[str]:
    """The texts with their first words put last: the same question in words, and a new one to what remembers texts."""
    for text in texts:
        words = text.split()
        at = by % len(words)
        yield " ".join([*words[at:], *words[:at]])


class Turns(NamedTuple):
    """Seconds from the server's start to its first answer, median milliseconds of a search, the server's memory."""

    first_s: float
    python_ms: float
    stdio_ms: float
    memory: Memory


async def in_turns(base: KnowledgeBase, words: Sequence[str]) -> Turns:
    """The same page of hits by a session in this process and by a server, a round of the questions each by turns."""
    direct: list[float] = []
    called: list[float] = []
    with open_base(base.config, many=True) as session:
        start = perf_counter()
        async with spoken(base) as client:
            await client.call_tool("search", {"query": words[0]})
            first_s = perf_counter() - start
            for round_number in range(ROUNDS + 1):
                texts = list(turned(words, round_number))
                for text in texts:
                    start = perf_counter()
                    search_page(session, session.defaults.query(text, None, 8), max_tokens=4_000)
                    direct += [1000 * (perf_counter() - start)] if round_number else []
                for text in texts:
                    start = perf_counter()
                    await client.call_tool("search", {"query": text})
                    called += [1000 * (perf_counter() - start)] if round_number else []
            return Turns(first_s, median(direct), median(called), _server_memory())


async def looped(
    base: KnowledgeBase, words: Sequence[str], calls: int = LOOP_CALLS, parts: int = LOOP_PARTS
) -> list[float]:
    """The server's memory in MB after each part of many calls, without models."""
    found = []
    async with spoken(base) as client:
        for _ in range(parts):
            for number in range(calls // parts):
                text = words[number % len(words)]
                await client.call_tool("search", {"query": text, "limit": 3})
            found.append(_server_memory().resident_mb)
    return found


def _server_memory() -> Memory:
    _, *children = process_tree(os.getpid())
    return memory_of(next(pid for pid, _, command in children if "mcp" in command.split()))


async def _clients(base: KnowledgeBase, words: Sequence[str]) -> tuple[float, int]:
    """Seconds that all calls took, and how many of them failed or had another client's answer."""
    program, args = _started(base, "--http")
    server = subprocess.Popen([program, *args], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert server.stdout is not None
    url = server.stdout.readline().decode().strip()
    token = (base.config.data_dir / "mcp-token").read_text(encoding="ascii").strip()

    async def ask(word: str) -> list[str]:
        async with (
            httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=600) as http,
            Client(streamable_http_client(url, http_client=http)) as client,
        ):
            answers = []
            for _ in range(CALLS_A_CLIENT):
                result = await client.call_tool("search", {"query": word, "limit": 3, "mode": "lexical"})
                hits = [] if result.is_error else result.structured_content["hits"]
                answers.append(json.dumps([hit["citation"] for hit in hits]))
            return answers

    alone = {word: (await _lexical(base, word)) for word in words}
    start = perf_counter()
    try:
        answers = await asyncio.gather(*(ask(word) for word in words))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()
    wrong = sum(each != alone[word] for word, given in zip(words, answers, strict=True) for each in given)
    return perf_counter() - start, wrong


async def _lexical(base: KnowledgeBase, word: str) -> str:
    with open_base(base.config) as session:
        page = search_page(session, session.defaults.query(word, "lexical", 3))
    return json.dumps([hit.citation.to_uri() for hit in page.hits])


def passages_of(base: KnowledgeBase) -> int:
    from kb.operations.inspect.status import base_status

    with open_base(base.config) as session:
        return base_status(session).passages


def _tool_tokens(base: KnowledgeBase) -> tuple[tuple[str, int], ...]:
    """What each tool's name, description and schemas take, as the embedding model's vocabulary counts."""
    with open_base(base.config) as session:
        counter = token_counter(session.config, session.models)
    rows = [
        (tool.name, counter.count(tool.model_dump_json(by_alias=True, exclude_none=True)))
        for tool in described(READING_TOOLS, structured=False)
    ]
    return (*rows, ("all", sum(tokens for _, tokens in rows)))
