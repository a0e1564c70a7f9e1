"""Classes of scikit-learn, named by a path and plain parameters: the paper's linear baselines, and any other.

PCA-SVM and White-SVM keep a fraction of the variance, Rand Proj-SVM a number of Gaussian random directions (paper,
"Experiments Settings"). Which classes can be named, and with what, stands in `allowed_estimators`. scikit-learn is
imported when a class is asked for, not before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.allowed_estimators import check_in_file, check_named
from slide_gui.core.validation import number_or_nan
from slide_gui.progress import NO_PROGRESS, Progress

__all__ = [
    "PCA",
    "RANDOM_PROJECTION",
    "WHITENED_PCA",
    "Estimator",
    "OtherClassifier",
    "Projection",
    "Transformer",
    "fit_classifier",
    "fit_transformer",
]

Indices = NDArray[np.intp]

_BLOCK_ROWS = 4096
_KINDS = {"classifier": "ClassifierMixin", "transformer": "TransformerMixin"}
_DOES = {"classifier": "predict", "transformer": "transform"}


@dataclass(frozen=True)
class Estimator:
    """A scikit-learn class and its parameters.

    Attributes
    ----------
    name : str
        Path within ``sklearn``, such as ``"neighbors.KNeighborsClassifier"``.
    parameters : tuple of (name, value)
        Parameters sorted by name. Values are numbers, strings, booleans, None, or tuples of these.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any] | None = None) -> Estimator:
        """Return an estimator in normal form: sorted parameters, lists as tuples, no leading ``sklearn``."""
        plain = sorted((parameters or {}).items())
        return cls(name.removeprefix("sklearn."), tuple((key, _tuples(value)) for key, value in plain))

    def document(self) -> dict[str, Any]:
        """Return the estimator as a JSON object."""
        return {"name": self.name, "parameters": dict(self.parameters)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Estimator:
        """Return the estimator of a document.

        Raises
        ------
        ValueError
            If a file may not name the class, or not give it these parameters.
        """
        name, parameters = document.get("name"), document.get("parameters")
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise ValueError("an estimator is a name and an object of parameters")
        estimator = cls.of(name, parameters)
        check_in_file(estimator.name, dict(estimator.parameters))
        return estimator

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters)
        return f"{self.name.rpartition('.')[2]}({given})"

    def make(self, kind: str, seed: int) -> Any:
        """Return a new object of the class.

        Parameters
        ----------
        kind : {"classifier", "transformer"}
        seed : int
            Value of `random_state`, if the class has this parameter and it is not given.

        Raises
        ------
        ValueError
            If scikit-learn has no such class, or if the class does not accept the parameters.
        """
        given = dict(self.parameters)
        check_named(self.name, given)
        wanted = self._class(kind)
        try:
            instance = wanted()
            known = instance.get_params()
            unknown = [key for key in given if key not in known]
            if unknown:
                raise ValueError(f"{self.name} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}")
            if "random_state" in known and "random_state" not in given:
                given["random_state"] = seed
            return instance.set_params(**given)
        except TypeError:
            raise ValueError(f"{self.name} is made of other estimators, which cannot be named here") from None

    def _class(self, kind: str) -> Any:
        from importlib import import_module

        from sklearn import base

        module, _, name = self.name.rpartition(".")
        try:
            candidate = getattr(import_module(f"sklearn.{module}"), name, None)
        except ImportError:
            candidate = None
        ours = isinstance(candidate, type) and candidate.__module__.startswith("sklearn.")
        if not ours or not issubclass(candidate, (base.BaseEstimator,)):  # type: ignore[arg-type]
            raise ValueError(f"scikit-learn has no estimator {self.name!r}")
        if not issubclass(candidate, getattr(base, _KINDS[kind])) or not hasattr(candidate, _DOES[kind]):  # type: ignore[arg-type]
            raise ValueError(
                f"{self.name} is no classifier of scikit-learn"
                if kind == "classifier"
                else f"{self.name} is no transformer of scikit-learn"
            )
        return candidate


def _tuples(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item) for item in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{value!r} cannot be a parameter; expected numbers, texts, true, false, null or lists of them")


@dataclass(frozen=True)
class Projection:
    """A linear projection that is fitted without labels.

    Attributes
    ----------
    name : str
        Path of the scikit-learn class, as in `Estimator`.
    keeps : {"variance", "directions"}
        Meaning of the amount: a fraction of the variance, or a number of directions.
    parameters : tuple of (name, value)
        Further parameters of the class.
    """

    name: str
    keeps: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def checked(self, amount: float | None, method: str) -> float:
        """Return the amount as a float.

        Parameters
        ----------
        amount : float or None
            Fraction of the variance, or number of directions.
        method : str
            Name of the method in the error.

        Raises
        ------
        ValueError
            If the amount is missing or out of range.
        """
        value = number_or_nan(amount)
        if self.keeps == "directions":
            fits, needed = value >= 1 and value.is_integer(), "an integer number of directions, 1 or more"
        else:
            fits, needed = 0 < value < 1, "a fraction of the variance, between 0 and 1"
        if not fits:
            if amount is None:
                raise ValueError(f"kept is missing; {method} needs {needed}")
            raise ValueError(f"kept is {amount!r}; {method} needs {needed}")
        return value

    def estimator(self, amount: float) -> Estimator:
        """Return the transformer for an amount."""
        components = int(amount) if self.keeps == "directions" else amount
        return Estimator.of(self.name, {"n_components": components, **dict(self.parameters)})


PCA = Projection("decomposition.PCA", "variance", (("svd_solver", "covariance_eigh"), ("whiten", False)))
WHITENED_PCA = Projection("decomposition.PCA", "variance", (("svd_solver", "covariance_eigh"), ("whiten", True)))
RANDOM_PROJECTION = Projection("random_projection.GaussianRandomProjection", "directions")


@dataclass(frozen=True, eq=False)
class Transformer:
    """A fitted scikit-learn transformer that computes a representation.

    Attributes
    ----------
    estimator : object
        Fitted transformer, which must not be changed.
    n_features : int
        Number of features in the training set.
    """

    estimator: Any
    n_features: int

    def transform(self, rows: NDArray[Any], *, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
        """Return the representation of rows, of shape (n, k) in float32, computed in blocks.

        Raises
        ------
        ValueError
            If the rows have another number of features, or if the result is not a table of finite numbers.
        """
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(
                f"the rows have shape {rows.shape}, but the transformer was fitted on {self.n_features} features"
            )
        blocks = []
        for start in range(0, max(len(rows), 1), _BLOCK_ROWS):
            transformed = self.estimator.transform(np.asarray(rows[start : start + _BLOCK_ROWS], np.float64))
            dense = np.asarray(transformed.toarray() if hasattr(transformed, "toarray") else transformed)
            blocks.append(dense.astype(np.float32))
            if blocks[-1].ndim != 2 or not np.isfinite(blocks[-1]).all():
                raise ValueError(
                    f"{type(self.estimator).__name__} returned values that are not a table of finite numbers"
                )
            progress.report(min(start + _BLOCK_ROWS, len(rows)) / max(len(rows), 1))
        return np.concatenate(blocks)


def fit_transformer(
    rows: NDArray[Any], estimator: Estimator, seed: int, *, progress: Progress = NO_PROGRESS
) -> Transformer:
    """Fit a scikit-learn transformer to rows without labels.

    The fit can be cancelled only before and after the call of scikit-learn.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    estimator : Estimator
    seed : int
        Value of `random_state`, if the class has this parameter and it is not given.

    Raises
    ------
    ValueError
        If the estimator is not a transformer, needs labels, or rejects the rows or its parameters.
    """
    transformer = estimator.make("transformer", seed)
    progress.report(0.0)
    _fit(transformer, np.asarray(rows, np.float64))
    progress.report(1.0)
    return Transformer(transformer, rows.shape[1])


@dataclass(frozen=True, eq=False)
class OtherClassifier:
    """A fitted scikit-learn classifier that replaces the SVM.

    Attributes
    ----------
    estimator : object
        Classifier fitted to class codes 0 … n_classes − 1, which must not be changed.
    """

    estimator: Any
    n_classes: int

    def answer(self, Z: NDArray[Any]) -> tuple[Indices, NDArray[np.float64]]:
        """Return the predicted class of each row and the decision values.

        Returns
        -------
        codes : ndarray of int, shape (n,)
        decisions : ndarray of shape (n, 1) for two classes, else (n, n_classes)
            Decision values if the classifier has them. Otherwise its probabilities, minus ½ for two classes. If it has
            neither, 1 for the predicted class and 0 for others (−1 for two classes).
        """
        codes = np.asarray(self.estimator.predict(Z)).astype(np.intp)
        return codes, self._decisions(Z, codes)

    def _decisions(self, Z: NDArray[Any], codes: Indices) -> NDArray[np.float64]:
        two = self.n_classes == 2
        if hasattr(self.estimator, "decision_function"):
            decisions = np.asarray(self.estimator.decision_function(Z), np.float64).reshape(len(Z), -1)
            if decisions.shape[1] == (1 if two else self.n_classes):
                return decisions
        if hasattr(self.estimator, "predict_proba"):
            shares = np.asarray(self.estimator.predict_proba(Z), np.float64)
            if shares.shape == (len(Z), self.n_classes):
                return shares[:, 1:] - 0.5 if two else shares
        if two:
            return np.where(codes == 1, 1.0, -1.0)[:, None]
        return np.eye(self.n_classes)[codes]


def fit_classifier(
    Z: NDArray[Any], codes: Indices, estimator: Estimator, seed: int, *, progress: Progress = NO_PROGRESS
) -> OtherClassifier:
    """Fit a scikit-learn classifier to a representation.

    The fit can be cancelled only before and after the call of scikit-learn.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
    codes : ndarray of int, shape (n,)
        Class codes 0 … n_classes − 1.
    estimator : Estimator
    seed : int
        Value of `random_state`, if the class has this parameter and it is not given.

    Raises
    ------
    ValueError
        If the estimator is not a classifier, or rejects the rows or its parameters.
    """
    classifier = estimator.make("classifier", seed)
    progress.report(0.0)
    _fit(classifier, Z, codes)
    progress.report(1.0)
    return OtherClassifier(classifier, int(codes.max()) + 1)


def _fit(estimator: Any, *arguments: Any) -> None:
    """Fit the estimator; convert any error to a ValueError that names its class."""
    try:
        estimator.fit(*arguments)
    except MemoryError:
        raise
    except Exception as error:  # scikit-learn classes raise many types of errors
        raise ValueError(_refusal(estimator, arguments, error)) from None


def _refusal(estimator: Any, arguments: tuple[Any, ...], error: Exception) -> str:
    name, rows = type(estimator).__name__, arguments[0]
    if len(arguments) == 1 and re.search(r"\by\b", str(error)):  # the name of the labels in scikit-learn
        return f"{name} cannot be fitted to rows without labels ({error})"
    wanted, most = getattr(estimator, "n_components", None), min(rows.shape)
    if isinstance(wanted, int) and wanted > most:
        return (
            f"{name} cannot compute {wanted} components from {rows.shape[0]} rows with {rows.shape[1]} features; "
            f"set n_components to {most} or less"
        )
    return f"{name} cannot be fitted to these rows ({error})"
