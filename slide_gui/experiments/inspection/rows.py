"""Fit stacks to one data set, extract the rows of W for selected pixels, and explain one weight (§3 of the paper)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slide_gui.blas import one_thread
from slide_gui.core.linear_algebra import WHOLE, Array
from slide_gui.core.slide.approximation import MOST_ROWS, ApproximateLayer, Approximation, Interpolation
from slide_gui.core.slide.denoiser import LEAST_NOISE, survival
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import InputScatter, input_scatter
from slide_gui.core.slide.stack import Layer, Stack, check_fit, entry_share, fit_stack, threshold_problem
from slide_gui.data.dataset import Dataset
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

if TYPE_CHECKING:
    from slide_gui.experiments.files.model_file import FittedModel

# Largest number of cached fits, and largest total size of these fits in bytes. Four layers for MNIST take 40 MB.
_MOST_FITS, _MOST_BYTES = 32, 256 << 20

# Squashing functions for which layers are interpolated. With other functions, the weights change too abruptly with the
# noise level.
_INTERPOLATED = "threshold", "tanh"
_REST_SECONDS = 0.02  # A slider is at rest if its value has not changed for this number of seconds.
_NEAR = 2  # The function `nearby_peak` searches up to this distance, in pixels.
_DROWNING = 10.0


@dataclass(frozen=True, eq=False)
class Preview:
    """Weights that are displayed while a stack is being fitted.

    Attributes
    ----------
    parameters : StackParameters
        Parameters of the stack.
    rows : dict of int to ndarray of shape (layers, d + 1)
        Maps the index of a feature to the rows of W that reconstruct it. The last element of each row is the bias. The
        first row is the exact row of layer 1. If the weights of deeper layers can be interpolated between noise levels,
        their rows follow.
    rms : ndarray of shape (layers, d), or None
        Root mean square of each input feature of the interpolated layers. None if no layers are interpolated.
    layers : tuple of ApproximateLayer
        Approximations of all layers. Empty if they have not been computed yet.
    """

    parameters: StackParameters
    rows: dict[int, Array]
    rms: Array | None = None
    layers: tuple[ApproximateLayer, ...] = ()


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted stack, the duration of the fit, and a warning. The warning is empty if the threshold is suitable."""

    stack: Stack
    seconds: float
    problem: str = ""


class Explorer:
    """Fits stacks with different parameters to the same rows.

    Only one thread at a time may use an explorer, except for the methods `stored_fit` and `interpolates`. The latest
    fits are cached: at most 32 fits, and at most 256 MB unless the latest fit alone is larger.

    Attributes
    ----------
    interpolation : Interpolation or None
        Layers at several noise levels, from which `update` interpolates previews. The method `prepare_interpolation`
        computes them.
    """

    def __init__(self, rows: NDArray[Any], image_shape: tuple[int, ...] | None = None) -> None:
        self._rows, self._image_shape = rows, image_shape or ()
        # Cached fits, the oldest first. Other threads may read this tuple, because it is always replaced as a whole.
        self._fits: tuple[Fit, ...] = ()
        # The keys of `_scatters`, `_paths` and `_approximations` are data types, as in `StackParameters.sums`.
        self._scatters: dict[str, InputScatter] = {}
        self._paths: dict[str, tuple[StackParameters, NoisePath]] = {}
        self._problems: dict[tuple[str, float, bool], str] = {}  # Maps (squashing, threshold, depth > 0) to a warning.
        self._approximations: dict[str, tuple[InputScatter, Approximation]] = {}
        self.interpolation: Interpolation | None = None
        # Layers that are approximated while the noise level changes. An exact fit replaces them and empties the tuple.
        self._approximated: tuple[ApproximateLayer, ...] = ()

    def update(
        self,
        parameters: StackParameters,
        features: tuple[int, ...] = (),
        *,
        settle: float = 0.0,
        progress: Progress = NO_PROGRESS,
    ) -> Stack:
        """Fit a stack, after previewing rows of its first layer and approximate weights of all layers.

        After `prepare_interpolation`, the first preview contains the rows of `features` in all layers. The interpolated
        weights of the other features follow only when the user stops moving the slider, because drawing them is slow.

        Parameters
        ----------
        parameters : StackParameters
            Parameters of the stack to fit.
        features : tuple of int
            Features whose rows of W are previewed. The first fit has no preview.
        settle : float
            Minimum delay of the fit in seconds. During the delay, a newer request can cancel this request.
        progress : Progress
            Receives a `Preview`, then previews with further approximations, then the unfinished stack after each layer.

        Raises
        ------
        ValueError
            If a parameter is out of range or the rows cannot be fitted.
        """
        started = time.monotonic()
        path = self.noise_path(parameters) if features and parameters.depth else None
        if path is not None:
            indices, rms = np.array(features), None
            rows = path.rows(indices, parameters.noise)[None]
            deeper = None if self.interpolation is None else self.interpolation.rows(parameters, indices)
            if deeper is not None:
                rows, rms = np.concatenate((rows, deeper[0][1:])), _rms(deeper[1])
            preview = Preview(parameters, dict(zip(features, rows.swapaxes(0, 1), strict=True)), rms)
            progress.report(0.0, preview)
            _wait(started + _REST_SECONDS, progress)
            if layers := self._approximate(parameters, progress):
                progress.report(0.0, replace(preview, layers=layers))
        _wait(started + settle, progress)
        started, parameters, share = time.monotonic(), parameters.checked(), 0.0
        scatter = self._scatter(parameters)
        if scatter is None:
            share = entry_share(parameters)
            check_fit(len(self._rows), self._rows.shape[1], parameters)
            scatter = input_scatter(self._rows, parameters, progress=progress.part(0.0, share))
            self._scatters[parameters.sums] = scatter
        shape, part = self._image_shape, progress.part(share, 1.0)
        if len(self._rows) <= MOST_ROWS and any(layer.parameters == parameters for layer in self._approximated):
            # The window already shows approximate layers. Drawing each exact layer would delay the fit of the next
            # layer.
            part = MonotonicProgress(part).pulse
        stack = fit_stack(self._rows, parameters, scatter=scatter, image_shape=shape, progress=part)
        self._keep(Fit(stack, time.monotonic() - started, self._problem(parameters)))
        return stack

    def _approximate(self, parameters: StackParameters, progress: Progress) -> tuple[ApproximateLayer, ...]:
        """Return interpolated layers or, if there are none, approximate layers. The result may be empty."""
        layers = () if self.interpolation is None else self.interpolation.layers(parameters)
        if not layers and parameters.noise >= LEAST_NOISE:
            approximation = self.approximation(parameters, MonotonicProgress(progress).pulse)
            layers = () if approximation is None else approximation.layers(parameters, progress)
        self._approximated = layers
        return layers

    def stored_fit(self, parameters: StackParameters) -> Fit | None:
        """Return a cached fit with these parameters and this or a greater depth, or None if there is no such fit."""
        wanted = replace(parameters, depth=0)
        fits = (fit for fit in reversed(self._fits) if len(fit.stack.layers) >= parameters.depth)
        return next((fit for fit in fits if replace(fit.stack.parameters, depth=0) == wanted), None)

    def _keep(self, fit: Fit) -> None:
        others = (each for each in self._fits if each.stack.parameters != fit.stack.parameters)
        fits = (*others, fit)[-_MOST_FITS:]
        while len(fits) > 1 and sum(map(_bytes_of, fits)) > _MOST_BYTES:
            fits = fits[1:]
        self._fits, self._approximated = fits, ()

    def _problem(self, parameters: StackParameters) -> str:
        key = parameters.squashing, parameters.threshold, parameters.depth > 0
        if key not in self._problems:
            self._problems[key] = threshold_problem(self._rows, parameters)
        return self._problems[key]

    def _scatter(self, parameters: StackParameters) -> InputScatter | None:
        """Return the cached scatter of the input, or None if there is none that a fit with these parameters can use."""
        scatter = self._scatters.get(parameters.sums)
        return scatter if scatter is not None and scatter.fits(parameters) else None

    def prepare(self, parameters: StackParameters, progress: Progress = NO_PROGRESS) -> None:
        """Compute the results of `noise_path` and `approximation` in advance, so that the next preview is fast."""
        self.noise_path(parameters)
        self.approximation(parameters, progress)

    def prepare_interpolation(self, parameters: StackParameters, progress: Progress = NO_PROGRESS) -> None:
        """Compute layers at several noise levels, so that previews at all noise levels show interpolated layers.

        There is no interpolation before the first fit, or if the layers would need more than 256 MB. Layers that are
        fitted to reconstruct T(h) are not interpolated either. With the threshold function, layers fitted to T(h)
        change abruptly with the noise level. On MNIST, the median error of an interpolated row in the fourth layer
        would be 26 % of its norm instead of 3 %. There is also no interpolation with the sigmoid or the identity as
        squashing function. On generated Rectangles at noise 0.8, the errors would be 2700 % and 18 %, respectively,
        instead of 2 %.
        """
        approximation, d = self.approximation(parameters, progress), self._rows.shape[1]
        n_bytes = 4 * Interpolation.LEVELS * parameters.depth * d * (d + 1)
        is_smooth = parameters.fit_on == "values" and parameters.squashing in _INTERPOLATED
        if approximation is None or n_bytes > _MOST_BYTES or not is_smooth:
            self.interpolation = None
            return
        if self.interpolation is None or not self.interpolation.serves(parameters):
            self.interpolation = Interpolation(approximation, parameters)
        with one_thread():
            self.interpolation.compute(progress)

    def interpolates(self, parameters: StackParameters) -> bool:
        """Return True if `prepare_interpolation` has computed all layers for these parameters."""
        known = self.interpolation
        return known is not None and known.is_complete and known.serves(parameters)

    def approximation(self, parameters: StackParameters, progress: Progress = NO_PROGRESS) -> Approximation | None:
        """Return an object that approximates all layers for any noise level, ridge and depth.

        Return None before the first fit, or if the data have too many features.
        """
        scatter = self._scatter(parameters)
        if scatter is None or self._rows.shape[1] > WHOLE:
            return None
        known = self._approximations.get(parameters.sums)
        if known is None or known[0] is not scatter:
            approximation = Approximation(self._rows, scatter, self._image_shape, progress)
            known = self._approximations[parameters.sums] = scatter, approximation
        return known[1]

    def noise_path(self, parameters: StackParameters) -> NoisePath | None:
        """Return an object that computes the first layer for any noise level.

        Return None before the first fit, or if the data have too many features.
        """
        key = replace(parameters, noise=0.0, depth=0, batch_size=1)
        if parameters.fit_on == "values":
            key = replace(key, threshold=0.0, squashing="identity")
        known = self._paths.get(parameters.sums)
        if known is None or known[0] != key:
            scatter = self._scatter(parameters)
            if scatter is None or self._rows.shape[1] > WHOLE:
                return None
            windows = parameters.windows(self._rows.shape[1], self._image_shape)
            matrix = scatter.values if parameters.fit_on == "values" else scatter.squashed
            known = self._paths[parameters.sums] = key, NoisePath(matrix, parameters.ridge, windows)
        return known[1]


def _bytes_of(fit: Fit) -> int:
    arrays = (array for layer in fit.stack.layers for array in (layer.weights, layer.scatter) if array is not None)
    return sum(array.nbytes for array in arrays)


@dataclass(frozen=True, eq=False)
class WeightRows:
    """The rows of the weights Wᵏ that reconstruct selected pixels, for each layer k.

    Attributes
    ----------
    dataset, fingerprint : str
        Name of the data set, and SHA-256 hash of its contents.
    image_shape : tuple of (rows, columns), or None
        Shape of the images. None for features that are not pixels.
    generated : bool
        True if the data are generated.
    parameters : StackParameters
        Parameters of the fit.
    pixels : tuple of int, length k
        Indices of the reconstructed features. Pixels are numbered in row-major order.
    rows : ndarray of shape (k, depth, d), float64
        ``rows[i, j]`` holds the weights of layer j + 1 that reconstruct pixel i.
    biases : ndarray of shape (k, depth), float64
        Biases of these rows of weights.
    rms : ndarray of shape (depth, d), float64
        Root mean square, over the training rows, of each input feature of each layer.
    feature_names : tuple of str
        Names of the features, empty if the features have no names.
    drowned : bool
        True if a few weights of a layer are so large that all others would be invisible in a picture (`drowns`).
    """

    dataset: str
    fingerprint: str
    image_shape: tuple[int, int] | None
    generated: bool
    parameters: StackParameters
    pixels: tuple[int, ...]
    rows: Array
    biases: Array
    rms: Array
    feature_names: tuple[str, ...] = ()
    drowned: bool = False

    @property
    def depth(self) -> int:
        """Number of layers."""
        return int(self.rows.shape[1])


def weight_rows(model: "FittedModel", pixels: Sequence[int]) -> WeightRows:
    """Return the rows of W of every layer that reconstruct the given pixels.

    Parameters
    ----------
    pixels : sequence of int, length k
        Indices of features, from 0 to d − 1.

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
    return WeightRows(
        dataset=model.dataset,
        fingerprint=model.fingerprint,
        image_shape=model.image_shape,
        generated=model.generated,
        parameters=stack.parameters,
        pixels=tuple(chosen),
        rows=np.ascontiguousarray(both[:, :, :-1]),
        biases=np.ascontiguousarray(both[:, :, -1]),
        rms=np.array([input_rms(layer) for layer in stack.layers]).reshape(-1, d),
        feature_names=model.feature_names if model.image_shape is None else (),
        drowned=any(drowns(layer) for layer in stack.layers),
    )


def rows_by_noise(
    dataset: Dataset, parameters: StackParameters, pixels: Sequence[int], noises: Sequence[float], progress: Progress
) -> list[WeightRows]:
    """Return the rows of W that reconstruct the given pixels, from one stack for each noise level in `noises`.

    All other parameters of the stacks are equal. The scatter of the training rows does not depend on the noise level,
    so it is computed only once. The rows of W are the same as if each stack were fitted separately.

    Raises
    ------
    ValueError
        If a parameter is out of range, the rows cannot be fitted, or a pixel does not exist.
    """
    # The import is slow, because it also imports the SVM. Other functions of this module do not need it.
    from slide_gui.experiments.files.model_file import FittedModel

    explorer, weights = Explorer(dataset.train, dataset.image_shape), []
    for noise, part in progress.each(noises):
        stack = explorer.update(replace(parameters, noise=noise), progress=part)
        weights.append(weight_rows(FittedModel.of(dataset, stack), pixels))
    return weights


def _wait(end: float, progress: Progress) -> None:
    """Wait until `time.monotonic()` reaches `end`. The progress object can cancel the wait."""
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.005))
        progress.report(0.0)


def input_rms(layer: Layer | ApproximateLayer) -> Array:
    """Return the root mean square of each input feature of a fitted layer over the n training rows, shape (d,).

    The root mean square of feature j is sqrt(S_jj / n), where S is the scatter (sum of products) of the layer's inputs.
    Multiplied by a weight, it gives the typical contribution of the feature to a reconstruction. A rarely lit pixel
    therefore has a small typical contribution even if its weight is large.
    """
    # The scatter matrix is missing only in layers read from a model file, for which this function is not called.
    return _rms(layer.squares if isinstance(layer, ApproximateLayer) else np.diag(cast(Array, layer.scatter)))


def _rms(squares: NDArray[np.floating]) -> Array:
    """Return the root mean square of each input feature, given the diagonals of one or more scatter matrices."""
    return np.asarray(np.sqrt(np.maximum(squares[..., :-1], 0.0) / squares[..., -1:]))


def typical_peak(largest: NDArray[np.floating]) -> float:
    """Return the median of the non-zero values in `largest`, or 1 if all values are 0.

    `largest` contains the largest absolute weight of each row, or of each column, of a weight matrix.
    """
    lit = np.sort(largest[largest > 0])  # The first call of np.median would be slow, because it imports numpy.ma.
    return float(lit[(len(lit) - 1) // 2] + lit[len(lit) // 2]) / 2 if lit.size else 1.0


def drowns(layer: Layer) -> bool:
    """Return True if a few weights of a layer are so large that all others would be invisible in a picture.

    For this test, the largest absolute weight of each input pixel is determined. The maximum of these values must be
    more than ten times their median. The median leaves out pixels whose weights are all 0. If all pixels are lit
    equally often, the ratio of maximum to median is 1 to 3 at usual noise levels. MNIST has a ring of rarely lit
    pixels. At noise 0.3, the ratio is 26 in its first layer, and more than 1000 in higher layers.
    """
    largest = np.abs(layer.weights[:, :-1]).max(axis=0, initial=0.0)
    return float(largest.max(initial=0.0)) > _DROWNING * typical_peak(largest)


def nearby_peak(row: Array, pixel: int, image_shape: tuple[int, int] | None) -> float:
    """Return the colour limit of a row: the largest absolute weight within two pixels of the reconstructed pixel.

    This is usually the weight of the reconstructed pixel itself. A pixel that is lit in only one or two images can have
    a weight that is a thousand times larger. If that weight were the colour limit, all other weights would be
    invisible.

    Parameters
    ----------
    row : ndarray of shape (d,)
        Weights without the bias.
    pixel : int
        Index of the reconstructed feature.
    image_shape : tuple of (rows, columns), or None
        Shape of the images. None for features that are not pixels. In this case, the largest absolute weight of the row
        is returned, because the features have no positions.

    Returns
    -------
    float
        The colour limit. If all nearby weights are 0, this is the largest absolute weight in the whole row.
    """
    whole = float(np.abs(row).max(initial=0.0))
    if image_shape is None:
        return whole
    y, x = divmod(pixel, image_shape[1])
    near = row.reshape(image_shape)[max(0, y - _NEAR) : y + _NEAR + 1, max(0, x - _NEAR) : x + _NEAR + 1]
    return float(np.abs(near).max()) or whole


def default_pixels(image_shape: tuple[int, int] | None, mean_image: ArrayLike, k: int = 4) -> tuple[int, ...]:
    """Select example pixels for the weight figure that are bright, and far from each other and from the border.

    The pixels are selected one after another. Each maximises the product of mean brightness and distance, which is
    measured to the border or to the nearest pixel already selected, whichever is nearer. If several pixels have the
    same product, the first of them in row-major order is selected.

    Parameters
    ----------
    image_shape : tuple of (rows, columns), or None
        Shape of the images. With None, the features are treated as one row of pixels.
    mean_image : array_like with d values
        Mean of the training rows.
    k : int
        Number of pixels to select, at most d.

    Returns
    -------
    tuple of int
        Indices of the selected pixels, in row-major order.
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
    """The quantities that determine W_ab, the weight by which a layer reconstructs feature a from feature b.

    P and Q are the matrices of the closed form W = E[P] (E[Q] + ridge·I)⁻¹ (eq. 8 of the paper).

    Attributes
    ----------
    a, b : int
        Indices of the reconstructed feature, and of the feature that the weight multiplies.
    n : int
        Number of training rows.
    survival : float
        Probability p = 1 − noise that a feature survives the corruption.
    product : float
        Entry (a, b) of W (E[Q] + ridge·I), which equals E[P]_ab if W is computed by the closed form.
    s_row : ndarray of shape (d,)
        Row a of the scatter S = XXᵀ, not divided by n. The columns of X are the inputs of the layer.
    p_row : ndarray of shape (d,)
        Row a of E[P]. Its entries are E[P]_ab = S_ab p.
    q_row : ndarray of shape (d,)
        Row a of E[Q] (eq. 10), without the ridge.
    w_row : ndarray of shape (d,)
        Row a of W, without the bias.
    """

    a: int
    b: int
    n: int
    ridge: float
    survival: float
    product: float
    s_row: Array
    p_row: Array
    q_row: Array
    w_row: Array


def explain(scatter: Array, row: Array, noise: float, ridge: float, a: int, b: int) -> Explanation:
    """Return the quantities that determine the weight W_ab by which a layer reconstructs feature a from feature b.

    Parameters
    ----------
    scatter : ndarray of shape (d + 1, d + 1)
        Scatter S of the layer's inputs, to each of which a constant 1 is appended.
    row : ndarray of shape (d + 1,)
        Row a of the weights W of the layer. The last element is the bias.
    noise, ridge : float
        Parameters of the fit.
    a, b : int
        Indices of features, from 0 to d − 1.
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
        ridge=ridge,
        survival=float(q[a]),
        product=float(np.einsum("i,i->", row, column)),
        s_row=scatter[a, :-1],
        p_row=expected_p[:-1],
        q_row=expected_q[:-1],
        w_row=row[:-1],
    )


def strongest(row: Array, a: int) -> int:
    """Return the index of the feature other than a that has the largest absolute weight in `row`, which is row a of W.

    Return a if it is the only feature.
    """
    size = np.abs(row[:-1])
    size[a] = -1.0
    return int(np.argmax(size)) if size.size > 1 else a
