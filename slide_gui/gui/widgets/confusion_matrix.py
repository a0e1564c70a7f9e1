"""A confusion matrix of counts. The colour of a cell shows its count as a fraction of all samples of the true class."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PySide6.QtWidgets import QWidget

from slide_gui.gui.theme import ORANGE
from slide_gui.gui.widgets.color_table import ColorCell, ColorTable
from slide_gui.text import count, per_cent, told_apart

_LONGEST = 12  # Class names of at most this number of characters are not shortened.


class ConfusionMatrix(ColorTable):
    """A confusion matrix with true classes and their error rates in the rows, and predicted classes in the columns.

    Cells with correct predictions are blue, cells with errors orange. The orange colour scale ends at the fraction of
    the most frequent error, so that even rare errors are visible.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, "Confusion matrix")

    def set_counts(
        self, counts: ArrayLike, labels: Sequence[str], stale: bool = False, worst: float | None = None
    ) -> None:
        """Show a confusion matrix.

        Parameters
        ----------
        counts : array_like of shape (k, k), integers
            Element (i, j) is the number of samples of class i predicted as class j. The array is empty if there are no
            predictions.
        labels : sequence of str
            Names of the k classes.
        stale : bool
            If True, the matrix is greyed to show that the parameters have changed since the predictions were computed.
        worst : float, optional
            Upper limit of the colour scale for errors, as a fraction of the samples of a true class. Use the same limit
            for matrices that are to be compared. The default is the result of `worst_mistake` for this matrix.
        """
        matrix = np.asarray(counts, dtype=np.int64).reshape(len(labels), len(labels))
        worst = worst_mistake(matrix) if worst is None else worst
        short = labels if max(map(len, labels), default=0) <= _LONGEST else told_apart(labels)
        rows, cells = [], {}
        for true, (name, many) in enumerate(zip(labels, matrix.tolist(), strict=True)):
            total = sum(many)
            error = per_cent(100 - 100 * many[true] / total, 1) if total else "–"
            rows.append((f"{error}  {short[true]}", f"true {name}: error {error}"))
            for predicted, n in enumerate(many):
                share, fraction = n / max(total, 1), f"{per_cent(100 * n / total, 1) if total else 'no samples'}"
                tip = f"true {name}, predicted {labels[predicted]}: {count(n)} of {count(total)} ({fraction})"
                if predicted == true:
                    cells[true, predicted] = ColorCell(count(n), tip, 0.15 + 0.45 * share)
                elif n:
                    cells[true, predicted] = ColorCell(count(n), tip, 0.12 + 0.88 * share / worst, ORANGE)
                else:
                    cells[true, predicted] = ColorCell("", tip)
        n_rows, wrong = int(matrix.sum()), int(matrix.sum() - np.trace(matrix))
        description = f"{count(wrong)} of {count(n_rows)} misclassified ({per_cent(100 * wrong / max(n_rows, 1))})"
        columns = [(text, f"predicted {name}") for text, name in zip(short, labels, strict=True)]
        legend = "columns: predicted" + f"; errors: 0–{per_cent(100 * worst, 1)} of the true class" * (wrong > 0)
        self.set_cells(rows, columns, cells, (legend, ORANGE), description, stale)


def worst_mistake(counts: NDArray[np.int64]) -> float:
    """Return the largest fraction of the samples of a class that is predicted as one wrong class.

    If there are no errors, return a small positive number instead of 0, because callers divide by the result.
    """
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return max(float((shares * (1.0 - np.eye(len(shares)))).max(initial=0.0)), 1e-12)
