"""Other programs' support vector machines on the same rows, at the same loss, widths and C."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["intelex", "scaled", "svc"]


def svc() -> Any:
    """Return scikit-learn's SVC."""
    from sklearn.svm import SVC

    return SVC


def intelex(figure: str) -> Any:
    """Return scikit-learn-intelex's SVC, or None where it is not installed, after saying so for this figure."""
    try:
        from sklearnex.svm import SVC
    except ImportError:
        print(
            f"{figure}: scikit-learn-intelex is not installed, so that nothing is measured against it "
            '(pip install "slide-gui[bench]")',
            file=sys.stderr,
        )
        return None
    return SVC


def scaled(Z: NDArray[Any], widths: tuple[float, ...]) -> NDArray[Any]:
    """Return [h⁰/σ_0 | h¹/σ_1 | …] of blocks of equal size, where the kernel is that of one width."""
    size = Z.shape[1] // len(widths)
    parts = (Z[:, size * t : size * (t + 1)] / np.float32(width) for t, width in enumerate(widths))
    return np.hstack(list(parts))
