"""Intervals of error rates agree with their definitions."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, t

from slide_gui.error_rate import ClassRates, ErrorRate


@pytest.mark.parametrize(("wrong", "n"), [(0, 100), (1, 50), (7, 240), (620, 50_000), (50, 100), (100, 100)])
def test_that_the_interval_of_one_run_is_wilsons(wrong, n):
    rate = ErrorRate.of_run(wrong / n, n)
    exact = binomtest(wrong, n).proportion_ci(0.95, method="wilson")
    assert (rate.low, rate.high) == pytest.approx((exact.low, exact.high), rel=1e-12, abs=1e-15)
    assert 0.0 <= rate.low <= rate.error <= rate.high <= 1.0
    assert (rate.n, rate.n_splits, rate.spread) == (n, 1, 0.0)


def of_splits(errors, n):
    return ErrorRate.of_splits([ErrorRate.of_run(error, n) for error in errors])


def test_that_the_interval_of_a_mean_over_splits_is_students():
    rate = of_splits([0.1, 0.2, 0.3], 400)
    half = t.ppf(0.975, 2) * 0.1 / math.sqrt(3)
    assert (rate.error, rate.spread, rate.n_splits, rate.n) == (pytest.approx(0.2), pytest.approx(0.1), 3, 400)
    assert (rate.low, rate.high, rate.covers) == (0.0, pytest.approx(0.2 + half), "splits")
    ten = [wrong / 10_000 for wrong in (3012, 2893, 3100, 2950, 2700, 3205, 3333, 2845, 3060, 2902)]
    wide = t.interval(0.95, 9, np.mean(ten), np.std(ten, ddof=1) / math.sqrt(10))
    assert (of_splits(ten, 10_000).low, of_splits(ten, 10_000).high) == pytest.approx(wide)


def test_that_the_interval_of_a_mean_is_no_narrower_than_that_of_one_run_and_equal_counts_have_the_same_mean():
    one = ErrorRate.of_run(0.02, 300)
    assert of_splits([0.02], 300) == one
    for errors in ([0.02] * 3, [0.02, 0.02, 0.02, 0.02, 7 / 300, 5 / 300]):
        rate = of_splits(errors, 300)
        assert (rate.error, rate.low, rate.high) == pytest.approx((0.02, one.low, one.high))
    assert of_splits([0.0, 0.0], 100).high > 0.03
    means = {of_splits([wrong / 240 for wrong in errors], 240).error for errors in ((0, 0, 5), (0, 2, 3), (3, 1, 1))}
    assert means == {5 / 720}


def test_that_every_text_of_a_rate_is_rounded_alike_and_a_few_errors_in_many_rows_not_to_none():
    rate = ErrorRate(0.014, 0.0131, 0.01499, 50_000)
    assert str(rate) == "1.40 % (1.31–1.50)"
    assert (rate.cell, rate.value, rate.interval) == ("1.40 (1.31–1.50)", "1.40", "1.31–1.50")
    assert str(ErrorRate.of_run(1 / 50_000, 50_000)) == "0.002 % (0.00–0.01)"
    rates = ClassRates.of(np.array([[9998, 2], [0, 100]]), ("wide", "tall"))
    assert "error is 0.01 %, the recall by class is wide: 99.98 %, tall: 100.0 %." in rates.sentence


def test_that_a_rate_of_no_rows_or_of_no_runs_is_refused():
    with pytest.raises(ValueError, match="for 0 rows"):
        ErrorRate.of_run(0.0, 0)
    with pytest.raises(ValueError, match="give at least one"):
        ErrorRate.of_splits([])
