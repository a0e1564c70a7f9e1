"""The benchmark in a real window: start it, see a cell fill, cancel, go on, export the table in its forms."""

import numpy as np
import pytest

from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import until
from tests.end_to_end.run_pages import main_button, stored, turn_to
from tests.end_to_end.screen import of_colour

pytestmark = pytest.mark.display

CELLS = np.s_[196:490, 240:490]  # of the first data set, below its name


@pytest.fixture(scope="module")
def program(start):
    running = start()
    running.settled(rows=5)
    yield running
    running.quit(10)


def ticked(program, places):
    """Return of each of a menu's boxes whether it is ticked."""
    picture = program.picture()
    # A corner of each box, where no tick is drawn, inside the edge that the box with the focus has.
    return [bool(of_colour(picture[y - 5 : y - 3, x - 4 : x - 2], LIGHT.accent).all()) for x, y in places]


def choose_quick_rectangles(program, button):
    """Choose the quick protocol by the keys of its box, and the first data set alone in the menu of the data sets."""
    program.click((button[0] + 230, button[1]))
    program.key("End", "Return")
    program.still(60.0)
    program.click((button[0] + 510, button[1]))
    places = [(button[0] + 475, button[1] + 32 + 26 * number) for number in range(4)]
    until(lambda: ticked(program, places) == [True] * 4, "the four data sets")
    for place in places[1:]:
        program.click(place)
    program.rest()
    until(lambda: ticked(program, places) == [True, False, False, False], "one data set")
    program.key("Escape")
    program.still(60.0)


def test_that_cells_fill_and_a_cancelled_benchmark_goes_on_where_it_was(program):
    turn_to(program, "evaluation")
    button = main_button(program)
    choose_quick_rectangles(program, button)
    assert stored(program) == []
    assert not of_colour(program.picture()[CELLS], LIGHT.text).any()
    program.click(button)
    program.rest()
    until(lambda: len(stored(program)) >= 3, "three runs", 80)
    until(lambda: (of_colour(program.picture()[CELLS], LIGHT.text)).sum() > 30, "a cell with its figure", 20)
    program.click(button)
    until(lambda: not program.busy(program.picture()), "the end of the benchmark", 10)
    before = stored(program)
    program.click(button)
    program.rest()
    until(lambda: len(stored(program)) > len(before), "one run more", 80)
    program.key("Escape")
    program.still(60.0)
    after = stored(program)
    assert after[: len(before)] == before  # none was run again
    assert len({key for key, *_ in after}) == len(after)


@pytest.mark.parametrize(
    ("letter", "name", "begins"),
    [
        ("S", "errors.svg", "<?xml"),
        ("C", "errors.csv", "dataset,"),
        ("L", "errors.tex", "\\begin{"),
        ("M", "errors.md", "**E"),
    ],
)
def test_that_the_table_is_exported_by_its_dialog(program, letter, name, begins):
    turn_to(program, "evaluation")
    program.still(60.0)
    # Tab leads from the choice of the table to that of the format.
    written = program.export("Export the table of error rates", program.home / "exported" / name, "Tab", letter)
    assert written.startswith(begins.encode())
