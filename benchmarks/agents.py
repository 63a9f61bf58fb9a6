"""Tasks of two steps over vaults in two languages, by an agent that follows fixed rules through `kb mcp`.

Three sets of 15 tasks, two facts each, mostly of two files, in whatever language the file is; 9 in Korean, 6 in
English.
The first (`questions/agent-tasks.jsonl`): the notes of `fixtures/vault`, and the pages of `xling-fastapi`, each in one
language, English and Korean by turns in the order of their names. Some of its tasks were changed after they had been
run. The second (`questions/agent-tasks-blind.jsonl`): the Korean notes of `notes-ko`, the Korean pages of `korquad-dev`
and the English ones of `squad2-dev`. Its tasks were written and committed before kb had seen that vault, and are
unchanged. The third (`questions/agent-tasks-notes.jsonl`): 43 short notes of one person in both languages
(`questions/agent-vault.txt`), written with its tasks before kb had seen them, and unchanged. Its agent reads up to half
of that vault.

By `search` the agent has 4,000 tokens. It searches for the questions of both steps at once (eight hits); where the
second leans on the first answer (`{}`: what the first fact's pattern captured in what was fetched; without that, the
whole question), it searches twice (six hits), with half of the tokens each. It fetches the hits with the tokens that
are left: those whose snippet has Hangul and those without by turns, beginning with the first hit. While 1,000 tokens
are left it goes on with the next page. The task is solved where what it fetched holds both facts.

By `ask` the agent asks the whole question once, in at most six steps. Where kb is not sure, it fetches what kb names as
nearest and what it cites, with 2,000 tokens. The task is solved where the reply, which is no refusal, or what was
fetched holds both facts. Tokens are those of all texts that the tools give.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import tempfile
from itertools import zip_longest
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
MOST_TOKENS, LEAST_TOKENS = 4_000, 1_000
DEPTH, READ_TOKENS = 6, 2_000
_CITED = re.compile(r"[^\s,]+#[^\s,]+")
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
    """How many of the tasks of each set each agent solves, and for how many tokens."""
    if data is None:
        raise SystemExit("agents needs --data DIR, with xling-fastapi, notes-ko, korquad-dev and squad2-dev in it")
    tables: list[Table] = []
    targets: list[Target] = []
    means: dict[str, object] = {}
    for name, file, write_vault in (
        ("first", "agent-tasks.jsonl", write_first_vault),
        ("blind", "agent-tasks-blind.jsonl", write_blind_vault),
        ("notes", "agent-tasks-notes.jsonl", write_notes_vault),
    ):
        tasks = [Task(**json.loads(line)) for line in (QUESTIONS / file).read_text(encoding="utf-8").splitlines()]
        with tempfile.TemporaryDirectory() as folder:
            write_vault(Path(folder), data)
            with embedded(Path(folder), f"{name} tasks") as base:
                by_search, by_ask = asyncio.run(_solved(base, tasks))
        rows = [
            (task.id, *(f"{sum(each.found)} of 2, {each.tokens} tokens" for each in pair))
            for task, *pair in zip(tasks, by_search, by_ask, strict=True)
        ]
        tables.append(Table(f"{len(tasks)} tasks of two facts ({name} set)", ("task", "search", "ask"), tuple(rows)))
        most = max(each.tokens for each in by_search)
        targets += [
            Target(f"{name} tasks solved by search and fetch", sum(each.solved for each in by_search), "≥", 13),
            Target(f"most tokens of a {name} task by search and fetch", most, "≤", 4_000),
            Target(f"{name} tasks solved by ask in steps", sum(each.solved for each in by_ask), "≥", 11),
        ]
        means[f"mean_tokens_{name}"] = [round(sum(each.tokens for each in by) / len(by)) for by in (by_search, by_ask)]
    return Measurement("agents", tuple(tables), tuple(targets), means)


def write_first_vault(root: Path, data: Path) -> None:
    """Copies the notes, and each page in English or Korean by turns."""
    pages = data / "xling-fastapi" / "corpus"
    shutil.copytree(NOTES, root / "notes")
    names = sorted(str(each.relative_to(pages / "en")) for each in (pages / "en").rglob("*.md"))
    for number, name in enumerate(names):
        target = root / "fastapi" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(pages / ("ko" if number % 2 else "en") / name, target)


def write_blind_vault(root: Path, data: Path) -> None:
    """Copies the notes and the pages of both encyclopedias."""
    for name in ("notes-ko", "korquad-dev/corpus", "squad2-dev/corpus"):
        shutil.copytree(data / name, root, dirs_exist_ok=True)


def write_notes_vault(root: Path, _: Path) -> None:
    """Writes the notes of `agent-vault.txt`, in which a line `=== PATH` begins each."""
    notes = re.split(r"^=== ", (QUESTIONS / "agent-vault.txt").read_text(encoding="utf-8"), flags=re.MULTILINE)
    for note in notes[1:]:
        path, text = note.split("\n", 1)
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


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
    first, second = task.steps
    for asked in [(first,), (second,)] if "{}" in second else [(first, second)]:
        known = re.search(task.holds[0], fetched)
        query, *also = [each.format(*known.groups()) if known else each for each in asked]
        query = task.question if "{}" in query else query
        left = MOST_TOKENS * len(asked) // 2
        search = {"query": query, "also": also, "limit": 4 + 2 * len(asked)}
        while left >= LEAST_TOKENS:
            found = await client.call_tool("search", {**search, "max_tokens": left // 2})
            cited = _in_order(found.structured_content["hits"])
            left -= counter.count(_text(found))
            read = await client.call_tool("fetch", {"citations": cited, "max_tokens": left})
            left -= counter.count(_text(read))
            given += [_text(found), _text(read)]
            fetched += "\n".join(place["text"] for place in read.structured_content["places"])
            search["cursor"] = found.structured_content["next_cursor"]
    return _outcome(task, fetched, given, counter)


def _in_order(hits: list[dict[str, Any]]) -> list[str]:
    """The citations in the order in which they are read."""
    scripts: dict[bool, list[str]] = {}
    for hit in hits:
        scripts.setdefault(bool(_HANGUL.search(hit["snippet"])), []).append(hit["citation"])
    return [each for pair in zip_longest(*scripts.values()) for each in pair if each]


async def _by_ask(client: Client, counter: TokenCounter, task: Task) -> Outcome:
    answer = await client.call_tool("ask", {"question": task.question, "depth": DEPTH})
    structured, given = answer.structured_content, [_text(answer)]
    read = "" if structured["state"] == "refused" else given[0]
    if structured["state"] != "answered":
        refused = [step for step in structured.get("steps", ())[1:] if step["state"] == "refused"]
        cited = [*(place for step in refused for place in step["places"][:2])]
        cited += [place for note in structured["notes"] if "lang=" in note for place in _CITED.findall(note)]
        cited += [place["citation"] for place in structured["places"]]
        fetched = await client.call_tool("fetch", {"citations": cited, "max_tokens": READ_TOKENS})
        given.append(_text(fetched))
        read += given[-1]
    return _outcome(task, read, given, counter)


def _outcome(task: Task, text: str, given: list[str], counter: TokenCounter) -> Outcome:
    return Outcome(tuple(bool(re.search(each, text)) for each in task.holds), sum(map(counter.count, given)))


def _text(result: Any) -> str:
    return str(result.content[0].text)
