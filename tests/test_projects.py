"""A project's own `.kb/config.toml`: found upwards, used once trusted, never more than what of its folder is read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Ran, run_kb, write_notes
from watching import HAND_OVER, NOT_HANDED_OVER, wait_until_warm, watch

from kb.cli.projects import project_above
from kb.config import load
from kb.operations.opening.base import open_base

WORDS = ("--set", "search.mode=lexical")
OWN = {"own.md": "# Own\n\nThe user's kettle.\n"}
PROJECT = {"docs/plan.md": "# Plan\n\nThe project's kettle.\n", "build/out.md": "# Out\n\nA built kettle.\n"}


@pytest.fixture
def home(away_from_home: Path) -> Path:
    """A home directory with the usual knowledge base, indexed."""
    write_notes(away_from_home / "notes", OWN)
    assert run_kb("init", "--root", str(away_from_home / "notes")).code == 0
    assert run_kb("ingest", "--no-embed").code == 0
    return away_from_home


@pytest.fixture
def project(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with notes; a folder below it is the working directory."""
    write_notes(home / "src/turbine", PROJECT)
    (home / "src/turbine/.kb").mkdir()
    monkeypatch.chdir(home / "src/turbine/docs")
    return home / "src/turbine"


def says(project: Path, text: str) -> None:
    (project / ".kb/config.toml").write_text(text, encoding="utf-8")


def trusted(project: Path, text: str = "") -> Ran:
    says(project, text)
    ran = run_kb("trust", "--yes")
    assert ran.code == 0, ran.stderr
    return ran


def found(*args: str, env: dict[str, str] | None = None) -> list[str]:
    return [each["doc_path"] for each in run_kb(*args, "list", "docs", "--json", env=env).lines]


def test_an_untrusted_project_is_one_line_and_changes_nothing(project: Path) -> None:
    says(project, "[workspace]\nexclude = ['build/**']\n")
    ran = run_kb(*WORDS, "search", "kettle", "--json")
    assert [hit["doc_path"] for hit in ran.json["hits"]] == ["own.md"]
    assert ran.stderr == f"note: {project}/.kb/config.toml is not used, for it is not trusted: kb trust shows it\n"
    assert run_kb("trust", stdin="n\n").code == 1
    assert found() == ["own.md"]


def test_a_trusted_project_is_a_knowledge_base_whose_data_is_elsewhere(project: Path) -> None:
    before = sorted(project.rglob("*"))
    shown = trusted(project, "[workspace]\nexclude = ['build/**']\nabout = 'Turbines'\n").stdout
    assert 'workspace.about    "Turbines"' in shown
    assert run_kb("ingest", "--no-embed").code == 0
    assert found() == ["docs/plan.md"]
    assert [path for path in sorted(project.rglob("*")) if path not in before] == [project / ".kb/config.toml"]
    assert len(list((project.parents[1] / ".local/share/kb/projects").glob("turbine-*/kb.sqlite"))) == 1
    status = run_kb("status").stdout
    assert f"the project {project}/.kb/config.toml (around the working directory)" in status
    others = (("--vault", "default"), ("--config", str(project.parents[1] / ".config/kb/config.toml")))
    assert [found(*other) for other in others] == [["own.md"], ["own.md"]]
    assert "the vault default (--vault)" in run_kb("--vault", "default", "status").stdout


def test_changed_content_is_untrusted_again_and_forgotten_trust_too(project: Path) -> None:
    trusted(project)
    run_kb("ingest", "--no-embed")
    assert sorted(found()) == ["build/out.md", "docs/plan.md"]
    says(project, "# changed\n")
    assert found() == ["own.md"]
    assert "changed since" in run_kb("trust", "--list").stdout
    trusted(project)
    assert run_kb("trust", "--list").stdout == f"{project}\n"
    assert run_kb("trust", "--forget").code == 0
    assert (found(), run_kb("trust", "--list").stdout) == (["own.md"], "")
    assert run_kb("trust", "--forget").code == 2


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[models.llm]\nendpoint = "http://evil.example"', "models.llm.endpoint"),
        ('[extract]\npdf_passwords_command = "touch /tmp/owned"', "extract.pdf_passwords_command"),
        ('[models.embedding]\nmodel = "evil"', "models.embedding.model"),
        ('[storage]\ndata_dir = "/home"', "storage.data_dir"),
        ('[storage]\ncache_dir = "."', "storage.cache_dir"),
        ('[storage]\nvector_dir = "s3://evil/x"', "storage.vector_dir"),
        ('[compute]\nscheduler = "tcp://evil:1"', "compute.scheduler"),
        ("[exposure]\nnever_to_mcp = []", "exposure.never_to_mcp"),
        ("[workspace]\nfollow_outside = true", "workspace.follow_outside"),
        ('[plugins]\nextractors = ["evil"]', "plugins.extractors"),
        ('[search]\nlexicon = "/etc/passwd"', "search.lexicon"),
    ],
    ids=lambda value: value if "." in value and "\n" not in value else "",
)
def test_what_a_project_may_not_set_is_refused_by_name(project: Path, text: str, key: str) -> None:
    says(project, text)
    ran = run_kb("trust", "--yes")
    assert ran.code == 2
    assert f"a project may not set {key}" in ran.stderr
    assert found() == ["own.md"]


@pytest.mark.parametrize(
    "text",
    [
        "[workspace]\nroot = '/'",
        "[workspace]\nroot = '..'",
        "[workspace]\nroot = 'docs/../../..'",
        "[[sources]]\nname = 'keys'\nroot = '/etc'",
        "[[sources]]\nname = 'keys'\nroot = 'linked'",
        "[workspace\nroot =",
        "[workspace]\nroot = 1",
        "[[sources]]\nname = 'x1'\nroot = 'docs'\nkinds = ['nothing']",
        "x = '" + "a" * 1_000_000 + "'",
        "a" + ".a" * 50_000 + " = 1",
    ],
    ids=["root", "above", "dots", "absolute", "link", "no TOML", "type", "kind", "huge", "deep"],
)
def test_what_leads_out_or_is_no_configuration_is_refused(project: Path, text: str) -> None:
    (project / "linked").symlink_to(project.parents[1] / "notes")
    says(project, text)
    assert run_kb("trust", "--yes").code == 2
    assert run_kb("trust", "--list").stdout == ""
    assert found() == ["own.md"]


def test_variables_and_homes_in_folders_are_names(project: Path) -> None:
    trusted(project, "[workspace]\nroot = '~/notes'\n[[sources]]\nname = 'home'\nroot = '$HOME/notes'\n")
    source = load(str(project / ".kb/config.toml")).sources.further[0]
    assert source.root == Path(f"{project}/{project.parents[1]}/notes"), (
        "below the project, not what the variable names"
    )
    shown = run_kb("config", "show", "--json").json["values"]["workspace.root"]
    assert shown == {"value": f"{project}/~/notes", "origin": "project"}


def test_links_out_of_a_project_are_not_followed(project: Path) -> None:
    (project / "docs/own.md").symlink_to(project.parents[1] / "notes/own.md")
    (project / "docs/all").symlink_to(project.parents[1] / "notes")
    trusted(project)
    run_kb("ingest", "--no-embed")
    assert sorted(found()) == ["build/out.md", "docs/plan.md"]


def test_a_folder_that_becomes_a_link_out_after_trust_is_refused(project: Path) -> None:
    trusted(project, "[workspace]\nroot = 'docs'\n")
    os.chdir(project)
    (project / "docs").rename(project / "old")
    (project / "docs").symlink_to(project.parents[1] / "notes")
    for command in (("ingest", "--no-embed"), ("search", "kettle")):
        ran = run_kb(*command)
        assert (ran.code, "leads out of it" in ran.stderr) == (2, True)


@pytest.mark.parametrize("what", ["file", "folder", "fifo", "directory"])
def test_a_file_that_is_none_of_the_project_is_not_trusted(project: Path, what: str) -> None:
    other = project.parent / "other"
    write_notes(other, {".kb/config.toml": ""})
    file = project / ".kb/config.toml"
    if what == "file":
        file.symlink_to(other / ".kb/config.toml")
    elif what == "folder":
        file.parent.rmdir()
        file.parent.symlink_to(other / ".kb")
    elif what == "fifo":
        os.mkfifo(file)
    else:
        file.mkdir()
    assert run_kb("trust", "--yes").code == 2
    ran = run_kb("list", "docs", "--json")
    assert ([each["doc_path"] for each in ran.lines], "not trusted" in ran.stderr) == (["own.md"], True)


def test_the_users_own_settings_stay_and_its_places_are_not_shared(project: Path) -> None:
    config = project.parents[1] / ".config/kb/config.toml"
    sqlite = project.parents[1] / "elsewhere.sqlite"
    own = "[search]\nmode = 'lexical'\n[exposure]\nnever_to_mcp = ['docs/**']\n"
    config.write_text(
        f"[storage]\nsqlite = '{sqlite}'\nmodel_dir = 'models'\n[workspace]\nroot = '{project.parents[1]}/notes'\n{own}"
    )
    trusted(project)
    run_kb(
        "ingest", "--no-embed", env={"KB_STORAGE_DATA_DIR": str(project.parents[1] / "data"), "KB_WORKSPACE_ROOT": "/"}
    )
    assert not sqlite.exists()
    env = {"KB_STORAGE_DATA_DIR": str(project.parents[1] / "data")}
    assert sorted(found(env=env)) == ["build/out.md", "docs/plan.md"]
    assert load(str(project / ".kb/config.toml")).model_dir == config.parent / "models"
    with (
        open_base(load(str(project / ".kb/config.toml"), (), env), audience="agent") as base,
        base.reading() as reading,
    ):
        assert reading.hides, "the user's exposure counts in a project"


def test_agents_are_given_a_project_only_where_it_is_named(project: Path) -> None:
    trusted(project)
    run_kb("ingest", "--no-embed")
    assert ".kb" not in run_kb("mcp", "--print-config", "cursor").stdout
    file = str(project / ".kb/config.toml")
    assert file in run_kb("--config", file, "mcp", "--print-config", "cursor").stdout
    says(project, "# changed\n")
    ran = run_kb("--config", file, "mcp", "--print-config", "cursor")
    assert (ran.code, "not trusted" in ran.stderr) == (2, True)


def test_a_vault_may_be_a_project_and_needs_trust_too(project: Path) -> None:
    trusted(project)
    run_kb("ingest", "--no-embed")
    assert run_kb("vault", "add", "turbine", ".kb/../../.kb/config.toml").code == 0
    assert sorted(found("--vault", "turbine")) == ["build/out.md", "docs/plan.md"]
    says(project, "# changed\n")
    assert run_kb("--vault", "turbine", "list", "docs").code == 2


def test_init_writes_and_trusts_a_project(project: Path) -> None:
    assert run_kb("init", "--project").code == 0
    assert (project / "docs/.kb/config.toml").exists(), "of this folder, not of the one above"
    run_kb("ingest", "--no-embed")
    assert found() == ["plan.md"]
    assert run_kb("init", "--project").code == 2
    assert run_kb("source", "add", "more", str(project / "build")).code == 2


def test_the_look_upwards_ends_at_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / ".kb").mkdir()
    (home / ".kb/config.toml").write_text("")
    monkeypatch.chdir(home / "notes")
    assert project_above() is None
    assert run_kb("trust", "--yes").code == 2
    assert "your home directory is in its folder" in run_kb("trust", "~", "--yes").stderr
    (home / "notes/.kb").mkdir()
    (home / "notes/.kb/config.toml").write_text("")
    assert project_above() == str(home / "notes/.kb/config.toml")


def test_a_damaged_list_of_trust_is_an_error(project: Path) -> None:
    trusted(project)
    state = project.parents[1] / ".local/state/kb/trusted.json"
    assert json.loads(state.read_text())
    assert state.stat().st_mode & 0o077 == 0
    state.write_text("[]")
    assert run_kb("status").code == 2


@pytest.mark.slow
def test_kb_watch_answers_calls_below_its_project(project: Path) -> None:
    trusted(project)
    assert run_kb("ingest", "--no-embed").code == 0
    config = project / ".kb/config.toml"
    with watch(config) as (_, env):
        wait_until_warm(config, env)

        def called() -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", HAND_OVER, *WORDS, "search", "kettle"]
            return subprocess.run(command, env=env, capture_output=True, text=True, check=False)

        assert "docs/plan.md" in called().stdout
        says(project, "# changed\n")
        assert ("own.md" in called().stdout, "not trusted" in called().stderr) == (True, True)
        os.chdir("/")
        assert called().returncode == NOT_HANDED_OVER
