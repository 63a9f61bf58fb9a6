"""How much text of each kind of file is read, and whether a passage cites the place where its text is.

The files of `fixtures/formats` and `fixtures/media/office` were written by other programs than those that read them;
`truth.tsv` and `truth.json` say which texts they hold and where. Of pictures and recordings, whose text is recognised,
most words of a line are enough to name its place, and seconds may be two away. Speech is English alone: what the speech
model hears of a synthetic Korean voice says nothing of the reader.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measurement import Measurement, Table, Target
from kb.chunk.chunkers import cut_document
from kb.domain.citations import (
    Citation,
    CodeCitation,
    LineCitation,
    PartCitation,
    RegionCitation,
    TimeCitation,
    cite,
    parse_citation,
    split_part,
)
from kb.domain.derived import Derived, DerivedName, Engine, ExtractSettings, OcrSettings, SpeechSettings, StepJob
from kb.domain.documents import ChunkPolicy
from kb.domain.ids import AssetId
from kb.domain.kinds import MEMBER, archive_type, extension_of, family_of, media_type_of
from kb.domain.text import WorkspacePath
from kb.extract.cited_text import cited_text
from kb.extract.registry import extractor_of
from kb.scan.read import read_bytes

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
LEAST_RECALL, LEAST_PLACED = 0.98, 0.95
_NEAR_MS = 2_000
# Of the words of a line: to name its place where it was recognised.
_MOST_WORDS = 0.6
_SMALL = ChunkPolicy(80, 0, True, "md-heading-v1")


class Fact(NamedTuple):
    """A text that a file holds, and where."""

    text: str
    place: Citation


class Read(NamedTuple):
    """A fact as it was read: the share of its words among the file's, and whether its place is cited."""

    fact: Fact
    recall: float
    placed: bool


def measure(data: Path | None = None) -> Measurement:
    """Recall and places by kind of file and language; recordings where the speech model is installed."""
    found: dict[tuple[str, str], list[Read]] = defaultdict(list)
    for path, facts in known().items():
        for each in read_facts(path, facts):
            language = "ko" if re.search(r"[가-힣]", each.fact.text) else "en"
            found[kind_name(path), language].append(each)
    rows: list[tuple[str, str, int, float, float]] = []
    for (kind, language), reads in sorted(found.items()):
        recall, placed = (sum(values) / len(reads) for values in ([r.recall for r in reads], [r.placed for r in reads]))
        rows.append((kind, language, len(reads), round(recall, 3), round(placed, 3)))
    return Measurement(
        "kinds",
        (Table("Text of every kind", ("kind", "language", "texts", "recall", "place"), tuple(rows)),),
        (
            Target("recall of the worst kind", min(row[3] for row in rows), "≥", LEAST_RECALL),
            Target("places of the worst kind", min(row[4] for row in rows), "≥", LEAST_PLACED),
        ),
        {"kinds": {f"{row[0]} {row[1]}": row[3:] for row in rows}},
    )


def kind_name(path: str) -> str:
    """What files of that kind are called: `docx`, `zip`, `Maildir`."""
    archive, member, _ = path.partition(MEMBER)
    if member:
        return "tar" if archive_type(archive) == "archive/tar" else "zip"
    return "Maildir" if ":2," in path else extension_of(path)[1:]


def known() -> dict[str, list[Fact]]:
    """The facts of every file, by its path below `fixtures`; a letter also under a name of Maildir."""
    facts: dict[str, list[Fact]] = defaultdict(list)
    with (FIXTURES / "formats/truth.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            names = [row["file"], f"{row['file']}:2,S"] if row["file"].endswith(".eml") else [row["file"]]
            for path in (f"formats/{name}" for name in names):
                facts[path].append(Fact(row["text"], parse_citation(f"{path}#{row['place']}")))
    office = FIXTURES / "media/office"
    truth = json.loads((office / "truth.json").read_text(encoding="utf-8"))
    for each in sorted(office.iterdir()):
        path = f"media/office/{each.name}"
        for said in truth.get(each.stem, ()):
            facts[path].append(Fact(said["text"], parse_citation(f"{path}#{said['part']}")))
    return dict(facts)


def read_facts(path: str, facts: Sequence[Fact]) -> list[Read]:
    """How the facts of a file are read and cited; none where what recognises its text is not installed."""
    media_type = media_type_of(path)
    assert media_type is not None
    family = family_of(media_type)
    is_recognised = family in ("image", "audio")
    data = read_bytes(str(FIXTURES / path.removesuffix(":2,S")), max_bytes=1_000_000).data
    settings = _settings("ko" if "-ko." in path else "en", is_recognised)
    if family == "audio" and settings.speech is None:
        return []
    made: dict[DerivedName, bytes] = {}
    for step in extractor_of(family).steps:
        module = step.load()
        if module.engine(settings) is not None:
            made[step.name] = module.derive(StepJob(data, media_type, made, settings, lambda progress: None))
    derived = {name: Derived(name, Engine("kb", "benchmark"), value) for name, value in made.items()}
    workspace_path = WorkspacePath(path)
    document = extractor_of(family).document(data, derived, workspace_path=workspace_path, asset_id=AssetId("0" * 32))
    passages = [
        (words(chunk.text), cite(path, [span.to_json() for span in chunk.spans], None))
        for chunk in cut_document(document, family, _SMALL)
    ]
    reads = []
    for fact in facts:
        said = words(fact.text)
        recall = max((share(said, held) for held, _ in passages), default=0.0)
        at_place = words(cited_text(_widened(fact.place), data, made) or "")
        least = _MOST_WORDS if is_recognised else 1.0
        placed = share(said, at_place) >= least and any(
            share(said, held) == recall >= least and _covers(cited, fact.place) for held, cited in passages
        )
        reads.append(Read(fact, recall, placed))
    return reads


def words(text: str) -> frozenset[str]:
    """The words of a text, whatever is around them."""
    return frozenset(re.findall(r"\w+", text.casefold()))


def share(said: frozenset[str], held: frozenset[str]) -> float:
    """The share of the words said that are held."""
    return len(said & held) / len(said)


def _settings(language: str, is_recognised: bool) -> ExtractSettings:
    models = Path(os.environ.get("KB_TEST_MODEL_DIR", "/nonexistent"))
    speech = SpeechSettings("whisper-base", models, language, threads=1)
    is_installed = (models / speech.model / "manifest.json").is_file()
    ocr = OcrSettings("kor+eng", 200) if is_recognised else None
    return ExtractSettings(ocr=ocr, speech=speech if is_installed else None)


def _widened(place: Citation) -> Citation:
    if not isinstance(place, TimeCitation):
        return place
    return place._replace(start_ms=max(0, place.start_ms - _NEAR_MS), end_ms=place.end_ms + _NEAR_MS)


def _covers(cited: Citation, place: Citation) -> bool:
    """Whether what is cited holds the place: its lines, or lines of the entry there, its part, the middle of a region,
    its start in time.
    """
    match cited, place:
        case (LineCitation() | CodeCitation(), LineCitation()):
            lines, wanted = range(cited.start, cited.end + 1), range(place.start, place.end + 1)
            return all(line in lines for line in wanted) or all(line in wanted for line in lines)
        case PartCitation(), PartCitation():
            (over, first, last), (shared, at, _) = split_part(cited.part), split_part(place.part)
            in_range = first.isdecimal() and at.isdecimal() and int(first) <= int(at) <= int(last)
            return over == shared and (in_range or place.part == cited.part or _row(first) <= _row(at) <= _row(last))
        case TimeCitation(), TimeCitation():
            return cited.start_ms - _NEAR_MS <= place.start_ms <= cited.end_ms
        case RegionCitation(), RegionCitation():
            x, y = place.x + place.w // 2, place.y + place.h // 2
            return cited.x <= x <= cited.x + cited.w and cited.y <= y <= cited.y + cited.h
    return False


def _row(cell: str) -> int:
    """The row of a cell or range of a sheet."""
    return int(re.sub(r"\D", "", cell.partition(":")[0]) or 0)
