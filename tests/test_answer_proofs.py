"""A sure answer holds what its kind of question asks for: a definition, a number, both sides of a comparison, steps."""

from __future__ import annotations

import pytest
from answer_passages import passage

from kb.answer.pieces import Excerpt
from kb.answer.proofs import lacking
from kb.domain.search import Sentence


def lack(question: str, text: str, *headings: str, before: str = "", is_own: bool = True) -> str | None:
    """What a text lacks as the only piece of its passage, which `before` begins."""
    piece = Sentence(1, len(before), len(before) + len(text), text)
    excerpt = Excerpt(passage(1, before + text, headings=headings), (piece,), ((piece.start, piece.end),), piece, 1.0)
    return lacking(question, excerpt, is_own)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what is a deadlock?", "A *deadlock* is a state in which two processes wait for each other."),
        ("What are workspaces", "Workspaces: several packages in one folder."),
        ("what is staged publishing", "Staged publishing allows maintainers to approve a release."),
        ("what does MTU mean", "The largest frame that passes is called the MTU."),
        ("멱등성이 뭐야?", "**멱등성**(idempotency)은 여러 번 해도 결과가 같은 성질이다."),
        ("해시 충돌이란?", "두 키가 같은 칸에 놓이는 것을 해시 충돌이라고 한다."),
        ("포쇄의 뜻", "책을 꺼내 볕에 말렸다(포쇄)."),
    ],
)
def test_a_definition_says_what_the_term_is(question: str, text: str) -> None:
    assert lack(question, text) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("what is a deadlock?", "Both transactions were rolled back after the deadlock."),
        ("what are workspaces", "Run the tests of all configured workspaces with one flag."),
        ("멱등성이 뭐야?", "HTTP 메서드에도 멱등성이 존재함."),
    ],
)
def test_a_sentence_that_only_uses_a_term_does_not_define_it(question: str, text: str) -> None:
    assert lack(question, text) == "definition"
    assert lack(question, text, is_own=False) is None


def test_the_beginning_of_the_section_of_a_term_defines_it_and_so_does_another_name_in_its_heading() -> None:
    text = "Two processes wait for each other."
    assert lack("what is a deadlock", text, "Locks", "Deadlock") is None
    assert lack("what is a deadlock", text, "Locks") == "definition"
    assert lack("what is a deadlock", text, "Locks", "Deadlock", before="It is rare. ") == "definition"
    named = "**Cost Function**이란 오차를 계산하는 함수이다."
    assert lack("비용 함수란?", named, "비용 함수 (Cost Function)", before="먼저 본다. ") is None


def test_a_code_is_defined_by_its_row_below_a_heading_with_the_other_words() -> None:
    row = "| 409 | the invoice is sealed |"
    assert lack("what does error 409 mean", row, "API", "Errors") is None
    assert lack("what does error 409 mean", row, "API", "Invoices") == "definition"
    assert lack("what does error 410 mean", row, "API", "Errors") == "definition"


@pytest.mark.parametrize(
    "question",
    ["what is the default port", "배포 서버 이름이 뭐야?", "트랜잭션 전파의 기본값은 무엇인가", "what is for dinner"],
)
def test_who_asks_for_a_name_or_a_value_wants_no_definition(question: str) -> None:
    assert lack(question, "It was changed in spring.") is None


@pytest.mark.parametrize(
    ("question", "without", "within"),
    [
        ("how many seats are there", "There are seats for everyone.", "There are twelve seats."),
        ("좌석이 몇 개야", "좌석은 넉넉하다.", "좌석은 12개다."),
        ("배터리가 얼마나 버티나", "배터리가 오래 버틴다.", "배터리가 네 시간을 버틴다."),
        ("difference between TCP and UDP", "TCP keeps the order.", "TCP keeps the order, UDP does not."),
        ("멜론과 참외의 차이", "멜론은 향이 짙다.", "멜론은 향이 짙고 참외는 아삭하다."),
    ],
)
def test_a_number_and_both_sides_of_a_comparison_are_in_the_pieces(question: str, without: str, within: str) -> None:
    assert lack(question, without) in {"number", "comparison"}
    assert lack(question, within) is None


def test_a_definition_is_no_way_to_do_it() -> None:
    defined = "싱글턴 패턴이란 인스턴스를 하나만 쓰기 위한 패턴이다."
    assert lack("싱글턴 패턴은 어떻게 구현해?", defined) == "steps"
    assert lack("싱글턴 패턴은 언제 써?", defined) is None
    assert lack("싱글턴 패턴은 어떻게 구현해?", f"{defined} 생성자를 private으로 두세요.") is None
    assert lack("how do I use a singleton", "A singleton is a class with one instance.") == "steps"


@pytest.mark.parametrize("text", ["빌더 패턴을 언제 쓰는지 알아본다.", "In this chapter we will look at the builder."])
def test_a_sentence_that_announces_answers_nothing(text: str) -> None:
    assert lack("when is the builder used", text) == "announced"
    assert lack("when is the builder used", f"{text} It is used where many parts are optional.") is None


ATTRIBUTES = "1. 전파 유형\n2. 트랜잭션의 격리 수준\n3. 시간 제한\n4. 롤백 규칙"


def test_an_item_of_a_list_is_not_the_list_of_its_kinds() -> None:
    assert lack("트랜잭션 격리 수준 종류", ATTRIBUTES) == "kinds"
    assert lack("트랜잭션 격리 수준 종류", ATTRIBUTES, "트랜잭션 격리 수준") is None
    assert lack("트랜잭션 격리 수준 종류", f"트랜잭션의 격리 수준:\n{ATTRIBUTES}") is None
    assert lack("트랜잭션 격리 수준", ATTRIBUTES) is None
    assert lack("롤백 종류", "- 부분 롤백\n- 전체 롤백\n- 자동 롤백") is None
    tools = "- saws\n- files\n- planes of wood"
    assert lack("types of planes", tools) == "kinds"
    assert lack("types of planes", tools, "Planes") is None
