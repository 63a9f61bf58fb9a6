"""Pictures for agents: where they ask and their owner allows it, of what they may see, within limits."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from agents import called, text_of, without_marks
from conftest import Vault, kb_in, make_vault

pymupdf = pytest.importorskip("pymupdf")

ALLOWED = '\n[ocr]\nenabled = false\n\n[exposure]\nimages_to_mcp = true\nnever_to_mcp = ["private/**"]\n'
PNG = b"\x89PNG\r\n\x1a\n"


def picture(width: int, height: int) -> bytes:
    pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, width, height), False)
    pixels.set_rect(pixels.irect, (200, 30, 30))
    data: bytes = pixels.tobytes("png")
    return data


def pdf() -> bytes:
    made = pymupdf.open()
    for text in ("The watchdog restarts the gateway.", "The pump runs dry at noon."):
        made.new_page().insert_text((72, 100), text)
    data: bytes = made.tobytes()
    return data


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = make_vault(tmp_path_factory.mktemp("pictures"), {"note.md": "# Note\n\nWords.\n"})
    made.config.write_text(made.config.read_text() + ALLOWED)
    (made.root / "private").mkdir()
    for name, data in (
        ("red.png", picture(40, 30)),
        ("private/red.png", picture(41, 30)),
        ("pump.pdf", pdf()),
        *((f"more/{number}.png", picture(50 + number, 30)) for number in range(5)),
    ):
        (made.root / name).parent.mkdir(exist_ok=True)
        (made.root / name).write_bytes(data)
    # An image is read by no engine here: what agents see of it is the picture alone.
    assert kb_in(made)("--set", "ocr.enabled=true", "ingest", "--no-embed").code == 0
    return made


def pictures_of(result: Any) -> list[Any]:
    return [each for each in result.content if each.type == "image"]


def size_of(content: Any) -> tuple[int, int]:
    made = pymupdf.Pixmap(base64.b64decode(content.data))
    return made.width, made.height


@pytest.mark.slow
def test_images_come_as_they_are_and_pages_drawn(shown: Vault) -> None:
    (result,) = called(shown, ("fetch", {"citations": ["red.png", "pump.pdf#page=2", "note.md"], "images": True}))
    image, page = pictures_of(result)
    assert base64.b64decode(image.data) == (shown.root / "red.png").read_bytes()
    assert (image.mime_type, page.mime_type) == ("image/png", "image/png")
    assert size_of(page)[0] == 1000
    assert [each["place"] for each in result.structured_content["pictures"]] == ["red.png", "pump.pdf#page=2"]
    assert "picture: pump.pdf#page=2 (image/png)" in text_of(result)


@pytest.mark.slow
def test_none_comes_unasked_and_none_of_what_is_hidden(shown: Vault) -> None:
    plain, hidden = called(
        shown,
        ("fetch", {"citations": ["red.png", "pump.pdf#page=2"]}),
        ("fetch", {"citations": ["private/red.png"], "images": True}),
    )
    assert pictures_of(plain) == []
    assert pictures_of(hidden) == []
    nowhere = called(shown, ("fetch", {"citations": ["private/blue.png"], "images": True}))[0].content[0].text
    assert without_marks(nowhere).replace("blue", "red") == without_marks(text_of(hidden))


@pytest.mark.slow
def test_so_many_and_so_large_ones_are_given_at_most(shown: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"citations": [f"more/{number}.png" for number in range(5)], "images": True}
    (result,) = called(shown, ("fetch", asked))
    assert len(pictures_of(result)) == 4
    assert "no picture: more/4.png: 4 pictures at once are given at most" in text_of(result)
    monkeypatch.setattr("kb.operations.inspect.pictures.MOST_PICTURE_BYTES", 50)
    (result,) = called(shown, ("fetch", {"citations": ["red.png"], "images": True}))
    assert pictures_of(result) == []
    assert "no picture: red.png: larger than" in text_of(result)


def test_the_text_alone_is_given_where_their_owner_has_not_allowed_them(vault: Vault) -> None:
    (result,) = called(vault, ("fetch", {"citations": ["projects/notes.md"], "images": True}))
    assert pictures_of(result) == []
    assert "naïve résumé" in text_of(result)
    assert "no picture: pictures are not given to agents here" in text_of(result)
