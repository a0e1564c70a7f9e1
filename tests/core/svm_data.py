"""Small problems for the tests of the multi-width SVM."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from slide_gui.core.svm.parameters import SelectedWidths, SvmParameters
from slide_gui.core.svm.training import TrainingSet
from slide_gui.core.svm.widths import WidthsSample, learn_widths
from slide_gui.progress import NO_PROGRESS, Cancelled, Progress

SIZES = (4, 3, 5)
WIDTHS = (4.0, 3.0, 5.0)


def layers(n: int, seed: int = 0, noise: float = 0.3, widths: tuple[int, ...] = SIZES) -> tuple[NDArray, NDArray]:
    """Return rows of three layers and two classes that are not linearly separable."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, sum(widths)))
    return Z, (Z[:, 0] * Z[:, 4] + 0.5 * Z[:, 8] + noise * rng.standard_normal(n) > 0).astype(int)


def three_classes(n: int, seed: int = 0) -> tuple[NDArray, NDArray]:
    """Return rows of three layers and three classes."""
    y = np.arange(n) % 3
    Z = np.random.default_rng(seed).standard_normal((n, 12))
    Z[:, :2] += 1.5 * np.array([[1.0, 0.0], [-0.5, 0.9], [-0.5, -0.9]])[y]
    return Z, y


def row_weights(n: int) -> NDArray:
    """Return random weights of n rows."""
    return np.random.default_rng(1).uniform(0.05, 4.0, n)


def sample(Z: NDArray, codes: NDArray, weights: NDArray | None = None, **parameters: Any) -> WidthsSample:
    """Return the sample of the rows on which these parameters learn widths."""
    return WidthsSample.of(TrainingSet(Z, codes, SIZES, weights), SvmParameters(**parameters))


def learned(
    Z: NDArray,
    codes: NDArray,
    criterion: str = "auto",
    *,
    near: tuple = (),
    progress: Progress = NO_PROGRESS,
    **more: Any,
) -> SelectedWidths:
    """Return the widths learned on a sample of the rows, with parameters by name."""
    parameters = SvmParameters(criterion=criterion, **more)
    rows = WidthsSample.of(TrainingSet(Z, codes, SIZES), parameters, progress.part(0.0, 0.0))
    return learn_widths(rows, parameters, near, progress=progress)


def not_equivalent_by_weight(_estimator: object) -> dict[str, str]:
    """Return the scikit-learn checks of weights that cannot pass with a tolerance of 1e-7, and the reason."""
    reason = "folds and median widths ignore weights, and support vectors are stored in float32"
    return {f"check_sample_weight_equivalence_on_{kind}_data": reason for kind in ("dense", "sparse")}


class StopAfter(Progress):
    """Progress that records all payloads and fractions, and cancels at the k-th report or at a fraction."""

    def __init__(self, reports: int = 10**9, fraction: float = 2.0) -> None:
        self.left, self.last, self.payloads, self.fractions = reports, fraction, [], []

    @property
    def complete(self) -> bool:
        """True if the fractions never fell and ended at one."""
        return self.fractions == sorted(self.fractions) and self.fractions[-1] == pytest.approx(1.0)

    def report(self, fraction: float, payload: object = None) -> None:
        self.fractions.append(fraction)
        if payload is not None:
            self.payloads.append(payload)
        self.left -= 1
        if self.left <= 0 or fraction >= self.last:
            raise Cancelled
