"""Trained stacked denoising autoencoders as frozen values, and what they make of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.blocked import rows_per_block
from slide_gui.core.sda_history import SdaHistory
from slide_gui.core.sda_parameters import SdaParameters
from slide_gui.core.sda_units import log_softmax, sigmoid
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["DenoisingLayer", "Sda", "SdaClassifier"]

Values = NDArray[Any]


@dataclass(frozen=True, eq=False)
class DenoisingLayer:
    """One denoising autoencoder: h = s(W x + b), and back with the same weights z = s(Wᵀ h + c).

    Attributes
    ----------
    weights : ndarray of shape (n_units, n_inputs)
        W, one row a unit.
    hidden_bias : ndarray of shape (n_units,)
        b.
    visible_bias : ndarray of shape (n_inputs,)
        c; fine-tuning leaves it as it is.
    """

    weights: Values
    hidden_bias: Values
    visible_bias: Values

    def encode(self, rows: Values, out: Values | None = None) -> Values:
        """Return s(W x + b) of a block of rows, shape (m, n_units)."""
        hidden: Values = np.matmul(rows, self.weights.T, out=out)
        hidden += self.hidden_bias
        sigmoid(hidden)
        return hidden

    def decode(self, hidden: Values) -> Values:
        """Return the reconstruction s(Wᵀ h + c) of a block of hidden rows, shape (m, n_inputs)."""
        rows: Values = hidden @ self.weights
        rows += self.visible_bias
        sigmoid(rows)
        return rows


@dataclass(frozen=True, eq=False)
class Sda:
    """Stacked denoising autoencoders.

    Attributes
    ----------
    parameters : SdaParameters
    layers : tuple of DenoisingLayer
    n_features, n_samples : int
        d and n of the rows it was trained on.
    history : SdaHistory
        One record an epoch.
    """

    parameters: SdaParameters
    layers: tuple[DenoisingLayer, ...]
    n_features: int
    n_samples: int
    history: SdaHistory

    @property
    def sizes(self) -> tuple[int, ...]:
        """Columns of x, h¹, …, hˡ: the groups of a multi-width kernel on the features."""
        return (self.n_features, *(len(layer.weights) for layer in self.layers))

    def first(self, depth: int) -> Sda:
        """Return the lowest layers alone, equal to what pre-training only so many gives.

        Raises
        ------
        ValueError
            If there are not so many layers.
        """
        if not 0 <= depth <= len(self.layers):
            raise ValueError(f"depth is {depth}; these autoencoders have {len(self.layers)} layers")
        parameters = self.parameters
        noise = parameters.noise[:depth] if isinstance(parameters.noise, tuple) else parameters.noise
        return replace(
            self,
            parameters=replace(parameters, n_units=parameters.n_units[:depth], noise=noise),
            layers=self.layers[:depth],
            history=SdaHistory(tuple(epoch for epoch in self.history.epochs if 1 <= epoch.layer <= depth)),
        )

    def transform(self, rows: Values, *, out: Values | None = None, progress: Progress = NO_PROGRESS) -> Values:
        """Return [x | h¹ | … | hˡ] of shape (n, Σ sizes), in the dtype of the parameters, block by block.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            An array or memmap.
        out : ndarray of shape (n, Σ sizes), optional
            Filled and returned in place of a new array.
        progress : Progress

        Raises
        ------
        ValueError
            If the rows do not have the number of features of the training, or `out` is of another shape or dtype.
        """
        _check_width(rows, self.n_features)
        shape, dtype = (len(rows), sum(self.sizes)), np.dtype(self.parameters.dtype)
        if out is None:
            out = np.empty(shape, dtype)
        elif out.shape != shape or out.dtype != dtype:
            raise ValueError(f"out is {out.dtype} {out.shape}; it must be {dtype} {shape}")
        ends = np.cumsum(self.sizes)
        step = rows_per_block(max(self.sizes))
        for start in range(0, len(rows), step):
            block = out[start : start + step]
            block[:, : ends[0]] = rows[start : start + step]
            left = 0
            for layer, middle, right in zip(self.layers, ends[:-1], ends[1:], strict=True):
                layer.encode(block[:, left:middle], out=block[:, middle:right])
                left = middle
            progress.report(min(start + step, len(rows)) / len(rows))
        return out

    def representations(self, rows: Values, *, progress: Progress = NO_PROGRESS) -> list[Values]:
        """Return [x, h¹, …, hˡ], of shapes (n, sizes[k])."""
        joined = self.transform(rows, progress=progress)
        return np.split(joined, np.cumsum(self.sizes)[:-1], axis=1)


@dataclass(frozen=True, eq=False)
class SdaClassifier:
    """Stacked denoising autoencoders with a softmax layer on top, fine-tuned as a whole.

    Attributes
    ----------
    sda : Sda
        The layers after fine-tuning; its history has the epochs of pre-training only.
    weights : ndarray of shape (n_classes, n_units)
        Of the softmax layer.
    bias : ndarray of shape (n_classes,)
    history : SdaHistory
        The epochs of pre-training and of fine-tuning.
    best_epoch : int
        Whose parameters these are: the best on the validation rows, or the last where there were none; 0 if no epoch
        was asked for.
    """

    sda: Sda
    weights: Values
    bias: Values
    history: SdaHistory
    best_epoch: int

    def scores(self, rows: Values, *, progress: Progress = NO_PROGRESS) -> Values:
        """Return the log-probabilities log P(class | row), shape (n, n_classes), block by block.

        Raises
        ------
        ValueError
            If the rows do not have the number of features of the training.
        """
        _check_width(rows, self.sda.n_features)
        dtype = np.dtype(self.sda.parameters.dtype)
        result: Values = np.empty((len(rows), len(self.weights)), dtype)
        step = rows_per_block(max(self.sda.sizes))
        for start in range(0, len(rows), step):
            hidden = np.asarray(rows[start : start + step], dtype=dtype)
            for layer in self.sda.layers:
                hidden = layer.encode(hidden)
            block = result[start : start + step]
            np.matmul(hidden, self.weights.T, out=block)
            block += self.bias
            log_softmax(block)
            progress.report(min(start + step, len(rows)) / len(rows))
        return result

    def predict(self, rows: Values, *, progress: Progress = NO_PROGRESS) -> NDArray[np.intp]:
        """Return the code 0 … n_classes − 1 of the likeliest class of each row, shape (n,)."""
        return np.asarray(self.scores(rows, progress=progress).argmax(axis=1), dtype=np.intp)


def _check_width(rows: Values, n_features: int) -> None:
    if rows.ndim != 2 or rows.shape[1] != n_features:
        found = f"{rows.shape[1]} features" if rows.ndim == 2 else f"{rows.ndim} dimensions"
        raise ValueError(f"X has {found}; these autoencoders were trained on {n_features} features")
