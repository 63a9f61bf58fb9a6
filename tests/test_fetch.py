"""`kb fetch`: text at places, word for word, within a budget; what is not indexed is not there, wherever it lies."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any
from zlib import compress, crc32

import pytest
from conftest import NOTES, Kb, Vault, indexed_vault, kb_in

from kb.config import load
from kb.domain.ids import content_hash
from kb.domain.results.fetched import Fetched, FetchRequest, FetchTarget
from kb.embed.installed.vocabulary import VOCABULARY_FILE, open_vocabulary
from kb.errors import InvalidCursor, StaleCursor, UsageError
from kb.operations.fetch.fetch import MOST_TARGETS, fetch
from kb.operations.inspect.listing import list_things
from kb.operations.opening.base import open_base
from kb.operations.opening.paging import token_counter
from kb.wire.schemas import validate

MODELS = Path(os.environ.get("KB_TEST_MODEL_DIR") or "/nowhere")
ENCODER = "kb-encoder-1"

CODE = """\
def first() -> int:
    return 1


class Second:
    def third(self) -> int:
        return 3
"""


def fetched(vault: Vault, *targets: FetchTarget | str, **options: Any) -> Fetched:
    asked = tuple(each if isinstance(each, FetchTarget) else FetchTarget(each) for each in targets)
    with open_base(load(str(vault.config), ())) as session:
        return fetch(session, FetchRequest(asked, **options))


def test_lines_are_those_of_the_file(vault: Vault) -> None:
    source = (vault.root / "projects/gateway/log.md").read_text(encoding="utf-8").split("\n")
    place = fetched(vault, "projects/gateway/log.md#L9-L11").places[0]
    assert place.text == "\n".join(source[8:11])
    assert (place.first_line, place.total_lines) == (9, len(source) - 1)
    assert place.hash == content_hash(place.text.encode())
    assert place.document_hash == content_hash((vault.root / "projects/gateway/log.md").read_bytes())
    assert place.is_current
    assert place.heading_path == ("Gateway log", "Retry and backoff")
    assert place.after is not None
    assert place.after == ("projects/gateway/log.md#L13-L16", ("Gateway log", "Retry and backoff"))


def test_context_stands_around_the_lines_that_are_cited(vault: Vault) -> None:
    place = fetched(vault, "projects/gateway/log.md#L11", context_lines=2).places[0]
    assert place.citation.to_uri() == "projects/gateway/log.md#L11"
    assert (place.first_line, place.text.count("\n")) == (9, 4)


SECTIONS = """\
# Runbook

## Restart
Drain first. ^drain

## 비상 연락 (밤)
Call Taeho.

### Steps
1. call ^first
2. wait

## After {#later}
### Steps
Write it down.
"""


@pytest.fixture(scope="module")
def headed(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(
        tmp_path_factory.mktemp("headed"),
        {
            "server/runbook.md": SECTIONS,
            "a#b.md": "# One\n\ntext\n",
            "keys.md": "# Keys\n\n## [[sources]]\n\nOne table for each.\n",
            "page.html": "<h1>Top</h1><p>first words of it</p><h2>Below</h2><p>other words of it</p>",
            "links.md": "# Links\n\n[[runbook#Restart]], [x](server/runbook.md#steps-1), [[gone#Here]]\n",
        },
    )


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("server/runbook.md#Restart", [(3, 5)]),
        ("server/runbook.md#restart", [(3, 5)]),
        ("[[runbook#Restart]]", [(3, 5)]),
        ("![[runbook#Restart|shown]]", [(3, 5)]),
        ("[how](../server/runbook.md#restart)", [(3, 5)]),
        ("kb://citation/server/runbook.md%23Restart", [(3, 5)]),
        ("server/runbook.md#비상-연락-밤", [(6, 12)]),
        ("server/runbook.md#%EB%B9%84%EC%83%81%20%EC%97%B0%EB%9D%BD%20(%EB%B0%A4)", [(6, 12)]),
        ("server/runbook.md#Steps", [(9, 12), (14, 15)]),
        ("server/runbook.md#steps-1", [(14, 15)]),
        ("runbook#After#Steps", [(14, 15)]),
        ("server/runbook.md#Runbook › After › Steps", [(14, 15)]),
        ("server/runbook.md#later", [(13, 15)]),
        ("server/runbook.md#^drain", [(4, 4)]),
        ("runbook.md#^first", [(10, 10)]),
        ("a#b.md#One", [(1, 3)]),
        ("keys.md#sources", [(3, 5)]),
        ("runbook.md#L3-L4", [(3, 4)]),
        ("server/runbook.md#L3:L4", [(3, 4)]),
        ("server/runbook.md#L3,L4", [(3, 4)]),
        ("page.html#Below", [(1, 1)]),
    ],
)
def test_a_heading_names_its_section(asked: str, lines: list[tuple[int, int]], headed: Vault) -> None:
    found = fetched(headed, asked)
    assert not found.failures
    places = [each.citation for each in found.places]
    assert [(each.start, each.end) for each in places] == lines  # type: ignore[union-attr]


def test_a_heading_that_is_not_there_is_no_place(headed: Vault) -> None:
    for asked in (
        "server/runbook.md#Restar",
        "server/runbook.md#^nothing",
        "server/runbook.md#Steps#Restart",
        "runbook#-",
    ):
        (failure,) = fetched(headed, asked).failures
        assert failure.error.code in ("invalid_citation", "not_found")


def test_what_is_above_several_sections_is_above_the_place(headed: Vault) -> None:
    assert fetched(headed, "server/runbook.md").places[0].heading_path == ("Runbook",)


def test_a_listed_link_says_a_place_to_fetch(headed: Vault) -> None:
    with open_base(load(str(headed.config), ())) as session:
        details = [each.detail or "" for each in list_things(session, "links", glob="links.md").items]
    assert details == ["→ server/runbook.md#Restart", "→ server/runbook.md#steps-1", "→ (gone#Here: not indexed)"]
    for each in details[:2]:
        assert fetched(headed, each.removeprefix("→ ")).places


def test_reading_on_by_what_is_before_and_after_leaves_no_line_out(vault: Vault, tmp_path: Path) -> None:
    long = (
        "# Long\n" + "\n".join(f"\nLine {number} of the only section.\n" for number in range(40)) + "\n<!-- end -->\n"
    )
    made = indexed_vault(tmp_path, {"long.md": long, "meta.md": NOTES["projects/gateway/log.md"]})
    for name, begun in (("long.md", "#L8-L10"), ("meta.md", "#L9"), ("meta.md", "#L12-L14")):
        lines = (made.root / name).read_text(encoding="utf-8").rstrip("\n").split("\n")
        here = place = fetched(made, name + begun).places[0]
        read: dict[int, str] = {}
        while True:
            assert place.first_line is not None
            read |= dict(enumerate(place.text.split("\n"), place.first_line))
            if place.before is None:
                break
            place = fetched(made, place.before.uri).places[0]
        place = here
        while place.after is not None:
            place = fetched(made, place.after.uri).places[0]
            assert place.first_line is not None
            new = dict(enumerate(place.text.split("\n"), place.first_line))
            assert not read.keys() & new.keys()
            read |= new
        assert [number for number, line in enumerate(lines, 1) if line.strip() and read.get(number) != line] == []


def test_what_is_before_and_after_is_around_the_context_too(vault: Vault) -> None:
    place = fetched(vault, "projects/gateway/log.md#L11", context_lines=1).places[0]
    assert place.before is not None
    assert place.after is not None
    assert (place.before.uri, place.after.uri) == ("projects/gateway/log.md#L7-L9", "projects/gateway/log.md#L13-L16")


def test_lines_beyond_the_end_are_those_that_there_are(vault: Vault) -> None:
    place = fetched(vault, FetchTarget("chunking.md", lines="9-900")).places[0]
    assert place.citation.to_uri() == "chunking.md#L9-L11"
    failure = fetched(vault, "chunking.md#L900-L901").failures[0]
    assert (failure.error.code, failure.error.message) == ("not_found", "chunking.md has 11 lines, and no line 900")


def test_every_way_to_name_a_place(vault: Vault, kb: Kb) -> None:
    hit = kb("search", "gateway retries", "--json").json["hits"][0]
    by_citation = fetched(vault, hit["citation"]["uri"]).places[0]
    by_id = fetched(vault, hit["chunk_id"]).places[0]
    by_prefix = fetched(vault, hit["chunk_id"][:12]).places[0]
    assert by_id.text == by_citation.text == by_prefix.text
    assert by_id.chunk_id == hit["chunk_id"]
    whole = (vault.root / hit["doc_path"]).read_text(encoding="utf-8").removesuffix("\n")
    assert fetched(vault, hit["doc_path"]).places[0].text == whole
    assert fetched(vault, hit["doc_id"]).places[0].text == whole
    assert fetched(vault, str(vault.root / hit["doc_path"])).places[0].text == whole
    assert fetched(vault, FetchTarget(hit["doc_path"], lines="2-3")).places[0].text == "\n".join(whole.split("\n")[1:3])


@pytest.mark.parametrize(
    ("typed", "cited"),
    [
        ("log.md", "projects/gateway/log.md#L1-L20"),
        ("[[log]]", "projects/gateway/log.md#L1-L20"),
        ("gateway/log.md:9-11", "projects/gateway/log.md#L9-L11"),
        ("kb://lines/9-11/projects/gateway/log.md", "projects/gateway/log.md#L9-L11"),
        ("meeting%20%232.md#L3", "projects/gateway/meeting #2.md#L3"),
        ("projects/gateway/meeting #2.md, line 3", "projects/gateway/meeting #2.md#L3"),
    ],
)
def test_a_place_may_be_written_in_other_ways(typed: str, cited: str, vault: Vault) -> None:
    assert fetched(vault, typed).places[0].citation.to_uri() == cited


def test_a_short_name_of_two_documents_names_both(tmp_path: Path) -> None:
    made = indexed_vault(
        tmp_path, {"a/index.md": "# A\n", "b/index.md": "# B\n", "note.md": "# Root\n", "a/note.md": "#"}
    )
    error = fetched(made, "index.md#L1").failures[0].error
    assert (error.code, error.message) == ("invalid_id", "'index.md' fits 2 documents")
    assert str(error.hint).endswith("a/index.md, b/index.md")
    assert fetched(made, "note.md").places[0].text == "# Root"
    assert fetched(made, "note.md#nonsense").failures[0].error.code == "invalid_citation"


def test_a_hash_sign_in_a_name_is_no_fragment(vault: Vault) -> None:
    assert fetched(vault, "projects/gateway/meeting #2.md").places[0].text.startswith("# 주간 회의")
    assert fetched(vault, "projects/gateway/meeting #2.md#L3").places[0].text == "- 센서 교체는 3월에 한다."


def test_definitions_of_code(tmp_path: Path) -> None:
    pytest.importorskip("tree_sitter_python")

    made = indexed_vault(tmp_path, {"src/tool.py": CODE})
    for target in (
        FetchTarget("src/tool.py", symbol="Second.third"),
        FetchTarget("src/tool.py#symbol=third"),
        FetchTarget("", symbol="Second::third"),
    ):
        place = fetched(made, target).places[0]
        assert (place.citation.to_uri(), place.text.strip().split("\n")[0]) == (
            "src/tool.py#L6-L7",
            "def third(self) -> int:",
        )
    assert fetched(made, FetchTarget("src/tool.py", symbol="nope")).failures[0].error.code == "not_found"


@pytest.mark.parametrize(
    "place",
    [
        "../outside.md",
        "/etc/passwd",
        "link.md",
        "folder/outside.md",
        "notes/../../outside.md#L1",
        "unindexed.dat",
        "nowhere.md",
        "outside.md\0",
        "0123456789abcdef0123456789abcdef",
        "deadbeef",
    ],
)
def test_what_is_not_indexed_is_not_there(place: str, fresh_vault: Vault) -> None:
    """A path outside the sources, by dots or by a link, says no more than one that is nowhere."""
    (fresh_vault.root.parent / "outside.md").write_text("a secret outside")
    (fresh_vault.root / "unindexed.dat").write_text("a secret inside")
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    os.symlink(fresh_vault.root.parent / "outside.md", fresh_vault.root / "link.md")
    os.symlink(fresh_vault.root.parent, fresh_vault.root / "folder")
    ran = fetched(fresh_vault, place)
    assert ran.places == ()
    error = ran.failures[0].error
    shown = place.partition("#")[0]
    assert (error.code, error.message) == ("not_found", f"nothing is indexed as {shown!r}")


def test_a_link_in_the_place_of_a_file_shows_what_was_indexed(fresh_vault: Vault) -> None:
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    secret = fresh_vault.root.parent / "secret"
    secret.write_text("root:x:0:0\n" * 20)
    (fresh_vault.root / "chunking.md").unlink()
    os.symlink(secret, fresh_vault.root / "chunking.md")
    place = fetched(fresh_vault, "chunking.md#L1-L5").places[0]
    assert not place.is_current
    assert place.text.startswith("---\ntitle: 청킹 규칙")
    for copy in (fresh_vault.sqlite.parent / "assets").rglob("*"):
        if copy.is_file():
            copy.unlink()
    failure = fetched(fresh_vault, "chunking.md#L1-L5").failures[0]
    assert (failure.error.code, "root" in failure.error.message) == ("file_vanished", False)


@pytest.mark.parametrize(
    ("target", "code"),
    [
        (FetchTarget("chunking.md", lines="9-3"), "invalid_citation"),
        (FetchTarget("chunking.md", lines="x"), "invalid_citation"),
        (FetchTarget("chunking.md", page=0), "invalid_citation"),
        (FetchTarget("chunking.md", page=3), "not_found"),
        (FetchTarget("chunking.md", time="5-1"), "invalid_citation"),
        (FetchTarget("chunking.md", time="1-5"), "not_found"),
        (FetchTarget("chunking.md", lines="1-2", page=1), "invalid_argument"),
        (FetchTarget("chunking.md#L9-L3"), "invalid_citation"),
        (FetchTarget("chunking.md#nonsense"), "invalid_citation"),
        (FetchTarget(" "), "invalid_argument"),
        (FetchTarget("", symbol=" . "), "invalid_argument"),
    ],
)
def test_a_place_that_cannot_be(target: FetchTarget, code: str, vault: Vault) -> None:
    ran = fetched(vault, target, "chunking.md#L1")
    assert [each.error.code for each in ran.failures] == [code]
    assert [each.citation.to_uri() for each in ran.places] == ["chunking.md#L1"]


def test_a_budget_is_kept_and_the_cursor_goes_on_to_the_end(vault: Vault) -> None:
    names = ["chunking.md", "nowhere.md", "projects/gateway/log.md", "projects/notes.md"]
    read: dict[str, str] = {}
    failed = 0
    page = fetched(vault, *names, max_tokens=60)
    for _ in range(50):
        assert page.tokens <= 60
        failed += len(page.failures)
        for place in page.places:
            path = place.citation.path
            joined = "\n" if path in read else ""
            read[path] = read.get(path, "") + joined + place.text
        if page.next_cursor is None:
            break
        page = fetched(vault, max_tokens=60, cursor=page.next_cursor)
    assert page.next_cursor is None
    assert failed == 1
    assert read == {
        name: (vault.root / name).read_text(encoding="utf-8").removesuffix("\n")
        for name in names
        if name != "nowhere.md"
    }


def test_a_line_longer_than_the_budget_comes_in_pieces(fresh_vault: Vault) -> None:
    line = " ".join(f"word{number}" for number in range(500))
    (fresh_vault.root / "long.md").write_text(line + "\n", encoding="utf-8")
    assert kb_in(fresh_vault)("ingest", "--no-embed").code == 0
    page = fetched(fresh_vault, "long.md", max_tokens=200)
    read = page.places[0].text
    assert page.places[0].is_cut
    while page.next_cursor is not None:
        page = fetched(fresh_vault, max_tokens=200, cursor=page.next_cursor)
        read += page.places[0].text
        assert page.tokens <= 200
    assert read == line


def test_a_cursor_is_stale_after_a_change_of_the_corpus(fresh_vault: Vault) -> None:
    kb = kb_in(fresh_vault)
    assert kb("ingest", "--no-embed").code == 0
    cursor = fetched(fresh_vault, "projects/gateway/log.md", max_tokens=50).next_cursor
    (fresh_vault.root / "new.md").write_text("# New\n\nsomething new\n")
    assert kb("ingest", "--no-embed").code == 0
    with pytest.raises(StaleCursor) as raised:
        fetched(fresh_vault, cursor=cursor)
    assert raised.value.code == "stale_cursor"
    ran = kb("fetch", "--cursor", cursor or "", "--json")
    assert (ran.code, json.loads(ran.stderr)["code"]) == (2, "stale_cursor")


def forged(**state: Any) -> str:
    body = compress(json.dumps({"k": "fetch", "r": len(NOTES), **state}).encode(), wbits=-15)
    return base64.urlsafe_b64encode(crc32(body).to_bytes(4) + body).decode().rstrip("=")


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "nonsense",
        "한글",
        "A" * 30_000,
        forged(),
        forged(t=[["a"]], c=0, at=[0, -1, 0]),
        forged(t=[["a"]], c="0", at=[0, 0, 0]),
        forged(t=[["a"]], c=0, at=[0, 0]),
        forged(t=[[7]], c=0, at=[0, 0, 0]),
        forged(t=[["a", None, "one"]], c=0, at=[0, 0, 0]),
        forged(t=7, c=0, at=[0, 0, 0]),
        forged(k="search", t=[], c=0, at=[0, 0, 0]),
    ],
)
def test_a_cursor_that_kb_never_gave(cursor: str, vault: Vault) -> None:
    with pytest.raises(InvalidCursor):
        fetched(vault, cursor=cursor)


def test_a_forged_cursor_gets_no_more_than_a_place_does(vault: Vault) -> None:
    ran = fetched(vault, cursor=forged(t=[["../../etc/passwd"], ["chunking.md#L1"]], c=0, at=[0, 9**9, 9**9]))
    assert [each.error.code for each in ran.failures] == ["not_found"]
    assert [each.text for each in ran.places] == ["---"]
    with pytest.raises(InvalidCursor):
        fetched(vault, cursor=forged(t=[["chunking.md"]], c=0, at=[0, 9**9, 0]))


@pytest.mark.parametrize("options", [{"context_lines": -1}, {"context_lines": 10_000}, {"max_tokens": 1}])
def test_a_request_that_cannot_be(options: dict[str, int], vault: Vault) -> None:
    with pytest.raises(UsageError):
        fetched(vault, "chunking.md", **options)
    with pytest.raises(UsageError):
        fetched(vault)
    with pytest.raises(UsageError):
        fetched(vault, *["chunking.md"] * (MOST_TARGETS + 1))


@pytest.mark.skipif(not (MODELS / ENCODER).is_dir(), reason="KB_TEST_MODEL_DIR has no embedding models")
def test_tokens_are_counted_by_the_models_vocabulary(vault: Vault) -> None:
    config = load(str(vault.config), (f"storage.model_dir={MODELS}",))
    with open_base(config) as session:
        counter = token_counter(config, session.models)
    assert counter.name == ENCODER
    there = open_vocabulary(MODELS / counter.name / VOCABULARY_FILE)
    text = "청킹 규칙: a batch on disk, 정전이 나면 배터리가 네 시간을 버틴다.\ndef backoff(attempt: int)"
    assert counter.count(text) == len(there.token_ids(text))


def test_without_a_model_tokens_are_estimated(vault: Vault) -> None:
    assert fetched(vault, "chunking.md").token_counter == "estimate"


def test_the_command_prints_lines_with_their_numbers(kb: Kb) -> None:
    ran = kb("fetch", "projects/gateway/log.md#L9-L11")
    assert (ran.code, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[:3] == [
        "projects/gateway/log.md#L9-L11",
        "Gateway log › Retry and backoff",
        " 9│ ## Retry and backoff",
    ]


def test_the_command_marks_what_is_cited_among_its_context(kb: Kb) -> None:
    lines = kb("fetch", "projects/gateway/log.md#L11", "--context", "1").stdout.splitlines()
    assert [line[:1] for line in lines[2:5]] == [" ", "▸", " "]


def test_hidden_characters_do_not_reach_a_terminal(kb: Kb) -> None:
    ran = kb("fetch", "hostile.md")
    assert ran.code == 0
    assert set(ran.stdout) & {"\x1b", "\x07", "\x9b", "\u202e"} == set()


def test_numbers_count_in_what_was_shown_last(kb: Kb, vault: Vault) -> None:
    hits = kb("search", "gateway retries", "--json").json["hits"]
    kb("search", "gateway retries")
    assert kb("fetch", "2", "--json").json["places"][0]["citation"]["uri"] == hits[1]["citation"]["uri"]
    ran = kb("fetch", "99")
    assert (ran.code, "no number 99" in ran.stderr) == (2, True)


def test_json_is_of_its_schema_and_a_failure_is_an_exit_code(kb: Kb) -> None:
    ran = kb("fetch", "chunking.md#L1-L3", "nowhere.md", "--json")
    validate("fetch.v1", ran.json)
    assert ran.code == 1
    assert ran.json["failures"][0]["error"]["code"] == "not_found"
    ran = kb("fetch", "chunking.md#L1-L3", "nowhere.md")
    assert "not fetched: nothing is indexed as 'nowhere.md'" in ran.stderr


def test_without_a_place_or_a_knowledge_base(kb: Kb, fresh_vault: Vault) -> None:
    assert kb("fetch").code == 2
    ran = kb_in(fresh_vault)("fetch", "a.md")
    assert (ran.code, "kb ingest" in ran.stderr) == (2, True)
