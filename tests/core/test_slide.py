import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from slide_gui import SLIDE, MultiWidthSVC, SLIDEClassifier


def _summed_in_float32(estimator):
    """Return the reason why a check fails: rows with weights are summed in float64, others in `dtype`."""
    reason = "without weights, products of float32 rows are summed in float32"
    return {"check_sample_weight_equivalence_on_dense_data": reason} if estimator.dtype == "float32" else {}


@pytest.mark.filterwarnings("ignore:.* of the values are above the threshold")
@parametrize_with_checks(
    [SLIDE(), SLIDE(depth=1, dtype="float64", squashing="tanh")], expected_failed_checks=_summed_in_float32
)
def test_that_slide_keeps_the_estimator_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("text", [[["1", "2"], ["3", "4"]], np.array([[0.5, 1.0], [0.0, "1.0"]], dtype=object)])
@pytest.mark.parametrize("estimator", [SLIDE(depth=1), SLIDEClassifier(), MultiWidthSVC()])
def test_that_numbers_given_as_text_are_refused(estimator, text):
    with pytest.raises(ValueError, match=r"X contains text: row \d, feature \d is '1(\.0)?'; convert it to a number"):
        estimator.fit(text, [0, 1])
    slide = SLIDE(depth=1).fit(np.eye(2))
    with pytest.raises(ValueError, match="X contains text"):
        slide.transform(text)


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("slide_gui", "numpy"),
        ("slide_gui.core.baselines", "sklearn"),
        ("slide_gui.core.svm.selection", "PySide6 matplotlib scipy sklearn"),
        ("slide_gui.core.slide.estimator", "PySide6 matplotlib pyqtgraph sklearn.svm sklearn.linear_model"),
    ],
)
def test_that_importing_a_part_of_the_package_is_cheap(module, absent):
    code = f"import sys, {module}; print([name for name in {absent.split()!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("scale", [0.01, 1e-4])
@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_that_features_that_are_constant_after_the_threshold_cause_a_warning(scale, as_rows):
    X = np.random.default_rng(0).random((300, 12)).astype(np.float32)
    with pytest.warns(UserWarning, match=r"0\.00% of the values are above the threshold 0\.5: only 0 of 12 features"):
        SLIDE(depth=1).fit(as_rows(scale * X))
    with pytest.warns(UserWarning, match=r"100\.00% of the values are above"):
        SLIDE(depth=1).fit_transform(as_rows(X + 1.0))
    for fine in (SLIDE(depth=1), SLIDE(threshold=0.5 * scale), SLIDE(squashing="tanh"), SLIDE(depth=0)):
        fine.fit(as_rows(X if fine.depth == 1 else scale * X))  # pytest turns a warning into an error
    lit = np.zeros((300, 300), np.float32)
    np.fill_diagonal(lit, 1.0)  # few values are above the threshold, but no feature is constant
    SLIDE(depth=1).fit(as_rows(lit))


@pytest.mark.parametrize("as_rows", [np.asarray, sparse.csr_matrix])
def test_that_a_value_beyond_float32_is_named_and_not_mistaken_for_infinity(as_rows):
    X = np.random.default_rng(0).random((50, 4))
    fitted = SLIDE(depth=1).fit(X)
    X[3, 2] = 1e200
    wanted = r"X contains 1e\+200 in row 3, feature 2, which is too large for float32; scale"
    for attempt in (lambda: SLIDE().fit(as_rows(X)), lambda: SLIDE().fit_transform(as_rows(X))):
        with pytest.raises(ValueError, match=wanted):
            attempt()
    with pytest.raises(ValueError, match="which is too large for float32"):
        fitted.transform(as_rows(X))
    with pytest.raises(ValueError, match="sum of their squares is infinite"):
        SLIDE(dtype="float64").fit(as_rows(X))
