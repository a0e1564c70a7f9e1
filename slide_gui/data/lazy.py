"""Open Zarr arrays and Parquet tables as Dask arrays, which are read in chunks."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slide_gui.data.errors import DataError
from slide_gui.data.reading import AS_GUESSED, LABEL_NAMES, NO_COLUMN, ParseOptions, requested_column
from slide_gui.memory import check_free
from slide_gui.progress import Cancelled
from slide_gui.resources import how_to_get
from slide_gui.text import clean_name

_SCHEMES = ("zarr://", "parquet://")
_CHUNK = 32 << 20  # approximate bytes per chunk of rows, if the files allow a choice
_FINGERPRINTED = 4096  # bytes at the start and at the end of a file that enter its fingerprint
_CODECS = {
    "blosc", "bytes", "bz2", "crc32c", "delta", "gzip", "lz4", "lzma", "packbits", "sharding_indexed", "shuffle",
    "transpose", "zlib", "zstd",
}  # fmt: skip
"""The codecs accepted in a Zarr array; other codecs could execute code from the file."""


@dataclass(frozen=True, eq=False)
class LazyRows:
    """Training rows that are read from their files in chunks.

    Attributes
    ----------
    name : str
        The name shown to the user.
    train : dask.array.Array of shape (n, d)
        The unscaled numbers, with all columns in one chunk.
    image_shape : tuple of (rows, columns), or None
        None for features that are not pixels.
    feature_names : tuple of str
        Column names of a table; else empty.
    fingerprint : str
        SHA-256 (hex) of the files' names, sizes, first and last bytes, computed without reading all rows.
    """

    name: str
    train: Any
    image_shape: tuple[int, int] | None
    feature_names: tuple[str, ...]
    fingerprint: str
    generated: bool = False


def is_lazy(text: str) -> bool:
    """Return True if a text is an address of lazy rows: ``zarr://PATH`` or ``parquet://PATH``."""
    return text.startswith(_SCHEMES)


def open_lazy(text: str, reading: ParseOptions = AS_GUESSED) -> LazyRows:
    """Open a Zarr array, (n, d) or images (n, rows, columns), or the numeric columns of a Parquet table.

    Parameters
    ----------
    text : str
        ``zarr://`` and the path of an array, including the path within its group; or ``parquet://`` and the path of a
        file or a folder of files.
    reading : ParseOptions
        The shape of images, or the label column and the columns left out of a table. By default a column named label,
        labels, class, y or target has the labels. Text columns are always left out.

    Raises
    ------
    DataError
        If the path does not exist or contains no numbers of the expected format, or an option does not apply.
    """
    if not is_lazy(text):
        raise DataError(f"{text!r} is not an address of lazy rows; expected zarr://PATH or parquet://PATH")
    scheme, _, place = text.partition("://")
    _refuse_unknown(reading, text)
    path = Path(place).resolve()  # workers may have another current folder
    if not place or not path.exists():
        raise DataError("does not exist; check the path", text)
    with reading_errors(text):
        rows, shape, names = (_open_zarr if scheme == "zarr" else _open_parquet)(path, reading, text)
        _check_n_features(rows.shape[1], text)
        image_shape = reading.image_shape(rows.shape[1], shape, text)
        names = tuple(map(clean_name, names))
        return LazyRows(clean_name(path.stem or path.name), rows, image_shape, names, _digest(path))


def _check_n_features(d: int, text: str) -> None:
    """Refuse more features than fit into memory: the scatter matrix is d × d."""
    try:
        check_free(8 * d * d, f"the scatter of {d} features", "use fewer features")
    except MemoryError as error:
        raise DataError(str(error), text) from None


def _refuse_unknown(reading: ParseOptions, text: str) -> None:
    columns = reading.left_out or reading.label_column not in (None, NO_COLUMN)
    for applies, problem in (
        (reading.header is not None, "is read without a line of column names; remove that option"),
        (reading.scaled is not None, "is read without scaling; remove that option"),
        (reading.bins is not None or reading.group, "is read without classes or groups; remove those options"),
        (reading.transposed, "cannot be transposed while it is read; store the images row by row"),
        (columns and text.startswith("zarr"), "is not a table with named columns; remove the options of columns"),
    ):
        if applies:
            raise DataError(problem, text)


@contextmanager
def reading_errors(text: str, *others: type[Exception]) -> Iterator[None]:
    """Convert exceptions of the readers, when opening or later, to one-line errors.

    Parameters
    ----------
    text : str
        See `open_lazy`.
    *others
        Further exceptions that pass unchanged.

    Raises
    ------
    DataError
        In place of any other exception.
    """
    unchanged: tuple[type[Exception], ...] = (DataError, Cancelled, MemoryError, *others)
    try:
        yield
    except unchanged:
        raise
    except ImportError as error:
        raise DataError(
            f"cannot be read because {error.name or 'Dask'} is not installed: {how_to_get('cluster')}",
            text,
        ) from None
    except Exception as error:
        message = " ".join(str(error).replace("Original Message:", "").split())
        message = message.partition("registered to the pandas backend. ")[2] or message
        reason = message[:200] or type(error).__name__
        raise DataError(f"cannot be read ({reason}); check its format", text) from None


def _open_zarr(path: Path, reading: ParseOptions, text: str) -> tuple[Any, tuple[int, int] | None, tuple[str, ...]]:
    import dask.array as da
    import zarr

    array = zarr.open(str(path), mode="r")
    if not hasattr(array, "shape"):
        inside = ", ".join(sorted(name for name, _ in array.arrays())[:6])
        raise DataError(
            f"is a group of arrays ({inside or 'none'}); give the path of one array, {text}/NAME",
            text,
        )
    if array.ndim not in (2, 3) or array.dtype.kind not in "fbiu" or not math.prod(array.shape):
        raise DataError(
            f"is a {array.ndim}-D array {array.shape} of {array.dtype}, expected rows of numbers; choose another array",
            text,
        )
    if other := _codecs(array.metadata.to_dict()) - _CODECS:
        raise DataError(
            f"uses the codec {', '.join(sorted(other))}, which is not accepted; store it with zstd or blosc",
            text,
        )
    row = math.prod(array.shape[1:]) * array.dtype.itemsize
    height = int((array.shards or array.chunks)[0])
    height *= max(1, _CHUNK // (height * row))
    rows = da.from_zarr(str(path), chunks=(height, *array.shape[1:]))
    shape = (array.shape[1], array.shape[2]) if array.ndim == 3 else None
    return rows.reshape(rows.shape[0], -1), shape, ()


def _codecs(metadata: Any) -> set[str]:
    """Return the names of all codecs in the metadata of an array of version 2 or 3, shards included."""
    if isinstance(metadata, (list, tuple)):
        return set().union(*map(_codecs, metadata))
    if not isinstance(metadata, dict):
        return set()
    names = {str(metadata.get("id") or metadata.get("name"))} if {"id", "name"} & metadata.keys() else set()
    inside = ("compressor", "filters", "codecs", "index_codecs", "configuration", "storage_transformers")
    return names.union(*(_codecs(metadata.get(key)) for key in inside))


def _open_parquet(path: Path, reading: ParseOptions, text: str) -> tuple[Any, tuple[int, int] | None, tuple[str, ...]]:
    import dask.dataframe as dd

    table = dd.read_parquet(str(path), split_row_groups="adaptive", blocksize=_CHUNK)
    columns = [str(name) for name in table.columns]
    numbers = [str(name) for name in table.select_dtypes(include=["number", "bool"]).columns]
    out = {columns[requested_column(name, columns, text)] for name in reading.left_out}
    if reading.label_column is None:
        out |= {next((name for name in columns if name.lower() in LABEL_NAMES), "")}
    elif reading.label_column.lower() != NO_COLUMN:
        out.add(columns[requested_column(reading.label_column, columns, text)])
    names = [name for name in numbers if name not in out]
    if not names:
        raise DataError(
            f"has no column of numbers except the labels; it has columns {', '.join(columns[:6])}",
            text,
        )
    kinds = [getattr(table.dtypes[name], "numpy_dtype", table.dtypes[name]) for name in names]
    dtype = np.result_type(np.float32, *kinds).name
    sizes = table.to_dask_array(lengths=True).chunks[0]  # from the metadata of the files
    # Selecting columns of the data frame would make Dask join partitions, whose lengths are then unknown.
    rows = table.map_partitions(_numbers, names, dtype, meta=_numbers(table._meta, names, dtype))
    return rows.to_dask_array(lengths=sizes), None, tuple(names)


def _numbers(table: Any, names: Sequence[str], dtype: str) -> Any:
    return table[list(names)].astype(dtype)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()}\0{size}\0".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_FINGERPRINTED))
            stream.seek(max(0, size - _FINGERPRINTED))
            digest.update(stream.read(_FINGERPRINTED))
    return digest.hexdigest()
