"""A folder that runs code when joblib unpickles it: what a hostile document would name as scikit-learn's memory."""

from __future__ import annotations

import os
import pickle  # noqa: TID251 - to be refused
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import FeatureAgglomeration


class _Touch:
    """Unpickled, it makes a folder."""

    def __init__(self, marker: Path) -> None:
        self._marker = str(marker)

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (self._marker,))


def poisoned_cache(folder: Path, rows: NDArray[Any], **parameters: Any) -> tuple[Path, Path]:
    """Return a joblib cache and the marker that unpickling it would make.

    Parameters
    ----------
    folder : Path
        Where both are put.
    rows : ndarray of shape (n, d)
        What FeatureAgglomeration would be fitted to.
    **parameters
        What it would be made with.
    """
    cache, marker = folder / "cache", folder / "marker"
    FeatureAgglomeration(memory=str(cache), **parameters).fit(np.asarray(rows, np.float64))
    results = list(cache.rglob("output.pkl"))
    assert results
    for result in results:
        result.write_bytes(pickle.dumps(_Touch(marker)))
    return cache, marker
