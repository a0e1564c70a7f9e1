"""The defaults that the estimators' documentation states are those of their parameters."""

import ast
import inspect
import re

import pytest
from sklearn.base import BaseEstimator

import slide_gui
from slide_gui.core.sda.model import TUTORIAL, SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.svm.parameters import SvmParameters

PUBLIC = [getattr(slide_gui, name) for name in slide_gui.__all__]
ESTIMATORS = [one for one in PUBLIC if inspect.isclass(one) and issubclass(one, BaseEstimator)]


def _stated(estimator):
    """The default of each parameter that the docstring states, itself or through another estimator's."""
    stated = {}
    said = inspect.getdoc(estimator)
    for names, other in re.findall(r"^(\w+(?:, \w+)*)\n    As (?:for|in) `(\w+)`", said, re.MULTILINE):
        theirs = _stated(getattr(slide_gui, other))
        stated |= {name: theirs[name] for name in names.split(", ")}
    for name, value in re.findall(r"^(\w+) : .*\bdefault=(.+)$", said, re.MULTILINE):
        gib = value.removesuffix(" GiB")
        stated[name] = ast.literal_eval(gib) if gib == value else int(gib) << 30
    return stated


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_that_every_parameter_has_the_default_that_is_stated(estimator):
    signature = inspect.signature(estimator).parameters
    stated = _stated(estimator)
    assert {name: parameter.default for name, parameter in signature.items()} == {
        name: stated[name] for name in signature
    }


@pytest.mark.parametrize(
    ("estimator", "parameters"),
    [
        ("SLIDE", StackParameters()),
        ("MultiWidthSVC", SvmParameters()),
        ("SDA", SdaParameters()),
        ("SDAClassifier", SdaParameters()),
    ],
)
def test_that_estimators_and_runs_have_the_same_defaults(estimator, parameters):
    own = vars(parameters)
    signature = inspect.signature(getattr(slide_gui, estimator)).parameters
    shared = {name: parameter.default for name, parameter in signature.items() if name in own and name != "groups"}
    assert len(shared) >= 6
    assert shared == {name: own[name] for name in shared}


def test_that_the_tutorials_recipe_is_theirs():
    assert SdaParameters((1000,) * 3, (0.1, 0.2, 0.3), 0.001, 15, 0.1, 1000, 1) == TUTORIAL
