"""The operators that people type: what they are read as, and that no hit lacks what they ask for, in every mode."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import cpu_limited, indexed_vault
from fake_embedder import FakeModels, models
from hypothesis import given
from hypothesis import strategies as st
from vaults import EMBEDDING

from kb.config import load
from kb.domain.filters import SearchFilters, Sought
from kb.domain.run_handle import RunHandle
from kb.domain.search import SearchMode, SearchQuery
from kb.errors import UsageError
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search
from kb.retrieve.operators import with_operators

__all__ = ["models"]

MODES: tuple[SearchMode, ...] = ("lexical", "hybrid", "vector")

# --- what is an operator ----------------------------------------------------------------------------------------------


def read(text: str) -> SearchQuery:
    return with_operators(SearchQuery(text, "lexical", 10))


@pytest.mark.parametrize(
    "text",
    [
        "C++ vs C",
        "-19 degrees",
        "-n 5",
        "a-b a - b --all",
        "http://example.org/a-b/",
        "12:30 회의",
        "/usr/bin/ python",
        "s/foo/bar/",
        "// comment",
        '27" monitor and 24" stand',
        'say "hi',
        '"" " "',
        "**bold** a*b * SELECT *",
        "xyz:abc",
        "Title: a page",
        "tag: x",
        'print("hello")',
        'File "/src/a.py", line 12, in send',
        "'raw -x \"y\"'",
        "“curly quotes” are typeset",
    ],
)
def test_what_only_looks_like_an_operator_is_text(text: str) -> None:
    assert read(text) == SearchQuery(text, "lexical", 10)


@pytest.mark.parametrize(
    ("text", "rest", "filters"),
    [
        ('"fencing token" retry', '"fencing token" retry', SearchFilters(holds=(Sought("fencing token"),))),
        ('what is "the  end"?', 'what is "the end"?', SearchFilters(holds=(Sought("the end"),))),
        ('who said "others?"', 'who said "others?"', SearchFilters(holds=(Sought("others"),))),
        ('"서리"를 심다', '"서리"를 심다', SearchFilters(holds=(Sought("서리"),))),
        ("gateway -redis", "gateway", SearchFilters(lacks=(Sought("redis"),))),
        ("-redis, gateway -redis", "gateway", SearchFilters(lacks=(Sought("redis"),))),
        ('-"two words" gateway', "gateway", SearchFilters(lacks=(Sought("two words"),))),
        ("에러코* E03", "에러코* E03", SearchFilters(holds=(Sought("에러코", "prefix"),))),
        ("-chunk* size", "size", SearchFilters(lacks=(Sought("chunk", "prefix"),))),
        (r"/E\d+/ boiler", "boiler", SearchFilters(holds=(Sought(r"E\d+", "regex"),))),
        (r"/a b\/c/i", "", SearchFilters(holds=(Sought(r"(?i)a b\/c", "regex"),))),
        ("tag:#home/boiler x", "x", SearchFilters(also=(SearchFilters(tags_any=("#home/boiler",)),))),
        ("TAG:a tag:b x", "x", SearchFilters(also=(SearchFilters(tags_any=("a",)), SearchFilters(tags_any=("b",))))),
        ("path:notes/** x", "x", SearchFilters(also=(SearchFilters(path_globs=("notes/**",)),))),
        ("lang:ko 양재천", "양재천", SearchFilters(also=(SearchFilters(lang="ko"),))),
        ('title:"Gateway log" x', "x", SearchFilters(also=(SearchFilters(title="Gateway log"),))),
        ("-tag:old x", "x", SearchFilters(never=(SearchFilters(tags_any=("old",)),))),
    ],
)
def test_what_an_operator_is_read_as(text: str, rest: str, filters: SearchFilters) -> None:
    assert read(text) == SearchQuery(rest, "lexical", 10, filters)
    assert with_operators(read(text)) == read(text), "what stays in the question is read the same way again"


def test_operators_narrow_what_filters_leave_and_never_widen_it() -> None:
    given_filters = SearchFilters(tags_any=("a",))
    asked = with_operators(SearchQuery("tag:b x", "lexical", 10, given_filters))
    assert asked.filters == given_filters._replace(also=(SearchFilters(tags_any=("b",)),))


def test_a_text_that_is_no_typed_question_has_no_operators() -> None:
    asked = with_operators(SearchQuery('"a" -bb', "lexical", 10, SearchFilters(as_text=True)))
    assert asked == SearchQuery('"a" -bb', "lexical", 10)


# --- what they find ---------------------------------------------------------------------------------------------------

WORDS = (
    "fencing token E03 RTX4090 RTX4090이 에러코드 에러 코드 보일러를 Retry retries redis-sentinel redis Café naïve "
    "1,200 foo_bar **bold** [shop](https://a.example/redis) the 3월 회의 Ünïcode STRAẞE"
).split()


class Passage(NamedTuple):
    """A passage as it is stored."""

    chunk_id: str
    path: str
    text: str
    above: tuple[str, ...]


class Corpus(NamedTuple):
    """Generated notes and code, indexed with vectors."""

    session: Base
    passages: dict[str, Passage]


def generated(seed: int) -> dict[str, str]:
    dice = random.Random(seed)

    def words(most: int) -> str:
        return "".join(
            each + dice.choice([" ", " ", "\n", ", "]) for each in dice.choices(WORDS, k=dice.randint(1, most))
        )

    def line(most: int) -> str:
        return " ".join(words(most).split())

    notes = {f"notes/{n}.md": f"# {line(3)}\n\n{words(12)}\n\n## {line(1)}\n\n{words(8)}\n" for n in range(40)}
    code = {f"src/{n}.py": f"# {line(4)}\ndef f{n}():\n    return 1\n" for n in range(8)}
    return notes | code


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory, models: FakeModels) -> Iterator[Corpus]:
    vault = indexed_vault(tmp_path_factory.mktemp("generated"), generated(7), settings=EMBEDDING, embed=True)
    with open_base(load(str(vault.config))) as session:
        with session.reading() as base:
            columns = "chunk_id, workspace_path, text, title, heading_path_json"
            rows = base.db.execute(f"SELECT {columns} FROM chunks JOIN documents USING (doc_id)").fetchall()
        yield Corpus(session, {row[0]: Passage(*row[:3], (row[3], *json.loads(row[4]))) for row in rows})


def is_word_char(char: str) -> bool:
    spaceless = unicodedata.name(char, "").startswith(("HANGUL", "CJK", "HIRAGANA", "KATAKANA"))
    return (char.isalnum() or char == "_") and not spaceless


def folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).lower().split())


def holds(passage: Passage, phrase: str, *, begins: bool = False) -> bool:
    """The rule once more, by hand."""
    sought = folded(phrase)
    for text in map(folded, (passage.text, *passage.above)):
        at = text.find(sought)
        while at >= 0:
            before, after = text[:at][-1:], text[at + len(sought) :][:1]
            starts = not (is_word_char(sought[0]) and before and is_word_char(before))
            ends = begins or not (is_word_char(sought[-1]) and after and is_word_char(after))
            if starts and ends:
                return True
            at = text.find(sought, at + 1)
    return False


ALL_PASSAGES = tuple(text for text in generated(7).values())


@st.composite
def phrases(draw: st.DrawFn) -> str:
    """Words as they stand behind each other in some text, or words that may stand nowhere, in whatever case."""
    words = draw(st.sampled_from(ALL_PASSAGES)).replace('"', "").split()
    first = draw(st.integers(0, len(words) - 1))
    taken = words[first : first + draw(st.integers(1, 3))]
    found = " ".join(draw(st.sampled_from([taken, draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=2))])))
    found = draw(st.sampled_from([found, found.upper(), unicodedata.normalize("NFD", found)])).strip(" .,;:?!")
    return found or "redis"


@pytest.mark.parametrize("mode", MODES)
@given(
    phrase=phrases(),
    excluded=st.sampled_from(["redis", "에러", "Café", "retr*", "token", "the"]),
    words=st.sampled_from(["", "retry", "보일러"]),
)
def test_hits_are_all_that_hold_the_phrase_and_lack_the_word(
    mode: SearchMode, phrase: str, excluded: str, words: str, corpus: Corpus
) -> None:
    asked = SearchQuery(f'{words} "{phrase}" -{excluded}', mode, 500)
    found = search(corpus.session, asked)
    stem = excluded.rstrip("*")
    wanted = {
        each.chunk_id
        for each in corpus.passages.values()
        if holds(each, phrase) and not holds(each, stem, begins=excluded != stem)
    }
    if mode == "vector":  # which looks at notes alone
        wanted = {each for each in wanted if corpus.passages[each].path.startswith("notes/")}
    assert {hit.chunk_id for hit in found.hits} == wanted
    assert found.query.text == asked.text
    assert found.note, "what is left out is told"


@pytest.mark.parametrize("mode", MODES)
@given(phrase=phrases(), excluded=st.sampled_from(["redis", "에러", "the"]))
def test_an_answer_cites_no_passage_that_an_operator_leaves_out(
    mode: SearchMode, phrase: str, excluded: str, corpus: Corpus
) -> None:
    question = f'What is the token -{excluded} "{phrase}"? And how does the fencing retry?'
    request = AskRequest(question, mode, 5, keep=False, depth=3)
    answer = ask(corpus.session, request, RunHandle())
    for cited in answer.citations:
        assert holds(corpus.passages[cited.chunk_id], phrase)
        assert not holds(corpus.passages[cited.chunk_id], excluded)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("pattern", [r"E\d\d", "^##", r"(?i)CAF.", r"RTX\d{4}이", "token[\\s,]+E03", "[가-힣]+코드$"])
def test_a_regular_expression_finds_the_passages_that_it_matches(
    mode: SearchMode, pattern: str, corpus: Corpus
) -> None:
    found = {hit.chunk_id for hit in search(corpus.session, SearchQuery(f"/{pattern}/", mode, 500)).hits}
    matching = re.compile(pattern, re.MULTILINE)
    wanted = [each for each in corpus.passages.values() if matching.search(each.text)]
    if mode == "vector":
        wanted = [each for each in wanted if each.path.startswith("notes/")]
    assert found == {each.chunk_id for each in wanted}


@pytest.mark.parametrize(
    "pattern", [r"(a)\1", "a(?=b)", "(", "x" * 201, "(.{1,100}){10}q", r"[\w-]{900}", "(?P<n>a)(?P=n)"]
)
def test_a_regular_expression_that_could_take_long_is_refused(pattern: str, corpus: Corpus) -> None:
    with pytest.raises(UsageError, match="no regular expression that kb can search by"):
        search(corpus.session, SearchQuery(f"/{pattern}/", "lexical", 10))


def test_a_regular_expression_takes_time_that_grows_with_the_text_alone(tmp_path: Path) -> None:
    files = {f"{n}.md": f"# Many\n\n{'a' * 20_000}\n" for n in range(20)}
    vault = indexed_vault(tmp_path, files)
    program = [sys.executable, "-m", "kb", "--config", str(vault.config), "search", "/(a+)+(a+)+(a|aa)+$b/"]
    done = subprocess.run(cpu_limited(program, 20), capture_output=True, text=True, check=False)
    assert (done.returncode, "no hits" in done.stdout) == (1, True)


def test_a_regular_expression_is_stopped_at_its_budget_and_says_how_to_go_on(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kb.retrieve.passages.MOST_REGEX_SECONDS", 0.0)
    with pytest.raises(UsageError, match="was stopped: it took more than") as stopped:
        search(corpus.session, SearchQuery("/token/", "lexical", 10))
    assert "path:" in str(stopped.value.hint)


def test_filters_alone_list_what_passes_in_the_order_of_the_files(corpus: Corpus) -> None:
    for mode in MODES:
        hits = search(corpus.session, SearchQuery("path:notes/1*.md -redis", mode, 500)).hits
        wanted = [each.path for each in corpus.passages.values() if each.path.startswith("notes/1")]
        found = [hit.doc_path for hit in hits]
        assert found == sorted(found)
        assert found
        assert set(found) <= set(wanted)


def test_a_word_in_the_question_is_ranked_among_what_holds_its_beginning(corpus: Corpus) -> None:
    hits = search(corpus.session, SearchQuery("retr*", "lexical", 500)).hits
    assert {corpus.passages[hit.chunk_id].chunk_id for hit in hits} == {
        each.chunk_id for each in corpus.passages.values() if holds(each, "retr", begins=True)
    }
    assert hits[0].score > 0
    assert "retr" in hits[0].snippet.lower()
