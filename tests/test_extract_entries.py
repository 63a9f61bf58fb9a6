"""Files of entries, notebooks and subtitles: their text at the lines, or seconds, that say it."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from conftest import make_vault, run_kb
from format_fixtures import FORMATS, chunks_of, known, read, recall

from kb.domain.derived import ExtractSettings, StepJob, Transcript
from kb.domain.documents import Code, Document
from kb.domain.ids import AssetId
from kb.domain.kinds import MediaType
from kb.domain.spans import LineSpan
from kb.errors import ExtractFailed
from kb.extract.captions import derive
from kb.extract.laid import line_text
from kb.extract.notebook import extract_notebook
from kb.extract.plain import extract_text

LAID = {
    "library.bib": [
        "# Heat Pumps in Old Houses: A Field Study (mueller2021, article)",
        "author: Müller, Jörg and García, Ana",
        "journal: Energy & Buildings",
        "# 온돌 난방의 에너지 효율 분석 (kim2020, inproceedings)",
        "keywords: 온돌, 난방, 효율",
    ],
    "library.ris": ["# Heat pumps in old houses", "author: García, Ana", "in: Energy and Buildings", "keyword: 온돌"],
    "house.ics": [
        "# Chimney sweep, second visit",
        "start: 2024-03-09 14:00",
        "Bring the measuring protocol of last year, the one with the red stamp, and the key for the attic hatch. "
        "Ring twice.",
        "attendee: sweep@example.org",
        "# 보일러 정기 점검",
        "기사님이 오전 10시에 오시니 지하실 문을 미리 열어 두고, 작년 점검 기록지를 현관 선반 위에 올려 둔다.",
        "due: 2024-05-01",
    ],
    "people.vcf": [
        "# Marta Lindqvist",
        "address: Strandvägen 7, Sigtuna, 193 30, Sweden",
        "보일러 예비 부품은 창고 세 번째 선반에 있다고 알려 주었다.",
        "# 박정우 소장",
        "굴뚝 청소는 해마다 구월 첫째 주에 하며, 미리 전화로 날짜를 정한다.",
    ],
}


def text(source: str, name: str) -> Document:
    return extract_text(source.encode(), workspace_path=name, asset_id=AssetId("0" * 32))


@pytest.mark.parametrize("name", LAID)
def test_entries_are_laid_on_the_lines_of_their_file(name: str) -> None:
    document = read(FORMATS / name)
    lines = document.source_text.split("\n")
    assert [each for each in LAID[name] if each not in lines] == []
    assert line_text((FORMATS / name).read_bytes(), name) == document.source_text
    assert len(lines) == (FORMATS / name).read_bytes().count(b"\n") + 1
    chunks = chunks_of(document, 300)
    assert len(chunks) == sum(line.startswith("# ") for line in lines)
    assert all(chunk.heading_path for chunk in chunks)


def test_an_entry_cites_the_lines_from_its_beginning() -> None:
    (chunk,) = (each for each in chunks_of(read(FORMATS / "library.bib"), 300) if "Müller" in each.text)
    (span,) = chunk.spans
    assert isinstance(span, LineSpan)
    raw = (FORMATS / "library.bib").read_text(encoding="utf-8").split("\n")
    assert raw[span.start - 1].startswith("@article{mueller2021")
    assert "year = {2021}" in raw[span.end - 1]


@pytest.mark.parametrize(
    ("name", "source", "laid"),
    [
        ("a.bib", '@book{k, title = "A, {B} and C", year = 1999}', ["# A, B and C (k, book)  year: 1999"]),
        ("a.bib", "@string{x = {y}}\n@misc{m,\n title = {Na\\\"{\\i}ve}}", ["", "# Naïve (m, misc)", ""]),
        ("a.bib", "@misc{never,\n title = {closed", ["# closed (never, misc)", ""]),
        ("a.ris", "TY  - BOOK\nTI  - One\n  two\nER  -", ["# One two", "", "", ""]),
        ("a.ics", "BEGIN:VEVENT\nSUMMARY:a\nBEGIN:VALARM\nDESCRIPTION:no\nEND:VALARM\nLOCATION:b\nEND:VEVENT",
         ["# a", "", "", "", "", "place: b", ""]),
        ("a.ics", "BEGIN:VTODO\nDUE;TZID=Asia/Seoul:20240102T030405", ["# todo", "due: 2024-01-02 03:04 Asia/Seoul"]),
        ("a.vcf", "BEGIN:VCARD\nitem1.EMAIL;TYPE=home:a@b\nPHOTO;ENCODING=b:AAAA\n BBBB\nEND:VCARD",
         ["# card", "e-mail: a@b", "", "", ""]),
    ],
)  # fmt: skip
def test_forms_of_entries(name: str, source: str, laid: list[str]) -> None:
    assert text(source, name).source_text.split("\n") == laid


@pytest.mark.parametrize("language", ["en", "ko"])
def test_the_cells_of_a_notebook_are_read_on_their_lines(language: str) -> None:
    path = FORMATS / f"note-{language}.ipynb"
    document = read(path)
    chunks = chunks_of(document)
    assert recall(known(language), [chunk.text for chunk in chunks]) >= 0.98
    raw = path.read_text(encoding="utf-8").split("\n")
    lines = document.source_text.split("\n")
    assert all(json.dumps(line, ensure_ascii=False)[1:-1] in raw[at] for at, line in enumerate(lines))
    assert chunks[-1].heading_path[-1] in known(language)


def notebook(*cells: dict[str, object], **told: object) -> bytes:
    return json.dumps({"cells": cells, "nbformat": 4, **told}, indent=1).encode()


def test_code_and_short_outputs_of_a_notebook() -> None:
    outputs = [
        {"output_type": "stream", "text": ["\x1b[31m42 kWh\x1b[0m\n"]},
        {"output_type": "execute_result", "data": {"text/html": ["<b>no</b>"], "text/plain": ["'한글'"]}},
        {"output_type": "stream", "text": ["long\n"] * 600},
    ]
    code = {"cell_type": "code", "outputs": outputs, "source": ["# not a heading\n", "print(power)"]}
    data = notebook(code, metadata={"language_info": {"name": "julia"}})
    document = extract_notebook(data, {}, workspace_path="a.ipynb", asset_id=AssetId("0" * 32))
    assert [block.payload for block in document.blocks] == [
        *(Code(None, shown) for shown in ("42 kWh", "'한글'")),
        Code("julia", "# not a heading\nprint(power)"),
    ]


@pytest.mark.parametrize(
    "data", [b"{}", b"[" * 100_000, b'{"nbformat": 4, "cells": ' + b"[" * 90, b'{"a" "b', b'{"nbformat":4}"', b"\xff"]
)
def test_a_file_that_is_no_notebook_is_refused(data: bytes) -> None:
    with pytest.raises(ExtractFailed):
        extract_notebook(data, {}, workspace_path="a.ipynb", asset_id=AssetId("0" * 32))


def transcript(name: str, data: bytes | None = None) -> Transcript:
    data = data if data is not None else (FORMATS / name).read_bytes()
    job = StepJob(data, MediaType(f"captions/{name[-3:]}"), {}, ExtractSettings(), lambda done: None)
    return Transcript.from_json(json.loads(derive(job)))


def test_subtitles_have_their_seconds_and_speakers() -> None:
    first, second, third = transcript("talk.srt").segments
    assert (first.start_ms, first.end_ms) == (1_200, 4_000)
    assert first.text == "The lighthouse was built in 1874, on the northern rock."
    assert second.text == "등대지기는 매일 밤 기름을 채웠다."
    assert third.start_ms == 3_723_004
    one, other = transcript("talk.vtt").segments
    assert (one.speaker, one.text) == ("Marta", "The pump runs at 40 watts & hums.")
    assert (other.speaker, other.start_ms) == ("서연", 4_000)


def test_cues_that_say_the_same_are_one() -> None:
    found = transcript("a.srt", b"00:01.000 --> 00:02.000\nyes\n\n00:02.000 --> 00:03.000\nyes\n\n00:03.0 --> x\n")
    assert [(each.start_ms, each.end_ms) for each in found.segments] == [(1_000, 3_000)]
    with pytest.raises(ExtractFailed, match="no line with the times"):
        transcript("a.srt", b"just text")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("a.bib", "@a{" * 100_000),
        ("a.bib", "@a{x, title = {" + "{" * 300_000),
        ("a.bib", "@a{x, t = {" + "\\'" * 300_000),
        ("a.bib", "@a{x, t = { " + "word " * 400_000),
        ("a.bib", "@a{x, " + "a=1, " * 300_000),
        ("a.ris", "TY  - A\nAB  - a\n" + "more\n" * 1_000_000),
        ("a.ics", "BEGIN:VEVENT\n" * 100_000),
        ("a.ics", "BEGIN:VEVENT\nSUMMARY" + ";A=B" * 100_000),
        ("a.vcf", "BEGIN:VCARD\nNOTE;ENCODING=QUOTED-PRINTABLE:=\n" + "==\n" * 100_000),
    ],
    ids=lambda each: each[:14],
)
def test_hostile_entries_take_no_longer_than_their_size(name: str, source: str) -> None:
    started = time.process_time()
    text(source, name)
    assert time.process_time() - started < 20  # quadratic time would be minutes


def test_a_heading_without_end_is_not_repeated_in_every_passage() -> None:
    document = text("@book{a, title = {" + "word " * 100_000 + "}, note = {end}}\n", "a.bib")
    assert max(len(heading) for chunk in chunks_of(document) for heading in chunk.heading_path) == 20_000
    assert len(document.title) <= 20_000


def test_the_data_of_a_plot_take_neither_time_nor_memory_of_a_notebook() -> None:
    source = (
        '{"nbformat": 4, "cells": [{"outputs": [{"data": {"a": [' + "0, " * 8_000_000 + '0]}}], "source": "x = 1"}]}'
    )
    started = time.process_time()
    assert line_text(source.encode(), "a.ipynb") == "x = 1"
    assert time.process_time() - started < 20  # a record for each number would take a gigabyte


def test_entries_and_subtitles_are_found_and_cited(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    for name in (*LAID, "talk.srt", "note-ko.ipynb"):
        (vault.root / name).write_bytes((FORMATS / name).read_bytes())
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed", "--json").lines[-1]["new"] == 6
    for question, place in [
        ("Müller COP field study", "library.bib#L9-L15"),
        ("박정우 굴뚝 청소", "people.vcf#L20-L24"),
        ("등대지기 기름", "talk.srt#t="),
        ("라디에이터의 공기", "note-ko.ipynb#L"),
    ]:
        assert place in run_kb(*config, "search", question, "--k", "1").stdout
    assert "등대지기는 매일 밤" in run_kb(*config, "fetch", "talk.srt#t=5,8.5").stdout
