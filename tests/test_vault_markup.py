"""Obsidian's marks say nothing: they decide no language, are quoted by no answer, and head no section."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from conftest import make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, Vectors, fake_models, hashed_words
from ingest_fixtures import Workspace

from kb.domain.embeddings import EncodedQuestion
from kb.domain.run_handle import RunHandle
from kb.language.detect import detect_language, passage_language
from kb.language.markup import masked
from kb.language.sentences import sentence_ranges
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base

__all__ = ["fake_models"]

KOREAN_LINE = "환기창은 매일 아침 여덟 시에 열고 저녁 여섯 시에 닫는다.\n"
EMBEDS = "".join(f"![[Weekly review of the garden and what to do next#^note-{number}]]\n" for number in range(12))


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace of its own."""
    return Workspace(tmp_path / "workspace")


@pytest.mark.parametrize(
    "markup",
    [
        "![[The plan for the garden and the house#^b1c2d3]]",
        "[[What is to be done for the house with this]]",
        "> [!information for the reader of this]",
        '<LearnMore path="/the/way/to/go" onClick={() => open("this is for you and that is it")}>\n</LearnMore>',
        "- [How to use the index and what it is for](https://example.org/how-to)",
        "* [[The plan]], [[The way of the house]]",
        "#the-plan/for-this #and-that-is-it",
        "![the picture of this and that](images/of-the-house.png)",
        "<!-- this is for the author and not for the reader -->",
    ],
    ids=["embed", "wikilink", "callout", "JSX tag", "link line", "line of links", "tags", "image", "comment"],
)
def test_markup_is_no_word_of_any_language(markup: str) -> None:
    assert detect_language(f"{markup}\n") == "und"
    assert detect_language(f"{markup}\n\n환기창을 연다.\n" + f"{markup}\n" * 5) == "ko"
    assert passage_language(f"## 참고\n\n{markup}\n", "ko") == "ko"
    quoted = [text[start:end] for text in [f"{markup}\n\n{KOREAN_LINE}"] for start, end in sentence_ranges(text)]
    assert quoted == [KOREAN_LINE.strip()]


@pytest.mark.parametrize(
    ("passage", "language"),
    [
        ("### References\n\n- [Socket vs. RPC and when to use which](https://example.org)\n", "ko"),
        ("## Layers of Application, Controller, Service, Repository, Database\n\n```java\nclass A {}\n```\n", "ko"),
        ("1. DataAccessException, DuplicateKeyException\n2. RequestMethodNotSupportedException\n", "ko"),
        ("> A cipher suite is a set of algorithms that is used to secure a connection with the server.\n", "en"),
    ],
    ids=["links", "terms", "names", "English prose"],
)
def test_a_passage_with_little_prose_has_its_documents_language(passage: str, language: str) -> None:
    assert passage_language(passage, "ko") == language


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("물은 백 도에서 끓는다. ^boil-1\n", ["물은 백 도에서 끓는다."]),
        ("> [!tip] 물은 백 도에서 끓는다.\n", ["물은 백 도에서 끓는다."]),
        ("물은 끓는다.<br>\n얼음은 녹는다.\n", ["물은 끓는다.", "얼음은 녹는다."]),
        ("<Note>\n물은 끓는다.\n</Note>\n", ["물은 끓는다."]),
        ("자세한 것은 [[물의 성질]]\n", ["자세한 것은 [[물의 성질]]"]),
        ("끓는점은 [[물의 성질|백 도]]이다.\n", ["끓는점은 [[물의 성질|백 도]]이다."]),
        ("```html\n<b>bold</b>\n```\n", ["<b>bold</b>"]),
    ],
    ids=["block id", "callout", "line break", "tags around", "link at the end", "link within", "code"],
)
def test_a_quoted_sentence_is_cut_where_markup_begins(text: str, quoted: list[str]) -> None:
    assert [text[start:end] for start, end in sentence_ranges(text)] == quoted
    assert len(masked(text)) == len(text)


@pytest.mark.parametrize("heading", ["# ![[Plan#^a1]]", "# [[Plan]]", "# #project", "![[Plan]]\n---", "# <Banner />"])
def test_markup_heads_no_section(workspace: Workspace, heading: str) -> None:
    workspace.write("온실.md", f"{heading}\n\n{KOREAN_LINE}")
    workspace.ingest()
    assert workspace.query("SELECT title FROM documents") == [("온실",)]
    assert workspace.query("SELECT heading_path_json FROM chunks") == [("[]",)]


def test_a_block_id_is_no_part_of_a_heading(workspace: Workspace) -> None:
    workspace.write("온실.md", f"# 환기 규칙 ^rule-1\n\n{KOREAN_LINE}")
    workspace.ingest()
    assert workspace.query("SELECT heading_path_json FROM chunks") == [('["환기 규칙"]',)]


def test_a_passage_of_embeds_answers_no_question_of_a_korean_vault(workspace: Workspace) -> None:
    workspace.write("Home.md", EMBEDS)
    workspace.write("온실.md", f"# 온실\n\n{KOREAN_LINE}\n토마토는 사흘에 한 번 물을 준다.\n")
    workspace.write("공구.md", "# 공구\n\n토크렌치는 너트를 정해진 힘으로 조인다.\n")
    workspace.ingest()
    assert workspace.query("SELECT lang FROM documents WHERE title = 'Home'") == [("und",)]
    for question in ("환기창은 언제 여나요?", "garden 환기창은 언제 닫나요?", "What to do next in the garden?"):
        request = AskRequest(question, "lexical", 5, provider="extractive")
        answer = ask(Base(workspace.config), request, RunHandle())
        assert all(citation.citation.path != "Home.md" for citation in answer.citations), question
        assert "![[" not in answer.text


def test_a_passage_of_embeds_nearest_to_every_question_answers_none(
    tmp_path: Path, fake_models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    for embedder in fake_models.embedders.values():
        near = hashed_words("nearest", embedder.model.dimensions)

        def embed(texts: Sequence[str], role: object, near: Vectors = near) -> Vectors:
            return np.stack([near if "Weekly" in text else hashed_words(text, near.size) for text in texts])

        monkeypatch.setattr(embedder, "embed", embed)
        monkeypatch.setattr(embedder, "encode", lambda text, near=near: EncodedQuestion(near.tobytes(), None))
    notes = {
        "Home.md": EMBEDS,
        "온실.md": f"# 온실\n\n{KOREAN_LINE}\n토마토는 사흘에 한 번 물을 준다.\n",
        "공구.md": "# 공구\n\n토크렌치는 너트를 정해진 힘으로 조인다.\n",
    }
    vault = make_vault(tmp_path, notes)
    models = ("--set", f"models.embedding.model={PRIMARY}")
    call = ("--config", str(vault.config), *models)
    assert run_kb(*call, "ingest").code == 0
    for question in ("환기창은 언제 여나요?", "garden 환기창은 언제 닫나요?", "What to do next in the garden?"):
        found = json.loads(run_kb(*call, "search", "--mode", "vector", "--json", question).stdout)
        assert found["hits"][0]["doc_path"] == "Home.md", question
        ran = run_kb(*call, "ask", "--mode", "hybrid", "--provider", "extractive", "--json", question)
        answer = json.loads(ran.stdout)
        assert all("Home.md" not in json.dumps(citation) for citation in answer["citations"]), question
        assert "![[" not in answer["answer"]
