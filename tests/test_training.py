"""training/: what is read and refused, what a step sees, and ten steps of a tiny encoder up to a model that ranks."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import random
import re
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_embed_assemble_e5 as tiny

from kb.assemble.catalogue import UPDATE_FILE
from kb.assemble.e5_graph import assemble_encoder
from kb.assemble.e5_weights import read_weights, with_update
from kb.domain.embeddings import EmbeddingModel
from kb.embed.installed.encoder import open_installed_embedder, open_installed_query_encoder
from kb.embed.passage_tokens import unpacked
from training.batches import Batch, Batches, Recipe, without_answer
from training.questions import (
    BadData,
    CheckoutMissing,
    Passage,
    Question,
    Source,
    check_apart,
    read_source,
    source_files,
)

CHECKOUT = Path(__file__).parents[1]
DATA = CHECKOUT / "benchmarks/training"
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="PyTorch is not installed")

CARD = (DATA / "README.md").read_text(encoding="utf-8")

NOTE = {
    "id": "n-1",
    "title": "화분",
    "heading": ["물"],
    "text": "월요일에 물을 준다. 비료는 봄에만 준다.",
    "questions": [
        {"q": "물 주는 날", "lang": "ko", "kind": "keyword", "answer": "월요일에 물을 준다."},
        {"q": "when to feed the plants", "lang": "en", "kind": "cross", "answer": "비료는 봄에만 준다."},
    ],
}
TWINS = {
    "id": "t-1",
    "title": "lease",
    "a": "Kim signs the lease.",
    "b": "Lee signs the insurance.",
    "questions": [
        {"q": "who signs for the flat", "lang": "en", "kind": "paraphrase", "of": "a", "answer": "Kim"},
        {"q": "who signs for damages", "lang": "en", "kind": "paraphrase", "of": "b", "answer": "Lee"},
    ],
}


def written(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def with_question(**fields: object) -> dict[str, Any]:
    """The note with its first question changed."""
    return {**NOTE, "questions": [{**NOTE["questions"][0], **fields}]}


# --- reading ----------------------------------------------------------------------------------------------------------


def test_notes_and_twins_are_read(tmp_path: Path) -> None:
    note = read_source(written(tmp_path / "n.jsonl", NOTE))
    assert note.passages == [Passage("화분", ("물",), NOTE["text"])]
    text = NOTE["text"]
    assert [each.answer for each in note.questions] == [(0, text.index(" 비료")), (text.index("비료"), len(text))]
    twins = read_source(written(tmp_path / "t.jsonl", TWINS))
    assert twins.pairs == [(0, 1)]
    assert [(each.passage, each.twin) for each in twins.questions] == [(0, 1), (1, 0)]


def test_passages_are_taken_from_a_checkout(tmp_path: Path) -> None:
    page = tmp_path / "checkouts/guide/docs/start.md"
    page.parent.mkdir(parents=True)
    page.write_text("# 시작\n\nRun it twice.\n", encoding="utf-8")
    where = {"repository": "somebody/guide", "commit": "c0ffee", "path": "docs/start.md", "chars": [6, 19]}
    passage = {"id": "d-1", "title": "start", **where, "sha256": hashlib.sha256(b"Run it twice.").hexdigest()}
    written(tmp_path / "d.passages.jsonl", passage)
    asked = {"q": "how often", "lang": "en", "kind": "number", "answer": [7, 12]}
    questions = written(tmp_path / "d.questions.jsonl", {"id": "d-1", "questions": [asked]})

    source = read_source(questions, tmp_path / "checkouts")
    assert source.passages == [Passage("start", (), "Run it twice.")]
    assert source.questions[0].answer == (7, 12)
    with pytest.raises(CheckoutMissing) as missing:
        read_source(questions)
    assert "somebody/guide at c0ffee" in str(missing.value.hint)
    page.write_text("# 시작\n\nRun it thrice\n", encoding="utf-8")
    with pytest.raises(BadData, match="another text"):
        read_source(questions, tmp_path / "checkouts")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("{", "the line is no JSON"),
        ([1], "the line is no JSON object"),
        ({**NOTE, "text": ""}, "`text` is missing"),
        ({**NOTE, "id": None}, "`id` is missing"),
        ({**NOTE, "heading": "물"}, "`heading` is no list"),
        ({**NOTE, "questions": "?"}, "`questions` is missing"),
        (with_question(answer="화요일"), "the answer to “물 주는 날” is not in the passage"),
        (with_question(answer=[3, 400]), "the answer [3, 400] is outside the passage"),
        (with_question(lang="jp"), "`lang` is jp"),
        (with_question(kind=""), "`kind` is missing"),
        (with_question(also=["n-9"]), "`also` names n-9"),
        ({**NOTE, "id": "n-0"}, "the id n-0 is there twice"),
        ({**TWINS, "questions": [{**TWINS["questions"][0], "of": "c"}]}, "`of` is c"),
    ],
)
def test_an_error_names_the_file_and_the_line(row: object, problem: str, tmp_path: Path) -> None:
    path = written(tmp_path / "n.jsonl", {**NOTE, "id": "n-0"})
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" + (row if isinstance(row, str) else json.dumps(row)) + "\n")
    with pytest.raises(BadData, match=re.escape(f"{path}:3: {problem}")):
        read_source(path)


def test_a_file_of_no_use_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="no question"):
        read_source(written(tmp_path / "empty.jsonl"))
    with pytest.raises(BadData, match="twins and other passages"):
        read_source(written(tmp_path / "mixed.jsonl", NOTE, TWINS))
    with pytest.raises(BadData, match=r"passages are missing: d\.passages\.jsonl"):
        read_source(written(tmp_path / "d.questions.jsonl", NOTE))
    with pytest.raises(BadData, match="no such file"):
        source_files([tmp_path / "nowhere"])
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadData, match=r"no \.jsonl"):
        source_files([tmp_path / "folder"])


def test_held_out_passages_are_no_training_passages(tmp_path: Path) -> None:
    paths = [written(tmp_path / name, row) for name, row in (("a.jsonl", NOTE), ("b.jsonl", NOTE), ("t.jsonl", TWINS))]
    a, b, t = ({path: read_source(path)} for path in paths)
    check_apart(a, t)
    with pytest.raises(BadData, match=re.escape(str(paths[1]))):
        check_apart(a, b)


# --- what a step sees -------------------------------------------------------------------------------------------------


def made_source(name: str, passages: int, *, twins: bool = False) -> Source:
    """Passages of a few words each, each with three questions."""
    words = random.Random(name)
    held = [" ".join(words.choices("abcdef", k=2)) for _ in range(passages)]
    texts = [f"{name}{at} holds {held[at]}. It ends at {at}." for at in range(passages)]
    questions = [
        Question(f"{name}{at} question {number}", "shared", "en", at, (0, texts[at].index(".") + 1))
        for at in range(passages)
        for number in range(3)
    ]
    pairs = list(pairwise(range(passages)))[::2] if twins else []
    return Source(name, "", [Passage("", (), text) for text in texts], questions, pairs)


def near(sources: Sequence[Source]) -> list[list[list[int]]]:
    """As neighbours of each passage the passages after it, in a ring."""
    counts = [len(source.passages) for source in sources]
    return [[[(at + step) % count for step in range(1, min(count, 12))] for at in range(count)] for count in counts]


def epoch(sources: Sequence[Source], recipe: Recipe, seed: int = 1) -> list[Batch]:
    batches = Batches(sources, near(sources), recipe, seed)
    return list(islice(batches, batches.steps_of_an_epoch))


def shown(batch: Batch) -> list[str]:
    """The passages that are whole."""
    return batch.passages[: len(batch.passages) - len(batch.only_for)]


def test_every_passage_is_shown_once_an_epoch() -> None:
    sources = [made_source("n", 23), made_source("m", 9), made_source("t", 14, twins=True)]
    batches = Batches(sources, near(sources), Recipe(passages=8, cut=2), 1)
    assert (batches.passages_of_an_epoch, batches.steps_of_an_epoch) == (46, 6)
    for _ in range(3):
        texts = Counter(text for batch in islice(batches, 6) for text in shown(batch))
        assert texts == Counter(passage.text for source in sources for passage in source.passages)


def test_steps_are_of_about_the_size_asked_for() -> None:
    sizes = [
        len(shown(batch)) for batch in epoch([made_source("n", 103), made_source("t", 60, twins=True)], Recipe(20))
    ]
    assert min(sizes) >= 16
    assert max(sizes) <= 24


def test_twins_are_shown_together() -> None:
    source = made_source("t", 14, twins=True)
    for batch in epoch([source], Recipe(passages=4, cut=0)):
        for a, b in source.pairs:
            assert (source.passages[a].text in batch.passages) == (source.passages[b].text in batch.passages)


def test_neighbours_are_shown_together() -> None:
    source = made_source("n", 32)
    ring = [[at // 4 * 4 + (at + step) % 4 for step in range(1, 4)] for at in range(32)]
    batches = Batches([source], [ring], Recipe(passages=4, cut=0), 1)
    texts = [passage.text for passage in source.passages]
    for batch in islice(batches, batches.steps_of_an_epoch):
        together = Counter(texts.index(text) // 4 for text in batch.passages)
        assert set(together.values()) == {4}


def test_the_seed_decides_the_batches() -> None:
    sources = [made_source("n", 23), made_source("t", 14, twins=True)]
    assert epoch(sources, Recipe(8), 5) == epoch(sources, Recipe(8), 5)
    assert epoch(sources, Recipe(8), 5) != epoch(sources, Recipe(8), 6)


def test_a_passage_without_the_answer_is_for_its_question_alone() -> None:
    source = made_source("n", 23)
    answers = {question.text: source.passages[question.passage].text for question in source.questions}
    for batch in epoch([source], Recipe(passages=8, cut=3)):
        assert len(batch.only_for) == 3
        for passage, question in batch.only_for.items():
            whole = answers[batch.questions[question]]
            assert whole == batch.passages[batch.right[question]]
            assert whole.endswith(batch.passages[passage])
            assert "holds" not in batch.passages[passage]


def test_passages_that_answer_too_are_no_wrong_ones() -> None:
    source = made_source("n", 4)
    first = source.questions[0]
    source.questions[0] = Question(first.text, first.kind, first.language, 0, first.answer, others=(2,))
    source.questions[3] = Question("the same question", "shared", "en", 1, None)
    source.questions[9] = Question("the same question", "shared", "en", 3, None)
    (batch,) = epoch([source], Recipe(passages=4, cut=0))
    barred = {text: {batch.passages[at] for at in batch.barred[number]} for number, text in enumerate(batch.questions)}
    texts = [passage.text for passage in source.passages]
    right = {batch.passages[batch.right[at]] for at, text in enumerate(batch.questions) if text == "the same question"}
    assert barred[first.text] == {texts[2]}
    assert right == {texts[1], texts[3]} == barred["the same question"] | right
    assert all(batch.right[at] not in others for at, others in enumerate(batch.barred))


def test_a_passage_that_two_files_have_is_in_a_step_once() -> None:
    for batch in epoch([made_source("n", 4), made_source("n", 4)], Recipe(passages=8, cut=0)):
        assert len(batch.passages) == len(set(batch.passages)) == 4
        assert {text.split()[0] for text in batch.questions} == {text.split()[0] for text in batch.passages}
        assert all(
            text.split()[0] == batch.passages[right].split()[0]
            for text, right in zip(batch.questions, batch.right, strict=True)
        )


@pytest.mark.parametrize(
    ("text", "answer", "left"),
    [
        ("Water on Monday. Feed in spring.", "Monday", "Feed in spring."),
        ("월요일에 물을 준다. 비료는 봄에만.", "비료는 봄에만", "월요일에 물을 준다. "),
        ("- salt: 2 g\n- oil: 5 g\n- rice", "5 g", "- salt: 2 g\n- rice"),
        ("Only this.", "this", None),
        ("Monday it is. Yes, Monday.", "Monday", None),
    ],
)
def test_an_answer_is_taken_out_with_its_sentence(text: str, answer: str, left: str | None) -> None:
    begin = text.index(answer)
    question = Question("?", "shared", "en", 0, (begin, begin + len(answer)))
    assert without_answer(Passage("", (), text), question) == left


# --- the data that is carried -----------------------------------------------------------------------------------------


def carried() -> Iterator[tuple[Path, list[dict[str, Any]]]]:
    for path in source_files([DATA]):
        yield path, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_the_data_card_counts_what_is_there() -> None:
    told = dict(re.findall(r"^\| `([\w/.]+)` \| ([\d, |]+) \|", CARD, re.MULTILINE))
    counted = {}
    for path, rows in carried():
        passages = sum(2 if "a" in row else 1 for row in rows)
        languages = Counter(question["lang"] for row in rows for question in row["questions"])
        name = path.relative_to(DATA).as_posix()
        counts = (passages, languages.total(), languages["ko"], languages["en"])
        counted[name] = " | ".join(f"{count:,}" for count in counts)
    assert told == counted


def test_the_data_that_is_carried_can_be_read() -> None:
    read = 0
    for path, rows in carried():
        if path.name.endswith(".questions.jsonl"):
            with pytest.raises(CheckoutMissing):
                read_source(path)
            continue
        read += len(read_source(path).questions)
        assert all({*row} & {"text", "a"} for row in rows)
    assert read > 8_000


def test_others_texts_and_what_is_held_out_are_not_carried() -> None:
    for path in DATA.rglob("*.passages.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert not {"text", "a", "b"} & {*json.loads(line)}
            assert f"{json.loads(line)['repository']}` at `{json.loads(line)['commit']}" in CARD
    names = {path.name.partition(".")[0] for path in DATA.rglob("*.jsonl")}
    assert not names & {"n4", "d1", "t8"}
    assert not [row["id"] for path, rows in carried() for row in rows if row["id"].startswith(("n4-", "t8-"))]


def test_the_card_of_the_model_tells_of_the_update_that_is_carried() -> None:
    sha256 = hashlib.sha256(UPDATE_FILE.read_bytes()).hexdigest()
    assert f"`{sha256[:16]}…`" in (CHECKOUT / "docs/models.md").read_text(encoding="utf-8")


# --- ten steps --------------------------------------------------------------------------------------------------------

ANIMALS = {"a": "bad", "b": "cab", "c": "dab", "d": "fed", "e": "gag", "f": "had", "g": "hid", "h": "big"}


@pytest.fixture
def tiny_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The arguments of a training of a tiny encoder of random weights, on eight passages of two words."""
    monkeypatch.setattr(tiny, "POSITIONS", 40)
    tiny.tiny_weights(tmp_path / "weights.bin")
    rows = []
    for letter, word in ANIMALS.items():
        questions = [
            {"q": question, "lang": "en", "kind": kind, "answer": word}
            for kind, question in (("keyword", letter * 2), ("shared", f"{letter} {letter * 3}"))
        ]
        rows.append({"id": letter, "title": f"{letter}{letter}", "text": f"{word} {letter}", "questions": questions})
    written(tmp_path / "made.jsonl", *rows)
    files = ["--base", "weights.bin", "--data", "made.jsonl", "--out", "update.npz", "--cache", "cache"]
    settings = ["--steps", "10", "--rate", ".01", "--passages", "8", "--cut", "0", "--rank", "4"]
    monkeypatch.chdir(tmp_path)
    return [*files, *settings, "--precision", "float32", "--threads", "1", "--device", "cpu"]


def trained(arguments: Sequence[str]) -> int:
    return importlib.import_module("training.__main__").main(arguments)


def recorded(name: str = "update.json") -> dict[str, Any]:
    return json.loads(Path(name).read_text(encoding="utf-8"))


@needs_torch
def test_neighbours_are_what_questions_are_near_and_do_not_answer_them(tmp_path: Path) -> None:
    tiny.tiny_weights(tmp_path / "weights.bin")
    torch, neighbours = importlib.import_module("torch"), importlib.import_module("training.neighbours").neighbours
    base = importlib.import_module("training.base").open_base(tmp_path / "weights.bin", tmp_path / "cache", print)
    encoder = importlib.import_module("training.encoder").Encoder(base.weights, 4, torch.float32)
    passages = [Passage("", (), f"{word} {letter}") for letter, word in ANIMALS.items()]
    questions = [Question(letter * 2, "keyword", "en", at, None, (at - 1,)) for at, letter in enumerate(ANIMALS) if at]
    found = neighbours(encoder, base, Source("made", "", passages, questions, []))
    with torch.inference_mode():
        asked = encoder([base.question_ids(question.text) for question in questions])
        held = encoder([base.passage_ids(passage.encoded_text()) for passage in passages])
    unit = [
        torch.nn.functional.normalize(torch.stack([one.mean(0) for one in states]), dim=-1) for states in (asked, held)
    ]
    for question, cosines in zip(questions, (unit[0] @ unit[1].T).tolist(), strict=True):
        wrong = [at for at in range(len(passages)) if at not in (question.passage, *question.others)]
        assert found[question.passage] == sorted(wrong, key=lambda at: -cosines[at])
    assert found[0] == []
    assert neighbours(encoder, base, made_source("t", 4, twins=True)) == []


@needs_torch
def test_ten_steps_lower_the_loss(tiny_training: list[str]) -> None:
    held_out = with_question(answer="big")["questions"]
    written(Path("apart.jsonl"), {**NOTE, "text": "hide big", "questions": held_out})
    assert trained([*tiny_training, "--steps", "1", "--held-out", "apart.jsonl"]) == 0
    before = recorded()["losses"][0]
    assert recorded()["figures"][-1]["kinds"]["keyword"]["by_tokens"] == [1, 1, 1]
    assert trained(tiny_training) == 0
    after = recorded()["losses"][0]
    assert after["tokens"] < before["tokens"]
    assert after["vector"] < before["vector"]


@needs_torch
def test_worker_processes_change_nothing_and_dropout_is_for_steps_alone(tiny_training: list[str]) -> None:
    assert trained(tiny_training) == 0
    inline = Path("update.npz").read_bytes()
    assert trained([*tiny_training, "--workers", "2"]) == 0
    assert Path("update.npz").read_bytes() == inline
    assert trained([*tiny_training, "--dropout", ".3"]) == 0
    assert Path("update.npz").read_bytes() != inline
    torch, base = importlib.import_module("torch"), importlib.import_module("training.base")
    opened = base.open_base(Path("weights.bin"), Path("cache"), print)
    encoder = importlib.import_module("training.encoder").Encoder(opened.weights, 4, torch.float32, 0.3)
    with encoder.at_rest():
        once, again = (encoder([opened.passage_ids("bad cab")])[0] for _ in range(2))
    assert torch.equal(once, again)
    assert not torch.equal(once, encoder([opened.passage_ids("bad cab")])[0])


@needs_torch
def test_the_model_that_the_update_gives_ranks(tiny_training: list[str]) -> None:
    assert trained([*tiny_training, "--steps", "60"]) == 0
    Path("model").mkdir()
    assemble_encoder(Path("weights.bin"), Path("model"), Path("update.npz"))
    model = EmbeddingModel("tiny", "1", tiny.HIDDEN, 40, has_tokens=True)
    texts = [passage.encoded_text() for passage in read_source(Path("made.jsonl")).passages]
    vectors, tokens = open_installed_embedder(Path("model"), model, threads=1).embed_passages(texts)
    encoder = open_installed_query_encoder(Path("model"), model, optimised=False)
    asked = [encoder.encode(letter * 2) for letter in ANIMALS]
    near = np.array([vectors @ np.frombuffer(each.vector, "<f4") for each in asked])
    rows = [unpacked(each) for each in tokens]
    states = [np.frombuffer(each.tokens or b"", "<f4").reshape(-1, tiny.HIDDEN) for each in asked]
    late = np.array([[(each @ passage.T).max(axis=1).mean() for passage in rows] for each in states])
    for scores in (near, late):
        assert (scores.argmax(axis=1) == np.arange(len(ANIMALS))).sum() >= 6  # by chance one


@needs_torch
def test_a_judge_learns_which_passage_answers_and_goes_on_from_its_file(tiny_training: list[str]) -> None:
    assert trained(tiny_training) == 0
    miss = {"q": "nobody", "lang": "en", "kind": "near_topic"}
    written(Path("apart.jsonl"), {**NOTE, "text": "hide big", "questions": with_question(answer="big")["questions"]})
    rows = [json.loads(line) for line in Path("made.jsonl").read_text(encoding="utf-8").splitlines()]
    written(Path("made.jsonl"), *({**row, "not_here": [miss]} for row in rows))
    began = ["--begin-with", "update.npz", "--judge", "--rank", "6", "--held-out", "apart.jsonl"]
    assert trained([*tiny_training, *began, "--steps", "60", "--out", "judge.npz"]) == 0
    losses = recorded("judge.json")["losses"]
    assert losses[-1]["question"] < losses[0]["question"]
    assert losses[-1]["token"] < losses[0]["token"]
    judge = dict(np.load("judge.npz"))
    assert judge["l0.q.up"].shape == (tiny.HIDDEN, 6)
    assert judge["head.score.weight"].shape == (1, 2 * tiny.HIDDEN)
    (figures,) = recorded("judge.json")["figures"][-1]["judge"].values()
    assert figures["first"] == 1
    again = ["--steps", "0", "--judge", "--begin-with", "judge.npz", "--held-out", "apart.jsonl", "--out", "again.npz"]
    assert trained([*tiny_training, *again]) == 0
    assert Path("again.npz").read_bytes() == Path("judge.npz").read_bytes()


@needs_torch
def test_the_answers_places_are_those_of_its_tokens(tmp_path: Path) -> None:
    tiny.tiny_weights(tmp_path / "weights.bin")
    base = importlib.import_module("training.base").open_base(tmp_path / "weights.bin", tmp_path / "cache", print)
    places = importlib.import_module("training.judge").answer_places
    passage = Passage("bad", (), "cab dab fed")
    begin, end = places(base, passage, Question("?", "keyword", "en", 0, (4, 7)))
    whole = base.passage_ids(passage.encoded_text())
    assert whole[begin:end] == whole[len(base.passage_ids("bad\ncab")) : len(base.passage_ids("bad\ncab dab"))]
    assert places(base, passage, Question("?", "keyword", "en", 0, None)) is None


@needs_torch
def test_what_is_trained_is_what_is_merged(tiny_training: list[str]) -> None:
    assert trained(tiny_training) == 0
    update = dict(np.load("update.npz"))
    base = read_weights(Path("weights.bin"))
    merged = with_update(base, Path("update.npz"))
    shape = (tiny.INNER, tiny.HIDDEN)
    added = update["l1.fi.up"].astype(np.float32) @ update["l1.fi.down"].astype(np.float32)
    assert abs(added).max() > 0
    np.testing.assert_allclose(merged.matrix("l1.fi.w", *shape), base.matrix("l1.fi.w", *shape) + added, atol=1e-5)
    np.testing.assert_allclose(merged.vector("l1.oln.w", tiny.HIDDEN), update["l1.oln.w"], atol=1e-6)


@needs_torch
def test_a_share_is_the_average_with_the_base(tiny_training: list[str]) -> None:
    assert trained(tiny_training) == 0
    half = ["--steps", "0", "--begin-with", "update.npz", "--share", ".5", "--out", "half.npz", "--base", "weights.bin"]
    assert trained([*half, "--cache", "cache"]) == 0
    base, whole, averaged = read_weights(Path("weights.bin")), dict(np.load("update.npz")), dict(np.load("half.npz"))
    both = with_update(base, Path("update.npz")), with_update(base, Path("half.npz"))
    shape = (tiny.HIDDEN, tiny.HIDDEN)
    mean = (base.matrix("l0.q.w", *shape) + both[0].matrix("l0.q.w", *shape)) / 2
    np.testing.assert_allclose(both[1].matrix("l0.q.w", *shape), mean, atol=1e-3)
    mean = (base.vector("l0.aln.w", tiny.HIDDEN) + whole["l0.aln.w"]) / 2
    np.testing.assert_allclose(averaged["l0.aln.w"], mean, atol=2e-3)


@needs_torch
def test_an_interrupted_training_ends_as_one_that_was_not(
    tiny_training: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = importlib.import_module("training.run")
    assert trained(tiny_training) == 0
    whole, told = Path("update.npz").read_bytes(), recorded()
    step, taken = run._step, []

    def interrupted(*parts: Any) -> dict[str, float]:
        taken.append(1)
        if len(taken) == 4:
            os.kill(os.getpid(), signal.SIGTERM)
        return step(*parts)

    monkeypatch.setattr(run, "_step", interrupted)
    assert trained(tiny_training) == 130
    assert trained([*tiny_training, "--rate", ".02"]) == 1
    assert "another training: rate" in capsys.readouterr().err
    monkeypatch.setattr(run, "_step", step)
    assert Path("update.checkpoint").is_file()
    assert trained(tiny_training) == 0
    assert not Path("update.checkpoint").exists()
    assert Path("update.npz").read_bytes() == whole
    assert {**recorded(), "hours": 0} == {**told, "hours": 0}


@needs_torch
def test_what_was_learned_is_written_before_the_last_step(
    tiny_training: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = importlib.import_module("training.run")
    step, taken = run._step, []

    def failing(*parts: Any) -> dict[str, float]:
        taken.append(1)
        if len(taken) == 7:
            raise KeyboardInterrupt
        return step(*parts)

    monkeypatch.setattr(run, "_step", failing)
    assert trained([*tiny_training, "--look", "3"]) == 130
    early = Path("update.npz").read_bytes()
    monkeypatch.setattr(run, "_step", step)
    assert trained([*tiny_training, "--fresh"]) == 0
    assert Path("update.npz").read_bytes() != early


@needs_torch
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--data", "nowhere.jsonl"], "nowhere.jsonl: there is no such file"),
        (["--begin-with", "made.jsonl"], "made.jsonl: this is no update"),
        (["--base", "made.jsonl"], "is not a 4-bit e5 weight file"),
        (["--held-out", "made.jsonl"], "is in made.jsonl too"),
        (["--rate", "1e30", "--look", "9"], "the loss is no number"),
        (["--rate", "1e30"], "numbers that are too large for float16"),
    ],
)
def test_what_cannot_be_trained_is_told(
    arguments: list[str], problem: str, tiny_training: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained([*tiny_training, *arguments]) == 1
    assert problem in capsys.readouterr().err
    assert not Path("update.npz").exists()
