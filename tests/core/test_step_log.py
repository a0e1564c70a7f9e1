"""A cancelled training continues with its log and gives the numbers of an uninterrupted one."""

import numpy as np
import pytest

from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import fit_svm
from slide_gui.core.svm.step_log import StepLog
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter


def test_that_a_rewound_log_returns_its_results_and_computes_the_next_step():
    log, state = StepLog(), {"start": 0}

    def double():
        state["start"] = 2 * state["start"] + 1
        return state["start"]

    assert [log.step(double, state) for _ in range(3)] == [1, 3, 7]
    log.rewind()
    state["start"] = 0  # a new training begins with the state of the first one
    assert [log.step(double, state) for _ in range(3)] == [1, 3, 7]
    assert state == {"start": 7}
    with pytest.raises(ZeroDivisionError):
        log.step(lambda: 1 / 0)
    assert log.step(double, state) == 15, "a step that fails is not logged"
    assert len(log.results) == 4


def rows(n, n_classes):
    """Return two blocks of three columns, with overlapping classes."""
    random = np.random.default_rng(3)
    codes = np.arange(n) % n_classes
    return (random.normal(size=(n, 6)) + 0.8 * codes[:, None]).astype(np.float32), codes


KINDS = {
    "learned, compared on folds": (90, 3, {}),
    "learned on a subset, compared on other rows and tuned": (150, 2, {"subset_size": 60}),
    "median": (90, 3, {"widths": "median"}),
    "hinge loss": (90, 2, {"loss": "hinge"}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_that_a_training_cancelled_twice_gives_the_same_bits_as_an_uninterrupted_one(kind):
    n, n_classes, changes = KINDS[kind]
    Z, codes = rows(n, n_classes)
    parameters, counter, log = SvmParameters(groups=2, starts=1, **changes), StopAfter(), StepLog()
    whole = fit_svm(Z, codes, parameters, progress=counter).trained
    for share in (0.3, 0.5):
        before = len(log.results)
        log.rewind()
        with pytest.raises(Cancelled):
            fit_svm(Z, codes, parameters, progress=StopAfter(int(share * len(counter.fractions))), log=log)
        assert len(log.results) > before
    log.rewind()
    again = StopAfter()
    continued = fit_svm(Z, codes, parameters, progress=again, log=log).trained
    assert len(again.fractions) < 0.8 * len(counter.fractions)
    assert (continued.widths, continued.C, continued.chosen) == (whole.widths, whole.C, whole.chosen)
    assert continued.history == whole.history
    assert continued.coefficients.tobytes() == whole.coefficients.tobytes()
    assert continued.biases.tobytes() == whole.biases.tobytes()
