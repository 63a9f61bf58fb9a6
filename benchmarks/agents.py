"""Tasks of two steps over a vault in two languages, by an agent that follows fixed rules through `kb mcp`.

The vault: the notes of `fixtures/vault`, and the pages of `xling-fastapi`, each in one language, English and Korean by
turns in the order of their names. The tasks (`questions/agent-tasks.jsonl`) were written before the first run: 9 in
Korean, 6 in English, two facts each, mostly of two files, in whatever language the file is.

By `search` the agent takes two steps. In each it searches for the step's question (`{}`: what the first fact's pattern
captured in what it has fetched), with six hits and 1,100 tokens, and fetches, with 850 tokens, the first two hits and
the first whose snippet is in the other script (Hangul or none). The task is solved where what it fetched holds both
facts. By `ask` it asks the whole question once, in at most six steps; the task is solved where the reply holds both
facts and is no refusal. Tokens are those of all texts that the tools give.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from mcp.client.client import Client

from benchmarks.agent_questions import QUESTIONS
from benchmarks.embedded_base import embedded
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.mcp import spoken
from benchmarks.measurement import Measurement, Table, Target
from kb.operations.opening.base import open_base
from kb.operations.opening.paging import TokenCounter, token_counter

NOTES = Path(__file__).parents[1] / "fixtures" / "vault"
HITS, SEARCH_TOKENS, FETCH_TOKENS = 6, 1_100, 850
DEPTH = 6
_HANGUL = re.compile("[가-힣]")


class Task(NamedTuple):
    """A question of two parts, each part as a question, and the patterns of the two facts."""

    id: str
    question: str
    steps: tuple[str, str]
    holds: tuple[str, str]


class Outcome(NamedTuple):
    """Which facts were found, and the tokens of all results."""

    found: tuple[bool, ...]
    tokens: int

    @property
    def solved(self) -> bool:
        """Whether both were."""
        return all(self.found)


def measure(data: Path | None) -> Measurement:
    """How many of the tasks each agent solves, and for how many tokens."""
    if data is None:
        raise SystemExit("agents needs --data DIR, with xling-fastapi in it")
    lines = (QUESTIONS / "agent-tasks.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = [Task(**json.loads(line)) for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        write_vault(Path(folder), data / "xling-fastapi" / "corpus")
        with embedded(Path(folder), "tasks") as base:
            by_search, by_ask = asyncio.run(_solved(base, tasks))
    rows = [
        (task.id, *(f"{sum(each.found)} of 2, {each.tokens} tokens" for each in pair))
        for task, *pair in zip(tasks, by_search, by_ask, strict=True)
    ]
    most = max(each.tokens for each in by_search)
    return Measurement(
        "agents",
        (Table(f"{len(tasks)} tasks of two facts", ("task", "search", "ask"), tuple(rows)),),
        (
            Target("tasks solved by search and fetch", sum(each.solved for each in by_search), "≥", 13),
            Target("most tokens of a task by search and fetch", most, "≤", 4_000),
            Target("tasks solved by ask in steps", sum(each.solved for each in by_ask), "≥", 11),
        ),
        {"mean_tokens": [round(sum(each.tokens for each in by) / len(by)) for by in (by_search, by_ask)]},
    )


def write_vault(root: Path, pages: Path) -> None:
    """Copies the notes, and each page in English or Korean by turns."""
    shutil.copytree(NOTES, root / "notes")
    names = sorted(str(each.relative_to(pages / "en")) for each in (pages / "en").rglob("*.md"))
    for number, name in enumerate(names):
        target = root / "fastapi" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pages / ("ko" if number % 2 else "en") / name, target)


async def _solved(base: KnowledgeBase, tasks: list[Task]) -> tuple[list[Outcome], list[Outcome]]:
    with open_base(base.config) as session:
        counter = token_counter(session.config, session.models)
    async with spoken(base) as client:
        return (
            [await _by_search(client, counter, task) for task in tasks],
            [await _by_ask(client, counter, task) for task in tasks],
        )


async def _by_search(client: Client, counter: TokenCounter, task: Task) -> Outcome:
    given: list[str] = []
    fetched = ""
    for step in task.steps:
        first = re.search(task.holds[0], fetched)
        query = step.format(*(first.groups() if first else ())) if first or "{}" not in step else task.question
        found = await client.call_tool("search", {"query": query, "limit": HITS, "max_tokens": SEARCH_TOKENS})
        cited = _chosen(query, found.structured_content["hits"])
        read = await client.call_tool("fetch", {"citations": cited, "max_tokens": FETCH_TOKENS})
        given += [_text(found), _text(read)]
        fetched += "\n".join(place["text"] for place in read.structured_content["places"])
    return _outcome(task, fetched, given, counter)


def _chosen(query: str, hits: list[dict[str, Any]]) -> list[str]:
    """The citations to fetch: the first two, and the first that is not in the script of the question."""
    in_hangul = bool(_HANGUL.search(query))
    other = [hit for hit in hits[2:] if bool(_HANGUL.search(hit["snippet"])) != in_hangul]
    return [hit["citation"] for hit in (*hits[:2], *other[:1])]


async def _by_ask(client: Client, counter: TokenCounter, task: Task) -> Outcome:
    answer = await client.call_tool("ask", {"question": task.question, "depth": DEPTH})
    refused = answer.structured_content["state"] == "refused"
    return _outcome(task, "" if refused else _text(answer), [_text(answer)], counter)


def _outcome(task: Task, text: str, given: list[str], counter: TokenCounter) -> Outcome:
    return Outcome(tuple(bool(re.search(each, text)) for each in task.holds), sum(map(counter.count, given)))


def _text(result: Any) -> str:
    return str(result.content[0].text)
