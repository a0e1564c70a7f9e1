"""Scale features before the first layer, so that the threshold lies inside their range."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.linear_algebra import Array, rows_per_block, tiles
from slide_gui.core.slide.activations import in_dtype, refuse_not_finite
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.validation import empty
from slide_gui.progress import NO_PROGRESS, Progress
from slide_gui.quantiles import quantiles_of, to_unit

SCALES = table_of(
    Choice("none", "unchanged", "the features are used as they are"),
    Choice("range", "range", "each feature is mapped linearly from its range in the training set to 0…1"),
    Choice("quantile", "quantiles", "each value is replaced by its quantile, with the median at the threshold"),
)


@dataclass(frozen=True, eq=False)
class Scaler:
    """Scaling of the features that maps each feature of the training rows to 0…1.

    Attributes
    ----------
    function : callable
        Function that maps rows of shape (n, d) to scaled rows. Scaled values of other rows can lie outside 0…1 if the
        scaling is linear.
    """

    function: Callable[[Any], Any]

    @classmethod
    def of(
        cls, scale: str, rows: Any, weights: Array | None, parameters: StackParameters, progress: Progress
    ) -> "Scaler | None":
        """Return the scaler for a key of `SCALES` and training rows of shape (n, d), or None for "none".

        Rows with the weight 0 are left out.

        Raises
        ------
        ValueError
            If the key is unknown, if a value is NaN or infinite, or if the threshold is not between 0 and 1, the scaled
            values of the smallest and of the largest quantile.
        """
        if check_choice("scale", scale, SCALES).key == "none":
            return None
        refuse_not_finite(rows, 0)
        rows = rows if weights is None or weights.all() else rows[weights > 0.0]
        if scale == "range":
            return cls(partial(_by_range, *(np.multiply(0.5, [rows.min(axis=0), rows.max(axis=0)], dtype=np.float64))))
        median = parameters.threshold if parameters.function.uses_threshold else 0.5
        if not 0.0 < median < 1.0:
            raise ValueError(f"threshold is {median:g}; with scale='quantile', it must be between 0 and 1")
        return cls(partial(_by_quantile, quantiles_of(rows, progress), median))

    def scaled(self, rows: Any, dtype: str, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return scaled rows of shape (n, d) in the data type `dtype`.

        Raises
        ------
        MemoryError
            If the scaled rows need more memory than is available.
        """
        out = empty(rows.shape, np.dtype(dtype), "scaling the features", "give fewer rows")
        for block in tiles(len(rows), rows_per_block(rows.shape[1]), progress):
            out[block] = in_dtype(self.function(rows[block]), dtype, block.start)
        return out


def _by_quantile(quantiles: Array, median: float, rows: Any) -> Any:
    """Replace values by their quantiles, which are then mapped linearly to 0…1 below and above `median`."""
    return np.interp(to_unit(rows, quantiles), (0.0, 0.5, 1.0), (0.0, median, 1.0))


def _by_range(low: Array, high: Array, rows: Any) -> Any:
    """Map rows linearly to 0…1, and constant features to 0. `low` and `high` are halves, whose difference is finite.

    MinMaxScaler would compute in float32 for float32 rows, and would not scale features whose range is below 1e-15.
    """
    return (np.multiply(rows, 0.5, dtype=np.float64) - low) / np.where(high > low, high - low, 0.5)
