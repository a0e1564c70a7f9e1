"""The functions between two layers (§4 of the paper), one entry each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of

__all__ = ["SQUASHINGS", "Squashing", "squash", "squashing_of"]

Values = NDArray[np.floating]


@dataclass(frozen=True)
class Squashing(Choice):
    """A function T between two layers.

    Attributes
    ----------
    apply : callable
        (values, t) → T(values), of the same shape; a bool says 0 or 1.
    uses_threshold : bool
        Whether t matters.
    binary : bool
        Whether T(a) is 0 or 1 whatever a, so that float32 sums of products of it are exact.
    linear : bool
        Whether T(a) = a, so that the scatter of T(a) is that of a.
    """

    apply: Callable[[Values, float], Values | NDArray[np.bool_]]
    uses_threshold: bool = False
    binary: bool = False
    linear: bool = False


def _threshold(values: Values, threshold: float) -> NDArray[np.bool_]:
    return np.greater(values, threshold)


def _sigmoid(values: Values, _threshold: float) -> Values:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * values)), values.dtype)


def _tanh(values: Values, _threshold: float) -> Values:
    return np.asarray(np.tanh(values))


def _identity(values: Values, _threshold: float) -> Values:
    return values


SQUASHINGS = table_of(
    Squashing(
        "threshold",
        "threshold",
        "T(a) = 1 if a > t, else 0, the paper’s choice (§4)",
        _threshold,
        uses_threshold=True,
        binary=True,
    ),
    Squashing("sigmoid", "sigmoid", "T(a) = 1 / (1 + e^−a)", _sigmoid),
    Squashing("tanh", "tanh", "T(a) = tanh a", _tanh),
    Squashing("identity", "identity", "T(a) = a, so that the stack stays linear", _identity, linear=True),
)


def squashing_of(name: object) -> Squashing:
    """Return the function of a name, a key of `SQUASHINGS`.

    Raises
    ------
    ValueError
        If there is none.
    """
    return check_choice("squashing", name, SQUASHINGS)


def squash(name: str, values: Values, threshold: float, out: Values | None = None) -> Values:
    """Return T(values), of the same shape and dtype.

    Parameters
    ----------
    name : str
        As `squashing_of` takes it.
    values : ndarray
    threshold : float
        t, for those that use it.
    out : ndarray, optional
        Filled and returned in place of a new array, in its own dtype.

    Raises
    ------
    ValueError
        If the name is none.
    """
    squashed = squashing_of(name).apply(values, threshold)
    if out is None:
        return squashed.astype(values.dtype, copy=False)
    np.copyto(out, squashed)
    return out
