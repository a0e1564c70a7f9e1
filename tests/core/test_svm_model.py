"""A trained model: how widths and C are selected, in which order it is trained, and how it predicts."""

import numpy as np
import pytest
from sklearn.svm import SVC

from slide_gui.core.sampling import held_out_mask, stratified_subset
from slide_gui.core.svm import model as svm_model
from slide_gui.core.svm.kernel import median_distances, widths_from
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import C_GRID, choose_widths, enough_fresh, fit_svm, tune
from slide_gui.core.svm.training import TrainingSet, TrainingStep
from slide_gui.progress import Cancelled
from tests.core.svm_data import SIZES, WIDTHS, StopAfter, layers, sample, three_classes

Z, CODES = layers(120, noise=1.0)
DATA = TrainingSet(Z, CODES, SIZES)
MEDIAN_WIDTHS = widths_from(median_distances(Z, SIZES), 3.0)
SCALES = (0.2, 1.0, 3.0)
TUNING = SvmParameters(SIZES, loss="hinge", tol=1e-5, seed=3)


def _given(**changes):
    return SvmParameters(SIZES, WIDTHS, **{"C": 3.0, **changes})


@pytest.mark.parametrize("data", [layers, three_classes])
def test_that_margins_equal_the_formula_in_blocks_of_any_size_and_scores_follow(data, monkeypatch):
    rows, codes = data(300)
    model = fit_svm(rows[:150], codes[:150], _given())
    scales = np.repeat(WIDTHS, SIZES)
    support = model.vectors.astype(np.float64) + model.embedding.centre / scales
    kernel = np.exp(-np.square((rows / scales)[:, None] - support[None]).sum(-1))
    expected = kernel @ model.trained.coefficients.T + model.trained.biases
    np.testing.assert_allclose(model.margins(rows), expected, atol=1e-4)
    if data is layers:
        np.testing.assert_array_equal(model.predict(rows), model.scores(rows) > 0.0)
    else:
        assert model.scores(rows).shape == (300, 3)
        np.testing.assert_array_equal(model.predict(rows), model.scores(rows).argmax(axis=1))
    monkeypatch.setattr(svm_model, "_BLOCK_VALUES", 1)  # blocks of 64 rows
    listener = StopAfter()
    np.testing.assert_allclose(model.margins(rows, progress=listener), expected, atol=1e-4)
    assert listener.fractions == sorted(listener.fractions)
    assert listener.fractions[-1] > 0.99
    assert len(set(listener.fractions)) >= 5
    with pytest.raises(Cancelled):
        model.margins(rows, progress=StopAfter(3))


def test_that_the_model_stores_its_support_vectors_in_the_precision_that_they_need():
    rows, codes = layers(1100, noise=1.5)  # up to 1 024 rows are trained in float64
    wide = SvmParameters(SIZES, (40.0, 30.0, 50.0), loss="hinge", C=1e4)
    small, large = fit_svm(rows, codes, _given(loss="hinge", C=1.0)), fit_svm(rows, codes, wide)
    assert np.linalg.norm(small.trained.coefficients) < 1000.0 < np.linalg.norm(large.trained.coefficients)
    assert (small.vectors.dtype, large.vectors.dtype) == (np.float32, np.float64)
    for model in (small, large):
        np.testing.assert_array_equal(model.vectors, model.embedding(rows, model.trained.support, model.vectors.dtype))
        assert np.all(np.diff(model.trained.support) > 0)
        assert np.all(model.trained.coefficients.any(axis=0))
    assert fit_svm(rows[:150], codes[:150], _given()).vectors.dtype == np.float64


def test_that_too_little_memory_is_refused():
    with pytest.raises(MemoryError, match="training on 100 rows of 12 columns needs at least 0 MB in addition"):
        fit_svm(Z[:100], CODES[:100], _given(memory=200_000))
    fit_svm(Z[:100], CODES[:100], _given(memory=300_000))


def test_that_all_pairs_share_the_progress():
    rows, codes = three_classes(90)
    listener = StopAfter()
    found = fit_svm(rows, codes, _given(C=10.0), progress=listener)
    assert found.trained.gap < 1e-3
    assert found.trained.converged
    assert found.steps > 3
    assert not fit_svm(rows, codes, _given(max_iter=3)).trained.converged
    steps = [step for step in listener.payloads if isinstance(step, TrainingStep)]
    assert {(step.pair, step.n_pairs) for step in steps} == {(0, 3), (1, 3), (2, 3)}
    assert listener.fractions[-1] == 1.0
    assert any(0.2 < fraction < 0.8 for fraction in listener.fractions)


def test_that_a_model_of_the_same_rows_starts_the_next_training_and_one_of_other_rows_does_not():
    parameters = _given(C=10.0, loss="hinge")
    cold = fit_svm(Z, CODES, parameters)
    warm = fit_svm(Z, CODES, parameters, start=cold.trained)
    assert warm.steps < cold.steps / 10
    np.testing.assert_allclose(warm.margins(Z), cold.margins(Z), atol=2e-3)
    few, (rows, codes) = fit_svm(Z[:60], CODES[:60], parameters), three_classes(60)
    for other in (cold, fit_svm(rows, codes, parameters)):
        found = fit_svm(Z[:60], CODES[:60], parameters, start=other.trained)
        assert found.steps == few.steps
        np.testing.assert_array_equal(found.trained.coefficients, few.trained.coefficients)


def test_that_one_class_and_a_subset_of_one_row_are_refused():
    with pytest.raises(ValueError, match="all rows belong to one class"):
        fit_svm(Z, np.zeros(120, dtype=int), SvmParameters(SIZES))
    with pytest.raises(ValueError, match="subset_size is 1"):
        fit_svm(Z, CODES, SvmParameters(SIZES, subset_size=1))
    fit_svm(Z[:4], np.array([0, 1, 0, 1]), SvmParameters(SIZES, subset_size=2, starts=1))


def test_that_shares_are_computed_from_the_medians_at_the_widths():
    parts = median_distances(Z, SIZES) / np.square(WIDTHS)
    assert fit_svm(Z, CODES, _given()).trained.shares == pytest.approx(parts / parts.sum())


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize(
    ("widths", "expected", "scales"),
    [(WIDTHS, WIDTHS, (1.0,)), ("median", MEDIAN_WIDTHS, (1.0, 0.3**0.5, 0.1**0.5, 3.0**0.5))],
)
def test_that_C_is_tuned_unless_it_is_given_with_one_scale_for_median_widths(loss, widths, expected, scales):
    parameters = SvmParameters(SIZES, widths, loss=loss, seed=2)
    scale, C = tune(DATA, np.array(expected), scales, C_GRID, parameters)
    found = fit_svm(Z, CODES, parameters)
    assert found.trained.widths == pytest.approx(np.array(expected) * scale)
    assert (found.trained.C, found.trained.history, found.trained.chosen) == (C, (), None)
    given = fit_svm(Z, CODES, SvmParameters(SIZES, widths, loss=loss, C=7.0))
    assert given.trained.widths == pytest.approx(expected)
    assert given.trained.C == 7.0


@pytest.mark.parametrize(("loss", "given"), [("hinge", None), ("squared_hinge", None), ("hinge", 7.0)])
@pytest.mark.parametrize("subset_size", [60, 2500])
def test_that_learned_widths_are_tuned_on_rows_outside_the_sample_if_there_are_enough(loss, given, subset_size):
    parameters = SvmParameters(SIZES, criterion="span", loss=loss, C=given, subset_size=subset_size, starts=1, seed=2)
    some = sample(Z, CODES, **vars(parameters))
    chosen = choose_widths(DATA, some, parameters)
    scale, C = 1.0, chosen.C
    if subset_size == 60:
        Cs = (given,) if given else tuple(chosen.C * factor for factor in (1.0, 0.3, 3.0))
        seen = stratified_subset(CODES, 60, 2)
        scale, C = tune(DATA, chosen.widths, (1.0, 0.5**0.5, 2.0**0.5), Cs, parameters, learned_on=seen)
    found = fit_svm(Z, CODES, parameters)
    assert found.trained.widths == pytest.approx(chosen.widths * scale, rel=1e-9)
    assert pytest.approx(C, rel=1e-9) == found.trained.C
    assert (found.trained.history, found.trained.chosen) == (chosen.history, chosen.chosen)


def _errors(rows, codes, fitted, evaluated):
    """Return the errors of libsvm at each point of the grid, in order."""
    counts = {}
    for scale in SCALES:
        scaled = rows / np.repeat(np.array(WIDTHS) * scale, SIZES)
        for C in C_GRID:
            svc = SVC(gamma=1.0, C=C, tol=1e-6).fit(scaled[fitted], codes[fitted])
            counts[scale, C] = int(np.sum(svc.predict(scaled[evaluated]) != codes[evaluated]))
    return counts


@pytest.mark.parametrize(("data", "n", "more"), [(layers, 300, {"noise": 1.5}), (three_classes, 200, {"seed": 8})])
@pytest.mark.parametrize("some_seen", [False, True])
def test_that_the_point_with_the_fewest_errors_on_unseen_rows_is_selected_and_the_first_in_a_tie(
    data, n, more, some_seen
):
    rows, codes = data(n, **more)
    seen = np.arange(0, n, 2) if some_seen else None
    held_out = held_out_mask(codes, TUNING.seed, None if seen is None else ~np.isin(np.arange(n), seen))
    counts = _errors(rows, codes, ~held_out, held_out)
    best = min(counts, key=counts.__getitem__)  # the first one in a tie
    found = tune(TrainingSet(rows, codes, SIZES), np.array(WIDTHS), SCALES, C_GRID, TUNING, learned_on=seen)
    assert found == best
    training = _errors(rows, codes, ~held_out, ~held_out)
    assert min(training, key=training.__getitem__) != best  # errors on the training rows would select another point


def test_that_a_single_point_or_too_few_rows_need_no_training():
    listener = StopAfter()
    assert tune(DATA, np.array(WIDTHS), (2.0,), (5.0,), TUNING, listener) == (2.0, 5.0)
    two = TrainingSet(Z[:2], np.array([0, 1]), SIZES)
    assert tune(two, np.array(WIDTHS), SCALES, C_GRID, TUNING, listener) == (0.2, 1.0)
    assert not listener.fractions


def test_that_a_fifth_of_the_rows_is_enough_to_evaluate_on():
    assert enough_fresh(80, 100)
    assert not enough_fresh(81, 100)
