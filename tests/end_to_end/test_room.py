"""One tile made large and the panel folded, by mouse and keys in a real window."""

from __future__ import annotations

import pytest

from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until
from tests.end_to_end.screen import frames, of_colour

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def program(start, outlines):
    return start(outlines)


def panel_is_shown(program) -> bool:
    """Return whether there is the panel's ground right of the pages' buttons, all the way down."""
    return bool(of_colour(program.picture()[300:700, 80:84], LIGHT.panel).mean() > 0.9)


def test_that_a_click_enlarges_a_tile_and_escape_leads_back(program):
    page = program.settled(rows=5)
    program.click(page.rows[1][2].center)
    program.key("Tab")  # the ring of the focus covers a tile's frame
    large = until(lambda: largest(program), "one tile")
    assert large > 3 * page.rows[1][2].width
    program.key("shift+Tab", "Escape", "Tab")
    assert [len(row) for row in program.settled(rows=5).rows] == [4] * 5


def largest(program) -> int | None:
    """Return the width of the one tile, None where there are others."""
    page = program.page()
    return None if page is None or [len(row) for row in page.rows] != [1] else page.rows[0][0].width


def test_that_shuffled_pixels_give_the_same_rows_once_they_are_put_back(program):
    program.key("ctrl+j")
    until(lambda: len(frames(program.picture(), LIGHT)) == 15, "three rows of five images")
    picture = program.still()
    boxes = frames(picture, LIGHT)
    for there, back, here in zip(boxes[:5], boxes[5:10], boxes[10:], strict=True):
        assert (there.of(picture) != back.of(picture)).any()
        assert (back.of(picture) == here.of(picture)).all()
    program.key("alt+1")
    program.settled(rows=5)


def test_that_the_panel_folds_and_unfolds_and_tiles_take_its_room(program):
    before = program.settled(rows=5)
    assert panel_is_shown(program)
    program.key("ctrl+b")
    until(lambda: not panel_is_shown(program), "the panel folded")
    picture = program.still()
    image = of_colour(picture[92:500, 88:312], LIGHT.paper)
    assert image.mean() > 0.4  # where the panel was
    program.click((36, 740))
    until(lambda: panel_is_shown(program), "the panel unfolded")
    assert program.settled(rows=5).image == before.image
