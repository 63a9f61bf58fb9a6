"""What is shown as a quotation stands in its source; snippets are around the matches, never too long.

White space is folded, and a source's own `[1]` is in wide brackets where it would read as a place of the answer.
KB_DATA adds the notes found there.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest
from answer_passages import passage
from conftest import make_vault, run_kb
from hypothesis import given
from hypothesis import strategies as st

from kb.answer.pieces import Excerpt
from kb.answer.quoting import show_excerpt
from kb.chunk.chunkers import cut_document
from kb.domain.documents import ChunkPolicy
from kb.domain.ids import AssetId
from kb.domain.kinds import kind_of, media_type_of
from kb.domain.search import Passage, Sentence
from kb.domain.text import WorkspacePath, stored_text
from kb.extract.registry import EXTRACTORS
from kb.language.sentences import sentences
from kb.retrieve.snippet import below_headings, find_matches, make_snippet, whole_words

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = os.environ.get("KB_DATA")
FOLDERS = [CHECKOUT / "fixtures", *([Path(DATA) / "notes-ko"] if DATA else [])]

ODD = """\
# Pumps

Buy it at [the shop](https://shop.example.org/a_(b)), see [[People/Ann Lee|Ann]] and `matrix[[1]]`, or matrix[[1]] [1].

> **Note** that it <b>leaks</b>,
> twice.\\
> So it is.

| size | price |
| ---- | ----: |
| small | 10 |
| large \\| wide | 90 |

<Card
  title="no text"
/>

- [ ] oil it
- clean it <!-- not said --> well

```r
DF[order(DF$a, DF[["b"]]), ]
```
"""


def folded(text: str) -> str:
    return " ".join(stored_text(text).translate({0xFF3B: "[", 0xFF3D: "]"}).split())


def stands_in(shown: str, source: str) -> bool:
    """Whether what is between the ellipses stands in a source, in this order."""
    source, at = folded(source), 0
    for part in folded(shown).split("…"):
        found = source.find(part.strip(), at)
        if found < 0:
            return False
        at = found + len(part.strip())
    return True


def passages() -> Iterator[Passage]:
    """The passages of the notes of this checkout, of those in KB_DATA, and of an odd one."""
    texts = [("odd.md", ODD.encode())]
    for folder in FOLDERS:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        texts += [(path.name, path.read_bytes()) for path in files if media_type_of(path.name) == "markdown"]
    for name, data in texts:
        kind = kind_of(media_type_of(name) or "markdown")
        document = EXTRACTORS[kind.extractor].document(
            data, {}, workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32)
        )
        for chunk in cut_document(document, kind.family, ChunkPolicy(200, 0, True, "md-heading-v1")):
            yield passage(1, chunk.text, headings=list(chunk.heading_path))


def test_snippets_and_answers_stand_in_their_source() -> None:
    count = 0
    for each in passages():
        count += 1
        words = re.findall(r"\w{3,}", each.text)[3::7][:3]
        for chars in (80, 220, 2000):
            snippet = make_snippet(below_headings(each.text, each.heading_path), words, chars).text
            assert stands_in(snippet, each.text), snippet
        found = sentences(each)
        for sentence in (*found[:4], Sentence(1, 0, len(each.text), each.text)):
            excerpt = Excerpt(each, (sentence,), ((sentence.start, sentence.end),), sentence, 1.0)
            shown = show_excerpt(excerpt, 1, {1})
            assert stands_in(without_frame(shown, sentence.text), each.text), shown
    assert count > 20


def without_frame(shown: str, source: str) -> str:
    """An answer of one piece without its marker and the fences that kb put around code that begins or ends in it."""
    lines = shown.removesuffix("[1]").rstrip().split("\n")
    if lines[0] in ("```", "~~~") and not source.startswith(lines[0]):
        del lines[0]
    while lines[-1].strip(" >") in ("```", "~~~") and "\n".join(lines).count(lines[-1]) > source.count(lines[-1]):
        lines.pop()
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where to buy it?", "Buy it at [the shop](https://shop.example.org/a_(b)), see [[People/Ann Lee|Ann]]"),
        ("Is it DF order?", 'DF[order(DF$a, DF[["b"]]), ]'),
        ("price of large pumps", "| large \\| wide | 90 |"),
    ],
)
def test_links_brackets_and_code_lose_no_character(tmp_path: Path, question: str, said: str) -> None:
    vault = make_vault(tmp_path, {"odd.md": ODD})
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed").code == 0
    (found,) = run_kb(*config, "--set", "search.snippet_chars=2000", "search", question, "--json").lines
    assert any(said in hit["snippet"] for hit in found["hits"])
    assert folded(said) in folded(run_kb(*config, "--set", "search.snippet_chars=2000", "search", question).stdout)
    answer = run_kb(*config, "ask", question, "--json").json
    assert said in answer["answer"] + "".join(filter(None, (each["quote"] for each in answer["citations"])))
    assert [claim for claim in answer["claims"] if claim["quote"] not in ODD] == []
    assert said in run_kb(*config, "fetch", "odd.md").stdout


words = st.text(st.sampled_from("aeiou bcd. \n\t가나다라마 é"), max_size=400)
unmarked = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0`~|*[>+-\\"), max_size=200)
terms = st.lists(st.text(st.sampled_from("aeiobcd가나다라.*(["), min_size=1, max_size=5), max_size=4)


@given(words | unmarked, terms, st.integers(3, 300))
def test_a_snippet_keeps_its_promises(text: str, asked: list[str], snippet_chars: int) -> None:
    flat = " ".join(unicodedata.normalize("NFC", text).split())
    snippet = make_snippet(text, asked, snippet_chars)
    assert len(snippet.text) <= snippet_chars
    assert snippet.full_text == (len(flat) <= snippet_chars)
    assert bool(snippet.text) == bool(flat)
    assert snippet.text.removeprefix("…").removesuffix("…") in flat
    ends = [0]
    for start, end in snippet.matches:
        assert ends[-1] <= start < end <= len(snippet.text)
        ends.append(end)
    for start, end in snippet.matches:
        assert any(snippet.text[start:end].lower().startswith(term[:3].lower()) for term in asked)


@pytest.mark.parametrize("snippet_chars", [20, 25, 40, 220])
@pytest.mark.parametrize("place", [0, 3, 50, 399, 400])
def test_the_match_is_in_the_window(place: int, snippet_chars: int) -> None:
    before, after = " ".join(["filler"] * place), " ".join(["filler"] * (400 - place))
    snippet = make_snippet(f"{before} zebra {after}", ["zebra"], snippet_chars)
    ((start, end),) = snippet.matches
    assert snippet.text[start:end] == "zebra"
    assert len(snippet.text) > snippet_chars // 2
    if place in (0, 50, 400):
        assert (snippet.text[0] == "…", snippet.text[-1] == "…") == (place > 0, place < 400)


LINKS = "see [the guide](https://example.org/a_(b)) and [[notes/plan|the plan]]"


def test_the_window_holds_most_of_the_different_words() -> None:
    text = "alpha " + "filler " * 100 + "alpha beta gamma " + "filler " * 100 + "alpha alpha alpha"
    snippet = make_snippet(text, ["alpha", "beta", "gamma"], 60)
    assert [snippet.text[start:end] for start, end in snippet.matches] == ["alpha", "beta", "gamma"]


def test_windows_begin_and_end_at_words() -> None:
    snippet = make_snippet("filler " * 50 + "zebra " + "filler " * 50, ["zebra"], 60)
    assert set(snippet.text.strip("…").split()) == {"filler", "zebra"}


@pytest.mark.parametrize(
    ("text", "term", "found"),
    [
        ("retries and retry", "retry", ["retries", "retry"]),
        ("Chunking the chunks", "chunk", ["Chunking", "chunks"]),
        ("a cat concatenates", "cat", ["cat"]),
        ("배터리가 네 시간을", "배터리", ["배터리"]),
        ("귤 상자", "귤", ["귤"]),
        ("C3 and C30", "C3", ["C3"]),
        ("a . b", ".", ["."]),
        ("naïve résumé", "résumé", ["résumé"]),
        ("nothing here", "zebra", []),
    ],
)
def test_what_counts_as_a_match(text: str, term: str, found: list[str]) -> None:
    assert [text[start:end] for start, end in find_matches(text, [term])] == found


@pytest.mark.parametrize(
    ("text", "terms", "marked"),
    [
        ("서하나가 하나를 하나 샀다", ["하나"], ["하나", "하나"]),
        ("당번은 이번 주 3번, 번호는 두 번만", ["번"], ["번", "번", "번"]),
        ("먹었다, 되먹다, 배", ["먹", "배"], ["먹", "배"]),
        ("주간회의와 회의록, 긴회의", ["회의"], ["회의", "회의"]),
        ("리튬배터리, 새배터리", ["배터리"], ["배터리", "배터리"]),
        ("재시도를 시도한다, 첫시도", ["재", "시도"], ["재", "시도", "시도"]),
        ("répété en été", ["été"], ["été"]),
        ("회의中에 議", ["中", "議"], ["中", "議"]),
    ],
)
def test_a_mark_is_a_word_and_not_a_part_of_another(text: str, terms: list[str], marked: list[str]) -> None:
    assert [text[start:end] for start, end in whole_words(text, find_matches(text, terms))] == marked


def test_what_is_no_word_moves_the_window_and_has_no_mark() -> None:
    snippet = make_snippet("앞말 " * 50 + "당번이다 " + "뒷말 " * 50, ["번"], 40)
    assert "당번" in snippet.text
    assert snippet.matches == ()


def test_decomposed_text_is_matched_and_shown_composed() -> None:
    snippet = make_snippet(unicodedata.normalize("NFD", "환기창은 열린다"), ["환기"], 100)
    assert snippet.text == "환기창은 열린다"
    assert snippet.matches == ((0, 2),)


def test_no_terms_no_matches() -> None:
    assert make_snippet("some text", [], 100) == ("some text", True, ())
    assert make_snippet("", ["x"], 100) == ("", True, ())


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("# A\n\n## B\n\nbody", "body"),
        ("#tag and text", "#tag and text"),
        ("# only a heading", "# only a heading"),
        ("plain", "plain"),
    ],
)
def test_the_headings_above_a_passage_are_not_repeated(text: str, rest: str) -> None:
    assert below_headings(text) == rest


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("- one\n- two\n  * three", "- one - two * three"),
        (
            "| name | price |\n| --- | ---: |\n| tea | 3 |\n| a \\| b | 4 |",
            "| name | price | … | tea | 3 | | a \\| b | 4 |",
        ),
        (LINKS, LINKS),
        (f"see [it](https://{'a' * 60}/b_(c)) now", "see [it](…) now"),
        ('x <- matrix[[1]]; DF[["b"]]', 'x <- matrix[[1]]; DF[["b"]]'),
        ("> quoted\n> > twice\nand **bold**", "> quoted > > twice and **bold**"),
        ("```sh\n- a | b **c**\n```\n- item", "```sh\n- a | b **c**\n```\n- item"),
        ("broken\\\nhere, not \\ there", "broken\\ here, not \\ there"),
        ("5 - 3 is 2, a | b", "5 - 3 is 2, a | b"),
        (
            "import a from 'b'\n\n<Tip>\nMind <b>the</b> gap.\n</Tip>\n<Card\n  a={1}\n/>\n\nSo.",
            "Mind <b>the</b> gap. … So.",
        ),
    ],
)
def test_a_snippet_is_the_text_as_it_stands_or_marks_what_is_left_out(text: str, shown: str) -> None:
    snippet = make_snippet(text, [], 500)
    assert snippet.text == shown
    assert snippet.full_text == ("…" not in shown)


@given(st.text("-*+|> [](a`~\n\\", max_size=60), st.integers(3, 80))
def test_marks_alone_are_shown_too(text: str, snippet_chars: int) -> None:
    snippet = make_snippet(text, ["a"], snippet_chars)
    assert len(snippet.text) <= snippet_chars
    assert bool(snippet.text) == bool(text.strip())
