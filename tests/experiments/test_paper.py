"""The published numbers, as the paper's tables have them."""

from __future__ import annotations

import pytest

from slide_gui.experiments.evaluation.protocol import data_key, published, sensitivity


def test_that_table_1_is_read_as_shares() -> None:
    found = {mark.method: mark.error for mark in published("convex")}
    assert found["SLIDE-SVM"] == pytest.approx(0.1218)
    assert found["hyperopt-sklearn"] == pytest.approx(0.113)
    assert len(found) == 7 + 3
    assert published("elsewhere") == ()


def test_that_the_depths_of_the_figure_are_the_papers() -> None:
    assert sensitivity().depths == (0, 1, 2, 3, 4)


def test_that_data_sets_are_found_by_their_names() -> None:
    assert data_key("Rectangles") == "rectangles"
    assert data_key("my own") == ""
