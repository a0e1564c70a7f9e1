"""The time left never rises by more than a fifth once half of the job is done."""

import pytest

from slide_gui.progress import TimeLeft


def test_that_a_rise_is_limited_and_a_fall_is_shown_at_once():
    estimator = TimeLeft()
    assert estimator.seconds(1.0, 0.2, 100.0) == 100.0
    assert estimator.seconds(2.0, 0.3, 300.0) == 300.0
    assert estimator.seconds(3.0, 0.5, 50.0) == 50.0
    assert estimator.seconds(4.0, 0.6, 500.0) == pytest.approx(60.0)
    assert estimator.seconds(5.0, 0.7, 10.0) == 10.0
    assert estimator.seconds(6.0, 0.8, 500.0) == pytest.approx(12.0)
    assert estimator.seconds(6.0, 0.8, 500.0) == pytest.approx(12.0)


def test_that_no_time_is_estimated_just_after_the_start():
    assert TimeLeft().seconds(0.1, 0.5, None) is None
    assert TimeLeft().seconds(10.0, 0.25, None) == pytest.approx(30.0)
