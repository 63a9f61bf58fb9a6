"""Files in ZIP and tar archives: found, cited and kept in step like any other; archives that are made to do harm."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest
from conftest import make_vault, run_kb
from ingest_fixtures import Workspace, counted

from kb.errors import FileTooLarge, FileVanished, UsageError
from kb.operations.ingest.requests import ingest_request
from kb.operations.inspect.status import base_status
from kb.operations.inspect.view import view_document
from kb.operations.opening.base import open_base
from kb.operations.opening.exposure import Rules
from kb.scan.read import archive_at, place_in_archive, read_bytes
from kb.scan.walk import concern_of

NOTES = {
    "hangar.md": "# Hangar\n\nThe zeppelin hangar opens in March.\n",
    "프로젝트/회의록.md": "# 회의록\n\n비행선 격납고의 예산은 삼백만 원으로 정했다.\n",
    "src/tool.py": "def launch_zeppelin(height):\n    return height\n",
}
PROGRAMS = {
    "zip": ("zip", "-qr", "{to}", "."),
    "7z zip": ("7z", "a", "-bd", "-tzip", "{to}", "."),
    "bsdtar zip": ("bsdtar", "-c", "-f", "{to}", "--format", "zip", "."),
    "tar": ("tar", "-cf", "{to}", "."),
    "tar gz": ("tar", "-czf", "{to}", "."),
    "tar bz2": ("tar", "-cjf", "{to}", "."),
    "tar xz": ("tar", "-cJf", "{to}", "."),
    "bsdtar pax": ("bsdtar", "-c", "-f", "{to}", "--format", "pax", "."),
    "bsdtar v7": ("bsdtar", "-c", "-f", "{to}", "--format", "gnutar", "."),
    "7z tar": ("7z", "a", "-bd", "-ttar", "{to}", "."),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace whose archives are read."""
    made = Workspace(tmp_path / "workspace")
    made.configure("workspace.archives=true")
    return made


def zipped(files: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made.getvalue()


def tarred(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:  # type: ignore[call-overload]
        for info, content in members:
            info.size = info.size or len(content)
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def unread(workspace: Workspace) -> dict[str, str]:
    return dict(workspace.query("SELECT workspace_path, message FROM unread_files"))


@pytest.mark.parametrize("program", PROGRAMS)
def test_archives_of_all_programs_have_the_same_members(program: str, tmp_path: Path) -> None:
    command = PROGRAMS[program]
    if shutil.which(command[0]) is None:
        pytest.skip(f"no {command[0]}")
    for name, content in NOTES.items():
        (tmp_path / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "files" / name).write_text(content)
        os.utime(tmp_path / "files" / name, (1_700_000_000, 1_700_000_000))
    suffix = "zip" if program.endswith("zip") else f"tar.{program[4:]}" if program[4:] in ("gz", "bz2", "xz") else "tar"
    to = tmp_path / f"made.{suffix}"
    subprocess.run([each.format(to=to) for each in command], cwd=tmp_path / "files", check=True, capture_output=True)
    assert [member.name for member in archive_at(str(to)).members] == sorted(NOTES)
    for name, content in NOTES.items():
        read = read_bytes(f"{to}!/{name}", max_bytes=1000)
        assert (read.data.decode(), read.written_ns) == (content, 1_700_000_000 * 10**9)


def test_members_are_found_cited_fetched_verified_and_forgotten(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"note.md": "# Note\n\nNothing of it here.\n"})
    (vault.root / "export.zip").write_bytes(zipped(NOTES))

    def kb(*args: str) -> str:
        ran = run_kb("--config", str(vault.config), "--set", "workspace.archives=true", *args)
        return ran.stdout + ran.stderr

    kb("ingest", "--no-embed")
    assert "export.zip!/hangar.md#L1-L3" in kb("search", "zeppelin hangar")
    assert "export.zip!/프로젝트/회의록.md#L1-L3" in kb("search", "비행선 예산", "--path-glob", "export.zip!/**")
    assert "export.zip!/src/tool.py#L1-L2" in kb("search", "launch_zeppelin", "--media", "code")
    assert "The zeppelin hangar opens in March." in kb("fetch", "export.zip%21/hangar.md#L3")
    assert "nope.md is not there" in kb("open", "export.zip!/nope.md")
    assert f"hangar.md is in the archive {vault.root}/export.zip" in kb("open", "export.zip!/hangar.md#L3")
    assert "export.zip!/hangar.md" in kb("forget", "export.zip", "--yes")
    assert "export.zip" not in kb("list", "docs")


def test_archives_are_read_where_they_are_switched_on_or_named(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    workspace.write("a.md", "# A\n")
    workspace.write("export.zip", zipped(NOTES))
    workspace.write("old/backup.tar", tarred((tarfile.TarInfo("b.md"), b"# B\n")))
    workspace.write("node_modules/left.zip", zipped(NOTES))
    report = workspace.ingest()
    assert (workspace.paths(), report.unsupported) == (["a.md"], {".zip": 1, ".tar": 1})
    with open_base(workspace.config) as base:
        (group,) = base_status(base).unread
    assert (group.family, group.files, group.hint) == ("archive", 2, "archives = true in [workspace] reads them")
    workspace.configure("workspace.include=*.md,*.tar")
    assert counted(workspace.ingest()) == {"new": 1, "unchanged": 1}
    assert workspace.paths() == ["a.md", "old/backup.tar!/b.md"]
    workspace.configure("workspace.archives=true")
    workspace.ingest()
    inside = [f"export.zip!/{name}" for name in sorted(NOTES)]
    assert (workspace.paths(), unread(workspace)) == (["a.md", *inside, "old/backup.tar!/b.md"], {})
    workspace.configure()
    assert counted(workspace.ingest()) == {"removed": 4, "unchanged": 1}
    with pytest.raises(UsageError, match="files in archives are not read"):
        ingest_request(workspace.config, "export.zip", dry_run=False, allow_empty=False, embed=False)


def test_an_ingest_of_an_archive_or_a_dry_run_touches_nothing_else(workspace: Workspace) -> None:
    workspace.write("a.md", "# A\n")
    for name in ("x.zip", "y.zip"):
        workspace.write(name, zipped(NOTES))
    assert (counted(workspace.ingest(dry_run=True)), workspace.config.derived_cache.exists()) == ({"new": 7}, False)
    assert counted(workspace.ingest("x.zip")) == {"new": 3}
    (workspace.root / "a.md").unlink()
    workspace.ingest("x.zip")
    workspace.write("x.zip", zipped({"b.md": "# B\n"}))
    assert counted(workspace.ingest("x.zip")) == {"new": 1, "removed": 3}
    concerns = concern_of(workspace.root, include=("*.md",), exclude=("old/",))
    assert [concerns(str(workspace.root / each)) for each in ("x.zip", "old/x.zip")] == [True, False]


def test_a_member_is_shown_from_the_copy_while_its_archive_is_unchanged(workspace: Workspace) -> None:
    made = tarred((tarfile.TarInfo("a.md"), b"# A\n\nOld.\n"), mode="w:gz")
    workspace.write("x.tgz", made)
    workspace.ingest()

    def seen() -> tuple[str | None, bool]:
        with open_base(workspace.config) as base:
            view = view_document(base, "x.tgz!/a.md")
        return view.text, view.is_current

    assert seen() == ("# A\n\nOld.\n", True)
    workspace.touch("x.tgz")
    assert seen() == ("# A\n\nOld.\n", True)
    workspace.write("x.tgz", tarred((tarfile.TarInfo("a.md"), b"# A\n\nNew.\n"), mode="w:gz"))
    assert seen() == ("# A\n\nOld.\n", False)
    (workspace.root / "x.tgz").unlink()
    assert seen() == ("# A\n\nOld.\n", False)


def test_a_glob_that_names_an_archive_names_its_members() -> None:
    rules = Rules(("#secret",), ("old/x.zip", "*.tar.gz", "y"))
    assert [*map(rules.matches(), ("old/x.zip!/a.md", "b/Z.TAR.GZ!/c/d.md", "y/a.md"))] == [True, False, True]
    assert not any(map(rules.matches(), ("x.zip!/a.md", "old/x.zip!b", "y!/a.md", "old/x.zipx/a.md")))


def test_an_archive_that_has_not_changed_is_not_opened_and_a_changed_one_is_read_anew(workspace: Workspace) -> None:
    files = {name: f"# {name}\n\nThe hexagon of {name}.\n" for name in ("a.md", "b.md", "c.md")}
    workspace.write("x.zip", zipped(files))
    workspace.write("broken.zip", b"PK no zip at all")
    assert counted(workspace.ingest()) == {"new": 3, "errors": 1}
    for name in ("x.zip", "broken.zip"):
        (workspace.root / name).chmod(0)
    opened = (workspace.root / "x.zip").stat().st_atime_ns
    assert counted(workspace.ingest()) == {"unchanged": 3, "still_unread": 1}
    assert (workspace.root / "x.zip").stat().st_atime_ns == opened
    (workspace.root / "x.zip").chmod(0o600)
    workspace.write("x.zip", zipped({**files, "b.md": "# Bee\n", "d.md": "# Dee\n"}))
    assert counted(workspace.ingest()) == {"new": 1, "updated": 1, "unchanged": 2, "still_unread": 1}
    (workspace.root / "x.zip").unlink()
    assert counted(workspace.ingest(allow_empty=True)) == {"removed": 4, "still_unread": 1}


def test_members_of_an_archive_that_breaks_stay(workspace: Workspace) -> None:
    whole = zipped(NOTES)
    workspace.write("note.md", "# Note\n")
    workspace.write("x.zip", whole)
    workspace.ingest()
    workspace.write("x.zip", whole[:-30])
    assert counted(workspace.ingest()) == {"errors": 1, "unchanged": 1}
    assert len(workspace.paths()) == 4
    workspace.write("x.zip", whole)
    assert counted(workspace.ingest()) == {"unchanged": 4}
    assert unread(workspace) == {}


def test_the_rules_of_the_folder_hold_in_its_archives(workspace: Workspace) -> None:
    workspace.write("in/.gitignore", "drafts/\n*.tmp.md\n/top.zip!/only.md\n")
    inside = {f"{name}/a.md": "# A\n" for name in ("drafts", "node_modules/x", ".git", "kept", "__MACOSX/y")}
    inside |= {"__MACOSX/._a.md": "x", "b.tmp.md": "x", "only.md": "x", ".DS_Store": "x", "photo.raw": "x"}
    inside |= {"inner.zip": zipped({"c.md": "# C\n"})}  # type: ignore[dict-item]
    workspace.write("in/top.zip", zipped(inside))
    report = workspace.ingest()
    assert workspace.paths() == ["in/top.zip!/__MACOSX/y/a.md", "in/top.zip!/kept/a.md"]
    left_out = [f"in/top.zip!/{each}" for each in ("b.tmp.md", "drafts", "only.md")]
    assert sorted(report.skip_examples["gitignore"]) == left_out
    assert report.unsupported == {".raw": 1, ".zip": 1}


def test_names_that_are_not_utf_8_are_read_right(tmp_path: Path) -> None:
    names = ("프로젝트\\회의록.md", "똠방각하.md")
    path = tmp_path / "x.zip"
    made = zipped({f"{'A' * len(name.encode('cp949'))}{at}": "x" for at, name in enumerate(names)})
    for at, name in enumerate(names):
        raw = name.encode("cp949")
        made = made.replace(b"A" * len(raw) + str(at).encode(), raw + b" ")
    path.write_bytes(made.replace(b"PK\1\2\x14\x03", b"PK\1\2\x14\0"))
    assert {member.name.rstrip() for member in archive_at(str(path)).members} == {"프로젝트/회의록.md", "똠방각하.md"}
    info, japanese = zipfile.ZipInfo("AAAAAA.md"), "議事録"
    raw = japanese.encode("cp932") + b".md"
    info.extra = struct.pack("<HHBL", 0x7075, 17, 1, zlib.crc32(raw)) + f"{japanese}.md".encode()
    path.write_bytes(zipped({}))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, "x")
    path.write_bytes(path.read_bytes().replace(b"AAAAAA.md", raw))
    assert [member.name for member in archive_at(str(path)).members] == ["議事録.md"]
    path.write_bytes(zipped({"Maaller.md": "x"}).replace(b"Maaller", "Müüller".encode("cp437")))
    assert [member.name for member in archive_at(str(path)).members] == ["Müüller.md"]


HOSTILE = {
    "../../up.md": "leads out",
    "/etc/passwd.md": "leads out",
    "a/../../b.md": "leads out",
    "nul\0.md": "NUL",
    "a" * 5000 + ".md": "too long",
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_member_whose_name_is_no_path_below_the_archive_is_reported(
    name: str, kind: str, workspace: Workspace
) -> None:
    if kind == "tar" and "\0" in name:
        pytest.skip("tar ends a name there")
    data = zipped({name.replace("\0", "?"): "# X\n", "ok.md": "# Ok\n"})
    if kind == "tar":
        data = tarred((tarfile.TarInfo(name), b"# X\n"), (tarfile.TarInfo("ok.md"), b"# Ok\n"), mode="w:gz")
    workspace.write(f"x.{kind}", data.replace(b"nul?", b"nul\0"))
    assert counted(workspace.ingest()) == {"new": 1, "errors": 1}
    assert workspace.paths() == [f"x.{kind}!/ok.md"]
    assert HOSTILE[name] in "".join(unread(workspace).values())
    assert counted(workspace.ingest()) == {"unchanged": 1, "still_unread": 1}
    assert not list(workspace.base.parent.rglob("up.md"))


def _entry(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def test_links_and_devices_are_not_followed(workspace: Workspace) -> None:
    secret = workspace.base / "secret.md"
    secret.write_text("# Secret\n")
    links = (
        _entry("soft.md", tarfile.SYMTYPE, str(secret)),
        _entry("hard.md", tarfile.LNKTYPE, "../secret.md"),
        _entry("dev.md", tarfile.CHRTYPE),
        _entry("fifo.md", tarfile.FIFOTYPE),
    )
    workspace.write("x.tar", tarred((tarfile.TarInfo("ok.md"), b"# Ok\n"), *links))
    link = zipfile.ZipInfo("soft.md")
    link.external_attr = 0o120777 << 16
    workspace.write("y.zip", zipped({"ok.md": "# Ok\n"}))
    with zipfile.ZipFile(workspace.root / "y.zip", "a") as archive:
        archive.writestr(link, str(secret))
    workspace.ingest()
    assert workspace.paths() == ["x.tar!/ok.md", "y.zip!/ok.md"]
    assert sorted(unread(workspace)) == ["x.tar!/dev.md", "x.tar!/fifo.md"]


def test_of_members_with_one_name_the_last_is_read(tmp_path: Path) -> None:
    two = ((tarfile.TarInfo("./a.md"), b"old"), (tarfile.TarInfo("a.md"), b"new"))
    (tmp_path / "x.tar").write_bytes(tarred(*two))
    assert [member.name for member in archive_at(str(tmp_path / "x.tar")).members] == ["a.md"]
    assert read_bytes(str(tmp_path / "x.tar!/a.md"), max_bytes=9).data == b"new"


def test_a_folder_that_is_called_like_the_members_wins(workspace: Workspace) -> None:
    workspace.write("x.zip!/a.md", "# In a folder\n")
    workspace.write("x.zip", zipped({"a.md": "# In the archive\n", "b.md": "# B\n"}))
    assert counted(workspace.ingest()) == {"new": 1, "errors": 1}
    assert workspace.query("SELECT workspace_path, title FROM documents") == [("x.zip!/a.md", "In a folder")]
    assert place_in_archive(str(workspace.root / "x.zip!/a.md")) is None


def test_a_member_that_is_gone_or_larger_than_is_read_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    path.write_bytes(zipped({"a.md": "x" * 100}))
    with pytest.raises(FileVanished, match=r"b\.md is not in the archive"):
        read_bytes(f"{path}!/b.md", max_bytes=1000)
    with pytest.raises(FileTooLarge, match="100 bytes"):
        read_bytes(f"{path}!/a.md", max_bytes=99)


def _encrypted(tmp_path: Path) -> bytes:
    data = bytearray(zipped({"a.md": "# A\n"}))
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


UNREADABLE = {
    "encrypted": (_encrypted, "encrypted"),
    "bzip2": (lambda _: zipped({"a.md": "# A\n"}, zipfile.ZIP_BZIP2), "compressed in a way"),
    "lzma": (lambda _: zipped({"a.md": "# A\n"}, zipfile.ZIP_LZMA), "compressed in a way"),
    "other bytes": (lambda _: zipped({"a.md": "# A\n"}, zipfile.ZIP_STORED).replace(b"# A", b"# B"), "CRC"),
}


@pytest.mark.parametrize("made", UNREADABLE)
def test_a_member_that_cannot_be_read_is_reported_and_the_others_are_read(made: str, workspace: Workspace) -> None:
    make, said = UNREADABLE[made]
    workspace.write("x.zip", make(workspace.base))
    workspace.write("y.zip", zipped({"a.md": "# A\n"}))
    assert counted(workspace.ingest()) == {"new": 1, "errors": 1}
    assert list(unread(workspace)) == ["x.zip!/a.md"]
    assert said in unread(workspace)["x.zip!/a.md"]
    assert counted(workspace.ingest()) == {"unchanged": 1, "still_unread": 1}


def _overlapping() -> bytes:
    """A ZIP whose many directory entries all name one member, which expands to 10 MB."""
    data = zipped({"a.md": b"0" * 10_000_000})
    at, end = data.index(b"PK\1\2"), data.index(b"PK\5\6")
    entry, count = data[at:end], 2000
    directory = b"".join(entry.replace(b"a.md", b"%04d" % each) for each in range(count))
    tail = bytearray(data[end:])
    struct.pack_into("<HHL", tail, 8, count, count, len(directory))
    return data[:at] + directory + bytes(tail)


def _many_members() -> bytes:
    """A ZIP whose directory says that it has ten million members, in 460 MB that are not there."""
    data = zipped({"a.md": "x"})
    end = data.index(b"PK\5\6")
    zip64 = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 10**7, 10**7, 46 * 10**7, 0)
    return data[:end] + zip64 + struct.pack("<4sLQL", b"PK\6\7", 0, end, 1) + data[end:]


def _long_head(size: bytes) -> bytes:
    """A tar whose extended head says that it has so many bytes."""
    head = bytearray(tarred(_entry("pax", tarfile.XHDTYPE))[:512])
    head[124:136] = size
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + bytes(10_240)


def _hollow(byte_len: int) -> bytes:
    info = tarfile.TarInfo("a.md")
    info.size = byte_len
    return info.tobuf(tarfile.GNU_FORMAT)


BOMBS = {
    "overlapping.zip": lambda: _overlapping(),
    "directory.zip": lambda: _many_members(),
    "members.tar": lambda: b"".join(tarfile.TarInfo(f"{each}.md").tobuf() for each in range(50_100)) + bytes(1024),
    "zeros.tar.gz": lambda: gzip.compress(_hollow(10**9) + bytes(300_000_000)),
    "zeros.tar.bz2": lambda: bz2.compress(_hollow(10**9) + bytes(100_000_000)),
    "zeros.tar.xz": lambda: lzma.compress(_hollow(10**9) + bytes(100_000_000), preset=0),
    "dictionary.tar.xz": lambda: lzma.compress(
        tarred((tarfile.TarInfo("a.md"), b"x")), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1_000_000_000}]
    ),
    "head.tar": lambda: _long_head(b"17777777777\0"),
    "negative.tar": lambda: _long_head(b"\xff" * 11 + b"\x00"),
    "endless.tar": lambda: _hollow(1 << 62),
    "cut.zip": lambda: zipped(NOTES)[:-40],  # type: ignore[arg-type]
    "cut.tar.gz": lambda: tarred((tarfile.TarInfo("a.md"), os.urandom(9000)), mode="w:gz")[:4000],
    "cut.tar": lambda: tarred((tarfile.TarInfo("a.md"), os.urandom(9000)))[:4000],
    "none.zip": lambda: b"",
    "none.tar": lambda: b"x" * 2000,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_an_archive_that_is_made_to_do_harm_is_refused_in_little_memory(bomb: str, tmp_path: Path) -> None:
    path = tmp_path / bomb
    path.write_bytes(BOMBS[bomb]())
    program = f"""
import resource
resource.setrlimit(resource.RLIMIT_AS, (400_000_000, 400_000_000))
from kb.errors import ExtractFailed, FileTooLarge
from kb.scan.walk import concern_of
from kb.scan.read import archive_at
try:
    archive_at({str(path)!r})
except (ExtractFailed, FileTooLarge) as error:
    print("refused:", error.message)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout.startswith("refused:"), ran
