"""Rows of W for chosen pixels, layer by layer: what the weight figure shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slide_gui.core.slide.stack import StackParameters
from slide_gui.experiments.model_file import FittedModel

__all__ = ["WeightRows", "default_pixels", "nearby_peak", "weight_rows"]

_NEAR = 2  # pixels


@dataclass(frozen=True, eq=False)
class WeightRows:
    """One row of Wᵏ for each chosen pixel and layer.

    Attributes
    ----------
    dataset, fingerprint : str
        Name of the data set and SHA-256 of its contents.
    image_shape : tuple of (rows, columns), or None
        None for features that are no picture.
    generated : bool
        Whether the data came from a generator.
    parameters : StackParameters
        What the stack was fitted with.
    pixels : tuple of int, length k
        The features reconstructed, in row-major order of the image.
    rows : ndarray of shape (k, depth, d), float64
        ``rows[i, j]`` holds the weights of layer j + 1 that reconstruct pixel i.
    biases : ndarray of shape (k, depth), float64
        Their biases.
    errors : ndarray of shape (depth,), float64
        Expected squared reconstruction error of each layer, per feature and sample.
    feature_names : tuple of str
        Of features that have names; else empty.
    """

    dataset: str
    fingerprint: str
    image_shape: tuple[int, int] | None
    generated: bool
    parameters: StackParameters
    pixels: tuple[int, ...]
    rows: NDArray[np.float64]
    biases: NDArray[np.float64]
    errors: NDArray[np.float64]
    feature_names: tuple[str, ...] = ()

    @property
    def depth(self) -> int:
        """Number of layers."""
        return int(self.rows.shape[1])


def weight_rows(model: FittedModel, pixels: Sequence[int]) -> WeightRows:
    """Gather the rows of every layer that reconstruct the given pixels.

    Parameters
    ----------
    pixels : sequence of int, length k
        Features, 0 to d − 1.

    Raises
    ------
    ValueError
        If a pixel does not exist.
    """
    stack = model.stack
    d = stack.n_features
    for pixel in pixels:
        if not 0 <= pixel < d:
            raise ValueError(f"there is no feature {pixel}; {model.dataset} has features 0 to {d - 1}")
    chosen = [int(pixel) for pixel in pixels]
    both = np.empty((len(chosen), len(stack.layers), d + 1))
    for j, layer in enumerate(stack.layers):
        both[:, j] = layer.weights[chosen]
    return WeightRows(
        model.dataset,
        model.fingerprint,
        model.image_shape,
        model.generated,
        stack.parameters,
        tuple(chosen),
        np.ascontiguousarray(both[:, :, :-1]),
        np.ascontiguousarray(both[:, :, -1]),
        np.array([layer.error for layer in stack.layers]),
        model.feature_names,
    )


def nearby_peak(row: NDArray[np.float64], pixel: int, image_shape: tuple[int, int] | None) -> float:
    """Return the largest absolute weight within two pixels of the reconstructed one: a limit for its colours.

    The pixel itself usually has it. A pixel that is lit in one or two images only may get a weight a
    thousand times larger anywhere in the row, beside which nothing else would be seen.

    Parameters
    ----------
    row : ndarray of shape (d,)
        Weights without the bias.
    pixel : int
        The feature they reconstruct.
    image_shape : tuple of (rows, columns), or None
        Features that are no picture have no neighbours: the whole row counts.

    Returns
    -------
    float
        The largest of the whole row where all weights nearby are zero.
    """
    whole = float(np.abs(row).max(initial=0.0))
    if image_shape is None:
        return whole
    y, x = divmod(pixel, image_shape[1])
    near = row.reshape(image_shape)[max(0, y - _NEAR) : y + _NEAR + 1, max(0, x - _NEAR) : x + _NEAR + 1]
    return float(np.abs(near).max()) or whole


def default_pixels(image_shape: tuple[int, int] | None, mean_image: ArrayLike, k: int = 4) -> tuple[int, ...]:
    """Choose example pixels for the weight figure: well lit, apart from each other and from the border.

    Each pixel in turn maximises its mean brightness times its distance to the nearest pixel chosen
    before it, or to the border; a tie goes to the first in row-major order.

    Parameters
    ----------
    image_shape : tuple of (rows, columns), or None
        None takes the features as one row of pixels.
    mean_image : array_like with d values
        Mean of the training rows.
    k : int
        How many; never more than d.

    Returns
    -------
    tuple of int
        Features, in row-major order.
    """
    light = np.abs(np.asarray(mean_image, dtype=np.float64)).reshape(-1)
    if not light.any():
        light = np.ones_like(light)
    rows, columns = image_shape or (1, light.size)
    y, x = np.divmod(np.arange(light.size), columns)
    room = np.minimum(x, columns - 1 - x) + 1.0
    if rows > 1:
        room = np.minimum(room, np.minimum(y, rows - 1 - y) + 1.0)
    chosen: list[int] = []
    for _ in range(min(k, light.size)):
        score: NDArray[Any] = light * room
        score[chosen] = -1.0
        best = int(np.argmax(score))
        chosen.append(best)
        room = np.minimum(room, np.hypot(y - y[best], x - x[best]))
    return tuple(sorted(chosen))
