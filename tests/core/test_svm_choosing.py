"""Widths and C that a classifier is trained with, for each way to select them."""

import numpy as np
import pytest

from slide_gui.core.sampling import stratified_subset
from slide_gui.core.svm.kernel import median_distances, widths_from
from slide_gui.core.svm.model import TrainingStep
from slide_gui.core.svm.parameters import SvmParameters
from slide_gui.core.svm.selection import choose_widths, tune
from slide_gui.core.svm.training import fit_svm
from slide_gui.core.svm.widths import WidthOptions, WidthsSample
from tests.core.svm_data import StopAfter, layers, three_classes

SIZES = (4, 3, 5)
WIDTHS = (4.0, 3.0, 5.0)
Z, CODES = layers(120, noise=1.0)
ALL_CS = (1.0, 10.0, 100.0, 1000.0)
MEDIAN_WIDTHS = widths_from(median_distances(Z, SIZES), 3.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_that_given_widths_are_kept_and_C_is_tuned_unless_it_is_given(loss):
    parameters = SvmParameters(SIZES, WIDTHS, loss=loss, seed=2)
    _, C = tune(Z, CODES, SIZES, np.array(WIDTHS), (1.0,), ALL_CS, parameters)
    found = fit_svm(Z, CODES, parameters)
    assert found.widths == pytest.approx(WIDTHS)
    assert found.C == C
    assert fit_svm(Z, CODES, SvmParameters(SIZES, WIDTHS, loss=loss, C=7.0)).C == 7.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_that_median_widths_get_one_scale_tuned_with_C_unless_C_is_given(loss):
    parameters = SvmParameters(SIZES, "median", loss=loss, seed=2)
    scales = (1.0, 0.3**0.5, 0.1**0.5, 3.0**0.5)
    scale, C = tune(Z, CODES, SIZES, MEDIAN_WIDTHS, scales, ALL_CS, parameters)
    found = fit_svm(Z, CODES, parameters)
    assert found.widths == pytest.approx(MEDIAN_WIDTHS * scale)
    assert found.C == C
    assert found.history == ()
    given = fit_svm(Z, CODES, SvmParameters(SIZES, "median", loss=loss, C=7.0))
    assert given.widths == pytest.approx(MEDIAN_WIDTHS)
    assert given.C == 7.0


@pytest.mark.parametrize(("loss", "given"), [("hinge", None), ("squared_hinge", None), ("hinge", 7.0)])
def test_that_learned_widths_are_compared_with_median_ones_then_tuned_on_the_rows_not_learned_on(loss, given):
    parameters = SvmParameters(SIZES, criterion="span", loss=loss, C=given, subset_size=60, starts=1, seed=2)
    chosen = _chosen(loss, given, subset_size=60)
    Cs = (given,) if given else tuple(chosen.C * f for f in (1.0, 0.3, 3.0))
    scales = (1.0, 0.5**0.5, 2.0**0.5)
    scale, C = tune(Z, CODES, SIZES, chosen.widths, scales, Cs, parameters, learned_on=stratified_subset(CODES, 60, 2))
    found = fit_svm(Z, CODES, parameters)
    assert found.widths == pytest.approx(chosen.widths * scale, rel=1e-9)
    assert pytest.approx(C, rel=1e-9) == found.C
    assert (found.history, found.chosen) == (chosen.history, chosen.chosen)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_that_nothing_is_tuned_where_all_rows_were_learned_on(loss):
    chosen = _chosen(loss, None, subset_size=2500)
    found = fit_svm(Z, CODES, SvmParameters(SIZES, criterion="span", loss=loss, starts=1, seed=2))
    assert (found.widths, found.C, found.chosen) == (pytest.approx(chosen.widths), chosen.C, chosen.chosen)
    assert found.history == chosen.history


def _chosen(loss, given, subset_size):
    """Return the result of `choose_widths` for a sample."""
    options = WidthOptions("span", C=given, subset_size=subset_size, starts=1, seed=2)
    parameters = SvmParameters(SIZES, loss=loss, C=given, seed=2)
    return choose_widths(Z, CODES, SIZES, WidthsSample.of(Z, CODES, SIZES, options), options, parameters)


def test_that_shares_are_those_of_the_medians_at_the_widths():
    found = fit_svm(Z, CODES, SvmParameters(SIZES, WIDTHS, C=1.0))
    parts = median_distances(Z, SIZES) / np.square(WIDTHS)
    assert found.shares == pytest.approx(parts / parts.sum())


def test_that_the_pairs_share_the_progress_and_end_at_one():
    listener = StopAfter()
    rows, codes = three_classes(90)
    fit_svm(rows, codes, SvmParameters(SIZES, WIDTHS, C=1.0), progress=listener)
    steps = [step for step in listener.payloads if isinstance(step, TrainingStep)]
    assert {(step.pair, step.n_pairs) for step in steps} == {(0, 3), (1, 3), (2, 3)}
    assert listener.fractions[-1] == 1.0
    assert any(0.2 < fraction < 0.8 for fraction in listener.fractions)


def test_that_one_class_and_a_subset_of_one_row_are_refused():
    with pytest.raises(ValueError, match="all rows belong to one class"):
        fit_svm(Z, np.zeros(120, dtype=int), SvmParameters(SIZES))
    with pytest.raises(ValueError, match="subset_size is 1"):
        fit_svm(Z, CODES, SvmParameters(SIZES, subset_size=1))
    fit_svm(Z[:4], np.array([0, 1, 0, 1]), SvmParameters(SIZES, subset_size=2, starts=1))


def test_that_a_start_of_other_rows_or_classes_is_not_taken():
    parameters = SvmParameters(SIZES, WIDTHS, C=1.0)
    rows, codes = three_classes(90)
    cold = fit_svm(Z[:60], CODES[:60], parameters)
    for start in (fit_svm(Z, CODES, parameters), fit_svm(rows[:60], codes[:60], parameters)):
        found = fit_svm(Z[:60], CODES[:60], parameters, start=start)
        assert found.steps == cold.steps
        np.testing.assert_array_equal(found.coefficients, cold.coefficients)
