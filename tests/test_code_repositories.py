"""The git repository of a source file: read from `.git` as it is found, shown, filtered by, and checked later."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import Vault, kb_in, make_vault

from kb.scan.git import commit_at, read_repository, top_of

ONE, TWO = "1" * 40, "2" * 40
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def repository(folder: Path, **more: str) -> Path:
    heads = {".git/HEAD": "ref: refs/heads/main\n", ".git/refs/heads/main": f"{ONE}\n"}
    return put(folder, heads | {f".git/{name.replace('__', '/')}": text for name, text in more.items()})


def git(folder: Path, *words: str) -> None:
    identity = (
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    )
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_branch_is_read_with_its_commit(tmp_path: Path) -> None:
    top = repository(tmp_path / "tool")
    found, fault = read_repository(str(top))
    assert (found.name, found.branch, found.commit, fault) == ("tool", "main", ONE, None)
    assert (top_of(str(top / "src")), commit_at(str(top))) == (str(top), ONE)


def test_a_branch_may_be_packed(tmp_path: Path) -> None:
    packed = f"# pack-refs with: peeled\n{TWO} refs/heads/main\n^{ONE}\n"
    top = repository(tmp_path / "tool", **{"packed-refs": packed})
    (top / ".git/refs/heads/main").unlink()
    assert read_repository(str(top))[0].commit == TWO


def test_no_branch_and_no_commit_are_told_apart(tmp_path: Path) -> None:
    detached = put(tmp_path / "a", {".git/HEAD": f"{TWO}\n"})
    assert read_repository(str(detached))[0][2:4] == (None, TWO)
    empty = put(tmp_path / "b", {".git/HEAD": "ref: refs/heads/new\n"})
    found, fault = read_repository(str(empty))
    assert (found[2:4], fault) == (("new", None), None)


def test_the_name_is_that_of_its_origin(tmp_path: Path) -> None:
    config = '[core]\n\tbare = false\n[remote "origin"]\n\turl = git@example.com:people/rocket.git\n\tfetch = x\n'
    assert read_repository(str(repository(tmp_path / "copy-2", config=config)))[0].name == "rocket"


def test_a_worktree_has_its_own_head_and_the_branches_of_its_repository(tmp_path: Path) -> None:
    main = repository(tmp_path / "main")
    put(
        main / ".git",
        {
            "worktrees/side/HEAD": "ref: refs/heads/side/line\n",
            "worktrees/side/commondir": "../..\n",
            "refs/heads/side/line": f"{TWO}\n",
        },
    )
    side = put(tmp_path / "side", {".git": f"gitdir: {main}/.git/worktrees/side\n"})
    assert read_repository(str(side))[0][1:4] == ("main", "side/line", TWO)


def test_a_submodule_is_a_repository_of_its_own(tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    put(outer / ".git/modules/inner", {"HEAD": f"{TWO}\n"})
    inner = put(outer / "lib/inner", {".git": "gitdir: ../../.git/modules/inner\n"})
    assert top_of(str(inner)) == str(inner)
    assert read_repository(str(inner))[0][1:4] == ("inner", None, TWO)


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({".git/config": ""}, "No such file"),
        ({".git/HEAD": "gibberish"}, "HEAD names no branch"),
        ({".git/HEAD": "ref: refs/heads/../../../etc/passwd"}, "HEAD names no branch"),
        ({".git/HEAD": "ref: refs/heads/main", ".git/refs/heads/main": "not a commit"}, "holds no commit"),
        ({".git/HEAD": "ref: refs/heads/.invalid"}, "reftable"),
        ({".git": "gitdir: /nowhere/at/all"}, "not there"),
        ({".git": "\0\1\2"}, "names no folder"),
    ],
)
def test_what_is_damaged_is_said_and_stops_nothing(tmp_path: Path, files: dict[str, str], fault: str) -> None:
    vault = make_vault(tmp_path, {"code/a.py": "def found():\n    pass\n"})
    put(vault.root / "code", files)
    ran = kb_in(vault)("ingest", "--no-embed")
    assert ran.code == 0
    assert f"the git repository {vault.root}/code cannot be read: " in ran.stdout + ran.stderr
    assert fault in ran.stdout + ran.stderr
    (hit,) = kb_in(vault)("search", "--json", "found").json["hits"]
    assert (hit["repo"], hit["git_commit"]) == ("code", None)


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    made = make_vault(
        tmp_path,
        {
            "one/src/a.py": "def shared():\n    pass\n",
            "two/src/b.py": "def shared():\n    pass\n",
            "note.md": "# Shared\n\nshared\n",
        },
    )
    repository(made.root / "one")
    repository(made.root / "two", HEAD=f"{TWO}\n")
    assert kb_in(made)("ingest", "--no-embed").code == 0
    return made


def test_hits_name_their_repository_and_are_filtered_by_it(vault: Vault) -> None:
    def paths(*words: str) -> list[str]:
        ran = kb_in(vault)(*words, "--json")
        hits = ran.json["hits"] if words[0] == "search" else ran.lines
        return [hit.get("doc_path") or hit["citation"]["path"] for hit in hits]

    assert paths("search", "shared", "--repo", "TWO") == ["two/src/b.py"]
    assert paths("list", "docs", "--repo", "one") == ["one/src/a.py"]
    assert paths("list", "symbols", "--repo", "one") == ["one/src/a.py"]
    shown = kb_in(vault)("search", "shared").stdout
    assert f"shared (function, python)  one main@{ONE[:12]}" in shown
    asked = kb_in(vault)("ask", "--provider", "extractive", "--json", "shared()", "--repo", "two")
    assert [(each["citation"]["path"], each["git_commit"]) for each in asked.json["citations"]] == [
        ("two/src/b.py", TWO)
    ]


def test_a_commit_that_moved_on_is_noted_by_the_next_ingest_and_said_by_verify(vault: Vault) -> None:
    kb_in(vault)("ask", "--provider", "extractive", "shared()", "--repo", "one")
    same = kb_in(vault)("verify", "--json").json["quotes"]
    assert [quote.get("git_commit") for quote in same] == [None]
    (vault.root / "one/.git/refs/heads/main").write_text(TWO)
    told = kb_in(vault)("verify", "--json").json["quotes"]
    assert [(quote["standing"], quote["git_commit"], quote["now_git_commit"]) for quote in told] == [
        ("stands", ONE, TWO)
    ]
    assert f"cited at commit {ONE[:12]}, now at {TWO[:12]}" in kb_in(vault)("verify").stdout
    kb_in(vault)("ingest", "--no-embed")
    hit = kb_in(vault)("search", "--json", "shared", "--repo", "one").json["hits"][0]
    assert hit["git_commit"] == TWO


def test_a_repository_that_is_gone_is_forgotten(vault: Vault) -> None:
    shutil.rmtree(vault.root / "one/.git")
    kb_in(vault)("ingest", "--no-embed")
    assert kb_in(vault)("list", "docs", "--repo", "one").code == 1
    assert kb_in(vault)("list", "docs", "--repo", "two").code == 0


def test_a_linked_checkout_is_the_repository_it_leads_to(tmp_path: Path) -> None:
    outside = repository(put(tmp_path / "elsewhere", {"src/a.py": "def linked():\n    pass\n"}))
    vault = make_vault(tmp_path, {"note.md": "# Note\n\nText.\n"})
    (vault.root / "link").symlink_to(outside / "src")
    kb_in(vault)("ingest", "--no-embed")
    (hit,) = kb_in(vault)("search", "--json", "linked").json["hits"]
    assert (hit["doc_path"], hit["repo"], hit["git_commit"]) == ("link/a.py", "elsewhere", ONE)
    assert hit["git_dirty"] is None


@needs_git
def test_real_worktrees_submodules_and_packed_branches_are_read(tmp_path: Path) -> None:
    inner = put(tmp_path / "inner", {"i.py": "i = 1\n"})
    top = put(tmp_path / "tool", {"a.py": "a = 1\n"})
    for folder in (inner, top):
        git(folder, "init", "-q")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", "first")
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "lib/inner")
    git(top, "worktree", "add", "-qb", "side", str(tmp_path / "side"))
    git(top, "pack-refs", "--all")
    for folder, branch in ((top, "main"), (top / "lib/inner", "main"), (tmp_path / "side", "side")):
        found, fault = read_repository(str(folder))
        commit = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip()
        assert (found.branch, found.commit, fault) == (branch, commit, None)
