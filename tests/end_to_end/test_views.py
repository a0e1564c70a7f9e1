"""Flow and Copies of the Weights page in a real window, with a real mouse."""

import time

import numpy as np
import pytest

from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until
from tests.end_to_end.screen import frames, of_colour

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def program(start, outlines):
    running = start(outlines)
    running.settled(rows=5)
    yield running
    running.quit()


def places(program):
    """Return the frames of x, and of x̃ and every layer's output from the left, once all ten images are there."""
    boxes = frames(program.picture(), LIGHT)
    if len(boxes) != 10:
        return None
    lower = max(box.top for box in boxes)
    outputs = sorted((box for box in boxes if box.top == lower), key=lambda box: box.left)
    return max(boxes, key=lambda box: box.width), outputs


def test_that_drawing_on_the_input_changes_every_layer_and_undo_brings_them_back(program):
    program.key("alt+3")
    program.rest()
    canvas, outputs = until(lambda: places(program), "x, x̃, four T and four h")
    assert len(outputs) == 5
    before = program.still()
    # A line below the outline that is there.
    program.xdotool("mousemove", *canvas.pixel(25, 3), "mousedown", 1)
    try:
        for column in range(4, 24, 2):
            program.move(canvas.pixel(25, column))
    finally:
        program.xdotool("mouseup", 1)
    drawn = program.still()
    for box in outputs[1:]:
        gained = box.values(drawn)[25, 6:18] - box.values(before)[25, 6:18]
        assert gained.mean() > 100  # the line stands in every layer
    program.key("ctrl+z")
    back = program.still()
    assert all((box.of(back) == box.of(before)).all() for box in outputs)


def test_that_points_of_corrupted_copies_appear_one_after_the_other_and_escape_stops_them(program):
    program.key("alt+4")
    program.rest()
    program.still()
    program.key("ctrl+shift+m")

    def dots():
        """Return how many dots of the pixel's line there are: squares of three in the accent, as no line has any."""
        mask = of_colour(program.picture(), LIGHT.accent)[120:440, 680:1160]
        solid = np.lib.stride_tricks.sliding_window_view(mask, (3, 3)).all(axis=(2, 3))
        columns = np.flatnonzero(solid.any(axis=0))
        return int((np.diff(columns, prepend=-10) > 6).sum())

    first = until(dots, "the first point")
    until(lambda: dots() > max(first, 3), "more points", 60)
    assert dots() <= 11
    program.key("Escape")
    until(lambda: not program.busy(program.picture()), "the end of the copies", 5)
    stopped = dots()
    time.sleep(1)
    assert dots() == stopped
