"""Writers of the formats that the program only reads."""

from __future__ import annotations

import gzip
import struct
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import Cancelled, Progress

IDX_TYPES = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}


def amat_text(rows: NDArray[np.generic], labels: NDArray[np.generic]) -> str:
    """The benchmark's layout: each number %16.7e, rows of features and then the label."""
    table = np.column_stack([rows, labels]).astype(np.float64)
    return "".join("".join(f"{value:16.7e}" for value in row) + "\n" for row in table)


def write_amat(path: Path, rows: NDArray[np.generic], labels: NDArray[np.generic]) -> Path:
    path.write_text(amat_text(rows, labels))
    return path


def write_zip(path: Path, members: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def idx_bytes(array: NDArray[np.generic]) -> bytes:
    header = bytes((0, 0, IDX_TYPES[array.dtype.name], array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_idx(path: Path, array: NDArray[np.generic]) -> Path:
    content = idx_bytes(array)
    path.write_bytes(gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)
    return path


class CancelAfter(Progress):
    """Cancels at the given call of report, and remembers the fractions."""

    def __init__(self, calls: int = 10**9) -> None:
        self.calls, self.fractions = calls, [0.0]

    def report(self, fraction: float, payload: object = None) -> None:
        self.fractions.append(fraction)
        if len(self.fractions) > self.calls:
            raise Cancelled
