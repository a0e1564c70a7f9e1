"""Functions shared by the scikit-learn estimators of this package, for example to check rows and store parameters.

Columns of layer k are named ``h{k}_…``. A multi-width SVM recognises the columns of each layer by these names.
"""

import re
import weakref
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from slide_gui.core.validation import check_integer, empty

# Column transformers and feature unions add a prefix such as ``slide__`` or ``h1__`` to column names.
_LAYER = re.compile(r"(?:.*?__)??h(\d+)_(?!_h\d)")


_SIZES: dict[int, tuple[int, ...]] = {}  # number of columns of each layer, by the id of the array that SLIDE returned
_DTYPES = [np.float64, np.float32]  # allowed data types of rows; any other type is converted to float64


def remember_layers(features: NDArray[Any], sizes: tuple[int, ...]) -> NDArray[Any]:
    """Store the number of columns of each layer (`sizes`) until the array `features` is deleted. Return `features`."""
    if len(sizes) > 1:
        _SIZES[id(features)] = sizes
        weakref.finalize(features, _SIZES.pop, id(features), None).atexit = False
    return features


def remembered_layers(rows: Any) -> tuple[int, ...]:
    """Return the sizes that `remember_layers` stored for the array `rows`, or an empty tuple if it stored none."""
    return _SIZES.get(id(rows), ())


def layer_sizes(names: Sequence[str]) -> tuple[int, ...] | None:
    """Return the number of columns of each layer, given all column names, or None if no column belongs to a layer.

    Raises
    ------
    ValueError
        If only some of the columns belong to a layer, or if the columns are not ordered by layer.
    """
    matches = [_LAYER.match(name) for name in names]
    layers = [int(match[1]) for match in matches if match]
    if not layers:
        return None
    for name, match in zip(names, matches, strict=True):
        if match is None:
            raise ValueError(
                f"column {name!r} has no layer prefix (h0_, h1_, …); set groups to the number of columns of each group"
            )
    if layers != sorted(layers):
        raise ValueError("the columns are not ordered by layer; sort them, h0_… before h1_…, or set groups")
    return tuple(np.unique(layers, return_counts=True)[1].tolist())


def _computed(values: Any) -> Any:
    """Return the computed array of a Dask collection, and any other value unchanged.

    `np.asarray` would also compute the collection, but would ignore masks.
    """
    return values.compute() if hasattr(values, "__dask_graph__") else values


def _has_masked(values: Any) -> bool:
    """Return True if an array, or any array in a list, has masked cells. `np.asarray` would ignore the masks."""
    return any(map(np.ma.is_masked, (values, *(values if isinstance(values, (list, tuple)) else ()))))


def checked_rows(estimator: Any, X: Any, y: Any = "no_validation", **how: Any) -> Any:
    """Check rows with scikit-learn's `validate_data` and return its result. Numbers given as text are rejected.

    Raises
    ------
    TypeError
        If X is a single value instead of rows.
    ValueError
        If the rows contain text, dates or masked cells, or fail scikit-learn's checks.
    """
    X = _computed(X)
    if _has_masked(X):
        raise ValueError("X has masked cells; call np.ma.array(X, float).filled(np.nan), then fit a LinearImputer")
    try:
        values = np.asarray(X)
    except (TypeError, ValueError):  # X cannot be converted to an array, and `validate_data` will raise an error
        values = np.empty(0)
    if values.ndim == 0 and not hasattr(X, "tocsr"):
        raise TypeError(f"X is of type {type(X).__name__}; give an array, a data frame or a sparse matrix")
    if values.dtype.kind in "Mm":
        raise ValueError("X contains dates; convert them to numbers, such as days since a date")
    if values.dtype.kind in "OSTU":
        for place, value in np.ndenumerate(np.asarray(X, object)):
            if isinstance(value, (str, bytes, date, timedelta)):
                kind = "text" if isinstance(value, (str, bytes)) else "dates"
                at = ", ".join(f"{word} {i}" for word, i in zip(("row", "feature"), place, strict=False))
                raise ValueError(f"X contains {kind}: {at} is {str(value)!r}; convert it to a number, or leave it out")
    return validate_data(estimator, X, y, **how)


class AcceptsSparse:
    """Mixin for estimators that accept sparse matrices, unless a parameter `scale` scales the features."""

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags of the estimator, which state whether sparse input is allowed."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = str(getattr(self, "scale", "none")) == "none"
        return tags


def labelled_rows(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any], NDArray[np.intp]]:
    """Return checked rows, the sorted classes, and the class code 0 … n_classes − 1 of each row.

    Rows that are neither float64 nor float32 are converted to float64. Sparse rows are converted to CSR.

    Raises
    ------
    ValueError
        If the rows or labels are unsuitable for training a classifier, for example if they have only one class.
    """
    y = _computed(y)
    if _has_masked(y):
        raise ValueError("y has masked labels; fill them in, or leave their rows out")
    for row, label in enumerate(() if y is None else np.ravel(np.asarray(y, object))):
        if not isinstance(label, (str, int)) and str(label) in ("None", "nan", "<NA>", "NaT"):
            raise ValueError(f"y has no label in row {row}; fill it in, or leave the row out")
    rows, labels = checked_rows(estimator, X, y, dtype=_DTYPES, ensure_min_samples=2, accept_sparse="csr")
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y has one class, {classes.tolist()[0]!r}; the number of classes has to be greater than one")
    return rows, classes, codes


def row_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return a copy of the weights of n rows, or None if there are no weights or all are 1.

    Raises
    ------
    ValueError
        If `sample_weight` does not contain n numbers, if a weight is negative, NaN, infinite or masked, or if all
        weights are 0.
    """
    if sample_weight is None:
        return None
    sample_weight = _computed(sample_weight)
    if _has_masked(sample_weight):
        raise ValueError("sample_weight has masked weights; give one number per row, 0 or more")
    try:
        weights: NDArray[np.float64] = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight has values that are not numbers; give one number per row, 0 or more") from None
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; it must be ({n},), one weight per row")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise ValueError(f"sample_weight of row {bad[0]} is {weights[bad[0]]}; it must be a finite number, 0 or more")
    if not weights.any():
        raise ValueError("all weights in sample_weight are zero; at least one must be above 0")
    return None if (weights == 1.0).all() else weights


def fitted_rows(estimator: Any, X: Any) -> Any:
    """Check rows for a fitted estimator and return them.

    Rows that are neither float64 nor float32 are converted to float64. Sparse rows are converted to CSR.

    Raises
    ------
    sklearn.exceptions.NotFittedError
        If the estimator is not fitted.
    ValueError
        If X does not have the features that the estimator was fitted to, or if it contains NaN or infinity.
    """
    check_is_fitted(estimator)
    return checked_rows(estimator, X, reset=False, dtype=_DTYPES, accept_sparse="csr")


def written_out(rows: Any) -> NDArray[Any]:
    """Return rows as a NumPy array. A sparse matrix is converted, and an array is returned unchanged.

    Raises
    ------
    MemoryError
        If the array needs more memory than is available.
    """
    if not hasattr(rows, "tocsr"):
        return rows  # type: ignore[no-any-return]
    needs = f"converting {rows.shape[0]} sparse rows of {rows.shape[1]} columns to an array"
    out: NDArray[Any] = rows.toarray(out=empty(rows.shape, rows.dtype, needs, "give fewer rows at a time"))
    return out


def store_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """Store the parameters of an estimator unchanged as attributes.

    ``__init__`` calls ``store_parameters(self, locals())`` and does nothing else, as scikit-learn requires.
    """
    for name, value in given.items():
        if value is not estimator:
            setattr(estimator, name, value)


def listed(values: Any) -> Any:
    """Return a sequence or array as a tuple, and any other value unchanged."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        return tuple(values)
    return tuple(np.ravel(values).tolist()) if np.ndim(values) else values


def seed_of(random_state: Any) -> int:
    """Return an integer seed: `random_state` itself, 0 for None, or a number drawn from a RandomState.

    Raises
    ------
    ValueError
        If `random_state` is not an integer of 0 or more, a NumPy RandomState, or None.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return int(random_state.randint(2**31 - 1))
    return check_integer("random_state", random_state, 0, otherwise=", a NumPy RandomState, or None")
