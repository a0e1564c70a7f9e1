"""Baseline methods that use six scikit-learn classes, including the paper's linear projections.

PCA-SVM and White-SVM (whitened PCA) use the principal components that explain a given fraction of the variance. Rand
Proj-SVM projects the rows onto a given number of Gaussian random directions (paper, "Experiments Settings").
scikit-learn is imported only when a class is used.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from slide_gui.core.linear_algebra import Indices, tiles
from slide_gui.core.validation import number_or_nan
from slide_gui.progress import NO_PROGRESS, Progress

Rule = tuple[type | str, ...]

_BLOCK_ROWS = 4096
_MOST = 100_000  # largest allowed value of an integer parameter, such as a number of iterations, trees or units
_LONGEST = 16  # largest number of elements of a list parameter, such as the layer sizes of a network
_NAME = re.compile(r"[a-z_]{1,40}\.[A-Z][A-Za-z0-9]{0,60}")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,63}")

# Allowed types and strings for each parameter of the scikit-learn classes. `float` includes integers.
# The value None is always allowed. No allowed parameter opens a file, unpickles data or starts a process.
ESTIMATORS: Mapping[str, Mapping[str, Mapping[str, Rule]]] = {
    "transformer": {
        "decomposition.PCA": {
            "n_components": (int, float), "whiten": (bool,), "random_state": (int,),
            "svd_solver": ("auto", "full", "covariance_eigh", "arpack", "randomized"),
        },
        "random_projection.GaussianRandomProjection": {"n_components": (int,), "random_state": (int,)},
    },
    "classifier": {
        "ensemble.RandomForestClassifier": {
            "n_estimators": (int,), "criterion": ("gini", "entropy", "log_loss"), "max_depth": (int,),
            "min_samples_leaf": (int, float), "max_features": (int, float, "sqrt", "log2"), "random_state": (int,),
            "class_weight": ("balanced", "balanced_subsample"),
        },
        "linear_model.LogisticRegression": {
            "C": (float,), "max_iter": (int,), "tol": (float,), "class_weight": ("balanced",), "random_state": (int,),
        },
        "neighbors.KNeighborsClassifier": {
            "n_neighbors": (int,), "weights": ("uniform", "distance"), "p": (float,),
            "metric": ("euclidean", "manhattan", "chebyshev", "minkowski", "cosine"),
        },
        "neural_network.MLPClassifier": {
            "hidden_layer_sizes": (int, tuple), "activation": ("identity", "logistic", "tanh", "relu"),
            "solver": ("lbfgs", "sgd", "adam"), "alpha": (float,), "batch_size": (int, "auto"),
            "learning_rate_init": (float,), "max_iter": (int,), "tol": (float,), "early_stopping": (bool,),
            "random_state": (int,),
        },
    },
}  # fmt: skip


@dataclass(frozen=True)
class Estimator:
    """A scikit-learn class and its parameters.

    Runs stored by earlier versions may use classes that are not in `ESTIMATORS`. The program still shows such runs.

    Attributes
    ----------
    name : str
        Module and class within ``sklearn``, such as ``"neighbors.KNeighborsClassifier"``.
    parameters : tuple of (name, value)
        Parameters sorted by name. Values are numbers, strings, booleans, None, or tuples of these.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any] | None = None) -> Self:
        """Return an estimator. Parameters are sorted, lists become tuples, and the prefix ``sklearn.`` is removed."""
        plain = sorted((parameters or {}).items())
        return cls(name.removeprefix("sklearn."), tuple((key, _tuples(value)) for key, value in plain))

    def document(self) -> dict[str, Any]:
        """Return the estimator as a JSON object."""
        return {"name": self.name, "parameters": dict(self.parameters)}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the estimator that a JSON object describes.

        Raises
        ------
        ValueError
            If the entry "name" or "parameters" is missing or has the wrong type, or if the name does not have the form
            of a scikit-learn class name. The error is also raised if a parameter is anything other than a number, a
            single word, a list of numbers, true, false or null.
        """
        name, parameters = document.get("name"), document.get("parameters")
        if not isinstance(name, str) or not isinstance(parameters, dict):
            raise ValueError('an estimator must have a "name" and "parameters"; the parameters must be a JSON object')
        estimator = cls.of(name, parameters)
        if not _NAME.fullmatch(estimator.name):
            raise ValueError(f"{name!r:.80} is not the name of a class in scikit-learn")
        for key, value in estimator.parameters:
            if not _WORD.fullmatch(key) or not _is_plain(value):
                raise ValueError(f"{name}, parameter {key!r:.60}: expected a number, a word or a list of numbers")
        return estimator

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters)
        return f"{self.name.rpartition('.')[2]}({given})"

    def make(self, kind: str, seed: int) -> Any:
        """Return a new, unfitted object of the scikit-learn class.

        Parameters
        ----------
        kind : {"classifier", "transformer"}
            Purpose of the class; a key of `ESTIMATORS`.
        seed : int
            Random seed. If the class has the parameter `random_state`, the seed is used for it, unless `parameters`
            contains an integer for `random_state`.

        Raises
        ------
        ValueError
            If `ESTIMATORS` does not list the class under `kind`, or does not allow a parameter or its value.
        """
        from importlib import import_module

        classes, given = ESTIMATORS[kind], dict(self.parameters)
        if self.name not in classes:
            raise ValueError(f"{self.name!r:.80} is not an allowed {kind}; choose one of {', '.join(classes)}")
        allowed = classes[self.name]
        for key, value in given.items():
            if key not in allowed:
                raise ValueError(f"{self.name} has no parameter {key!r:.60}; it accepts {', '.join(sorted(allowed))}")
            if value is not None and not _fits(value, allowed[key]):
                raise ValueError(f"{self.name} with {key}={value!r:.60}: expected {_described(allowed[key])}")
        # If `random_state` were None, two fits to the same rows would give different results.
        if "random_state" in allowed and given.get("random_state") is None:
            given["random_state"] = seed
        module, _, name = self.name.rpartition(".")
        return getattr(import_module(f"sklearn.{module}"), name)(**given)

    def fit(self, kind: str, seed: int, rows: NDArray[Any], *codes: Indices, progress: Progress = NO_PROGRESS) -> Any:
        """Return a new object of the scikit-learn class, fitted to rows.

        A job that calls this method can be cancelled only before and after the fit, because scikit-learn cannot be
        interrupted.

        Parameters
        ----------
        kind, seed
            Purpose of the class, and random seed, as for `make`.
        rows : ndarray of shape (n, d)
        *codes : ndarray of int, shape (n,)
            Class codes of the rows, for a classifier. Omit them for a transformer.

        Raises
        ------
        ValueError
            If the class or a parameter is not allowed, or if scikit-learn rejects the rows. The message names the
            class.
        """
        estimator = self.make(kind, seed)
        progress.report(0.0)
        try:
            # If all rows are equal, scikit-learn's PCA divides 0 by 0, but finds usable components. Suppress the
            # warning.
            with np.errstate(invalid="ignore"):
                estimator.fit(rows, *codes)
        except MemoryError:
            raise
        except Exception as error:  # scikit-learn raises many types of errors for unsuitable rows
            name, components, most = type(estimator).__name__, getattr(estimator, "n_components", None), min(rows.shape)
            if isinstance(components, int) and components > most:
                raise ValueError(
                    f"{name} cannot compute {components} components from {rows.shape[0]} rows with {rows.shape[1]} "
                    f"features; set n_components to {most} or less"
                ) from None
            raise ValueError(f"{name} cannot be fitted to these rows ({error})") from None
        progress.report(1.0)
        return estimator


def _fits(value: Any, rule: Rule) -> bool:
    if isinstance(value, str):
        return value in rule
    if isinstance(value, tuple):
        return tuple in rule and len(value) <= _LONGEST and all(_fits(each, (int,)) for each in value)
    if type(value) is int:
        return (int in rule and abs(value) <= _MOST) or float in rule
    return type(value) in rule and math.isfinite(value)


def _described(rule: Rule) -> str:
    names = {int: f"an integer up to {_MOST}", float: "a finite number", bool: "true or false", tuple: "integers"}
    return " or ".join(each if isinstance(each, str) else names[each] for each in rule)


def _is_plain(value: Any) -> bool:
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    if isinstance(value, tuple):
        return len(value) <= _LONGEST and all(type(each) in (int, float) and _is_plain(each) for each in value)
    return value is None or abs(value) < 1e18


def _tuples(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_tuples(item) for item in value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise ValueError(f"{value!r} is not a valid value; expected numbers, strings, true, false, null or lists of them")


@dataclass(frozen=True)
class Projection:
    """A linear projection that is fitted without labels.

    Attributes
    ----------
    name : str
        Module and class within ``sklearn``, as in `Estimator`.
    amount_kind : {"variance", "directions"}
        Meaning of the argument `amount` of `checked` and `estimator`: the fraction of the variance to keep, or the
        number of directions to project onto.
    parameters : tuple of (name, value)
        Parameters of the scikit-learn class in addition to `n_components`.
    """

    name: str
    amount_kind: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def checked(self, amount: float | None, method: str) -> float:
        """Check `amount` (see `amount_kind`) and return it as a float.

        Parameters
        ----------
        amount : float or None
            Fraction of the variance, or number of directions. None means that no amount was given.
        method : str
            Name of the method, such as PCA-SVM, for the error message.

        Raises
        ------
        ValueError
            If `amount` is None or out of range.
        """
        value = number_or_nan(amount)
        if self.amount_kind == "directions":
            fits, needed = value >= 1 and value.is_integer(), "an integer number of directions, 1 or more"
        else:
            fits, needed = 0 < value < 1, "a fraction of the variance, between 0 and 1"
        if not fits:
            raise ValueError(f"kept is {'missing' if amount is None else repr(amount)}; {method} needs {needed}")
        return value

    def estimator(self, amount: float) -> Estimator:
        """Return the transformer that keeps a fraction `amount` of variance, or projects onto `amount` directions."""
        components = int(amount) if self.amount_kind == "directions" else amount
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
        The fitted scikit-learn object. Do not change it.
    """

    estimator: Any

    def transform(self, rows: NDArray[Any], *, progress: Progress = NO_PROGRESS) -> NDArray[np.float32]:
        """Return the transformed rows, of shape (n, k) in float32, computed in blocks of rows.

        Raises
        ------
        ValueError
            If scikit-learn rejects the rows, or if the result contains NaN or infinity.
        """
        blocks = []
        for block in tiles(max(len(rows), 1), _BLOCK_ROWS, progress, fraction=True):
            blocks.append(np.asarray(self.estimator.transform(np.asarray(rows[block], np.float64)), np.float32))
            if not np.isfinite(blocks[-1]).all():
                raise ValueError(f"{type(self.estimator).__name__} returned values that are not finite")
        return np.concatenate(blocks)


def predicted_by(estimator: Any, Z: NDArray[Any]) -> tuple[Indices, NDArray[np.float64]]:
    """Return the class codes and decision values of a scikit-learn classifier, which is used instead of the SVM.

    Parameters
    ----------
    estimator : object
        The scikit-learn object, fitted to class codes 0 … k − 1.
    Z : ndarray of shape (n, D)

    Returns
    -------
    codes : ndarray of int, shape (n,)
    decisions : ndarray of shape (n, 1) for two classes, else (n, k)
        The values of `decision_function`. If the classifier does not have this method, the decision values are class
        probabilities. For two classes, they are the probability of the second class minus ½.
    """
    codes = np.asarray(estimator.predict(Z)).astype(np.intp)
    if hasattr(estimator, "decision_function"):
        return codes, np.asarray(estimator.decision_function(Z), np.float64).reshape(len(Z), -1)
    probabilities = np.asarray(estimator.predict_proba(Z), np.float64)
    return codes, probabilities[:, 1:] - 0.5 if probabilities.shape[1] == 2 else probabilities
