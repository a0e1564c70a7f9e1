"""Fine-tuned stacked denoising autoencoders as a scikit-learn classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from slide_gui.core.estimators import fitted_rows, labelled_rows
from slide_gui.core.sda_estimator import DTYPES, sda_parameters
from slide_gui.core.sda_fine_tuning import fine_tune
from slide_gui.core.sda_model import SdaClassifier
from slide_gui.core.sda_pretraining import pretrain
from slide_gui.core.sda_rows import into_range, range_of
from slide_gui.core.stratified import held_out_mask
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["SDAClassifier"]

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
    model_ : SdaClassifier
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
        self.n_units = n_units
        self.noise = noise
        self.pretraining_rate = pretraining_rate
        self.pretraining_epochs = pretraining_epochs
        self.fine_tuning_rate = fine_tuning_rate
        self.fine_tuning_epochs = fine_tuning_epochs
        self.early_stopping = early_stopping
        self.patience = patience
        self.batch_size = batch_size
        self.rescale = rescale
        self.dtype = dtype
        self.random_state = random_state

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
        held_out = held_out_mask(codes, parameters.seed) if self.early_stopping else np.zeros(len(rows), dtype=bool)
        fitted = rows[~held_out]
        sda = pretrain(fitted, parameters, progress=progress.part(0.0, _PRE_TRAINING_SHARE))
        self.model_: SdaClassifier = fine_tune(
            sda,
            fitted,
            codes[~held_out],
            len(self.classes_),
            rows[held_out] if self.early_stopping else None,
            codes[held_out] if self.early_stopping else None,
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
