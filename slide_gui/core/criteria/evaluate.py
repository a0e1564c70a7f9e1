"""The criteria, one entry each, and their value for two classes and for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.criteria.evaluation import Evaluation
from slide_gui.core.criteria.hold_out import hold_out
from slide_gui.core.criteria.press import press
from slide_gui.core.criteria.radius_margin import radius_margin
from slide_gui.core.criteria.span import span
from slide_gui.core.svm_multiclass import pairs_of
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = ["AUTO", "CRITERIA", "LEARNED_BY", "Criterion", "evaluate", "resolved"]

Array = NDArray[np.float64]
Indices = NDArray[np.intp]


@dataclass(frozen=True)
class Criterion(Choice):
    """What learning the widths minimises.

    Attributes
    ----------
    evaluate : callable
        (kernel, labels of −1 and 1, ridge, progress=…) → Evaluation; for two classes also with start=….
    any_classes : bool
        Whether it takes one column of labels a class; if not, it is of two classes.
    holds_out : bool
        Whether it also takes held_out=…, which needs a class of at least two rows.
    """

    evaluate: Callable[..., Evaluation]
    any_classes: bool = False
    holds_out: bool = False


CRITERIA = table_of(
    Criterion("radius-margin", "radius-margin", "radius over margin, R²‖w‖²/n, a bound of the error", radius_margin),
    Criterion(
        "span",
        "span (leave-one-out)",
        "the smoothed leave-one-out error by the span of the support vectors, good for two classes at much noise",
        span,
    ),
    Criterion("hold-out", "hold-out", "the smoothed error on a held-out fifth of the rows", hold_out, holds_out=True),
    Criterion(
        "press",
        "press (also for many classes)",
        "the leave-one-out squared error of kernel ridge regression, one inverse for all classes",
        press,
        any_classes=True,
    ),
)

AUTO = "auto"

LEARNED_BY = table_of(
    Choice(AUTO, "automatic", "an estimate of the error, span for two classes and press for more"), *CRITERIA.values()
)
"""What can be asked for."""


def resolved(criterion: str, n_classes: int) -> str:
    """Return the key in `CRITERIA` that a key in `LEARNED_BY` stands for.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    check_choice("criterion", criterion, LEARNED_BY)
    if criterion == AUTO:
        return "span" if n_classes == 2 else "press"
    return criterion


def evaluate(
    criterion: str,
    kernel: Array,
    codes: Indices,
    ridge: float,
    held_out: NDArray[np.bool_],
    starts: dict[tuple[int, int], Array] | None = None,
    progress: Progress = NO_PROGRESS,
) -> Evaluation:
    """Evaluate a criterion on any number of classes.

    One of any classes has one column a class (one for two classes). With more than two, J of the others is the mean
    over the one-vs-one problems, each on its own points.

    Parameters
    ----------
    criterion : str
        Key in `CRITERIA`.
    kernel : ndarray of shape (n, n)
        K without the ridge.
    codes : ndarray of int, shape (n,)
        Classes 0 … k − 1.
    ridge : float
        1/C.
    held_out : ndarray of bool, shape (n,)
        For a criterion that holds out.
    starts : dict, optional
        Coefficients of each pair at a neighbouring kernel; filled with those found.
    progress : Progress
        The cancel point.

    Raises
    ------
    ValueError
        If the criterion is unknown, or needs a class of at least two rows.
    """
    chosen = check_choice("criterion", criterion, CRITERIA)
    n_classes = int(codes.max()) + 1
    if chosen.any_classes:
        columns = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
        return chosen.evaluate(kernel, columns[:, 1:] if n_classes == 2 else columns, ridge, progress=progress)
    starts = {} if starts is None else starts
    pairs = pairs_of(n_classes)
    value, support = 0.0, 0
    gradient = np.zeros_like(kernel) if len(pairs) > 1 else None
    beta = np.zeros(len(codes))
    for pair in pairs:
        members = np.flatnonzero((codes == pair[0]) | (codes == pair[1]))
        alone = len(members) == len(codes)
        part = kernel if alone else kernel[np.ix_(members, members)]
        y = np.where(codes[members] == pair[1], 1.0, -1.0)
        given = {"held_out": _some(held_out[members])} if chosen.holds_out else {}
        found = chosen.evaluate(part, y, ridge, start=starts.get(pair), progress=progress, **given)
        starts[pair] = beta = found.beta
        value += found.value / len(pairs)
        support += found.n_support
        if gradient is None:
            gradient = found.gradient
        else:
            gradient[np.ix_(members, members)] += found.gradient / len(pairs)
    assert gradient is not None
    return Evaluation(value, gradient, beta, support)


def _some(held_out: NDArray[np.bool_]) -> NDArray[np.bool_]:
    if not held_out.any():
        raise ValueError("two classes of one row each; the hold-out criterion needs a class of at least two")
    return held_out
