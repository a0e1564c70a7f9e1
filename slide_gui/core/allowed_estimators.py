"""Which classes of scikit-learn may be named, and with what: by a person at the command line, and by a file.

A class can be made to open files (text vectorizers), to unpickle them (``memory``, which becomes a joblib cache) or to
start processes (``n_jobs``). A person may name any class of the public modules below and give it numbers, truth values
and single words, but none of those parameters. A file may name only what stands in `IN_FILES`, where each parameter
is followed by all that it may be; None, the seed and one job are allowed throughout.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["IN_FILES", "MODULES", "check_in_file", "check_named"]

MODULES = (
    "calibration", "cluster", "cross_decomposition", "decomposition", "discriminant_analysis", "dummy", "ensemble",
    "feature_selection", "gaussian_process", "impute", "isotonic", "kernel_approximation", "linear_model", "manifold",
    "multiclass", "naive_bayes", "neighbors", "neural_network", "preprocessing", "random_projection",
    "semi_supervised", "svm", "tree",
)  # fmt: skip
"""Modules of scikit-learn that a class may be named from; none of them reads files or text."""

_CLASS = re.compile(r"[A-Z][A-Za-z0-9]*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_+-]{0,63}")
_REFUSED = {
    "memory": "scikit-learn would read and run Python objects from such a cache",
    "input": "scikit-learn would open files",
}
_MOST = 100_000  # a whole number in a file: rounds, trees, units
_LONGEST = 16  # numbers in a list

Rule = tuple[type | str | None, ...]

_WHOLE: Rule = (int,)
_NUMBER: Rule = (float,)  # whole numbers among them
_FLAG: Rule = (bool,)
_NUMBERS: Rule = (tuple,)
_WEIGHTS: Rule = ("balanced",)
_METRIC: Rule = ("euclidean", "manhattan", "chebyshev", "minkowski", "cosine")
_SEARCH: Rule = ("auto", "ball_tree", "kd_tree", "brute")
_KERNEL: Rule = ("linear", "poly", "rbf", "sigmoid", "cosine")

_ALWAYS: Mapping[str, Rule] = {"random_state": _WHOLE, "n_jobs": ()}
_DESCENT: Mapping[str, Rule] = {"max_iter": _WHOLE, "tol": _NUMBER}
_TREE: Mapping[str, Rule] = {
    "max_depth": _WHOLE, "min_samples_split": (int, float), "min_samples_leaf": (int, float),
    "max_features": (int, float, "sqrt", "log2"), "max_leaf_nodes": _WHOLE, "min_impurity_decrease": _NUMBER,
    "ccp_alpha": _NUMBER,
}  # fmt: skip
_GINI: Mapping[str, Rule] = {"criterion": ("gini", "entropy", "log_loss"), "class_weight": _WEIGHTS}
_FOREST: Mapping[str, Rule] = {
    **_TREE, **_GINI, "n_estimators": _WHOLE, "bootstrap": _FLAG, "max_samples": (int, float),
    "class_weight": ("balanced", "balanced_subsample"),
}  # fmt: skip
_LINEAR: Mapping[str, Rule] = {
    **_DESCENT, "class_weight": _WEIGHTS, "fit_intercept": _FLAG, "penalty": ("l1", "l2", "elasticnet"),
    "l1_ratio": _NUMBER,
}  # fmt: skip
_STOPPED: Mapping[str, Rule] = {
    "early_stopping": _FLAG, "validation_fraction": _NUMBER, "n_iter_no_change": _WHOLE, "shuffle": _FLAG,
}  # fmt: skip
_SVC: Mapping[str, Rule] = {
    **_DESCENT, "kernel": ("linear", "poly", "rbf", "sigmoid"), "degree": _WHOLE, "gamma": (float, "scale", "auto"),
    "coef0": _NUMBER, "class_weight": _WEIGHTS, "shrinking": _FLAG, "decision_function_shape": ("ovo", "ovr"),
    "break_ties": _FLAG,
}  # fmt: skip
_NEIGHBORS: Mapping[str, Rule] = {
    "weights": ("uniform", "distance"), "metric": _METRIC, "p": _NUMBER, "algorithm": _SEARCH, "leaf_size": _WHOLE,
}  # fmt: skip
_SMOOTHED: Mapping[str, Rule] = {"alpha": _NUMBER, "fit_prior": _FLAG, "class_prior": _NUMBERS, "force_alpha": _FLAG}
_COMPONENTS: Mapping[str, Rule] = {"n_components": _WHOLE}
_RANDOMIZED: Mapping[str, Rule] = {
    "n_oversamples": _WHOLE, "power_iteration_normalizer": ("auto", "QR", "LU", "none"), "tol": _NUMBER,
}  # fmt: skip
_KERNELS: Mapping[str, Rule] = {
    **_COMPONENTS, "kernel": _KERNEL, "gamma": _NUMBER, "degree": _NUMBER, "coef0": _NUMBER,
}  # fmt: skip
_MEANS: Mapping[str, Rule] = {
    **_DESCENT, "n_clusters": _WHOLE, "init": ("k-means++", "random"), "n_init": (int, "auto"),
}  # fmt: skip
_SCALED: Mapping[str, Rule] = {"with_mean": _FLAG, "with_std": _FLAG}

IN_FILES: Mapping[str, Mapping[str, Rule]] = {
    # Classifiers
    "discriminant_analysis.LinearDiscriminantAnalysis": {
        **_COMPONENTS, "solver": ("svd", "lsqr", "eigen"), "shrinkage": (float, "auto"), "priors": _NUMBERS,
        "tol": _NUMBER,
    },
    "discriminant_analysis.QuadraticDiscriminantAnalysis": {
        "reg_param": _NUMBER, "priors": _NUMBERS, "tol": _NUMBER,
    },
    "dummy.DummyClassifier": {"strategy": ("most_frequent", "prior", "stratified", "uniform")},
    "ensemble.AdaBoostClassifier": {"n_estimators": _WHOLE, "learning_rate": _NUMBER},
    "ensemble.BaggingClassifier": {
        "n_estimators": _WHOLE, "max_samples": (int, float), "max_features": (int, float), "bootstrap": _FLAG,
        "bootstrap_features": _FLAG,
    },
    "ensemble.ExtraTreesClassifier": _FOREST,
    "ensemble.GradientBoostingClassifier": {
        **_TREE, "n_estimators": _WHOLE, "learning_rate": _NUMBER, "subsample": _NUMBER,
        "loss": ("log_loss", "exponential"), "n_iter_no_change": _WHOLE, "validation_fraction": _NUMBER, "tol": _NUMBER,
    },
    "ensemble.HistGradientBoostingClassifier": {
        **_DESCENT, "learning_rate": _NUMBER, "max_leaf_nodes": _WHOLE, "max_depth": _WHOLE, "min_samples_leaf": _WHOLE,
        "l2_regularization": _NUMBER, "max_bins": _WHOLE, "max_features": _NUMBER, "early_stopping": (bool, "auto"),
        "validation_fraction": (int, float), "n_iter_no_change": _WHOLE, "class_weight": _WEIGHTS,
    },
    "ensemble.RandomForestClassifier": _FOREST,
    "linear_model.LogisticRegression": {
        **_LINEAR, "C": _NUMBER, "dual": _FLAG, "intercept_scaling": _NUMBER,
        "solver": ("lbfgs", "liblinear", "newton-cg", "newton-cholesky", "sag", "saga"),
    },
    "linear_model.Perceptron": {**_LINEAR, **_STOPPED, "alpha": _NUMBER, "eta0": _NUMBER},
    "linear_model.RidgeClassifier": {
        **_DESCENT, "alpha": _NUMBER, "fit_intercept": _FLAG, "class_weight": _WEIGHTS, "positive": _FLAG,
        "solver": ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"),
    },
    "linear_model.SGDClassifier": {
        **_LINEAR, **_STOPPED, "alpha": _NUMBER, "epsilon": _NUMBER, "eta0": _NUMBER, "power_t": _NUMBER,
        "learning_rate": ("constant", "optimal", "invscaling", "adaptive"), "average": (bool, int),
        "loss": ("hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error", "huber"),
    },
    "naive_bayes.BernoulliNB": {**_SMOOTHED, "binarize": _NUMBER},
    "naive_bayes.ComplementNB": {**_SMOOTHED, "norm": _FLAG},
    "naive_bayes.GaussianNB": {"priors": _NUMBERS, "var_smoothing": _NUMBER},
    "naive_bayes.MultinomialNB": _SMOOTHED,
    "neighbors.KNeighborsClassifier": {**_NEIGHBORS, "n_neighbors": _WHOLE},
    "neighbors.NearestCentroid": {"metric": ("euclidean", "manhattan"), "shrink_threshold": _NUMBER},
    "neighbors.RadiusNeighborsClassifier": {**_NEIGHBORS, "radius": _NUMBER, "outlier_label": ("most_frequent",)},
    "neural_network.MLPClassifier": {
        **_DESCENT, **_STOPPED, "hidden_layer_sizes": (int, tuple), "alpha": _NUMBER, "batch_size": (int, "auto"),
        "activation": ("identity", "logistic", "tanh", "relu"), "solver": ("lbfgs", "sgd", "adam"),
        "learning_rate": ("constant", "invscaling", "adaptive"), "learning_rate_init": _NUMBER, "power_t": _NUMBER,
        "momentum": _NUMBER, "nesterovs_momentum": _FLAG, "beta_1": _NUMBER, "beta_2": _NUMBER, "epsilon": _NUMBER,
        "max_fun": _WHOLE,
    },
    "svm.LinearSVC": {
        **_DESCENT, "C": _NUMBER, "loss": ("hinge", "squared_hinge"), "penalty": ("l1", "l2"), "dual": (bool, "auto"),
        "fit_intercept": _FLAG, "intercept_scaling": _NUMBER, "class_weight": _WEIGHTS,
        "multi_class": ("ovr", "crammer_singer"),
    },
    "svm.NuSVC": {**_SVC, "nu": _NUMBER},
    "svm.SVC": {**_SVC, "C": _NUMBER},
    "tree.DecisionTreeClassifier": {**_TREE, **_GINI, "splitter": ("best", "random")},
    "tree.ExtraTreeClassifier": {**_TREE, **_GINI, "splitter": ("best", "random")},
    # Transformers
    "cluster.FeatureAgglomeration": {
        "n_clusters": _WHOLE, "linkage": ("ward", "complete", "average", "single"), "distance_threshold": _NUMBER,
        "metric": ("euclidean", "l1", "l2", "manhattan", "cosine"), "compute_full_tree": (bool, "auto"),
    },
    "cluster.KMeans": {**_MEANS, "algorithm": ("lloyd", "elkan")},
    "cluster.MiniBatchKMeans": {**_MEANS, "batch_size": _WHOLE, "reassignment_ratio": _NUMBER},
    "decomposition.FactorAnalysis": {
        **_COMPONENTS, **_DESCENT, "svd_method": ("lapack", "randomized"), "iterated_power": _WHOLE,
        "rotation": ("varimax", "quartimax"),
    },
    "decomposition.FastICA": {
        **_COMPONENTS, **_DESCENT, "algorithm": ("parallel", "deflation"), "fun": ("logcosh", "exp", "cube"),
        "whiten": (bool, "unit-variance", "arbitrary-variance"), "whiten_solver": ("svd", "eigh"),
    },
    "decomposition.IncrementalPCA": {**_COMPONENTS, "whiten": _FLAG, "batch_size": _WHOLE},
    "decomposition.KernelPCA": {
        **_KERNELS, **_DESCENT, "eigen_solver": ("auto", "dense", "arpack", "randomized"), "remove_zero_eig": _FLAG,
    },
    "decomposition.NMF": {
        **_DESCENT, "n_components": (int, "auto"), "init": ("random", "nndsvd", "nndsvda", "nndsvdar"),
        "solver": ("cd", "mu"), "beta_loss": ("frobenius", "kullback-leibler", "itakura-saito"), "alpha_W": _NUMBER,
        "alpha_H": (float, "same"), "l1_ratio": _NUMBER, "shuffle": _FLAG,
    },
    "decomposition.PCA": {
        **_RANDOMIZED, "n_components": (int, float, "mle"), "whiten": _FLAG, "iterated_power": (int, "auto"),
        "svd_solver": ("auto", "full", "covariance_eigh", "arpack", "randomized"),
    },
    "decomposition.TruncatedSVD": {
        **_COMPONENTS, **_RANDOMIZED, "algorithm": ("arpack", "randomized"), "n_iter": _WHOLE,
    },
    "feature_selection.VarianceThreshold": {"threshold": _NUMBER},
    "kernel_approximation.AdditiveChi2Sampler": {"sample_steps": _WHOLE, "sample_interval": _NUMBER},
    "kernel_approximation.Nystroem": _KERNELS,
    "kernel_approximation.RBFSampler": {**_COMPONENTS, "gamma": (float, "scale")},
    "neural_network.BernoulliRBM": {
        **_COMPONENTS, "learning_rate": _NUMBER, "batch_size": _WHOLE, "n_iter": _WHOLE,
    },
    "preprocessing.Binarizer": {"threshold": _NUMBER},
    "preprocessing.MaxAbsScaler": {},
    "preprocessing.MinMaxScaler": {"feature_range": _NUMBERS, "clip": _FLAG},
    "preprocessing.Normalizer": {"norm": ("l1", "l2", "max")},
    "preprocessing.PowerTransformer": {"method": ("yeo-johnson", "box-cox"), "standardize": _FLAG},
    "preprocessing.QuantileTransformer": {
        "n_quantiles": _WHOLE, "output_distribution": ("uniform", "normal"), "subsample": _WHOLE,
    },
    "preprocessing.RobustScaler": {
        "with_centering": _FLAG, "with_scaling": _FLAG, "quantile_range": _NUMBERS, "unit_variance": _FLAG,
    },
    "preprocessing.StandardScaler": _SCALED,
    "random_projection.GaussianRandomProjection": {"n_components": (int, "auto"), "eps": _NUMBER},
    "random_projection.SparseRandomProjection": {
        "n_components": (int, "auto"), "eps": _NUMBER, "density": (float, "auto"), "dense_output": _FLAG,
    },
}  # fmt: skip
"""Class → parameter → what a file may give it: a type (float takes whole numbers too), or one of these words."""


def check_named(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse what nobody may name, whoever asks; nothing is imported for that.

    Parameters
    ----------
    name : str
        Path within ``sklearn``.
    parameters : mapping
        What the class is to be made with.

    Raises
    ------
    ValueError
        If the path is no class of `MODULES`, or a value could open a file, run what stands in it, or start processes.
    """
    module, _, class_name = name.rpartition(".")
    if module not in MODULES or not _CLASS.fullmatch(class_name):
        raise ValueError(
            f"{name!r:.80} is no class of scikit-learn that can be named here; expected a path such as "
            "neighbors.KNeighborsClassifier or decomposition.PCA"
        )
    for key, value in parameters.items():
        given = {"name": name, "key": key, "value": value}
        if key in _REFUSED and value is not None:
            raise ValueError(
                "{name} with {key}={value!r:.60}: {why}; leave {key} out".format(why=_REFUSED[key], **given)
            )
        if key == "n_jobs" and value is not None and (type(value) is not int or value != 1):
            raise ValueError(f"{name} with n_jobs={value!r:.60}: only n_jobs=1 is used here")
        if not _is_plain(value):
            raise ValueError(
                (
                    "{name} with {key}={value!r:.60}: expected a finite number, true, false, null, a list of numbers "
                    "or one word of letters, digits and _ + -"
                ).format(**given)
            )


def check_in_file(name: str, parameters: Mapping[str, Any]) -> None:
    """Refuse what a file may not name.

    Parameters
    ----------
    name : str
        Path within ``sklearn``.

    Raises
    ------
    ValueError
        If the class, a parameter or its value does not stand in `IN_FILES`.
    """
    if name not in IN_FILES:
        raise ValueError(f"{name!r:.80} is not among the classes of scikit-learn that a file may name")
    allowed = {**_ALWAYS, **IN_FILES[name]}
    check_named(name, parameters)
    for key, value in parameters.items():
        given = {"name": name, "key": key, "value": value}
        if key not in allowed:
            raise ValueError("{name} with {key}={value!r:.60}: a file may not give {key}".format(**given))
        if value is not None and key != "n_jobs" and not _fits(value, allowed[key]):
            raise ValueError("{name} with {key}={value!r:.60}: a file may not give this value".format(**given))


def _is_plain(value: Any) -> bool:
    if value is None or isinstance(value, (bool, int)):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, str):
        return _WORD.fullmatch(value) is not None
    return isinstance(value, tuple) and all(type(each) in (int, float) and _is_plain(each) for each in value)


def _fits(value: Any, rule: Rule) -> bool:
    """Whether a plain value is one that a rule allows."""
    if isinstance(value, str):
        return value in rule
    if isinstance(value, tuple):
        return tuple in rule and len(value) <= _LONGEST and all(abs(each) <= _MOST for each in value)
    if type(value) is int:
        return (int in rule and abs(value) <= _MOST) or float in rule
    return type(value) in rule
