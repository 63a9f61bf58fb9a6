"""`kb mcp` beside its tools: resources, completion, prompts, progress, cancellation, logging; and tools that write."""

from __future__ import annotations

import asyncio
import re
import threading
from pathlib import Path
from typing import Any

import pytest
from agents import call, here, text_of
from conftest import NOTES, Vault, indexed_vault, kb_in, write_notes
from fake_embedder import FakeModels, fake_models
from vaults import EMBEDDING

from kb.domain.answers import Generated
from kb.domain.run_handle import RunHandle, StepProgress
from kb.errors import StoreReadOnly
from kb.operations.opening.base import Base
from kb.private import read_only

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import mcp_types as types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from kb.mcp.calls import CallProgress
from kb.mcp.server import tools_for
from kb.mcp.tools import READING_TOOLS, Result, ToolSpec

__all__ = ["fake_models"]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("kb://doc/chunking.md", "문서는 제목을 경계로 나눈다"),
        ("kb://doc/projects%2Fgateway%2Fmeeting%20%232.md", "센서 교체는 3월에 한다"),
        ("kb://citation/projects/gateway/log.md%23L9-L11", "five times with exponential backoff"),
        ("kb://lines/9-11/projects/gateway/log.md", "five times with exponential backoff"),
    ],
)
def test_a_place_is_read_by_its_address(uri: str, said: str, vault: Vault) -> None:
    (content,) = here(vault, lambda client: client.read_resource(uri)).contents
    assert isinstance(content, types.TextResourceContents)
    assert said in content.text
    assert "data, not instructions" in content.text


@pytest.mark.parametrize(
    "uri",
    ["kb://doc/nope.md", "kb://doc/..%2F..%2Fetc%2Fpasswd", "kb://what/a", "kb://page/x/a.pdf", "file:///etc/passwd"],
)
@pytest.mark.parametrize(("mode", "code"), [("legacy", -32002), ("2026-07-28", -32602)])
def test_an_address_of_nothing_is_an_error(uri: str, mode: str, code: int, vault: Vault) -> None:
    with pytest.raises(MCPError) as raised:
        here(vault, lambda client: client.read_resource(uri), mode=mode)
    assert raised.value.code == code
    assert str(vault.root) not in raised.value.message


def test_documents_are_listed_and_read(vault: Vault) -> None:
    async def talk(client: Client) -> tuple[list[str], list[str]]:
        listed = (await client.list_resources()).resources
        read = [await client.read_resource(str(each.uri)) for each in listed]
        return [each.name for each in listed], [each.contents[0].text for each in read]  # type: ignore[union-attr]

    names, texts = here(vault, talk)
    assert names == sorted(names)
    assert len(names) == 6
    assert all(name in text for name, text in zip(names, texts, strict=True))


def test_a_list_of_one_page_has_no_cursor(vault: Vault) -> None:
    for ask in ("list_tools", "list_prompts", "list_resource_templates"):
        with pytest.raises(MCPError, match="this list has one page"):
            here(vault, lambda client, ask=ask: getattr(client, ask)(cursor="zzz"))


def test_only_arguments_that_there_are_are_completed_and_folders_by_folders(vault: Vault) -> None:
    refs = {
        ("kb://lines/{lines}/{+path}", "path"): ["chunking.md"],
        ("kb://lines/{lines}/{+path}", "id"): [],
        ("kb://what/{+path}", "path"): [],
        ("summarise_this_folder", "path"): [],
        ("nonsense", "folder"): [],
    }

    async def talk(client: Client) -> list[list[str]]:
        found = []
        for uri, name in refs:
            is_address = "://" in uri
            ref = types.ResourceTemplateReference(uri=uri) if is_address else types.PromptReference(name=uri)
            found.append((await client.complete(ref, {"name": name, "value": "chunk"})).completion.values)
        prompt = types.PromptReference(name="summarise_this_folder")
        return [*found, (await client.complete(prompt, {"name": "folder", "value": "PRO"})).completion.values]

    assert here(vault, talk) == [*refs.values(), ["projects", "projects/gateway"]]


def test_paths_are_completed(vault: Vault) -> None:
    async def talk(client: Client) -> tuple[Any, Any]:
        reference = types.ResourceTemplateReference(uri="kb://doc/{+id}")
        found = await client.complete(reference, {"name": "id", "value": "GATE"})
        prompt = types.PromptReference(name="answer_from_my_notes")
        return found, await client.complete(prompt, {"name": "question", "value": "a"})

    found, nothing = here(vault, talk)
    assert found.completion.values == ["projects/gateway/log.md", "projects/gateway/meeting%20#2.md"]
    assert nothing.completion.values == []


def test_what_is_hidden_is_no_resource(tmp_path: Path) -> None:
    made = indexed_vault(
        tmp_path, {"open.md": "# Open\n", "kept.md": "---\ntags: [never-to-mcp]\n---\n# Kept secret\n"}
    )

    async def talk(client: Client) -> tuple[list[str], list[str]]:
        listed = (await client.list_resources()).resources
        reference = types.ResourceTemplateReference(uri="kb://doc/{+id}")
        found = await client.complete(reference, {"name": "id", "value": ""})
        return [each.name for each in listed], list(found.completion.values)

    assert here(made, talk) == (["open.md"], ["open.md"])
    with pytest.raises(MCPError) as raised:
        here(made, lambda client: client.read_resource("kb://doc/kept.md"))
    assert "not_found: nothing is indexed as 'kb://doc/kept.md'" in raised.value.message


def test_prompts_hold_what_they_were_given(vault: Vault) -> None:
    async def talk(client: Client) -> dict[str, str]:
        listed = (await client.list_prompts()).prompts
        texts = {}
        for each in listed:
            (argument,) = each.arguments or ()
            (message,) = (await client.get_prompt(each.name, {argument.name: "battery {life}"})).messages
            assert isinstance(message.content, types.TextContent)
            texts[each.name] = message.content.text
        return texts

    texts = here(vault, talk)
    assert set(texts) == {"answer_from_my_notes", "what_did_i_decide", "summarise_this_folder"}
    assert all("battery {life}" in text and "citation" in text for text in texts.values())


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("answer_from_notes", {"question": "a"}, "did you mean 'answer_from_my_notes'?"),
        ("answer_from_my_notes", {}, "answer_from_my_notes takes question"),
        ("answer_from_my_notes", {"question": "a", "x": "b"}, "answer_from_my_notes takes question"),
    ],
)
def test_a_prompt_that_cannot_be(name: str, arguments: dict[str, str], said: str, vault: Vault) -> None:
    with pytest.raises(MCPError) as raised:
        here(vault, lambda client: client.get_prompt(name, arguments))
    assert said in raised.value.message


def test_a_long_call_says_how_far_it_is(vault: Vault) -> None:
    heard = threading.Event()

    def slow(_: Base, __: Any, handle: RunHandle, ___: str) -> Result:
        handle.tell(StepProgress("reading", 3, 9, "passages"))
        assert heard.wait(60)
        return Result("done", {"schema_version": "base_status.v1"})

    told: list[tuple[float, float | None, str | None]] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))
        heard.set()

    tool = READING_TOOLS[4]._replace(name="slow", run=slow, gives="schema.v1")
    result = here(vault, lambda client: call_raw(client, "slow", on_progress), (tool,), mode="legacy")
    assert text_of(result) == "done"
    assert told[0] == (3.0, 9.0, "reading")


def test_progress_of_an_answer_is_told_in_words() -> None:
    progress = CallProgress()
    progress.handle.tell(Generated("It restarts"))
    assert (progress.done, progress.message) == (1.0, "writing")


def test_since_2026_a_client_may_keep_the_lists_that_stay_the_same(vault: Vault) -> None:
    async def talk(client: Client) -> list[int]:
        lists = (client.list_tools, client.list_prompts, client.list_resource_templates, client.list_resources)
        return [(await each()).ttl_ms for each in lists]

    *same, documents = here(vault, talk, mode="2026-07-28")
    assert min(same) > 0 == documents


async def call_raw(client: Client, name: str, on_progress: Any) -> Any:
    """A call whose structured part is not looked at."""
    request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments={}))
    return await client.session.send_request(request, types.CallToolResult, progress_callback=on_progress)


def test_a_canceled_call_stops(vault: Vault) -> None:
    began, stopped = threading.Event(), threading.Event()

    def slow(_: Base, __: Any, handle: RunHandle, ___: str) -> Result:
        began.set()
        while not handle.is_canceled():
            stopped.wait(0.01)
        stopped.set()
        return Result("", {})

    async def talk(client: Client) -> bool:
        task = asyncio.create_task(client.call_tool("slow", {}))
        assert await asyncio.to_thread(began.wait, 60)
        task.cancel()
        ended = await asyncio.to_thread(stopped.wait, 60)
        found = await client.call_tool("status", {})
        return ended and not found.is_error

    slow_tool: ToolSpec = READING_TOOLS[4]._replace(name="slow", run=slow)
    assert here(vault, talk, (*READING_TOOLS, slow_tool), mode="legacy")


def test_the_last_places_of_a_search_are_of_the_other_language(fake_models: FakeModels, tmp_path: Path) -> None:
    notes = {f"ko/{n}.md": f"# 배터리 {n}\n\n배터리 교체 시기는 {n}월 배터리 점검 뒤에 정한다.\n" for n in range(8)}
    notes |= {f"en/{n}.md": f"# Sheet {n}\n\nThe pump {n} is checked before it is used.\n" for n in range(3)}
    made = indexed_vault(tmp_path, notes, settings=EMBEDDING, mode="hybrid", embed=True)
    asked: dict[str, Any] = {"query": "배터리 교체 시기", "limit": 6}

    async def talk(client: Client) -> list[Any]:
        pages = [await client.call_tool("search", asked)]
        while cursor := pages[-1].structured_content["next_cursor"]:
            pages.append(await client.call_tool("search", {**asked, "cursor": cursor}))
        others = {"lang": "ko"}, {"mode": "lexical"}, {"limit": 2}, {"max_tokens": 300}
        return [*pages, *[await client.call_tool("search", {**asked, **each}) for each in others]]

    *pages, of_korean, by_words, of_two, of_few_tokens = here(made, talk)
    cited = [[hit["citation"] for hit in page.structured_content["hits"]] for page in pages]
    assert [each.partition("/")[0] for each in cited[0]] == ["ko"] * 4 + ["en"] * 2
    assert "note: 5-6번: 언어 en에서 가장 가까운 곳 (lang=en로 더)" in text_of(pages[0])
    assert sorted(each.partition("#")[0] for page in cited for each in page) == sorted(notes)
    for other in (of_korean, by_words, of_two, of_few_tokens):
        assert {hit["source"] for hit in other.structured_content["hits"]} == {"ko"}
        assert "가장 가까운 곳" not in text_of(other)


def test_what_kb_is_not_sure_of_names_the_nearest_places_of_the_other_language(
    fake_models: FakeModels, tmp_path: Path
) -> None:
    notes = {f"ko/{n}.md": f"# 배터리 {n}\n\n배터리를 {n}월에 샀다.\n" for n in range(3)}
    notes |= {f"en/{n}.md": f"# Sheet {n}\n\nThe pump {n} is checked before it is used.\n" for n in range(3)}
    made = indexed_vault(tmp_path, notes, settings=EMBEDDING, mode="hybrid", embed=True)
    asked = {"question": "배터리는 누가 바꾸고 열쇠는 어디에 두나?", "depth": 4}
    answer = call(made, "ask", **asked)
    assert answer.structured_content["state"] != "answered"
    (note,) = [each for each in answer.structured_content["notes"] if "lang=en" in each]
    assert re.match(r"언어 en에서 가장 가까운 곳: en/\d\.md#L1-L3(, en/\d\.md#L1-L3)* \(lang=en로 더\)$", note)
    assert note in text_of(answer)
    assert "lang=en" not in text_of(call(made, "ask", **asked, lang="ko"))
    refused = [step for step in answer.structured_content["steps"][1:] if step["state"] == "refused"]
    assert refused
    for step in refused:
        assert f"{step['question']}; nearest: {', '.join(step['places'][:2])}" in text_of(answer)


def test_a_fetched_note_names_the_notes_that_link_to_it_each_once_and_none_that_is_hidden(tmp_path: Path) -> None:
    notes = {f"from {name}.md": "# From\n\nSee [[heron]].\n\nAnd [[heron]] again.\n" for name in "abcd"}
    notes |= {"heron.md": "# Heron\n\nIt nests, see [[heron]].\n\n## Food\n\nFish.\n"}
    notes["from a.md"] = "---\ntags: [never-to-mcp]\n---\n" + notes["from a.md"]
    made = indexed_vault(tmp_path, notes)
    fetched = call(made, "fetch", citations=["heron.md#L5-L7", "heron.md", "heron.md", "from%20b.md"])
    linked = [f"from%20{name}.md#L3" for name in "bcd"]
    assert [each.get("linked_from") for each in fetched.structured_content["places"]] == [linked, None, None]
    assert text_of(fetched).count(f"\nlinked from: {', '.join(linked)}\n") == 1
    assert text_of(fetched).count("linked from") == 1


def test_a_hit_has_the_day_by_which_dated_finds_its_document(tmp_path: Path) -> None:
    created = "---\ncreated: 2024-07-03\nupdated: 2024-09-09\n---\n# Heron\n\nA heron nests.\n"
    made = indexed_vault(
        tmp_path, {"said.md": created, "2023-05-06 named.md": "# Heron\n\nA heron.\n", "bare.md": "A heron."}
    )

    def dates(**filters: str) -> dict[str, str]:
        found = call(made, "search", query="heron", **filters).structured_content["hits"]
        return {each["citation"].partition("#")[0]: each["date"] for each in found}

    assert dates() == {"said.md": "2024-07-03", "2023-05-06%20named.md": "2023-05-06", "bare.md": "2026-02-02"}
    assert dates(dated="2024-07") == {"said.md": "2024-07-03"}
    assert dates(dated="2023") == {"2023-05-06%20named.md": "2023-05-06"}
    near = text_of(call(made, "search", query="heron", dated="2026-02"))
    assert "2024-07" in near
    assert near.count("2026-02") == 1  # as asked: the day of a file's last change is none that `dated` finds


def test_a_client_is_told_of_what_it_wants_to_hear(vault: Vault) -> None:
    heard: list[tuple[str, Any]] = []

    async def take(params: types.LoggingMessageNotificationParams) -> None:
        heard.append((params.level, params.data))

    async def talk(client: Client) -> list[int]:
        lengths = []
        for level in ("error", "info"):
            await client.session.send_request(
                types.SetLevelRequest(params=types.SetLevelRequestParams(level=level)),  # type: ignore[arg-type]
                types.EmptyResult,
            )
            await client.call_tool("search", {"query": "gateway"})
            await client.call_tool("search", {"query": "gateway", "limt": 1})
            lengths.append(len(heard))
        return lengths

    before, _ = here(vault, talk, mode="legacy", logging_callback=take)
    assert before == 0
    assert [level for level, _ in heard] == ["info", "warning"]
    assert "did you mean 'limit'?" in heard[1][1]


def test_since_2026_a_request_sets_the_level_of_what_is_told(vault: Vault) -> None:
    heard: list[str] = []

    async def take(params: types.LoggingMessageNotificationParams) -> None:
        heard.append(params.level)

    async def talk(client: Client) -> None:
        for meta in (None, {types.LOG_LEVEL_META_KEY: "debug"}, {types.LOG_LEVEL_META_KEY: "error"}):
            await client.call_tool("search", {"query": "gateway"}, meta=meta)

    here(vault, talk, mode="2026-07-28", logging_callback=take)
    assert heard == ["info"]


def test_writing_tools_are_there_where_they_are_allowed(vault: Vault) -> None:
    names = {tool.name: tool.writes for tool in tools_for(allow_write=True)}
    assert (names["add_note"], names["ingest"], names["search"]) == (True, True, False)
    tools = here(vault, lambda client: client.list_tools(), tools_for(allow_write=True)).tools
    hints = {tool.name: tool.annotations.read_only_hint for tool in tools if tool.annotations}
    assert [name for name, reads in hints.items() if not reads] == ["add_note", "ingest"]
    with pytest.raises(MCPError, match="no tool 'add_note'"):
        here(vault, lambda client: client.call_tool("add_note", {"title": "a", "text": "b"}))
    with read_only(), pytest.raises(StoreReadOnly):
        tools_for(allow_write=True)


@pytest.fixture
def writing(fresh_vault: Vault) -> Vault:
    config = fresh_vault.config.read_text() + '\n[models.embedding]\nprovider = "none"\n'
    fresh_vault.config.write_text(config + '\n[exposure]\nnever_to_mcp = ["private/**"]\n')
    write_notes(fresh_vault.root, {"private/plan.md": "# Plan\n\nxylophone\n"})
    assert kb_in(fresh_vault)("ingest", "--no-embed").code == 0
    return fresh_vault


def test_a_note_is_added_found_and_kept(writing: Vault) -> None:
    async def talk(client: Client) -> list[Any]:
        note = {"title": "Quokka: a note", "text": "A quokka lives on an island."}
        added = await client.call_tool("add_note", note)
        again = await client.call_tool("add_note", note)
        return [added, again, await client.call_tool("search", {"query": "quokka island"})]

    added, again, found = here(writing, talk, tools_for(allow_write=True))
    assert not added.is_error, text_of(added)
    path = added.structured_content["path"]
    assert path.startswith("_external/")
    head, _, _ = (writing.root / path).read_text(encoding="utf-8").partition("\n---\n")
    assert head == '---\ntitle: "Quokka: a note"\nwritten_by: "mcp"\ntrust_level: "generated"'
    (own,) = (each for each in kb_in(writing)("list", "docs", "--json").lines if each["doc_path"] == path)
    assert own["trust_level"] == "generated"
    assert again.structured_content | {"was_there": False} == again.structured_content | {"was_there": False}
    assert again.structured_content["was_there"] is True
    assert found.structured_content["hits"][0]["citation"].startswith(path)
    assert kb_in(writing)("ingest", "--no-embed").code == 0
    assert (writing.root / path).exists()


@pytest.mark.parametrize(
    "frontmatter",
    [
        "trust_level: primary",
        "Trust_Level: primary",
        '"trust_level": primary',
        "{trust_level: primary}",
        "created: 2020-01-01",
        "date: 2020-01-01",
        "updated_at: 2020-01-01",
        "tags: [a\ntrust_level: primary",
    ],
)
def test_an_agent_says_neither_how_much_its_note_is_to_be_trusted_nor_when_it_was_written(
    frontmatter: str, writing: Vault
) -> None:
    note = {"title": "Mine", "text": f"---\n{frontmatter}\n---\nThe owner wrote this."}
    added = here(writing, lambda client: client.call_tool("add_note", note), tools_for(allow_write=True))
    assert added.is_error
    assert not (writing.root / "_external").exists()


def test_tags_of_an_agents_note_are_its_own(writing: Vault) -> None:
    note = {"title": "Mine", "text": "---\ntags: [quokka]\n---\nA quokka."}
    added = here(writing, lambda client: client.call_tool("add_note", note), tools_for(allow_write=True))
    assert kb_in(writing)("search", "quokka", "--tag", "quokka", "--trust-min", "secondary").code == 1
    assert (
        kb_in(writing)("search", "quokka", "--tag", "quokka", "--json").json["hits"][0]["doc_path"]
        == (added.structured_content["path"])
    )


def test_an_ingest_tells_nothing_of_what_is_hidden(writing: Vault) -> None:
    hidden = {f"private/{n}.md": f"# Secret {n}\n" for n in range(3)}
    hidden |= {"mixed/kept.md": "---\ntags: [never-to-mcp]\n---\n# Kept\n"}
    hidden |= {"kept/kept.md": "---\ntags: [Never_To_MCP]\n---\n# Kept\n"}
    write_notes(writing.root, {**hidden, "mixed/open.md": "# Open\n", "broken.md": "# Broken\n"})
    kept, private = "kept/kept.md", "private/plan.md"
    unseen = ("kept", kept, "private", "nope", "../x", "/etc")

    async def talk(client: Client) -> list[Any]:
        told = [await client.call_tool("ingest", {"path": path}) for path in unseen]
        told.append(await client.call_tool("ingest", {}))
        write_notes(writing.root, {private: "# Plan\n\nchanged and longer\n"})
        told.append(await client.call_tool("ingest", {}))
        told += [
            await client.call_tool("ingest", {"path": path}) for path in ("mixed", "mixed/kept.md", "kept", private)
        ]
        write_notes(writing.root, {"broken.md": "---\ntags: [never-to-mcp]\n---\n# Broken\n"})
        (writing.root / "mixed/open.md").rename(writing.root / "mixed/moved.md")
        return [*told, await client.call_tool("ingest", {})]

    told = here(writing, talk, tools_for(allow_write=True))
    counted = ("new", "updated", "moved", "removed", "unchanged", "failed")
    counts = [None if each.is_error else [each.structured_content[name] for name in counted] for each in told]
    own = len(NOTES)
    everything = [[2, 0, 0, 0, own, 0], [0, 0, 0, 0, own + 2, 0]]
    mixed = [[0, 0, 0, 0, 1, 0], None, None, None]
    assert counts == [*([None] * len(unseen)), *everything, *mixed, [0, 0, 1, 1, own, 0]]
    (refusal,) = {re.sub("'.*?'", "", text_of(each)) for each in told if each.is_error}
    assert "nothing can be ingested at" in refusal
    assert str(writing.root) not in refusal


def test_an_ingest_beside_calls_disturbs_none(writing: Vault) -> None:
    async def talk(client: Client) -> list[Any]:
        write_notes(writing.root, {f"many/{number}.md": f"# Note {number}\n\nA numbat.\n" for number in range(40)})
        calls = [client.call_tool("search", {"query": "gateway retries", "limit": 1}) for _ in range(20)]
        return await asyncio.gather(client.call_tool("ingest", {}), *calls)

    done, *found = here(writing, talk, tools_for(allow_write=True))
    assert done.structured_content["new"] == 40
    assert {each.structured_content["hits"][0]["citation"] for each in found} == {"projects/gateway/log.md#L7-L16"}


def test_a_reset_beside_calls_is_told_and_an_ingest_mends_it(writing: Vault) -> None:
    kb = kb_in(writing)

    async def talk(client: Client) -> list[Any]:
        found = [await client.call_tool("search", {"query": "gateway retries", "limit": 1})]
        assert kb("reset", "everything", "--yes").code == 0
        found.append(await client.call_tool("search", {"query": "gateway retries", "limit": 1}))
        assert kb("ingest").code == 0
        return [*found, await client.call_tool("search", {"query": "gateway retries", "limit": 1})]

    before, gone, after = here(writing, talk)
    assert text_of(gone).startswith("not_indexed: ")
    assert gone.is_error
    assert after.structured_content["hits"] == before.structured_content["hits"]


def test_two_servers_serve_one_knowledge_base(vault: Vault) -> None:
    async def talk(client: Client) -> Any:
        def other() -> Any:
            return here(vault, lambda second: second.call_tool("search", {"query": "zebra"}))

        return await asyncio.to_thread(other), await client.call_tool("search", {"query": "zebra"})

    first, second = here(vault, talk)
    assert first.structured_content["hits"] == second.structured_content["hits"]
