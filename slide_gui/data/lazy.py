"""Rows that stay in their files: a Zarr array or a Parquet table as an array of Dask's, read chunk by chunk."""

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
from slide_gui.data.reading import AS_GUESSED, LABEL_NAMES, NO_COLUMN, ParseOptions
from slide_gui.memory import check_free
from slide_gui.progress import Cancelled
from slide_gui.resources import how_to_get
from slide_gui.text import clean_name

_SCHEMES = ("zarr://", "parquet://")
_CHUNK = 32 << 20  # bytes of a chunk of rows, about, where the files leave a choice
_LOOKED_AT = 4096  # bytes at the beginning and at the end of a file, by which it is told from others
_CODECS = {
    "blosc", "bytes", "bz2", "crc32c", "delta", "gzip", "lz4", "lzma", "packbits", "sharding_indexed", "shuffle",
    "transpose", "zlib", "zstd",
}  # fmt: skip
"""How the chunks of a Zarr array may be packed: a file from outside can name codecs that run what it holds."""


@dataclass(frozen=True, eq=False)
class LazyRows:
    """Rows for training that are read only while they are worked on.

    Attributes
    ----------
    name : str
        For people.
    train : dask.array.Array of shape (n, d)
        The numbers as they stand in the files, of one chunk of columns.
    image_shape : tuple of (rows, columns), or None
        None for features that are no picture.
    feature_names : tuple of str
        Of the columns of a table; else empty.
    fingerprint : str
        SHA-256 (hex) of the files' names and sizes and of how each begins and ends; the rows are not read for it.
    """

    name: str
    train: Any
    image_shape: tuple[int, int] | None
    feature_names: tuple[str, ...]
    fingerprint: str
    generated: bool = False


def is_lazy(text: str) -> bool:
    """Whether a text names rows that stay in their files: ``zarr://PATH`` or ``parquet://PATH``."""
    return text.startswith(_SCHEMES)


def open_lazy(text: str, reading: ParseOptions = AS_GUESSED) -> LazyRows:
    """Open a Zarr array, (n, d) or images (n, rows, columns), or the numbers of a Parquet table.

    Parameters
    ----------
    text : str
        ``zarr://`` or ``parquet://`` and a path: of an array (in a group, its path within it, too), or of a file or a
        folder of files.
    reading : ParseOptions
        The shape of images; of a table the label column, else taken to be one named label, labels, class, y or target,
        and the columns left out. Columns of text are left out.

    Raises
    ------
    DataError
        If it is not there, no such data, or without numbers, or something is asked for that it does not have.
    """
    if not is_lazy(text):
        raise DataError(f"{text!r} names no rows to be read chunk by chunk; expected zarr://PATH or parquet://PATH")
    scheme, _, place = text.partition("://")
    _refuse_unknown(reading, text)
    path = Path(place).resolve()  # workers may stand elsewhere
    if not place or not path.exists():
        raise DataError("there is no such file or folder; check the path", text)
    with reading_errors(text):
        rows, shape, names = (_open_zarr if scheme == "zarr" else _open_parquet)(path, reading, text)
        _check_scatter(rows.shape[1], text)
        image_shape = _image_shape(rows.shape[1], shape, reading, text)
        names = tuple(map(clean_name, names))
        return LazyRows(clean_name(path.stem or path.name), rows, image_shape, names, _digest(path))


def _check_scatter(d: int, text: str) -> None:
    """Refuse more features than anything can be fitted to here: the sum over all rows is d × d."""
    try:
        check_free(8 * d * d, f"the scatter of {d} features", "use fewer features")
    except MemoryError as error:
        raise DataError(str(error), text) from None


def _refuse_unknown(reading: ParseOptions, text: str) -> None:
    if reading.header is not None:
        raise DataError("is read as it stands, without a line of column names; leave that option out", text)
    if reading.scaled is not None:
        raise DataError("is read as it stands, without scaling; leave that option out", text)
    if reading.bins is not None or reading.group is not None:
        raise DataError("is read as it stands, without classes or groups; leave those options out", text)
    if reading.transposed:
        raise DataError("is read as it stands; store the images row by row", text)
    if text.startswith("zarr://") and (reading.label_column not in (None, NO_COLUMN) or reading.left_out):
        raise DataError("is no table with named columns; leave the options of columns out", text)


@contextmanager
def reading_errors(text: str, *others: type[Exception]) -> Iterator[None]:
    """Turn whatever the readers say of files that they cannot use, when opening or later, into one sentence.

    Parameters
    ----------
    text : str
        As for `open_lazy`.
    *others
        What is no such error.

    Raises
    ------
    DataError
        Instead.
    """
    as_they_are: tuple[type[Exception], ...] = (DataError, Cancelled, MemoryError, *others)
    try:
        yield
    except as_they_are:
        raise
    except ImportError as error:
        raise DataError(
            f"cannot be read, for {error.name or 'Dask'} is not installed: {how_to_get('cluster')}",
            text,
        ) from None
    except Exception as error:
        said = " ".join(str(error).replace("Original Message:", "").split())
        said = said.partition("registered to the pandas backend. ")[2] or said
        reason = said[:200] or type(error).__name__
        raise DataError(f"cannot be read ({reason}); check what it is", text) from None


def _open_zarr(path: Path, reading: ParseOptions, text: str) -> tuple[Any, tuple[int, ...], tuple[str, ...]]:
    import dask.array as da
    import zarr

    array = zarr.open(str(path), mode="r")
    if not hasattr(array, "shape"):
        inside = ", ".join(sorted(name for name, _ in array.arrays())[:6])
        raise DataError(
            f"is a group of arrays ({inside}); name one of them by its path, {text}/NAME"
            if inside
            else f"is a group of arrays (none); name one of them by its path, {text}/NAME",
            text,
        )
    if array.ndim not in (2, 3) or array.dtype.kind not in "fbiu" or not math.prod(array.shape):
        raise DataError(
            f"is a {array.ndim}-D array {array.shape} of {array.dtype}, expected rows of numbers",
            text,
        )
    if other := _codecs(array.metadata.to_dict()) - _CODECS:
        raise DataError(
            f"is packed by {', '.join(sorted(other))}, which is not read; store it with zstd or blosc",
            text,
        )
    row = math.prod(array.shape[1:]) * array.dtype.itemsize
    height = int((array.shards or array.chunks)[0])
    height *= max(1, _CHUNK // (height * row))
    rows = da.from_zarr(str(path), chunks=(height, *array.shape[1:]))
    return rows.reshape(rows.shape[0], -1), tuple(array.shape[1:]) if array.ndim == 3 else (), ()


def _codecs(metadata: Any) -> set[str]:
    """Return the names of the codecs in the metadata of an array, of version 2 or 3, those in shards, too."""
    names = set()
    for key in ("compressor", "filters", "codecs", "index_codecs", "configuration", "storage_transformers"):
        for each in _listed(metadata.get(key)):
            names |= {str(each.get("id") or each.get("name"))} if {"id", "name"} & each.keys() else set()
            names |= _codecs(each)
    return names


def _listed(value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [each for each in values if isinstance(each, dict)]


def _open_parquet(path: Path, reading: ParseOptions, text: str) -> tuple[Any, tuple[int, ...], tuple[str, ...]]:
    import dask.dataframe as dd

    table = dd.read_parquet(str(path), split_row_groups="adaptive", blocksize=_CHUNK)
    columns = [str(name) for name in table.columns]
    numbers = [str(name) for name in table.select_dtypes(include=["number", "bool"]).columns]
    out = {_column(name, columns, text) for name in reading.left_out}
    if reading.label_column is None:
        out |= {next((name for name in columns if name.lower() in LABEL_NAMES), "")}
    elif reading.label_column.lower() != NO_COLUMN:
        out.add(_column(reading.label_column, columns, text))
    names = [name for name in numbers if name not in out]
    if not names:
        raise DataError(
            f"has no column of numbers beside the labels; it has columns {', '.join(columns[:6])}",
            text,
        )
    kinds = [getattr(table.dtypes[name], "numpy_dtype", table.dtypes[name]) for name in names]
    dtype = np.result_type(np.float32, *kinds).name
    sizes = table.to_dask_array(lengths=True).chunks[0]  # by what the files say of themselves
    # Not by the columns of a data frame: Dask would join partitions then, whose lengths nobody knows.
    rows = table.map_partitions(_numbers, names, dtype, meta=_numbers(table._meta, names, dtype))
    return rows.to_dask_array(lengths=sizes), (), tuple(names)


def _numbers(table: Any, names: Sequence[str], dtype: str) -> Any:
    return table[list(names)].astype(dtype)


def _column(asked: str, columns: Sequence[str], text: str) -> str:
    if asked in columns:
        return asked
    if asked.isdecimal() and 1 <= int(asked) <= len(columns):
        return columns[int(asked) - 1]
    there = ", ".join(columns[:6]) + (", …" if len(columns) > 6 else "")
    raise DataError(f"has no column {asked!r}; it has {there}: give a name, or a number from 1", text)


def _image_shape(d: int, stored: tuple[int, ...], reading: ParseOptions, text: str) -> tuple[int, int] | None:
    shape = stored if reading.shape is None else reading.shape
    if not shape:
        return None
    if shape[0] * shape[1] != d:
        raise DataError(
            f"has {d} features, which make no images of {shape[0]} × {shape[1]}",
            text,
        )
    return shape[0], shape[1]


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file()):
        size = file.stat().st_size
        digest.update(f"{file.relative_to(path).as_posix()}\0{size}\0".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_LOOKED_AT))
            stream.seek(max(0, size - _LOOKED_AT))
            digest.update(stream.read(_LOOKED_AT))
    return digest.hexdigest()
