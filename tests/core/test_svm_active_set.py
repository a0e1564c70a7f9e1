import numpy as np
import pytest

from slide_gui.core.svm import smo as svm_active_set
from slide_gui.core.svm.smo import Box, kkt_gap, minimise
from slide_gui.progress import Cancelled
from tests.core.svm_data import StopAfter, layers


def _problem(n, C, squared, dtype=np.float64, noise=0.5):
    Z, y = layers(n, noise=noise)
    ridge = 1.0 / C if squared else 0.0
    kernel = np.exp(-np.square(Z[:, None] - Z[None]).sum(-1) / 40.0) + ridge * np.eye(n)
    y = 2.0 * y - 1.0
    return kernel.astype(dtype), y, Box.of(y, np.inf if squared else C), ridge


def _only(monkeypatch, ends):
    """Finish with active sets as soon as the gap allows it, or with pair steps only."""
    monkeypatch.setattr(svm_active_set, "_STEPS_PER_SYSTEM", 0.0 if ends == "active sets" else 1e9)


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_active_sets_end_where_pair_steps_end(monkeypatch, squared, C, dtype):
    kernel, y, box, ridge = _problem(250, C, squared, dtype)
    answers = {}
    for ends in ("active sets", "pair steps"):
        _only(monkeypatch, ends)
        beta, residual, _ = minimise(kernel, y, np.zeros(250), box, ridge, 1e-4, 10**7)
        gap, bias = kkt_gap(residual, beta, box)
        assert gap < 1e-4
        assert abs(beta.sum()) < 1e-9 * C
        assert np.all((beta >= box.lower) & (beta <= box.upper))
        np.testing.assert_allclose(residual, y - kernel.astype(np.float64) @ beta, atol=2e-4)
        answers[ends] = kernel @ beta + bias - ridge * beta
    np.testing.assert_allclose(answers["active sets"], answers["pair steps"], atol=3e-4)


def test_that_a_bias_is_bounded_by_the_points_that_can_move_beside_some_that_cannot():
    residual, beta = np.array([0.3, 0.8, 5.0]), np.zeros(3)
    upwards = Box(np.zeros(3), np.array([1.0, 1.0, 0.0]))  # the last point has weight 0
    assert kkt_gap(residual, beta, upwards) == (-np.inf, 0.8)
    downwards = Box(np.array([-1.0, -1.0, 0.0]), np.zeros(3))
    assert kkt_gap(residual, beta, downwards) == (-np.inf, 0.3)


def test_that_active_sets_take_a_hundredth_of_the_steps_where_the_kernel_is_ill_conditioned(monkeypatch):
    kernel, y, box, ridge = _problem(400, 1e4, False)
    steps = {}
    for ends in ("active sets", "pair steps"):
        _only(monkeypatch, ends)
        near, residual, _ = minimise(kernel, y, np.zeros(400), box, ridge, 0.5, 10**7)
        beta, residual, steps[ends] = minimise(kernel, residual, near, box, ridge, 1e-6, 10**7, before=10**9)
        assert kkt_gap(residual, beta, box)[0] < 1e-6
    assert steps["active sets"] * 100 < steps["pair steps"]


def test_that_active_sets_are_tried_once_pair_steps_have_taken_their_time(monkeypatch):
    kernel, y, box, ridge = _problem(250, 1e4, False)
    both = minimise(kernel, y, np.zeros(250), box, ridge, 1e-6, 10**7)[2]
    _only(monkeypatch, "pair steps")
    assert both * 5 < minimise(kernel, y, np.zeros(250), box, ridge, 1e-6, 10**7)[2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_that_active_sets_come_to_the_end_though_rows_stand_twice_and_the_kernel_is_singular(monkeypatch, dtype):
    kernel, y, _, _ = _problem(200, 1e3, False, dtype)
    twice = np.repeat(np.arange(200), 2)
    kernel, y = kernel[np.ix_(twice, twice)], y[twice]
    box = Box.of(y, 1e3)
    _only(monkeypatch, "active sets")
    near, residual, _ = minimise(kernel, y, np.zeros(400), box, 0.0, 0.5, 10**7)
    beta, residual, steps = minimise(kernel, residual, near, box, 0.0, 1e-4, 10**7, before=10**9)
    assert kkt_gap(residual, beta, box)[0] < 1e-4
    assert steps <= 30


def test_that_pair_steps_go_on_where_active_sets_come_to_no_end(monkeypatch):
    kernel, y, box, ridge = _problem(250, 10.0, False)
    _only(monkeypatch, "active sets")
    monkeypatch.setattr(svm_active_set, "_MOST_SYSTEMS", 1)
    beta, residual, _ = minimise(kernel, y, np.zeros(250), box, ridge, 1e-4, 10**7)
    assert kkt_gap(residual, beta, box)[0] < 1e-4


def test_that_a_part_of_the_points_is_solved_with_the_sum_of_its_coefficients_kept():
    kernel, y, box, ridge = _problem(250, 10.0, False)
    whole, residual, _ = minimise(kernel, y, np.zeros(250), box, ridge, 1e-6, 10**7)
    part = np.arange(0, 250, 2)
    start = np.clip(whole + np.where(np.arange(250) % 4 == 0, 0.5, -0.5), box.lower, box.upper)[part]
    start += (whole[part].sum() - start.sum()) * (whole[part] != 0) / np.count_nonzero(whole[part])
    start = np.clip(start, box.take(part).lower, box.take(part).upper)
    own = kernel[np.ix_(part, part)]
    now = residual[part] - own @ (start - whole[part])
    beta, after, _ = minimise(own, now, start, box.take(part), ridge, 1e-6, 10**7)
    assert abs(beta.sum() - start.sum()) < 1e-9
    assert kkt_gap(after, beta, box.take(part))[0] < 1e-6


def test_that_systems_count_as_steps_and_any_report_can_cancel(monkeypatch):
    kernel, y, box, ridge = _problem(250, 10.0, False)
    near, residual, _ = minimise(kernel, y, np.zeros(250), box, ridge, 0.1, 10**7)
    _only(monkeypatch, "active sets")
    assert minimise(kernel, residual, near, box, ridge, 1e-6, 2)[2] <= 2
    listener = StopAfter()
    minimise(kernel, residual, near, box, ridge, 1e-6, 10**7, listener)
    assert len(listener.fractions) > 3
    for reports in range(1, len(listener.fractions)):
        with pytest.raises(Cancelled):
            minimise(kernel, residual, near, box, ridge, 1e-6, 10**7, StopAfter(reports))
