"""A hostile twin for files of each kind: nothing outside the file is fetched, opened or run, and bombs are refused."""

from __future__ import annotations

import base64
import io
import json
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kb.domain.derived import Derived, DerivedName, Engine, ExtractSettings, StepJob
from kb.domain.documents import Document
from kb.domain.ids import AssetId
from kb.domain.kinds import family_of, media_type_of
from kb.domain.text import WorkspacePath
from kb.errors import ExtractFailed, FileTooLarge
from kb.extract.office import package
from kb.extract.registry import extractor_of

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
SECRET = "/etc/passwd"
WEB = "http://127.0.0.1:9/x"
OUTSIDE = f"<!DOCTYPE a [<!ENTITY x SYSTEM 'file://{SECRET}'>]>"
BOMB = f"<!DOCTYPE a [<!ENTITY a '{'ha' * 1000}'><!ENTITY x '{'&a;' * 1000}'>]>"
# The member of each packed kind that has its text.
MAIN = {
    "manual-en.docx": "word/document.xml",
    "manual-en.odt": "content.xml",
    "briefing-en.pptx": "ppt/slides/slide1.xml",
    "briefing-en.odp": "content.xml",
    "hangul-en.hwpx": "Contents/section0.xml",
}
_WATCHED: list[list[str]] = []


def _note(event: str, args: tuple[object, ...]) -> None:
    is_outside = event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen", "os.system", "os.exec")
    if _WATCHED and (is_outside or (event == "open" and args[0] == SECRET)):
        _WATCHED[-1].append(f"{event} {args[0]!r}")


sys.addaudithook(_note)


@contextmanager
def nothing_outside() -> Iterator[None]:
    """Fails where the block connects, runs a program or opens the secret file."""
    seen: list[str] = []
    _WATCHED.append(seen)
    try:
        yield
    finally:
        _WATCHED.pop()
    assert seen == []


def read(name: str, data: bytes) -> Document:
    """The document of those bytes under that name."""
    media_type = media_type_of(name)
    assert media_type is not None
    extractor = extractor_of(family_of(media_type))
    made: dict[DerivedName, bytes] = {}
    for step in extractor.steps:
        made[step.name] = step.load().derive(StepJob(data, media_type, made, ExtractSettings(), lambda done: None))
    derived = {step: Derived(step, Engine("kb", "test"), value) for step, value in made.items()}
    return extractor.document(data, derived, workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32))


def packed(name: str, **members: tuple[str, str]) -> bytes:
    """A fixture whose members of those names have one text replaced by another; a new member where there is none."""
    made = io.BytesIO()
    with zipfile.ZipFile(FIXTURES / "media/office" / name) as source, zipfile.ZipFile(made, "w") as target:
        for each in dict.fromkeys((*source.namelist(), *members)):
            text = source.read(each) if each in source.namelist() else b""
            if each in members:
                old, new = (side.encode() for side in members[each])
                assert old in text
                text = text.replace(old, new, 1)
            target.writestr(each, text, zipfile.ZIP_STORED if each == "mimetype" else zipfile.ZIP_DEFLATED)
    return made.getvalue()


@pytest.mark.parametrize("declared", [OUTSIDE, BOMB], ids=["outside", "bomb"])
@pytest.mark.parametrize("name", MAIN)
def test_entities_are_refused_in_every_packed_kind(name: str, declared: str) -> None:
    with zipfile.ZipFile(FIXTURES / "media/office" / name) as source:
        xml = source.read(MAIN[name]).decode()
    root = xml.partition("?>")[2].lstrip() if xml.startswith("<?xml") else xml
    with nothing_outside(), pytest.raises(ExtractFailed, match="declares a document type"):
        read(name, packed(name, **{MAIN[name]: (root[:10], declared + root[:10])}))


@pytest.mark.parametrize("name", [*MAIN, "stock-en.xlsx", "stock-en.ods"])
def test_what_unpacks_to_too_much_is_refused_in_every_packed_kind(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    main = MAIN.get(name) or ("content.xml" if name.endswith("ods") else "xl/worksheets/sheet1.xml")
    data = packed(name, **{main: ("<", " " * 3_000_000 + "<")})
    monkeypatch.setattr(package, "MOST_EXPANDED_BYTES", 1_000_000)
    with pytest.raises(FileTooLarge, match="unpacked"):
        read(name, data)


def test_a_page_of_a_diagram_that_unpacks_to_too_much_is_refused() -> None:
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    bomb = base64.b64encode(squeezed.compress(b" " * 60_000_000) + squeezed.flush()).decode()
    with pytest.raises(FileTooLarge, match="unpacked"):
        read("a.drawio", f'<mxfile><diagram name="a">{bomb}</diagram></mxfile>'.encode())


TARGET = f'TargetMode="External" Target="{WEB}"'
RELATION = f'<Relationship Id="rX" Type="http://schemas.openxmlformats.org/x/image" {TARGET}/>'
XLINK = f'<draw:frame><draw:image xlink:href="{WEB}" xlink:actuate="onLoad"/></draw:frame>'
FIELD = f'<w:p><w:fldSimple w:instr="INCLUDEPICTURE {WEB}"/><w:fldSimple w:instr="DDEAUTO sh {SECRET}"/></w:p>'
MIME = "MIME-Version: 1.0\nContent-Type: text/html\n\n"
PAGE = f'<p>The lock opens.<img src="{WEB}"><iframe src="{WEB}"></iframe><script src="{WEB}"></script></p>'
CALL = f'=WEBSERVICE("{WEB}")'
NOTEBOOK = {
    "cells": [{"cell_type": "markdown", "source": [f"The lock opens. ![]({WEB}) %run {SECRET}"]}],
    "nbformat": 4,
}


def formula(name: str, old: str, new: str) -> bytes:
    return packed(name, **{"xl/worksheets/sheet1.xml" if name.endswith("xlsx") else "content.xml": (old, new)})


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.docm", packed("manual-en.docx", **{
            "word/_rels/document.xml.rels": ("</Relationships>", f"{RELATION}</Relationships>"),
            "word/document.xml": ("<w:body>", f"<w:body>{FIELD}"),
            "word/vbaProject.bin": ("", "Sub AutoOpen() Shell"),
        }), "The lock at Alder Weir"),
        ("a.pptx", packed("briefing-en.pptx", **{
            "ppt/slides/_rels/slide1.xml.rels": ("</Relationships>", f"{RELATION}</Relationships>"),
        }), "The lock at Alder Weir"),
        ("a.odt", packed("manual-en.odt", **{"content.xml": ("</text:p>", f"{XLINK}</text:p>")}), "The lock"),
        ("a.odp", packed("briefing-en.odp", **{"content.xml": ("</draw:page>", f"{XLINK}</draw:page>")}), "The lock"),
        ("a.xlsx", formula("stock-en.xlsx", "<f", f'<f ca="1">WEBSERVICE("{WEB}")</f><f'), "Seal ring"),
        ("a.ods", formula("stock-en.ods", "of:=[", f'of:=WEBSERVICE(&quot;{WEB}&quot;)+['), "Seal ring"),
        ("a.csv", f"Item,Price\nSeal ring,\"=cmd|'/c x'!A1\"\nPin,{CALL}\n".encode(), "=cmd|'/c x'!A1"),
        ("a.tsv", f"Item\tPrice\nSeal ring\t{CALL}\n".encode(), "=WEBSERVICE"),
        ("a.rtf", rb"{\rtf1 The lock opens. {\field{\*\fldinst INCLUDEPICTURE " + WEB.encode()
         + rb"}}{\object\objautlink\objupdate{\*\objclass Package}{\*\objdata 01}}\par}", "The lock opens."),
        ("a.html", PAGE.encode(), "The lock opens."),
        ("a.mhtml", (MIME + PAGE).encode(), "The lock opens."),
        ("a.eml", f"Subject: a\n{MIME}{PAGE}".encode(), "The lock opens."),
        ("a.mbox", f"From a@b.c Mon Jan  1 00:00:00 2024\nSubject: a\n{MIME}{PAGE}".encode(), "The lock opens."),
        ("a.ipynb", json.dumps(NOTEBOOK).encode(), "The lock opens."),
        ("a.canvas", json.dumps({"nodes": [
            {"id": "1", "type": "link", "url": WEB}, {"id": "2", "type": "file", "file": SECRET},
        ]}).encode(), SECRET),
        ("a.excalidraw", json.dumps({"elements": [{"id": "1", "type": "text", "text": "The lock", "link": WEB}],
                                     "files": {"1": {"dataURL": WEB}}}).encode(), "The lock"),
        ("a.drawio", f'<mxfile><diagram name="a"><mxCell id="1" value="The lock &lt;img src=&quot;{WEB}&quot;&gt;"'
         f' style="image={WEB}"/></diagram></mxfile>'.encode(), "The lock"),
        ("a.base", f"filters: !!python/object/apply:os.system ['touch {SECRET}']\nviews: image('{WEB}')\n".encode(),
         "os.system"),
        ("a.bib", f"@misc{{a, title = {{The lock \\input{{{SECRET}}} \\write18{{x}}}}}}".encode(), "The lock"),
        ("a.ris", f"TY  - BOOK\nTI  - The lock\nUR  - {WEB}\nL1  - file://{SECRET}\nER  - ".encode(), "The lock"),
        ("a.ics", f"BEGIN:VEVENT\nSUMMARY:The lock\nATTACH:{WEB}\nEND:VEVENT".encode(), "The lock"),
        ("a.vcf", f"BEGIN:VCARD\nFN:The lock\nPHOTO;VALUE=uri:{WEB}\nEND:VCARD".encode(), "The lock"),
        ("a.srt", f'1\n00:01.000 --> 00:02.000\nThe lock <img src="{WEB}">\n'.encode(), "The lock"),
        ("a.vtt", f"WEBVTT\n\nSTYLE\n::cue {{background: url({WEB})}}\n\n00:01.000 --> 00:02.000\nThe lock\n".encode(),
         "The lock"),
    ],
    ids=lambda each: each if isinstance(each, str) and each.startswith("a.") else "",
)  # fmt: skip
def test_what_a_file_points_to_is_neither_fetched_nor_run(name: str, data: bytes, said: str) -> None:
    with nothing_outside():
        document = read(name, data)
    assert said in document.source_text
    assert "root:" not in document.source_text
