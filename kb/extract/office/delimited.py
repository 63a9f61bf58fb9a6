"""The step `parts` of tables as text, with commas or tabs between their cells: each row with its header."""

from __future__ import annotations

import csv
import io

from kb.domain.derived import Engine, ExtractSettings, Progress, StepJob
from kb.errors import ExtractFailed, worded
from kb.extract.decode import Decoded, decode
from kb.extract.office.cells import MOST_ROWS, sheet_parts
from kb.extract.parts import Parts, kb_engine

_SEPARATORS = ",;\t|"
_LONGEST_CELL = 1_000_000


def engine(settings: ExtractSettings) -> Engine:
    """The engine of this step, which is part of kb."""
    return kb_engine("tables-v1")


def derive(job: StepJob) -> bytes:
    """The parts as JSON. Raises: ExtractFailed."""
    job.on_progress(Progress(0, 1))
    return read_delimited(decode(job.data), is_tabbed=job.media_type == "table/tsv").to_json()


def read_delimited(decoded: Decoded, *, is_tabbed: bool) -> Parts:
    """The parts of a table as text; `is_tabbed`: only tabs are between its cells. Raises: ExtractFailed."""
    first = decoded.text.lstrip().partition("\n")[0]
    separator = "\t" if is_tabbed else max(_SEPARATORS, key=first.count)
    csv.field_size_limit(_LONGEST_CELL)
    rows: list[list[str]] = []
    notes = [each.note for each in decoded.warnings]
    try:
        for row in csv.reader(io.StringIO(decoded.text), delimiter=separator):
            if len(rows) == MOST_ROWS:
                notes.append(f"the rows behind row {MOST_ROWS:,} are not read")
                break
            rows.append([" ".join(cell.split()) for cell in row])
    except csv.Error as error:
        raise ExtractFailed(f"not a readable table: {worded(error)}", "open and save it again") from error
    return Parts(tuple(sheet_parts(rows)), notes=tuple(notes))
