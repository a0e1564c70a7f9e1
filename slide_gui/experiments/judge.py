"""Predicting rows block by block, the error so far reported after each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.baselines import OtherClassifier
from slide_gui.core.pulse import Steady
from slide_gui.core.svm import SvmModel
from slide_gui.experiments.representation import Representation
from slide_gui.experiments.run_progress import Estimate
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["Judgement", "OtherPredictor", "Predictor", "SvmPredictor", "judge"]

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


class Predictor(Protocol):
    """Predicts classes from rows of the data."""

    def answer(self, rows: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        """Return the class of each row and its decision values, (n, 1) for two classes, else (n, n_classes)."""
        ...


@dataclass(frozen=True, eq=False)
class SvmPredictor:
    """An SVM on a representation."""

    representation: Representation
    model: SvmModel

    def answer(self, rows: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        """Return classes and margins, or scores."""
        scores = self.model.scores(self.representation.transform(rows, progress=progress), progress=progress)
        codes = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
        return codes, scores.reshape(len(rows), -1)


@dataclass(frozen=True, eq=False)
class OtherPredictor:
    """Another classifier on a representation."""

    representation: Representation
    model: OtherClassifier

    def answer(self, rows: NDArray[Any], progress: Progress) -> tuple[Indices, NDArray[np.float64]]:
        """Return classes and what they were decided by."""
        return self.model.answer(self.representation.transform(rows, progress=progress))


def judge(
    predictor: Predictor,
    part: NDArray[Any],
    codes: Indices,
    order: Indices,
    *,
    progress: Progress = NO_PROGRESS,
) -> Judgement:
    """Predict rows in the given order, in blocks that grow.

    Parameters
    ----------
    predictor : Predictor
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
    decisions: list[NDArray[np.float64]] = []
    predicted = np.empty(len(order), np.intp)
    wrong, start, size = 0, 0, _FIRST
    while start < len(order):
        block = np.sort(order[start : start + size])
        here = slice(start, start + len(block))
        order[here] = block
        predicted[here], own = predictor.answer(part[block], steady.pulse)
        decisions.append(own)
        wrong += int(np.count_nonzero(predicted[here] != codes[block]))
        start += len(block)
        steady.report(start / len(order), Estimate(wrong, start, len(order)))
        size = min(2 * size, _LARGEST)
    by_row = np.argsort(order)
    rows = order[by_row].astype(np.int64)
    return Judgement(rows, codes[rows], predicted[by_row], np.concatenate(decisions)[by_row])
