"""Convolutional denoisers: all pixels of an image share one kernel.

In the paper each feature has its own row of W (§3). Here the kernel w reconstructs every pixel from the corrupted
pixels in a window around it. It has one weight per offset in the window and a bias. Pixels outside the image are
absent. With several channels, each has its own kernel, which uses all channels. The kernel minimises the mean over the
m pixels i of the expected squared error of eq. 5. It is the denoiser of eq. 8 and 10 for the mean scatter of the
windows,

    A_ab = 1/m Σ_i S_{i+a, i+b},   w = E[P]_0 (E[Q] + ridge·I)⁻¹,

where a and b are offsets, S is the scatter of the images, and E[P] and E[Q] belong to A. The sum contains
each i for which both pixels are inside the image. A is a mean, so the ridge is as strong as in the paper's denoiser.
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
    """The windows around all pixels of an image.

    Attributes
    ----------
    shape : tuple of (rows, columns, channels)
        Shape of the images; channels vary fastest in a row of data.
    sides : tuple of (rows, columns)
        Odd sides of the window.
    """

    shape: tuple[int, int, int]
    sides: tuple[int, int]

    @property
    def centre(self) -> NDArray[np.intp]:
        """Indices of the channels of the central pixel among the features of a window."""
        channels = self.shape[2]
        return prod(self.sides) // 2 * channels + np.arange(channels)

    def scatter(self, scatter: NDArray[np.floating]) -> Array:
        """Return the mean scatter A of the windows from the scatter S of the images with a constant feature 1.

        Parameters
        ----------
        scatter : ndarray of shape (d + 1, d + 1)

        Returns
        -------
        ndarray of shape (m + 1, m + 1)
            Rows and columns are the m features of a window, then the constant.
        """
        (height, width, channels), (rows, columns) = self.shape, self.sides
        first = _over_places(scatter[:-1, :-1].reshape(height, width * channels, height, width * channels), rows)
        by_column = first.reshape(rows, width, channels, rows, width, channels).transpose(1, 0, 2, 4, 3, 5)
        second = _over_places(by_column.reshape(width, rows * channels, width, rows * channels), columns)
        by_row = second.reshape(columns, rows, channels, columns, rows, channels).transpose(1, 0, 2, 4, 3, 5)
        sums, size = scatter[:-1, -1].reshape(self.shape), prod(self.sides) * channels
        mean = np.zeros((size + 1, size + 1))
        mean[:size, :size] = by_row.reshape(size, size)
        mean[:size, size] = mean[size, :size] = np.ravel(
            [
                [
                    sums[_inside(y, height), _inside(x, width)].sum(axis=(0, 1), dtype=np.float64)
                    for x in _shifts(columns)
                ]
                for y in _shifts(rows)
            ]
        )
        mean /= height * width
        mean[size, size] = scatter[-1, -1]
        return mean

    def rows(self, kernels: Array, features: NDArray[np.intp] | None = None) -> Array:
        """Return the rows of W for the given features, by default all. Weights outside a pixel's window are 0.

        Parameters
        ----------
        kernels : ndarray of shape (channels, m + 1)
            Kernel of each channel, with the bias in the last column.
        features : ndarray of shape (k,), optional

        Returns
        -------
        ndarray of shape (k, d + 1)
            The bias is in the last column, as in the weights of a denoiser.
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
        Side of the window. It is at most the side of the image, rounded up to an odd number.
    d : int
        Number of features.
    image_shape : tuple of (rows, columns) or (rows, columns, channels), or None
        None means square images of one channel. An empty tuple means that the features are not pixels.

    Raises
    ------
    ValueError
        If images do not have this shape, or if the features are not pixels.
    """
    shape = checked_shape(image_shape, d)
    height, width = (min(window, side | 1) for side in shape[:2])
    return Windows(shape, (height, width))


def checked_shape(image_shape: Any, d: int) -> tuple[int, int, int]:
    """Return the rows, columns and channels of images with d features (see `windows_of`)."""
    if image_shape is None:
        side = round(d**0.5)
        if side * side != d:
            raise ValueError(f"{d} features are not a square image; give image_shape for a convolution")
        return side, side, 1
    if not np.size(image_shape):
        raise ValueError("the features are not pixels, so a convolution cannot be fitted; use sharing 'none'")
    sides = [number_or_nan(side) for side in np.ravel(np.asarray(image_shape, dtype=object))]
    if len(sides) not in (2, 3) or not all(side >= 1 and side.is_integer() for side in sides) or prod(sides) != d:
        needed = f"rows and columns, or rows, columns and channels, of {d} features"
        raise ValueError(f"image_shape is {image_shape!r}; it must be {needed}")
    height, width, channels = (int(side) for side in (*sides, 1)[:3])
    return height, width, channels


def _shifts(side: int) -> range:
    """Return the offsets along one side of a window."""
    return range(-(side // 2), side // 2 + 1)


def _inside(shift: int, side: int) -> slice:
    """Return the indices along a side of an image that remain inside when a shift is subtracted."""
    return slice(max(0, shift), side + min(0, shift))


def _overlap(centre: int, side: int, window: int) -> tuple[slice, slice]:
    """Return the overlap of an image and a window along one side, as indices of the image and of the window."""
    first = centre - window // 2
    start, stop = max(0, first), min(side, first + window)
    return slice(start, stop), slice(start - first, stop - first)


def _over_places(products: NDArray[np.floating], window: int) -> Array:
    """Return Σ_i t[i + a, :, i + b, :] for all offsets a and b, of shape (window, u, window, v).

    The sum contains each i for which i, i + a and i + b are inside the image.
    """
    side, u, _, v = products.shape
    sums = np.empty((window, u, window, v))
    for k, a in enumerate(_shifts(window)):
        for other, b in enumerate(_shifts(window)):
            places = np.arange(max(0, -a, -b), side - max(0, a, b))
            np.sum(products[places + a, :, places + b], axis=0, dtype=np.float64, out=sums[k, :, other])
    return sums
