"""The squashing functions between two layers (§4 of the paper)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of

Values = NDArray[np.floating]


@dataclass(frozen=True)
class Squashing(Choice):
    """A function T between two layers.

    Attributes
    ----------
    apply : callable
        Function (values, t) → T(values) that keeps the shape. A boolean result means 0 or 1.
    uses_threshold : bool
        True if the function depends on the threshold t.
    binary : bool
        True if T(a) is always 0 or 1, so that float32 sums of its products are exact.
    linear : bool
        True if T(a) = a, so that T(a) and a have the same scatter.
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
    """Return the squashing function with the given key of `SQUASHINGS`.

    Raises
    ------
    ValueError
        If no function has this key.
    """
    return check_choice("squashing", name, SQUASHINGS)


def squash(name: str, values: Values, threshold: float, out: Values | None = None) -> Values:
    """Return T(values), with the shape and data type of the values.

    Parameters
    ----------
    name : str
        Key of `SQUASHINGS`.
    values : ndarray
    threshold : float
        Threshold t, for functions that use it.
    out : ndarray, optional
        Array to fill and return. It may have another data type than the values.

    Raises
    ------
    ValueError
        If no function has this name.
    """
    squashed = squashing_of(name).apply(values, threshold)
    if out is None:
        return squashed.astype(values.dtype, copy=False)
    np.copyto(out, squashed)
    return out
