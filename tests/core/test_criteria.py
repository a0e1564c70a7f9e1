"""The criteria agree with their definitions; the constants of the method are written out."""

import numpy as np
import pytest

from slide_gui.core.sampling import held_out_mask
from slide_gui.core.svm.criteria import CRITERIA, evaluate, hold_out, press, radius_margin, span
from slide_gui.core.svm.newton import newton
from tests.core.svm_data import layers, three_classes

RIDGE = 0.2


def _problem(n, data=layers):
    Z, codes = data(n)
    return np.exp(-np.square(Z[:, None] - Z[None]).sum(-1) / 20.0), codes


def _bordered(matrix):
    n = len(matrix)
    return np.block([[matrix, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])


def _trained(kernel, y):
    """Return the active set, and the solution β and b of its system."""
    active = newton(kernel, y, RIDGE).active
    system = _bordered(kernel[np.ix_(active, active)] + RIDGE * np.eye(len(active)))
    solution = np.linalg.solve(system, np.append(y[active], 0.0))
    return active, solution[:-1], solution[-1]


def test_that_hold_out_is_the_smoothed_error_of_an_svm_that_never_saw_the_points():
    kernel, codes = _problem(60)
    y, held_out = 2.0 * codes - 1.0, held_out_mask(codes, 3)
    train = np.flatnonzero(~held_out)
    active, beta, bias = _trained(kernel[np.ix_(train, train)], y[train])
    outputs = kernel[np.ix_(held_out, train[active])] @ beta + bias
    expected = np.mean(0.5 * (1.0 + np.tanh(-5.0 * y[held_out] * outputs)))
    found = hold_out(kernel, y, RIDGE, held_out)
    assert found.value == pytest.approx(expected, abs=1e-10)
    assert 0.05 < expected < 0.95
    assert not found.beta[held_out].any()
    np.testing.assert_allclose(found.beta[train[active]], beta, atol=1e-9)
    assert found.n_support == len(active)


def test_that_span_is_the_smoothed_error_of_the_smoothed_leave_one_out_outputs():
    kernel, codes = _problem(50)
    y = 2.0 * codes - 1.0
    active, beta, _ = _trained(kernel, y)
    loosened = 0.1 / np.abs(beta)
    system = _bordered(kernel[np.ix_(active, active)] + np.diag(RIDGE + loosened))
    spans = 1.0 / np.diag(np.linalg.inv(system))[:-1] - loosened
    outputs = 1.0 - y[active] * beta * spans
    expected = np.sum(0.5 * (1.0 + np.tanh(-5.0 * outputs))) / 50
    found = span(kernel, y, RIDGE)
    assert found.value == pytest.approx(expected, abs=1e-10)
    assert 0.05 < expected < 0.95
    assert found.n_support == len(active) < 50


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("data", [layers, three_classes])
def test_that_G_is_the_derivative_by_every_entry_of_the_kernel_and_by_the_ridge(criterion, data):
    kernel, codes = _problem(40, data)
    held_out = held_out_mask(codes, 0)
    direction = np.random.default_rng(0).standard_normal(kernel.shape)
    direction = (direction + direction.T) / 40
    np.fill_diagonal(direction, 0.0)  # the diagonal of a kernel is 1; the ridge covers its derivative

    def value(step, ridge=RIDGE):
        return evaluate(criterion, kernel + step * direction, codes, ridge, held_out).value

    gradient = evaluate(criterion, kernel, codes, RIDGE, held_out).gradient
    assert (value(1e-5) - value(-1e-5)) / 2e-5 == pytest.approx(np.vdot(gradient, direction), abs=1e-7)
    by_ridge = (value(0.0, RIDGE + 1e-5) - value(0.0, RIDGE - 1e-5)) / 2e-5
    assert by_ridge == pytest.approx(np.trace(gradient), abs=1e-7)
    assert abs(np.vdot(gradient, direction)) > 1e-4


def _two_classes(criterion, kernel, y, held_out):
    if criterion == "hold-out":
        return hold_out(kernel, y, RIDGE, held_out)
    return {"span": span, "radius-margin": radius_margin}[criterion](kernel, y, RIDGE)


@pytest.mark.parametrize("criterion", ["radius-margin", "span", "hold-out"])
def test_that_three_classes_are_the_mean_of_their_pairs_each_on_its_own_points(criterion):
    kernel, codes = _problem(60, three_classes)
    held_out, starts = held_out_mask(codes, 0), {}
    whole = evaluate(criterion, kernel, codes, RIDGE, held_out, starts)
    pairs = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        own = np.flatnonzero((codes == i) | (codes == j))
        y = np.where(codes[own] == j, 1.0, -1.0)
        pairs.append(_two_classes(criterion, kernel[np.ix_(own, own)], y, held_out[own]))
        np.testing.assert_allclose(starts[i, j], pairs[-1].beta, atol=1e-9)
    assert whole.value == pytest.approx(np.mean([pair.value for pair in pairs]), abs=1e-12)
    assert whole.n_support == sum(pair.n_support for pair in pairs)


def test_that_press_of_three_classes_is_the_mean_over_each_class_against_the_rest():
    kernel, codes = _problem(45, three_classes)
    nobody = np.zeros(45, dtype=bool)
    columns = [press(kernel, np.where(codes == k, 1.0, -1.0)[:, None], RIDGE) for k in range(3)]
    whole = evaluate("press", kernel, codes, RIDGE, nobody)
    assert whole.value == pytest.approx(np.mean([column.value for column in columns]), abs=1e-12)
    np.testing.assert_allclose(whole.gradient, np.mean([column.gradient for column in columns], axis=0), atol=1e-12)


def test_that_a_start_from_a_neighbour_changes_no_criterion():
    kernel, codes = _problem(60)
    held_out = held_out_mask(codes, 0)
    for criterion in CRITERIA:
        starts = {}
        evaluate(criterion, kernel**1.3, codes, RIDGE, held_out, starts)
        warm = evaluate(criterion, kernel, codes, RIDGE, held_out, starts)
        cold = evaluate(criterion, kernel, codes, RIDGE, held_out)
        assert warm.value == pytest.approx(cold.value, abs=1e-9)
        np.testing.assert_allclose(warm.gradient, cold.gradient, atol=1e-9)


def test_that_hold_out_needs_a_point_held_out():
    kernel, codes = _problem(10)
    with pytest.raises(ValueError, match="a class of at least two"):
        evaluate("hold-out", kernel, codes, RIDGE, np.zeros(10, dtype=bool))
