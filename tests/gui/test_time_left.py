"""The time left that is told, over what real runs and sweeps have reported."""

import json
from pathlib import Path

import pytest

from slide_gui.progress import TimeLeft

RECORDED = json.loads((Path(__file__).parent / "recorded" / "progress.json").read_text())


def told(reports):
    """Return second, share done and seconds left, wherever these are told."""
    estimator, known, said, done = TimeLeft(), None, [], 0.0
    for spent, fraction, seconds in reports:
        known, done = known if seconds is None else seconds, max(done, fraction)
        left = estimator.seconds(spent, done, known)
        if left is not None:
            said.append((spent, done, left))
    return said


@pytest.mark.parametrize("name", [*RECORDED])
def test_that_the_time_left_never_rises_by_more_than_a_fifth_once_half_is_done(name):
    later = [left for _, done, left in told(RECORDED[name]["reports"]) if done >= 0.5]
    assert later
    least = later[0]
    for left in later:
        assert left <= 1.2 * least + 1e-9
        least = min(least, left)


def test_that_a_rise_is_held_and_a_fall_is_told_at_once():
    estimator = TimeLeft()
    assert estimator.seconds(1.0, 0.2, 100.0) == 100.0
    assert estimator.seconds(2.0, 0.3, 300.0) == 300.0
    assert estimator.seconds(3.0, 0.5, 50.0) == 50.0
    assert estimator.seconds(4.0, 0.6, 500.0) == pytest.approx(60.0)
    assert estimator.seconds(5.0, 0.7, 10.0) == 10.0
    assert estimator.seconds(6.0, 0.8, 500.0) == pytest.approx(12.0)
    assert estimator.seconds(6.0, 0.8, 500.0) == pytest.approx(12.0)


def test_that_nothing_is_told_before_there_is_anything_to_tell_by():
    assert TimeLeft().seconds(0.1, 0.5, None) is None
    assert TimeLeft().seconds(10.0, 0.25, None) == pytest.approx(30.0)
