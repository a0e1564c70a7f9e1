"""Choosing by validation error: what decides between equals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slide_gui.core.sda.model import SdaParameters
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.error_rate import ErrorRate
from slide_gui.experiments.runs.spec import RunSpec, SweepPoint
from slide_gui.experiments.statistics import row_errors, splits_rate
from slide_gui.experiments.sweeps.selection import (
    PointResult,
    best_words,
    choose,
    final_points,
    final_spec,
    mean_rate,
    pooled,
)

FINGERPRINT, RATE = "ab" * 32, ErrorRate.of_run(0.5, 100)


def answer(
    error: float | None, noise: float = 0.3, depth: int = 1, split: int = 0, seed: int = 0, **spec: object
) -> PointResult:
    own = RunSpec(FINGERPRINT, stack=StackParameters(noise=noise, depth=depth), split=split, seed=seed, **spec)  # type: ignore[arg-type]
    return PointResult(SweepPoint(noise, depth, split, seed, own.checked()), RATE, error, 1.0)


def chosen(*answers: PointResult) -> PointResult:
    (one,) = choose(answers)
    assert choose(answers[::-1]) == (one,)
    return one


def test_that_the_least_error_wins_before_all_else() -> None:
    best = answer(0.10, 0.9, 4)
    assert chosen(answer(0.11, 0.1, 1), best, answer(0.11, 0.2, 1)) is best


def test_that_of_equals_the_one_between_better_neighbours_of_its_depth_wins() -> None:
    lonely, surrounded = answer(0.1, 0.1), answer(0.1, 0.7)
    line = [lonely, answer(0.4, 0.2), answer(0.4, 0.3), answer(0.2, 0.6), surrounded, answer(0.2, 0.8)]
    assert chosen(*line) is surrounded
    assert chosen(*line, answer(0.1, 0.15, 2), answer(0.9, 0.75, 2)) is surrounded  # another depth is another line


def test_that_a_point_at_the_end_of_its_axis_counts_the_neighbours_that_it_has() -> None:
    first, last = answer(0.1, 0.1), answer(0.1, 0.9)
    assert chosen(first, answer(0.3, 0.2), answer(0.2, 0.8), last) is last
    assert chosen(first, answer(0.2, 0.2), answer(0.3, 0.8), last) is first


def test_that_only_the_next_noise_on_either_side_is_a_neighbour() -> None:
    flanked, level = answer(0.1, 0.3), answer(0.1, 0.8)
    line = [answer(0.5, 0.1), answer(0.2, 0.2), flanked, answer(0.2, 0.4), answer(0.5, 0.5)]
    line += [answer(0.25, 0.6), answer(0.25, 0.7), level, answer(0.25, 0.9)]
    assert chosen(*line) is flanked


def test_that_of_equals_again_fewer_layers_win_and_then_less_noise() -> None:
    shallow, deep = answer(0.1, 0.5, 1), answer(0.1, 0.5, 2)
    assert chosen(deep, shallow) is shallow
    quiet, loud = answer(0.1, 0.2), answer(0.1, 0.4)
    assert chosen(loud, quiet) is quiet


def test_that_a_line_is_of_one_ridge_too() -> None:
    def ridged(error: float, noise: float, ridge: float) -> PointResult:
        stack = StackParameters(noise=noise, depth=1, ridge=ridge)
        return PointResult(SweepPoint(noise, 1, 0, 0, RunSpec(FINGERPRINT, stack=stack)), RATE, error, 1.0)

    alone, flanked = ridged(0.1, 0.2, 1.0), ridged(0.1, 0.6, 10.0)
    assert chosen(alone, ridged(0.9, 0.3, 1.0), flanked, ridged(0.2, 0.7, 10.0), ridged(0.9, 0.25, 10.0)) is not alone


def test_that_what_is_kept_is_the_axis_of_components() -> None:
    def component(error: float, kept: float) -> PointResult:
        return answer(error, method="pca-svm", kept=kept)

    little, much = component(0.1, 0.5), component(0.1, 0.9)
    assert chosen(much, little) is little
    assert chosen(little, component(0.5, 0.6), component(0.2, 0.8), much) is much


def test_that_networks_lie_on_no_line_and_the_least_corrupted_of_equals_wins() -> None:
    def network(error: float, noise: float, rate: float = 0.01) -> PointResult:
        sda = SdaParameters((10,), noise, fine_tuning_rate=rate)
        return answer(error, method="sda", training="split", sda=sda)

    more, less = network(0.1, 0.4), network(0.1, 0.1)
    assert chosen(more, network(0.2, 0.35), network(0.9, 0.15), less) is less


def test_that_every_split_and_seed_is_chosen_in_by_itself_and_in_their_order() -> None:
    answers = [answer(0.2, 0.3, split=s, seed=k) for s in (1, 0) for k in (1, 0)]
    found = choose([*answers, answer(0.1, 0.6, split=1, seed=0)])
    assert [(one.point.split, one.point.seed) for one in found] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [one.point.noise for one in found] == [0.3, 0.3, 0.6, 0.3]


def test_that_pooled_answers_keep_the_first_split_and_take_the_mean() -> None:
    answers = [
        answer(e, n, split=s) for n, errors in ((0.3, (0.1, 0.4)), (0.6, (0.2, 0.2))) for s, e in enumerate(errors)
    ]
    found = pooled(answers)
    assert [(one.point.noise, one.point.split, one.validation_error) for one in found] == [
        (0.3, 0, pytest.approx(0.25)),
        (0.6, 0, pytest.approx(0.2)),
    ]
    with pytest.raises(ValueError, match="run all of them first"):
        pooled(answers[:3])
    with pytest.raises(ValueError, match="needs validation errors"):
        pooled([answer(None, split=0), answer(0.1, split=1)])


def test_that_equal_counts_of_errors_over_the_splits_are_equal_whatever_their_floats_sum_to() -> None:
    """The float means of 0, 0, 5 and of 0, 2, 3 errors in 240 rows differ in the last bit."""
    counts = {(0.3, 2): (0, 2, 3), (0.3, 1): (0, 0, 5), (0.6, 1): (3, 1, 1)}
    assert len({sum(wrong / 240 for wrong in each) / 3 for each in counts.values()}) > 1
    answers = [answer(wrong / 240, *place, split=s) for place, each in counts.items() for s, wrong in enumerate(each)]
    together = pooled(answers)
    assert {one.validation_error for one in together} == {5 / 720}
    for order in (together, together[::-1]):
        (best,) = choose(order)
        assert (best.point.noise, best.point.depth) == (0.3, 1)


def test_that_a_mean_over_splits_on_the_same_rows_has_the_interval_over_rows_and_splits() -> None:
    def judged(*wrong: int, split: int, test_set: str = "") -> PointResult:
        errors = row_errors(test_set, np.arange(50), np.array(wrong))
        rate = ErrorRate.of_run(len(wrong) / 50, 50)
        return replace(answer(0.1, split=split), rate=rate, row_errors=errors)

    same = [judged(1, 2, 3, split=0), judged(2, 3, 4, 5, split=1), judged(2, 7, split=2)]
    found = mean_rate(same)
    assert found == splits_rate([one.rate for one in same], [(one.row_errors,) for one in same])
    assert (found.error, found.covers) == (9 / 150, "rows and splits")
    assert mean_rate([*same[:2], judged(2, 7, split=2, test_set="other")]).covers == "splits"
    assert mean_rate([*same[:2], replace(same[2], row_errors=None)]).covers == "splits"


def test_that_it_is_said_what_is_best_or_why_nothing_can_be_chosen() -> None:
    assert best_words([]) == ""
    assert best_words([answer(0.1, 0.3), answer(0.2, 0.6)]) == "best on validation: noise 0.30, depth 1"
    assert best_words([answer(0.2), answer(0.1, depth=0)]) == "best on validation: the raw input"
    assert best_words([answer(0.1), answer(None, 0.6)]) == "no validation rows to select noise and depth by"
    unequal = [answer(0.1, 0.3), answer(0.1, 0.6), answer(0.2, 0.3, split=1, training="split")]
    assert best_words(unequal) == "the splits have different noise levels and depths so far: none can be selected yet"


def test_that_the_final_run_is_the_candidate_on_test_rows_with_all_labels() -> None:
    candidate = answer(0.1, 0.4, 2, split=3, training="split", evaluate="validation", labels=50, fit_rows="split")
    (point,) = final_points([candidate])
    assert replace(point, spec=candidate.point.spec) == candidate.point
    assert point.spec == final_spec(candidate.point.spec)
    changed = {"training": "whole", "evaluate": "test", "labels": None, "fit_rows": "training"}
    assert point.spec == replace(candidate.point.spec, **changed).checked()  # type: ignore[arg-type]
    assert final_spec(candidate.point.spec, "split").training == "split"
