"""MDX and Svelte in Markdown: components, statements and logic are no text, anchors behind headings no part of them."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from conftest import run_kb
from hypothesis import given
from hypothesis import strategies as st
from vaults import indexed_vault

from kb.domain.documents import Document, Heading, Text
from kb.domain.ids import AssetId
from kb.domain.text import WorkspacePath
from kb.extract.markdown.document import extract_markdown
from kb.language.detect import detect_language
from kb.language.markup import masked, without_tags
from kb.store import queries

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


def test_components_and_statements_between_blocks_are_not_indexed(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {"install.mdx": BETWEEN})

    def finds(word: str) -> bool:
        return run_kb("--config", str(vault.config), "search", word, "--mode", "lexical").code == 0

    assert [word for word in ("quokka", "wombat", "zebra", "Tip", '"explain: wombat"') if finds(word)] == []
    kept = ("토크나이저", "서버", "Enter", "marmot", "narwhal", "gazelle", '"그 다음에 서버를"')
    assert [word for word in kept if not finds(word)] == []


def test_a_passage_around_a_component_is_quoted_as_it_stands_in_the_file(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {"install.mdx": BETWEEN})
    (found,) = run_kb("--config", str(vault.config), "search", "토크나이저 서버", "--json").lines
    (hit,) = found["hits"]
    assert hit["citation"]["uri"].endswith("#L1-L21")
    assert "내려받는다. … 작은" in hit["snippet"]
    (fetched,) = run_kb("--config", str(vault.config), "fetch", "install.mdx#L1-L21", "--json").lines
    assert fetched["places"][0]["text"] == BETWEEN.rstrip("\n")


def test_no_component_is_embedded(tmp_path: Path) -> None:
    vault = indexed_vault(tmp_path, {"install.mdx": BETWEEN})
    with closing(apsw.Connection(str(vault.sqlite))) as db:
        (chunk,) = queries.select_unembedded_chunks(
            db, model_id="m", model_version="1", dimensions=1, passage_version="p", after_rowid=0, row_limit=9
        )
    assert "서버를 켠다" in chunk.text
    assert "wombat" not in chunk.text
