"""Parameters and trained models of stacked denoising autoencoders, and functions to compute with them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import rows_per_block, tiles
from slide_gui.core.validation import check_dtype, check_integer, check_integers, check_noise, check_number
from slide_gui.progress import NO_PROGRESS, Progress

MOST_ROWS_PER_STEP = 4096


@dataclass(frozen=True)
class SdaParameters:
    """Parameters for pre-training and fine-tuning of stacked denoising autoencoders.

    Learning rates are per row, as in Vincent et al. (2010), who change the weights after each row. A step subtracts
    from the weights the rate times the gradient, summed over the rows of a mini-batch. If the steps are small, the
    change in the weights during an epoch therefore hardly depends on the batch size. The Deep Learning Tutorials
    multiply the rate r by the mean gradient of m rows, which corresponds to the rate r/m of this class.

    Attributes
    ----------
    n_units : tuple of int
        Number of hidden units of each layer, lowest layer first; empty for no layers.
    noise : float or tuple of float
        Noise level 1 − p, in [0, 1): the probability that an input of a layer is set to 0. It is one number for all
        layers, or one number per layer.
    pretraining_rate : float
        Learning rate of pre-training, as defined above. The loss is the cross-entropy summed over the features. On a
        thousand images, 15 epochs at the rate 0.005 reach the same loss as 50 epochs at the tutorials' rate 0.001.
    pretraining_epochs : int
        Number of passes over the rows for each layer, 0 or more.
    fine_tuning_rate : float
        Learning rate of fine-tuning (back-propagation through all layers), as defined above.
    fine_tuning_epochs : int
        Number of passes over the labelled rows, 0 or more. With a validation set, training may stop earlier.
    batch_size : int
        Number of rows per step, 1 to 4096. A training set of a thousand rows needs small batches of about 20 rows, so
        that an epoch has enough steps. For tens of thousands of rows, use batches of 100 rows. Training then processes
        1.5 times as many rows per second.
    patience : int
        Number of consecutive epochs without an improvement on the validation set after which fine-tuning stops.
    seed : int
        Seed of the initial weights, the order of rows and the corruption, 0 or more.
    dtype : {"float32", "float64"}
        Data type of all arrays and matrix products.
    """

    n_units: tuple[int, ...] = (1000, 1000, 1000)
    noise: float | tuple[float, ...] = 0.25
    pretraining_rate: float = 0.005
    pretraining_epochs: int = 15
    fine_tuning_rate: float = 0.005
    fine_tuning_epochs: int = 100
    batch_size: int = 20
    patience: int = 10
    seed: int = 0
    dtype: str = "float32"

    @property
    def noises(self) -> tuple[float, ...]:
        """Noise level of each layer."""
        return self.noise if isinstance(self.noise, tuple) else (self.noise,) * len(self.n_units)

    @property
    def unsupervised(self) -> Self:
        """Copy of the parameters, with fixed values for the parameters that only fine-tuning uses.

        Runs without fine-tuning are stored under a hash of this copy. The fixed values are independent of the defaults,
        so that new defaults do not change the hashes of stored runs.
        """
        return replace(self, fine_tuning_rate=0.1, fine_tuning_epochs=100, patience=10)

    def checked(self) -> Self:
        """Check all parameters, and return them with numbers converted to plain Python types.

        Raises
        ------
        ValueError
            If a parameter has an invalid value. The message gives the value and the allowed range.
        """
        n_units = tuple(check_integer("n_units", units, 1) for units in self.n_units)
        return replace(
            self,
            n_units=n_units,
            noise=_noises(self.noise, len(n_units)),
            pretraining_rate=check_number("pretraining_rate", self.pretraining_rate, positive=True),
            fine_tuning_rate=check_number("fine_tuning_rate", self.fine_tuning_rate, positive=True),
            batch_size=check_integer("batch_size", self.batch_size, 1, MOST_ROWS_PER_STEP),
            dtype=check_dtype(self.dtype),
            **check_integers(self, pretraining_epochs=0, fine_tuning_epochs=0, patience=1, seed=0),
        )


def _noises(noise: float | Sequence[float], depth: int) -> float | tuple[float, ...]:
    if not isinstance(noise, (tuple, list)):
        return check_noise(noise)  # type: ignore[arg-type]  # rejects values that are not numbers
    if len(noise) != depth:
        raise ValueError(f"noise has {len(noise)} numbers; give one number, or one for each of the {depth} layers")
    return tuple(check_noise(value) for value in noise)


Values = NDArray[Any]

_TILE_FLOPS = 2e9  # number of operations between two progress reports; these operations take about 30 ms on one core
_FACTORS = 64  # number of factors, each ½ or more, in one product; a product of 64 factors cannot underflow in float32
_LEVELS = 1 << 16


def multiply(a: Values, b: Values, out: Values, progress: Progress) -> None:
    """Write the product a @ b to `out`. Compute it in blocks of rows, and report progress after each block."""
    step = max(1, int(_TILE_FLOPS / (2.0 * b.shape[0] * b.shape[1])))
    for rows in tiles(len(a), step, progress):
        np.matmul(a[rows], b, out=out[rows])


def sigmoid(values: Values) -> None:
    """Replace each value a by s(a) = 1/(1 + e^−a) = (1 + tanh(a/2))/2 in place. The form with tanh cannot overflow."""
    np.multiply(values, 0.5, out=values)
    np.tanh(values, out=values)
    np.multiply(values, 0.5, out=values)
    np.add(values, 0.5, out=values)


def sigmoid_cross_entropy(values: Values, targets: Values, scratch: Values) -> float:
    """Replace each value a by z = s(a) in place, and return the cross-entropy −Σ [x log z + (1 − x) log(1 − z)].

    s is the sigmoid function, and x are the targets. The sum over all entries is computed as Σ {a ([a > 0] − x) − log
    max(z, 1 − z)}, whose terms are not negative. To save time, the values max(z, 1 − z), which are at least ½, are
    multiplied in groups of 64. One logarithm is computed for each product.

    Parameters
    ----------
    values : ndarray of shape (m, d)
        Values a, which z = s(a) overwrites.
    targets : ndarray of shape (m, d)
        Targets x, from 0 to 1.
    scratch : ndarray of shape (m, d)
        Memory for intermediate values, which is overwritten.
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
    """Replace each value a_c by the log-probability a_c − log Σ_k e^a_k in place.

    A row of `values` contains one value a_c for each class c. The sum is over the classes k.
    """
    values -= values.max(axis=1, keepdims=True)
    values -= np.log(np.exp(values).sum(axis=1, keepdims=True))


class Masks:
    """Random masks that set entries to 0 independently of each other. The noise level is rounded to a multiple of 2⁻¹⁶.

    Parameters
    ----------
    noise : float
        Noise level 1 − p, in [0, 1).
    random : numpy.random.Generator
    shape : (int, int)
        Number of rows of the largest block to corrupt, and number of columns.
    """

    def __init__(self, noise: float, random: np.random.Generator, shape: tuple[int, int]) -> None:
        self._limit = min(round(noise * _LEVELS), _LEVELS - 1)
        self._bits = random.bit_generator
        self._survivors = np.empty(shape, dtype=bool)

    def apply(self, rows: Values, out: Values) -> None:
        """Write a newly corrupted copy of the rows to `out`."""
        if self._limit == 0:
            np.copyto(out, rows)
            return
        # Each random 64-bit integer gives four 16-bit numbers. This takes a third of the time of drawing float32
        # numbers.
        drawn = self._bits.random_raw(-(-rows.size // 4)).view(np.uint16)[: rows.size].reshape(rows.shape)
        survivors = self._survivors[: len(rows)]
        np.greater_equal(drawn, self._limit, out=survivors)
        np.multiply(rows, survivors, out=out)


PRE_TRAINING = "pre-training"
FINE_TUNING = "fine-tuning"


@dataclass(frozen=True)
class SdaEpoch:
    """Losses of one epoch, which is one pass over the training rows.

    Attributes
    ----------
    phase : {"pre-training", "fine-tuning"}
        Phase of training that the epoch belongs to.
    layer : int
        Number of the layer that is pre-trained, 1 … l; 0 in fine-tuning, which trains all layers.
    epoch : int
        Number of the epoch, from 1, within pre-training of the layer or within fine-tuning.
    loss : float
        Mean loss of the rows during the epoch. In pre-training, the loss of a row is the cross-entropy of its
        reconstruction in nats, summed over the features. In fine-tuning, it is −log P(class of the row).
    validation_loss, validation_error : float or None
        Mean negative log-likelihood, and fraction of misclassified rows, on the validation set after an epoch of
        fine-tuning. They are None in pre-training and without a validation set.
    """

    phase: str
    layer: int
    epoch: int
    loss: float
    validation_loss: float | None = None
    validation_error: float | None = None


@dataclass(frozen=True)
class SdaHistory:
    """All finished epochs in order. The progress report after each epoch contains this history."""

    epochs: tuple[SdaEpoch, ...] = ()

    def then(self, epoch: SdaEpoch) -> Self:
        """Return a history that contains the epochs of this history, followed by `epoch`."""
        return replace(self, epochs=(*self.epochs, epoch))


@dataclass(frozen=True, eq=False)
class DenoisingLayer:
    """One denoising autoencoder with tied weights: it encodes h = s(W x + b) and decodes z = s(Wᵀ h + c).

    x is an input row, z its reconstruction, and s the sigmoid function.

    Attributes
    ----------
    weights : ndarray of shape (n_units, n_inputs)
        Weights W, one row per unit.
    hidden_bias : ndarray of shape (n_units,)
        Bias b.
    visible_bias : ndarray of shape (n_inputs,)
        Bias c, which fine-tuning does not change.
    """

    weights: Values
    hidden_bias: Values
    visible_bias: Values

    def encode(self, rows: Values, out: Values | None = None) -> Values:
        """Return the outputs s(W x + b) of the layer for m rows x, of shape (m, n_units); s is the sigmoid function."""
        hidden: Values = np.matmul(rows, self.weights.T, out=out)
        hidden += self.hidden_bias
        sigmoid(hidden)
        return hidden


@dataclass(frozen=True, eq=False)
class Sda:
    """Stacked denoising autoencoders.

    Attributes
    ----------
    parameters : SdaParameters
    layers : tuple of DenoisingLayer
        Autoencoders, lowest layer first.
    n_features : int
        Number of features d of a row.
    history : SdaHistory
        Epochs of pre-training.
    """

    parameters: SdaParameters
    layers: tuple[DenoisingLayer, ...]
    n_features: int
    history: SdaHistory

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of columns of x, h¹, …, hˡ. A multi-width kernel has one width for each of these representations."""
        return (self.n_features, *(len(layer.weights) for layer in self.layers))

    def first(self, depth: int) -> Self:
        """Return a stack of the lowest `depth` autoencoders. Pre-training only these would give the same stack."""
        parameters = self.parameters
        noise = parameters.noise[:depth] if isinstance(parameters.noise, tuple) else parameters.noise
        return replace(
            self,
            parameters=replace(parameters, n_units=parameters.n_units[:depth], noise=noise),
            layers=self.layers[:depth],
            history=SdaHistory(tuple(epoch for epoch in self.history.epochs if 1 <= epoch.layer <= depth)),
        )

    def transform(self, rows: Values, *, progress: Progress = NO_PROGRESS) -> Values:
        """Return the representations [x | h¹ | … | hˡ], of shape (n, Σ sizes), in the data type of the parameters.

        Parameters
        ----------
        rows : array_like of shape (n, d)
            Rows x. An array or memmap is read in blocks of rows.
        """
        joined = np.empty((len(rows), sum(self.sizes)), self.parameters.dtype)
        columns = np.split(joined, np.cumsum(self.sizes)[:-1], axis=1)
        for block in tiles(len(rows), rows_per_block(max(self.sizes)), progress, fraction=True):
            below, *above = (part[block] for part in columns)
            below[:] = rows[block]
            for layer, hidden in zip(self.layers, above, strict=True):
                below = layer.encode(below, out=hidden)
        return joined


@dataclass(frozen=True, eq=False)
class SdaNetwork:
    """Stacked denoising autoencoders with a softmax layer on top, fine-tuned together.

    Attributes
    ----------
    sda : Sda
        The autoencoders with the weights after fine-tuning. Their history contains only the epochs of pre-training.
    weights : ndarray of shape (n_classes, n_units)
        Weights of the softmax layer.
    bias : ndarray of shape (n_classes,)
        Bias of the softmax layer.
    history : SdaHistory
        The epochs of pre-training and of fine-tuning.
    best_epoch : int
        Number of the fine-tuning epoch whose weights are used: the best epoch on the validation set or, if there is no
        validation set, the last epoch. It is 0 if there was no fine-tuning.
    """

    sda: Sda
    weights: Values
    bias: Values
    history: SdaHistory
    best_epoch: int

    def scores(self, rows: Values, *, progress: Progress = NO_PROGRESS) -> Values:
        """Return the log-probabilities log P(class | row), of shape (n, n_classes)."""
        dtype = np.dtype(self.sda.parameters.dtype)
        result: Values = np.empty((len(rows), len(self.weights)), dtype)
        for block in tiles(len(rows), rows_per_block(max(self.sda.sizes)), progress, fraction=True):
            hidden = np.asarray(rows[block], dtype=dtype)
            for layer in self.sda.layers:
                hidden = layer.encode(hidden)
            scores = np.matmul(hidden, self.weights.T, out=result[block])
            scores += self.bias
            log_softmax(scores)
        return result
