"""`SDA` and `SDAClassifier`: stacked denoising autoencoders by the conventions of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from slide_gui.core.estimators import (
    LayeredTransformer,
    checked_rows,
    fitted_rows,
    labelled_rows,
    layer_names,
    listed,
    parameters_of,
    remember_layers,
    store_parameters,
)
from slide_gui.core.sampling import held_out_mask
from slide_gui.core.sda.model import Sda, SdaNetwork, SdaParameters
from slide_gui.core.sda.training import fine_tune, into_range, pretrain, range_of
from slide_gui.core.validation import check_flag
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["SDA", "SDAClassifier"]


DTYPES = (np.float32, np.float64)
"""Of rows as they are taken; others become the first."""


class SDA(LayeredTransformer):
    """Stacked denoising autoencoders (Vincent et al. 2010), which the paper compares SLIDE with.

    Each layer of sigmoid units is trained by mini-batch gradient descent to reconstruct its clean input from a masked
    one with the same (tied) weights, measured by cross-entropy; layers are trained one after the other.

    Parameters
    ----------
    n_units : sequence of int, default=(1000, 1000, 1000)
        Hidden units of each layer.
    noise : float or sequence of float, default=0.25
        Probability 1 − p that an input of a layer is set to 0, in [0, 1); one number, or one a layer.
    pretraining_rate : float, default=0.1
        Learning rate, on the mean of a mini-batch of the cross-entropy added up over the features.
    pretraining_epochs : int, default=15
        Passes over the rows for each layer.
    batch_size : int, default=20
        Rows a step.
    rescale : bool, default=True
        Where X leaves [0, 1], shift and scale all of it by two numbers, so that the range of the training rows
        becomes [0, 1]. False: such values are refused, since cross-entropy is for values from 0 to 1.
    dtype : {"float32", "float64"}, default="float32"
    random_state : int, RandomState instance or None, default=None
        Seeds first weights, order of rows and masks; None is 0.

    Attributes
    ----------
    sda_ : Sda
        The trained layers as a frozen value.
    weights_ : list of ndarray of shape (n_units, n_inputs)
        W of each layer, one row a unit.
    losses_ : list of float
        Mean reconstruction cross-entropy of a row, epoch by epoch, the layers one after the other.
    range_ : (float, float)
        What is brought to 0 and to 1.
    n_features_in_ : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import SDA
    >>> X = np.random.default_rng(0).random((100, 6))
    >>> SDA(n_units=(4, 3), pretraining_epochs=2).fit(X).transform(X).shape
    (100, 13)
    """

    def __init__(
        self,
        n_units: Sequence[int] = (1000, 1000, 1000),
        noise: float | Sequence[float] = 0.25,
        pretraining_rate: float = 0.1,
        pretraining_epochs: int = 15,
        batch_size: int = 20,
        rescale: bool = True,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: Any, y: object = None, *, progress: Progress = NO_PROGRESS) -> Self:
        """Train the layers one after the other.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : ignored
            Pre-training is unsupervised.
        progress : Progress
            Listener and cancel point.

        Raises
        ------
        ValueError
            If a parameter is out of range, X has a NaN or infinity, no rows or no features, or, without `rescale`, a
            value outside [0, 1].
        """
        rows = checked_rows(self, X, dtype=list(DTYPES))
        parameters = sda_parameters(self)
        self.range_ = range_of(rows) if self.rescale else (0.0, 1.0)
        self.sda_: Sda = pretrain(into_range(rows, self.range_), parameters, progress=progress)
        self.weights_ = [layer.weights for layer in self.sda_.layers]
        self.losses_ = [epoch.loss for epoch in self.sda_.history.epochs]
        return self

    def transform(self, X: Any) -> NDArray[np.floating]:
        """Return [x | h¹ | … | hˡ] of shape (n, d + Σ n_units).

        Raises
        ------
        ValueError
            If X does not have d features, or has a NaN or infinity.
        """
        rows = fitted_rows(self, X, DTYPES)
        return remember_layers(self.sda_.transform(into_range(rows, self.range_)), tuple(self.sda_.sizes))

    def layers(self, X: Any) -> list[NDArray[np.floating]]:
        """Return [x, h¹, …, hˡ], of shapes (n, d) and (n, n_units)."""
        return np.split(self.transform(X), np.cumsum(self.sda_.sizes)[:-1], axis=1)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return names ``h0_x0, …`` of the features, or with their given names, then ``h1_0, …, h{l}_{n_units−1}``."""
        names = self._input_names(input_features)
        units = [name for k, size in enumerate(self.sda_.sizes[1:], start=1) for name in layer_names(k, range(size))]
        return np.array([*layer_names(0, names), *units], dtype=object)


def sda_parameters(estimator: Any) -> SdaParameters:
    """Return what `SDA` or `SDAClassifier` is trained with, of its own parameters."""
    check_flag("rescale", estimator.rescale)
    return parameters_of(
        estimator, SdaParameters, n_units=listed(estimator.n_units), noise=listed(estimator.noise)
    ).checked()


_PRE_TRAINING_SHARE = 0.5


class SDAClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Stacked denoising autoencoders with a softmax layer, pre-trained layer by layer and fine-tuned as a whole.

    Parameters
    ----------
    n_units, noise, pretraining_rate, pretraining_epochs, batch_size, rescale, dtype, random_state
        As for `SDA`.
    fine_tuning_rate : float, default=0.1
        Learning rate of back-propagation, on the mean negative log-likelihood of a mini-batch.
    fine_tuning_epochs : int, default=100
        Most passes over the rows.
    early_stopping : bool, default=True
        Keep a stratified fifth of the rows apart and the parameters of the epoch with the fewest errors on it. False:
        train on all rows for all epochs.
    patience : int, default=10
        With early stopping, end after so many epochs that were not better.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    model_ : SdaNetwork
        The trained network as a frozen value, with its history.
    n_iter_ : int
        Epochs of fine-tuning.
    range_ : (float, float)
        What is brought to 0 and to 1.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from slide_gui import SDAClassifier
    >>> X = np.random.default_rng(0).random((200, 6))
    >>> y = np.where(X[:, 0] > X[:, 1], "left", "right")
    >>> network = SDAClassifier(n_units=(20,), fine_tuning_rate=0.5).fit(X, y)
    >>> bool(network.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_units: Sequence[int] = (1000, 1000, 1000),
        noise: float | Sequence[float] = 0.25,
        pretraining_rate: float = 0.1,
        pretraining_epochs: int = 15,
        fine_tuning_rate: float = 0.1,
        fine_tuning_epochs: int = 100,
        early_stopping: bool = True,
        patience: int = 10,
        batch_size: int = 20,
        rescale: bool = True,
        dtype: str = "float32",
        random_state: Any = None,
    ) -> None:
        store_parameters(self, locals())

    def fit(self, X: ArrayLike, y: ArrayLike, *, progress: Progress = NO_PROGRESS) -> Self:
        """Pre-train the layers, and fine-tune them with the classes.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        progress : Progress
            Listener and cancel point.

        Raises
        ------
        ValueError
            For rows, labels or parameters that cannot be trained on.
        """
        rows, self.classes_, codes = labelled_rows(self, X, y, DTYPES)
        parameters = sda_parameters(self)
        self.range_ = range_of(rows) if self.rescale else (0.0, 1.0)
        rows = into_range(rows, self.range_)
        stops_early = check_flag("early_stopping", self.early_stopping)
        held_out = held_out_mask(codes, parameters.seed) if stops_early else np.zeros(len(rows), dtype=bool)
        fitted = rows[~held_out]
        sda = pretrain(fitted, parameters, progress=progress.part(0.0, _PRE_TRAINING_SHARE))
        self.model_: SdaNetwork = fine_tune(
            sda,
            fitted,
            codes[~held_out],
            len(self.classes_),
            rows[held_out] if stops_early else None,
            codes[held_out] if stops_early else None,
            progress=progress.part(_PRE_TRAINING_SHARE, 1.0),
        )
        self.n_iter_ = len(self.model_.history.epochs) - len(sda.history.epochs)
        return self

    def predict_log_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return log P(class | row), shape (n, n_classes), in the order of `classes_`."""
        rows = fitted_rows(self, X, DTYPES)
        return self.model_.scores(into_range(rows, self.range_))

    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """Return P(class | row), shape (n, n_classes), in the order of `classes_`."""
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each row."""
        log_probabilities = self.predict_log_proba(X)
        return np.asarray(self.classes_[log_probabilities.argmax(axis=1)])
