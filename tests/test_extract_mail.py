"""Mails, books, saved pages and drawings, read in parts: their text, its places, and what is hostile in them."""

from __future__ import annotations

import io
import time
import zipfile
from email.message import EmailMessage
from pathlib import Path

import pytest
from conftest import make_vault, run_kb
from format_fixtures import FORMATS, known, recall

from kb.domain.citations import parse_citation
from kb.domain.derived import ExtractSettings, StepJob
from kb.domain.kinds import family_of, media_type_of
from kb.errors import ExtractFailed, FileError
from kb.extract.parts import Parts, read_parts
from kb.extract.registry import extractor_of


def parts_of(name: str, data: bytes | None = None) -> Parts:
    """The parts of a fixture, or of those bytes under that name."""
    media_type = media_type_of(name)
    assert media_type is not None
    step, *_ = extractor_of(family_of(media_type)).steps
    data = (FORMATS / name).read_bytes() if data is None else data
    return read_parts(step.load().derive(StepJob(data, media_type, {}, ExtractSettings(), lambda done: None)))


def mail(*lines: str) -> Parts:
    return parts_of("a.eml", "\r\n".join(lines).encode("utf-8", "surrogateescape"))


@pytest.mark.parametrize(
    ("name", "language"), [("book-en.epub", "en"), ("book-ko.epub", "ko"), ("saved-ko.mhtml", "ko")]
)
def test_books_and_saved_pages_are_read_whole_with_what_they_say_of_themselves(name: str, language: str) -> None:
    found = parts_of(name)
    texts = [block.text for part in found.parts for block in part.blocks]
    table = [line for line in known(language) if line.split()[-1].isdigit()]  # rows are read with their columns
    assert recall([line for line in known(language) if "kWh)" not in line and line not in table], texts) >= 0.98
    month = {"en": "| Month: February | Gas (m³): 287", "ko": "| 달: 2월 | 가스(세제곱미터): 287"}[language]
    assert any(text.startswith(month) for text in texts)
    assert (found.title, found.author, found.created_at) == {
        "en": ("The heating in the house at the lake", "Marta Lindqvist", "2024-03-09T00:00:00Z"),
        "ko": ("호숫가 집의 난방", "김서연", "2024-03-09T00:00:00Z"),
    }[language]
    assert not any(beside in text for text in texts for beside in ("쿠키", "cookies", "Startseite", "Imprint"))


def test_every_part_has_its_own_name_and_its_text_is_found_by_it() -> None:
    for name in ("book-ko.epub", "box.mbox", "letter.eml", "saved-ko.mhtml", "heating.canvas", "circuit.drawio"):
        found = parts_of(name)
        named = [part.name for part in found.parts]
        assert len(set(named)) == len(named)
        for part in found.parts:
            assert parse_citation(f"{name}#{part.name}").to_uri() == f"{name}#{part.name}"
            text = found.text_of(part.name)
            assert text is not None
            assert text.split() == " ".join(block.text for block in part.blocks).split()


def test_the_messages_of_a_mailbox_in_quoted_printable_and_base64() -> None:
    found = parts_of("box.mbox")
    by_name = {part.name: part for part in found.parts}
    english, korean = (
        "message=20261127130726.ZP0zN%25marta@lake.example",
        "message=20261127130726.paAxj%25kim@lake.example",
    )
    head = by_name[f"{english}&para=1"].blocks
    assert head[0].text == "Invoice: heat pump – März"
    assert head[1].text.startswith("From: Marta Lindqvist <marta@lake.example>\nTo: kim@lake.example\nDate: ")
    assert head[1].text.endswith("Attached: minutes.md, quote.pdf")
    assert by_name[f"{english}&para=4"].blocks[0].kind == "quote"
    assert by_name[f"{english}&part=minutes.md&para=2"].blocks[0].text == "The pump arrives on 12 April."
    assert by_name[f"{korean}&para=1"].blocks[1].text.startswith("From: 김서연 <kim@lake.example>")
    assert by_name[f"{korean}&para=3"].blocks[0].text.startswith("보일러 교체 비용은 모두 385만 원이고")
    card = [part for name, part in by_name.items() if name.startswith(f"{korean}&part=연락처.vcf")]
    assert "굴뚝 청소는 해마다" in card[-1].blocks[0].text
    assert card[-1].path == ("보일러 교체 견적서입니다, 확인 부탁드립니다", "연락처.vcf", "박정우 소장")
    assert found.notes == ("1 attachment is listed by its name alone: quote.pdf",)


def test_a_mail_in_html_alone_is_read_by_its_content() -> None:
    found = parts_of("fees.eml")
    texts = [block.text for part in found.parts for block in part.blocks]
    assert (found.title, found.created_at) == ("4월 관리비 안내", "2024-04-02T00:00:00Z")
    assert found.user["from"] == "office@lake.example"
    assert texts[2:] == [
        *(
            "안녕하세요, 관리사무소입니다.",
            "| 항목 | 금액 |",
            "| 항목: 난방비 | 금액: 84,000원 |",
            "| 항목: 수도료 | 금액: 21,500원 |",
        ),
        "납부 기한은 4월 30일까지입니다.",
    ]


def test_heads_as_mail_programs_spoil_them() -> None:
    raw = "보일러".encode("euc-kr").decode("ascii", "surrogateescape")
    assert mail(f"Subject: {raw}", "", "x").title == "보일러"
    assert mail("Subject: =?x-unknown?B?aGVhdA==?= =?utf-8?Q?=20pump?=", "", "x").title == "heat pump"
    assert mail("Subject: =?utf-8?B?%%%?=", "Date: never", "", "x").created_at is None
    assert (
        mail("Subject: a", "Content-Type: text/plain; charset=nonsense", "", "텍스트").parts[1].blocks[0].text
        == "텍스트"
    )
    with pytest.raises(ExtractFailed, match="no head"):
        mail("just a line")


def test_messages_without_an_id_and_lines_that_look_like_a_beginning() -> None:
    begin = b"From a Mon Jan  1 00:00:00 2024\n"
    box = begin + b"Subject: one\n\nFrom here on.\n>From there\n\n" + begin + b"Subject: two\n\nx\n"
    found = parts_of("a.mbox", box)
    assert [part.name for part in found.parts] == [
        *("message=number-1&para=1", "message=number-1&para=2", "message=number-2&para=1", "message=number-2&para=2")
    ]
    assert found.parts[1].blocks[0].text == "From here on.\nFrom there"


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("heating.canvas", ["난방 점검", "Pressure must stay above **0.8 bar**.", "필터는 6개월마다 교체한다."]),
        ("sketch.excalidraw", ["Return line 45 °C", "온수 탱크 300리터"]),
        ("circuit.drawio", ["Expansion vessel 18 litres", "순환 펌프 & 밸브", "Return valve closes at 60 °C"]),
    ],
)
def test_the_nodes_of_drawings(name: str, texts: list[str]) -> None:
    found = parts_of(name)
    said = [block.text for part in found.parts for block in part.blocks]
    assert [text for text in texts if text not in said] == []
    assert "removed" not in said


def epub(chapter: str, book: str = "") -> bytes:
    data = io.BytesIO()
    items = '<manifest><item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/></manifest>'
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("META-INF/container.xml", '<c><rootfile full-path="O/b.opf"/></c>')
        made.writestr("O/b.opf", book or f'<package>{items}<spine><itemref idref="a"/></spine></package>')
        made.writestr("O/a b.xhtml", chapter)
    return data.getvalue()


def test_a_chapter_below_an_escaped_name() -> None:
    (part,) = parts_of("a.epub", epub("<html><body><p>yes</p></body></html>")).parts
    assert (part.name, part.path, part.blocks[0].text) == ("chapter=1&para=1", (), "yes")


NESTED = b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n'
BOUNDARY = 'Content-Type: multipart/mixed; boundary="b"\n\n--b\n'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.epub", epub("", '<!DOCTYPE p [<!ENTITY a SYSTEM "file:///etc/passwd">]><package>&a;</package>')),
        ("a.epub", epub("", "<a>" * 400)),
        ("a.epub", b"PK\3\4" + b"\0" * 100),
        ("a.mhtml", b"Subject: x\n\nno page"),
        ("a.canvas", b'{"nodes":' + b"[" * 100_000),
        ("a.canvas", b"[1]"),
        ("a.drawio", b'<mxfile><diagram name="a">!!!!</diagram></mxfile>'),
        ("a.drawio", b'<!DOCTYPE a [<!ENTITY b "c">]><mxfile>&b;</mxfile>'),
        ("a.mbox", b"no message"),
        ("a.mhtml", b"Subject: a\n" + b"".join(NESTED % (at, at) for at in range(1_000))),
        ("a.eml", b"Subject: a\n" + b"".join(NESTED % (at, at) for at in range(1_000))),
    ],
    ids=lambda each: each if isinstance(each, str) else repr(each[-20:]),
)
def test_hostile_and_broken_files_are_refused(name: str, data: bytes) -> None:
    with pytest.raises(FileError):
        parts_of(name, data)


def test_a_book_that_unpacks_to_too_much_is_refused() -> None:
    with pytest.raises(FileError):
        parts_of("a.epub", epub("x" * 250_000_000))


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: a\n" + BOUNDARY.encode() * 3_000,
        b"Subject: a\n" + b'Content-Type: multipart/mixed; boundary="b"\n\n' + b"--b\n\nx\n" * 50_000,
        b"Subject: " + b"=?utf-8?Q?a?= " * 50_000 + b"\n\nx",
        b"Subject: a\nContent-Type: text/html\n\n" + b"<div>" * 200_000 + b"x",
        b"Subject: a\n\n" + b"> \n" * 300_000,
        b"Subject: a\nContent-Disposition: attachment; "
        + b"".join(b"filename*%d=a; " % at for at in range(9_000))
        + b"\n\nx",
    ],
    ids=lambda data: repr(data[:30]),
)
def test_hostile_mails_take_no_longer_than_their_size(data: bytes) -> None:
    started = time.process_time()
    parts_of("a.eml", data)
    assert time.process_time() - started < 20


def test_a_hostile_message_of_a_mailbox_is_told_and_the_others_are_read() -> None:
    begin = b"From a@b.c Mon Jan  1 00:00:00 2024\nSubject: %s\n"
    nested = begin % b"bad" + b"".join(NESTED % (at, at) for at in range(1_000))
    found = parts_of(
        "a.mbox", begin % b"one" + b"\nFrom " + b"a" * 300_000 + b"\n\n" + nested + b"\n\n" + begin % b"two"
    )
    assert [part.name for part in found.parts if part.blocks[0].level] == [
        "message=number-1&para=1",
        "message=number-3&para=1",
    ]
    assert found.notes == ("message 2 is not read: its parts are inside each other too deeply",)


def test_mails_attached_to_mails_without_end_are_read_some_levels_deep() -> None:
    head = b"Subject: %d\nContent-Type: multipart/mixed; boundary=q%d\n\n--q%d\n"
    mail = head + b"Content-Disposition: attachment; filename=a.eml\n\n"
    found = parts_of("a.eml", b"".join(mail % (at, at, at) for at in range(200)))
    assert any(block.text == "2" for part in found.parts for block in part.blocks)


def test_a_mail_with_attachments_that_expand_without_end_keeps_its_text() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("word/document.xml", f"<document><body><p><t>{'a ' * 5_000_000}</t></p></body></document>")
    mail = EmailMessage()
    mail["Subject"] = "Bombs"
    mail.set_content("The text of the mail.")
    for at in range(30):
        mail.add_attachment(packed.getvalue(), maintype="application", subtype="zip", filename=f"{at}.docx")
    found = parts_of("a.eml", mail.as_bytes())
    assert "The text of the mail." in found.laid_out[0]
    read = {part.name.partition("&")[0] for part in found.parts if part.name.startswith("part=")}
    assert len(read) == 9
    (note,) = found.notes
    assert note.startswith("21 attachments are listed by their names alone: 9.docx")
    assert "expands to too much" in note


def test_parts_of_a_mail_that_are_not_read_are_told() -> None:
    flat = BOUNDARY.encode() + b"\nx\n--b\n" * 2_000
    for source in (flat, b"".join(NESTED % (at, at) for at in range(20)) + b"\nx\n"):
        assert ["its parts behind the first" in note for note in parts_of("a.eml", b"Subject: a\n" + source).notes] == [
            True
        ]
    assert parts_of("a.eml", b"Subject: a\n" + BOUNDARY.encode() + b"\nx\n").notes == ()


def test_parts_that_a_file_names_alike_are_told_apart() -> None:
    attached = b"--x\nContent-Disposition: attachment; filename=a.md\n\n%s\n"
    head = b"Subject: a\nContent-Type: multipart/mixed; boundary=x\n\n"
    nodes = b'{"nodes": [{"id": "a", "text": "one"}, {"id": "a (2)", "text": "two"}, {"id": "a", "text": "three"}]}'
    begin = b"From a@b.c Mon Jan  1 00:00:00 2024\nMessage-ID: <%s>\n\nhi\n\n"
    for found in (
        parts_of("a.eml", head + b"".join(attached % said for said in (b"one", b"two", b"three"))),
        parts_of("a.canvas", nodes),
        parts_of("a.mbox", begin % b"number-2" + begin % b"b" + begin % b"number-2"),
    ):
        assert len({part.name for part in found.parts}) == len(found.parts) >= 3
        assert not found.notes
        for part in found.parts:
            assert found.text_of(part.name) == "\n\n".join(block.text for block in part.blocks)


def test_a_chapter_that_a_book_lists_often_is_read_once() -> None:
    items = '<manifest><item id="a" href="a%20b.xhtml" media-type="application/xhtml+xml"/></manifest>'
    book = f"<package>{items}<spine>" + '<itemref idref="a"/>' * 50 + "</spine></package>"
    assert len(parts_of("a.epub", epub("<p>yes</p>", book)).parts) == 1


def test_a_name_with_folders_names_no_place_outside() -> None:
    found = mail("Subject: a", 'Content-Disposition: attachment; filename="../../etc/x.md"', "", "# hi")
    assert found.parts[-1].name == "part=x.md&para=1"


def test_mails_books_and_drawings_are_found_fetched_and_cited(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    for name in ("box.mbox", "fees.eml", "book-ko.epub", "heating.canvas"):
        (vault.root / name).write_bytes((FORMATS / name).read_bytes())
    seen = vault.root / "Maildir/cur/1712016000.M1P2.lake:2,S"
    seen.parent.mkdir(parents=True)
    seen.write_bytes((FORMATS / "letter.eml").read_bytes())
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed", "--json").lines[-1]["new"] == 5
    for question, place in [
        ("난방비 84,000원", "fees.eml#para="),
        ("pump arrives April", "box.mbox#message=20261127130726.ZP0zN%25marta@lake.example&part=minutes.md&para="),
        ("환수관의 밸브", "book-ko.epub#chapter=2&para="),
        ("filters boiler needs clean", "heating.canvas#node=e1"),
    ]:
        assert place in run_kb(*config, "search", question, "--k", "1").stdout
    assert "84,000원" in run_kb(*config, "fetch", "fees.eml#para=4").stdout
    hits = run_kb(*config, "search", "385만 원", "--media", "mail").stdout
    assert "Maildir/cur/1712016000.M1P2.lake:2,S#para=" in hits
