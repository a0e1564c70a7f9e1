"""The stack of linear denoisers (SLIDE), fitted layer by layer in closed form (Algorithm 2 of the paper)."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Array, rows_per_block, tiles
from slide_gui.core.slide.activations import (
    PACKED_LIMIT,
    Activations,
    Rows,
    SquashBuffer,
    dense_rows,
    in_dtype,
    is_sparse,
    refuse_not_finite,
    rows_per_product,
)
from slide_gui.core.slide.blocks import BlockRows, dask_rows, is_dask, lazily
from slide_gui.core.slide.denoiser import layer_weights
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scatter import InputScatter, ScatterPass, scatter_after, squashed_scatter
from slide_gui.core.slide.sharing import Windows
from slide_gui.core.validation import empty
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, Progress

# Number of temporary d × d matrices that a fit needs in addition to the weights and scatter matrices of all layers.
_MATRICES = 4
_PASS = 1.7  # duration of each later pass over the rows, divided by the duration of the first pass


@dataclass(frozen=True, eq=False)
class Layer:
    """One fitted denoiser of the stack.

    Attributes
    ----------
    weights : ndarray of shape (d, d + 1), float64
        Weights Wᵏ, with the bias in the last column.
    error : float
        Expected squared error of the layer's reconstruction of its input, per feature and sample, over all corruptions.
    scatter : ndarray of shape (d + 1, d + 1) or None
        Scatter matrix of the layer's input, or None for a layer that was read from a file.
    """

    weights: Array
    error: float
    scatter: Array | None = None


@dataclass(frozen=True, eq=False)
class Stack:
    """A fitted stack of linear denoisers and its parameters.

    Attributes
    ----------
    parameters : StackParameters
    layers : tuple of Layer
        The fitted layers. Until the fit is complete, there are fewer than ``parameters.depth`` layers.
    n_features, n_samples : int
        Number of features d and of rows n in the training set.
    image_shape : tuple of int, or None
        Shape of the images for a convolution, as for `fit_stack`.
    """

    parameters: StackParameters
    layers: tuple[Layer, ...]
    n_features: int
    n_samples: int
    image_shape: tuple[int, ...] | None = None

    def transform(self, rows: Rows, *, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return the representations [h⁰ | h¹ | … | hˡ] of rows, of shape (n, (l + 1)·d), in the stack's data type.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Array, memmap or CSR matrix. For a Dask array the result is a lazy Dask array with the same chunks.

        Raises
        ------
        ValueError
            If the rows do not have as many features as the training set.
        """
        d = self.n_features
        if rows.ndim != 2 or rows.shape[1] != d:
            shape = f"{rows.shape[1]} features" if rows.ndim == 2 else f"{rows.ndim} dimensions"
            raise ValueError(f"X has {shape}, but this stack was fitted on {d} features")
        if is_dask(rows):
            bare = replace(self, layers=tuple(replace(layer, scatter=None) for layer in self.layers))
            width, dtype = (len(self.layers) + 1) * d, self.parameters.dtype
            return lazily(rows, partial(_features_of_chunk, bare), width, dtype)  # type: ignore[no-any-return]
        result = feature_array(rows.shape, replace(self.parameters, depth=len(self.layers)))
        fill_features(self, rows, result, 0, progress)
        return result

    @cached_property
    def matrices(self) -> tuple[NDArray[np.floating], ...]:
        """The transposed weights of each layer, of shape (d + 1, d), in the stack's data type."""
        return tuple(layer.weights.T.astype(self.parameters.dtype, order="C") for layer in self.layers)

    def representations(self, rows: Rows, *, progress: Progress = NO_PROGRESS) -> list[NDArray[np.floating]]:
        """Return the list [h⁰, h¹, …, hˡ] of representations, each of shape (n, d)."""
        joined = self.transform(rows, progress=progress)
        d = self.n_features
        return [joined[:, k * d : (k + 1) * d] for k in range(len(self.layers) + 1)]

    @property
    def windows(self) -> Windows | None:
        """The windows of a convolution, or None if each feature has its own weights."""
        return self.parameters.windows(self.n_features, self.image_shape)

    def noise_path(self, layer: int) -> NoisePath:
        """Return the weights of a layer, 1 to l, as a function of its noise level. The lower layers are not changed.

        Raises
        ------
        ValueError
            If the layer does not exist, or if it was read from a file and therefore has no scatter matrix.
        """
        if layer not in range(1, len(self.layers) + 1):
            raise ValueError(f"layer is {layer!r}; this stack has {len(self.layers)} layers, numbered from 1")
        scatter = self.layers[layer - 1].scatter
        if scatter is None:
            raise ValueError("this stack was read from a file, which contains no scatter matrices; fit the stack again")
        return NoisePath(scatter, self.parameters.ridge, self.windows)


def fit_stack(
    rows: Rows,
    parameters: StackParameters,
    *,
    scatter: InputScatter | None = None,
    out: NDArray[np.floating] | None = None,
    sample_weight: Array | None = None,
    image_shape: tuple[int, ...] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Stack:
    """Fit a stack of linear denoisers layer by layer (Algorithm 2 of the paper).

    Parameters
    ----------
    rows : array_like of shape (n, d)
        Array, memmap or CSR matrix with at least 2 rows, which is read in blocks. `Blocks` and Dask arrays are also
        accepted; they are read at most once per layer.
    parameters : StackParameters
    scatter : InputScatter, optional
        Result of `input_scatter` for the same rows. If it is given, the fit omits the first pass over the rows.
    out : ndarray of shape (n, (l + 1)·d), optional
        Array from `feature_array` to fill with the representations of the rows. This is faster than a later
        `Stack.transform`, because the fit computes most of the representations anyway. `out` cannot be used with
        `Blocks` or Dask arrays.
    sample_weight : ndarray of shape (n,), optional
        Weights wᵢ ≥ 0 of the rows, not all 0. The scatter matrices are then Σ wᵢ x̃ᵢ x̃ᵢᵀ, where x̃ᵢ is row i with a
        constant 1 appended. Weights cannot be combined with `scatter`, `Blocks` or Dask arrays.
    image_shape : tuple of (rows, columns) or (rows, columns, channels), optional
        Shape of the images for a convolution. None means square images of one channel. An empty tuple means that the
        features are not pixels.
    progress : Progress
        Receives the unfinished stack after each layer.

    Raises
    ------
    ValueError
        If a parameter is out of range, if a value is NaN or infinite, or if there are fewer than two rows or no
        features. The error is also raised if `sample_weight` is given with `Blocks` or a Dask array, or if images of
        `image_shape` do not have d features.
    MemoryError
        If the fit needs more memory than is available.
    """
    parameters = parameters.checked()
    rows = dask_rows(rows) if is_dask(rows) else rows
    if len(rows.shape) != 2 or rows.shape[0] < 2 or rows.shape[1] < 1:
        raise ValueError(f"X has shape {rows.shape}; at least 2 samples and 1 feature are needed to fit a denoiser")
    if sample_weight is not None and isinstance(rows, BlockRows):
        raise ValueError("sample_weight cannot be used with Blocks or a Dask array; give the rows as one array")
    windows = parameters.windows(rows.shape[1], image_shape)
    n, d = rows.shape
    check_fit(n, d, parameters)
    values = parameters.fit_on == "values"
    passes, entry = _passes(parameters), entry_share(parameters)
    if scatter is not None and scatter.fits(parameters):
        entry = 0.0 if passes else 1.0
        first, squashed = scatter.values, scatter.squashed
    else:
        first, squashed = _entry(rows, parameters, sample_weight, progress.part(0.0, entry))
    activations = (
        None if isinstance(rows, BlockRows) else Activations(rows, parameters, passes, out, sample_weight=sample_weight)
    )
    stack = Stack(parameters, (), d, n, image_shape)
    for k in range(parameters.depth):
        # The weights of layer k + 1 are computed from the scatter matrix of T(hʲ), where T is the squashing function
        # and j = `passed` is the number of layers that are applied to the rows. For j = 0, the matrix is already known.
        # Otherwise, a pass over the rows computes it.
        passed = max(k - 1, 0) if values else k
        if passed:
            step = (1.0 - entry) / passes
            part = progress.part(entry + step * (passed - 1), entry + step * passed)
            if activations is None:
                applied = tuple(layer.weights for layer in stack.layers[:passed])
                squashed = rows.total(ScatterPass(parameters, weights=applied), part)[0].matrix
            else:
                squashed = squashed_scatter(activations, stack.layers[passed - 1].weights, part).matrix
        reached = entry + (1.0 - entry) * passed / max(passes, 1)
        here = progress.part(reached, reached)
        if not values:
            layer_scatter = squashed
        elif k == 0:
            layer_scatter = first
        else:
            layer_scatter = scatter_after(stack.layers[k - 1].weights, squashed, here)
            del squashed  # free the memory of this scatter matrix before the next pass over the rows
        weights, error = layer_weights(layer_scatter, parameters.noise, parameters.ridge, windows, here)
        stack = replace(stack, layers=(*stack.layers, Layer(weights, error, layer_scatter)))
        progress.report(reached, stack)
    if out is not None:
        fill_features(stack, rows, out, passes, progress.part(1.0, 1.0))
    return stack


def _passes(parameters: StackParameters) -> int:
    """Return the number of passes over the rows after the first pass, which computes scatter matrices of the input."""
    return max(parameters.depth - (2 if parameters.fit_on == "values" else 1), 0)


def entry_share(parameters: StackParameters) -> float:
    """Return the fraction of a fit's duration that is spent on the scatter matrices of the input."""
    return 1.0 / (1.0 + _PASS * _passes(parameters))


def _entry(
    rows: Rows, parameters: StackParameters, sample_weight: Array | None, progress: Progress
) -> tuple[Array, Array]:
    """Return the scatter matrices of the rows and of the squashed rows.

    If the fit needs only the scatter matrix of the rows, this matrix is returned twice.
    """
    part = ScatterPass(parameters, squashed=parameters.fit_on != "values" or parameters.depth > 1)
    if isinstance(rows, BlockRows):
        scatters = list(rows.total(part, progress))
    else:
        scatters = list(part.of(rows, progress=progress, sample_weight=sample_weight))
    matrices = []
    while scatters:  # Removing each `Scatter` from the list frees its arrays as soon as its matrix is copied.
        matrices.append(scatters.pop().matrix)
    return matrices[-1], matrices[0]


def feature_array(shape: tuple[int, ...], parameters: StackParameters) -> NDArray[np.floating]:
    """Return a new array to fill with the representations [h⁰ | h¹ | … | hˡ] of rows.

    Raises
    ------
    MemoryError
        If the array needs more memory than is available.
    """
    (n, d), depth = shape, parameters.depth
    job = f"transforming {n} rows of {d} features at depth {depth}"
    action = "transform fewer rows at a time, or use fewer layers"
    return empty((n, (depth + 1) * d), np.dtype(parameters.dtype), job, action)


def _features_of_chunk(stack: Stack, chunk: Rows, start: int) -> NDArray[np.floating]:
    features, d = stack.transform(chunk), stack.n_features
    refuse_not_finite(features[:, :d], start)
    return features


def check_fit(n: int, d: int, parameters: StackParameters) -> None:
    """Raise a MemoryError if a fit to n rows of d features needs more memory than is available."""
    job = f"a fit of {parameters.depth} layers to {d} features"
    check_free(fit_bytes(n, d, parameters), job, "use fewer features")
    empty((2 * parameters.depth + _MATRICES, d + 1, d + 1), np.dtype(float), job, "use fewer features")


def fit_bytes(n: int, d: int, parameters: StackParameters) -> int:
    """Return the approximate peak memory, in bytes, of a fit to n rows of d features. The rows are not included."""
    matrix, depth = 8 * (d + 1) ** 2, parameters.depth
    item = 8 if parameters.dtype == "float64" else 4
    corrected = 1 if parameters.noise < 0.1 else 0
    packed = min(n * (d // 8 + 1), PACKED_LIMIT) if depth > 2 else 0
    return (2 * depth + _MATRICES + corrected) * matrix + packed + item * d * min(n, rows_per_product(d))


def fill_features(stack: Stack, rows: Rows, out: NDArray[np.floating], done: int, progress: Progress) -> None:
    """Fill `out` with the representations h⁰, …, hˡ of the rows. If `done` is k > 0, h⁰, …, hᵏ are already in it."""
    p, d = stack.parameters, stack.n_features
    n, size = rows.shape[0], rows_per_block(d)
    buffer = SquashBuffer(min(size, n), d, p)
    for some in tiles(n, size, progress, fraction=True):
        block = out[some]
        if done == 0:
            block[:, :d] = in_dtype(dense_rows(rows, some.start, some.stop), p.dtype, some.start)
        for k, step in enumerate(stack.matrices[done:], start=done):
            np.matmul(buffer.of(block[:, k * d : (k + 1) * d]), step, out=block[:, (k + 1) * d : (k + 2) * d])


_SAMPLE_ROWS = 4096
_FEWEST_VARYING = 0.01


def threshold_problem(rows: Rows, parameters: StackParameters) -> str:
    """Return a warning if nearly all features are constant after thresholding, or else an empty string.

    The check uses at most 4 096 evenly spaced rows.

    Parameters
    ----------
    rows : array, memmap or CSR matrix of shape (n, d)
        Rows of the training set.
    parameters : StackParameters
    """
    if not parameters.depth or not parameters.function.uses_threshold:
        return ""
    rows = rows[np.unique(np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], _SAMPLE_ROWS)).astype(np.intp))]
    rows, t = np.asarray(rows.toarray() if is_sparse(rows) else rows), parameters.threshold
    above = rows > t
    varying = np.count_nonzero((rows != rows[0]).any(axis=0))
    left = np.count_nonzero((above != above[0]).any(axis=0))
    if left >= _FEWEST_VARYING * varying:
        return ""
    return (
        f"{np.mean(above):.2%} of the values are above the threshold {t:g}: only {left} of {varying} features vary "
        "between rows after thresholding, and the hidden layers are almost constant; scale the features so that the "
        "threshold is inside their range (to 0…1 for the threshold 0.5), or change the threshold"
    )
