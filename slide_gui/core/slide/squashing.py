"""The functions between two layers (§4 of the paper), one entry each, and those of installed packages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui import plugins
from slide_gui.core.choices import Choice, check_choice, table_of

__all__ = ["SQUASHINGS", "Squashing", "further_squashings", "squash", "squashing_of"]

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


def further_squashings() -> list[plugins.Plugin]:
    """Return the plug-ins; none is imported."""
    return plugins.plugins(plugins.SQUASHINGS, SQUASHINGS)


def squashing_of(name: object) -> Squashing:
    """Return the function of a name: a key of `SQUASHINGS`, else that of a plug-in, alone or with package and version.

    The key of a plug-in's function says package and version, which whatever holds it needs to be repeated.

    Raises
    ------
    ValueError
        If there is none, a plug-in of another package or version is asked for than is installed, or it cannot be used.
    """
    if isinstance(name, str) and name not in SQUASHINGS and (added := _added(name)) is not None:
        return added
    return check_choice("squashing", name, SQUASHINGS)


@lru_cache(maxsize=64)
def _added(name: str) -> Squashing | None:
    short, _, origin = name.partition("@") if plugins.is_key(name) else (name, "", "")
    added = plugins.plugin(plugins.SQUASHINGS, short, SQUASHINGS)
    if origin and (added is None or added.origin != origin):
        if added is None:
            raise ValueError(
                f"squashing {short!r:.60} is that of the package {origin!r:.80}, which is not installed; "
                "install that version, or choose another squashing function"
            )
        raise ValueError(
            f"squashing {short!r:.60} is that of the package {origin!r:.80}, and {added.origin} is installed; "
            "install that version, or choose another squashing function"
        )
    if added is None:
        return None
    entry = added.load()
    if not isinstance(entry, Squashing):
        raise added.failed(f"it is a {type(entry).__name__}, expected a Squashing")
    return replace(entry, key=added.key, apply=_guarded(added, entry), linear=False)


def _guarded(added: plugins.Plugin, entry: Squashing) -> Callable[[Values, float], Values | NDArray[np.bool_]]:
    """Return the function of a plug-in; what it does wrong is said of its package."""

    def apply(values: Values, threshold: float) -> Any:
        given = values.view()
        given.flags.writeable = False
        try:
            squashed = np.asarray(entry.apply(given, threshold))
        except Exception as error:
            raise added.failed(f"{type(error).__name__}: {error}") from error
        expected = "b" if entry.binary else "bf"
        if squashed.shape != values.shape or squashed.dtype.kind not in expected or not np.isfinite(squashed).all():
            kinds = "truth values" if entry.binary else "finite numbers"
            raise added.failed(f"it gives {squashed.dtype} {squashed.shape} for {values.shape}, expected {kinds}")
        return squashed

    return apply


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
