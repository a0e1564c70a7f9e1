"""Gradient descent on one denoising autoencoder's reconstruction cross-entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.sda_model import DenoisingLayer
from slide_gui.core.sda_units import multiply, sigmoid, sigmoid_cross_entropy
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["DenoisingDescent", "first_layer"]

Values = NDArray[Any]


def first_layer(n_inputs: int, n_units: int, random: np.random.Generator, dtype: str) -> DenoisingLayer:
    """Return the layer that training begins with: W uniform within ±4 √(6 / (inputs + units)), biases 0."""
    limit = 4.0 * np.sqrt(6.0 / (n_inputs + n_units))
    weights = random.random((n_units, n_inputs), dtype=np.dtype(dtype).type)
    weights *= 2.0 * limit
    weights -= limit
    return DenoisingLayer(weights, np.zeros(n_units, dtype), np.zeros(n_inputs, dtype))


class DenoisingDescent:
    """The buffers and products of a step; all arrays are made once.

    With h = s(W x̃ + b), z = s(Wᵀ h + c) and the loss L = −Σ x log z + (1 − x) log(1 − z), the errors are
    δ_z = z − x and δ_h = (W δ_z) h (1 − h), and the gradients dL/dW = δ_h x̃ᵀ + h δ_zᵀ, dL/db = δ_h, dL/dc = δ_z,
    added up over the rows. δ_h lies above h and x̃ above δ_z in memory, so that dL/dW is one product.

    Parameters
    ----------
    layer : DenoisingLayer
        Where the descent starts; its arrays are changed in place.
    batch_size : int
        Rows of the largest mini-batch.
    """

    def __init__(self, layer: DenoisingLayer, batch_size: int) -> None:
        self.layer = layer
        units, inputs = layer.weights.shape
        dtype = layer.weights.dtype
        self.clean: Values = np.empty((batch_size, inputs), dtype)
        self._inputs: Values = np.empty((2 * batch_size, inputs), dtype)
        self._hidden: Values = np.empty((2 * batch_size, units), dtype)
        self._spare: Values = np.empty(batch_size * max(inputs, units), dtype)
        self.gradient_of = DenoisingLayer(
            np.empty_like(layer.weights), np.empty_like(layer.hidden_bias), np.empty_like(layer.visible_bias)
        )

    def rows(self, m: int) -> tuple[Values, Values]:
        """Return the arrays (m, n_inputs) to be filled with the next mini-batch: clean, and masked."""
        return self.clean[:m], self._inputs[:m]

    def gradient(self, m: int, scale: float = 1.0, progress: Progress = NO_PROGRESS) -> float:
        """Return the loss of the m rows, and fill `gradient_of` with the gradient of `scale` times it."""
        layer, gradient = self.layer, self.gradient_of
        clean, masked = self.rows(m)
        below, hidden = self._hidden[:m], self._hidden[m : 2 * m]
        errors = self._inputs[m : 2 * m]

        multiply(masked, layer.weights.T, hidden, progress)
        np.add(hidden, layer.hidden_bias, out=hidden)
        sigmoid(hidden)
        multiply(hidden, layer.weights, errors, progress)
        np.add(errors, layer.visible_bias, out=errors)
        loss = sigmoid_cross_entropy(errors, clean, self._spare[: clean.size].reshape(clean.shape))
        np.subtract(errors, clean, out=errors)
        np.multiply(errors, scale, out=errors)

        multiply(errors, layer.weights.T, below, progress)
        np.multiply(below, hidden, out=below)
        slope = self._spare[: hidden.size].reshape(hidden.shape)
        np.subtract(1.0, hidden, out=slope)
        np.multiply(below, slope, out=below)
        multiply(self._hidden[: 2 * m].T, self._inputs[: 2 * m], gradient.weights, progress)
        np.add.reduce(below, axis=0, out=gradient.hidden_bias)
        np.add.reduce(errors, axis=0, out=gradient.visible_bias)
        return loss

    def step(self, m: int, rate: float, progress: Progress = NO_PROGRESS) -> float:
        """Move the layer by `rate` against the mean gradient of the m rows, and return their loss before."""
        loss = self.gradient(m, rate / m, progress)
        layer, gradient = self.layer, self.gradient_of
        np.subtract(layer.weights, gradient.weights, out=layer.weights)
        np.subtract(layer.hidden_bias, gradient.hidden_bias, out=layer.hidden_bias)
        np.subtract(layer.visible_bias, gradient.visible_bias, out=layer.visible_bias)
        return loss
