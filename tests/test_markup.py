"""Marks of Obsidian, MDX and Svelte say nothing: no language, no quotation, no heading, no component is text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
import pytest
from conftest import indexed_vault, make_vault, run_kb
from fake_embedder import PRIMARY, FakeModels, Vectors, fake_models, hashed_words
from hypothesis import given
from hypothesis import strategies as st
from ingest_fixtures import Workspace

from kb.domain.documents import Document, Heading, Text
from kb.domain.embeddings import EncodedQuestion
from kb.domain.ids import AssetId
from kb.domain.run_handle import RunHandle
from kb.domain.text import WorkspacePath
from kb.extract.markdown.document import extract_markdown
from kb.language.detect import detect_language, passage_language
from kb.language.markup import masked, without_tags
from kb.language.sentences import sentence_ranges
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base
from kb.store import queries

__all__ = ["fake_models"]

KOREAN_LINE = "환기창은 매일 아침 여덟 시에 열고 저녁 여섯 시에 닫는다.\n"
EMBEDS = "".join(f"![[Weekly review of the garden and what to do next#^note-{number}]]\n" for number in range(12))
KOREAN_VAULT = {
    "Home.md": EMBEDS,
    "온실.md": f"# 온실\n\n{KOREAN_LINE}\n토마토는 사흘에 한 번 물을 준다.\n",
    "공구.md": "# 공구\n\n토크렌치는 너트를 정해진 힘으로 조인다.\n",
}
ASKED = ("환기창은 언제 여나요?", "garden 환기창은 언제 닫나요?", "What to do next in the garden?")


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


@pytest.mark.parametrize("heading", ["# ![[Plan#^a1]]", "# #project", "![[Plan]]\n---", "# <Banner />"])
def test_markup_heads_no_section(workspace: Workspace, heading: str) -> None:
    workspace.write("온실.md", f"{heading}\n\n{KOREAN_LINE}")
    workspace.ingest()
    assert workspace.query("SELECT title FROM documents") == [("온실",)]
    assert workspace.query("SELECT heading_path_json FROM chunks") == [("[]",)]


def test_a_heading_of_a_link_heads_its_section_and_titles_no_note(workspace: Workspace) -> None:
    workspace.write("2024-05-02.md", f"# [[Greenhouse]]\n\n{KOREAN_LINE}\n## [[2024-05-01]]\n\nSeen again.\n\n# Plan\n")
    workspace.write("log.md", f"# [[Greenhouse|Of plants]]\n\n{KOREAN_LINE}")
    workspace.ingest()
    assert workspace.query("SELECT title FROM documents ORDER BY workspace_path") == [("Plan",), ("Of plants",)]
    headed = "SELECT DISTINCT heading_path_json FROM blocks WHERE kind = 'paragraph' ORDER BY block_id"
    assert set(workspace.query(headed)) == {
        ('["Greenhouse"]',),
        ('["Greenhouse","2024-05-01"]',),
        ('["Of plants"]',),
    }


def test_a_block_id_is_no_part_of_a_heading(workspace: Workspace) -> None:
    workspace.write("온실.md", f"# 환기 규칙 ^rule-1\n\n{KOREAN_LINE}")
    workspace.ingest()
    assert workspace.query("SELECT heading_path_json FROM chunks") == [('["환기 규칙"]',)]


def test_a_passage_of_embeds_answers_no_question_of_a_korean_vault(workspace: Workspace) -> None:
    for name, text in KOREAN_VAULT.items():
        workspace.write(name, text)
    workspace.ingest()
    assert workspace.query("SELECT lang FROM documents WHERE title = 'Home'") == [("und",)]
    for question in ASKED:
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
    vault = make_vault(tmp_path, KOREAN_VAULT)
    models = ("--set", f"models.embedding.model={PRIMARY}")
    call = ("--config", str(vault.config), *models)
    assert run_kb(*call, "ingest").code == 0
    for question in ASKED:
        found = json.loads(run_kb(*call, "search", "--mode", "vector", "--json", question).stdout)
        assert found["hits"][0]["doc_path"] == "Home.md", question
        ran = run_kb(*call, "ask", "--mode", "hybrid", "--provider", "extractive", "--json", question)
        answer = json.loads(ran.stdout)
        assert all("Home.md" not in json.dumps(citation) for citation in answer["citations"]), question
        assert "![[" not in answer["answer"]


COURSE = """\
import Tabs from '@theme/Tabs';
import {
  Card,
  Grid,
} from "../components"
export const meta = {
  title: "not a title",
};

# 트랜스포머 소개[[introduction]]

<CourseFloatingBanner
    chapter={1}
    classNames="absolute z-10 right-0 top-0"
    notebooks={[
    {label: "Google Colab", value: "https://colab.example.org/a.ipynb"},
    {label: "Studio", value: "https://studio.example.org/b.ipynb"},
]} />

{#if fw === 'pt'}

토크나이저는 문장을 자른다.

{:else}

<Youtube id="00GKzGyWFEs"/>

{/if}

<Tip>
✏️ 문장은 <b>짧게</b> 쓴다.
</Tip>

### 1. 무엇을 자르나요?

<Question
	choices={[
		{
			text: "문장 > 단어",
			explain: "Right! <a href='/course'>tokenizers</a> cut it.",
			correct: true
		},
	]}
/>

### 2. 다음은?[[2-다음은]]

`matrix[[1]]`은 그대로다.
"""


def read(text: str) -> Document:
    return extract_markdown(text.encode(), workspace_path=WorkspacePath("a.mdx"), asset_id=AssetId("0" * 32))


def headings(text: str) -> list[str]:
    return [each.payload.text for each in read(text).blocks if isinstance(each.payload, Heading)]


def prose(text: str) -> list[str]:
    return [each.payload.text for each in read(text).blocks if isinstance(each.payload, Text)]


def test_components_statements_and_logic_are_no_text() -> None:
    document = read(COURSE)
    assert (document.title, document.lang) == ("트랜스포머 소개", "ko")
    assert headings(COURSE) == ["트랜스포머 소개", "1. 무엇을 자르나요?", "2. 다음은?"]
    assert prose(COURSE) == [
        "토크나이저는 문장을 자른다.",
        "✏️ 문장은 짧게 쓴다.",
        "matrix[[1]]은 그대로다.",
    ]


def test_the_language_is_that_of_the_words_not_of_the_components() -> None:
    quiz = "".join(
        f'<Question choices={{[{{text: "the tokenizer is a model > {n}", explain: "no it is not"}}]}} />\n\n'
        for n in range(9)
    )
    assert detect_language(f"{quiz}문장을 자른다.\n") == "ko"
    assert detect_language("import a from 'the-is-of'\n\n문장을 자른다.\n") == "ko"


@pytest.mark.parametrize(
    ("written", "title"),
    [
        ("# Introduction[[introduction]]", "Introduction"),
        ("# 학습 내용 확인[[학습-내용-확인]]", "학습 내용 확인"),
        ("# `pipeline`[[pipeline]]", "pipeline"),
        ("# Headings {/* #my-heading-id */}", "Headings"),
        ("# Talk with [[alice]]", "Talk with alice"),
        ("# Talk with[[Alice Kim]]", "Talk withAlice Kim"),
        ("# Review[[notes/a|of a]]", "Reviewof a"),
    ],
)
def test_an_anchor_behind_a_heading_is_no_part_of_it(written: str, title: str) -> None:
    assert headings(written) == [title]


@pytest.mark.parametrize(
    "text",
    [
        "import duties rose from 'low' to high.",
        "export const is a keyword of JavaScript.",
        "export default settings to a file.",
        "import os",
        "Use {braces} and {#if nothing} at all, if a < B and c > d.",
        "`<Tip>` stays, and so does `{#if x}`.",
        "```jsx\nimport a from 'b'\n<Tip value={1} />\n```",
    ],
)
def test_prose_and_code_that_only_look_like_mdx_stay(text: str) -> None:
    kept = without_tags(text)
    assert kept.replace("{#if nothing}", " ") in (text, text.replace("{#if nothing}", " " * 13))


@given(
    st.lists(
        st.sampled_from(
            (
                "<A ",
                "<B>",
                "</B>",
                "/>",
                "={",
                "}",
                "{#if x}",
                "'",
                "\n",
                "\n\n",
                "import a from 'b'",
                "export const a = {",
                "글",
                "`",
                "```\n",
            )
        ),
        max_size=30,
    )
)
def test_masking_keeps_every_place(parts: list[str]) -> None:
    text = "".join(parts)
    for read_as in (masked(text), without_tags(text)):
        assert len(read_as) == len(text)
        assert [at for at, char in enumerate(read_as) if char == "\n"] == [at for at, c in enumerate(text) if c == "\n"]
    read(text)


@pytest.mark.parametrize(
    "line", ["<A {", "<A\n", "<A b={'", "export const a = {\n", "import a, ", "{/*", "<A b={[", "\n<A b={["]
)
def test_any_text_is_masked_and_parsed_in_linear_time(line: str) -> None:
    assert len(masked(line * 20_000)) == len(line) * 20_000
    read(line * 20_000)


def test_snippets_and_titles_of_mdx_show_no_components(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {"course.mdx": COURSE})
    (found,) = run_kb("--config", str(vault.config), "search", "자르나요", "--json").lines
    shown = " ".join(hit["snippet"] + hit["title"] + "".join(hit["heading_path"]) for hit in found["hits"])
    assert found["hits"]
    assert [
        sign for sign in ("<Question", "import", "{#if", "[[introduction", "CourseFloating", "explain") if sign in shown
    ] == []


BETWEEN = """\
# 설치

토크나이저를 먼저 내려받는다.

<Question
	choices={[
		{ text: "quokka", explain: "wombat" },
	]}
/>

import Zebra from "@theme/zebra";

<Tip>
작은 모델이 <b title="marmot">빠르다</b>. Press <Enter> twice.
</Tip>

<!-- narwhal: 다음에 고친다 -->

    <Aside note={"gazelle"} />

그 다음에 서버를 켠다.
"""


def test_components_and_statements_between_blocks_are_neither_indexed_nor_embedded(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {"install.mdx": BETWEEN})

    def finds(word: str) -> bool:
        return run_kb("--config", str(vault.config), "search", word, "--mode", "lexical").code == 0

    assert [word for word in ("quokka", "wombat", "zebra", "Tip", '"explain: wombat"') if finds(word)] == []
    kept = ("토크나이저", "서버", "Enter", "marmot", "narwhal", "gazelle", '"그 다음에 서버를"')
    assert [word for word in kept if not finds(word)] == []
    with closing(apsw.Connection(str(vault.sqlite))) as db:
        (chunk,) = queries.select_unembedded_chunks(
            db, model_id="m", model_version="1", dimensions=1, passage_version="p", after_rowid=0, row_limit=9
        )
    assert "서버를 켠다" in chunk.text
    assert "wombat" not in chunk.text
    # A passage around a component is quoted as it stands in the file.
    (found,) = run_kb("--config", str(vault.config), "search", "토크나이저 서버", "--json").lines
    (hit,) = found["hits"]
    assert hit["citation"]["uri"].endswith("#L1-L21")
    assert "내려받는다. … 작은" in hit["snippet"]
    (fetched,) = run_kb("--config", str(vault.config), "fetch", "install.mdx#L1-L21", "--json").lines
    assert fetched["places"][0]["text"] == BETWEEN.rstrip("\n")
