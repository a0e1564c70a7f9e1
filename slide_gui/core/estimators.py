"""What the scikit-learn estimators share: checked rows, coded classes, their parameters, and names of features.

Columns of layer k are named ``h{k}_…``, by which a multi-width SVM knows the layers again.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from slide_gui.core.validation import check_whole, empty

__all__ = [
    "LayeredTransformer",
    "checked_rows",
    "fitted_rows",
    "labelled_rows",
    "layer_names",
    "layer_sizes",
    "listed",
    "parameters_of",
    "remember_layers",
    "remembered_layers",
    "row_weights",
    "seed_of",
    "store_parameters",
    "written_out",
]

P = TypeVar("P")

_LAYER = re.compile(r"(?:.*__)?h(\d+)_")  # with the prefix of a column transformer or feature union


_SIZES: dict[int, tuple[int, ...]] = {}  # columns of each layer of the arrays that transformers returned, by id


def remember_layers(features: NDArray[Any], sizes: tuple[int, ...]) -> NDArray[Any]:
    """Return an array and remember, while it exists, how many columns each of its layers has."""
    if len(sizes) > 1:
        _SIZES[id(features)] = sizes
        weakref.finalize(features, _SIZES.pop, id(features), None).atexit = False
    return features


def remembered_layers(rows: Any) -> tuple[int, ...]:
    """Return the layers' sizes of an array that a transformer returned; empty if it is not one, or a copy."""
    return _SIZES.get(id(rows), ())


class LayeredTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer of rows to [h⁰ | h¹ | … | hˡ], whose parameter `dtype` decides the dtype of all of it."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # the parameter `dtype` decides
        return tags

    def _input_names(self, given: Any) -> Sequence[str]:
        """Return the names of the features: those given, else those of the fit, else ``x0, …``."""
        check_is_fitted(self)
        if given is None:
            given = getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        if len(given) != self.n_features_in_:
            raise ValueError(f"input_features has {len(given)} names; {self.n_features_in_} are needed")
        names: Sequence[str] = given
        return names


def layer_names(layer: int, names: Iterable[object]) -> list[str]:
    """Return the names of the columns of a layer."""
    return [f"h{layer}_{name}" for name in names]


def layer_sizes(names: Sequence[str]) -> tuple[int, ...] | None:
    """Return how many columns each layer has, by their names; None where none is named as a layer's.

    Raises
    ------
    ValueError
        If only some are, or the columns of a layer do not stand side by side.
    """
    matches = [_LAYER.match(name) for name in names]
    layers = [int(match[1]) for match in matches if match]
    if not layers:
        return None
    for name, match in zip(names, matches, strict=True):
        if match is None:
            raise ValueError(
                f"column {name!r} is of no layer, though others are (h0_…, h1_…); give the blocks' sizes in groups"
            )
    if layers != sorted(layers):
        raise ValueError("the columns do not stand layer by layer, h0_… before h1_…; sort them so")
    return tuple(np.unique(layers, return_counts=True)[1].tolist())


def checked_rows(estimator: Any, X: Any, y: Any = "no_validation", **how: Any) -> Any:
    """Return what scikit-learn's `validate_data` does, but refuse numbers given as text.

    Raises
    ------
    ValueError
        For rows that no estimator can take.
    """
    try:
        values = np.asarray(X)
    except (TypeError, ValueError):  # not to be read as an array: refused below, in scikit-learn's words
        values = np.empty(0)
    if values.dtype.kind in "OSTU":
        for place, value in np.ndenumerate(values):
            if isinstance(value, (str, bytes)):
                where = ", ".join(f"{word} {i}" for word, i in zip(("row", "feature"), place, strict=False))
                raise ValueError(f"X contains text: {where} is {str(value)!r}; turn it into a number, or leave it out")
    return validate_data(estimator, X, y, **how)


def labelled_rows(
    estimator: Any, X: Any, y: Any, dtypes: Sequence[type], least_classes: int = 1, sparse: bool = False
) -> tuple[Any, NDArray[Any], NDArray[np.intp]]:
    """Return the rows to fit, the classes (sorted), and the code 0 … n_classes − 1 of each row.

    Rows of another dtype become the first of `dtypes`; sparse ones become CSR where they are taken.

    Raises
    ------
    ValueError
        For rows or labels that no classifier can be trained on.
    """
    how = {"dtype": list(dtypes), "ensure_min_samples": 2, "accept_sparse": "csr" if sparse else False}
    rows, labels = checked_rows(estimator, X, y, **how)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(classes) < least_classes:
        raise ValueError(f"y has one class, {classes.tolist()[0]!r}; the number of classes has to be greater than one")
    return rows, classes, codes


def row_weights(sample_weight: Any, n: int) -> NDArray[np.float64] | None:
    """Return the weights of n rows, a copy; None where all are 1 or none are given.

    Raises
    ------
    ValueError
        If they are not n numbers, one is negative, NaN or infinite, or all are zero.
    """
    if sample_weight is None:
        return None
    try:
        weights: NDArray[np.float64] = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError("sample_weight holds what is no number; give one number of 0 or more a row") from None
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; it must be ({n},), one weight a row")
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise ValueError(f"sample_weight of row {bad[0]} is {weights[bad[0]]}; it must be a finite number, 0 or more")
    if not weights.any():
        raise ValueError("all weights in sample_weight are zero; at least one row needs one above 0")
    return None if (weights == 1.0).all() else weights


def fitted_rows(estimator: Any, X: Any, dtypes: Sequence[type], sparse: bool = False) -> Any:
    """Return rows for a fitted estimator, of one of `dtypes`, the first where X is of another; sparse ones as CSR.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    ValueError
        If X does not have the features of the fit, or has a NaN or infinity.
    """
    check_is_fitted(estimator)
    return checked_rows(estimator, X, reset=False, dtype=list(dtypes), accept_sparse="csr" if sparse else False)


def written_out(rows: Any) -> NDArray[Any]:
    """Return rows as an array; of a sparse matrix with its zeros.

    Raises
    ------
    MemoryError
        If there is no room for those.
    """
    if not hasattr(rows, "tocsr"):
        return rows  # type: ignore[no-any-return]
    needs = f"writing out {rows.shape[0]} sparse rows of {rows.shape[1]} columns"
    out: NDArray[Any] = rows.toarray(out=empty(rows.shape, rows.dtype, needs, "give fewer rows at a time"))
    return out


def store_parameters(estimator: Any, given: Mapping[str, Any]) -> None:
    """Store the parameters of an estimator as they are, each under its name: ``store_parameters(self, locals())``.

    It is all that an ``__init__`` does, by the conventions of scikit-learn.
    """
    for name, value in given.items():
        if value is not estimator:
            setattr(estimator, name, value)


def listed(values: Any) -> Any:
    """Return values in any kind of sequence or array as a tuple; anything else as it is, to be refused or taken."""
    if isinstance(values, Sequence) and not isinstance(values, str):
        return tuple(values)
    return tuple(np.ravel(values).tolist()) if np.ndim(values) else values


def seed_of(random_state: Any) -> int:
    """Return a whole number as it is, 0 for None, and for a RandomState the next number it draws.

    Raises
    ------
    ValueError
        For anything else, or a number below 0.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState) or random_state is np.random:
        return int(random_state.randint(2**31 - 1))
    return check_whole("random_state", random_state, 0, otherwise=", a RandomState of NumPy’s, or None")


def parameters_of(estimator: Any, kind: type[P], **normalised: Any) -> P:
    """Return a dataclass of parameters: the estimator's of the same names, `random_state` as its `seed`.

    Parameters
    ----------
    estimator : estimator with a parameter `random_state`
    kind : type
        A dataclass with a field `seed`; a field the estimator does not have keeps its default.
    **normalised
        Fields to take in place of the estimator's.
    """
    given = estimator.get_params(deep=False)
    seed = seed_of(given["random_state"])
    known = {field.name: given[field.name] for field in fields(kind) if field.name in given}  # type: ignore[arg-type]
    return kind(**{**known, "seed": seed, **normalised})
