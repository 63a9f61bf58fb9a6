"""The language rule: what it says of prose, of mixed technical notes, and of queries."""

from __future__ import annotations

import unicodedata

import pytest

from kb.language.detect import detect_language, passage_language, query_language

ENGLISH = (
    "The index is rebuilt when the tokenizer changes, and the old rows are removed in the same transaction so that a "
    "reader never sees half of it. "
)
GERMAN = (
    "Der Index wird neu gebaut, sobald sich der Zerteiler ändert, und alte Zeilen werden dabei gelöscht, damit niemand "
    "einen halben Zustand sieht; danach läuft alles weiter. "
)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (ENGLISH, "en"),
        ("색인은 토크나이저가 바뀌면 다시 만든다.", "ko"),
        ("SQLite FTS5에서 tokenizer를 unicode61로 바꾸면 index를 rebuild 해야 한다.", "ko"),
        ("```python\nimport os\nfor name in os.listdir():\n    print(name)\n```\n폴더의 파일을 모두 출력한다.", "ko"),
        ("자세한 내용은 [여기](https://example.com/a/very/long/path/to/the/documentation/page)를 본다.", "ko"),
        (ENGLISH + "The Korean word for it is 색인.", "en"),
        ("インデックスを作り直す必要があります。", "ja"),
        ("索引需要重新建立。", "zh"),
        ("Индекс строится заново.", "und"),
        ("MongoDB setup", "en"),
        (GERMAN, "und"),
        ("", "und"),
        ("1 + 2 = 3 ...", "und"),
        (unicodedata.normalize("NFD", "색인은 다시 만든다."), "ko"),
    ],
)
def test_detect(text: str, language: str) -> None:
    assert detect_language(text) == language


def test_only_the_beginning_is_judged() -> None:
    assert detect_language(ENGLISH * 200 + "색인은 다시 만든다. " * 5000) == "en"


@pytest.mark.parametrize(
    ("passage", "document", "language"),
    [
        ("`kb index --rebuild-fts`", "ko", "ko"),
        ("OK", "ko", "ko"),
        (ENGLISH, "ko", "en"),
        ("색인은 토크나이저가 바뀌면 언제나 다시 만들어야 한다.", "en", "ko"),
        (GERMAN, "de", "de"),
        (ENGLISH, "en", "en"),
    ],
)
def test_passage(passage: str, document: str, language: str) -> None:
    assert passage_language(passage, document) == language


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("한", "ko"),
        ("sqlite 색인", "ko"),
        ("fts5 rebuild", "en"),
        ("ㅋㅋ", "ko"),
        ("索引", "zh"),
        ("索引を作る", "ja"),
        ("", "en"),
        ("é", "en"),
    ],
)
def test_query(query: str, language: str) -> None:
    assert query_language(query) == language
