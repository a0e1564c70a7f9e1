"""Small problems for the tests of the stacked denoising autoencoders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray


def bars(n: int, seed: int = 0, side: int = 6) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
    """Return images of one or two full rows (class 0) or columns (class 1), with a few random white pixels."""
    random = np.random.default_rng(seed)
    images = np.zeros((n, side, side), np.float32)
    codes = random.integers(2, size=n)
    for image, code in zip(images, codes, strict=True):
        lit = random.choice(side, random.integers(1, 3), replace=False)
        (image if code == 0 else image.T)[lit] = 1.0
    images[random.random(images.shape) < 0.02] = 1.0
    return images.reshape(n, -1), codes


def central_difference(loss: Callable[[], float], values: NDArray[np.float64], step: float = 1e-5) -> NDArray:
    """Return the derivative of `loss()` by each entry of `values`, from a five-point formula."""
    slopes = np.empty_like(values)
    for index in np.ndindex(values.shape):
        kept, found = values[index], []
        for k in (-2, -1, 1, 2):
            values[index] = kept + k * step
            found.append(loss())
        values[index] = kept
        slopes[index] = (found[0] - 8 * found[1] + 8 * found[2] - found[3]) / (12 * step)
    return slopes
