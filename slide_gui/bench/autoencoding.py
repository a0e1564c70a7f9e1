"""Stacked denoising autoencoders against the bare matrix products of their epochs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.bench.measurement import Measurement, digits, interleaved, relative
from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.sda.training import fine_tune, pretrain

__all__ = ["sda"]

_UNITS = (1000, 1000, 1000)
_ROWS = 1000
_EPOCHS = 5  # a third of a recipe’s 15: what a run does once, such as touching its arrays first, weighs little
_CLASSES = 10
_BOUND = 1.5
_ROUNDS = 5


def sda() -> list[Measurement]:
    """Three layers of 1 000 units, pre-trained and fine-tuned whole, at 20 and at 100 rows a step."""
    rows, data = digits()
    random = np.random.default_rng(0)
    rows = rows[np.sort(random.choice(len(rows), _ROWS, replace=False))]
    codes = random.integers(_CLASSES, size=_ROWS)
    figures = []
    for batch in (20, 100):
        parameters = SdaParameters(
            n_units=_UNITS, batch_size=batch, pretraining_epochs=_EPOCHS, fine_tuning_epochs=_EPOCHS
        )
        stack = pretrain(rows, parameters)
        trained, bare, tuned, propagated = interleaved(
            [
                lambda p=parameters: pretrain(rows, p),  # type: ignore[misc]
                _times(_pretraining_products(batch)),
                lambda s=stack: fine_tune(s, rows, codes, _CLASSES),  # type: ignore[misc]
                _times(_fine_tuning_products(batch)),
            ],
            rounds=_ROUNDS,
        )
        note = f"{batch} rows a step, against the bare products; {_ROWS} × 784, units {_UNITS}, float32, {data}"
        per_epoch = "s an epoch"
        figures += [
            relative(f"sda-pretraining-{batch}", trained / _EPOCHS, per_epoch, bare / _EPOCHS, _BOUND, note),
            relative(f"sda-fine-tuning-{batch}", tuned / _EPOCHS, per_epoch, propagated / _EPOCHS, _BOUND, note),
        ]
    return figures


def _times(step: Callable[[], None]) -> Callable[[], None]:
    """Return a function that takes the step as often as a `_ROWS` row epoch does, for all epochs."""

    def epochs() -> None:
        for _ in range(_EPOCHS):
            step()

    return epochs


def _arrays(*shapes: tuple[int, int]) -> list[NDArray[Any]]:
    """Return arrays of zeros, written once: products put back into them neither grow nor fade."""
    return [np.full(shape, 0.0, np.float32) for shape in shapes]


def _pretraining_products(batch: int) -> Callable[[], None]:
    """Return the products of one epoch of every layer: up, down, the error up, and dL/dW of 2 · batch rows."""
    layers = [_arrays((2 * batch, d), (2 * batch, h), (h, d), (h, d)) for d, h in pairwise((784, *_UNITS))]

    def epoch() -> None:
        for below, above, weights, gradient in layers:
            for _ in range(_ROWS // batch):
                np.matmul(below[:batch], weights.T, out=above[batch:])
                np.matmul(above[batch:], weights, out=below[batch:])
                np.matmul(below[batch:], weights.T, out=above[:batch])
                np.matmul(above.T, below, out=gradient)

    return epoch


def _fine_tuning_products(batch: int) -> Callable[[], None]:
    """Return the products of one epoch of back-propagation: all layers up, every gradient, the errors down."""
    sizes = (784, *_UNITS, _CLASSES)
    values, errors = (_arrays(*((batch, size) for size in sizes)) for _ in range(2))
    weights, gradients = (_arrays(*((h, d) for d, h in pairwise(sizes))) for _ in range(2))

    def epoch() -> None:
        for _ in range(_ROWS // batch):
            for k, w in enumerate(weights):
                np.matmul(values[k], w.T, out=values[k + 1])
            for k in reversed(range(len(weights))):
                np.matmul(errors[k + 1].T, values[k], out=gradients[k])
                if k > 0:
                    np.matmul(errors[k + 1], weights[k], out=errors[k])

    return epoch
