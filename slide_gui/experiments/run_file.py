"""The arrays of a run as the bytes of an .npz, and back with suspicion."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError
from slide_gui.experiments.result import ARRAYS

__all__ = ["pack_arrays", "unpack_arrays"]


def pack_arrays(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return an uncompressed .npz; equal arrays give equal bytes."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **dict(arrays))
    return buffer.getvalue()


def unpack_arrays(content: bytes, place: str) -> dict[str, NDArray[Any]]:
    """Return the arrays of a run, nothing unpickled.

    Raises
    ------
    DataError
        If the bytes are not such an .npz.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
            if sorted(info.filename for info in infos) != sorted(f"{name}.npy" for name in ARRAYS):
                raise ValueError("its members are not those of a run")
            if any(info.compress_type != zipfile.ZIP_STORED for info in infos):
                raise ValueError("a member is compressed")
        with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
            return {name: loaded[name] for name in ARRAYS}
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, KeyError) as error:
        raise DataError(f"damaged ({error}); the run has to be made again", place) from None
