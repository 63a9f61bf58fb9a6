"""Questions about source code are answered with its definitions and statements, whole; those about notes as before."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Vault, indexed_vault, kb_in
from ollama_fixtures import playing

from kb.answer.code import statement_at

CODE = Path(__file__).parents[1] / "fixtures/code"
NOTES = {
    "upload.md": "# Uploads\n\nAn upload that fails is retried five times before anybody is told.\n",
    "lunch.md": "# Lunch\n\nThe canteen is closed on Mondays.\n",
}


def files() -> dict[str, str]:
    return {path.relative_to(CODE).as_posix(): path.read_text("utf-8") for path in CODE.rglob("*.*")}


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("code"), files())


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("both"), {**NOTES, **files()})


def asked(vault: Vault, question: str) -> dict[str, object]:
    answer: dict[str, object] = kb_in(vault)("ask", "--provider", "extractive", "--json", question).json
    return answer


def uris(answer: dict[str, object]) -> list[str]:
    return [each["citation"]["uri"] for each in answer["citations"]]  # type: ignore[index,attr-defined]


@pytest.mark.parametrize(
    ("question", "uri"),
    [
        ("Where is waiting_batches defined?", "gateway/upload.py#L41-L43"),
        ("what retries the upload", "gateway/upload.py#L30-L38"),
        ("chargeOf를 어디서 부르나", "web/gauge.ts#L14"),
        ("who calls send_with_pauses?", "gateway/upload.py#L24"),
        ('File "/srv/gateway/upload.py", line 35, in send_with_pauses', "gateway/upload.py#L30-L38"),
        ("    at Gauge.draw (web/gauge.ts:14:20)", "web/gauge.ts#L12-L17"),
        ("MOST_ATTEMPTS", "gateway/upload.py#L9"),
    ],
)
def test_a_vault_of_code_alone_answers(code: Vault, question: str, uri: str) -> None:
    answer = asked(code, question)
    assert (answer["state"], uris(answer)[0]) == ("answered", uri)
    assert answer["evidence"]["channel"] == "code"  # type: ignore[index]


def test_what_is_quoted_is_whole_and_stands_in_its_lines(code: Vault) -> None:
    answer = asked(code, "what retries the upload")
    (claim,) = answer["claims"]  # type: ignore[misc]
    lines = (code.root / "gateway/upload.py").read_text("utf-8").split("\n")
    assert claim["quote"] == "\n".join(lines[29:38])
    assert answer["answer"] == f"```python\n{claim['quote']}\n```\n[1]"
    checked = kb_in(code)("verify", "--json").json
    assert [each["standing"] for each in checked["quotes"]] == ["stands"]


@pytest.mark.parametrize("question", ["What is the capital of Mongolia?", "Where is encrypt_mail defined?"])
def test_what_the_code_does_not_hold_is_refused(code: Vault, question: str) -> None:
    answer = asked(code, question)
    assert (answer["state"], answer["grounded"]) == ("refused", False)
    assert answer["refusal_reason"] in ("score_gate", "no_chunks")


def test_where_nothing_calls_a_name_its_definition_is_no_answer(code: Vault) -> None:
    answer = asked(code, "who calls send_all?")
    assert answer["refusal_reason"] == "score_gate"
    assert uris(answer)[0] == "gateway/upload.py#L20-L28"


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("When is the canteen closed?", "lunch.md"),
        ("How often is an upload that fails retried before anybody is told?", "upload.md"),
        ("Where is send_with_pauses defined?", "gateway/upload.py"),
        ("below which voltage does a cell count as empty", "web/gauge.ts"),
    ],
)
def test_notes_answer_what_they_say_and_code_the_rest(both: Vault, question: str, path: str) -> None:
    answer = asked(both, question)
    assert [uri.partition("#")[0] for uri in uris(answer)] == [path]


def test_answers_of_notes_are_the_same_with_code_beside_them(both: Vault, tmp_path: Path) -> None:
    alone = indexed_vault(tmp_path, NOTES)
    for question in ("When is the canteen closed?", "How often is an upload that fails retried?", "Lunch"):
        mine, theirs = asked(alone, question), asked(both, question)
        told = ("answer", "state", "claims", "evidence")
        assert {name: mine[name] for name in told} == {name: theirs[name] for name in told}


def test_a_definition_longer_than_a_passage_is_quoted_to_the_end_of_a_statement(tmp_path: Path) -> None:
    body = "".join(f"    total_{n} = compute_something({n}, {n + 1}, {n + 2})\n" for n in range(120))
    vault = indexed_vault(tmp_path, {"long.py": f"def very_long():\n{body}    return total_1\n"})
    answer = asked(vault, "very_long")
    assert answer["notes"] == ["the whole definition: long.py#L1-L122"]
    assert str(answer["claims"][0]["quote"]).endswith(")")  # type: ignore[index]


@pytest.mark.parametrize(
    ("lines", "at", "around"),
    [
        (["a = 1", "f(", "    b,", "    c,", ")", "d = 2"], 2, (1, 4)),
        (["total = (", "    one()", "    + two()", ")"], 1, (0, 3)),
        (["if (send(x)) {", "  go();", "}"], 0, (0, 0)),
        (["x = y"], 0, (0, 0)),
    ],
)
def test_a_statement_goes_as_far_as_its_brackets(lines: list[str], at: int, around: tuple[int, int]) -> None:
    assert statement_at(lines, at) == around


def test_what_a_model_writes_of_code_is_checked_against_it_and_cites_its_lines(code: Vault) -> None:
    said = "It retries the upload of a batch while the network is down; the pause doubles each time [1]."
    with playing([{"text": said}, {"done": {}}]) as server:
        named = (f"endpoint={server.endpoint}", "provider=ollama", "model=scripted")
        model = [part for name in named for part in ("--set", f"models.llm.{name}")]
        ran = kb_in(code)(*model, "ask", "--json", "what retries the upload")
    assert ran.stderr == ""
    answer = ran.json
    assert (answer["model"]["provider"], answer["grounded"]) == ("ollama", True)
    (claim,) = answer["claims"]
    assert (claim["citation"]["kind"], claim["citation"]["path"]) == ("code", "gateway/upload.py")
    lines = (code.root / "gateway/upload.py").read_text("utf-8").split("\n")
    start, end = claim["citation"]["line_start"], claim["citation"]["line_end"]
    assert claim["quote"] == "\n".join(lines[start - 1 : end])
