"""The functions between two layers (§4 of the paper): threshold, sigmoid, tanh, identity."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SQUASHINGS", "squash"]

SQUASHINGS = ("threshold", "sigmoid", "tanh", "identity")


def squash(name: str, values: NDArray[np.floating], threshold: float) -> NDArray[np.floating]:
    """Return T(values), of the same shape and dtype.

    ``threshold`` gives 1 where a value is above `threshold`, else 0; ``sigmoid`` is 1/(1 + e^−a); ``tanh`` and
    ``identity`` are what they say. Only the first uses `threshold`.
    """
    result: NDArray[np.floating]
    if name == "threshold":
        result = np.greater(values, threshold).astype(values.dtype)
    elif name == "sigmoid":
        result = (0.5 * (1.0 + np.tanh(0.5 * values))).astype(values.dtype, copy=False)
    elif name == "tanh":
        result = np.tanh(values)
    elif name == "identity":
        result = values
    else:
        raise ValueError(f"squashing is {name!r}; it must be one of {', '.join(SQUASHINGS)}")
    return result
