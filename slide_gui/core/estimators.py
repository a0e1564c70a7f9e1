"""What the scikit-learn estimators share: checked rows, coded classes, their parameters, and names of features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from slide_gui.core.seeds import seed_of

__all__ = ["LayeredTransformer", "fitted_rows", "labelled_rows", "parameters_of"]

P = TypeVar("P")


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


def labelled_rows(
    estimator: Any, X: Any, y: Any, dtypes: Sequence[type]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
    """Return the rows to fit, the classes (sorted), and the code 0 … n_classes − 1 of each row.

    Rows of another dtype become the first of `dtypes`.

    Raises
    ------
    ValueError
        For rows or labels that no classifier can be trained on.
    """
    rows, labels = validate_data(estimator, X, y, dtype=list(dtypes), ensure_min_samples=2)
    check_classification_targets(labels)
    classes, codes = np.unique(labels, return_inverse=True)
    return rows, classes, codes


def fitted_rows(estimator: Any, X: Any, dtypes: Sequence[type]) -> NDArray[Any]:
    """Return rows for a fitted estimator, of one of `dtypes`, the first where X is of another.

    Raises
    ------
    sklearn.exceptions.NotFittedError
    ValueError
        If X does not have the features of the fit, or has a NaN or infinity.
    """
    check_is_fitted(estimator)
    rows: NDArray[Any] = validate_data(estimator, X, reset=False, dtype=list(dtypes))
    return rows


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
    own = {field.name: given[field.name] for field in fields(kind) if field.name in given}  # type: ignore[arg-type]
    return kind(**{**own, "seed": seed, **normalised})
