"""Small data sets and shared checks for the tests of the stack."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.stack import Stack


def images(n: int = 400, seed: int = 0) -> NDArray[np.float64]:
    """Return images of 8 × 8 pixels with one white rectangle."""
    random = np.random.default_rng(seed)
    rows = np.zeros((n, 8, 8))
    for image in rows:
        top, left = random.integers(0, 4, 2)
        height, width = random.integers(3, 5, 2)
        image[top : top + height, left : left + width] = 1
    return rows.reshape(n, 64)


def blobs(n: int = 200, side: int = 6, seed: int = 0) -> NDArray[np.float64]:
    """Return correlated grey images; as on the border of MNIST, a pixel is always 0 and another is lit in one row."""
    random = np.random.default_rng(seed)
    rows = random.random((n, side * side)) * (random.random((n, 1)) > 0.3)
    rows[:, 1:] = 0.5 * rows[:, 1:] + 0.5 * rows[:, :-1]
    rows[:, 0] = 0.0
    rows[:, side * side - 1] = 0.0
    rows[3, side * side - 1] = 1 / 255
    return rows


def scatter_of(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return X̃ᵀX̃ of rows with a constant 1 appended."""
    extended = np.column_stack([rows.astype(float), np.ones(len(rows))])
    return extended.T @ extended


def same_layers(a: Stack, b: Stack, **close: float) -> None:
    """Assert that the layers are equal to the bit, or that their scatters and weights are close."""
    check = partial(np.testing.assert_allclose, **close) if close else np.testing.assert_array_equal
    for one, other in zip(a.layers, b.layers, strict=True):
        check(one.scatter, other.scatter)
        check(one.weights, other.weights)
