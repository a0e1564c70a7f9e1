"""One image as a text file of numbers: what was drawn, kept so that its figure can be made again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.data.errors import DataError

__all__ = ["image_text", "read_image"]

_LARGEST_IMAGE = 16 << 20  # bytes


def image_text(image: NDArray[Any]) -> str:
    """Return an image as one line of numbers that read back exactly."""
    return ",".join(repr(float(value)) for value in image.reshape(-1)) + "\n"


def read_image(path: str | os.PathLike[str]) -> NDArray[np.float32]:
    """Return the numbers of a text file, in the order they stand, separated by commas, spaces or lines.

    Raises
    ------
    DataError
        If the file cannot be read, is larger than any image here, or holds something else.
    """
    place = str(path)
    try:
        with Path(path).open("rb") as file:
            content = file.read(_LARGEST_IMAGE + 1)
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror})", place) from None
    if len(content) > _LARGEST_IMAGE:
        raise DataError(f"is larger than {_LARGEST_IMAGE >> 20} MiB, expected the numbers of one image", place)
    try:
        values = np.array([float(word) for word in content.decode().replace(",", " ").split()], dtype=np.float32)
    except ValueError:
        raise DataError("holds something that is no number, expected the numbers of one image", place) from None
    if not values.size or not np.isfinite(values).all():
        raise DataError("holds no numbers, or some that are not finite, expected those of one image", place)
    return values
