"""A trained multi-width SVM as a frozen value that predicts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.kernel import Embedding, kernel_tiles, squared_norms
from slide_gui.core.pulse import Steady
from slide_gui.core.svm_multiclass import class_scores
from slide_gui.core.widths import WidthsStep
from slide_gui.core.widths_guard import ChosenBy
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["SvmModel"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_BLOCK_VALUES = 8_000_000  # kernel values a block of predictions


@dataclass(frozen=True)
class SvmModel:
    """A trained multi-width SVM.

    Attributes
    ----------
    embedding : Embedding
        Takes rows to where the kernel is exp(−‖z − z'‖²).
    vectors : ndarray of shape (n_support, d)
        The embedded support vectors; float64 where the coefficients are so large that float32 would show.
    support : ndarray of int, shape (n_support,)
        Their rows among the training rows.
    coefficients : ndarray of shape (n_pairs, n_support)
        Signed dual coefficients y α.
    biases : ndarray of shape (n_pairs,)
    n_classes : int
    shares : tuple of float
        Each layer's share of the kernel's exponent.
    C : float
    history : tuple of WidthsStep
        How the widths were learned; empty if they were not.
    chosen : ChosenBy or None
        What chose the widths; None if they were not learned.
    gap : float
        Largest gap of the optimality conditions over the pairs.
    steps : int
        Pair steps of the solver in all.
    converged : bool
    """

    embedding: Embedding
    vectors: NDArray[np.floating]
    support: Indices
    coefficients: Array
    biases: Array
    n_classes: int
    shares: tuple[float, ...]
    C: float
    history: tuple[WidthsStep, ...]
    chosen: ChosenBy | None
    gap: float
    steps: int
    converged: bool

    @property
    def widths(self) -> tuple[float, ...]:
        """σ_t of each layer."""
        return self.embedding.widths

    def margins(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Array:
        """Return the margin of each pair of classes, (n, n_pairs), positive on the side of the second class."""
        steady = Steady(progress)
        n, dtype = len(self.vectors), self.vectors.dtype
        used = np.flatnonzero(self.vectors.any(axis=0))  # the others take no part in the products
        vectors, squares = np.take(self.vectors, used, axis=1), squared_norms(self.vectors)
        by_pair = np.ascontiguousarray(self.coefficients.T, dtype=dtype)
        margins = np.empty((len(Z), len(self.biases)))
        step = int(np.clip(_BLOCK_VALUES // max(n, 1), 64, 4096))
        values = np.empty((min(step, len(Z)), n), dtype)
        for start in range(0, len(Z), step):
            rows = np.arange(start, min(start + step, len(Z)))
            embedded = self.embedding(Z, rows, dtype, steady.pulse)
            block = np.take(embedded, used, axis=1), squared_norms(embedded)
            margins[rows] = kernel_tiles(block, (vectors, squares), values[: len(rows)], steady.pulse) @ by_pair
            steady.report(rows[-1] / len(Z))
        return margins + self.biases

    def scores(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Array:
        """Return (n,) margins for two classes, positive for class 1, or (n, n_classes) scores for more."""
        margins = self.margins(Z, progress=progress)
        return margins[:, 0] if self.n_classes == 2 else class_scores(margins, self.n_classes)

    def predict(self, Z: NDArray[np.floating], *, progress: Progress = NO_PROGRESS) -> Indices:
        """Return the class of each row, 0 … n_classes − 1."""
        scores = self.scores(Z, progress=progress)
        return (scores > 0.0).astype(np.intp) if scores.ndim == 1 else np.argmax(scores, axis=1)
