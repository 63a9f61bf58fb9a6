"""Bytes become text in every encoding that notes come in; frontmatter is optional in every part."""

from __future__ import annotations

import json

import pytest

from kb.domain.documents import Metadata
from kb.extract.decode import decode
from kb.extract.markdown.frontmatter import MAX_FRONTMATTER_CHARS, Frontmatter, read_frontmatter

KOREAN = "# 회의록\n\n오늘은 검색 엔진의 색인 구조를 살펴보았다. 다음 주에 다시 만나기로 했습니다.\n"
ENGLISH = "# Minutes\n\nNothing was decided.\n"


@pytest.mark.parametrize("text", [KOREAN, ENGLISH, KOREAN + ENGLISH, "가", "a", ""])
@pytest.mark.parametrize(
    ("encoding", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", b"\xef\xbb\xbf"),
        ("utf-16-le", b"\xff\xfe"),
        ("utf-16-be", b"\xfe\xff"),
        ("utf-32-le", b"\xff\xfe\0\0"),
        ("utf-32-be", b"\0\0\xfe\xff"),
    ],
)
def test_unicode_encodings(text: str, encoding: str, mark: bytes) -> None:
    decoded = decode(mark + text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, encoding, ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [KOREAN, ENGLISH])
def test_utf16_without_a_mark(encoding: str, text: str) -> None:
    decoded = decode(text.encode(encoding))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, encoding, ())


@pytest.mark.parametrize("text", [KOREAN, KOREAN + ENGLISH, ENGLISH * 50 + "끝", "똠방각하와 펲시콜라를 마신 이야기"])
def test_cp949(text: str) -> None:
    decoded = decode(text.encode("cp949"))
    assert (decoded.text, decoded.encoding, decoded.warnings) == (text, "cp949", ())


def test_western_8_bit_text_is_not_taken_for_korean() -> None:
    decoded = decode("L'été à Noël, déjà vu à l'hôtel.".encode("latin-1"))
    assert decoded.encoding == "utf-8"
    assert decoded.text.startswith("L'\ufffdt\ufffd")
    assert [warning.kind for warning in decoded.warnings] == ["encoding_fallback"]


def test_one_bad_byte_in_korean_text_is_replaced_alone() -> None:
    decoded = decode(KOREAN.encode("cp949") + b"\xff" + "끝".encode("cp949"))
    assert decoded.text == KOREAN + "\ufffd끝"
    assert [warning.kind for warning in decoded.warnings] == ["encoding_fallback"]


def test_one_bad_byte_in_utf8_is_replaced_alone() -> None:
    decoded = decode(KOREAN.encode() + b"\xff" + KOREAN.encode())
    assert decoded.text == KOREAN + "\ufffd" + KOREAN
    assert [warning.kind for warning in decoded.warnings] == ["encoding_fallback"]


def test_line_ends_and_nul() -> None:
    assert decode(b"a\r\nb\rc\n\r\nd\0e\r\r\n").text == "a\nb\nc\n\nd\ufffde\n\n"


@pytest.mark.parametrize(
    "data",
    [
        b"plain text with a \0 in it, and more of it",
        b"id\0x",
        b"a few words\0",
        b"name\0value\0more\0",
        "수문 점검\0".encode() + b"12",
        "가\0나\0다".encode() + b"!",
    ],
)
def test_a_stray_nul_does_not_make_utf16(data: bytes) -> None:
    assert (decode(data).encoding, decode(data).text) == ("utf-8", data.decode().replace("\0", "\ufffd"))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["id", "x", "3 rows", "나다 라", "とても よい"])
def test_short_utf16_without_a_mark(encoding: str, text: str) -> None:
    assert (decode(text.encode(encoding)).encoding, decode(text.encode(encoding)).text) == (encoding, text)


def test_text_that_is_not_nfc_stays_as_written() -> None:
    decomposed = "\u1112\u1161\u11ab\u1100\u1173\u11af cafe\u0301"
    assert decode(decomposed.encode()).text == decomposed


def read(yaml_lines: str) -> Frontmatter:
    return read_frontmatter(f"---\n{yaml_lines}\n---\nbody\n")


def test_all_fields() -> None:
    found = read(
        "title: 색인\naliases: [index, 찾아보기]\ntags: [db/sqlite, 검색]\ncreated_at: 2024-01-02\n"
        "updated_at: 2024-01-02T03:04:05+09:00\nsource_type: paper\ntrust_level: secondary\nlang: ko-KR\nid: n-7\n"
        "rating: 4.5\nreviewed: true"
    )
    assert found.title == "색인"
    assert found.lang == "ko"
    assert found.line_count == 13
    assert found.warnings == ()
    assert found.metadata == Metadata(
        aliases=("index", "찾아보기"),
        tags=("db/sqlite", "검색"),
        created_at="2024-01-02T00:00:00Z",
        updated_at="2024-01-01T18:04:05Z",
        source_type="paper",
        trust_level="secondary",
        user_id_alias="n-7",
        user={"rating": 4.5, "reviewed": True},
    )


@pytest.mark.parametrize(
    "text", ["", "# a", "a\n---\nb: c\n---\n", "---\nnever closed: 1\n", "----\na: 1\n---\n", " ---\na: 1\n---"]
)
def test_no_frontmatter(text: str) -> None:
    assert read_frontmatter(text) == Frontmatter()


@pytest.mark.parametrize(("text", "lines"), [("---\n---\na", 2), ("---  \na: 1\n---\t\n", 3), ("---\na: 1\n...\nb", 3)])
def test_line_count(text: str, lines: int) -> None:
    found = read_frontmatter(text)
    assert (found.line_count, found.malformed, found.warnings) == (lines, False, ())


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("[a, b, a]", ("a", "b")),
        ("a, b", ("a", "b")),
        ("a b", ("a", "b")),
        ("'#a #b/c'", ("a", "b/c")),
        ("2024", ("2024",)),
        ("[no, on, 1.5]", ("no", "on", "1.5")),
        ("", ()),
        ("[]", ()),
        ("[null, '', '#']", ()),
        ("[cafe\u0301]", ("café",)),
    ],
)
def test_tags(written: str, tags: tuple[str, ...]) -> None:
    assert read(f"tags: {written}").metadata.tags == tags


@pytest.mark.parametrize(
    ("written", "instant"),
    [
        ("2024-01-02", "2024-01-02T00:00:00Z"),
        ("2024.1.2", "2024-01-02T00:00:00Z"),
        ("2024. 1. 2.", "2024-01-02T00:00:00Z"),
        ("2024/01/02 13:30", "2024-01-02T13:30:00Z"),
        ("2024-01-02 13:30:15", "2024-01-02T13:30:15Z"),
        ("2024-01-02T13:30:15.5Z", "2024-01-02T13:30:15.500000Z"),
        ("20240102", "2024-01-02T00:00:00Z"),
    ],
)
def test_dates(written: str, instant: str) -> None:
    assert read(f"date: {written}").metadata.created_at == instant


@pytest.mark.parametrize(
    "line",
    ["trust_level: best", "source_type: 7", "created: someday", "updated: 2024-13-45", "lang: 5", "title: {a: 1}"],
)
def test_a_bad_value_warns_takes_the_default_and_is_kept(line: str) -> None:
    found = read(line)
    key = line.split(":")[0]
    assert [warning.kind for warning in found.warnings] == ["malformed_frontmatter"]
    assert found.warnings[0].note.startswith(key)
    assert list(found.metadata.user) == [key]
    assert (found.metadata.trust_level, found.metadata.source_type, found.metadata.created_at) == (
        "primary",
        "markdown",
        None,
    )


@pytest.mark.parametrize(
    "yaml_lines",
    [
        "title: [unclosed",
        "title: a: b",
        "- a\n- b",
        "just words",
        "a: !!python/object/apply:os.system [ls]",
        "a: *nothing",
        "a: &a [*a]",
        "? [a, b]\n: {c: &d [*d]}",
        "a: " + "[" * 5000,
        "a: " + "- " * 5000 + "b",
        "a: " + "[" * 100 + "]" * 100,
        "a: &a [x, x]\n"
        + "\n".join(f"{c}: &{c} [*{p}, *{p}, *{p}]" for p, c in zip("abcdefgh", "bcdefghi", strict=True)),
        "a: " + "x" * MAX_FRONTMATTER_CHARS,
        "\t- a: b",
    ],
)
def test_malformed_frontmatter_is_a_warning(yaml_lines: str) -> None:
    found = read(yaml_lines)
    assert found.malformed
    assert found.line_count == yaml_lines.count("\n") + 3
    assert found.metadata == Metadata()
    assert [warning.kind for warning in found.warnings] == ["malformed_frontmatter"]


def test_a_heading_between_two_thematic_breaks_is_no_frontmatter() -> None:
    assert read_frontmatter("---\n\n# A heading\n\n---\nbody\n") == Frontmatter()


def test_paragraphs_between_two_thematic_breaks_stay_markdown() -> None:
    found = read_frontmatter("---\nNot frontmatter\n\nbut text\n\n---\nbody\n")
    assert (found.line_count, found.malformed) == (0, False)
    assert [warning.kind for warning in found.warnings] == ["malformed_frontmatter"]


def test_unknown_values_become_json() -> None:
    found = read(
        "day: 2024-01-02\n1: one\nnothing: null\nnan: .nan\nbig: 123456789012345678901\nset: !!set {b, a}\n"
        "bytes: !!binary aGk=\nnested: {2: [1, {x: .inf}]}\nlike: 'a\\nb'"
    )
    assert found.warnings == ()
    assert json.loads(json.dumps(found.metadata.user, allow_nan=False)) == {
        "day": "2024-01-02",
        "1": "one",
        "nothing": None,
        "nan": "nan",
        "big": "123456789012345678901",
        "set": ["a", "b"],
        "bytes": "6869",
        "nested": {"2": [1, {"x": "inf"}]},
        "like": "a\\nb",
    }
