"""Gradient descent on the negative log-likelihood of a whole network of sigmoid layers and a softmax layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sda_units import log_softmax, multiply, sigmoid
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["BackPropagation"]

Values = NDArray[Any]


class BackPropagation:
    """The buffers and products of a step; all arrays but one value a row are made once.

    With hᵏ = s(Wᵏ hᵏ⁻¹ + bᵏ), P = softmax(Wᵒ hˡ + bᵒ) and L = −log P(class), the errors are δᵒ = P − [class] and
    δᵏ = (Wᵏ⁺¹ᵀ δᵏ⁺¹) hᵏ (1 − hᵏ), and the gradients dL/dWᵏ = δᵏ hᵏ⁻¹ᵀ and dL/dbᵏ = δᵏ, added up over the rows.

    Parameters
    ----------
    weights : sequence of ndarray, each of shape (outputs, inputs)
        The hidden layers, lowest first, and the softmax layer; changed in place.
    biases : sequence of ndarray, each of shape (outputs,)
        Changed in place.
    batch_size : int
        Rows of the largest mini-batch.
    """

    def __init__(self, weights: Sequence[Values], biases: Sequence[Values], batch_size: int) -> None:
        self.weights, self.biases = weights, biases
        dtype = weights[0].dtype
        sizes = [weights[0].shape[1], *(len(w) for w in weights)]
        self._outputs: list[Values] = [np.empty((batch_size, size), dtype) for size in sizes]
        self._errors: list[Values] = [np.empty((batch_size, size), dtype) for size in sizes[1:]]
        self._spare: Values = np.empty(batch_size * max(sizes), dtype)
        self.weight_gradients: list[Values] = [np.empty_like(w) for w in weights]
        self.bias_gradients: list[Values] = [np.empty_like(b) for b in biases]

    @property
    def batch_size(self) -> int:
        """Rows of the largest mini-batch."""
        return len(self._outputs[0])

    def rows(self, m: int) -> Values:
        """Return the array (m, d) to be filled with the next mini-batch."""
        return self._outputs[0][:m]

    def forward(self, m: int, progress: Progress = NO_PROGRESS) -> Values:
        """Return the log-probabilities of the m rows, shape (m, n_classes)."""
        last = len(self.weights) - 1
        for k, (w, b) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = self._outputs[k + 1][:m]
            multiply(self._outputs[k][:m], w.T, values, progress)
            np.add(values, b, out=values)
            if k < last:
                sigmoid(values)
        log_softmax(values)
        return values

    def gradient(self, m: int, codes: NDArray[np.intp], scale: float = 1.0, progress: Progress = NO_PROGRESS) -> float:
        """Return the loss of the m rows of classes `codes`, and fill the gradients of `scale` times it."""
        log_probabilities = self.forward(m, progress)
        rows = np.arange(m)
        loss = -float(log_probabilities[rows, codes].sum())
        error = self._errors[-1][:m]
        np.exp(log_probabilities, out=error)
        error[rows, codes] -= 1.0
        np.multiply(error, scale, out=error)
        for k in reversed(range(len(self.weights))):
            below = self._outputs[k][:m]
            multiply(error.T, below, self.weight_gradients[k], progress)
            np.add.reduce(error, axis=0, out=self.bias_gradients[k])
            if k == 0:
                break
            passed = self._errors[k - 1][:m]
            multiply(error, self.weights[k], passed, progress)
            np.multiply(passed, below, out=passed)
            slope = self._spare[: below.size].reshape(below.shape)
            np.subtract(1.0, below, out=slope)
            np.multiply(passed, slope, out=passed)
            error = passed
        return loss

    def step(self, m: int, codes: NDArray[np.intp], rate: float, progress: Progress = NO_PROGRESS) -> float:
        """Move all layers by `rate` against the mean gradient of the m rows, and return their loss before."""
        loss = self.gradient(m, codes, rate / m, progress)
        for values, gradient in zip(
            (*self.weights, *self.biases), (*self.weight_gradients, *self.bias_gradients), strict=True
        ):
            np.subtract(values, gradient, out=values)
        return loss
