"""The page in Firefox: typing, reading, a PDF drawn, a state that an address holds; nothing foreign is asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from conftest import Vault
from firefox import FIREFOX, Firefox, firefox
from media_fixtures import MEDIA
from vaults import indexed_vault
from web_fixtures import Served, serving

pytest.importorskip("pymupdf")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(FIREFOX is None, reason="no Firefox is installed")]

_FOREIGN = """
const asked = performance.getEntriesByType("resource").map((each) => each.name);
return asked.filter((name) => !name.startsWith(location.origin));
"""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    files = {"handbook-en.pdf": MEDIA / "pdf" / "handbook-en.pdf"}
    return indexed_vault(tmp_path_factory.mktemp("notes"), files=files)


@pytest.fixture(scope="module")
def served(notes: Vault) -> Iterator[Served]:
    with serving(notes) as made:
        yield made


@pytest.fixture(scope="module")
def window(served: Served, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    with firefox(tmp_path_factory.mktemp("profile")) as made:
        made.go(served.address)
        made.until("return document.documentElement.dataset.ready")
        yield made


def test_hits_come_as_one_types_and_the_place_is_shown(window: Firefox) -> None:
    window.type("#question", "gateway retries")
    window.until("return document.querySelector('a.hit mark')?.textContent")
    window.type("#question", "\ue015")  # the arrow down
    assert "at=" in window.until("return document.querySelector('#reader .cited') && location.search")
    assert window.run(_FOREIGN) == []


def test_a_korean_question_is_answered_and_its_place_opens(window: Firefox, served: Served) -> None:
    window.go(f"http://127.0.0.1:{served.port}/?q=배터리")
    assert "배터리" in window.until("return document.querySelector('a.hit mark')?.textContent")
    window.run("document.querySelector('a.hit').click()")
    window.until("return document.querySelector('#reader .cited')?.textContent")


def test_a_pdf_is_drawn_with_its_place_marked(window: Firefox, served: Served) -> None:
    hit = served.ask("/api/search", {"q": "Fir Landing battery"}).json["hits"][0]
    window.go(
        f"http://127.0.0.1:{served.port}/?at={hit['citation']['uri'].replace('#', '%23')}&passage={hit['chunk_id']}"
    )
    window.until("return document.querySelector('.sheet[data-drawn=yes] .rectangle.cited') !== null")
    assert window.run(_FOREIGN) == []
