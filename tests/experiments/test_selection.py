"""Candidates are selected by validation error with fixed rules for ties; curves average over splits and seeds."""

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.error_rate import ErrorRate, row_errors
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.statistics import splits_rate
from slide_gui.experiments.sweeps.curves import error_curves
from slide_gui.experiments.sweeps.selection import (
    PointResult,
    best_words,
    choose,
    final_points,
    final_spec,
    mean_rate,
    pooled,
)
from tests.experiments.tiny import rectangles, spec

FINGERPRINT, RATE = "ab" * 32, ErrorRate.of_run(0.5, 100)


def candidate(error, noise=0.3, depth=1, split=0, seed=0, **spec):
    own = RunSpec(FINGERPRINT, stack=StackParameters(noise=noise, depth=depth), split=split, seed=seed, **spec)
    return PointResult(SweepPoint(noise, depth, split, seed, own.checked()), RATE, error, 1.0)


def chosen(*results):
    (one,) = choose(results)
    assert choose(results[::-1]) == (one,)
    return one


def test_that_the_smallest_error_always_wins():
    best = candidate(0.10, 0.9, 4)
    assert chosen(candidate(0.11, 0.1, 1), best, candidate(0.11, 0.2, 1)) is best


def test_that_the_one_between_better_neighbours_of_its_depth_wins_a_tie():
    lonely, surrounded = candidate(0.1, 0.1), candidate(0.1, 0.7)
    line = [lonely, candidate(0.4, 0.2), candidate(0.4, 0.3), candidate(0.2, 0.6), surrounded, candidate(0.2, 0.8)]
    assert chosen(*line) is surrounded
    assert (
        chosen(*line, candidate(0.1, 0.15, 2), candidate(0.9, 0.75, 2)) is surrounded
    )  # other depths are not neighbours


def test_that_a_point_at_the_end_of_its_axis_counts_the_neighbours_that_it_has():
    first, last = candidate(0.1, 0.1), candidate(0.1, 0.9)
    assert chosen(first, candidate(0.3, 0.2), candidate(0.2, 0.8), last) is last
    assert chosen(first, candidate(0.2, 0.2), candidate(0.3, 0.8), last) is first


def test_that_only_the_next_noise_on_either_side_is_a_neighbour():
    flanked, level = candidate(0.1, 0.3), candidate(0.1, 0.8)
    line = [candidate(0.5, 0.1), candidate(0.2, 0.2), flanked, candidate(0.2, 0.4), candidate(0.5, 0.5)]
    line += [candidate(0.25, 0.6), candidate(0.25, 0.7), level, candidate(0.25, 0.9)]
    assert chosen(*line) is flanked


def test_that_fewer_layers_and_then_less_noise_win_a_remaining_tie():
    shallow, deep = candidate(0.1, 0.5, 1), candidate(0.1, 0.5, 2)
    assert chosen(deep, shallow) is shallow
    quiet, loud = candidate(0.1, 0.2), candidate(0.1, 0.4)
    assert chosen(loud, quiet) is quiet


def test_that_neighbours_have_the_same_ridge():
    def ridged(error, noise, ridge):
        spec = RunSpec(FINGERPRINT, stack=StackParameters(noise=noise, depth=1, ridge=ridge))
        return PointResult(SweepPoint(noise, 1, 0, 0, spec), RATE, error, 1.0)

    alone, flanked = ridged(0.1, 0.2, 1.0), ridged(0.1, 0.6, 10.0)
    assert chosen(alone, ridged(0.9, 0.3, 1.0), flanked, ridged(0.2, 0.7, 10.0), ridged(0.9, 0.25, 10.0)) is not alone


def test_that_the_kept_components_are_an_axis():
    def component(error, kept):
        return candidate(error, method="pca-svm", kept=kept)

    little, much = component(0.1, 0.5), component(0.1, 0.9)
    assert chosen(much, little) is little
    assert chosen(little, component(0.5, 0.6), component(0.2, 0.8), much) is much


def test_that_networks_have_no_neighbours_and_the_least_corrupted_one_wins_a_tie():
    def network(error, noise, rate=0.01):
        sda = SdaParameters((10,), noise, fine_tuning_rate=rate)
        return candidate(error, method="sda", training="split", sda=sda)

    more, less = network(0.1, 0.4), network(0.1, 0.1)
    assert chosen(more, network(0.2, 0.35), network(0.9, 0.15), less) is less


def test_that_each_split_and_seed_has_its_own_selection():
    results = [candidate(0.2, 0.3, split=s, seed=k) for s in (1, 0) for k in (1, 0)]
    found = choose([*results, candidate(0.1, 0.6, split=1, seed=0)])
    assert [(one.point.split, one.point.seed) for one in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [one.point.noise for one in found] == [0.3, 0.3, 0.6, 0.3]


def test_that_pooled_candidates_keep_the_first_split_and_have_the_mean():
    results = [
        candidate(e, n, split=s) for n, errors in ((0.3, (0.1, 0.4)), (0.6, (0.2, 0.2))) for s, e in enumerate(errors)
    ]
    found = pooled(results)
    assert [(one.point.noise, one.point.split, one.validation_error) for one in found] == [
        (0.3, 0, pytest.approx(0.25)),
        (0.6, 0, pytest.approx(0.2)),
    ]
    with pytest.raises(ValueError, match="run all of them first"):
        pooled(results[:3])
    with pytest.raises(ValueError, match="needs validation errors"):
        pooled([candidate(None, split=0), candidate(0.1, split=1)])


def test_that_equal_counts_of_errors_over_the_splits_are_equal_whatever_their_float_means():
    """The float means of 0, 0, 5 and of 0, 2, 3 errors in 240 rows differ in the last bit."""
    counts = {(0.3, 2): (0, 2, 3), (0.3, 1): (0, 0, 5), (0.6, 1): (3, 1, 1)}
    assert len({sum(wrong / 240 for wrong in each) / 3 for each in counts.values()}) > 1
    results = [
        candidate(wrong / 240, *place, split=s) for place, each in counts.items() for s, wrong in enumerate(each)
    ]
    together = pooled(results)
    assert {one.validation_error for one in together} == {5 / 720}
    for order in (together, together[::-1]):
        (best,) = choose(order)
        assert (best.point.noise, best.point.depth) == (0.3, 1)


def test_that_a_mean_over_splits_on_the_same_rows_has_the_interval_over_rows_and_splits():
    def evaluated(*wrong, split, test_set=""):
        errors = row_errors(test_set, np.arange(50), np.array(wrong))
        rate = ErrorRate.of_run(len(wrong) / 50, 50)
        return replace(candidate(0.1, split=split), rate=rate, row_errors=errors)

    same = [evaluated(1, 2, 3, split=0), evaluated(2, 3, 4, 5, split=1), evaluated(2, 7, split=2)]
    found = mean_rate(same)
    assert found == splits_rate([one.rate for one in same], [(one.row_errors,) for one in same])
    assert (found.error, found.covers) == (9 / 150, "rows and splits")
    assert mean_rate([*same[:2], evaluated(2, 7, split=2, test_set="other")]).covers == "splits"
    assert mean_rate([*same[:2], replace(same[2], row_errors=None)]).covers == "splits"


def test_that_the_best_is_named_or_the_reason_that_none_can_be_selected():
    assert best_words([]) == ""
    assert best_words([candidate(0.1, 0.3), candidate(0.2, 0.6)]) == "best on validation: noise 0.30, depth 1"
    assert best_words([candidate(0.2), candidate(0.1, depth=0)]) == "best on validation: the raw input"
    assert best_words([candidate(0.1), candidate(None, 0.6)]) == "no validation rows to select noise and depth by"
    unequal = [candidate(0.1, 0.3), candidate(0.1, 0.6), candidate(0.2, 0.3, split=1, training="split")]
    assert best_words(unequal) == "the splits have different noise levels and depths so far: none can be selected yet"


def test_that_the_final_run_is_the_candidate_on_test_rows_with_all_labels():
    selected = candidate(0.1, 0.4, 2, split=3, training="split", evaluate="validation", labels=50, fit_rows="split")
    (point,) = final_points([selected])
    assert replace(point, spec=selected.point.spec) == selected.point
    assert point.spec == final_spec(selected.point.spec)
    changed = {"training": "whole", "evaluate": "test", "labels": None, "fit_rows": "training"}
    assert point.spec == replace(selected.point.spec, **changed).checked()


DATA = rectangles(60, 40)


def final(noise, depth, error, split=0, **changes):
    own = spec(DATA, noise, depth, split=split, training="split", **changes)
    return PointResult(SweepPoint(noise, depth, split, 0, own), ErrorRate.of_run(error, 40), None, 1.0)


def test_that_a_curve_has_the_mean_over_the_splits_at_each_noise_and_depth():
    found = error_curves(
        DATA,
        [final(0.6, 2, 0.3), final(0.3, 2, 0.1), final(0.3, 2, 0.2, 1), final(0.3, 1, 0.4), final(0.3, 2, 0.2, 1)],
    )
    assert (found.dataset, found.generated, found.method, found.evaluate) == ("tiny", True, "SLIDE-SVM", "test")
    assert found.depths == (1, 2)
    assert [(point.noise, point.depth) for point in found.points] == [(0.3, 1), (0.3, 2), (0.6, 2)]
    assert [point.noise for point in found.line(2)] == [0.3, 0.6]
    assert found.line(2)[0].rate == ErrorRate.of_splits([ErrorRate.of_run(error, 40) for error in (0.1, 0.2)])
    assert found.line(1)[0].rate == ErrorRate.of_run(0.4, 40)


def test_that_a_curve_of_runs_on_the_same_test_rows_has_the_interval_over_rows_and_splits():
    answers = []
    for split, wrong in enumerate(((1, 2, 3), (2, 3, 4, 5))):
        one = final(0.3, 1, len(wrong) / 40, split)
        answers.append(replace(one, row_errors=row_errors("test", np.arange(40), np.array(wrong))))
    (found,) = error_curves(DATA, answers).points
    assert (found.rate.error, found.rate.covers) == (7 / 80, "rows and splits")


def test_that_curves_of_two_methods_or_two_sets_are_refused():
    one = final(0.3, 1, 0.1)
    for other in (final(0.3, 1, 0.1, method="median"), final(0.3, 1, 0.1, evaluate="validation")):
        with pytest.raises(ValueError, match="got 2 combinations"):
            error_curves(DATA, [one, other])
    with pytest.raises(ValueError, match="got 0 combinations"):
        error_curves(DATA, [])


BASE = RunSpec(DATA.fingerprint, stack=StackParameters(noise=0.4, depth=2))
