"""The closed form ignores the positions of pixels: W of shuffled pixels, shuffled back, equals W (eq. 8)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.slide.stack import Stack, fit_stack
from slide_gui.progress import NO_PROGRESS, Progress


@dataclass(frozen=True, eq=False)
class ShuffledFit:
    """The same layers fitted to rows with shuffled pixels.

    Attributes
    ----------
    order : ndarray of shape (d,), int64
        Pixel j of the shuffled rows is pixel ``order[j]`` of the original rows.
    stack : Stack
        Stack fitted to the original rows.
    shuffled : Stack
        Stack fitted to the shuffled rows.
    differences : tuple of float
        Largest absolute difference of each layer between its weights and those shuffled back, biases included.
    largest : tuple of float
        Largest absolute weight or bias of each layer.
    """

    order: NDArray[np.int64]
    stack: Stack
    shuffled: Stack
    differences: tuple[float, ...]
    largest: tuple[float, ...]


def shuffling(n_features: int, seed: int) -> NDArray[np.int64]:
    """Return the original pixel at each position, shape (d,): a permutation determined by the seed."""
    return np.random.default_rng(seed).permutation(n_features)


def unshuffled(weights: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights of shuffled pixels with every row and column in its original position.

    Parameters
    ----------
    weights : ndarray of shape (d, d + 1)
        Weights, bias last.
    order : ndarray of shape (d,)
        As `ShuffledFit.order`.
    """
    back = np.argsort(order)
    return weights[back][:, np.append(back, len(order))]


def fit_shuffled(
    rows: NDArray[Any], stack: Stack, order: NDArray[np.int64], *, progress: Progress = NO_PROGRESS
) -> ShuffledFit:
    """Fit a stack to shuffled rows with the parameters of `stack`, and compare the weights of both.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
        Rows that `stack` was fitted to.
    order : ndarray of shape (d,)
        As `ShuffledFit.order`.

    Raises
    ------
    ValueError
        If `order` is not a permutation of the features.
    """
    if not np.array_equal(np.sort(order), np.arange(rows.shape[1])):
        raise ValueError(f"order must hold each of 0 to {rows.shape[1] - 1} once")
    shuffled = fit_stack(np.take(rows, order, axis=1), stack.parameters, progress=progress)
    pairs = list(zip(stack.layers, shuffled.layers, strict=True))
    return ShuffledFit(
        order,
        stack,
        shuffled,
        tuple(float(np.abs(unshuffled(there.weights, order) - here.weights).max()) for here, there in pairs),
        tuple(float(np.abs(here.weights).max()) for here, _ in pairs),
    )
