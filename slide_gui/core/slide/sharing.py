"""Convolutional denoisers: all pixels of an image share one kernel.

In the paper each feature has its own row of the weights W (§3). A convolutional denoiser has one kernel w for all
pixels. The kernel reconstructs each pixel from the corrupted pixels in a window around it. It has a bias and one weight
per offset in the window. Pixels outside the image count as 0. If the images have several channels, each channel has its
own kernel, which uses all channels. The kernel minimises the mean over the m pixels i of the expected squared error of
eq. 5. It is the denoiser of eq. 8 and 10 for the mean scatter matrix A of the windows,

    A_ab = 1/m Σ_i S_{i+a, i+b},   w = E[P]_0 (E[Q] + ridge·I)⁻¹,

where a and b are offsets, and S is the scatter matrix of the images. E[P] and E[Q] are computed from A, and E[P]_0 is
the row of the central pixel (offset 0). The sum covers each i for which pixels i + a and i + b are both inside the
image. A is a mean over pixels and not a sum, so that the ridge has the same effect as in the paper's denoiser.
"""

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.validation import number_or_nan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution: one window around each pixel of an image.

    Attributes
    ----------
    shape : tuple of (rows, columns, channels)
        Shape of the images. In a row of data, the channels of one pixel are consecutive.
    sides : tuple of (rows, columns)
        Sides of the window in pixels, both odd.
    """

    shape: tuple[int, int, int]
    sides: tuple[int, int]

    @property
    def centre(self) -> NDArray[np.intp]:
        """Indices of those features of an image window that belong to its central pixel, one index per channel."""
        channels = self.shape[2]
        return prod(self.sides) // 2 * channels + np.arange(channels)

    def scatter(self, scatter: NDArray[np.floating]) -> Array:
        """Return the mean scatter matrix A of the image windows, computed from the scatter matrix S of the images.

        Parameters
        ----------
        scatter : ndarray of shape (d + 1, d + 1)
            The matrix S. Its last row and column belong to the constant feature 1.

        Returns
        -------
        ndarray of shape (m + 1, m + 1)
            The matrix A. Its rows and columns belong to the m features of a window, followed by the constant feature 1.
        """
        (height, width, channels), (rows, columns) = self.shape, self.sides
        first = _over_places(scatter[:-1, :-1].reshape(height, width * channels, height, width * channels), rows)
        by_column = first.reshape(rows, width, channels, rows, width, channels).transpose(1, 0, 2, 4, 3, 5)
        second = _over_places(by_column.reshape(width, rows * channels, width, rows * channels), columns)
        by_row = second.reshape(columns, rows, channels, columns, rows, channels).transpose(1, 0, 2, 4, 3, 5)
        sums, size = scatter[:-1, -1].reshape(self.shape), prod(self.sides) * channels
        mean = np.zeros((size + 1, size + 1))
        mean[:size, :size] = by_row.reshape(size, size)
        inside = [(_inside(y, height), _inside(x, width)) for y in _shifts(rows) for x in _shifts(columns)]
        mean[:size, size] = mean[size, :size] = np.ravel([sums[each].sum(axis=(0, 1), dtype=float) for each in inside])
        mean /= height * width
        mean[size, size] = scatter[-1, -1]
        return mean

    def rows(self, kernels: Array, features: NDArray[np.intp] | None = None) -> Array:
        """Return the rows of the weights W that reconstruct the given features. Weights outside a pixel's window are 0.

        Parameters
        ----------
        kernels : ndarray of shape (channels, m + 1)
            Kernel of each channel, with the bias in the last column.
        features : ndarray of shape (k,), optional
            Indices of the features; by default all.

        Returns
        -------
        ndarray of shape (k, d + 1)
            The rows of W, with the bias in the last column.
        """
        height, width, channels = self.shape
        chosen = np.arange(prod(self.shape)) if features is None else features
        weights = np.zeros((len(chosen), prod(self.shape) + 1))
        weights[:, -1] = kernels[chosen % channels, -1]
        laid_out = kernels[:, :-1].reshape(channels, *self.sides, channels)
        for row, feature in zip(weights, chosen.tolist(), strict=True):
            place, channel = divmod(feature, channels)
            (y, within_y), (x, within_x) = map(_overlap, divmod(place, width), (height, width), self.sides)
            row[:-1].reshape(self.shape)[y, x] = laid_out[channel, within_y, within_x]
        return weights


def windows_of(window: int, d: int, image_shape: tuple[int, ...] | None) -> Windows:
    """Return the windows of a convolution.

    Parameters
    ----------
    window : int
        Side of the window in pixels. It is limited to the side of the image, rounded up to an odd number.
    d : int
        Number of features of a row.
    image_shape : tuple of (rows, columns) or (rows, columns, channels), or None
        Shape of an image. None means square images of one channel. An empty tuple means that the features are not
        pixels.

    Raises
    ------
    ValueError
        If images of this shape do not have d features, or if the features are not pixels.
    """
    shape = checked_shape(image_shape, d)
    height, width = (min(window, side | 1) for side in shape[:2])
    return Windows(shape, (height, width))


def checked_shape(image_shape: Any, d: int) -> tuple[int, int, int]:
    """Return the numbers of pixel rows, pixel columns and channels of images with d features (see `windows_of`)."""
    if image_shape is None:
        side = round(d**0.5)
        if side * side != d:
            raise ValueError(f"{d} features do not form a square image; give image_shape for a convolution")
        return side, side, 1
    if not np.size(image_shape):
        raise ValueError("the features are not pixels, so a convolution cannot be fitted; use sharing 'none'")
    sides = [number_or_nan(side) for side in np.ravel(np.asarray(image_shape, dtype=object))]
    if len(sides) not in (2, 3) or not all(side >= 1 and side.is_integer() for side in sides) or prod(sides) != d:
        needed = f"(rows, columns) or (rows, columns, channels) with a product of {d}, the number of features"
        raise ValueError(f"image_shape is {image_shape!r}; it must be {needed}")
    height, width, channels = (int(side) for side in (*sides, 1)[:3])
    return height, width, channels


def _shifts(side: int) -> range:
    """Return the offsets from the centre along one side of a window."""
    return range(-(side // 2), side // 2 + 1)


def _inside(shift: int, side: int) -> slice:
    """Return a slice of the pixels i along one side of an image for which i − `shift` is also inside the image."""
    return slice(max(0, shift), side + min(0, shift))


def _overlap(centre: int, side: int, window: int) -> tuple[slice, slice]:
    """Return the overlap of a window and an image along one side, as a slice of the image and a slice of the window."""
    first = centre - window // 2
    start, stop = max(0, first), min(side, first + window)
    return slice(start, stop), slice(start - first, stop - first)


def _over_places(products: NDArray[np.floating], window: int) -> Array:
    """Return Σ_i t[i + a, :, i + b, :] for all offsets a and b in a window, where t is the array `products`.

    t has the shape (side, u, side, v) for any u and v, and the result has the shape (window, u, window, v). The sum
    covers each i for which i, i + a and i + b are inside the image.
    """
    side, u, _, v = products.shape
    sums = np.empty((window, u, window, v))
    for k, a in enumerate(_shifts(window)):
        for other, b in enumerate(_shifts(window)):
            places = np.arange(max(0, -a, -b), side - max(0, a, b))
            np.sum(products[places + a, :, places + b], axis=0, dtype=np.float64, out=sums[k, :, other])
    return sums
