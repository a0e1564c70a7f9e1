"""Significance tests and intervals agree with their definitions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest, t

from slide_gui.error_rate import ErrorRate, check_row_errors, error_matrix, row_errors
from slide_gui.experiments.statistics import crossed_mean, holm, mcnemar, splits_rate


@pytest.mark.parametrize(("b", "c"), [(0, 1), (0, 8), (3, 10), (10, 3), (40, 70), (7, 7), (900, 1000)])
def test_that_mcnemar_is_the_binomial_test_of_the_rows_that_differ(b, c):
    rows = np.arange(5050)
    found = mcnemar((rows < b) | (rows >= 5000), ((rows >= 1000) & (rows < 1000 + c)) | (rows >= 5000))
    assert (found.only_first, found.only_second) == (b, c)
    assert found.exact == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-9)


def matrices(splits, rows, effects, count, mean=0.0, seed=0):
    """Return matrices of a Gaussian model with row, split and interaction effects of these standard deviations."""
    random = np.random.default_rng(seed)
    by_row, by_split, both = effects
    return (
        mean
        + by_row * random.standard_normal((count, 1, rows))
        + by_split * random.standard_normal((count, splits, 1))
        + both * random.standard_normal((count, splits, rows))
    )


EFFECTS = ((1.0, 0.05, 0.5), (1.0, 0.3, 0.5), (1.0, 0.1, 0.05), (0.2, 0.02, 1.0), (1.0, 0.0, 0.5))
"""Effects of rows, splits and interaction: one of the first two dominates, neither does, or splits do not differ."""


@pytest.mark.parametrize("effects", EFFECTS)
@pytest.mark.parametrize("splits", [2, 3, 5, 10])
def test_that_equal_methods_rarely_differ_significantly_and_intervals_over_ten_splits_cover_95_percent(splits, effects):
    found = [crossed_mean(matrix) for matrix in matrices(splits, 100, effects, 1500)]
    coverage = np.mean([abs(each.mean) <= each.half for each in found])
    assert coverage >= 0.94
    assert coverage <= 0.97 or splits < 10 or effects in EFFECTS[3:]
    by_row, by_split, both = effects  # of two methods with equal expected and correlated errors
    common = matrices(splits, 200, (0.8 * by_row, 0.0, 0.0), 500, -1.5 * math.hypot(*effects), seed=1)
    own = [matrices(splits, 200, (0.6 * by_row, by_split, both), 500, seed=seed) for seed in (2, 3)]
    pairs = zip(*(common + each > 0 for each in own), strict=True)
    assert np.mean([crossed_mean(first.astype(int) - second).p < 0.05 for first, second in pairs]) <= 0.06


def test_that_the_variance_of_a_mean_counts_rows_and_splits_once_each_and_a_constant_matrix_is_certain():
    def components(values):
        k, n = values.shape
        residual = values - values.mean(axis=0) - values.mean(axis=1)[:, np.newaxis] + values.mean()
        both = (residual**2).sum() / ((k - 1) * (n - 1)) / (k * n)
        return values.mean(axis=0).var(ddof=1) / n, values.mean(axis=1).var(ddof=1) / k, both

    values = np.array([[3.0, 1.0, 4.0, 1.0], [5.0, 9.0, 2.0, 6.0], [5.0, 3.0, 5.0, 8.0], [9.0, 7.0, 9.0, 3.0]])
    found, (rows, splits, both) = crossed_mean(values), components(values)
    variance = max(rows + splits - both, rows, splits)
    assert (found.mean, found.variance) == (5.0, pytest.approx(variance, rel=1e-12))
    assert found.spread == pytest.approx(values.mean(axis=1).std(ddof=1))
    many = np.vstack([values, values[::-1, ::-1] + 0.5, values[:, ::-1] - 0.25])  # enough splits: Satterthwaite alone
    (k, n), (rows, splits, both) = many.shape, components(many)
    variance = max(rows + splits - both, rows, splits)
    degrees = variance**2 / (rows**2 / (n - 1) + splits**2 / (k - 1) + both**2 / ((k - 1) * (n - 1)))
    found = crossed_mean(many)
    assert (found.variance, found.degrees) == (pytest.approx(variance), pytest.approx(degrees))
    assert found.half == pytest.approx(t.ppf(0.975, degrees) * math.sqrt(variance))
    assert found.p == pytest.approx(2 * t.sf(found.mean / math.sqrt(variance), degrees))
    assert (crossed_mean(np.zeros((3, 4))).p, crossed_mean(np.ones((3, 4))).p) == (1.0, 0.0)
    assert crossed_mean(np.ones((3, 4))).half == 0.0


def test_that_few_splits_have_at_least_the_quantiles_of_cochran_and_cox():
    """For two splits that differ as much as rows, Satterthwaite alone would reject 12 % of true null hypotheses."""
    values = np.array([[0, 0, 1, 0, 0, 1, 0, 0, 0, 1], [1, 0, 1, 0, 1, 1, 0, 0, 0, 1]])
    found = crossed_mean(values)
    splits = values.mean(axis=1).var(ddof=1) / 2
    share = splits / found.variance
    assert 0.1 < share < 0.9

    def cox(level):
        return ((1 - share) * t.isf(level / 2, 9) + share * t.isf(level / 2, 1)) * math.sqrt(found.variance)

    assert found.half == pytest.approx(cox(0.05))
    for mean in (0.3, 3.0, 300.0):
        assert cox(replace(found, mean=mean).p) == pytest.approx(mean)


def packed(*errors, data="data", first=0):
    """Return the errors of some splits as runs store them."""
    evaluated = np.arange(first, first + len(errors[0]))
    return [(row_errors(data, evaluated, evaluated[np.array(row, bool)]),) for row in errors]


def rates(*errors):
    return [ErrorRate.of_run(sum(row) / len(row), len(row)) for row in errors]


def test_that_errors_by_row_are_unpacked_as_they_were_packed_and_folds_of_each_split_are_joined_in_any_order():
    evaluated = np.array([3, 4, 9, 10, 11, 20, 21, 30, 31, 40, 50])
    one, other = row_errors("data", evaluated, evaluated[[1, 10]]), row_errors("data", evaluated, evaluated[[0]])
    assert [np.flatnonzero(row).tolist() for row in error_matrix([one, other])] == [[1, 10], [0]]
    assert len(one) == 16 + 8 + 2
    assert check_row_errors(one, 11)
    assert not any(check_row_errors(broken, n) for broken, n in ((one, 12), (one[:-1], 11), (b"", 0), (one, 5)))
    errors = np.array([[1, 0, 0, 0, 1, 1], [0, 0, 1, 0, 1, 0], [1, 1, 1, 0, 1, 1]])
    folds = [
        (packed(row[:2], data="fold 1")[0][0], packed(row[2:], data="fold 2")[0][0])[:: 1 - 2 * (number % 2)]
        for number, row in enumerate(errors)
    ]
    assert splits_rate(rates(*errors), folds) == splits_rate(rates(*errors), packed(*errors))
    assert splits_rate(rates(*errors), [*folds[:2], folds[2][:1]]).covers == "splits"


@pytest.mark.parametrize(
    "other",
    [row_errors("other", np.arange(9), np.arange(2)), row_errors("data", np.arange(1, 10), np.arange(1, 3)),
     row_errors("data", np.arange(10), np.arange(2))],
)  # fmt: skip
def test_that_errors_on_other_rows_give_no_matrix(other):
    assert error_matrix([row_errors("data", np.arange(9), np.arange(2)), other]) is None


def test_that_a_mean_over_shared_rows_has_the_crossed_interval_and_its_name():
    errors = np.array([[1, 1, 1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 1, 1, 0, 0, 1]])
    found, crossed = splits_rate(rates(*errors), packed(*errors)), crossed_mean(errors)
    wilson = ErrorRate.of_run(9 / 24, 8)
    assert (found.error, found.n, found.n_splits, found.covers) == (9 / 24, 8, 3, "rows and splits")
    assert found.low == max(0.0, min(9 / 24 - crossed.half, wilson.low))
    assert found.high == min(1.0, max(9 / 24 + crossed.half, wilson.high))
    assert found.spread == pytest.approx(np.std([3 / 8, 1 / 8, 5 / 8], ddof=1))


def test_that_splits_that_agree_are_no_more_certain_than_one_of_them():
    """Between-split variance alone would give errors of .0144, .0144 and .0145 an interval of 1.43 to 1.46 %."""
    rows = np.arange(10_000)
    alike = [rows < 144, rows < 144, rows < 144]
    nearly = [rows < 144, rows < 144, rows < 145]
    elsewhere = [rows < 144, (rows >= 500) & (rows < 644), (rows >= 1000) & (rows < 1144)]
    one = ErrorRate.of_run(0.0144, 10_000)
    for errors, covers in ((alike, "rows"), (nearly, "rows and splits"), (elsewhere, "rows and splits")):
        each = [(row_errors("", rows, np.flatnonzero(row)),) for row in errors]
        found = splits_rate([ErrorRate.of_run(float(row.mean()), 10_000) for row in errors], each)
        assert found.covers == covers
        assert found.high - found.low >= one.high - one.low
        assert (found.low, found.high) == pytest.approx((one.low, one.high), abs=2e-4)


def test_that_splits_on_other_or_unknown_rows_have_students_interval_of_their_means():
    errors = [[1, 0, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0, 0]]
    apart = [packed(row, first=10 * number)[0] for number, row in enumerate(errors)]
    unknown = [*packed(*errors[:2]), (None,)]
    for known in (apart, unknown):
        assert splits_rate(rates(*errors), known) == ErrorRate.of_splits(rates(*errors))
    assert ErrorRate.of_splits(rates(*errors)).covers == "splits"
    assert splits_rate(rates(errors[0]), packed(errors[0])) == ErrorRate.of_run(1 / 8, 8)


def test_that_holm_multiplies_by_the_number_of_remaining_tests_and_never_falls():
    # Holm 1979: ascending p values times 4, 3, 2, 1; each result is at least the one before.
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.2, 0.9, 0.6]) == pytest.approx([0.6, 1.0, 1.0])
    assert holm([]) == []
    assert holm([0.03]) == [0.03]
