"""A word is found in the other script, as the notes give it, and as its owner's lexicon says."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Ran, Vault, indexed_vault, kb_in
from ingest_fixtures import Workspace

from kb.config import load
from kb.domain.search import SearchQuery, SearchResult
from kb.language.hangul import sound_keys, transliterates
from kb.language.words import written_pairs
from kb.operations.opening.base import open_base
from kb.operations.search.search import search

NOTES = {
    "cluster.md": "# Cluster\n\nThe kubernetes scheduler places pods on machines.\n",
    "notes.md": "# 메모 앱\n\n에버노트 대신 다른 앱을 쓰고 도커를 배운다.\n",
    "image.md": "# Images\n\nEach docker image has layers; evernote is not one. Apple pie.\n",
    "pair.md": "# 낱말\n\n야금술(Metallurgy)은 오래되었다.\n",
    "live.md": "# Live\n\nThey live here.\n",
    "name.md": "# 이름\n\n배우 리브는 리브라고 불린다.\n",
    "ore.md": "# Ore\n\nThe metallurgy of iron.\n",
    "both.md": "# 설치\n\ndocker 설치: 도커 데몬을 켠다.\n",
    "leave.md": "# 휴가\n\n연차는 열다섯 날이다.\n",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("scripts") / "vault", NOTES)


def ask(notes: Vault, text: str, *settings: str) -> SearchResult:
    with open_base(load(str(notes.config), settings)) as session:
        return search(session, SearchQuery(text, "lexical", 10))


def found(result: SearchResult) -> list[str]:
    return sorted(hit.doc_path for hit in result.hits)


@pytest.mark.parametrize(
    ("text", "searched", "reason", "paths"),
    [
        ("쿠버네티스는", ("kubernetes",), "sound", ["cluster.md"]),
        ("도커", ("docker",), "sound", ["both.md", "image.md", "notes.md"]),
        ("Docker", ("도커",), "sound", ["both.md", "image.md", "notes.md"]),
        ("에버노트", ("evernote",), "sound", ["image.md", "notes.md"]),
        ("evernote", ("에버노트",), "sound", ["image.md", "notes.md"]),
        ("야금술", ("metallurgy",), "pair", ["ore.md", "pair.md"]),
        ("Metallurgy", ("야금술",), "pair", ["ore.md", "pair.md"]),
    ],
)
def test_a_word_is_found_in_both_scripts(
    text: str, searched: tuple[str, ...], reason: str, paths: list[str], notes: Vault
) -> None:
    result = ask(notes, text)
    assert found(result) == paths
    assert [(each.searched, each.reason) for each in result.substitutions] == [(searched, reason)]
    assert ask(notes, text, "search.both_scripts=false", "search.correct_typos=false").substitutions == ()


@pytest.mark.parametrize("text", ["앱을", "machines", '"docker"', "'docker'", "live", "리브"])
def test_what_only_sounds_alike_is_left_alone(text: str, notes: Vault) -> None:
    assert ask(notes, text).substitutions == ()


def test_the_note_says_what_was_searched_for_beside_a_word_that_no_document_has(notes: Vault) -> None:
    assert ask(notes, "쿠버네티스").note == '"쿠버네티스" 외에 "kubernetes" 검색'
    assert ask(notes, "도커").note is None


def test_a_word_that_only_the_other_script_has_is_encoded_and_weighed_as_that(notes: Vault) -> None:
    result = ask(notes, "쿠버네티스 설치")
    assert result.read_as == "kubernetes 설치"
    assert ask(notes, "도커 설치").read_as == "도커 설치"


def test_pairs_and_sounds_go_with_the_document(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write("a.md", "# A\n\n야금술(Metallurgy)\n")
    workspace.write("b.md", "# B\n\n다른 글\n")
    workspace.ingest()
    assert len(workspace.query("SELECT * FROM document_pairs")) == 1
    assert workspace.query("SELECT sound FROM word_sounds WHERE letters = 'metallurgy'") == [("MTLS",), ("MTLK",)][::-1]
    (workspace.root / "a.md").unlink()
    workspace.ingest()
    assert workspace.query("SELECT * FROM document_pairs") == []
    assert workspace.query("SELECT * FROM word_sounds WHERE letters = 'metallurgy'") == []


def test_what_stands_in_brackets_as_an_example_is_no_pair(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.write("a.md", "# A\n\n웹 서버(Uvicorn), 서버(Nginx), 야금술(Metallurgy)\n")
    workspace.ingest()
    with open_base(load(str(workspace.config_path))) as session:
        asked = search(session, SearchQuery("서버 야금술", "lexical", 10)).substitutions
    assert [(each.asked, each.searched) for each in asked] == [("야금술", ("metallurgy",))]


def test_a_word_that_is_rarer_in_the_other_script_is_left_out(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    for number in range(3):
        workspace.write(f"{number}.md", f"# {number}\n\n쿠버네티스를 배운다.\n")
    workspace.write("latin.md", "# L\n\nkubernetes\n")
    workspace.ingest()
    with open_base(load(str(workspace.config_path))) as session:
        both = [
            search(session, SearchQuery(text, "lexical", 10)).substitutions for text in ("쿠버네티스", "kubernetes")
        ]
    assert [[each.searched for each in found] for found in both] == [[], [("쿠버네티스",)]]


def test_which_pairs_are_learnt() -> None:
    text = "쿠버네티스(Kubernetes)와 Docker (도커), 표(2)와 f(x), 긴 설명(see the page)"
    assert written_pairs([text]) == [("ㄷㅗㅋㅓ", "docker"), ("ㅋㅜㅂㅓㄴㅔㅌㅣㅅㅡ", "kubernetes")]


SAME = (
    "쿠버네티스=kubernetes 에버노트=evernote 도커=docker 파이썬=python 리액트=react 서버=server "
    "레디스=redis 클래스=class 메시지=message 구글=google 아키텍처=architecture 캐시=cache "
    "스레드=thread 노드=node 자바스크립트=javascript 컨테이너=container 네트워크=network 마이그레이션=migration "
    "토큰=token 세션=session 링크=link 젠킨스=jenkins 카프카=kafka 노션=notion "
    "유니코드=unicode 우분투=ubuntu 소프트웨어=software 디자인=design 페이지=page 파일=file "
)
OTHERS = (
    "다시=those 단계=danger 소개=swagger 파일=fail 파일=fill 코드=card 서버=save 데이터=date 포트=path 크로스=close "
    "처리=cherry 매번=maven 이번=even 마다=modo 자매=same 로드=read 세트=that 모두=mode"
)


@pytest.mark.parametrize("pair", SAME.split())
def test_loanwords_are_told_by_their_sound(pair: str) -> None:
    hangul, latin = pair.split("=")
    assert set(sound_keys(hangul)) & set(sound_keys(latin))
    assert transliterates(hangul, latin) is not None


@pytest.mark.parametrize("pair", OTHERS.split())
def test_words_with_the_same_consonants_are_not_taken_for_each_other(pair: str) -> None:
    assert transliterates(*pair.split("=")) is None


# --- the owner's lexicon --------------------------------------------------------------------------------------------


def lexicon(notes: Vault, text: str) -> None:
    notes.config.with_name("lexicon.toml").write_text(text, encoding="utf-8")


def asked(notes: Vault, text: str) -> Ran:
    return kb_in(notes)("search", text, "--json")


def test_synonyms_of_the_lexicon_are_found_both_ways_from_the_next_question_on(notes: Vault) -> None:
    with open_base(load(str(notes.config))) as session:

        def paths(text: str) -> list[str]:
            return found(search(session, SearchQuery(text, "lexical", 10)))

        assert paths("k8s") == []
        lexicon(notes, 'synonyms = [["k8s", "kubernetes"], ["연차", "annual leave"]]\n')
        assert paths("k8s") == ["cluster.md"]
        assert paths("annual leave") == ["leave.md"]
        assert paths("annual report") == []
        lexicon(notes, 'synonyms = [["kates", "kubernetes"]]\n')
        assert paths("k8s") == []
        assert paths("kates") == ["cluster.md"]
    assert asked(notes, "kates").json["substitutions"] == [
        {"asked": "kates", "searched": ["kubernetes"], "reason": "lexicon"}
    ]
    lexicon(notes, "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("synonyms = 3", "not a list of groups"),
        ('synonyms = ["a", "b"]', "group 1 is not a list of words"),
        ('synonyms = [["a"]]', "group 1 has fewer than two"),
        ('synonyms = [["a", "b"], ["a", "!"]]', "group 2: '!' is no word"),
        ('other = [["a", "b"]]', "unknown key 'other'"),
        ("synonyms = [[", "lexicon.toml"),
    ],
)
def test_a_lexicon_that_is_none_is_an_error_that_says_where(text: str, said: str, notes: Vault) -> None:
    lexicon(notes, text)
    ran = asked(notes, "docker")
    lexicon(notes, "")
    assert ran.code == 2
    assert said in ran.stderr


def test_a_lexicon_that_was_named_must_be_there(notes: Vault) -> None:
    ran = kb_in(notes)("--set", "search.lexicon=none.toml", "search", "docker")
    assert ran.code == 2
    assert "none.toml" in ran.stderr
