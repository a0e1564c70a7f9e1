"""Train stacked denoising autoencoders: pre-train one layer after another, then fine-tune by back-propagation."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import rows_per_block, tiles
from slide_gui.core.sda import model
from slide_gui.core.sda.model import DenoisingLayer, Masks, Sda, SdaEpoch, SdaHistory, SdaNetwork, SdaParameters, Values
from slide_gui.memory import check_free
from slide_gui.progress import NO_PROGRESS, MonotonicProgress, Progress

Codes = NDArray[np.intp]


def into_range(rows: Values, limits: tuple[float, float]) -> Values:
    """Shift and scale rows so that the two values in `limits` become 0 and 1. Two equal limits both become 0."""
    if limits == (0.0, 1.0):
        return rows
    # Round the limits to the data type of the rows. With limits of higher precision, a scaled value could exceed 1.
    low, high = (rows.dtype.type(limit) for limit in limits)
    return np.asarray((rows - low) / ((high - low) or rows.dtype.type(1.0)))


def first_layer(n_inputs: int, n_units: int, random: np.random.Generator, dtype: str) -> DenoisingLayer:
    """Return an untrained layer: random W, uniform within ±4 √(6 / (n_inputs + n_units)), and biases of 0."""
    limit = 4.0 * np.sqrt(6.0 / (n_inputs + n_units))
    weights = random.random((n_units, n_inputs), dtype=np.dtype(dtype).type)
    weights *= 2.0 * limit
    weights -= limit
    return DenoisingLayer(weights, np.zeros(n_units, dtype), np.zeros(n_inputs, dtype))


def _multiply_by_slope(errors: Values, hidden: Values, spare: Values) -> None:
    """Multiply `errors` by h (1 − h), the slope of the sigmoid at the outputs h in `hidden`. Overwrite `spare`."""
    np.multiply(errors, hidden, out=errors)
    slope = spare[: hidden.size].reshape(hidden.shape)
    np.subtract(1.0, hidden, out=slope)
    np.multiply(errors, slope, out=errors)


class DenoisingDescent:
    """Gradient descent for one denoising autoencoder, with preallocated arrays.

    W, b, c and s are defined in `DenoisingLayer`. Let x̃ be a corrupted copy of the row x, h = s(W x̃ + b),
    z = s(Wᵀ h + c) and L = −Σ [x log z + (1 − x) log(1 − z)]. The errors are δ_z = z − x and δ_h = (W δ_z) h (1 − h).
    The gradients are dL/dW = δ_h x̃ᵀ + h δ_zᵀ, dL/db = δ_h and dL/dc = δ_z, summed over the rows. One array contains
    δ_h and h, and another x̃ and δ_z, so that dL/dW is one matrix product.

    Parameters
    ----------
    layer : DenoisingLayer
        Layer with the weights and biases to start from. Its arrays are changed in place.
    batch_size : int
        Number of rows of the largest mini-batch.
    """

    def __init__(self, layer: DenoisingLayer, batch_size: int) -> None:
        self.layer = layer
        units, inputs = layer.weights.shape
        dtype = layer.weights.dtype
        self.clean: Values = np.empty((batch_size, inputs), dtype)
        self._inputs: Values = np.empty((2 * batch_size, inputs), dtype)
        self._hidden: Values = np.empty((2 * batch_size, units), dtype)
        self._spare: Values = np.empty(batch_size * max(inputs, units), dtype)
        self.gradient_of = DenoisingLayer(*map(np.empty_like, vars(layer).values()))

    def rows(self, m: int) -> tuple[Values, Values]:
        """Return two arrays of shape (m, n_inputs), which the caller fills with m rows and their corrupted copies."""
        return self.clean[:m], self._inputs[:m]

    def gradient(self, m: int, scale: float = 1.0, progress: Progress = NO_PROGRESS) -> float:
        """Return the loss, summed over the m rows in `rows(m)`. Store the gradient, times `scale`, in `gradient_of`."""
        layer, gradient = self.layer, self.gradient_of
        clean, masked = self.rows(m)
        below, hidden = self._hidden[:m], self._hidden[m : 2 * m]
        errors = self._inputs[m : 2 * m]

        model.multiply(masked, layer.weights.T, hidden, progress)
        np.add(hidden, layer.hidden_bias, out=hidden)
        model.sigmoid(hidden)
        model.multiply(hidden, layer.weights, errors, progress)
        np.add(errors, layer.visible_bias, out=errors)
        loss = model.sigmoid_cross_entropy(errors, clean, self._spare[: clean.size].reshape(clean.shape))
        np.subtract(errors, clean, out=errors)
        np.multiply(errors, scale, out=errors)

        model.multiply(errors, layer.weights.T, below, progress)
        _multiply_by_slope(below, hidden, self._spare)
        model.multiply(self._hidden[: 2 * m].T, self._inputs[: 2 * m], gradient.weights, progress)
        np.add.reduce(below, axis=0, out=gradient.hidden_bias)
        np.add.reduce(errors, axis=0, out=gradient.visible_bias)
        return loss

    def step(self, m: int, rate: float, progress: Progress = NO_PROGRESS) -> float:
        """Take one gradient step of size `rate` on the summed loss of the m rows; return the loss before the step."""
        loss = self.gradient(m, rate, progress)
        for values, gradient in zip(vars(self.layer).values(), vars(self.gradient_of).values(), strict=True):
            np.subtract(values, gradient, out=values)
        return loss


def autoencoder_bytes(n: int, d: int, units: Sequence[int], dtype: str = "float32") -> int:
    """Return the approximate memory, in bytes, for weights, gradients and hidden outputs of n rows in pre-training."""
    item = 8 if dtype == "float64" else 4
    weights = sum(a * b for a, b in zip((d, *units), units, strict=False))
    encoded = max((a + b for a, b in zip((0, *units), units[:-1], strict=False)), default=0)
    return item * (2 * weights + n * encoded)


def pretrain(X: Values, parameters: SdaParameters, progress: Progress = NO_PROGRESS) -> Sda:
    """Train each layer to reconstruct its input from a corrupted copy of this input.

    The input of the first layer is X, and the input of each further layer is the output of the layer below.

    Parameters
    ----------
    X : array_like of shape (n, d)
        Rows with values from 0 to 1. They are copied only if their data type is not `parameters.dtype`. In addition to
        the rows, the outputs of at most two layers are in memory.
    parameters : SdaParameters
    progress : Progress
        Receives an `SdaHistory` after each epoch.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if training diverges.
    """
    parameters = parameters.checked()
    steady = MonotonicProgress(progress)
    rows: Values = np.asarray(X, parameters.dtype)
    needed = autoencoder_bytes(rows.shape[0], rows.shape[1], parameters.n_units, parameters.dtype)
    check_free(needed, f"pre-training on {len(rows)} rows of {rows.shape[1]} features", "use fewer rows or units")
    sda = Sda(parameters, (), rows.shape[1], SdaHistory())
    n_weights = [below * above for below, above in pairwise([rows.shape[1], *parameters.n_units])]
    for noise, part in steady.each(parameters.noises, n_weights):
        if sda.layers:
            rows = _encoded(rows, sda.layers[-1], steady.pulse)
        layer, history = _train(rows, len(sda.layers) + 1, noise, parameters, sda.history, part)
        sda = replace(sda, layers=(*sda.layers, layer), history=history)
    return sda


def _train(
    rows: Values, number: int, noise: float, parameters: SdaParameters, history: SdaHistory, progress: Progress
) -> tuple[DenoisingLayer, SdaHistory]:
    """Train layer `number` on its input `rows`. Return the layer, and `history` with the epochs of this layer added."""
    random = np.random.default_rng((parameters.seed, number))
    layer = first_layer(rows.shape[1], parameters.n_units[number - 1], random, parameters.dtype)
    batch_size = min(parameters.batch_size, len(rows))
    descent = DenoisingDescent(layer, batch_size)
    masks = Masks(noise, random, (batch_size, rows.shape[1]))

    def step(chosen: Codes, pulse: Progress) -> float:
        clean, corrupted = descent.rows(len(chosen))
        # Without mode="clip", `np.take` would first copy the rows to a buffer, and then copy the buffer to `out`.
        np.take(rows, chosen, axis=0, out=clean, mode="clip")
        masks.apply(clean, corrupted)
        return descent.step(len(chosen), parameters.pretraining_rate, pulse)

    training, rate = f"pre-training of layer {number}", f"pretraining_rate {parameters.pretraining_rate:g}"
    losses = _epochs(len(rows), batch_size, parameters.pretraining_epochs, random, step, training, rate, progress)
    for epoch, loss, part in losses:
        history = history.then(SdaEpoch(model.PRE_TRAINING, number, epoch, loss))
        part.report(1.0, history)
    return layer, history


def _epochs(
    n: int,
    batch_size: int,
    epochs: int,
    random: np.random.Generator,
    step: Callable[[Codes, Progress], float],
    training: str,
    rate: str,
    progress: Progress,
) -> Iterator[tuple[int, float, Progress]]:
    """Run epochs: call `step` with the row indices of each mini-batch. Each epoch has its own random order of the rows.

    After each epoch, yield its number, its mean loss, and a `Progress` with which the caller reports its end. If the
    loss is not finite, raise a ValueError. Its message names the phase of training (`training`) and its learning rate
    (`rate`).
    """
    for epoch, part in progress.each(range(1, epochs + 1)):
        order, total = random.permutation(n), 0.0
        with np.errstate(over="ignore", invalid="ignore"):
            for start in range(0, n, batch_size):
                total += step(order[start : start + batch_size], part.part(start / n, start / n))
        if not math.isfinite(total):
            raise ValueError(f"{training} diverged in epoch {epoch} because {rate} is too large; reduce it")
        yield epoch, total / n, part


def _encoded(rows: Values, layer: DenoisingLayer, progress: Progress) -> Values:
    """Return the hidden output of a layer for uncorrupted rows, of shape (n, n_units)."""
    hidden: Values = np.empty((len(rows), len(layer.weights)), rows.dtype)
    for block in tiles(len(rows), rows_per_block(max(layer.weights.shape)), progress):
        layer.encode(rows[block], out=hidden[block])
    return hidden


class BackPropagation:
    """Back-propagation through all layers, with preallocated arrays.

    Let hᵏ = s(Wᵏ hᵏ⁻¹ + bᵏ) be the output of hidden layer k, where h⁰ is the row and s the sigmoid function. Let P =
    softmax(Wᵒ hˡ + bᵒ) be the output of the softmax layer o. The loss is L = −log P(class). The errors are δᵒ = P − e,
    where e is 1 for the class of the row and 0 otherwise, and δᵏ = (Wᵏ⁺¹ᵀ δᵏ⁺¹) hᵏ (1 − hᵏ). The gradients are dL/dWᵏ =
    δᵏ hᵏ⁻¹ᵀ and dL/dbᵏ = δᵏ, summed over the rows.

    Parameters
    ----------
    weights : sequence of ndarray, each of shape (outputs, inputs)
        Weights of the hidden layers, lowest layer first, then of the softmax layer. They are changed in place.
    biases : sequence of ndarray, each of shape (outputs,)
        Biases of the same layers. They are changed in place.
    batch_size : int
        Number of rows of the largest mini-batch.
    """

    def __init__(self, weights: Sequence[Values], biases: Sequence[Values], batch_size: int) -> None:
        self.weights, self.biases, self.batch_size = weights, biases, batch_size
        dtype = weights[0].dtype
        sizes = [weights[0].shape[1], *(len(w) for w in weights)]
        self._outputs: list[Values] = [np.empty((batch_size, size), dtype) for size in sizes]
        self._errors: list[Values] = [np.empty((batch_size, size), dtype) for size in sizes[1:]]
        self._spare: Values = np.empty(batch_size * max(sizes), dtype)
        self.weight_gradients: list[Values] = [np.empty_like(w) for w in weights]
        self.bias_gradients: list[Values] = [np.empty_like(b) for b in biases]

    def rows(self, m: int) -> Values:
        """Return the array of shape (m, d) to fill with the next mini-batch."""
        return self._outputs[0][:m]

    def forward(self, m: int, progress: Progress = NO_PROGRESS) -> Values:
        """Return the log-probabilities, of shape (m, n_classes), of the m rows written to the buffer `rows(m)`."""
        last = len(self.weights) - 1
        for k, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = self._outputs[k + 1][:m]
            model.multiply(self._outputs[k][:m], w.T, values, progress)
            np.add(values, b, out=values)
            if k < last:
                model.sigmoid(values)
        model.log_softmax(values)
        return values

    def gradient(self, m: int, codes: NDArray[np.intp], scale: float = 1.0, progress: Progress = NO_PROGRESS) -> float:
        """Return the loss, summed over m rows with class codes `codes`. Store the gradients, multiplied by `scale`."""
        log_probabilities = self.forward(m, progress)
        rows = np.arange(m)
        loss = -float(log_probabilities[rows, codes].sum())
        error = self._errors[-1][:m]
        np.exp(log_probabilities, out=error)
        error[rows, codes] -= 1.0
        np.multiply(error, scale, out=error)
        for k in reversed(range(len(self.weights))):
            below = self._outputs[k][:m]
            model.multiply(error.T, below, self.weight_gradients[k], progress)
            np.add.reduce(error, axis=0, out=self.bias_gradients[k])
            if k == 0:
                break
            passed = self._errors[k - 1][:m]
            model.multiply(error, self.weights[k], passed, progress)
            _multiply_by_slope(passed, below, self._spare)
            error = passed
        return loss

    def step(self, m: int, codes: NDArray[np.intp], rate: float, progress: Progress = NO_PROGRESS) -> float:
        """Take one gradient step of size `rate` on the summed loss of the m rows; return the loss before the step."""
        loss = self.gradient(m, codes, rate, progress)
        for values, gradient in zip(
            (*self.weights, *self.biases), (*self.weight_gradients, *self.bias_gradients), strict=True
        ):
            np.subtract(values, gradient, out=values)
        return loss


def fine_tune(
    sda: Sda,
    X: Values,
    codes: Codes,
    n_classes: int,
    validation: tuple[Values, Codes] | None = None,
    parameters: SdaParameters | None = None,
    progress: Progress = NO_PROGRESS,
) -> SdaNetwork:
    """Add a softmax layer on top of the autoencoders, and train all layers to classify the rows.

    With a validation set, the result has the weights of the best epoch. This epoch has the fewest errors on this set
    or, in a tie, the smallest negative log-likelihood. Training stops after `patience` consecutive epochs without an
    improvement. Without a validation set, the result has the weights after `fine_tuning_epochs` epochs.

    Parameters
    ----------
    sda : Sda
        The pre-trained autoencoders, which are not changed.
    X : array_like of shape (n, d)
        Rows with values from 0 to 1.
    codes : array_like of int, shape (n,)
        Class codes, 0 … n_classes − 1.
    n_classes : int
    validation : (ndarray of shape (v, d), ndarray of int of shape (v,)), optional
        Rows and class codes of a validation set for early stopping.
    parameters : SdaParameters, optional
        Learning rate, epochs, batch size, patience and seed of fine-tuning; by default the parameters of `sda`.
        `n_units`, `noise` and `dtype` are not used.
    progress : Progress
        After each epoch, receives an `SdaHistory` of pre-training and fine-tuning.

    Raises
    ------
    ValueError
        If a parameter is out of range, or if training diverges.
    """
    parameters = (parameters or sda.parameters).checked()
    steady = MonotonicProgress(progress)
    dtype = sda.parameters.dtype
    rows: Values = np.asarray(X, dtype)
    weights = [*(layer.weights.copy() for layer in sda.layers), np.zeros((n_classes, sda.sizes[-1]), dtype)]
    biases = [*(layer.hidden_bias.copy() for layer in sda.layers), np.zeros(n_classes, dtype)]
    trainer = BackPropagation(weights, biases, min(parameters.batch_size, len(rows)))
    random = np.random.default_rng((parameters.seed, 0))

    def step(chosen: Codes, pulse: Progress) -> float:
        np.take(rows, chosen, axis=0, out=trainer.rows(len(chosen)), mode="clip")
        return trainer.step(len(chosen), codes[chosen], parameters.fine_tuning_rate, pulse)

    history, best_scores, best_epoch = sda.history, (math.inf, math.inf), 0
    best = weights, biases
    n, epochs, rate = len(rows), parameters.fine_tuning_epochs, f"fine_tuning_rate {parameters.fine_tuning_rate:g}"
    for epoch, loss, part in _epochs(n, trainer.batch_size, epochs, random, step, "fine-tuning", rate, steady):
        if validation is None:
            best_epoch = epoch
            record = SdaEpoch(model.FINE_TUNING, 0, epoch, loss)
        else:
            scores = _validation_scores(trainer, *validation, steady.pulse)
            record = SdaEpoch(model.FINE_TUNING, 0, epoch, loss, validation_error=scores[0], validation_loss=scores[1])
            if scores < best_scores:
                best_scores, best_epoch = scores, epoch
                best = [w.copy() for w in weights], [b.copy() for b in biases]
        history = history.then(record)
        part.report(1.0, history)
        if validation is not None and epoch - best_epoch >= parameters.patience:
            break
    layers = tuple(DenoisingLayer(w, b, layer.visible_bias) for layer, w, b in zip(sda.layers, *best, strict=False))
    return SdaNetwork(replace(sda, layers=layers), best[0][-1], best[1][-1], history=history, best_epoch=best_epoch)


def _validation_scores(trainer: BackPropagation, rows: Values, codes: Codes, progress: Progress) -> tuple[float, float]:
    """Return the fraction of misclassified rows and the mean negative log-likelihood on a validation set."""
    wrong, loss, step = 0, 0.0, trainer.batch_size
    for start in range(0, len(rows), step):
        truth = codes[start : start + step]
        np.copyto(trainer.rows(len(truth)), rows[start : start + step])
        log_probabilities = trainer.forward(len(truth), progress)
        wrong += int(np.count_nonzero(log_probabilities.argmax(axis=1) != truth))
        loss -= float(log_probabilities[np.arange(len(truth)), truth].sum())
    return wrong / len(rows), loss / len(rows)
