"""Read IDX files, the format of MNIST: a header with the sizes of an array, then its numbers. They may be gzipped."""

import gzip
from math import prod
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.data.limits import DEFLATE_RATIO, check_claim, damage_as, read_values
from slide_gui.data.readers.encoding import DAMAGED_GZIP, GZIP_MAGIC
from slide_gui.progress import NO_PROGRESS, Progress

_DTYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_MOST_AXES = 4


def is_idx_start(start: bytes) -> bool:
    """Return True if a file that starts with these bytes is IDX: two zero bytes, a known type, one to four axes."""
    return len(start) >= 4 and start[:2] == b"\0\0" and start[2] in _DTYPES and 1 <= start[3] <= _MOST_AXES


def read_idx(path: Path, *, progress: Progress = NO_PROGRESS) -> NDArray[np.generic]:
    """Read the array of a file for which `is_idx_start` is True.

    Parameters
    ----------
    path : Path
        The file, gzipped or not. Its name does not matter.
    progress : Progress
        Reports the fraction of the bytes read.

    Returns
    -------
    ndarray
        The array in native byte order.

    Raises
    ------
    DataError
        If the header contradicts the size of the file, or the file is damaged.
    """
    place, packed = str(path), path.stat().st_size
    with path.open("rb") as stream:
        if stream.peek(2)[:2] != GZIP_MAGIC:
            return _read(stream, packed, 1, place, progress)
        with damage_as(DAMAGED_GZIP, place), gzip.GzipFile(fileobj=stream) as unpacked:
            return _read(cast(BinaryIO, unpacked), packed, DEFLATE_RATIO, place, progress)


def _read(stream: BinaryIO, packed: int, ratio: int, place: str, progress: Progress) -> NDArray[np.generic]:
    start = stream.read(4)
    axes = start[3]
    sizes = stream.read(4 * axes)
    if len(sizes) < 4 * axes:
        raise DataError(f"ends within its header, expected {axes} sizes; it is truncated, so download it again", place)
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    dtype = np.dtype(_DTYPES[start[2]])
    n_bytes = prod(shape) * dtype.itemsize
    if n_bytes == 0:
        raise DataError(f"its header declares an empty array ({' × '.join(map(str, shape))}); open another file", place)
    check_claim(n_bytes, packed if ratio > 1 else packed - 4 - 4 * axes, place, ratio=ratio)
    return read_values(stream, shape, dtype, place, progress).reshape(shape).astype(dtype.newbyteorder("="), copy=False)
