"""Encrypted PDFs: read with the passwords of the configuration or of a command, which are shown nowhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import run_kb
from ingest_fixtures import Workspace, analyse_by_word, counted

pymupdf = pytest.importorskip("pymupdf")

from kb.config.keys import ExtractConfig  # noqa: E402
from kb.domain.derived import ExtractSettings  # noqa: E402
from kb.errors import ConfigError, PasswordNeeded  # noqa: E402
from kb.operations.ingest import read  # noqa: E402
from kb.operations.ingest.engines import PdfPasswords  # noqa: E402
from kb.workers import process  # noqa: E402

SECRET = "open-Sesame-가나다-9317"


def locked(password: str = SECRET) -> bytes:
    pdf = pymupdf.open()
    pdf.new_page().insert_textbox((72, 72, 500, 300), "The watchdog restarts the gateway after a fault. " * 3)
    data = pdf.tobytes(encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw=password, owner_pw="owner-" + password)
    assert isinstance(data, bytes)
    return data


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.write("locked.pdf", locked())
    return made


def configure(workspace: Workspace, tmp_path: Path, *flags: str) -> None:
    workspace.configure(f"storage.cache_dir={tmp_path / 'cache'}", "ocr.enabled=false", *flags)


def test_a_locked_pdf_is_read_once_its_password_is_known(workspace: Workspace, tmp_path: Path) -> None:
    configure(workspace, tmp_path)
    (item,) = [item for item in workspace.ingest().items if item.error]
    assert item.error is not None
    assert item.error.code == "password_needed"
    assert "extract.pdf_passwords" in str(item.error.hint)
    configure(workspace, tmp_path, f"extract.pdf_passwords=wrong,{SECRET}")
    assert counted(workspace.ingest()) == {"new": 1}
    assert workspace.search("watchdog")[0].citation.to_uri() == "locked.pdf#page=1"
    configure(workspace, tmp_path)
    assert counted(workspace.ingest()) == {"unchanged": 1}


def test_a_password_that_does_not_fit_is_not_told(workspace: Workspace, tmp_path: Path) -> None:
    configure(workspace, tmp_path, "extract.pdf_passwords=not-this-one")
    report = workspace.ingest()
    (error,) = [item.error for item in report.items if item.error]
    assert "none of the passwords fits" in error.message
    assert "not-this-one" not in repr(report)


@pytest.mark.slow
def test_a_command_prints_passwords_for_encrypted_files_alone(workspace: Workspace, tmp_path: Path) -> None:
    script, called = tmp_path / "passwords.py", tmp_path / "called"
    script.write_text(f"open({str(called)!r}, 'a').write('x')\nprint('wrong')\nprint({SECRET!r})\n", encoding="utf-8")
    command = f"extract.pdf_passwords_command='{sys.executable}' '{script}'"
    configure(workspace, tmp_path, command)
    workspace.write("again.pdf", locked() + b"\n")
    assert counted(workspace.ingest()) == {"new": 2}
    assert called.read_text() == "x"
    workspace.write("plain.pdf", pymupdf_page())
    assert counted(workspace.ingest()) == {"unchanged": 2, "new": 1}
    assert called.read_text() == "x"


def pymupdf_page() -> bytes:
    pdf = pymupdf.open()
    pdf.new_page().insert_text((72, 72), "An open page.")
    data = pdf.tobytes()
    assert isinstance(data, bytes)
    return data


@pytest.mark.parametrize("command", ["false", "/no/such/program", "'unclosed"])
def test_a_command_that_fails_costs_the_locked_files_only(workspace: Workspace, tmp_path: Path, command: str) -> None:
    configure(workspace, tmp_path, f"extract.pdf_passwords_command={command}")
    workspace.write("plain.pdf", pymupdf_page())
    report = workspace.ingest()
    assert counted(report) == {"new": 1, "errors": 1}
    (error,) = [item.error for item in report.items if item.error]
    assert error.code == "password_needed"
    assert "the command for its password" in error.message
    assert command not in error.message


def test_what_a_failing_command_prints_is_not_told() -> None:
    passwords = PdfPasswords((), f"sh -c 'echo {SECRET}; echo {SECRET} >&2; exit 3'")
    with pytest.raises(PasswordNeeded) as caught:
        passwords.needed_for("pdf", b"/Encrypt")
    assert "code 3" in caught.value.message
    assert SECRET not in f"{caught.value!r}{caught.value.hint}{caught.value.__cause__!r}"


@pytest.mark.slow
def test_passwords_stand_in_no_output_log_or_command_line(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags = (f"storage.cache_dir={tmp_path / 'cache'}", f"storage.log_dir={tmp_path / 'logs'}", "ocr.enabled=false")
    configure(workspace, tmp_path, *flags)
    commands: list[list[str]] = []
    popen = process.subprocess.Popen

    def noted(command: list[str], **options: object) -> object:
        commands.append(command)
        return popen(command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(process.subprocess, "Popen", noted)
    base, env = ("--config", str(workspace.config_path), "--debug"), {"KB_EXTRACT_PDF_PASSWORDS": SECRET}
    asked = (
        ("ingest", "--no-embed"),
        ("config", "show"),
        ("config", "show", "--json"),
        ("doctor",),
        ("search", "--mode", "lexical", "watchdog"),
    )
    outputs = [run_kb(*base, *words, env=env) for words in asked]
    assert workspace.paths() == ["locked.pdf"]
    assert all(SECRET not in ran.stdout + ran.stderr for ran in outputs)
    assert "(1 hidden)" in outputs[1].stdout
    made = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path for path in made if SECRET.encode() in path.read_bytes()] == []
    assert SECRET not in json.dumps(commands, ensure_ascii=False)
    assert SECRET not in repr(ExtractSettings(pdf_passwords=(SECRET,)))


def test_a_wrong_value_is_not_told(tmp_path: Path) -> None:
    from kb.config import load

    file = tmp_path / "config.toml"
    file.write_text(f'[extract]\npdf_passwords = "{SECRET}"\n', encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load(str(file), (), {})
    assert "extract.pdf_passwords must be a list of strings" in caught.value.message
    assert SECRET not in caught.value.message


def test_a_new_configuration_file_keeps_them(tmp_path: Path) -> None:
    from kb.config import load
    from kb.config.writing import starter_toml

    file = tmp_path / "config.toml"
    file.write_text(f'[extract]\npdf_passwords = ["{SECRET}"]\n', encoding="utf-8")
    written = tmp_path / "written.toml"
    written.write_text(starter_toml(load(str(file), (), {})), encoding="utf-8")
    assert load(str(written), (), {}).extract == ExtractConfig(pdf_passwords=(SECRET,))
