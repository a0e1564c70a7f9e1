"""Detect images that differ so much from all training images that their predicted class is not reliable."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.progress import NO_PROGRESS, Progress

_MOST_ROWS, _MOST_FEATURES = 4000, 3000
_QUANTILE = 0.99


class Likeness:
    """Detects images that are unlike the training images, that is, whose leverage exceeds that of 99 % of them.

    Let z = [x, 1] for an image x, and let Z have one row z per training image. The leverage of x is zᵀ(ZᵀZ + I)⁻¹z. It
    is large if the bright pixels of x, or their combination, are bright in few training images. The limit of the
    leverage is determined from the leverage of each training image with respect to all other training images. This
    leverage is h / (1 − h), where h is the leverage with respect to all training images, including the image itself.

    Parameters
    ----------
    images : ndarray of shape (n, d)
        Training images. If there are more than 4000, a random sample of 4000 is used.

    Attributes
    ----------
    limit : float
        99 % quantile of the leverages of the training images. If the images have more than 3000 features, the leverages
        are not computed and the limit is infinite.
    """

    def __init__(self, images: NDArray[Any], progress: Progress = NO_PROGRESS) -> None:
        self.limit = np.inf
        if images.shape[1] > _MOST_FEATURES:
            return
        rows = _with_one(images[np.random.default_rng(0).permutation(len(images))[:_MOST_ROWS]])
        scatter = rows.T @ rows
        progress.report(0.3)
        scatter[np.diag_indices_from(scatter)] += 1.0
        self._inverse = np.linalg.inv(scatter)
        progress.report(0.6)
        leverages = np.einsum("ij,ij->i", rows @ self._inverse, rows)
        self.limit = float(np.quantile(leverages / (1.0 - leverages), _QUANTILE))

    def leverage(self, image: NDArray[Any]) -> float:
        """Return the leverage of an image of shape (d,) without BLAS. For 784 features, this takes less than 1 ms."""
        row = _with_one(image[None])[0]
        return float(np.einsum("ij,j->i", self._inverse, row) @ row)

    def is_unlike(self, image: NDArray[Any]) -> bool:
        """Return True if an image is blank or its leverage exceeds the limit."""
        return not image.any() or (np.isfinite(self.limit) and self.leverage(image) > self.limit)


def _with_one(images: NDArray[Any]) -> NDArray[np.float64]:
    return np.column_stack([images.astype(np.float64), np.ones(len(images))])
