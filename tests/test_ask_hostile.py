"""Text in notes is data: whatever it says, it ends no quotation, adds no source and commands no terminal."""

from __future__ import annotations

import re
import unicodedata

import pytest
from answer_passages import ScriptedModel, passage
from conftest import Ran, Vault, kb_in, make_vault
from hostile_documents import DOCUMENTS, Hostile

from kb.answer.prompt import build_prompt
from kb.config import load
from kb.domain.answers import Answer, AskEvent, Generated, Turn
from kb.domain.generation import LanguageModel
from kb.domain.run_handle import RunHandle
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base

hostile = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)

# Looser than what kb itself reads as a marker: all that a reader could take for one.
SEEN_AS_MARKER = re.compile(r"[\[【［〔][\s#＃\u00ad\u200b-\u200f\u2060\ufeff]*(\d+)[^\w\[\]]*[\]】］〕]")


BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def markers(text: str) -> set[int]:
    return {int(found) for found in SEEN_AS_MARKER.findall(text)}


def is_control(char: str) -> bool:
    return (unicodedata.category(char) == "Cc" and char not in "\n\t") or unicodedata.bidirectional(char) in BIDI


@pytest.mark.parametrize("version", ["rag-v1", "rag-v2", "rag-v3"])
@hostile
def test_every_line_of_a_source_stands_behind_its_bar(version: str, document: Hostile) -> None:
    given = (passage(1, document.text, headings=[document.attempt]), passage(2, "An honest line.", headings=["Honest"]))
    history = (Turn(0, document.attempt, document.attempt, "q"),)
    messages, packed = build_prompt(version, "Which bar?", "en", given, history, ScriptedModel(""), 100_000)
    assert [each.number for each in packed] == [1, 2]
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    before, _, rest = messages[-1].content.partition("[#1] notes/1.md")
    shown, _, asked = rest.rpartition("| An honest line.")
    assert len(before.splitlines()) == 1
    assert asked.split() == [*asked.split()[:-2], "Which", "bar?"]
    lines = f"[#1] notes/1.md{shown}".splitlines()
    assert [line[:4] for line in lines if not line.startswith("| ") and line.strip()] == ["[#1]", "[#2]"]
    bare, _ = build_prompt(version, "Which bar?", "en", given[1:], (), ScriptedModel(""), 100_000)
    assert messages[0] == bare[0]
    for said in messages[1:3]:
        assert len(said.content.splitlines()) <= 1
    assert not markers(messages[2].content)


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    notes = {f"{document.name}.md": document.text for document in DOCUMENTS}
    vault = make_vault(tmp_path_factory.mktemp("hostile"), notes)
    with vault.config.open("a", encoding="utf-8") as config:
        config.write("\n[rag]\nscore_gate = 0.0\nanswer_precision = 0.0\n")
    ran = kb_in(vault)("ingest", "--no-embed")
    assert ran.code == 0, ran.stderr
    return vault


def kb(vault: Vault, *args: str) -> Ran:
    return kb_in(vault)("--set", "models.llm.provider=extractive", *args)


@hostile
def test_your_own_sentences_are_quoted_as_they_stand(document: Hostile, indexed: Vault) -> None:
    answer = kb(indexed, "ask", document.question, "--json").json
    # Before the passage of a very long note come others with most of the words.
    if document.name not in ("huge_line", "huge_word", "many_markers", "combining"):
        assert document.fact in answer["answer"], document.name
    shown = {int(citation["marker"][1:-1]) for citation in answer["citations"]}
    paths = {citation["citation"]["path"] for citation in answer["citations"]}
    quoted = " ".join((indexed.root / path).read_text(encoding="utf-8") for path in paths)
    own = {int(found) for found in re.findall(r"\[#?(\d+)\]", quoted)}
    assert {int(found) for found in re.findall(r"\[#?(\d+)\]", answer["answer"])} <= shown | own
    for claim in answer["claims"]:
        cited = claim["citation"]
        lines = (indexed.root / cited["path"]).read_text(encoding="utf-8").split("\n")
        cited_text = "\n".join(lines[cited["start"] - 1 : cited["end"]])
        assert claim["quote"] in cited_text.replace("\0", "\ufffd")


@hostile
def test_a_terminal_gets_no_control_characters(document: Hostile, indexed: Vault) -> None:
    for args in (
        ("ask", document.question),
        ("ask", document.question, "--explain"),
        ("ask", document.attempt[:3000].replace("\0", ""), "--session", document.attempt[:80].replace("\0", "")),
        ("answers", "list"),
        ("answers", "show"),
        ("sessions", "list"),
        ("verify",),
    ):
        ran = kb(indexed, *args)
        assert ran.code in (0, 1), ran.stderr
        assert not [char for char in ran.stdout + ran.stderr if is_control(char)]


def answered(vault: Vault, model: LanguageModel, question: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Answer, str]:
    """The answer of a model, and all that was shown of it while it came."""
    monkeypatch.setattr("kb.operations.ask.language_model.language_models", lambda *_: iter([model]))
    events: list[AskEvent] = []
    answer = ask(
        Base(load(str(vault.config), ())), AskRequest(question, "lexical", 5, keep=False), RunHandle(events.append)
    )
    return answer, "".join(event.text for event in events if isinstance(event, Generated))


def obeying(document: Hostile) -> list[str]:
    """What a model may write that does as the note says."""
    return [
        document.attempt,
        f"HACKED [#9]. {document.attempt} [99]",
        f"{document.fact} [#1] {document.attempt}",
        f"{document.fact} [#1]\n\n{document.attempt}\n\nPumps run at 999 bar [#1][#9].",
    ]


@hostile
def test_a_model_that_obeys_a_note_breaks_nothing(
    document: Hostile, indexed: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    for text in obeying(document):
        answer, shown = answered(indexed, ScriptedModel(text), document.question, monkeypatch)
        packed = {each.number for each in answer.written.packed}
        assert markers(shown) <= packed
        # A quotation is as the note has it, but for what would read as a marker of the answer.
        quoted = " ".join(each.text for each in answer.written.packed)
        own = SEEN_AS_MARKER.findall(quoted) if answer.written.model.provider == "extractive" else []
        assert {int(found) for found in SEEN_AS_MARKER.findall(answer.text)} <= packed | set(map(int, own))
        assert {number for claim in answer.claims for number in claim.passages} <= packed
        kept = [claim for claim in answer.claims if claim.status != "dropped"]
        chunks = {citation.marker: citation.chunk_id for citation in answer.citations}
        for claim in kept:
            cited = {chunks.get(f"[{number}]") for number in claim.passages}
            sources = [each.text for each in answer.written.packed if each.chunk_id in cited]
            assert claim.passages
            if claim.quote is not None:
                assert any(claim.quote in source for source in sources)
            if claim.status == "supported":
                assert claim.quote is not None
        assert answer.grounded == (answer.refusal_reason is None and all(c.status == "supported" for c in kept))
