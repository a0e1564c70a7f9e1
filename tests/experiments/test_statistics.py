"""Tests of difference against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, binomtest, t, ttest_1samp

from slide_gui.experiments.statistics import holm, mcnemar, resampled_t


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


def test_that_the_resampled_t_test_has_the_variance_of_nadeau_and_bengio() -> None:
    differences = [0.011, 0.004, 0.009, -0.002, 0.006]
    statistic = np.mean(differences) / np.sqrt(np.var(differences, ddof=1) * (1 / 5 + 2000 / 8000))
    assert resampled_t(differences, 8000, 2000) == pytest.approx(2 * t.sf(abs(statistic), 4), rel=1e-12)
    assert resampled_t([-d for d in differences], 8000, 2000) == pytest.approx(resampled_t(differences, 8000, 2000))


def test_that_the_correction_vanishes_where_few_rows_are_judged() -> None:
    differences = [0.1, 0.2, 0.15, 0.05]
    plain = ttest_1samp(differences, 0.0).pvalue
    assert resampled_t(differences, 10**12, 1000) == pytest.approx(plain, rel=1e-6)
    assert resampled_t(differences, 1200, 50_000) > 20 * plain


@pytest.mark.parametrize("differences", [[], [0.1], [0.1, 0.1, 0.1], [0.3 - 0.2, 0.2 - 0.1]])
def test_that_a_t_test_of_differences_that_do_not_vary_is_refused(differences: list[float]) -> None:
    with pytest.raises(ValueError, match="differences that vary"):
        resampled_t(differences, 100, 100)


def test_that_holm_multiplies_by_what_is_left_and_never_falls() -> None:
    # Holm 1979: sorted .01 .02 .03 .04 times 4 3 2 1, each at least the one before.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.2, 0.9, 0.5]) == pytest.approx([0.6, 1.0, 1.0])
    assert holm([]) == []
    assert holm([0.03]) == [0.03]


def test_that_holm_rejects_what_its_step_down_rule_rejects() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        p = random.random(6) ** 3
        rejected = set()
        for rank, place in enumerate(np.argsort(p)):
            if p[place] >= 0.05 / (6 - rank):
                break
            rejected.add(int(place))
        assert {i for i, adjusted in enumerate(holm(p.tolist())) if adjusted < 0.05} == rejected
