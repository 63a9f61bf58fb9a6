"""The update's file: what was learned, as float16, by the names of the base's weights (`kb.assemble.e5_update`)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn


def write_update(learned: Iterable[tuple[str, nn.Parameter]], path: Path) -> None:
    """Write all matrices and norms to `path`."""
    arrays = {name: parameter.detach().cpu().numpy().astype(np.float16) for name, parameter in learned}
    with path.open("wb") as file:
        np.savez(file, **arrays)


def read_update(learned: Iterable[tuple[str, nn.Parameter]], path: Path, share: float = 1.0) -> None:
    """Set all matrices and norms to those at `path`; `share` below 1 stays so far on the way from the base."""
    arrays = np.load(path)
    with torch.no_grad():
        for name, parameter in learned:
            values = Tensor(arrays[name].astype(np.float32)).to(parameter.device)
            if name.endswith(".down"):
                parameter.copy_(values)
            elif name.endswith(".up"):
                parameter.copy_(values * share)
            else:
                parameter.mul_(1 - share).add_(values * share)
