"""Matrix products in a fresh process: the BLAS library beside numpy (on macOS the system's), called without numpy.

One question has some twenty million multiplications to do: too many for Python, and too few to wait for numpy, whose
import takes 60 ms or more; the library loads in 2.
"""

from __future__ import annotations

import ctypes
import os
import sys
from array import array
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from kb.records import NamedTuple

if TYPE_CHECKING:
    Floats: TypeAlias = array[float]
    Weights: TypeAlias = ctypes.Array[ctypes.c_float]

_ROW_MAJOR, _AS_IT_IS = 101, 111
_FLOAT_BYTES = 4
_ACCELERATE = "/System/Library/Frameworks/Accelerate.framework/Accelerate"
_OPENBLAS = "libscipy_openblas64_*.so"
_THREADS = "OPENBLAS_NUM_THREADS"


class Blas(NamedTuple):
    """A loaded library: its `cblas_sgemm`, and the integer type it takes."""

    multiply: Any
    integer: type[ctypes.c_int] | type[ctypes.c_int64]

    def add_product(self, left: Floats, right: Weights, total: Floats, *, rows: int, first_row: int = 0) -> None:
        """Adds left[first_row:] @ right to `total`: float32 [rows, inner] @ [inner, columns] + [rows, columns]."""
        columns = len(total) // rows
        inner = len(right) // columns
        if (first_row + rows) * inner > len(left):
            raise ValueError(f"{rows} rows of {inner} from row {first_row} are not in {len(left)} values")
        integer = self.integer
        begin = left.buffer_info()[0] + first_row * inner * _FLOAT_BYTES
        self.multiply(
            *(_ROW_MAJOR, _AS_IT_IS, _AS_IT_IS),
            *(integer(rows), integer(columns), integer(inner)),
            *(ctypes.c_float(1), ctypes.c_void_p(begin), integer(inner)),
            *(right, integer(columns)),
            *(ctypes.c_float(1), ctypes.c_void_p(total.buffer_info()[0]), integer(columns)),
        )


def open_blas() -> Blas | None:
    """The library of this machine; None where none of the known ones is there."""
    if sys.platform == "darwin":
        return _opened(_ACCELERATE, "cblas_sgemm", ctypes.c_int)
    path = _beside_numpy()
    return None if path is None else _opened(path, "scipy_cblas_sgemm64_", ctypes.c_int64)


def keep_numpy_to_one_thread() -> None:
    """Lets each product of numpy take the thread that asks for it and no other, where its library is known.

    Its own threads wait spinning: of products as small as these two threads get 1.4 times as much done as one, in twice
    the processor time. Who wants two cores multiplies on two threads.
    """
    path = _beside_numpy()
    if path is not None:
        with suppress(OSError, AttributeError):
            ctypes.CDLL(path).scipy_openblas_set_num_threads64_(1)


def _beside_numpy() -> str | None:
    """The library that numpy brings with it; None on macOS, where it brings none."""
    package = find_spec("numpy")
    if package is None or package.origin is None:
        return None
    return next(map(str, Path(package.origin).parents[1].glob(f"numpy.libs/{_OPENBLAS}")), None)


def _opened(path: str, name: str, integer: type[ctypes.c_int] | type[ctypes.c_int64]) -> Blas | None:
    """The library at `path`, on one thread: its threads wait spinning, and one question needs none of them."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        multiply = getattr(ctypes.CDLL(path), name)
    except (OSError, AttributeError):
        return None
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
    multiply.restype = None
    return Blas(multiply, integer)
