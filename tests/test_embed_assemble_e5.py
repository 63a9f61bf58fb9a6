"""A tiny e5 of random weights: its file read, assembled to ONNX, and compared with the same network in numpy."""

from __future__ import annotations

import math
import shutil
from pathlib import Path

import numpy as np
import pytest
from answer_passages import passage
from e5_models import HEADS, HIDDEN, INNER, LAYERS, MODEL, OUTSIZED, PIECES, POSITIONS, Floats, tiny_weights

from kb.assemble import e5_graph
from kb.assemble.e5_graph import assemble_encoder, channel_scales, int8_columns, neuron_apart
from kb.assemble.e5_weights import read_weights, with_update
from kb.assemble.onnx_writer import FLOAT, INT64, GraphWriter
from kb.domain.search import Sentence
from kb.embed.installed.encoder import (
    MODEL_FILE,
    STATES,
    TOKEN_IDS,
    WEIGHTS_FILE,
    open_installed_embedder,
    open_installed_query_encoder,
)
from kb.embed.installed.judge import JUDGE_WEIGHTS_FILE, open_installed_judge
from kb.embed.passage_tokens import packed_tokens, unpacked
from kb.errors import ModelCorrupt


def forward(tensors: dict[str, Floats], ids: list[int]) -> Floats:
    """The tokens' mean of the network, in float32 throughout."""
    mean: Floats = states(tensors, ids).mean(axis=0)
    return mean


def states(tensors: dict[str, Floats], ids: list[int]) -> Floats:
    """float32[n, hidden] of the network's last layer, in float32 throughout."""

    def norm(values: Floats, name: str) -> Floats:
        centred = values - values.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + 1e-12)
        return centred / deviation * tensors[f"{name}.w"] + tensors[f"{name}.b"]

    def linear(values: Floats, name: str) -> Floats:
        return values @ tensors[f"{name}.w"].T + tensors[f"{name}.b"]

    hidden = norm(tensors["emb.word"][ids] + tensors["emb.pos"][: len(ids)] + tensors["emb.type"][0], "emb.ln")
    width = HIDDEN // HEADS
    for layer in (f"l{index}." for index in range(LAYERS)):
        query, key, value = (
            linear(hidden, layer + part).reshape(len(ids), HEADS, width).swapaxes(0, 1) for part in ("q", "k", "v")
        )
        scores = np.exp(query @ key.swapaxes(1, 2) / math.sqrt(width))
        context = (scores / scores.sum(axis=-1, keepdims=True)) @ value
        hidden = norm(hidden + linear(context.swapaxes(0, 1).reshape(len(ids), HIDDEN), layer + "ao"), layer + "aln")
        inner = linear(hidden, layer + "fi")
        inner = 0.5 * inner * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        hidden = norm(hidden + linear(inner.astype(np.float32), layer + "fo"), layer + "oln")
    return hidden


@pytest.fixture(scope="module")
def assembled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Floats]]:
    directory = tmp_path_factory.mktemp("e5")
    tensors = tiny_weights(directory / "weights.bin")
    assemble_encoder(directory / "weights.bin", directory, None)
    return directory, tensors


def test_graph_computes_the_network(assembled: tuple[Path, dict[str, Floats]]) -> None:
    directory, tensors = assembled
    embedder = open_installed_embedder(directory, MODEL, threads=1)
    texts = ["abc", "한국어 a", "j"]
    got = embedder.embed(texts, "query")
    for text, vector in zip(texts, got, strict=True):
        (ids,) = embedder._token_ids([text], "query")
        wanted = forward(tensors, [0, *ids, 2])
        assert float(vector @ wanted) / float(np.linalg.norm(wanted)) > 0.999


def test_int8_weights_cannot_saturate_a_sum_of_16_bits(assembled: tuple[Path, dict[str, Floats]]) -> None:
    _, tensors = assembled
    matrix = tensors["l0.fi.w"].copy()
    matrix[3] = 0
    columns, scales = int8_columns(matrix)
    assert columns.shape == matrix.shape[::-1]
    assert 2 * 255 * int(np.abs(columns.astype(int)).max()) < 2**15
    np.testing.assert_allclose(columns.T * scales[:, None], matrix, atol=scales.max() / 2 * 1.001)


def disagreement(directory: Path, tensors: dict[str, Floats]) -> float:
    """1 − the cosine of a text's vector to the network in float32, of the weights below `directory`."""
    assemble_encoder(directory / "weights.bin", directory, None)
    embedder = open_installed_embedder(directory, MODEL, threads=1)
    (ids,) = embedder._token_ids(["abcdef"], "query")
    wanted = forward(tensors, [0, *ids, 2]).astype(np.float64)
    vector = embedder.embed(["abcdef"], "query")[0].astype(np.float64)
    return 1 - float(vector @ wanted) / float(np.linalg.norm(vector) * np.linalg.norm(wanted))


def test_a_neuron_of_outsized_weights_is_computed_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tensors = tiny_weights(tmp_path / "weights.bin", outsized=True)
    assert neuron_apart(tensors["l1.fo.w"]) == OUTSIZED
    assert neuron_apart(tensors["l0.fo.w"]) is None
    apart = disagreement(tmp_path, tensors)
    monkeypatch.setattr(e5_graph, "neuron_apart", lambda contract: None)
    assert apart < disagreement(tmp_path, tensors) / 2


def test_a_channel_that_outgrows_the_others_takes_no_steps_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = tiny_weights(tmp_path / "weights.bin", outsized=True)
    scales = channel_scales(tensors["l0.aln.w"], tensors["l0.aln.b"])
    assert (int(scales.argmax()), float(scales.max())) == (OUTSIZED, 8.0)
    assert float(np.median(scales)) == float(scales.min()) == 1.0
    divided = disagreement(tmp_path, tensors)
    monkeypatch.setattr(e5_graph, "channel_scales", lambda weight, bias: np.ones_like(weight))
    assert divided < 0.75 * disagreement(tmp_path, tensors)


def test_long_text_is_the_average_of_its_windows(assembled: tuple[Path, dict[str, Floats]]) -> None:
    directory, tensors = assembled
    embedder = open_installed_embedder(directory, MODEL, threads=1)
    text = "abcdefghijabcdefghij"
    (ids,) = embedder._token_ids([text], "passage")
    content = POSITIONS - 2
    cut = [ids[start : start + content] for start in range(0, len(ids), content)]
    assert len(cut) == 3
    wanted = sum(forward(tensors, [0, *window, 2]) * len(window) for window in cut)
    (vector,) = embedder.embed([text], "passage")
    assert float(vector @ wanted) / float(np.linalg.norm(wanted)) > 0.999
    assert embedder.count_tokens([text], "passage") == [len(ids) + 2]


@pytest.mark.parametrize("optimised", [False, True])
def test_query_encoder_agrees_with_the_embedder(assembled: tuple[Path, dict[str, Floats]], optimised: bool) -> None:
    directory, _ = assembled
    encoder = open_installed_query_encoder(directory, MODEL, optimised=optimised)
    single = np.frombuffer(encoder.encode("한국어\nabc").vector, "<f4")
    assert float(single @ open_installed_embedder(directory, MODEL, 1).embed(["한국어\nabc"], "query")[0]) > 0.99999


def rows(data: bytes | None) -> Floats:
    return np.frombuffer(data or b"", "<f4").reshape(-1, HIDDEN)


def unit(values: Floats) -> Floats:
    scaled: Floats = values / np.linalg.norm(values, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize("optimised", [False, True])
def test_the_tokens_of_a_question_are_its_own(assembled: tuple[Path, dict[str, Floats]], optimised: bool) -> None:
    directory, tensors = assembled
    encoder = open_installed_query_encoder(directory, MODEL, optimised=optimised)
    ids = encoder.tokens.token_ids("query: abc")
    wanted = unit(states(tensors, [0, *ids, 2])[4:-1])
    got = rows(encoder.encode("abc").tokens)
    assert got.shape == wanted.shape
    assert (got * wanted).sum(axis=1).min() > 0.998
    np.testing.assert_allclose(np.linalg.norm(got, axis=1), 1, atol=1e-5)


def test_a_long_question_has_the_tokens_of_all_its_windows(assembled: tuple[Path, dict[str, Floats]]) -> None:
    directory, _ = assembled
    encoder = open_installed_query_encoder(directory, MODEL, optimised=False)
    text = "abcdefghijabcdefghij"
    assert len(rows(encoder.encode(text).tokens)) == len(encoder.tokens.token_ids(f"query: {text}")) - 3


def test_passages_have_their_vectors_and_the_tokens_of_the_same_pass(assembled: tuple[Path, dict[str, Floats]]) -> None:
    directory, tensors = assembled
    embedder = open_installed_embedder(directory, MODEL, threads=1)
    texts = ["abc", "한국어 a", "", "abcdefghijabcdefghij"]
    vectors, kept = embedder.embed_passages(texts)
    assert vectors.tobytes() == embedder.embed(texts, "passage").tobytes()
    for text, tokens in zip(texts, kept, strict=True):
        (ids,) = embedder._token_ids([text], "passage")
        size = POSITIONS - 2
        cut = [ids[start : start + size] for start in range(0, max(len(ids), 1), size)]
        wanted = packed_tokens(np.concatenate([states(tensors, [0, *window, 2]) for window in cut]))
        assert tokens.count == wanted.count
        assert (unpacked(tokens) * unpacked(wanted)).sum(axis=1).min() > 0.98


def test_a_graph_of_an_earlier_kb_gives_its_vectors_and_no_tokens(
    assembled: tuple[Path, dict[str, Floats]], tmp_path: Path
) -> None:
    directory, tensors = assembled
    shutil.copytree(directory, tmp_path, dirs_exist_ok=True)
    graph = GraphWriter()
    graph.tensor("table", tensors["emb.word"])
    graph.node("Gather", ["table", TOKEN_IDS], STATES)
    batch = ("batch", "sequence")
    model = graph.model([(TOKEN_IDS, INT64, batch)], [(STATES, FLOAT, (*batch, HIDDEN))], e5_graph.OPSETS)
    (tmp_path / MODEL_FILE).write_bytes(model)
    earlier = MODEL._replace(has_tokens=False)
    encoder = open_installed_query_encoder(tmp_path, earlier, optimised=False)
    vector, tokens = encoder.encode("abc")
    wanted = tensors["emb.word"][[0, *encoder.tokens.token_ids("query: abc"), 2]].mean(axis=0)
    np.testing.assert_allclose(np.frombuffer(vector, "<f4"), wanted / np.linalg.norm(wanted), atol=1e-6)
    assert tokens is None
    bulk = open_installed_embedder(tmp_path, earlier, threads=1).embed(["abc"], "query")
    np.testing.assert_allclose(bulk[0], np.frombuffer(vector, "<f4"), atol=1e-6)


def test_no_texts_have_no_vectors(assembled: tuple[Path, dict[str, Floats]]) -> None:
    embedder = open_installed_embedder(assembled[0], MODEL, threads=1)
    vectors, tokens = embedder.embed_passages([])
    assert (vectors.shape, tokens) == ((0, HIDDEN), [])


def test_company_and_threads_change_no_bit_of_a_passage(assembled: tuple[Path, dict[str, Floats]]) -> None:
    directory, _ = assembled
    texts = ["abc", "한국어 a", "j", "abcdefghijabcdefghij", "abc"]
    alone, pair = (open_installed_embedder(directory, MODEL, threads) for threads in (1, 2))
    one_by_one = [alone.embed_passages([text]) for text in texts]
    for embedder in (alone, pair):
        vectors, tokens = embedder.embed_passages(texts)
        assert vectors.tobytes() == b"".join(vector.tobytes() for vector, _ in one_by_one)
        assert tokens == [kept for _, (kept,) in one_by_one]


def test_an_update_is_added_to_the_matrices_and_takes_the_place_of_the_norms(tmp_path: Path) -> None:
    tensors = tiny_weights(tmp_path / "weights.bin")
    random = np.random.default_rng(3)
    up, down = (random.normal(size=shape, scale=0.2).astype(np.float16) for shape in ((INNER, 4), (4, HIDDEN)))
    norm = random.normal(size=HIDDEN).astype(np.float16)
    learned = {"l0.fi.up": up, "l0.fi.down": down, "l1.oln.w": norm}
    np.savez(tmp_path / "update.npz", **learned)
    base = read_weights(tmp_path / "weights.bin")
    merged = with_update(base, tmp_path / "update.npz")
    tensors["l0.fi.w"] = tensors["l0.fi.w"] + up.astype(np.float32) @ down.astype(np.float32)
    tensors["l1.oln.w"] = norm.astype(np.float32)
    for name, shape in (("l0.fi.w", (INNER, HIDDEN)), ("l0.q.w", (HIDDEN, HIDDEN))):
        np.testing.assert_allclose(merged.matrix(name, *shape), tensors[name], rtol=1e-6)
    np.testing.assert_array_equal(merged.vector("l1.oln.w", HIDDEN), tensors["l1.oln.w"])
    np.testing.assert_array_equal(merged.vector("l0.oln.w", HIDDEN), base.vector("l0.oln.w", HIDDEN))
    assemble_encoder(tmp_path / "weights.bin", tmp_path, tmp_path / "update.npz")
    embedder = open_installed_embedder(tmp_path, MODEL, threads=1)
    (ids,) = embedder._token_ids(["abc"], "query")
    wanted = forward(tensors, [0, *ids, 2])
    assert float(embedder.embed(["abc"], "query")[0] @ wanted) / float(np.linalg.norm(wanted)) > 0.999


@pytest.fixture(scope="module")
def with_judge(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Floats]]:
    """The files of an encoder with a judge, and the tensors of the latter."""
    directory = tmp_path_factory.mktemp("judge")
    tensors = tiny_weights(directory / "weights.bin", positions=32)
    random = np.random.default_rng(5)
    up, down = (random.normal(size=shape, scale=0.2).astype(np.float16) for shape in ((INNER, 4), (4, HIDDEN)))
    heads = {"head.token.weight": (1, HIDDEN), "head.token.bias": 1, "head.score.weight": (1, 2 * HIDDEN)}
    heads |= {"head.score.bias": 1}
    drawn = {name: random.normal(size=shape).astype(np.float32) for name, shape in heads.items()}
    np.savez(directory / "judge.npz", **{"l0.fi.up": up, "l0.fi.down": down}, **drawn)
    assemble_encoder(directory / "weights.bin", directory, None, directory / "judge.npz")
    return directory, {**tensors, **drawn, "l0.fi.w": tensors["l0.fi.w"] + up.astype(np.float32) @ down}


def test_a_judge_scores_a_passage_and_its_sentences(with_judge: tuple[Path, dict[str, Floats]]) -> None:
    directory, tensors = with_judge
    judge = open_installed_judge(directory)
    assert judge is not None
    text = "abc. de f."
    given = passage(1, text)._replace(title="", heading_path_json="[]")
    asked, read = (judge.tokens.token_ids(part) for part in ("query: j", f"passage: {text}"))
    last = states(tensors, [0, *asked, 2, *read, 2])
    of_passage = last[2 + len(asked) : -1]
    logits = of_passage @ tensors["head.token.weight"][0] + tensors["head.token.bias"]
    shares = np.exp(logits) / np.exp(logits).sum()
    score = tensors["head.score.weight"][0] @ np.concatenate([last[0], shares @ of_passage])
    parts = [Sentence(1, start, end, text[start:end]) for start, end in ((0, 4), (5, 10))]
    got, again = judge.read("j", given, parts), judge.read("j", given, ())
    assert (again.score, again.sentences) == (got.score, ())
    assert got.score == pytest.approx(float(score + tensors["head.score.bias"][0]), abs=0.5)
    at = len(judge.tokens.token_ids("passage: abc."))
    wanted = [float(np.sort(part)[-5:].mean()) for part in (logits[at - 4 : at], logits[at:])]
    assert got.sentences == pytest.approx(wanted, abs=0.3)


def test_the_judge_shares_the_table_of_the_vocabulary(with_judge: tuple[Path, dict[str, Floats]]) -> None:
    directory, _ = with_judge
    table = read_weights(directory / "weights.bin").packed("emb.word", len(PIECES), HIDDEN)[0].tobytes()
    assert table in (directory / WEIGHTS_FILE).read_bytes() + (directory / MODEL_FILE).read_bytes()
    assert table not in (directory / JUDGE_WEIGHTS_FILE).read_bytes()


def test_an_encoder_of_an_earlier_kb_has_no_judge(assembled: tuple[Path, dict[str, Floats]]) -> None:
    directory, _ = assembled
    assert open_installed_judge(directory) is None


def test_a_file_that_is_no_update_is_corrupt(tmp_path: Path) -> None:
    tiny_weights(tmp_path / "weights.bin")
    (tmp_path / "update.npz").write_bytes(b"PK and no more")
    with pytest.raises(ModelCorrupt, match=r"update\.npz"):
        with_update(read_weights(tmp_path / "weights.bin"), tmp_path / "update.npz")


@pytest.mark.parametrize("kept", [0, 3, 60, 400, -1])
def test_cut_weight_file_is_corrupt(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "weights.bin"
    tiny_weights(path)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelCorrupt, match="weight file"):
        read_weights(path)


def test_damaged_graph_is_corrupt(assembled: tuple[Path, dict[str, Floats]], tmp_path: Path) -> None:
    directory, _ = assembled
    (tmp_path / "vocabulary.bin").write_bytes((directory / "vocabulary.bin").read_bytes())
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx/model.onnx").write_bytes((directory / "onnx/model.onnx").read_bytes()[:-5000])
    with pytest.raises(ModelCorrupt, match=r"model\.onnx") as caught:
        open_installed_embedder(tmp_path, MODEL, threads=1)
    assert caught.value.hint == "run `kb models install --force tiny`"
    (tmp_path / "onnx/model.onnx").write_bytes((directory / "onnx/model.onnx").read_bytes())
    (tmp_path / "vocabulary.bin").write_bytes(b"KBV")
    with pytest.raises(ModelCorrupt, match=r"vocabulary\.bin"):
        open_installed_embedder(tmp_path, MODEL, threads=1)
