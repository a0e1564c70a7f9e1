"""Scale features before the first layer, so that the threshold lies inside their range."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.choices import Choice, check_choice, table_of
from slide_gui.core.linear_algebra import Array, rows_per_block, tiles
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.validation import empty
from slide_gui.progress import NO_PROGRESS, Progress

SCALES = table_of(
    Choice("none", "unchanged", "the features are used as they are"),
    Choice("range", "range", "each feature is mapped linearly from its range in the training set to 0…1"),
    Choice("quantile", "quantiles", "each value is replaced by its quantile, with the median at the threshold"),
)


@dataclass(frozen=True, eq=False)
class Scaler:
    """A map of each feature to 0…1 that was determined from training rows.

    Attributes
    ----------
    transformer : MinMaxScaler or QuantileTransformer
        The fitted transformer of scikit-learn.
    median : float or None
        Value to which the median of each feature is mapped, or None for a linear map. Below and above the median, the
        map from quantiles to scaled values is linear.
    """

    transformer: Any
    median: float | None

    @classmethod
    def of(cls, scale: str, rows: Any, weights: Array | None, parameters: StackParameters) -> "Scaler | None":
        """Return the scaler for a key of `SCALES` and training rows of shape (n, d), or None for "none".

        Rows with the weight 0 are left out.

        Raises
        ------
        ValueError
            If the key is unknown, or if the threshold is not between 0 and 1, the scaled values of the smallest and of
            the largest quantile.
        """
        if check_choice("scale", scale, SCALES).key == "none":
            return None
        from sklearn.preprocessing import MinMaxScaler, QuantileTransformer

        rows = rows if weights is None or weights.all() else rows[weights > 0.0]
        if scale == "range":
            # NaN is ignored here, so that `fit_stack` can refuse it and name its row.
            return cls(MinMaxScaler().fit([np.fmin.reduce(rows), np.fmax.reduce(rows)]), None)
        median = parameters.threshold if parameters.function.uses_threshold else 0.5
        if not 0.0 < median < 1.0:
            raise ValueError(f"threshold is {median:g}; with scale='quantile', it must be between 0 and 1")
        return cls(QuantileTransformer(n_quantiles=min(1000, len(rows)), random_state=0).fit(rows), median)

    def scaled(self, rows: Any, dtype: str, progress: Progress = NO_PROGRESS) -> NDArray[np.floating]:
        """Return scaled rows of shape (n, d) in the data type `dtype`.

        Raises
        ------
        MemoryError
            If the scaled rows need more memory than is available.
        """
        out = empty(rows.shape, np.dtype(dtype), "scaling the features", "give fewer rows")
        for block in tiles(len(rows), rows_per_block(rows.shape[1]), progress):
            values = np.asarray(self.transformer.transform(rows[block]))  # a data frame, if scikit-learn is set so
            out[block] = values if self.median is None else np.interp(values, (0.0, 0.5, 1.0), (0.0, self.median, 1.0))
        return out
