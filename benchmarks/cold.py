"""How long a whole hybrid `kb search` takes from the shell against a lexical one, with notes in one language or two.

It needs the installed model: KB_TEST_MODEL_DIR names its directory; the notes' vectors are kept there between runs.
Beside them, what loading the encoder and encoding the question takes a process that does nothing else.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.embedded_base import embedded
from benchmarks.generated_notes import write_notes
from benchmarks.installed_models import installed_models
from benchmarks.measurement import Cell, Measurement, Table, Target
from benchmarks.processes import Times, run_in_turns, search_command
from benchmarks.progress import step
from kb.models.manifest import ENCODER

NOTES = 100
ROUNDS = 20
# Index → the share of its notes that is Korean, the question, and the most a hybrid search may be of a lexical one.
INDEXES = {
    "English": (0.0, "which lanterns restored the harbor ledger", 2.5),
    "both, asked in English": (0.5, "which lanterns restored the harbor ledger", 2.5),
    "both, asked in Korean": (0.5, "여름 기록은 어디에 있나", 2.5),
}
MODES = ("lexical", "hybrid")
ENCODER_ALONE = "encoder"
_ENCODE = """
import sys
from pathlib import Path
from kb.embed.encoders import query_encoder
print(len(query_encoder(Path(sys.argv[1]), sys.argv[2]).encode(sys.argv[3])))
"""


def measure(data: Path | None = None) -> Measurement:
    """Medians of whole processes, both modes in turns."""
    times = {name: _times(name, share, question) for name, (share, question, _) in INDEXES.items()}
    rows: list[tuple[Cell, ...]] = []
    targets: list[Target] = []
    for name, of_mode in times.items():
        lexical, hybrid = (of_mode[mode] for mode in MODES)
        most = INDEXES[name][2]
        wall = round(hybrid.median_ms / lexical.median_ms, 2)
        cpu = round(hybrid.median_cpu_ms / lexical.median_cpu_ms, 2)
        medians = (lexical.median_ms, hybrid.median_ms, lexical.median_cpu_ms, hybrid.median_cpu_ms)
        rows.append((name, *(round(median, 1) for median in medians), wall, cpu, round(_alone_ms(of_mode), 1)))
        targets.append(Target(f"{name}: hybrid / lexical", wall, "≤", most))
        targets.append(Target(f"{name}: hybrid / lexical, CPU time", cpu, "≤", most))
    columns = (
        "notes in",
        "lexical ms",
        "hybrid ms",
        "lexical CPU ms",
        "hybrid CPU ms",
        "×",
        "× CPU",
        "encoder alone CPU ms",
    )
    return Measurement(
        "cold",
        (Table("Whole processes, medians", columns, tuple(rows)),),
        tuple(targets),
        {"rounds": ROUNDS, "notes": NOTES},
    )


def _alone_ms(times: dict[str, Times]) -> float:
    """Processor milliseconds of the encoder, without the interpreter's own."""
    return times[ENCODER_ALONE].median_cpu_ms - times["nothing"].median_cpu_ms


def _times(name: str, korean_share: float, question: str) -> dict[str, Times]:
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        write_notes(Path(folder), NOTES, korean_share=korean_share)
        with embedded(Path(folder), name) as base, step(f"{name}: {ROUNDS} rounds"):
            commands = {mode: search_command(base.config_path, mode, question) for mode in MODES}
            encoded = [str(installed_models()), ENCODER, question]
            commands |= {
                ENCODER_ALONE: [sys.executable, "-c", _ENCODE, *encoded],
                "nothing": [sys.executable, "-c", "print(0)"],
            }
            return run_in_turns(commands, ROUNDS)
