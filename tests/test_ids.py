"""Ids: the published vectors of BLAKE3 and RFC 8785, the impact matrix, and that spelling never matters."""

from __future__ import annotations

import json
import os
import struct
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.domain import ids
from kb.domain.ids import Json, canonical_json, content_hash, id_from
from kb.domain.text import to_posix

needs_vectors = pytest.mark.skipif("KB_DATA" not in os.environ, reason="KB_DATA names no folder of published vectors")

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-(2.0**52), 2.0**52)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


def vectors(name: str) -> Path:
    return Path(os.environ["KB_DATA"]) / "vectors" / name


@needs_vectors
def test_blake3_published_vectors() -> None:
    cases = json.loads(vectors("blake3/test_vectors.json").read_text(encoding="utf-8"))["cases"]
    for case in cases:
        data = bytes(index % 251 for index in range(case["input_len"]))
        assert content_hash(data) == case["hash"][:64], case["input_len"]
    assert len(cases) >= 30


@needs_vectors
def test_rfc8785_published_vectors() -> None:
    outputs = sorted(vectors("jcs/output").iterdir())
    assert len(outputs) == 6
    for output in outputs:
        expected = output.read_bytes()
        value = json.loads((vectors("jcs/input") / output.name).read_text(encoding="utf-8"))
        assert rfc8785.dumps(value) == expected, output.name
        normal = unicodedata.normalize("NFC", expected.decode("utf-8"))
        if normal.encode("utf-8") == expected:
            assert canonical_json(value) == expected, output.name
        else:  # RFC 8785 leaves strings as they are; an id is the same however its letters are composed
            assert json.loads(canonical_json(value)) == json.loads(normal), output.name


@needs_vectors
def test_rfc8785_published_numbers() -> None:
    cases = [json.loads(line) for line in vectors("jcs_numbers.jsonl").read_text(encoding="utf-8").splitlines()]
    for case in cases:
        (number,) = struct.unpack(">d", bytes.fromhex(case["ieee754_hex"]))
        assert canonical_json(number).decode("ascii") == case["json"]
    assert len(cases) >= 20


def test_blake3_of_nothing_and_of_one_byte() -> None:
    assert content_hash(b"") == "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
    assert content_hash(b"\0") == "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"b": 1, "a": [True, None, "x"]}, '{"a":[true,null,"x"],"b":1}'),
        ({"€": 1, "\r": 2, "1": 3, "😀": 4, "ö": 5}, '{"\\r":2,"1":3,"ö":5,"€":1,"😀":4}'),
        ('\u20ac$\u000f\nA\'B"\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\"/"'),
        ([333333333.33333329, 1e30, 4.50, 2e-3, 1e-27], "[333333333.3333333,1e+30,4.5,0.002,1e-27]"),
        ([-0.0, 1.0, 1e21, 9007199254740991], "[0,1,1e+21,9007199254740991]"),
        ("한글", '"한글"'),
        (unicodedata.normalize("NFD", "한글"), '"한글"'),
        ({unicodedata.normalize("NFD", "키"): 1}, '{"키":1}'),
    ],
)
def test_canonical_json(value: Json, expected: str) -> None:
    assert canonical_json(value).decode("utf-8") == expected


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53 + 1, -(2**60)])
def test_canonical_json_refuses_what_json_cannot_hold_exactly(value: Json) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the type is the promise)
        canonical_json(value)


@given(json_values)
def test_canonical_json_reads_back_as_the_same_value(value: Json) -> None:
    again = json.loads(canonical_json(value))
    assert canonical_json(again) == canonical_json(value)


@given(
    st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=8), json_values, min_size=2),
    st.randoms(),
)
@settings(max_examples=30)
def test_key_order_does_not_matter(value: dict[str, Json], random: object) -> None:
    keys = list(value)
    random.shuffle(keys)  # type: ignore[attr-defined]
    assert id_from({key: value[key] for key in keys}) == id_from(value)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_composition_of_letters_does_not_matter(text: str) -> None:
    forms = {id_from({"kind": "x", "text": unicodedata.normalize(form, text)}) for form in ("NFC", "NFD")}
    assert forms == {id_from({"kind": "x", "text": text})}


def test_ids_are_what_they_were() -> None:
    """A changed recipe would orphan every stored id: these literals may never change."""
    assert Chain().links() == {
        "asset": "2f41e9c9b0af802d92d730b3d4595b77",
        "doc": "24fa17271b2088b0ef59df1132fd0ac2",
        "block": "58da21ab5aa76df71cd882e07efbb752",
        "chunk": "91897c8e15cba9bf64e3c7d5822c8f2b",
        "embedding": "487c8afd4625829a8b33beb67b87ee81",
    }


@dataclass(frozen=True)
class Chain:
    """Everything that the ids of one passage are made of."""

    content: bytes = b"# one\n"
    path: str = "notes/a.md"
    parser_version: str = "parser-v1"
    ordinal: int = 0
    chunker_version: str = "chunker-v1"
    policy_hash: str = "p1"
    model: str = "e5"
    model_version: str = "v1"
    dimensions: int = 384

    def links(self) -> dict[str, str]:
        asset = ids.asset_id(content_hash(self.content))
        doc = ids.document_id(to_posix(self.path), asset, self.parser_version)
        block = ids.block_id(doc, "heading", ["A"], self.ordinal, {"kind": "line", "start": 1, "end": 1})
        chunk = ids.chunk_id(doc, self.chunker_version, [block], self.policy_hash)
        embedding = ids.embedding_id(chunk, self.model, self.model_version, self.dimensions)
        return {"asset": asset, "doc": doc, "block": block, "chunk": chunk, "embedding": embedding}


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        ({"content": b"# two\n"}, "asset doc block chunk embedding"),
        ({"path": "notes/b.md"}, "doc block chunk embedding"),
        ({"parser_version": "parser-v2"}, "doc block chunk embedding"),
        ({"ordinal": 1}, "block chunk embedding"),
        ({"chunker_version": "chunker-v2"}, "chunk embedding"),
        ({"policy_hash": "p2"}, "chunk embedding"),
        ({"model": "bge"}, "embedding"),
        ({"model_version": "v2"}, "embedding"),
        ({"dimensions": 1024}, "embedding"),
        ({}, ""),
        ({"path": "./notes//a.md"}, ""),
    ],
)
def test_a_change_moves_exactly_the_ids_below_it(change: dict[str, object], moved: str) -> None:
    before, after = Chain().links(), replace(Chain(), **change).links()  # type: ignore[arg-type]
    assert {name for name in before if before[name] != after[name]} == set(moved.split())


_PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(_PLAIN)
def test_what_json_writes_of_plain_values_is_the_canonical_form(value: Json) -> None:
    normal = json.loads(unicodedata.normalize("NFC", json.dumps(value, ensure_ascii=False)))
    if json.dumps(normal, ensure_ascii=False) == json.dumps(value, ensure_ascii=False):
        assert canonical_json(value) == rfc8785.dumps(value)
