"""The arrays of a run as the bytes of an .npz, and back with suspicion."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.archives import BROKEN
from slide_gui.data.arrays import read_array
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
            members = {member.filename: member for member in archive.infolist()}
            if sorted(members) != sorted(f"{name}.npy" for name in ARRAYS):
                raise DataError("its members are not those of a run", place)
            found = {}
            for name in ARRAYS:
                member = members[f"{name}.npy"]
                if member.compress_type != zipfile.ZIP_STORED or member.file_size > len(content):
                    raise DataError(f"{name} is packed, or larger than the file", place)
                with archive.open(member) as stream:
                    found[name] = read_array(stream, member.file_size, f"{place}, {name}")
            return found
    except DataError:
        raise
    except BROKEN as error:
        raise DataError(f"is no readable .npz ({error})", place) from None
