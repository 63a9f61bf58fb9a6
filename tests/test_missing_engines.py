"""Without engines: what needs one is a line of the report that says what to install; everything else is indexed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import make_vault
from ingest_fixtures import Workspace, analyse_by_word, counted

from kb.extract.registry import EXTRACTORS, Step
from kb.operations.ingest import read

ROOT = Path(__file__).parents[1]
ENGINE_PACKAGES = set("pymupdf fitz pil pillow pytesseract av pywhispercpp _pywhispercpp python_calamine".split())
FILES = {
    "paper.pdf": b"%PDF-1.7",
    "img.png": b"\x89PNG",
    "scan.tiff": b"II*\0",
    "talk.mp3": b"ID3",
    "prices.xlsx": b"PK",
}


class BareKb(NamedTuple):
    """kb in an environment of its own, which has all that kb needs and no engine."""

    python: Path
    home: Path

    def __call__(self, *args: str) -> subprocess.CompletedProcess[str]:
        env = {"HOME": str(self.home), "PATH": str(self.home), "LANG": "C.UTF-8", "PYTHONPATH": ""}
        command = [str(self.python), "-m", "kb", *args]
        return subprocess.run(command, env=env, cwd=self.home, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def bare_kb(tmp_path_factory: pytest.TempPathFactory) -> BareKb:
    directory = tmp_path_factory.mktemp("bare")
    venv.create(directory / "venv", symlinks=True, with_pip=False)
    (packages,) = (directory / "venv").glob("lib/python3*/site-packages")
    for folder in map(Path, sys.path):
        if folder.name == "site-packages" and folder.is_dir():
            _link_without_engines(folder, packages)
    (packages / "kb-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    (directory / "home").mkdir()
    return BareKb(directory / "venv" / "bin" / "python", directory / "home")


def _link_without_engines(folder: Path, into: Path) -> None:
    for entry in folder.iterdir():
        package = re.split(r"[-.]", entry.name)[0].lower()
        if package not in ENGINE_PACKAGES and entry.suffix != ".pth" and not (into / entry.name).exists():
            (into / entry.name).symlink_to(entry)


@pytest.fixture
def config(tmp_path: Path) -> str:
    vault = make_vault(tmp_path / "vault", {"note.md": "# Note\n\nThe watchdog restarts the gateway.\n"})
    for name, data in FILES.items():
        (vault.root / name).write_bytes(data)
    return str(vault.config)


@pytest.mark.slow
def test_notes_are_indexed_where_no_engine_is_installed(bare_kb: BareKb, config: str) -> None:
    for module in ("pymupdf", "PIL", "pytesseract", "pywhispercpp", "av", "python_calamine"):
        assert subprocess.run([bare_kb.python, "-c", f"import {module}"], capture_output=True, check=False).returncode
    ran = bare_kb("--config", config, "ingest", "--no-embed", "--json")
    assert (ran.returncode, ran.stderr) == (0, "")
    report = json.loads(ran.stdout.splitlines()[-1])
    assert (report["new"], report["errors"]) == (1, 0)
    pdf, image, sound, sheet = sorted(report["notes"])
    assert sheet.startswith("spreadsheets need python-calamine, which is not installed: 1 file not read (")
    assert "office" in sheet
    assert pdf.startswith("PDF files need pymupdf, which is not installed: 1 file not read (")
    assert "need pillow, pytesseract and the program tesseract, which are not installed: 2 files not read (" in image
    assert "apt install tesseract-ocr" in image
    assert "need PyAV, pywhispercpp and the model whisper-base, which are not installed: 1 file not read (" in sound
    assert "kb models install whisper-base" in sound
    found = bare_kb("--config", config, "search", "watchdog", "--json")
    assert [hit["doc_path"] for hit in json.loads(found.stdout)["hits"]] == ["note.md"]


@pytest.mark.slow
def test_the_doctor_names_what_to_install(bare_kb: BareKb, config: str) -> None:
    bare_kb("--config", config, "ingest", "--no-embed")
    ran = bare_kb("--config", config, "doctor", "--json")
    assert ran.stderr == ""
    checks = {check["name"]: check for check in json.loads(ran.stdout)["checks"]}
    for name, lacking in (
        ("engine_pdf_text", "pymupdf"),
        ("engine_ocr", "pillow, pytesseract and the program tesseract"),
        ("engine_transcript", "PyAV, pywhispercpp and the model whisper-base"),
    ):
        assert f"need {lacking}, which" in checks[name]["detail"]
        assert "install" in checks[name]["hint"]


@pytest.mark.slow
@pytest.mark.parametrize("command", ["ingest", "doctor", "verify", "list docs", "models list", "models verify"])
def test_no_command_stumbles_over_a_missing_engine(bare_kb: BareKb, config: str, command: str) -> None:
    assert "Traceback" not in bare_kb("--config", config, *command.split()).stderr


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """PDFs are read by an engine that cannot be loaded, or whose model is damaged, as the file asks."""
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path(__file__).parent)])
    step = Step("pdf-text", "unruly_engine", is_required=True)
    monkeypatch.setitem(EXTRACTORS, "pdf", replace(EXTRACTORS["pdf"], steps=(step,)))
    made = Workspace(tmp_path / "workspace")
    made.configure(f"storage.cache_dir={tmp_path / 'cache'}", "indexing.max_parallel_extractors=1")
    return made


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (b"unloadable", "the engine cannot be loaded: libunruly.so.2: cannot open shared object file"),
        (b"damaged model", "the model unruly is damaged"),
    ],
)
def test_an_engine_that_turns_out_unusable_is_one_line(workspace: Workspace, order: bytes, message: str) -> None:
    for name in ("one.pdf", "two.pdf", "three.pdf"):
        workspace.write(name, order)
    workspace.write("note.md", "# Note\n")
    report = workspace.ingest()
    assert counted(report) == {"new": 1}
    (note,) = report.notes
    assert note.startswith(f"{message}: 3 files not read (")


@pytest.mark.slow
def test_an_image_is_read_without_the_engine_that_turns_out_unusable(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    steps = (Step("ocr", "unruly_engine"), Step("caption", "unruly_caption"))
    monkeypatch.setitem(EXTRACTORS, "image", replace(EXTRACTORS["image"], steps=steps))
    workspace.write("one.png", b"unloadable")
    report = workspace.ingest()
    assert counted(report) == {"new": 1}
    assert report.notes == [
        "the engine cannot be loaded: libunruly.so.2: cannot open shared object file: 1 file read in part "
        "(reinstall it, or install the library it names)"
    ]
    assert workspace.query("SELECT text FROM chunks") == [("A picture.",)]


def test_a_damaged_speech_model_ends_no_ingest(workspace: Workspace, tmp_path: Path) -> None:
    pytest.importorskip("av")
    pytest.importorskip("pywhispercpp")
    (tmp_path / "models" / "whisper-base").mkdir(parents=True)
    (tmp_path / "models" / "whisper-base" / "manifest.json").write_text("{", encoding="utf-8")
    workspace.configure(f"storage.model_dir={tmp_path / 'models'}")
    workspace.write("talk.mp3", b"ID3")
    workspace.write("note.md", "# Note\n")
    report = workspace.ingest()
    assert counted(report) == {"new": 1}
    (note,) = report.notes
    assert note.startswith("manifest.json of whisper-base cannot be read")
    assert note.endswith(": 1 file not read (run `kb models install --force whisper-base`)")
