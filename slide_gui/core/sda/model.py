"""Stacked denoising autoencoders as frozen values: what they are trained with, and what they make of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import rows_per_block
from slide_gui.core.validation import check_dtype, check_noise, check_number, check_whole
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "FINE_TUNING",
    "PRE_TRAINING",
    "TUTORIAL",
    "DenoisingLayer",
    "Masks",
    "Sda",
    "SdaEpoch",
    "SdaHistory",
    "SdaNetwork",
    "SdaParameters",
    "log_softmax",
    "multiply",
    "sigmoid",
    "sigmoid_cross_entropy",
]


MOST_ROWS_A_STEP = 4096


@dataclass(frozen=True)
class SdaParameters:
    """What stacked denoising autoencoders are pre-trained and fine-tuned with.

    A step moves the weights against the MEAN gradient of a mini-batch, so that r times the rate and r times the rows
    a step come, for small rates, to the same path.

    Attributes
    ----------
    n_units : tuple of int
        Hidden units of each layer, lowest first; empty for none.
    noise : float or tuple of float
        Probability 1 − p that an input of a layer is set to 0, in [0, 1); one number, or one a layer.
    pretraining_rate : float
        Learning rate of the denoising autoencoders, on cross-entropy added up over the features. At 20 rows a step 0.1
        does in 15 epochs on a thousand images what 0.02 (the tutorials' 0.001 at one row a step) needs 50 for.
    pretraining_epochs : int
        Passes over the rows for each layer, 0 or more.
    fine_tuning_rate : float
        Learning rate of back-propagation through all layers.
    fine_tuning_epochs : int
        Passes over the labelled rows, 0 or more: at most so many with validation rows, exactly so many without.
    batch_size : int
        Rows a step, 1 to 4096. 20 gives small training parts (a thousand rows) enough steps in an epoch and keeps
        two thirds of the speed of the large matrix products that 100 reach; take 100 for tens of thousands of rows.
    patience : int
        Fine-tuning stops when so many epochs in a row were no better than the best so far on the validation rows.
    seed : int
        Of first weights, order of rows and masks, 0 or more.
    dtype : {"float32", "float64"}
        Of all arrays and products.
    """

    n_units: tuple[int, ...] = (1000, 1000, 1000)
    noise: float | tuple[float, ...] = 0.25
    pretraining_rate: float = 0.1
    pretraining_epochs: int = 15
    fine_tuning_rate: float = 0.1
    fine_tuning_epochs: int = 100
    batch_size: int = 20
    patience: int = 10
    seed: int = 0
    dtype: str = "float32"

    @property
    def noises(self) -> tuple[float, ...]:
        """The noise of each layer."""
        return self.noise if isinstance(self.noise, tuple) else (self.noise,) * len(self.n_units)

    @property
    def unsupervised(self) -> SdaParameters:
        """These, with those of fine-tuning, which pre-training does not use, at their defaults."""
        names = ("fine_tuning_rate", "fine_tuning_epochs", "patience")
        unused = SdaParameters()
        return replace(self, **{name: getattr(unused, name) for name in names})

    def checked(self) -> SdaParameters:
        """Return these parameters, normalised.

        Raises
        ------
        ValueError
            Names the parameter that is out of range, what was found and what is allowed.
        """
        if not isinstance(self.n_units, (tuple, list)):
            raise ValueError(f"n_units is {self.n_units!r}; it must be whole numbers, one a layer")
        n_units = tuple(check_whole("n_units", units, 1) for units in self.n_units)
        return replace(
            self,
            n_units=n_units,
            noise=_noises(self.noise, len(n_units)),
            pretraining_rate=check_number("pretraining_rate", self.pretraining_rate, positive=True),
            pretraining_epochs=check_whole("pretraining_epochs", self.pretraining_epochs, 0),
            fine_tuning_rate=check_number("fine_tuning_rate", self.fine_tuning_rate, positive=True),
            fine_tuning_epochs=check_whole("fine_tuning_epochs", self.fine_tuning_epochs, 0),
            batch_size=check_whole("batch_size", self.batch_size, 1, MOST_ROWS_A_STEP),
            patience=check_whole("patience", self.patience, 1),
            seed=check_whole("seed", self.seed, 0),
            dtype=check_dtype(self.dtype),
        )


TUTORIAL = SdaParameters(
    n_units=(1000, 1000, 1000),
    noise=(0.1, 0.2, 0.3),
    pretraining_rate=0.001,
    pretraining_epochs=15,
    fine_tuning_rate=0.1,
    fine_tuning_epochs=1000,
    batch_size=1,
)
"""The recipe of the deep learning tutorials (deeplearning.net), whose code the paper's comparison uses."""


def _noises(noise: float | Sequence[float], depth: int) -> float | tuple[float, ...]:
    if not isinstance(noise, (tuple, list)):
        return check_noise(noise)  # type: ignore[arg-type]  # which refuses what is no number
    if len(noise) != depth:
        raise ValueError(f"noise has {len(noise)} numbers; there must be one, or one for each of the {depth} layers")
    return tuple(check_noise(value) for value in noise)


Values = NDArray[Any]

_TILE_FLOPS = 2e9  # some 30 ms on one core
_FACTORS = 64  # 2⁻⁶⁴, the smallest product of so many, is far above the smallest float32
_LEVELS = 1 << 16


def multiply(a: Values, b: Values, out: Values, progress: Progress) -> None:
    """Put a @ b into out, in pieces of rows where it is large, with a report after each."""
    step = max(1, int(_TILE_FLOPS / (2.0 * b.shape[0] * b.shape[1])))
    for start in range(0, len(a), step):
        np.matmul(a[start : start + step], b, out=out[start : start + step])
        progress.report(0.0)


def sigmoid(values: Values) -> None:
    """Put s(a) = 1/(1 + e^−a) = (1 + tanh(a/2))/2 in place of a; no a overflows."""
    np.multiply(values, 0.5, out=values)
    np.tanh(values, out=values)
    np.multiply(values, 0.5, out=values)
    np.add(values, 0.5, out=values)


def sigmoid_cross_entropy(values: Values, targets: Values, scratch: Values) -> float:
    """Put z = s(a) in place of a, and return −Σ x log z + (1 − x) log(1 − z) over all entries.

    It is Σ a ([a > 0] − x) − log max(z, 1 − z), whose terms are not negative. A logarithm serves the product of 64
    entries, each of which is at least ½.

    Parameters
    ----------
    values : ndarray of shape (m, d)
        a, overwritten.
    targets : ndarray of shape (m, d)
        x, from 0 to 1.
    scratch : ndarray of shape (m, d)
        Overwritten.
    """
    np.greater(values, 0.0, out=scratch)
    np.subtract(scratch, targets, out=scratch)
    loss = float(np.vdot(scratch, values))
    sigmoid(values)
    np.subtract(values, 0.5, out=scratch)
    np.abs(scratch, out=scratch)
    np.add(scratch, 0.5, out=scratch)
    for start in range(0, len(scratch), _FACTORS):
        loss -= float(np.log(np.multiply.reduce(scratch[start : start + _FACTORS], axis=0)).sum())
    return loss


def log_softmax(values: Values) -> None:
    """Put a_c − log Σ_c e^a_c in place of each row of a."""
    values -= values.max(axis=1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=1, keepdims=True))


class Masks:
    """Masking noise: entries set to 0, each on its own, with a probability that is a multiple of 2⁻¹⁶.

    Parameters
    ----------
    noise : float
        1 − p, in [0, 1).
    shape : (int, int)
        Of the largest block.
    """

    def __init__(self, noise: float, random: np.random.Generator, shape: tuple[int, int]) -> None:
        self._limit = min(round(noise * _LEVELS), _LEVELS - 1)
        self._bits = random.bit_generator
        self._survivors = np.empty(shape, dtype=bool)

    def apply(self, rows: Values, out: Values) -> None:
        """Put the rows with fresh masks into out."""
        if self._limit == 0:
            np.copyto(out, rows)
            return
        # Four 16-bit numbers a draw: a third of the time of float32 numbers.
        drawn = self._bits.random_raw(-(-rows.size // 4)).view(np.uint16)[: rows.size].reshape(rows.shape)
        survivors = self._survivors[: len(rows)]
        np.greater_equal(drawn, self._limit, out=survivors)
        np.multiply(rows, survivors, out=out)


PRE_TRAINING = "pre-training"
FINE_TUNING = "fine-tuning"


@dataclass(frozen=True)
class SdaEpoch:
    """One pass over the training rows.

    Attributes
    ----------
    phase : {"pre-training", "fine-tuning"}
    layer : int
        Which layer is pre-trained, 1 … l; 0 in fine-tuning, which moves all.
    epoch : int
        1, 2, … within the layer or the fine-tuning.
    loss : float
        Mean over the rows as the epoch met them: of the reconstruction cross-entropy of a row in nats (the sum over
        its features), or of the negative log-likelihood of its class.
    validation_loss, validation_error : float or None
        After the epoch of fine-tuning, where there are validation rows: mean negative log-likelihood, and share of
        rows given a wrong class.
    """

    phase: str
    layer: int
    epoch: int
    loss: float
    validation_loss: float | None = None
    validation_error: float | None = None


@dataclass(frozen=True)
class SdaHistory:
    """All epochs so far, in order: what every report of an epoch carries."""

    epochs: tuple[SdaEpoch, ...] = ()

    def then(self, epoch: SdaEpoch) -> SdaHistory:
        """Return this history with one more epoch."""
        return SdaHistory((*self.epochs, epoch))

    def of(self, phase: str, layer: int = 0) -> tuple[SdaEpoch, ...]:
        """Return the epochs of one layer's pre-training, or of fine-tuning."""
        return tuple(e for e in self.epochs if (e.phase, e.layer) == (phase, layer))


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
class SdaNetwork:
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
        shape = f"{rows.shape[1]} features" if rows.ndim == 2 else f"{rows.ndim} dimensions"
        raise ValueError(f"X has {shape}; these autoencoders were trained on {n_features} features")
