"""Writers of the formats that the program only reads."""

import gzip
import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import scipy.io
from numpy.typing import NDArray

IDX_TYPES = {"uint8": 0x08, "int8": 0x09, "int16": 0x0B, "int32": 0x0C, "float32": 0x0D, "float64": 0x0E}


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def amat_text(rows: NDArray[np.generic], labels: NDArray[np.generic]) -> str:
    """Return the benchmark's layout: each number %16.7e, rows of features and then the label."""
    table = np.column_stack([rows, labels]).astype(np.float64)
    return "".join("".join(f"{value:16.7e}" for value in row) + "\n" for row in table)


def write_amat(path: Path, rows: NDArray[np.generic], labels: NDArray[np.generic]) -> Path:
    return write(path, amat_text(rows, labels))


def zip_bytes(members: dict[str, str | bytes], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def write_zip(path: Path, members: dict[str, str | bytes]) -> Path:
    return write(path, zip_bytes(members))


def npy_bytes(shape: object, content: bytes, descr: str = "<f8") -> bytes:
    """Return an array with any header."""
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + content


def npy(array: NDArray[np.generic]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def npz_bytes(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def mat_bytes(packed: bool = False, **arrays: object) -> bytes:
    buffer = io.BytesIO()
    scipy.io.savemat(buffer, arrays, do_compression=packed)
    return buffer.getvalue()


def idx_bytes(array: NDArray[np.generic]) -> bytes:
    header = bytes((0, 0, IDX_TYPES[array.dtype.name], array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return header + array.astype(array.dtype.newbyteorder(">")).tobytes()


def write_idx(path: Path, array: NDArray[np.generic]) -> Path:
    content = idx_bytes(array)
    return write(path, gzip.compress(content, mtime=0) if path.suffix == ".gz" else content)


def is_sure(read):
    """Return True if the user need not check any guess about a part or a data set."""
    return all(guess.sure for guess in read.opened.guesses)
