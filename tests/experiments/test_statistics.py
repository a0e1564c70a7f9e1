"""Intervals and tests against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from slide_gui.experiments.statistics import half_interval, mcnemar, mean_error


def test_that_the_interval_is_the_normal_one() -> None:
    assert half_interval(0.2, 100) == pytest.approx(1.96 * 0.04)
    assert half_interval(0.0, 10) == 0.0
    assert math.isnan(half_interval(0.0, 0))


def test_that_a_mean_over_splits_carries_both_kinds_of_chance() -> None:
    mean = mean_error([0.1, 0.2, 0.3], 400)
    assert (mean.error, mean.n_splits) == (pytest.approx(0.2), 3)
    assert mean.spread == pytest.approx(0.1)
    assert mean.half == pytest.approx(1.96 * math.sqrt(0.2 * 0.8 / 400 + 0.01 / 3))
    assert mean_error([0.2], 400).half == half_interval(0.2, 400)
    with pytest.raises(ValueError, match="no errors"):
        mean_error([], 10)


@pytest.mark.parametrize(("b", "c"), [(0, 1), (0, 8), (3, 10), (10, 3), (40, 70), (7, 7), (900, 1000)])
def test_that_mcnemar_is_the_binomial_test_of_the_rows_that_differ(b: int, c: int) -> None:
    both = np.arange(5000, 5050)
    found = mcnemar(np.concatenate([both, np.arange(b)]), np.concatenate([both, np.arange(1000, 1000 + c)]))
    assert (found.only_first, found.only_second) == (b, c)
    assert found.exact == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-9)
    if b != c:
        assert found.mid_p == pytest.approx(found.exact - binom.pmf(min(b, c), b + c, 0.5), rel=1e-9)
    else:
        assert found.mid_p == pytest.approx(1 - 0.5 * binom.pmf(b, b + c, 0.5))


def test_that_two_equal_classifiers_do_not_differ() -> None:
    assert mcnemar([1, 2], [2, 1]).exact == 1.0
