"""Rows of W for chosen pixels, layer by layer: what the weight figure shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slide_gui.core.slide.stack import Layer, StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.inspection.explorer import Explorer
from slide_gui.experiments.model_file import FittedModel
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "WeightRows",
    "default_pixels",
    "drowns",
    "input_rms",
    "nearby_peak",
    "rows_by_noise",
    "typical_peak",
    "weight_rows",
]

_NEAR = 2  # pixels
_DROWNING = 10.0


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
    rms : ndarray of shape (depth, d), float64, or None
        Root mean square of each feature of each layer's input over the training rows; None where that is not known.
    drowned : bool
        Whether a few weights of one of the layers drown the rest, see `drowns`.
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
    rms: NDArray[np.float64] | None = None
    drowned: bool = False

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
    spreads = [spread for layer in stack.layers if (spread := input_rms(layer)) is not None]
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
        np.array(spreads) if len(spreads) == len(stack.layers) else None,
        any(drowns(layer) for layer in stack.layers),
    )


def rows_by_noise(
    dataset: Dataset,
    parameters: StackParameters,
    pixels: Sequence[int],
    noises: Sequence[float],
    progress: Progress = NO_PROGRESS,
) -> list[WeightRows]:
    """Gather the rows of stacks that differ in their noise alone, equal to those of a fit at each.

    The pass over the rows that does not depend on the noise is made once.

    Raises
    ------
    ValueError
        As `fit_stack` and `weight_rows`.
    """
    explorer, weights = Explorer(dataset.train), []
    for number, noise in enumerate(noises):
        part = progress.part(number / len(noises), (number + 1) / len(noises))
        stack = explorer.update(replace(parameters, noise=noise), progress=part)
        model = FittedModel(
            stack, dataset.name, dataset.fingerprint, dataset.image_shape, dataset.generated, 0.0,
            feature_names=dataset.feature_names,
        )  # fmt: skip
        weights.append(weight_rows(model, pixels))
    return weights


def input_rms(layer: Layer) -> NDArray[np.float64] | None:
    """Return the root mean square of each feature that a layer was fitted on, shape (d,); None without its scatter.

    It is sqrt(S_jj / n). A weight times that of its pixel is what the pixel contributes to a typical reconstruction:
    however large the weight of a pixel that is hardly ever lit, its contribution is small.
    """
    if layer.scatter is None:
        return None
    diagonal = np.diag(layer.scatter)
    return np.asarray(np.sqrt(np.maximum(diagonal[:-1], 0.0) / diagonal[-1]))


def typical_peak(largest: NDArray[np.floating]) -> float:
    """Return the median of the largest absolute weights of many rows or columns, of those not zero; 1 if all are."""
    lit = np.sort(largest[largest > 0])  # np.median would import numpy.ma, at every start
    return float(lit[(len(lit) - 1) // 2] + lit[len(lit) // 2]) / 2 if lit.size else 1.0


def drowns(layer: Layer) -> bool:
    """Return whether weights from a few pixels drown the rest: the largest is more than 10 times that of a typical one.

    Of each pixel that weights are taken from, the largest counts; the typical pixel's is the median of these. Of pixels
    lit alike the ratio is 1 to 3 at usual noise; of MNIST, with its ring of rarely lit pixels, it is 26 in the first
    layer at noise 0.3 and beyond 1000 above.
    """
    largest = np.abs(layer.weights[:, :-1]).max(axis=0, initial=0.0)
    return float(largest.max(initial=0.0)) > _DROWNING * typical_peak(largest)


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
