"""The permutation show: pixels fly out and home, the fit runs in the lane, and equality is what was measured."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from slide_gui.gui.pages.weights import scramble
from slide_gui.gui.widgets.flight import FlyingImages, flown
from slide_gui.gui.widgets.motion import REDUCED_MOTION
from tests.gui.given import Given, labelled, settle, wait


@pytest.fixture
def still(app: QApplication):
    app.setProperty(REDUCED_MOTION, True)
    yield
    app.setProperty(REDUCED_MOTION, None)


def tiles(images: FlyingImages):
    """Return the dots of the upper and of the lower images as they are painted."""
    shot, layout = images.grab().toImage(), images.layout_of()
    out = []
    for row in (0, 1):
        boxes = [layout.tile(row, column).toAlignedRect() for column in range(layout.columns)]
        out.append([shot.copy(box.adjusted(1, 1, -1, -1)) for box in boxes])
    return out


def test_that_pixels_fly_out_while_the_lane_fits_and_home_to_the_same_picture(window, monkeypatch):
    threads, fit = [], scramble.fit_scrambled
    monkeypatch.setattr(
        scramble, "fit_scrambled", lambda *a, **k: threads.append(threading.current_thread()) or fit(*a, **k)
    )
    window.actions_by_name["scramble"].trigger()
    part, seen = window.weights_page.scramble_part(), []
    assert part.isVisible()
    assert part.images.is_flying
    wait(lambda: seen.append(part.images.scrambledness) or (part.fit is not None and part.images.scrambledness == 1.0))
    assert any(0.0 < each < 1.0 for each in seen)
    wait(lambda: seen.append(part.images.scrambledness) or seen[-1] == 0.0, 10)
    assert threads
    assert threads[0] is not threading.main_thread()
    upper, lower = tiles(part.images)
    assert upper == lower
    assert max(part.fit.differences) < 1e-12
    assert "at most" in part.status.text()
    (table,) = part.tables()
    assert len(table.cells) == 4


def test_that_with_less_motion_only_the_ends_are_shown_and_both_can_be_chosen(window, still):
    window.actions_by_name["scramble"].trigger()
    part = window.weights_page.scramble_part()
    assert part.images.scrambledness == 1.0
    upper, lower = tiles(part.images)
    assert upper[0] != lower[0]
    wait(lambda: part.fit is not None)
    assert (part.images.scrambledness, part.images.is_flying) == (0.0, False)
    scrambled, in_place = (each for each in part.findChildren(QPushButton) if each.isCheckable())
    scrambled.click()
    upper, lower = tiles(part.images)
    assert part.images.scrambledness == 1.0
    assert all(above != below for above, below in zip(upper, lower, strict=True))
    in_place.click()
    upper, lower = tiles(part.images)
    assert upper == lower


def test_that_each_press_scrambles_otherwise_and_other_layers_need_another_press(window, still):
    part = window.weights_page.scramble_part()
    orders = []
    for _ in range(2):
        part.button.click()
        wait(lambda: part.fit is not None)
        orders.append(part.fit.order)
    assert not np.array_equal(*orders)
    window.workspace.set_parameters(noise=0.55)
    wait(lambda: window.workspace.model() is not None and not window.lane.busy)
    assert part.fit is None
    assert "differs" not in part.status.text()


def test_that_the_fit_is_dropped_when_the_view_is_left(window):
    part = window.weights_page.scramble_part()
    part.button.click()
    assert window.lane.busy
    window.actions_by_name["view_pinned"].trigger()
    assert not window.lane.busy
    settle(0.05)
    assert part.fit is None


def test_that_pixels_between_two_places_stay_inside_the_image():
    colours = np.array([1, 2, 3], np.uint32)
    image = flown(colours, np.array([[0, 0], [2.4, 3.6], [99, -5]], np.float32), 2, (6, 8), 7)
    assert image.shape == (6, 8)
    assert (image[:2, :2] == 1).all()
    assert (image[2:4, 4:6] == 2).all()
    assert (image[4:, :2] == 3).all()
    assert (image == 7).sum() == 48 - 12


def test_that_scrambled_pixels_of_data_before_are_forgotten_as_soon_as_others_are_open(window):
    window.actions_by_name["scramble"].trigger()
    part, seen = window.weights_page.scramble_part(), []

    def look(_data: object) -> None:  # a pixel that is pointed at just then
        window.weights_page.shown.changed.emit()
        seen.append(part.fit)

    wait(lambda: part.fit is not None)
    window.workspace.dataset_changed.disconnect(part._forget)
    window.workspace.dataset_changed.connect(look)
    window.workspace.open(Given(labelled()))
    wait(lambda: window.workspace.model() is not None and not window.lane.busy)
    assert seen == [None]
