"""Explicit copies converge to the closed form, which ignores the positions of pixels."""

import numpy as np
import pytest

from slide_gui.core.slide.denoiser import CorruptedCopies, denoiser_weights
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.core.slide.stack import fit_stack
from slide_gui.experiments.inspection import closed_form
from slide_gui.experiments.inspection.closed_form import Copies, CopiesPoint, CopiesStudy, fit_shuffled
from slide_gui.progress import Cancelled
from tests.core.slide_data import images
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles

ROWS = rectangles(300).train[:, :24] + np.float32(0.05) * np.random.default_rng(0).random((300, 24), np.float32)


def stack_of(depth=1, **changes):
    return fit_stack(ROWS, StackParameters(noise=0.4, depth=depth, **changes))


def test_that_the_error_falls_as_the_square_root_of_the_copies():
    copies = CopiesStudy(stack_of(), ROWS, most=512).run()
    assert [(point.copies, point.errors.size) for point in copies.points] == [(2**k, 3) for k in range(10)]
    assert -0.57 < copies.slope() < -0.43
    assert -0.65 < copies.slope(5) < -0.35


@pytest.mark.parametrize("changes", [{}, {"fit_on": "thresholded", "threshold": 0.4}])
def test_that_the_limit_of_all_rows_is_the_fitted_layer(changes):
    stack = stack_of(depth=3, **changes)
    for layer in (1, 2, 3):
        copies = CopiesStudy(stack, ROWS, layer, most=1, seeds=1).run()
        np.testing.assert_allclose(copies.limit, stack.layers[layer - 1].weights, atol=2e-4)
        assert (copies.n_rows, copies.n_all, copies.layer) == (300, 300, layer)


def test_that_copies_of_a_convolution_converge_to_its_kernel():
    stack = fit_stack(ROWS, StackParameters(0.4, 1, sharing="convolution", window=3), image_shape=(3, 8))
    copies = CopiesStudy(stack, ROWS, seeds=2, most=64).run()
    np.testing.assert_allclose(copies.limit, stack.layers[0].weights, atol=2e-4)
    assert -0.8 < copies.slope() < -0.3
    assert np.argwhere(copies.points[-1].weights[0, :24].reshape(3, 8)).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_that_a_sample_of_rows_has_its_own_limit():
    copies = CopiesStudy(stack_of(), ROWS, most=2, most_rows=80).run()
    assert (copies.n_rows, copies.n_all) == (80, 300)
    chosen = ROWS[np.sort(np.random.default_rng(0).choice(300, 80, replace=False))].astype(float)
    clean = np.column_stack([chosen, np.ones(80)])
    np.testing.assert_allclose(copies.limit, denoiser_weights(clean.T @ clean, 0.4), atol=1e-9)


def test_that_errors_are_relative_to_the_limit_over_all_rows_and_each():
    copies = CopiesStudy(stack_of(), ROWS, most=7, seeds=2).run()
    assert [point.copies for point in copies.points] == [1, 2, 4]
    point = copies.points[-1]
    for seed in (0, 1):
        own = CorruptedCopies(np.ascontiguousarray(ROWS), 0.4, random_state=seed)
        own.add(4, reports := StopAfter())
        assert reports.fractions == [0.0, 0.25, 0.5, 0.75, 1.0]
        away = own.weights() - copies.limit
        if seed == 0:
            np.testing.assert_allclose(point.weights, own.weights(), atol=1e-5)
        assert point.errors[seed] == pytest.approx(np.linalg.norm(away) / np.linalg.norm(copies.limit))
        expected = np.linalg.norm(away, axis=1) / np.linalg.norm(copies.limit, axis=1)
        np.testing.assert_allclose(point.row_errors[seed], expected)


def test_that_a_cancelled_study_resumes_and_ends_the_same():
    whole = CopiesStudy(stack_of(), ROWS, most=16, seeds=2).run()
    study = CopiesStudy(stack_of(), ROWS, most=16, seeds=2)
    for reports in (1, 2, 4, 5, 7, 10, 13):
        with pytest.raises(Cancelled):
            study.run(StopAfter(reports))
    last = study.run()
    for one, other in zip(whole.points, last.points, strict=True):
        np.testing.assert_array_equal(one.errors, other.errors)
        np.testing.assert_array_equal(one.weights, other.weights)
    assert study.run() is last


@pytest.mark.parametrize("layer", [1, 2])
def test_that_progress_never_falls_and_ends_at_one(layer, monkeypatch):
    stack, progress = stack_of(depth=layer), StopAfter()
    monkeypatch.setattr("slide_gui.core.slide.stack.rows_per_block", lambda _: 100)  # 300 rows in total
    result = CopiesStudy(stack, ROWS, layer, most=8, seeds=2).run(progress)
    assert progress.payloads[-1] is result
    assert progress.complete


def test_that_a_dead_pixel_has_no_curve_and_copies_without_noise_have_the_weights_of_the_limit_but_for_rounding():
    rows = ROWS.copy()
    rows[:, 3] = 0.0
    copies = CopiesStudy(fit_stack(rows, StackParameters(noise=0.4, depth=1)), rows, most=2, seeds=1).run()
    assert np.isnan(copies.points[0].row_errors[0, 3])
    assert copies.curve(3) == []
    assert copies.reference(3) is None
    assert len(copies.curve(4)) == 2
    study = CopiesStudy(fit_stack(ROWS, StackParameters(noise=0.0, depth=2, squashing="sigmoid")), ROWS, 2, most=8)
    assert max(float(point.errors.max()) for point in study.run().points) < 1e-6
    assert study.run().curve() == []


def test_that_an_impossible_study_is_refused_in_a_sentence():
    assert CopiesStudy(stack_of(), ROWS, seeds=1, most=1, most_rows=2).run().n_rows == 2
    nothing = np.zeros((9, 4), np.float32)
    with pytest.raises(ValueError, match="all inputs and weights of layer 1 are 0; use other data"):
        CopiesStudy(fit_stack(nothing, StackParameters(depth=1)), nothing).run()
    wide = np.ones((3, 1100), np.float32)
    with pytest.raises(ValueError, match="cannot fit W to copies with 1100 features; use data with 1024 or fewer"):
        CopiesStudy(fit_stack(wide, StackParameters(depth=1)), wide)


def _study(points, seeds=2):
    made = tuple(
        CopiesPoint(m, np.array(errors), np.array(of_row)[:, None], np.zeros((1, 2), np.float32))
        for m, errors, of_row in points
    )
    return Copies(0.3, 1, np.zeros((1, 2)), 10, 10, seeds, made)


def test_that_a_curve_has_geometric_means_without_points_without_a_logarithm_and_finished_points_have_every_seed():
    nan, inf = np.nan, np.inf
    copies = _study([(1, [2e-6, 8e-6], [nan, 1.0]), (2, [1e-6, 0.4], [0.5, 2.0]), (4, [0.1, inf], [0.3, -1.0])])
    assert copies.curve() == [(1, pytest.approx(4e-6), 2e-6, 8e-6)]
    assert copies.curve(0) == [(2, pytest.approx(1.0), 0.5, 2.0)]
    copies = _study([(1, [0.2, 0.8], [1.0, 1.0]), (2, [0.1, 0.4], [1.0, 1.0]), (4, [0.1], [1.0])])
    assert [point.copies for point in copies.finished().points] == [1, 2]


def test_that_the_slope_needs_three_points_from_eight_copies_on_and_the_reference_any_point():
    few = _study([(m, [1.0 / m], [1.0]) for m in (1, 2, 4, 8, 16)], seeds=1)
    assert few.slope() is None
    assert few.reference() == pytest.approx(np.sqrt((1 / 8) * 8**0.5 * (1 / 16) * 16**0.5))
    exact = _study([(m, [2.0 / m**0.5], [3.0 / m**0.5]) for m in (1, 2, 4, 8, 16, 32)], seeds=1)
    assert (exact.slope(), exact.reference(), exact.reference(0)) == pytest.approx((-0.5, 2.0, 3.0))
    enough = _study([(1, [9.0], [1.0]), *((m, [1.0 / m], [1.0]) for m in (8, 16, 32))], seeds=1)
    assert enough.slope() == pytest.approx(-1.0)
    assert _study([(m, [3.0 / m**0.5], [1.0]) for m in (1, 2, 4)], seeds=1).reference() == pytest.approx(3.0)


@pytest.mark.parametrize("fit_on", ["values", "thresholded"])
@pytest.mark.parametrize("squashing", ["threshold", "identity", "tanh"])
@pytest.mark.parametrize(("dtype", "rounding"), [("float64", 1e-12), ("float32", 1e-5)])
def test_that_every_layer_of_shuffled_pixels_is_the_same_except_for_rounding(fit_on, squashing, dtype, rounding):
    rows = images(n=300).astype("float32")
    stack = fit_stack(rows, StackParameters(noise=0.4, depth=3, fit_on=fit_on, squashing=squashing, dtype=dtype))
    fit = fit_shuffled(rows, stack, closed_form.shuffling(64, 5))
    assert len(fit.differences) == 3
    for difference, largest in zip(fit.differences, fit.largest, strict=True):
        assert difference < rounding * largest
    for layer, there in zip(stack.layers, fit.shuffled.layers, strict=True):
        assert not np.allclose(layer.weights, there.weights, atol=1e-3)
        assert there.error == pytest.approx(layer.error, rel=1e-6)


def test_that_sums_of_ones_and_zeros_in_single_precision_are_exact_at_any_depth():
    rows = images(n=300).astype("float32")
    stack = fit_stack(rows, StackParameters(noise=0.3, depth=4, dtype="float32"))
    assert max(fit_shuffled(rows, stack, closed_form.shuffling(64, 9)).differences) < 1e-13
    others = images(n=300, seed=1).astype("float32")
    assert fit_shuffled(others, stack, closed_form.shuffling(64, 9)).differences[0] > 1e-3


def test_that_a_seed_gives_one_permutation_and_shuffled_weights_can_be_unshuffled():
    order, weights = closed_form.shuffling(6, 3), np.random.default_rng(0).random((6, 7))
    np.testing.assert_array_equal(closed_form.unshuffled(weights[order][:, np.append(order, 6)], order), weights)
    np.testing.assert_array_equal(closed_form.shuffling(50, 2), np.random.default_rng(2).permutation(50))
