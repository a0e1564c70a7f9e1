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
    """A class of scikit-learn and what it is made with.

    Attributes
    ----------
    name : str
        Path within ``sklearn``, such as ``"neighbors.KNeighborsClassifier"``.
    parameters : tuple of (name, value)
        By name; numbers, texts, truth values, None, or tuples of them.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any] | None = None) -> Estimator:
        """Return an estimator in its normal form: parameters by name, lists as tuples, no leading ``sklearn``."""
        plain = sorted((parameters or {}).items())
        return cls(name.removeprefix("sklearn."), tuple((key, _tuples(value)) for key, value in plain))

    def document(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
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
            Its random_state, where it has one that is not given.

        Raises
        ------
        ValueError
            If the name is none of such a class of scikit-learn, or the class cannot be made so.
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
    """One linear map fitted without labels, told by what it keeps.

    Attributes
    ----------
    name : str
        Of the class of scikit-learn, as in `Estimator`.
    keeps : {"variance", "directions"}
        A fraction of the variance, or a number of directions.
    parameters : tuple of (name, value)
        What else the class is given.
    """

    name: str
    keeps: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def checked(self, amount: float | None, method: str) -> float:
        """Return what is kept as a float.

        Parameters
        ----------
        method : str
            Which asks, for the refusal.

        Raises
        ------
        ValueError
            If it is missing or out of range.
        """
        value = number_or_nan(amount)
        if self.keeps == "directions":
            fits, needed = value >= 1 and value.is_integer(), "a whole number of directions, 1 or more"
        else:
            fits, needed = 0 < value < 1, "a fraction of the variance, between 0 and 1"
        if not fits:
            if amount is None:
                raise ValueError(f"kept is missing; {method} needs {needed}")
            raise ValueError(f"kept is {amount!r}; {method} needs {needed}")
        return value

    def estimator(self, amount: float) -> Estimator:
        """Return the transformer that keeps so much."""
        components = int(amount) if self.keeps == "directions" else amount
        return Estimator.of(self.name, {"n_components": components, **dict(self.parameters)})


PCA = Projection("decomposition.PCA", "variance", (("svd_solver", "covariance_eigh"), ("whiten", False)))
WHITENED_PCA = Projection("decomposition.PCA", "variance", (("svd_solver", "covariance_eigh"), ("whiten", True)))
RANDOM_PROJECTION = Projection("random_projection.GaussianRandomProjection", "directions")


@dataclass(frozen=True, eq=False)
class Transformer:
    """A fitted transformer of scikit-learn as a representation.

    Attributes
    ----------
    estimator : object
        Fitted; treated as frozen.
    n_features : int
        d of the rows it was fitted on.
    """

    estimator: Any
    n_features: int

    def transform(self, rows: NDArray[Any], *, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
        """Return the representation of rows (n, d) as (n, k) float32, made block by block.

        Raises
        ------
        ValueError
            If the rows have another number of features, or a value is not finite.
        """
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"rows of shape {rows.shape}; this was fitted on {self.n_features} features")
        blocks = []
        for start in range(0, max(len(rows), 1), _BLOCK_ROWS):
            transformed = self.estimator.transform(np.asarray(rows[start : start + _BLOCK_ROWS], np.float64))
            dense = np.asarray(transformed.toarray() if hasattr(transformed, "toarray") else transformed)
            blocks.append(dense.astype(np.float32))
            if blocks[-1].ndim != 2 or not np.isfinite(blocks[-1]).all():
                raise ValueError(f"{type(self.estimator).__name__} gave values that are no finite table")
            progress.report(min(start + _BLOCK_ROWS, len(rows)) / max(len(rows), 1))
        return np.concatenate(blocks)


def fit_transformer(
    rows: NDArray[Any], estimator: Estimator, seed: int, *, progress: Progress = NO_PROGRESS
) -> Transformer:
    """Fit a transformer of scikit-learn to rows, without labels.

    The fit is one call of scikit-learn: it is cancelled before or after, not within.

    Parameters
    ----------
    rows : ndarray of shape (n, d)

    Raises
    ------
    ValueError
        If it is no transformer, needs labels, or refuses the rows or its parameters.
    """
    transformer = estimator.make("transformer", seed)
    progress.report(0.0)
    _fit(transformer, np.asarray(rows, np.float64))
    progress.report(1.0)
    return Transformer(transformer, rows.shape[1])


@dataclass(frozen=True, eq=False)
class OtherClassifier:
    """A fitted classifier of scikit-learn in the SVM's place.

    Attributes
    ----------
    estimator : object
        Fitted to the codes 0 … n_classes − 1; treated as frozen.
    """

    estimator: Any
    n_classes: int

    def answer(self, Z: NDArray[Any]) -> tuple[Indices, NDArray[np.float64]]:
        """Return the predicted class of each row, and what it decided by.

        Returns
        -------
        codes : ndarray of int, shape (n,)
        decisions : ndarray of shape (n, 1) for two classes, else (n, n_classes)
            Decision values; else probabilities, less ½ for two classes; else 1 for the class predicted and 0 (two
            classes: −1) for others.
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
    """Fit a classifier of scikit-learn to a representation; one call, cancelled before or after.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
    codes : ndarray of int, shape (n,)
        Classes 0 … n_classes − 1.

    Raises
    ------
    ValueError
        If it is no classifier, or refuses the rows or its parameters.
    """
    classifier = estimator.make("classifier", seed)
    progress.report(0.0)
    _fit(classifier, Z, codes)
    progress.report(1.0)
    return OtherClassifier(classifier, int(codes.max()) + 1)


def _fit(estimator: Any, *arguments: Any) -> None:
    """Fit; whatever goes wrong is a ValueError that names the class."""
    try:
        estimator.fit(*arguments)
    except MemoryError:
        raise
    except Exception as error:  # each of its classes fails in its own way
        raise ValueError(_refusal(estimator, arguments, error)) from None


def _refusal(estimator: Any, arguments: tuple[Any, ...], error: Exception) -> str:
    name, rows = type(estimator).__name__, arguments[0]
    if len(arguments) == 1 and re.search(r"\by\b", str(error)):  # as scikit-learn calls the labels
        return f"{name} cannot be fitted to rows without labels ({error})"
    wanted, most = getattr(estimator, "n_components", None), min(rows.shape)
    if isinstance(wanted, int) and wanted > most:
        return (
            f"{name} cannot make {wanted} components of {rows.shape[0]} rows with {rows.shape[1]} features; "
            f"set n_components to {most} or less"
        )
    return f"{name} cannot be fitted to these rows ({error})"
