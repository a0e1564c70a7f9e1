"""Rows of W for selected pixels in all layers, and one weight explained (§3 of the paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slide_gui.core.slide.denoiser import survival
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import Layer
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.model_file import FittedModel
from slide_gui.experiments.inspection.explorer import Explorer
from slide_gui.progress import NO_PROGRESS, Progress

Array = NDArray[np.float64]

_NEAR = 2  # pixels
_DROWNING = 10.0


@dataclass(frozen=True, eq=False)
class WeightRows:
    """One row of Wᵏ for each selected pixel and layer.

    Attributes
    ----------
    dataset, fingerprint : str
        Name of the data set and SHA-256 of its contents.
    image_shape : tuple of (rows, columns), or None
        None for features that are not pixels.
    generated : bool
        True if the data are generated.
    parameters : StackParameters
        Parameters of the fit.
    pixels : tuple of int, length k
        The reconstructed features, in row-major order of the image.
    rows : ndarray of shape (k, depth, d), float64
        ``rows[i, j]`` holds the weights of layer j + 1 that reconstruct pixel i.
    biases : ndarray of shape (k, depth), float64
        Their biases.
    feature_names : tuple of str
        Names of the features, empty if they have none.
    rms : ndarray of shape (depth, d), float64, or None
        Root mean square of each feature of each layer's input over the training rows. None if unknown.
    drowned : bool
        True if a few weights of a layer dominate the others, see `drowns`.
    """

    dataset: str
    fingerprint: str
    image_shape: tuple[int, int] | None
    generated: bool
    parameters: StackParameters
    pixels: tuple[int, ...]
    rows: Array
    biases: Array
    feature_names: tuple[str, ...] = ()
    rms: Array | None = None
    drowned: bool = False

    @property
    def depth(self) -> int:
        """Number of layers."""
        return int(self.rows.shape[1])


def weight_rows(model: FittedModel, pixels: Sequence[int]) -> WeightRows:
    """Return the rows of every layer that reconstruct the given pixels.

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
            raise ValueError(f"feature {pixel} does not exist; {model.dataset} has features 0 to {d - 1}")
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
    """Return the rows of stacks that differ only in their noise level, equal to those of separate fits.

    The pass over the rows that is independent of the noise level is done once.

    Raises
    ------
    ValueError
        As `fit_stack` and `weight_rows`.
    """
    explorer, weights = Explorer(dataset.train), []
    for number, noise in enumerate(noises):
        part = progress.part(number / len(noises), (number + 1) / len(noises))
        stack = explorer.update(replace(parameters, noise=noise), progress=part)
        weights.append(weight_rows(FittedModel.of(dataset, stack), pixels))
    return weights


def input_rms(layer: Layer) -> Array | None:
    """Return the root mean square of each input feature of a layer, shape (d,), or None without its scatter.

    It is sqrt(S_jj / n). Multiplied by the weight of its pixel it gives the pixel's contribution to a typical
    reconstruction: the contribution of a rarely lit pixel is small, however large its weight is.
    """
    if layer.scatter is None:
        return None
    diagonal = np.diag(layer.scatter)
    return np.asarray(np.sqrt(np.maximum(diagonal[:-1], 0.0) / diagonal[-1]))


def typical_peak(largest: NDArray[np.floating]) -> float:
    """Return the median of the non-zero values among the largest weights of rows or columns; 1 if all are 0."""
    lit = np.sort(largest[largest > 0])  # np.median would import numpy.ma at every start
    return float(lit[(len(lit) - 1) // 2] + lit[len(lit) // 2]) / 2 if lit.size else 1.0


def drowns(layer: Layer) -> bool:
    """Return True if weights from a few pixels dominate the others: the largest exceeds a typical one more than 10
    times.

    The largest weight from each pixel is compared with the median of these. For pixels that are lit equally often the
    ratio is 1 to 3 at usual noise levels. For MNIST, with its ring of rarely lit pixels, it is 26 in the first layer at
    noise 0.3 and more than 1000 in higher layers.
    """
    largest = np.abs(layer.weights[:, :-1]).max(axis=0, initial=0.0)
    return float(largest.max(initial=0.0)) > _DROWNING * typical_peak(largest)


def nearby_peak(row: Array, pixel: int, image_shape: tuple[int, int] | None) -> float:
    """Return the largest absolute weight within two pixels of the reconstructed one, as a limit for its colours.

    The reconstructed pixel itself usually has it. A pixel lit in only one or two images may get a weight a thousand
    times larger, anywhere in the row, next to which the other weights would be invisible.

    Parameters
    ----------
    row : ndarray of shape (d,)
        Weights without the bias.
    pixel : int
        The reconstructed feature.
    image_shape : tuple of (rows, columns), or None
        Features that are not pixels have no neighbours, so the whole row is used.

    Returns
    -------
    float
        The largest of the whole row if all weights nearby are zero.
    """
    whole = float(np.abs(row).max(initial=0.0))
    if image_shape is None:
        return whole
    y, x = divmod(pixel, image_shape[1])
    near = row.reshape(image_shape)[max(0, y - _NEAR) : y + _NEAR + 1, max(0, x - _NEAR) : x + _NEAR + 1]
    return float(np.abs(near).max()) or whole


def default_pixels(image_shape: tuple[int, int] | None, mean_image: ArrayLike, k: int = 4) -> tuple[int, ...]:
    """Select example pixels for the weight figure: bright, and distant from each other and from the border.

    Each pixel in turn maximises its mean brightness times its distance to the nearest pixel selected before it, or to
    the border. The first in row-major order wins a tie.

    Parameters
    ----------
    image_shape : tuple of (rows, columns), or None
        None treats the features as one row of pixels.
    mean_image : array_like with d values
        Mean of the training rows.
    k : int
        Number of pixels, limited to d.

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
    distance = np.minimum(x, columns - 1 - x) + 1.0
    if rows > 1:
        distance = np.minimum(distance, np.minimum(y, rows - 1 - y) + 1.0)
    chosen: list[int] = []
    for _ in range(min(k, light.size)):
        score: NDArray[Any] = light * distance
        score[chosen] = -1.0
        best = int(np.argmax(score))
        chosen.append(best)
        distance = np.minimum(distance, np.hypot(y - y[best], x - x[best]))
    return tuple(sorted(chosen))


@dataclass(frozen=True, eq=False)
class Explanation:
    """The quantities that determine W_ab, the weight that reconstructs a from b.

    Attributes
    ----------
    a, b : int
        Reconstructed feature, and feature it is reconstructed from.
    n : int
        Number of samples.
    survival : float
        Probability p = 1 − noise that a feature survives.
    bias : float
        Bias of a, the last entry of its row of W.
    product : float
        Σ_c W_ac (E[Q] + ridge·I)_cb, which equals E[P]_ab if W is the solution.
    s_row : ndarray of shape (d,)
        Row a of the scatter S = XXᵀ, not divided by n.
    p_row : ndarray of shape (d,)
        Row a of E[P]; E[P]_ab = S_ab p.
    q_row : ndarray of shape (d,)
        Row a of E[Q] (eq. 10), without the ridge.
    w_row : ndarray of shape (d,)
        Row a of W = E[P] (E[Q] + ridge·I)⁻¹ (eq. 8), without the bias.
    """

    a: int
    b: int
    n: int
    noise: float
    ridge: float
    survival: float
    bias: float
    product: float
    s_row: Array
    p_row: Array
    q_row: Array
    w_row: Array


def explain(scatter: Array, row: Array, noise: float, ridge: float, a: int, b: int) -> Explanation:
    """Return the quantities that determine W_ab.

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        S of the layer's input, with a constant 1 appended.
    row : ndarray of shape (d + 1,)
        Row a of W, bias last.
    noise, ridge : float
        Parameters of the fit.
    a, b : int
        Features, 0 to d − 1.
    """
    q = survival(noise, len(scatter) - 1)
    expected_p = scatter[a] * q
    expected_q = expected_p * q[a]
    expected_q[a] = scatter[a, a] * q[a]
    column = scatter[b] * q * q[b]
    column[b] = scatter[b, b] * q[b] + ridge
    return Explanation(
        a=a,
        b=b,
        n=round(float(scatter[-1, -1])),
        noise=noise,
        ridge=ridge,
        survival=float(q[a]),
        bias=float(row[-1]),
        product=float(np.einsum("i,i->", row, column)),
        s_row=scatter[a, :-1],
        p_row=expected_p[:-1],
        q_row=expected_q[:-1],
        w_row=row[:-1],
    )


def strongest(row: Array, a: int) -> int:
    """Return the feature other than a with the largest absolute weight in row a, or a itself if it is the only one."""
    size = np.abs(row[:-1])
    size[a] = -1.0
    return int(np.argmax(size)) if size.size > 1 else a
