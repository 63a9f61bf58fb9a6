"""Questions are answered from the notes with exact sources, or refused; everything is kept and can be checked later."""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from answer_passages import ReadingJudge, ScriptedModel
from conftest import Ran, Vault, indexed_vault, kb_in, make_vault, run_kb

from kb.config import load
from kb.domain.answers import Answer, AskEvent, Generated, Retrieved
from kb.domain.generation import LanguageModel
from kb.domain.run_handle import RunHandle
from kb.operations.ask.ask import ask
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import Base, open_base

NOTES = {
    "gateway.md": "# Gateway\n\nThe gateway retries a failed upload five times.\nThen it keeps the batch on disk.\n",
    "battery.md": "# 배터리\n\n정전이 나면 배터리가 네 시간을 버틴다.\n\n## 교체\n\n배터리 교체는 3월에 한다.\n",
    **{f"filler/{n}.md": f"# Filler {n}\n\nPage {n} of the {word} handbook, chapter {n}.\n" for n, word in enumerate(
        "apple banana cherry damson elder fig grape hazel iris juniper kiwi lemon mango nutmeg olive peach".split()
    )},
}  # fmt: skip
LITTLE = 160  # words: the instructions, the question and a passage
RETRY = "How often does the gateway retry a failed upload?"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("asked"), NOTES)


@pytest.fixture
def asked(indexed: Vault, tmp_path: Path) -> Vault:
    """A vault of its own, to write answers into."""
    shutil.copytree(indexed.config.parent, tmp_path / "own")
    config = tmp_path / "own" / indexed.config.name
    vault = Vault(config.parent / "notes", config, config.parent / "data" / "kb.sqlite")
    assert run_kb("--config", str(config), "ingest", "--no-embed", "--moved").code == 0
    return vault


def kb(vault: Vault, *args: str) -> Ran:
    return kb_in(vault)("--set", "models.llm.provider=extractive", *args)


LEAST_SURE = ("--set", "rag.answer_precision=0.7")


def asking(
    vault: Vault, model: LanguageModel | None, question: str = RETRY, **more: Any
) -> tuple[Answer, list[AskEvent]]:
    """What a question comes to with a given model, and the events on the way."""
    events: list[AskEvent] = []
    request = AskRequest(question, "lexical", 5, **more)
    return ask(Base(load(str(vault.config), ())), request, RunHandle(events.append)), events


@pytest.fixture
def answered_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[LanguageModel | None], None]:
    """Puts a model in the place of the configured one."""

    def put(model: LanguageModel | None) -> None:
        monkeypatch.setattr("kb.operations.ask.language_model.language_models", lambda *_: iter([model]))

    return put


def test_your_own_sentence_answers_with_its_lines(asked: Vault) -> None:
    ran = kb(asked, *LEAST_SURE, "ask", RETRY, "--json")
    assert ran.code == 0, ran.stderr
    answer = ran.json
    assert answer["answer"].startswith("The gateway retries a failed upload five times.\n")
    assert answer["citations"][0]["citation"]["uri"] == "gateway.md#L3-L4"
    assert answer["grounded"] is True
    assert answer["model"]["provider"] == "extractive"
    for claim in answer["claims"]:
        lines = (asked.root / claim["citation"]["path"]).read_text(encoding="utf-8").split("\n")
        cited = "\n".join(lines[claim["citation"]["start"] - 1 : claim["citation"]["end"]])
        assert claim["quote"] in cited


def test_the_budget_of_an_answer_is_the_sessions_where_it_is_not_asked_for(
    asked: Vault, answered_by: Callable[[LanguageModel | None], None]
) -> None:
    model = ScriptedModel("The gateway retries a failed upload five times [1].")
    answered_by(model)
    (asked.root / "more.md").write_text(
        "# Upload\n\n" + "The gateway may retry a failed upload. " * 20, encoding="utf-8"
    )
    kb(asked, "ingest", "--no-embed")
    taken: dict[int | None, int] = {}
    with open_base(load(str(asked.config), ("rag.max_context_tokens=900",))) as session:
        assert session.defaults.context_tokens == 900
        for wanted, given in ((None, 900), (LITTLE, LITTLE)):
            answer = ask(session, AskRequest(RETRY, "lexical", 5, context_tokens=wanted), RunHandle())
            taken[wanted] = model.count_prompt_tokens(answer.written.messages)
            with session.reading() as base:
                kept = base.db.execute(
                    "SELECT settings_json ->> 'max_context_tokens' FROM answers WHERE trace_id = ?",
                    (answer.retrieval.trace_id,),
                ).get
            assert kept == given
    assert taken[LITTLE] <= LITTLE < taken[None] <= 900


def test_a_sentence_that_reads_against_the_question_is_not_sure(asked: Vault) -> None:
    ran = kb(asked, *LEAST_SURE, "ask", "What batch is not kept on disk by the gateway?", "--json")
    assert ran.code == 1
    assert ran.json["state"] == "unsure"
    assert "denies it or says the opposite" in ran.json["notes"][0]
    assert ran.json["citations"][0]["citation"]["path"] == "gateway.md"


def test_a_korean_question_is_answered_in_korean(asked: Vault) -> None:
    ran = kb(asked, *LEAST_SURE, "ask", "정전이 나면 배터리가 얼마나 버티나?")
    assert ran.code == 0
    assert "정전이 나면 배터리가 네 시간을 버틴다. [1]" in ran.stdout
    assert "[1] battery.md#L3" in ran.stdout


def test_a_korean_answer_and_refusal_have_no_english_words_below_them(asked: Vault) -> None:
    for question, options, begins in (
        ("정전이 나면 배터리가 얼마나 버티나?", (), "원문 인용"),
        ("장학금 신청 서류는 무엇인가?", ("--explain",), "답 없음: "),
    ):
        lines = kb(asked, "ask", question, *options).stdout.splitlines()
        footer = next(line for line in lines if line.startswith(begins))
        assert re.findall("[A-Za-z]+", footer) == ["ms"]


def test_what_the_notes_do_not_hold_is_refused_with_the_nearest_places(asked: Vault) -> None:
    ran = kb(asked, "ask", "Which chapter of the tax law covers inherited vineyards?")
    assert ran.code == 1
    assert ran.stdout.startswith("I did not find an answer in your notes.")
    heading, *nearest = ran.stdout.splitlines()[1:]
    assert heading == "nearest places:"
    assert re.match(r"1\. +\S+#L\d", nearest[0])
    assert "no answer" not in ran.stdout.casefold()
    explained = kb(asked, "ask", "Which chapter of the tax law covers inherited vineyards?", "--explain").stdout
    assert "\nno answer: " in explained
    assert "\nNo answer: no place is near enough to the question.\n" in explained
    korean = kb(asked, "ask", "장학금 신청 서류는 무엇인가?", "--json").json
    assert korean["refusal_reason"] in ("score_gate", "no_chunks")
    assert korean["answer"].startswith("노트에")
    assert all(citation["marker"] is None for citation in korean["citations"])


def test_no_model_is_looked_for_where_the_gate_refuses(asked: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def loaded(*_: object) -> None:
        raise AssertionError("a model was looked for")

    monkeypatch.setattr("kb.operations.ask.language_model.language_models", loaded)
    answer, _ = asking(asked, None, "Which chapter of the tax law covers inherited vineyards?")
    assert answer.refusal_reason == "score_gate"


def test_without_an_index_the_refusal_says_so(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, NOTES)
    ran = kb(vault, "ask", RETRY, "--json")
    assert ran.code == 1
    assert ran.json["refusal_reason"] == "no_index"
    assert "kb init" in ran.json["notes"][0]


def test_a_models_answer_is_streamed_checked_and_cited(
    asked: Vault, answered_by: Callable[[LanguageModel | None], None]
) -> None:
    model = ScriptedModel(
        "The gateway retries a failed upload five times [#1]. It gives up after 90 days [#1]. See also [#9]."
    )
    answered_by(model)
    answer, events = asking(asked, model)
    assert isinstance(events[0], Retrieved)
    shown = "".join(event.text for event in events if isinstance(event, Generated))
    assert "[9]" not in shown
    assert "five times [1]." in shown
    assert answer.text == "The gateway retries a failed upload five times. [1]"
    assert answer.grounded
    assert [claim.status for claim in answer.claims][:2] == ["supported", "dropped"]
    assert answer.notes[0].startswith("2 of 3 sentences left out")
    assert "“90” is in none" in str(answer.claims[1].reason)
    assert answer.citations[0].citation.to_uri() == "gateway.md#L3"
    assert RETRY in model.asked[0].messages[-1].content


def test_what_could_not_be_checked_is_shown_as_that_and_leaves_kb_unsure(
    asked: Vault, answered_by: Callable[[LanguageModel | None], None]
) -> None:
    answered_by(ScriptedModel("A failed upload is retried by the gateway five times [#1]."))
    answer, _ = asking(asked, None)
    assert answer.text == "A failed upload is retried by the gateway five times. [1] (not checked)"
    assert (answer.state, answer.grounded, answer.claims[0].status) == ("unsure", False, "not_checked")
    assert answer.notes[0].startswith("1 of 1 sentences not checked; “A failed upload")
    answered_by(ScriptedModel("배터리는 정전 때 네 시간 동안 견딘다 [#1]."))
    korean, _ = asking(asked, None, "정전이 나면 배터리가 얼마나 버티나?")
    assert korean.text == "배터리는 정전 때 네 시간 동안 견딘다. [1] (확인 안 됨)"
    shown = kb(asked, "answers", "show", answer.retrieval.trace_id)
    assert "(not checked)" in shown.stdout
    stored = kb(asked, "answers", "show", answer.retrieval.trace_id, "--json").json
    assert [claim["status"] for claim in stored["claims"]] == ["not_checked"]


def test_an_answer_of_which_no_sentence_is_supported_falls_back_to_quoting(
    asked: Vault, answered_by: Callable[[LanguageModel | None], None]
) -> None:
    answered_by(ScriptedModel("Bananas are yellow fruit [1]. It retries 90 times [1]."))
    answer, _ = asking(asked, None)
    assert answer.text.startswith("The gateway retries a failed upload five times.\n")
    assert answer.written.model.provider == "extractive"
    assert answer.notes[0] == "scripted wrote nothing that its sources support; these are your notes' own sentences"
    assert answer.written.generated_text == "Bananas are yellow fruit [1]. It retries 90 times [1]."


def test_what_a_model_thinks_aloud_is_neither_streamed_nor_answered(
    asked: Vault, answered_by: Callable[[LanguageModel | None], None]
) -> None:
    answered_by(ScriptedModel("<think> The sources do not answer this. </think> The gateway retries five times [1]."))
    answer, events = asking(asked, None)
    streamed = "".join(event.text for event in events if isinstance(event, Generated))
    assert streamed.strip() == "The gateway retries five times [1]."
    assert answer.text == "The gateway retries five times. [1]"


def test_an_answer_can_be_shown_again_as_it_was(asked: Vault) -> None:
    given = kb(asked, "ask", RETRY, "--json").json
    again = kb(asked, "answers", "show", given["retrieval"]["trace_id"][:8], "--json").json
    assert again == given
    assert kb(asked, "answers", "list").stdout.count("\n") == 1
    assert kb(asked, "answers", "show", "ret_zzz").code == 2


def test_events_come_as_json_lines_before_the_answer(asked: Vault) -> None:
    lines = kb(asked, "ask", RETRY, "--json", "--stream").lines
    assert [line["schema_version"] for line in lines] == ["answer_event.v1", "answer.v1"]
    assert lines[0]["kind"] == "retrieved"
    assert lines[0]["evidence"]["value"] >= lines[0]["score_gate"]
    assert kb(asked, "ask", RETRY, "--stream").code == 2


def test_explain_shows_what_each_sentence_stands_on(asked: Vault) -> None:
    ran = kb(asked, "ask", RETRY, "--explain")
    assert "▎ The gateway retries a failed upload five times." in ran.stdout
    assert "└ gateway.md#L3" in ran.stdout
    assert "retrieval trace" in ran.stdout
    assert "gate 0.50: pass" in ran.stdout


def test_a_conversation_goes_on_from_what_was_asked_before(asked: Vault) -> None:
    kb(asked, "ask", "정전이 나면 배터리가 얼마나 버티나?", "--session", "점검")
    second = kb(asked, "ask", "그럼 배터리 교체는 언제 해?", "--session", "점검", "--json").json
    assert second["search_query"] == "그럼 배터리 교체는 언제 해?"  # both together have too little evidence here
    assert (second["conversation_id"], second["turn_index"]) == ("점검", 1)
    assert "교체는 3월에 한다" in second["answer"]
    listed = kb(asked, "sessions", "list", "--json").lines
    assert [(row["session_id"], row["turn_count"]) for row in listed] == [("점검", 2)]
    shown = kb(asked, "sessions", "show", "점검", "--json").json
    assert [turn["question"] for turn in shown["turns"]][1] == "그럼 배터리 교체는 언제 해?"
    assert kb(asked, "sessions", "delete", "점검", "--yes").code == 0
    assert kb(asked, "sessions", "show", "점검").code == 2
    assert len(kb(asked, "answers", "list", "--json").lines) == 2


def test_verify_tells_what_stands_moved_and_changed(asked: Vault) -> None:
    kb(asked, "ask", RETRY)
    path = asked.root / "gateway.md"
    text = path.read_text(encoding="utf-8")

    def standing() -> list[tuple[str, str | None]]:
        quotes = kb(asked, "verify", "--json").json["quotes"]
        return [(quote["standing"], quote["now_at"] and quote["now_at"]["uri"]) for quote in quotes][:1]

    assert standing() == [("stands", "gateway.md#L3-L4")]
    path.write_text("new first line\n\n" + text, encoding="utf-8")
    assert standing() == [("moved", "gateway.md#L5-L6")]
    path.write_text(text.replace("five", "six"), encoding="utf-8")
    assert standing() == [("changed", None)]
    ran = kb(asked, "verify")
    assert ran.code == 1
    assert re.search(r"「[^」]*five[^」]*」\n  now 「[^」]*six[^」]*」\n      five → six\n", ran.stdout)
    assert "six" in kb(asked, "verify", "--json").json["quotes"][0]["now_text"]
    path.rename(asked.root / "renamed.md")
    assert standing() == [("missing", None)]
    (asked.root / "renamed.md").write_text(text, encoding="utf-8")
    kb(asked, "ingest", "--no-embed")
    assert standing() == [("moved", "renamed.md#L3-L4")]
    assert kb(asked, "verify", "--all").code == 0


def test_a_quotation_is_found_in_a_copy_that_composes_its_letters_otherwise(asked: Vault) -> None:
    """As a file has them that came from another system: `é` in one character or in two."""
    note = asked.root / "café.md"
    text = "# Café\n\nThe café closes its terrace at eleven in the evening.\n"
    note.write_text(text, encoding="utf-8")
    kb(asked, "ingest", "--no-embed")
    kb(asked, "ask", "When does the café close its terrace?")
    note.unlink()
    (asked.root / "copy.md").write_text(unicodedata.normalize("NFD", text), encoding="utf-8")
    kb(asked, "ingest", "--no-embed")
    quotes = kb(asked, "verify", "--json").json["quotes"]
    assert [(quote["standing"], quote["now_at"]["uri"]) for quote in quotes] == [("moved", "copy.md#L3")]


@pytest.mark.parametrize(
    ("editor", "command"),
    [("vim", "vim +3 {path}"), ("code -w", "code -w -g {path}:3"), ("my-editor", "my-editor {path}")],
)
def test_open_leads_to_the_line(editor: str, command: str, asked: Vault) -> None:
    kb(asked, "ask", RETRY)
    path = asked.root / "gateway.md"
    ran = kb_in(asked)("open", "1", "--print", env={"VISUAL": editor})
    assert ran.stdout.strip() == command.format(path=path)
    written = kb_in(asked)("open", "gateway.md#L3", "--print", env={"VISUAL": editor})
    assert written.stdout == ran.stdout
    assert kb(asked, "open", "7").code == 2
    assert kb(asked, "open", "nowhere.md#L1").code == 2


def test_all_that_went_in_is_kept(asked: Vault, answered_by: Callable[[LanguageModel | None], None]) -> None:
    import sqlite3
    from contextlib import closing

    answered_by(ScriptedModel("The gateway retries a failed upload five times [1]."))
    asking(asked, None, temperature=0.5, seed=7)
    with closing(sqlite3.connect(asked.sqlite)) as db:
        row = db.execute(
            "SELECT settings_json, packed_chunks_json, messages_json, generated_text, prompt_tokens FROM answers"
        ).fetchone()
    settings, packed, messages = (json.loads(part) for part in row[:3])
    assert (settings["temperature"], settings["seed"]) == (0.5, 7)
    assert packed[0]["text"].endswith("Then it keeps the batch on disk.")
    assert [message["role"] for message in messages] == ["system", "user"]
    assert row[3] == "The gateway retries a failed upload five times [1]."
    assert row[4] > 0


@pytest.mark.parametrize(
    ("question", "text", "note"),
    [
        (
            "When is the valve replaced?",
            "The valve is replaced next Friday.",
            '"next Friday" was written on 2026-03-02',
        ),
        ("When is the valve replaced?", "The valve is replaced on 2026-03-13.", ""),
        ("When is the valve replaced?", "The valve is replaced on 13 August.", ""),
        ("밸브는 언제 교체하나?", "밸브는 만료 45일 전에 교체한다.", ""),
        ("밸브는 언제 교체하나?", "밸브는 내일 교체하기로 했다.", '"내일": 2026-03-02에 쓴 노트'),
        ("Who replaces the valve?", "Heron replaces the valve next Friday.", ""),
    ],
)
def test_a_relative_day_is_shown_with_the_day_it_was_written(
    question: str, text: str, note: str, tmp_path: Path
) -> None:
    vault = make_vault(tmp_path / "dated", {"2026-03-02 valve.md": f"# Valve\n\n{text}\n"})
    assert kb(vault, "ingest", "--no-embed").code == 0
    answer = kb(vault, "--set", "rag.score_gate=0", "ask", question, "--json").json
    assert [each for each in answer["notes"] if "2026-03-02" in each] == ([note] if note else [])


@pytest.mark.parametrize(
    ("names", "note"),
    [
        (("2026-01-12 limits.md", "2026-03-02 limits.md"), "[1] and [2] differ: they are of 2026-03-02 and 2026-01-12"),
        (("limits.md", "limits-2.md"), "[1] and [2] differ"),
    ],
)
def test_two_places_that_differ_are_both_shown_the_newer_one_first(
    names: tuple[str, str], note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = "The upload limit is 20 a minute.", "The upload limit is 30 a minute."
    vault = make_vault(tmp_path / "two", dict(zip(names, (f"{old}\n", f"{new}\n"), strict=True)))
    assert kb(vault, "ingest", "--no-embed").code == 0
    judge = ReadingJudge({old: 3.0, new: 2.5})
    monkeypatch.setattr(Base, "judge", property(lambda base: judge))
    answer = kb(vault, "ask", "what is the upload limit in a minute?", "--json").json
    assert note in answer["notes"]
    assert {each["quote"] for each in answer["citations"]} == {old, new}
    assert (answer["citations"][0]["quote"] == new) is (names[0][0] == "2")
