"""Predicting rows block by block, the error so far reported after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.pulse import Steady
from slide_gui.core.stack import Stack
from slide_gui.core.svm import SvmModel
from slide_gui.experiments.run_progress import Estimate
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Judgement", "judge"]

Indices = NDArray[np.intp]

_FIRST, _LARGEST = 500, 4000  # rows of the first block, which doubles up to the largest


@dataclass(frozen=True, eq=False)
class Judgement:
    """Predictions for some rows, sorted by row.

    Attributes
    ----------
    rows : ndarray of int, shape (n,)
    truth, predicted : ndarray of int, shape (n,)
        Classes.
    decisions : ndarray of shape (n, 1) or (n, k)
    """

    rows: NDArray[np.int64]
    truth: Indices
    predicted: Indices
    decisions: NDArray[np.float64]

    @property
    def wrong(self) -> Indices:
        """Positions of the misclassified rows."""
        return np.flatnonzero(self.truth != self.predicted)

    @property
    def error(self) -> float:
        """Share of the rows that are wrong."""
        return len(self.wrong) / len(self.rows)

    def confusion(self, k: int) -> NDArray[np.int64]:
        """Return how many rows of class i (first axis) were taken for class j, (k, k)."""
        counts = np.zeros((k, k), np.int64)
        np.add.at(counts, (self.truth, self.predicted), 1)
        return counts


def judge(
    stack: Stack,
    model: SvmModel,
    part: NDArray[Any],
    codes: Indices,
    order: Indices,
    *,
    progress: Progress = NO_PROGRESS,
) -> Judgement:
    """Predict rows in the given order, in blocks that grow.

    Parameters
    ----------
    stack : Stack
        Makes the representation of each block.
    model : SvmModel
    part : ndarray of shape (n, d)
        Training or test rows.
    codes : ndarray of int, shape (n,)
        Their true classes.
    order : ndarray of int
        The rows to predict.
    progress : Progress
        Told an `Estimate` after each block.
    """
    steady = Steady(progress)
    order = order.copy()  # each block is sorted in place
    decisions = np.empty((len(order), 1 if model.n_classes == 2 else model.n_classes))
    predicted = np.empty(len(order), np.intp)
    wrong, start, size = 0, 0, _FIRST
    while start < len(order):
        block = np.sort(order[start : start + size])
        here = slice(start, start + len(block))
        order[here] = block
        Z = stack.transform(part[block], progress=steady.pulse)
        scores = model.scores(Z, progress=steady.pulse)
        predicted[here] = scores > 0.0 if scores.ndim == 1 else np.argmax(scores, axis=1)
        decisions[here] = scores.reshape(len(block), -1)
        wrong += int(np.count_nonzero(predicted[here] != codes[block]))
        start += len(block)
        steady.report(start / len(order), Estimate(wrong, start, len(order)))
        size = min(2 * size, _LARGEST)
    by_row = np.argsort(order)
    rows = order[by_row].astype(np.int64)
    return Judgement(rows, codes[rows], predicted[by_row], decisions[by_row])
