import numpy as np
import pytest
from sklearn.svm import SVC

from slide_gui.core.sampling import held_out_mask
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import C_GRID, enough_fresh, tune
from tests.core.svm_data import StopAfter, layers, three_classes

SIZES = (4, 3, 5)
WIDTHS = np.array([4.0, 3.0, 5.0])
SCALES = (0.2, 1.0, 3.0)
PARAMETERS = SvmParameters(SIZES, loss="hinge", tol=1e-5, seed=3)


def _wrong(Z, codes, fitted, judged):
    """Return the errors of libsvm at each point of the grid, in order."""
    counts = {}
    for scale in SCALES:
        S = Z / np.repeat(WIDTHS * scale, SIZES)
        for C in C_GRID:
            svc = SVC(gamma=1.0, C=C, tol=1e-6).fit(S[fitted], codes[fitted])
            counts[scale, C] = int(np.sum(svc.predict(S[judged]) != codes[judged]))
    return counts


@pytest.mark.parametrize("data", [layers, three_classes])
def test_that_the_fewest_errors_on_rows_not_trained_on_decide_and_the_first_of_equals(data):
    Z, codes = layers(300, noise=1.5) if data is layers else three_classes(200, seed=8)
    held_out = held_out_mask(codes, PARAMETERS.seed)
    counts = _wrong(Z, codes, ~held_out, held_out)
    best = min(counts, key=counts.__getitem__)  # the first one in a tie
    assert tune(Z, codes, SIZES, WIDTHS, SCALES, C_GRID, PARAMETERS) == best
    own = _wrong(Z, codes, ~held_out, ~held_out)
    assert min(own, key=own.__getitem__) != best  # errors on the training rows would select another point


def test_that_rows_learned_on_are_trained_on_and_only_others_judged():
    Z, codes = layers(300, noise=1.5)
    learned_on = np.arange(0, 300, 2)
    fresh = np.ones(300, dtype=bool)
    fresh[learned_on] = False
    held_out = held_out_mask(codes, PARAMETERS.seed, fresh)
    counts = _wrong(Z, codes, ~held_out, held_out)
    best = min(counts, key=counts.__getitem__)
    assert tune(Z, codes, SIZES, WIDTHS, SCALES, C_GRID, PARAMETERS, learned_on=learned_on) == best
    assert best != tune(Z, codes, SIZES, WIDTHS, SCALES, C_GRID, PARAMETERS)


def test_that_a_single_point_or_rows_none_of_which_can_be_held_out_take_no_training():
    Z, codes = layers(20)
    listener = StopAfter()
    assert tune(Z, codes, SIZES, WIDTHS, (2.0,), (5.0,), PARAMETERS, listener) == (2.0, 5.0)
    assert tune(Z[:2], np.array([0, 1]), SIZES, WIDTHS, SCALES, C_GRID, PARAMETERS, listener) == (0.2, 1.0)
    assert not listener.fractions


def test_that_a_fifth_of_the_rows_is_enough_to_judge_on():
    assert enough_fresh(80, 100)
    assert not enough_fresh(81, 100)
