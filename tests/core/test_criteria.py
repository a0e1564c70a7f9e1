"""The criteria agree with their definitions and their gradients with finite differences. Constants are written out."""

import numpy as np
import pytest

from slide_gui.core.sampling import held_out_mask
from slide_gui.core.svm import criteria
from slide_gui.core.svm import widths as svm_widths
from slide_gui.core.svm.criteria import CRITERIA, KernelProblem, evaluate, hold_out, press, radius_margin, span
from slide_gui.core.svm.estimator import MultiWidthSVC
from slide_gui.core.svm.newton import newton
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.widths import Objective
from slide_gui.progress import NO_PROGRESS
from tests.core.svm_data import StopAfter, layers, row_weights, sample, three_classes

RIDGE = 0.2
WITH_WEIGHTS = [key for key in CRITERIA if key != "radius-margin"]


def _problem(n, data=layers):
    Z, codes = data(n)
    return np.exp(-np.square(Z[:, None] - Z[None]).sum(-1) / 20.0), codes


def _bordered(matrix):
    ones = np.ones((len(matrix), 1))
    return np.block([[matrix, ones], [ones.T, np.zeros((1, 1))]])


def test_that_hold_out_is_the_smoothed_error_of_an_svm_that_never_saw_the_points():
    kernel, codes = _problem(60)
    y, held_out = 2.0 * codes - 1.0, held_out_mask(codes, 3)
    train = np.flatnonzero(~held_out)
    active = train[newton(kernel[np.ix_(train, train)], y[train], RIDGE).active]
    inner = kernel[np.ix_(active, active)] + RIDGE * np.eye(len(active))
    *beta, bias = np.linalg.solve(_bordered(inner), np.append(y[active], 0.0))
    expected = np.mean(0.5 * (1.0 + np.tanh(-5.0 * y[held_out] * (kernel[np.ix_(held_out, active)] @ beta + bias))))
    found = hold_out(KernelProblem(kernel, y, RIDGE, held_out=held_out))
    assert found.value == pytest.approx(expected, abs=1e-10)
    assert not found.beta[held_out].any()
    np.testing.assert_allclose(found.beta[active], beta, atol=1e-9)
    assert found.n_support == len(active)


def test_that_hold_out_with_weights_equals_that_of_repeated_rows_and_needs_a_held_out_point():
    kernel, codes = _problem(60)
    held_out, weights = held_out_mask(codes, 3), np.random.default_rng(1).integers(1, 5, 60)
    rows = np.arange(60).repeat(weights)
    repeated = evaluate("hold-out", kernel[np.ix_(rows, rows)], codes[rows], RIDGE, held_out[rows])
    weighted = evaluate("hold-out", kernel, codes, RIDGE, held_out, weights=weights.astype(float))
    assert weighted.value == pytest.approx(repeated.value, abs=1e-9)
    with pytest.raises(ValueError, match="a held-out row in every pair of classes"):
        evaluate("hold-out", kernel, codes, RIDGE, np.zeros(60, dtype=bool))


@pytest.mark.parametrize("weights", [np.ones(50), row_weights(50)], ids=["equal", "weighted"])
def test_that_span_is_the_smoothed_error_of_the_smoothed_leave_one_out_outputs(weights):
    kernel, codes = _problem(50)
    y, diagonal = 2.0 * codes - 1.0, RIDGE / weights
    svm = newton(kernel, y, diagonal)
    active, beta = svm.active, svm.beta[svm.active]
    loosened = 0.1 / np.abs(beta)
    system = _bordered(kernel[np.ix_(active, active)] + np.diag(diagonal[active] + loosened))
    spans = 1.0 / np.diag(np.linalg.inv(system))[:-1] - loosened
    errors = 0.5 * (1.0 + np.tanh(-5.0 * (1.0 - y[active] * beta * spans)))
    found = span(KernelProblem(kernel, y, RIDGE, weights))
    assert found.value == pytest.approx(weights[active] @ errors / weights.sum(), abs=1e-10)
    assert found.n_support == len(active) < 50


def test_that_span_without_smoothing_is_the_error_of_svms_trained_without_each_point(monkeypatch):
    monkeypatch.setattr(criteria, "_SMOOTHING", 0.0)
    kernel, codes = _problem(40)
    y, errors = 2.0 * codes - 1.0, []
    assert len(newton(kernel, y, 5.0).active) == 40  # C is so small that every point is a support vector
    for point in range(40):
        others = np.delete(np.arange(40), point)
        svm = newton(kernel[np.ix_(others, others)], y[others], 5.0)
        output = y[point] * (kernel[point, others] @ svm.beta + svm.bias)
        errors.append(0.5 * (1.0 + np.tanh(-5.0 * output)))
    assert span(KernelProblem(kernel, y, 5.0)).value == pytest.approx(np.mean(errors), abs=1e-9)


@pytest.mark.parametrize("weights", [np.ones(30), row_weights(30)], ids=["equal", "weighted"])
def test_that_press_is_the_squared_error_of_fits_without_each_point(weights):
    kernel, codes = _problem(30)
    y, squares = 2.0 * codes - 1.0, []
    for point in range(30):
        others = np.delete(np.arange(30), point)
        system = _bordered(kernel[np.ix_(others, others)] + np.diag(RIDGE / weights[others]))
        *beta, bias = np.linalg.solve(system, np.append(y[others], 0.0))
        squares.append((y[point] - kernel[point, others] @ beta - bias) ** 2)
    found = press(KernelProblem(kernel, y[:, None], RIDGE, weights))
    assert found.value == pytest.approx(np.average(squares, weights=weights), abs=1e-10)


def test_that_radius_margin_is_variance_in_feature_space_times_squared_norm_and_refuses_weights():
    kernel, codes = _problem(50)
    y = 2.0 * codes - 1.0
    svm, ridged, centring = newton(kernel, y, 0.1), kernel + 0.1 * np.eye(50), np.eye(50) - 1.0 / 50
    variance = np.trace(centring @ ridged @ centring) / 50
    expected = variance * (svm.beta @ ridged @ svm.beta) / 50
    assert abs(radius_margin(KernelProblem(kernel, y, 0.1)).value - expected) < 1e-10
    Z, y = layers(60)
    with pytest.raises(ValueError, match=r"radius-margin criterion .* not defined with weights; choose span, hold-out"):
        MultiWidthSVC(3, criterion="radius-margin").fit(Z, y, row_weights(60))


@pytest.mark.parametrize("data", [layers, three_classes])
@pytest.mark.parametrize(
    ("criterion", "weights"), [*((key, None) for key in CRITERIA), *((key, row_weights(40)) for key in WITH_WEIGHTS)]
)
def test_that_G_is_the_derivative_by_every_entry_of_the_kernel_and_by_the_ridge(criterion, weights, data):
    kernel, codes = _problem(40, data)
    held_out = held_out_mask(codes, 0)
    direction = np.random.default_rng(0).standard_normal(kernel.shape)
    direction = (direction + direction.T) / 40
    np.fill_diagonal(direction, 0.0)  # the diagonal of a kernel is 1; the ridge covers its derivative

    def value(step, ridge=RIDGE):
        return evaluate(criterion, kernel + step * direction, codes, ridge, held_out, weights=weights).value

    gradient = evaluate(criterion, kernel, codes, RIDGE, held_out, weights=weights).gradient
    assert (value(1e-5) - value(-1e-5)) / 2e-5 == pytest.approx(np.vdot(gradient, direction), abs=1e-7)
    by_ridge = (value(0.0, RIDGE + 1e-5) - value(0.0, RIDGE - 1e-5)) / 2e-5
    assert by_ridge == pytest.approx(np.sum(np.diag(gradient) / (1.0 if weights is None else weights)), abs=1e-7)
    if weights is not None:
        equal = evaluate(criterion, kernel, codes, 3.0 * RIDGE, held_out, weights=np.full(40, 3.0))
        assert equal.value == pytest.approx(evaluate(criterion, kernel, codes, RIDGE, held_out).value, abs=1e-12)


@pytest.mark.parametrize("data", [layers, three_classes])
@pytest.mark.parametrize("theta", [(1.0, 0.8, 1.2, 1.1), (0.4, 0.9, 0.5, 3.4)])
@pytest.mark.parametrize(
    ("criterion", "weights"), [*((key, None) for key in CRITERIA), *((key, row_weights(60)) for key in WITH_WEIGHTS)]
)
def test_that_the_gradient_by_widths_and_C_equals_central_differences(monkeypatch, criterion, weights, theta, data):
    monkeypatch.setattr(svm_widths, "_CACHED_ROWS", 13)  # rows per tile of the symmetric matrices
    rows = sample(*data(60), weights)
    objective, theta = Objective(rows, SvmParameters(criterion=criterion), NO_PROGRESS), np.array(theta)
    value, slope = objective(theta)
    kernel, ridge = np.exp(-np.tensordot(np.exp(-2.0 * theta[:-1]), rows.distances, 1)), np.exp(-theta[-1])
    direct = evaluate(criterion, kernel, rows.codes, ridge, objective.held_out, weights=weights)
    assert value == pytest.approx(direct.value, rel=1e-10)
    for number, step in enumerate(1e-5 * np.eye(4)):
        objective.starts.clear()
        difference = (objective(theta + step)[0] - objective(theta - step)[0]) / 2e-5
        assert slope[number] == pytest.approx(difference, abs=1e-6)


@pytest.mark.parametrize("criterion", ["radius-margin", "span", "hold-out"])
def test_that_the_value_of_three_classes_is_the_mean_over_pairs_each_on_its_own_points(criterion):
    kernel, codes = _problem(60, three_classes)
    held_out, starts = held_out_mask(codes, 0), {}
    together = evaluate(criterion, kernel, codes, RIDGE, held_out, starts)
    pairs = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        own = np.flatnonzero((codes == i) | (codes == j))
        pairs.append(evaluate(criterion, kernel[np.ix_(own, own)], (codes[own] == j).astype(int), RIDGE, held_out[own]))
        np.testing.assert_allclose(starts[i, j], pairs[-1].beta, atol=1e-9)
    assert together.value == pytest.approx(np.mean([pair.value for pair in pairs]), abs=1e-12)
    assert together.n_support == sum(pair.n_support for pair in pairs)


def test_that_press_of_three_classes_is_the_mean_over_the_classes_each_against_the_rest():
    kernel, codes = _problem(45, three_classes)
    columns = [press(KernelProblem(kernel, np.where(codes == k, 1.0, -1.0)[:, None], RIDGE)) for k in range(3)]
    together = evaluate("press", kernel, codes, RIDGE, np.zeros(45, dtype=bool))
    assert together.value == pytest.approx(np.mean([column.value for column in columns]), abs=1e-12)
    np.testing.assert_allclose(together.gradient, np.mean([column.gradient for column in columns], axis=0), atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_that_a_start_from_a_neighbour_changes_no_criterion(criterion):
    kernel, codes = _problem(60)
    held_out, starts = held_out_mask(codes, 0), {}
    evaluate(criterion, kernel**1.3, codes, RIDGE, held_out, starts)
    warm = evaluate(criterion, kernel, codes, RIDGE, held_out, starts, listener := StopAfter())
    assert set(listener.fractions) == {0.0}  # these reports only let the user cancel
    cold = evaluate(criterion, kernel, codes, RIDGE, held_out)
    assert warm.value == pytest.approx(cold.value, abs=1e-9)
    np.testing.assert_allclose(warm.gradient, cold.gradient, atol=1e-9)
