"""Whatever a model writes, an answer cites packed passages alone, and what it calls grounded stands in its files.

KB_GENERATED sets how many answers the installed model is asked for; KB_TEST_MODEL_DIR names its directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import pytest
from answer_passages import ScriptedModel
from conftest import Vault, kb_in, make_vault
from hostile_documents import DOCUMENTS
from hypothesis import given
from hypothesis import strategies as st
from ollama_fixtures import serving, tool

from kb.assemble.catalogue import GGUF_FILE, SMOLLM2
from kb.config import load
from kb.domain.answers import Answer, AskEvent, Generated
from kb.domain.citations import LineCitation
from kb.domain.generation import LanguageModel
from kb.domain.run_handle import RunHandle
from kb.operations.ask import language_model
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base, open_base

GENERATED = int(os.environ.get("KB_GENERATED", "4"))
CONTEXT_TOKENS = 2048

HARMLESS = {
    "gateway.md": "# Gateway\n\nThe gateway retries a failed upload five times, then it keeps the batch on disk.\n\n"
    "- The port is 8443.\n- On 2024-03-01 it was moved to Busan by Kim Minji.\n",
    "battery.md": "# 배터리\n\n정전이 나면 배터리가 네 시간을 버틴다. 교체는 3월에 한다.\n\n"
    "> “충전은 12시간 걸린다”고 적혀 있다.\n",
}
NOTES = HARMLESS | {f"hostile/{document.name}.md": document.text for document in DOCUMENTS}
QUESTIONS = (
    "How often does the gateway retry a failed upload?",
    "정전이 나면 배터리가 얼마나 버티나?",
    "At how many bar does the amber pump run?",
    "소나무 펌프는 몇 바에서 돌아가나?",
    "When was the gateway moved, and by whom?",
)
MARKER = re.compile(r"\[\s*#?\s*(\d+)\s*\]")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    vault = make_vault(tmp_path_factory.mktemp("property"), NOTES)
    with vault.config.open("a", encoding="utf-8") as config:
        config.write(f"\n[rag]\nscore_gate = 0.0\nmax_answer_tokens = 64\n\n[models.llm]\nmodel = '{SMOLLM2}'\n")
    assert kb_in(vault)("ingest", "--no-embed").code == 0
    return vault


def holds(answer: Answer, shown: str, root: Path) -> None:
    """Every property of an answer and of what was shown of it while it came."""
    packed = {passage.number: passage for passage in answer.written.packed}
    assert {int(number) for number in MARKER.findall(shown)} <= set(packed)
    # A note's own words are shown as they stand, brackets that name no place of this answer included.
    given = {int(number) for passage in packed.values() for number in MARKER.findall(passage.text)}
    in_notes = given - set(packed)
    shown_numbers = {int(number) for number in MARKER.findall(answer.text)} - in_notes
    assert shown_numbers <= set(packed)
    cited = {citation.marker: citation.chunk_id for citation in answer.citations if citation.marker}
    assert all(packed[int(marker[1:-1])].chunk_id == chunk_id for marker, chunk_id in cited.items())
    kept = [claim for claim in answer.claims if claim.status != "dropped"]
    for claim in kept:
        assert claim.passages
        assert set(claim.passages) <= set(packed)
        if claim.quote is not None:
            at = claim.citation
            assert isinstance(at, LineCitation)
            lines = (root / at.path).read_text(encoding="utf-8").split("\n")[at.start - 1 : at.end]
            assert claim.quote in "\n".join(lines)
            assert any(packed[number].doc_path == at.path for number in claim.passages)
    if answer.grounded:
        assert kept
        assert answer.refusal_reason is None
        assert all(claim.status == "supported" and claim.quote and claim.citation for claim in kept)
        assert {f"[{number}]" for claim in kept for number in claim.passages} == set(cited)
    if answer.refusal_reason is None:
        assert any(claim.status in ("supported", "not_checked") for claim in kept)
        assert shown_numbers == {int(marker[1:-1]) for marker in cited}


def with_model(vault: Vault, model: LanguageModel, request: AskRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language_model, "language_models", lambda *_: iter([model]))
    events: list[AskEvent] = []
    answer = ask(Base(load(str(vault.config), ())), request, RunHandle(events.append))
    holds(answer, "".join(event.text for event in events if isinstance(event, Generated)), vault.root)


SENTENCES = [
    sentence.strip() for text in HARMLESS.values() for sentence in re.split(r"(?<=[.])\s|\n", text) if sentence.strip()
]
FRAGMENTS = st.one_of(
    st.sampled_from(SENTENCES),
    st.sampled_from([document.attempt[:300] for document in DOCUMENTS] + [document.fact for document in DOCUMENTS]),
    st.sampled_from(["[1]", "[#2]", "[9]", "[1,9]", "[[9]8]", "[", "]", "[1-9]", "【7】", "[\u200b6]", " #1 ", "(#9)"]),
    st.sampled_from(['"keeps the batch"', "“충전은 12시간”", "7 times", "in 1999", "Kim Minji", "Siemens", "3월에"]),
    st.sampled_from(["\n", "\n\n", ". ", " ", ", ", "- ", "| ", "```\n", "# ", "> "]),
    st.text(max_size=12),
)


@pytest.mark.slow
@given(parts=st.lists(FRAGMENTS, max_size=14), question=st.sampled_from(QUESTIONS), k=st.integers(1, 8))
def test_no_text_breaks_an_answer(indexed: Vault, parts: list[str], question: str, k: int) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        with_model(indexed, ScriptedModel(" ".join(parts)), AskRequest(question, "lexical", k, keep=False), monkeypatch)


@contextmanager
def installed_model(way: str) -> Iterator[list[str]]:
    """The settings by which the installed model answers: in the process, or behind HTTP."""
    directory = os.environ.get("KB_TEST_MODEL_DIR")
    path = Path(directory or "/nowhere") / SMOLLM2 / GGUF_FILE
    if not path.is_file():
        pytest.skip(f"KB_TEST_MODEL_DIR has no {SMOLLM2}")
    pytest.importorskip("llama_cpp")
    own = [f"models.llm.context_tokens={CONTEXT_TOKENS}", "rag.max_context_tokens=400"]
    if way == "llama_cpp":
        yield [*own, f"models.llm.gguf={path}"]
        return
    with serving(tool.Gguf(path, SMOLLM2, CONTEXT_TOKENS)) as server:
        yield [*own, f"models.llm.endpoint={server.endpoint}"]


@pytest.mark.parametrize(("way", "first"), [("llama_cpp", 0), ("ollama", 1)])
def test_no_real_model_breaks_an_answer(indexed: Vault, way: str, first: int) -> None:
    """Each way is asked every other question: the model is the same."""
    asked = (*QUESTIONS, *(document.question for document in DOCUMENTS))
    mine = list(enumerate(islice(cycle(asked), GENERATED)))[first::2]
    seen: dict[str, int] = {}
    with installed_model(way) as own, open_base(load(str(indexed.config), own)) as session:
        for number, question in mine:
            events: list[AskEvent] = []
            request = AskRequest(
                question, "lexical", 4, provider=way, temperature=(number % 3) * 0.6, seed=number, keep=False
            )
            answer = ask(session, request, RunHandle(events.append))
            holds(answer, "".join(event.text for event in events if isinstance(event, Generated)), indexed.root)
            assert answer.written.generated_text
            told = ("wrote nothing that its sources support", "출처로 뒷받침되지 않아")
            is_quoted = any(words in note for words in told for note in answer.notes)
            assert answer.written.model.provider == ("extractive" if is_quoted else way)
            if is_quoted:
                assert answer.grounded
                assert all(claim.text == claim.quote for claim in answer.claims)
            written = "quoted" if is_quoted else "grounded" if answer.grounded else "not checked"
            outcome = answer.refusal_reason or written
            seen[outcome] = seen.get(outcome, 0) + 1
    print(f"{way}: {seen}")
    assert sum(seen.values()) == len(mine) > 0
