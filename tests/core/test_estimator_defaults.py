"""Estimators have the documented defaults, and reject invalid parameters by name."""

import ast
import inspect
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import slide_gui
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters

PUBLIC = [getattr(slide_gui, name) for name in slide_gui.__all__]
ESTIMATORS = [one for one in PUBLIC if inspect.isclass(one) and issubclass(one, BaseEstimator)]


def _documented(estimator):
    """Return the documented default of each parameter; docstrings may refer to those of another estimator."""
    documented = {}
    docstring = inspect.getdoc(estimator)
    for names, other in re.findall(r"^(\w+(?:, \w+)*)\n    (?:As|Same as) (?:for|in) `(\w+)`", docstring, re.MULTILINE):
        theirs = _documented(getattr(slide_gui, other))
        documented |= {name: theirs[name] for name in names.split(", ")}
    for name, value in re.findall(r"^(\w+) : .*\bdefault=(.+)$", docstring, re.MULTILINE):
        gib = value.removesuffix(" GiB")
        documented[name] = ast.literal_eval(gib) if gib == value else int(gib) << 30
    return documented


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_that_every_parameter_has_its_documented_default(estimator):
    signature = inspect.signature(estimator).parameters
    documented = _documented(estimator)
    assert {name: parameter.default for name, parameter in signature.items()} == {
        name: documented[name] for name in signature
    }


@pytest.mark.parametrize(
    ("estimator", "parameters"), [("SLIDE", StackParameters()), ("MultiWidthSVC", SvmParameters())]
)
def test_that_estimators_and_runs_have_the_same_defaults(estimator, parameters):
    own = vars(parameters)
    signature = inspect.signature(getattr(slide_gui, estimator)).parameters
    shared = {name: parameter.default for name, parameter in signature.items() if name in own and name != "groups"}
    assert len(shared) >= 6
    assert shared == {name: own[name] for name in shared}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_that_an_invalid_parameter_is_refused_by_its_name(estimator):
    rows, labels = np.random.default_rng(0).random((12, 6)), np.arange(12) % 2
    number = {slide_gui.MultiWidthSVC: "C", slide_gui.LinearImputer: "ridge"}.get(estimator, "noise")
    with pytest.raises(ValueError, match=rf"{number} is -1\.5; it must be"):  # not np.float64(-1.5)
        estimator(**{number: np.float64(-1.5)}).fit(rows, labels)
    for name in inspect.signature(estimator).parameters:
        for wrong in (object(), {1: 2}, np.array([-1.0, np.nan]), "such and such"):
            if name == "class_weight" and isinstance(wrong, dict):  # scikit-learn only warns about this value
                continue
            with pytest.raises(ValueError, match=rf"\b{name}\b"):
                estimator(**{name: wrong}).fit(rows, labels)


@pytest.mark.parametrize("estimator", [one for one in ESTIMATORS if hasattr(one(), "random_state")])
@pytest.mark.parametrize("seed", [-1, 1.5, "7", [7]])
def test_that_an_invalid_seed_is_refused_with_the_allowed_values(estimator, seed):
    rows, labels = np.random.default_rng(0).random((12, 6)), np.arange(12) % 2
    with pytest.raises(ValueError, match="must be an integer, 0 or more, a NumPy RandomState, or None"):
        estimator(random_state=seed).fit(rows, labels)
