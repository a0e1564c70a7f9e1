"""Fine-tuning: a softmax layer on stacked denoising autoencoders, all of it trained by back-propagation."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from slide_gui.core.pulse import Steady
from slide_gui.core.sda_backpropagation import BackPropagation
from slide_gui.core.sda_history import FINE_TUNING, SdaEpoch, SdaHistory
from slide_gui.core.sda_model import DenoisingLayer, Sda, SdaClassifier
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.sda_rows import generator, mini_batches, unit_rows
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["back_propagation_epoch", "fine_tune"]

Values = NDArray[Any]
Codes = NDArray[np.intp]


def fine_tune(
    sda: Sda,
    X: Values,
    codes: ArrayLike,
    n_classes: int,
    X_valid: Values | None = None,
    codes_valid: ArrayLike | None = None,
    parameters: SdaParameters | None = None,
    progress: Progress = NO_PROGRESS,
) -> SdaClassifier:
    """Put a softmax layer on the stack and train all layers on the classes.

    With validation rows the parameters of the best epoch are kept: the fewest errors, and among equals the smallest
    negative log-likelihood; training ends after `patience` epochs that were not better. Without, the parameters
    after the last of `fine_tuning_epochs` epochs are kept.

    Parameters
    ----------
    sda : Sda
        Left as it is.
    X : array_like of shape (n, d)
        Values from 0 to 1.
    codes : array_like of int, shape (n,)
        Classes, 0 … n_classes − 1.
    n_classes : int
    X_valid, codes_valid : array_like of shapes (v, d) and (v,), optional
        Rows kept apart for early stopping; both or neither.
    parameters : SdaParameters, optional
        Rate, epochs, batch size, patience and seed of fine-tuning; by default those of `sda`. Its `n_units`, `noise`
        and `dtype` are not used.
    progress : Progress
        Gets an `SdaHistory`, pre-training first, as payload after each epoch.

    Raises
    ------
    ValueError
        If a parameter is out of range, rows and codes do not fit, a value is not from 0 to 1, or training diverges.
    """
    parameters = (parameters or sda.parameters).checked()
    steady = Steady(progress)
    rows, targets = _labelled(sda, X, codes, n_classes, steady.pulse)
    if (X_valid is None) != (codes_valid is None):
        raise ValueError("validation rows and their classes must be given together, or neither")
    judge = None
    if X_valid is not None and codes_valid is not None:
        judge = _labelled(sda, X_valid, codes_valid, n_classes, steady.pulse)

    network = _Network.on(sda, n_classes)
    trainer = BackPropagation(network.weights, network.biases, min(parameters.batch_size, len(rows)))
    random = generator(parameters.seed, 0)
    kept, history, best, best_epoch = network, sda.history, (math.inf, math.inf), 0
    epochs = parameters.fine_tuning_epochs
    for epoch in range(1, epochs + 1):
        part = steady.part((epoch - 1) / epochs, epoch / epochs)
        loss = back_propagation_epoch(trainer, rows, targets, parameters.fine_tuning_rate, random, part)
        if not math.isfinite(loss):
            rate = parameters.fine_tuning_rate
            raise ValueError(f"fine-tuning diverged in epoch {epoch}: the rate {rate:g} is too large")
        if judge is None:
            best_epoch = epoch
            record = SdaEpoch(FINE_TUNING, 0, epoch, loss)
        else:
            judged = _judged(trainer, *judge, steady.pulse)
            record = SdaEpoch(FINE_TUNING, 0, epoch, loss, validation_error=judged[0], validation_loss=judged[1])
            if judged < best:
                best, best_epoch = judged, epoch
                kept = network.copied(kept if kept is not network else None)
        history = history.then(record)
        part.report(1.0, history)
        if judge is not None and epoch - best_epoch >= parameters.patience:
            break
    return kept.classifier(sda, history, best_epoch)


@dataclass(frozen=True, eq=False)
class _Network:
    """Weights and biases of the hidden layers and, last, of the softmax layer."""

    weights: tuple[Values, ...]
    biases: tuple[Values, ...]

    @classmethod
    def on(cls, sda: Sda, n_classes: int) -> _Network:
        """Return copies of the layers of the stack, and a softmax layer of zeros."""
        dtype = sda.parameters.dtype
        return cls(
            (*(layer.weights.copy() for layer in sda.layers), np.zeros((n_classes, sda.sizes[-1]), dtype)),
            (*(layer.hidden_bias.copy() for layer in sda.layers), np.zeros(n_classes, dtype)),
        )

    def copied(self, into: _Network | None) -> _Network:
        """Return a copy, in the arrays of `into` if it is given."""
        if into is None:
            return _Network(tuple(w.copy() for w in self.weights), tuple(b.copy() for b in self.biases))
        for kept, values in zip((*into.weights, *into.biases), (*self.weights, *self.biases), strict=True):
            np.copyto(kept, values)
        return into

    def classifier(self, sda: Sda, history: SdaHistory, best_epoch: int) -> SdaClassifier:
        """Return the classifier with these parameters."""
        layers = tuple(
            DenoisingLayer(w, b, layer.visible_bias)
            for layer, w, b in zip(sda.layers, self.weights, self.biases, strict=False)
        )
        return SdaClassifier(
            replace(sda, layers=layers), self.weights[-1], self.biases[-1], history=history, best_epoch=best_epoch
        )


def back_propagation_epoch(
    trainer: BackPropagation,
    rows: Values,
    codes: Codes,
    rate: float,
    random: np.random.Generator,
    progress: Progress = NO_PROGRESS,
) -> float:
    """Take a step for each mini-batch of the rows, and return the mean negative log-likelihood of a row."""
    total, done = 0.0, 0
    with np.errstate(over="ignore", invalid="ignore"):  # the loss tells
        for chosen in mini_batches(len(rows), trainer.batch_size, random):
            m = len(chosen)
            np.take(rows, chosen, axis=0, out=trainer.rows(m), mode="clip")
            here = done / len(rows)
            total += trainer.step(m, codes[chosen], rate, progress.part(here, here))
            done += m
    return total / len(rows)


def _judged(trainer: BackPropagation, rows: Values, codes: Codes, progress: Progress) -> tuple[float, float]:
    """Return the share of wrong classes and the mean negative log-likelihood."""
    wrong, loss, step = 0, 0.0, trainer.batch_size
    for start in range(0, len(rows), step):
        truth = codes[start : start + step]
        np.copyto(trainer.rows(len(truth)), rows[start : start + step])
        log_probabilities = trainer.forward(len(truth), progress)
        wrong += int(np.count_nonzero(log_probabilities.argmax(axis=1) != truth))
        loss -= float(log_probabilities[np.arange(len(truth)), truth].sum())
    return wrong / len(rows), loss / len(rows)


def _labelled(sda: Sda, X: Values, codes: ArrayLike, n_classes: int, progress: Progress) -> tuple[Values, Codes]:
    """Return rows and codes as they are trained on."""
    rows = unit_rows(X, sda.parameters.dtype, progress)
    if rows.shape[1] != sda.n_features:
        raise ValueError(f"X has {rows.shape[1]} features; these autoencoders were trained on {sda.n_features}")
    targets = np.asarray(codes)
    if targets.shape != (len(rows),) or targets.dtype.kind not in "iu":
        raise ValueError(f"codes are {targets.dtype} {targets.shape}; they must be whole numbers, one for each row")
    if targets.min() < 0 or targets.max() >= n_classes:
        raise ValueError(f"codes go from {targets.min()} to {targets.max()}; they must be from 0 to {n_classes - 1}")
    return rows, targets.astype(np.intp, copy=False)
