"""One program, from the data to the figures: train, cancel, train, curves, weights, export."""

import numpy as np
import pytest

from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until
from tests.end_to_end.run_pages import (
    PLOT,
    colourful,
    cursor,
    dot,
    estimate,
    main_button,
    shares,
    stored,
    turn_to,
    write_rectangles,
)
from tests.end_to_end.screen import of_colour

pytestmark = pytest.mark.display

DEPTH = 2
FIRST_ROW = np.s_[155:182, 340:1260]  # of the table of runs


@pytest.fixture(scope="module")
def program(start, tmp_path_factory):
    running = start(write_rectangles(tmp_path_factory.mktemp("own") / "outlines.npz", 400, 600, side=14))
    until(lambda: running.title.startswith("outlines"), "the data")
    running.settled(rows=5)
    running.key("ctrl+Next", "ctrl+Next")  # two layers less: of a person's own data the program knows no best depth
    until(lambda: [len(row) for row in running.settled(rows=5).rows] == [DEPTH] * 5, "two layers")
    yield running
    running.quit()


def test_that_the_shares_move_while_training_and_a_cancelled_training_is_not_kept(program):
    turn_to(program, "classifier")
    button = main_button(program)
    program.still()
    program.click(button)
    program.rest()
    seen = []

    def moved():
        widths = shares(program, program.picture(), DEPTH)
        if sum(widths) > 100 and (not seen or widths != seen[-1]):
            seen.append(widths)
        return bool(seen) and max(np.ptp(seen, axis=0)) > 20  # pixels

    until(moved, "shares that move")
    assert program.busy(program.picture())
    program.click(button)
    until(lambda: not program.busy(program.picture()), "the end of the training")
    assert stored(program) == []


def test_that_a_training_left_alone_ends_with_error_confusion_and_mistakes(program):
    turn_to(program, "classifier")
    button = main_button(program)
    assert colourful(program.still()) < 500
    program.click(button)
    until(lambda: len(stored(program)) == 1, "the run in the store")
    done = program.still()
    assert colourful(done) > 5000  # the matrix
    assert sum(shares(program, done, DEPTH)) > 500
    ((_, _, _, noise, depth),) = stored(program)
    assert (noise, depth) == (0.3, DEPTH)


def test_that_live_points_follow_the_noise_slider_and_a_click_brings_the_model_of_a_point_back(program):
    turn_to(program, "weights")
    page = program.settled(rows=5)
    turn_to(program, "curves")
    here = until(lambda: cursor(program, program.picture()), "the curves")
    handle = program.sliders()[0]  # on this page: the panel of another is wider or narrower by its scroll bar
    first = program.still()
    trained = dot(program, first, here, DEPTH)
    assert trained is not None
    x, y = handle.left + handle.width - handle.height // 2, handle.center[1]
    program.xdotool("mousemove", x, y, "mousedown", 1)
    try:
        for step in range(1, 13):
            program.move((x + 6 * step, y))
        until(lambda: (now := cursor(program, program.picture())) and now > here + 150, "the cursor")
    finally:
        program.xdotool("mouseup", 1)
    program.rest()
    until(lambda: program.sliders()[0].width > handle.width + 60, "the slider under the mouse")
    there = until(lambda: cursor_at_rest(program), "a cursor at rest")
    # A live point comes by itself, then settles where the whole test part puts it.
    until(lambda: estimate(program, program.picture(), there), "a live point")
    settled = program.still()
    assert estimate(program, settled, there) is not None
    assert dot(program, settled, there, DEPTH) is None
    assert dot(program, settled, here, DEPTH) is not None
    assert len(stored(program)) == 1
    program.click(dot(program, settled, here, DEPTH))
    until(lambda: program.sliders()[0] == handle, "the slider of the point's model")
    program.still()
    turn_to(program, "weights")
    back = program.settled(rows=5)
    assert [len(row) for row in back.rows] == [DEPTH] * 5
    for layer in range(1, DEPTH + 1):
        pairs = zip(back.tiles(layer)[1:], page.tiles(layer)[1:], strict=True)
        assert all(np.array_equal(new, old) for new, old in pairs)


def test_that_the_wheel_zooms_into_the_curves_a_drag_moves_them_and_a_button_leads_back(program):
    turn_to(program, "curves")
    here = until(lambda: cursor(program, program.picture()), "the curves")
    whole = program.still()[PLOT]
    x, y = here - 60, 450
    program.move((x, y))
    for _ in range(6):
        program.xdotool("click", 4)
    zoomed = program.still()[PLOT]
    assert (zoomed != whole).mean() > 0.02
    program.xdotool("mousemove", x, y, "mousedown", 1)
    try:
        for step in range(1, 9):
            program.move((x + 10 * step, y + 5 * step))
    finally:
        program.xdotool("mouseup", 1)
    moved = program.still()[PLOT]
    assert (moved != zoomed).mean() > 0.02
    program.click((1220, 142))
    until(lambda: (program.still()[PLOT] == whole).mean() > 0.999, "the whole")


def cursor_at_rest(program):
    """Return the column of the cursor if two pictures agree on it."""
    first, second = (cursor(program, program.picture()) for _ in range(2))
    return first if first == second else None


@pytest.mark.parametrize(
    ("page", "title", "name", "begins"),
    [
        ("weights", "Export the weight figure", "weights.pdf", b"%PDF"),
        ("curves", "Export the error curves", "curves.pdf", b"%PDF"),
        ("classifier", "Export the confusion matrix", "confusion.pdf", b"%PDF"),
        ("runs", "Export the table of runs", "runs.csv", b"hash,data,"),
    ],
)
def test_that_each_page_is_exported_by_its_dialog(program, page, title, name, begins):
    turn_to(program, page)
    if page == "runs":  # which are read in the background
        until(lambda: of_colour(program.picture()[FIRST_ROW], LIGHT.text).sum() > 50, "the run in the table")
    program.still()
    assert program.export(title, program.home / "exported" / name).startswith(begins)
