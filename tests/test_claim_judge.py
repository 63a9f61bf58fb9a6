"""A judge of what a model wrote: off by default; it decides where the exact rules find no contradiction."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest
from answer_passages import Replies, ScriptedModel, passage
from conftest import Vault, indexed_vault, kb_in
from hub_models import put_nli
from plugin_fixtures import install, install_example

from kb.answer.checks import check_claims
from kb.config import load
from kb.domain.answers import Answer, Verdict
from kb.domain.run_handle import RunHandle
from kb.embed.nli import open_nli
from kb.errors import ModelCorrupt, ModelError, ModelMissing
from kb.operations.answers.records import find_answer
from kb.operations.ask.ask import ask
from kb.operations.ask.claim_judge import ModelJudge
from kb.operations.ask.findings import AskRequest
from kb.operations.opening.base import open_base

NOTES = {"gateway.md": "# Gateway\n\nThe gateway retries a failed upload five times.\nThen it keeps the batch.\n"}
RETRY = "How often does the gateway retry a failed upload?"
SAID = "The gateway retries a failed upload five times [#1]."
BOTH = f"{SAID} Then it keeps the batch [#1]."
LABELS = ("entailment", "neutral", "contradiction")


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("judged"), NOTES)


@pytest.fixture
def answer_by(asked: Vault, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    def answered(model: ScriptedModel, *settings: str) -> Answer:
        monkeypatch.setattr("kb.operations.ask.language_model.language_models", lambda *_: iter([model]))
        with open_base(load(str(asked.config), ("rag.score_gate=0", *settings))) as session:
            made = ask(session, AskRequest(RETRY, "lexical", 5), RunHandle())
            assert find_answer(session, made.retrieval.trace_id).claims == made.claims
            return made

    return answered


class Judge(NamedTuple):
    """Says the same of every sentence."""

    verdict: Verdict
    label: str = "fixed"

    def judge(self, claim: str, sources: Sequence[str]) -> Verdict:
        return self.verdict


@pytest.mark.parametrize(
    ("text", "verdict", "status"),
    [
        (SAID, "support", "supported"),
        (SAID, "unknown", "weak"),
        (SAID, "contradiction", "dropped"),
        ("A failed upload is retried by the gateway [1].", "support", "supported"),
        ("A failed upload is retried by the gateway [1].", "unknown", "weak"),
        ("A failed upload is retried by the gateway [1].", "contradiction", "dropped"),
        ("The gateway retries a failed upload nine times [1].", "support", "dropped"),
    ],
)
def test_it_decides_both_ways_where_the_rules_find_no_contradiction(text: str, verdict: Verdict, status: str) -> None:
    source = passage(1, "The gateway retries a failed upload five times.")
    (claim,) = check_claims(text, RETRY, [source], Judge(verdict))
    assert (claim.status, claim.second and claim.second.verdict) == (status, verdict)


def test_none_is_asked_by_default(answer_by: Callable[..., Answer]) -> None:
    model = ScriptedModel(SAID)
    [claim] = answer_by(model).claims
    assert (claim.status, claim.second, len(model.asked)) == ("supported", None, 1)


@pytest.mark.parametrize(
    ("reply", "verdict", "status"),
    [
        ("Yes.", "support", "supported"),
        ("<think>hm</think>**no**, they do not", "contradiction", "dropped"),
        ("unknown", "unknown", "weak"),
        ("It is hard to say.", "unknown", "weak"),
    ],
)
def test_the_language_model_is_asked_about_each_sentence(
    answer_by: Callable[..., Answer], reply: str, verdict: str, status: str
) -> None:
    model = Replies(BOTH, reply, "yes")
    answer = answer_by(model, "rag.claim_judge=llm")
    _, user = model.asked[1].messages
    assert "| The gateway retries a failed upload five times." in user.content.splitlines()
    assert user.content.endswith("Statement: The gateway retries a failed upload five times.")
    claim, other = answer.claims
    assert other.status == "supported"
    assert claim.second is not None
    assert (claim.second.judge, claim.second.verdict, claim.second.rules) == ("llm:scripted", verdict, "support")
    assert (claim.status, answer.grounded) == (status, status != "weak")


def test_a_judge_that_fails_leaves_the_rules_and_says_so(answer_by: Callable[..., Answer]) -> None:
    answer = answer_by(Replies(SAID, "broken"), "rag.claim_judge=llm")
    assert answer.claims[0].second is None
    assert answer.notes == ("checked by the rules alone, without the claim judge: it broke off",)
    missing = answer_by(Replies(SAID), "rag.claim_judge=onnx", "rag.claim_model=nowhere")
    assert "checked by the rules alone" in missing.notes[0]


def test_it_is_shown_by_explain_and_verify(asked: Vault, answer_by: Callable[..., Answer]) -> None:
    trace = answer_by(Replies(BOTH, "unknown", "yes"), "rag.claim_judge=llm").retrieval.trace_id
    said = "rules: support, llm:scripted: unknown"
    assert said in kb_in(asked)("answers", "show", trace, "--explain").stdout
    assert said in kb_in(asked)("verify", trace).stdout
    [quote, _] = kb_in(asked)("verify", trace, "--json").json["quotes"]
    assert quote["second"] == {"judge": "llm:scripted", "verdict": "unknown", "rules": "support"}


def test_a_model_for_inference_judges_by_its_labels(tmp_path: Path, answer_by: Callable[..., Answer]) -> None:
    words = {"five": (2.0, 0.0, 0.0), "nine": (0.0, 0.0, 9.0), "batch": (0.0, 1.0, 0.0)}
    put_nli(tmp_path / "nli", words, LABELS)
    nli = open_nli(tmp_path, tmp_path / "nli", 1)
    assert nli.judge("It retries five times.", ["five times"]) == "support"
    assert nli.judge("It retries nine times.", ["five times"]) == "contradiction"
    assert nli.judge("It keeps.", ["the disk"]) == "unknown"
    assert nli.judge("It retries five times.", ["nine", "five times"]) == "support"
    [claim] = answer_by(ScriptedModel(SAID), "rag.claim_judge=onnx", f"rag.claim_model={tmp_path / 'nli'}").claims
    assert claim.second is not None
    assert (claim.second.verdict, claim.status) == ("support", "supported")
    assert claim.second.judge.startswith("onnx:nli:")


def test_labels_decide_what_an_output_means(tmp_path: Path) -> None:
    words = {"five": (9.0, 0.0, 0.0)}
    put_nli(tmp_path / "turned", words, ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"))
    assert open_nli(tmp_path, Path("turned"), 1).judge("five", ["five"]) == "contradiction"
    put_nli(tmp_path / "unnamed", words, ("LABEL_0", "LABEL_1", "LABEL_2"))
    with pytest.raises(ModelCorrupt, match="none of the labels of unnamed is entailment"):
        open_nli(tmp_path, Path("unnamed"), 1)


def test_what_cannot_judge_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"there is no model\.onnx"):
        open_nli(tmp_path, Path("nowhere"), 1)
    put_nli(tmp_path / "broken", {"five": (1.0, 0.0, 0.0)}, LABELS)
    (tmp_path / "broken/model.onnx").write_bytes(b"no model")
    with pytest.raises(ModelCorrupt, match="does not load"):
        open_nli(tmp_path, Path("broken"), 1)
    (tmp_path / "broken/config.json").write_text(json.dumps({"id2label": ["entailment"]}))
    with pytest.raises(ModelCorrupt, match="names no labels"):
        open_nli(tmp_path, Path("broken"), 1)


def test_a_long_source_is_cut_to_the_window_and_the_claim_is_not(tmp_path: Path) -> None:
    put_nli(tmp_path / "nli", {"five": (9.0, 0.0, 0.0)}, LABELS)
    assert open_nli(tmp_path, Path("nli"), 1).judge("five", ["and " * 5000]) == "support"


def test_a_plugin_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer_by: Callable[..., Answer]) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    install_example(tmp_path)
    install(
        tmp_path,
        "odd",
        "2",
        {"kb.claim_judges": {"odd": "odd:Odd"}},
        "class Odd:\n    def judge(self, c, s): return 'maybe'\n",
    )
    answer = answer_by(ScriptedModel(SAID), "rag.claim_judge=plugin", "rag.claim_model=numbers")
    assert "wrote nothing that its sources support" in answer.notes[0]  # no numbers are in digits: nothing is shown
    odd = answer_by(ScriptedModel(SAID), "rag.claim_judge=plugin", "rag.claim_model=odd")
    assert "the claim judge odd of odd 2 says 'maybe'" in odd.notes[0]


def test_doctor_loads_it(asked: Vault, tmp_path: Path) -> None:
    put_nli(tmp_path / "nli", {"five": (1.0, 0.0, 0.0)}, LABELS)
    for name, ok in (("nli", True), ("none", False)):
        flags = ("--set", "rag.claim_judge=onnx", "--set", f"rag.claim_model={tmp_path / name}")
        checks = kb_in(asked)(*flags, "doctor", "--quick", "--json").json["checks"]
        assert [check["ok"] for check in checks if check["name"] == "claim_judge"] == [ok]


def test_a_reply_that_breaks_off_is_the_judges_failure() -> None:
    with pytest.raises(ModelError):
        ModelJudge("llm:x", Replies("broken")).judge("a", ["b"])
