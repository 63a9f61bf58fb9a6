"""A word that stands in a note is found by it, and first: names with particles behind them, compounds, numbers."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import Vault, kb_in, make_vault
from fake_embedder import PRIMARY, FakeModels, fake_models

from kb.config import load
from kb.domain.search import SearchMode, SearchQuery, SearchResult
from kb.language.definitions import folded_name
from kb.language.korean import analyse
from kb.operations.opening.base import Base, open_base
from kb.operations.search.search import search

__all__ = ["fake_models"]

MODES: tuple[SearchMode, ...] = ("lexical", "hybrid")
DEVICES = (
    "E03은 점화 불량이다. GPT4로 요약했다. RTX4090이 비싸다. K8s를 배운다. S3에 올린다. IPv6만 된다.\n"
    "H100이 필요하다. 5G가 느리다. T맵으로 간다. 이슈#4521을 닫았다. 갤럭시S23을 샀다. IE11을 끈다.\n"
    "iPhone15에서 된다. 3D프린터는 비싸다. 주소는 10.0.7.20으로 바꿨다. load_rows를 부른다. docs/setup.md에 적었다.\n"
)
NAMES = "E03 GPT4 RTX4090 K8s S3 IPv6 H100 5G T맵 4521 S23 갤럭시S23 IE11 iPhone15 3D 3D프린터 10.0.7.20".split()
NOTES = {
    "장비.md": f"# 장비\n\n{DEVICES}",
    "mixed.md": (
        "# Tuesday\n\nSlept late and went to the market for bread and apples before the rain came, then worked on the "
        "report until the evening and called my sister (보일러 에러코드 Q17 또 뜸). 다음주 필터 교체함.\n"
    ),
    "ko.md": "# 오류\n\n에러가 나면 코드를 본다. 코드에 에러가 없으면 다음 날 다시 본다. 그 주에 필터를 교체한다.\n",
    "trip.md": "# 여행\n\n피치 MM002 인천. 숙소는 1,200원짜리 커피가 있는 곳이다.\n",
    "books.md": "# Reading\n\nfencing token against zombie lock holders.\n",
    "locks.md": "# Locks\n\nA token opens a lock. A fence keeps tokens out.\n",
    "tokens.md": "# Tokens\n\nToken by token, tokens.\n",
    "prices.md": "# Prices\n\nFlat white 3,500, and 200 for the cup.\n",
    "route.md": "# Router\n\nThe router is 192.168.0.20 today.\n",
    "router.md": "# Router\n\nThe router was 192.168.88.2, then 192 hosts, 168 of them on 0 and 20 on others.\n",
    **{f"cache/{at}.md": f"# Cache {at}\n\nA cache, cached by number {at}, is a cached cache.\n" for at in range(40)},
    "escrow.md": (
        "# 결제 안내\n\n## 에스크로란?\n\n은행이 구매자의 돈을 맡았다가 물건이 오면 판매자에게 보낸다.\n\n"
        "## 에스크로 결제 프로세스\n\n에스크로 결제는 에스크로 옵션, 에스크로 배송, 에스크로 결정의 순서이다.\n"
    ),
    "scope.md": (
        "# Scope\n\n## Description\n\nA scope groups related packages.\n\n## Scope and registries\n\n"
        "A scope is bound to a registry: scope by scope, what a scope is bound to is kept.\n"
    ),
    "lease.md": (
        f"# Lease\n\n## Description\n\nWho has a lease holds a lock for a time. {'It is then given back. ' * 15}\n"
        + "".join(f"\n## Lease {at}\n\nLease, lease and lease: {at} leases.\n" for at in range(14))
    ),
    "layers.md": "# Layers\n\nThere are several layers of storage, several caches and a disk behind all of them.\n",
    "src/boiler.py": "# E99은 점화 불량을 뜻한다.\nLIMIT = 3\n",
}  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return make_vault(tmp_path_factory.mktemp("look-up"), NOTES)


@pytest.fixture
def ask(made: Vault, fake_models: FakeModels) -> Iterator[Callable[..., SearchResult]]:
    """Asks the notes, which are indexed once, with vectors."""
    if not made.sqlite.exists():
        models = f'cache_dir = "cache"\n[models.embedding]\nmodel = "{PRIMARY}"\n'
        made.config.write_text(made.config.read_text(encoding="utf-8") + models, encoding="utf-8")
        assert kb_in(made)("ingest").code == 0
    with open_base(load(str(made.config))) as session:

        def asked(text: str, mode: SearchMode = "lexical", k: int = 10) -> SearchResult:
            return search(session, SearchQuery(text, mode, k))

        yield asked


def paths(result: SearchResult) -> list[str]:
    return [hit.doc_path for hit in result.hits]


@pytest.mark.parametrize("name", [*NAMES, "load_rows", "docs/setup.md", "E03은", "RTX4090이", "4521을"])
def test_letters_and_digits_with_a_particle_behind_them_are_found_by_words(
    name: str, ask: Callable[..., SearchResult]
) -> None:
    for mode in MODES:
        found = ask(name, mode)
        assert paths(found)[:1] == ["장비.md"]
        assert "no passage has" not in str(found.note)
    assert "장비.md" in paths(ask(f"오늘 {name} 때문에 무엇을 바꿨는지"))


def test_they_are_found_in_comments_of_code(ask: Callable[..., SearchResult]) -> None:
    assert paths(ask("E99")) == ["src/boiler.py"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("word", ["에러코드", "다음주", "교체함", "다음주에", "에러코드를"])
def test_a_korean_word_as_it_is_typed_is_first_in_a_note_labelled_english(
    word: str, mode: SearchMode, ask: Callable[..., SearchResult]
) -> None:
    assert paths(ask(word, mode))[:1] == ["mixed.md"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("MM002", "trip.md"),
        ("192.168.0.20", "route.md"),
        ("fencing token", "books.md"),
        ('"fencing token"', "books.md"),
        ("caches", "layers.md"),
    ],
)
def test_a_rare_word_that_stands_in_one_note_is_first(
    text: str, path: str, mode: SearchMode, ask: Callable[..., SearchResult]
) -> None:
    assert paths(ask(text, mode))[0] == path
    assert paths(ask(text, mode, k=1)) == [path]


@pytest.mark.parametrize(
    ("asked", "path"),
    [
        ("1200", "trip.md"),
        ("1,200", "trip.md"),
        ("1,200원", "trip.md"),
        ("1200원", "trip.md"),
        ("3500", "prices.md"),
        ("3,500", "prices.md"),
        ("200", "prices.md"),
    ],
)
def test_a_number_is_found_with_and_without_its_commas(asked: str, path: str, ask: Callable[..., SearchResult]) -> None:
    assert paths(ask(asked))[0] == path


@pytest.mark.parametrize("mode", MODES)
def test_passages_with_all_words_come_before_those_without(mode: SearchMode, ask: Callable[..., SearchResult]) -> None:
    found = paths(ask("disk cached", mode))
    assert found[0] == "layers.md", "the only one with both"
    hits = ask("cache", mode).hits
    held = [hit.doc_path.startswith("cache/") or hit.doc_path == "layers.md" for hit in hits]
    assert held == sorted(held, reverse=True)
    own = [holds for holds, hit in zip(held, hits, strict=True) if hit.retrieval.is_own]
    assert all(own), "as many as there are"
    assert len(own) >= 7


def test_where_no_passage_has_all_words_the_ranking_is_as_it_was(ask: Callable[..., SearchResult]) -> None:
    result = ask("zombie boiler", "hybrid")
    assert [hit.rank for hit in result.hits] == list(range(1, len(result.hits) + 1))
    ranked = [(hit.retrieval.lexical_score, hit.retrieval.vector_score) for hit in result.hits]
    assert ranked == [(each.lexical_score, each.vector_score) for each in result.candidates[:10]]


def test_scores_fall_with_the_rank_of_a_word_that_is_looked_up(ask: Callable[..., SearchResult]) -> None:
    for text in ("caches", "fencing token", "MM002"):
        scores = [hit.score for hit in ask(text, "hybrid").hits]
        assert scores == sorted(scores, reverse=True)


def test_names_are_what_no_morpheme_stands_for() -> None:
    (found,) = analyse(["RTX4090이 192.168.0.20으로 에러코드를 보냈다. 함수는 Redis를 쓴다. 교체함이다."])
    assert found.names == ("RTX4090", "192.168.0.20", "에러코드", "교체함")


def test_every_word_of_a_note_finds_it(vault: Vault) -> None:
    with open_base(load(str(vault.config))) as session:
        drawn = random.Random(3).sample(sorted(_words(vault.root)), 60)
        for path, word in drawn:
            hits = _documents(session, word)
            assert path in hits, f"{word!r} of {path}"


def _words(root: Path) -> set[tuple[str, str]]:
    """Words of bodies that one note has."""
    found: dict[str, set[str]] = {}
    for file in root.rglob("*.md"):
        if file.name == "hostile.md":
            continue
        text = file.read_bytes().decode("utf-8", "replace")
        body = text.split("\n---\n", 1)[-1]
        for word in re.findall(r"[가-힣]{2,}|[A-Za-z]{4,}", body):
            found.setdefault(word.lower(), set()).add(file.relative_to(root).as_posix())
    return {(next(iter(files)), word) for word, files in found.items() if len(files) == 1}


def _documents(session: Base, text: str) -> list[str]:
    return [hit.doc_path for hit in search(session, SearchQuery(text, "lexical", 10)).hits]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize(
    ("question", "path", "begins"),
    [
        ("에스크로가 뭐야?", "escrow.md", "## 에스크로란?"),
        ("에스크로란?", "escrow.md", "## 에스크로란?"),
        ("what is a scope", "scope.md", "## Description"),
        ("What does scope mean?", "scope.md", "## Description"),
    ],
)
def test_a_term_that_is_to_be_defined_finds_what_it_is_the_heading_of(
    ask: Callable[..., SearchResult], mode: SearchMode, k: int, question: str, path: str, begins: str
) -> None:
    hits = ask(question, mode, k).hits
    assert hits[0].doc_path == path
    assert begins in hits[0].text
    assert len(hits) <= k


def test_the_beginning_of_the_document_of_a_term_is_found_though_it_is_not_among_the_first_hits(
    ask: Callable[..., SearchResult],
) -> None:
    assert all("## Description" not in hit.text for hit in ask("lease").hits)
    found = ask("what is a lease", k=2)
    assert "## Description" in found.hits[0].text
    assert (len(found.hits), found.query.k) == (2, 2)


@pytest.mark.parametrize("mode", MODES)
def test_a_term_that_heads_nothing_gets_no_more_hits_than_were_asked_for(
    ask: Callable[..., SearchResult], mode: SearchMode
) -> None:
    found = ask("what is a cache", mode, 2)
    assert (len(found.hits), found.query.k) == (2, 2)


def test_a_name_with_signs_is_not_the_name_without_them() -> None:
    assert folded_name("The C++") == "c++"
    assert folded_name("C#") != folded_name("C")
    assert folded_name("“Staged publishing”") == "stagedpublishing"


@pytest.mark.parametrize("question", ["how is a scope bound", "에스크로 결제 순서", "what is the name of the scope"])
def test_what_asks_for_something_else_keeps_its_order(ask: Callable[..., SearchResult], question: str) -> None:
    assert "## Description" not in ask(question).hits[0].text
    assert "에스크로란?" not in ask(question).hits[0].text
