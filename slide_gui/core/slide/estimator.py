"""SLIDE as a scikit-learn transformer."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from slide_gui.core.choices import stating
from slide_gui.core.estimators import (
    LayeredTransformer,
    checked_rows,
    layer_names,
    remember_layers,
    row_weights,
    store_parameters,
)
from slide_gui.core.slide.blocks import BlockRows
from slide_gui.core.slide.dask_rows import dask_rows, is_dask
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import FIT_ON, StackParameters
from slide_gui.core.slide.scatter import is_sparse, without_duplicates
from slide_gui.core.slide.squashing import SQUASHINGS
from slide_gui.core.slide.stack import fit_stack, room_for_features, threshold_problem
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["SLIDE", "NoisePath"]


@stating(squashing=SQUASHINGS, fit_on=FIT_ON)
class SLIDE(LayeredTransformer):
    """Stacked linear denoisers (Xu, Weinberger and Sha, Algorithms 1 and 2).

    Each layer is the linear map that reconstructs its input from randomly blanked features with the least squared
    error over all corruptions, in closed form; between two layers the values are squashed.

    Parameters
    ----------
    noise : float, default=0.3
        Probability 1 − p that a feature is blanked, in [0, 1).
    depth : int, default=3
        Number of layers l, 0 to 8.
    threshold : float, default=0.5
        t of the threshold function T(a) = 1 if a > t else 0.
    squashing : {…}, default="threshold"
        The function between two layers.
    fit_on : {…}, default="values"
        Whether a layer is fitted on the real-valued output of the layer below (the paper) or on that output squashed.
        It is applied to squashed values either way.
    ridge : float, default=1e-5
        Added to the diagonal of E[Q], which is not divided by the number of samples.
    dtype : {"float32", "float64"}, default="float32"
        Of the rows and representations; every solve is float64. On rows of 0 and 1 both give the same first layer. On
        grey rows float32 moves each row of W by up to 4e-5 / noise of its length from what float64 gives, at a noise of
        0.1 or more; below that, products are summed in float64.
    batch_size : int, default=4096
        At most this many rows are converted and multiplied at a time.

    Attributes
    ----------
    weights_ : list of ndarray of shape (d, d + 1), float64
        Wᵏ of each layer, the bias in the last column.
    errors_ : list of float
        Expected squared reconstruction error per feature of each layer's own input, a weighted mean over weighted rows.
    stack_ : Stack
        The fitted layers as a frozen value.
    n_features_in_ : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import SLIDE
    >>> X = (np.random.default_rng(0).random((100, 6)) > 0.5).astype("float32")
    >>> SLIDE(noise=0.5, depth=2).fit(X).transform(X).shape
    (100, 18)
    """

    def __init__(
        self,
        noise: float = 0.3,
        depth: int = 3,
        threshold: float = 0.5,
        squashing: str = "threshold",
        fit_on: str = "values",
        ridge: float = RIDGE,
        dtype: str = "float32",
        batch_size: int = 4096,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: object = None, sample_weight: Any = None, *, progress: Progress = NO_PROGRESS) -> Self:
        """Fit every layer in closed form.

        Parameters
        ----------
        X : array_like of shape (n, d)
            An array, memmap or CSR matrix; read in blocks, never copied whole. `Blocks` or a Dask array; gone over once
            for each layer. Chunks of a Dask array are summed on the workers of the active client of `distributed`, else
            in this thread; equal blocks give equal bits, whatever computes them with one thread of BLAS.
        y : ignored
            SLIDE is unsupervised.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows, 0 or more, not all 0: the error that a layer minimises is weighted, so that a whole
            weight says how often its row stands in X. Sums are made in float64 then. Not with `Blocks` or a Dask array.
        progress : Progress
            Listener and cancel point.

        Raises
        ------
        ValueError
            If a parameter is out of range, X has text, a NaN or infinity, fewer than two rows or no features, or the
            weights are no weights of its rows.
        MemoryError
            If so many features and layers need more than there is.
        ClusterError
            If the scheduler of a cluster is lost.

        Warns
        -----
        UserWarning
            If the threshold leaves hardly any feature that differs between the rows. Blocks and Dask arrays are not
            checked.
        """
        self._fit(self._rows(X, reset=True), None, sample_weight, progress)
        return self

    def fit_transform(
        self, X: Any, y: object = None, sample_weight: Any = None, *, progress: Progress = NO_PROGRESS
    ) -> NDArray[np.floating]:
        """Fit every layer and return the features of X, for an array faster than one after the other.

        Parameters
        ----------
        X : array_like of shape (n, d)
            As for `fit`, without `Blocks`.
        y : ignored
        sample_weight : array_like of shape (n,), optional
            As for `fit`.
        progress : Progress
            Listener and cancel point.

        Returns
        -------
        ndarray of shape (n, (l + 1)·d)
        """
        if is_dask(X):
            return self.fit(X, sample_weight=sample_weight, progress=progress).transform(X)
        if isinstance(X, BlockRows):
            raise TypeError("the features of blocks are not held together; call fit, and transform with each block")
        X = self._rows(X, reset=True)
        out = room_for_features(X.shape, StackParameters(**self.get_params(deep=False)).checked())
        self._fit(X, out, sample_weight, progress)
        return self._remembered(out)

    def _fit(self, X: Any, out: NDArray[np.floating] | None, sample_weight: Any, progress: Progress) -> None:
        parameters = StackParameters(**self.get_params(deep=False)).checked()
        weights = row_weights(sample_weight, X.shape[0])
        stack = fit_stack(X, parameters, out=out, sample_weight=weights, progress=progress)
        problem = "" if isinstance(X, BlockRows) or not parameters.depth else threshold_problem(X, parameters)
        if problem:
            warnings.warn(problem, UserWarning, stacklevel=3)
        self.stack_ = stack
        self.weights_ = [layer.weights for layer in stack.layers]
        self.errors_ = [layer.error for layer in stack.layers]
        self._n_features_out = (len(stack.layers) + 1) * self.n_features_in_

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return [h⁰ | h¹ | … | hˡ] of shape (n, (l + 1)·d): an array; of a Dask array one of Dask, block by block.

        Raises
        ------
        ValueError
            If X does not have d features, or has a NaN or infinity; of a Dask array when that block is computed.
        """
        check_is_fitted(self)
        if is_dask(X):
            return self.stack_.transform(X)
        return self._remembered(self.stack_.transform(self._rows(X, reset=False)))

    def _remembered(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        return remember_layers(features, (self.n_features_in_,) * (len(self.weights_) + 1))

    def layers(self, X: Any) -> list[NDArray[np.floating]]:
        """Return [h⁰, h¹, …, hˡ], each of shape (n, d)."""
        joined, d = self.transform(X), self.n_features_in_
        return [joined[:, k * d : (k + 1) * d] for k in range(len(self.weights_) + 1)]

    def noise_path(self, layer: int) -> NoisePath:
        """Return W of layer 1 … l as a function of the noise, the layers below it as fitted.

        It is as exact as the products that the fit summed: on grey rows, for noises much below that of a float32 fit,
        fit with dtype float64.
        """
        check_is_fitted(self)
        return self.stack_.noise_path(layer)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names ``h0_x0, …, h{l}_x{d−1}``, or with the given names of the features."""
        names, depth = self._input_names(input_features), len(self.weights_)
        return np.array([name for k in range(depth + 1) for name in layer_names(k, names)], dtype=object)

    def _rows(self, X: Any, reset: bool) -> Any:
        if is_dask(X) or isinstance(X, BlockRows):
            return self._block_rows(dask_rows(X) if is_dask(X) else X, reset)
        # fit_stack looks for NaN block by block, so that a memmap is read once.
        rows = checked_rows(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=None if _plain(X) else [np.float32, np.float64],
            ensure_all_finite=not (reset and (_plain(X) or is_sparse(X))),
            ensure_min_samples=2 if reset else 1,
        )
        return without_duplicates(rows) if is_sparse(rows) else rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _block_rows(self, X: BlockRows, reset: bool) -> BlockRows:
        if not reset:
            raise TypeError("blocks are transformed one by one; call transform with each")
        self.n_features_in_ = X.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return X


def _plain(X: Any) -> bool:
    """Whether X is an array of numbers that can be read in blocks without a conversion of the whole."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fbiu" and X.ndim == 2
