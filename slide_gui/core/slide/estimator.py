"""SLIDE as a scikit-learn transformer."""

import warnings
from copy import copy
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from slide_gui.core.estimators import AcceptsSparse, checked_rows, remember_layers, row_weights, store_parameters
from slide_gui.core.slide.activations import is_sparse, without_duplicates
from slide_gui.core.slide.blocks import BlockRows, dask_rows, is_dask
from slide_gui.core.slide.denoiser import RIDGE
from slide_gui.core.slide.noise_path import NoisePath
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.scaling import Scaler
from slide_gui.core.slide.sharing import checked_shape
from slide_gui.core.slide.stack import feature_array, fit_stack, threshold_problem
from slide_gui.progress import NO_PROGRESS, Progress


class SLIDE(AcceptsSparse, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Stacked linear denoisers (Xu, Weinberger and Sha, Algorithms 1 and 2).

    A layer is a linear map that reconstructs its input from corrupted copies, in which random features are set to 0.
    The map with the least expected squared error over all corruptions is computed in closed form. A squashing function
    is applied between two layers.

    Parameters
    ----------
    noise : float, default=0.3
        Noise level 1 − p: the probability that a feature is set to 0, in [0, 1).
    depth : int, default=3
        Number of layers l, 0 to 8.
    threshold : float, default=0.5
        Threshold t of the function T(a) = 1 if a > t else 0.
    squashing : {"threshold", "sigmoid", "tanh", "identity"}, default="threshold"
        Function applied between two layers.
    fit_on : {"values", "thresholded"}, default="values"
        Input that a layer is fitted on: the real-valued output of the layer below (as in the paper), or that output
        after the squashing function. A fitted layer is always applied to squashed values.
    ridge : float, default=1e-5
        Value added to the diagonal of E[Q], the expected scatter matrix of the corrupted rows, not divided by n.
    dtype : {"float32", "float64"}, default="float32"
        Data type of the rows and representations. Every linear system is solved in float64. On rows of 0 and 1 both
        types give the same first layer. On other rows, float32 changes each row of the weights W (including the bias)
        by up to 4e-5 / noise times its norm. This bound holds at noise levels of 0.1 or more. If the mean of a column
        is much larger than its standard deviation, centre the column, or use float64. At noise levels below 0.1,
        products are always summed in float64. The squares of values below 1e-19 are too small for float32. Scale
        features with such values, or use float64.
    batch_size : int, default=4096
        Largest number of rows that are converted and multiplied at a time.
    scale : {"none", "range", "quantile"}, default="none"
        Scaling of the features before the first layer. With "range", each feature is mapped linearly from its range in
        the training set to 0…1. With "quantile", each value is replaced by its quantile in the training set, and the
        median is mapped to the threshold (to 0.5 for functions T without a threshold), which must be between 0 and 1.
        At most 10 000 random rows determine the quantiles. The representation h⁰ contains the scaled features.
        Sparse matrices, `Blocks` and Dask arrays cannot be scaled. Rows with the weight 0 are ignored; otherwise,
        weights do not change the scaling.
    sharing : {"none", "convolution"}, default="none"
        With "convolution" the features are pixels, and all pixels share one kernel. It reconstructs a pixel from the
        corrupted pixels in a window around the pixel. The kernel has the least expected squared error over all
        corruptions and pixels. It is computed by the formulas of §3 of the paper for the mean scatter matrix of all
        windows.
    window : int, default=None
        Side of the window of a convolution in pixels, odd and 3 or more. None means 9. If the window is larger than the
        image, the side of the image is used instead, rounded up to an odd number.
    image_shape : tuple of (rows, columns) or (rows, columns, channels), default=None
        Shape of the images for a convolution. With channels, each pixel is a group of consecutive features, and each
        channel has a kernel that uses all channels. None means square images of one channel.

    Attributes
    ----------
    weights_ : list of ndarray of shape (d, d + 1), float64
        Weights Wᵏ of each layer, with the bias in the last column.
    errors_ : list of float
        Expected squared reconstruction error of each layer per feature, averaged over the rows. With sample weights, it
        is a weighted mean. For float32, rounding changes this error by about 1e-7 of the mean square of the columns.
        This change is large relative to the error if the mean of a column is much larger than its standard deviation.
    stack_ : Stack
        The fitted layers and their parameters as an immutable object.
    scaler_ : Scaler or None
        The fitted scaling of the features, or None for the scale "none".
    n_features_in_ : int
        Number of features d.
    feature_names_in_ : ndarray of str, shape (d,)
        Names of the features, if X was a data frame whose column names are all strings.

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
        scale: str = "none",
        sharing: str = "none",
        window: int | None = None,
        image_shape: tuple[int, ...] | None = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: object = None, sample_weight: Any = None, *, progress: Progress = NO_PROGRESS) -> Self:
        """Fit every layer in closed form (paper, eq. 8 and 11).

        Parameters
        ----------
        X : array_like of shape (n, d)
            An array or memmap is read in blocks and never copied as a whole. If features are scaled, however, the
            scaled rows are stored as one array of the type `dtype`. A CSR matrix needs up to 32 additional bytes per
            stored value. `Blocks` and Dask arrays are read at most once per layer. Chunks of a Dask array are
            processed on the workers of the active `distributed` client, or in the calling thread without a client. If
            BLAS uses one thread, the same blocks give bit-identical results in both cases.
        y : ignored
            SLIDE does not use labels.
        sample_weight : array_like of shape (n,), optional
            Weights of the rows, 0 or more and not all 0. A layer minimises the weighted error, so an integer weight has
            the same effect as repeating the row. The ridge is not multiplied by the weights, so weights far below 1
            have the same effect as a larger ridge. Weighted sums are computed in float64. Weights cannot be used with
            `Blocks` or Dask arrays.
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the fit.

        Raises
        ------
        ValueError
            If a parameter is out of range, if X contains text, NaN or infinity, if X has fewer than two rows or no
            features, or if the weights are invalid.
        MemoryError
            If the fit needs more memory than is available.
        ClusterError
            If the connection to the scheduler of a cluster is lost.

        Warns
        -----
        UserWarning
            If nearly all features are constant after thresholding. `Blocks` and Dask arrays are not checked.
        """
        self._fit(X, sample_weight, progress)
        return self

    def fit_transform(
        self, X: Any, y: object = None, sample_weight: Any = None, *, progress: Progress = NO_PROGRESS
    ) -> NDArray[np.floating]:
        """Fit every layer and return the representations of X. For arrays, this is faster than `fit` and `transform`.

        Parameters
        ----------
        X : array_like of shape (n, d)
            Same as for `fit`, except that `Blocks` are not accepted.
        y : ignored
        sample_weight : array_like of shape (n,), optional
            Weights of the rows, as for `fit`.
        progress : Progress
            Receives progress reports; raises `Cancelled` to stop the fit.

        Returns
        -------
        ndarray of shape (n, (l + 1)·d)
            The representations [h⁰ | h¹ | … | hˡ], as from `transform`.
        """
        if is_dask(X):
            return self.fit(X, sample_weight=sample_weight, progress=progress).transform(X)
        if isinstance(X, BlockRows):
            raise TypeError("fit_transform does not accept Blocks; call fit, then transform each block")
        return self._remembered(self._fit(X, sample_weight, progress, transform=True))

    def _fit(self, X: Any, sample_weight: Any, progress: Progress, *, transform: bool = False) -> Any:
        """Fit every layer. Return the representations of X if `transform` is True, and None otherwise."""
        fitted = copy(self)  # the fit changes this copy, so that `self` keeps its earlier model if the fit fails
        X = fitted._rows(X, reset=True)
        given = {each.name: getattr(self, each.name) for each in fields(StackParameters)}
        given["window"] = StackParameters.window if self.window is None else self.window
        parameters = StackParameters(**given).checked()
        weights = row_weights(sample_weight, X.shape[0])
        fitted.scaler_ = Scaler.of(self.scale, X, weights, parameters, progress)
        X = X if fitted.scaler_ is None else fitted.scaler_.scaled(X, parameters.dtype, progress)
        out = feature_array(X.shape, parameters) if transform else None
        shape = None if self.image_shape is None else checked_shape(self.image_shape, X.shape[1])
        stack = fit_stack(X, parameters, out=out, sample_weight=weights, image_shape=shape, progress=progress)
        problem = "" if isinstance(X, BlockRows) or not parameters.depth else threshold_problem(X, parameters)
        if problem:
            warnings.warn(f"{problem}; scale='range' or scale='quantile' scales features", UserWarning, stacklevel=3)
        self.__dict__ = fitted.__dict__
        self.stack_ = stack
        self.weights_ = [layer.weights for layer in stack.layers]
        self.errors_ = [layer.error for layer in stack.layers]
        self._n_features_out = (len(stack.layers) + 1) * self.n_features_in_
        return out

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return the representations [h⁰ | h¹ | … | hˡ] of X, of shape (n, (l + 1)·d).

        The result for a Dask array is a lazy Dask array with the same chunks of rows. If `set_output` requests data
        frames, the result is a data frame.

        Raises
        ------
        ValueError
            If X does not have d features, or if it contains NaN or infinity. The values of a Dask array are checked
            only when a chunk of the result is computed.
        """
        check_is_fitted(self)
        features = self.stack_.transform(self._rows(X, reset=False))
        return features if is_dask(X) else self._remembered(features)

    def _remembered(self, features: NDArray[np.floating]) -> NDArray[np.floating]:
        return remember_layers(features, (self.n_features_in_,) * (len(self.weights_) + 1))

    def layers(self, X: Any) -> list[NDArray[np.floating]]:
        """Return the list [h⁰, h¹, …, hˡ] of representations, each of shape (n, d).

        Raises
        ------
        ValueError
            If X does not have d features, or if it contains NaN or infinity.
        """
        check_is_fitted(self)
        return self.stack_.representations(self._rows(X, reset=False))

    def noise_path(self, layer: int) -> NoisePath:
        """Return the weights of a layer, 1 to l, as a function of the noise level of this layer.

        The lower layers keep the noise level of the fit. The weights are inaccurate at low noise levels if products of
        the rows were summed in float32. Rows of 0 and 1 are an exception. If you need noise levels much lower than
        `noise`, fit the stack with dtype float64.

        Raises
        ------
        ValueError
            If the stack has no such layer.
        """
        check_is_fitted(self)
        return self.stack_.noise_path(layer)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the column names ``h0_x0, …, h{l}_x{d−1}``. If features have names, these replace ``x0, x1, …``.

        Raises
        ------
        ValueError
            If `input_features` are not d names, or are not the names of the features that the stack was fitted to.
        """
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)  # the call rejects unsuitable names
        return np.array([f"h{k}_{name}" for k in range(len(self.weights_) + 1) for name in names], dtype=object)

    def _rows(self, X: Any, reset: bool) -> Any:
        """Return checked rows. If the estimator is already fitted (`reset` is False), the rows are also scaled."""
        in_blocks = is_dask(X) or isinstance(X, BlockRows)
        if (in_blocks or is_sparse(X)) and (self.scale != "none" if reset else self.scaler_ is not None):
            raise ValueError("sparse rows, Blocks and Dask arrays cannot be scaled; fit with scale='none'")
        if in_blocks:
            if not reset:
                if is_dask(X):
                    return X
                raise TypeError("transform does not accept Blocks; call it for each block")
            X = dask_rows(X) if is_dask(X) else X
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
            return X
        # During a fit, `fit_stack` checks for NaN when it reads the rows, so that a memmap is not read twice.
        rows = checked_rows(
            self,
            X,
            reset=reset,
            accept_sparse="csr",
            dtype=None if _plain(X) else [np.float64, np.float32],
            ensure_all_finite=not (reset and (_plain(X) or is_sparse(X))),
            ensure_min_samples=2 if reset else 1,
        )
        rows = without_duplicates(rows) if is_sparse(rows) else rows
        return rows if reset or self.scaler_ is None else self.scaler_.scaled(rows, self.stack_.parameters.dtype)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the data type of the output is `dtype`, not that of the input
        return tags


def _plain(X: Any) -> bool:
    """Return True if X is a 2-D array of numbers, which can be read in blocks without converting the whole array."""
    return isinstance(X, np.ndarray) and X.dtype.kind in "fbiu" and X.ndim == 2
