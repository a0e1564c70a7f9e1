"""One program on generated Rectangles, used as a person would."""

import numpy as np
import pytest

from slide_gui.gui.shell.commands import COMMANDS
from slide_gui.gui.theme import DARK, LIGHT
from tests.end_to_end.program import until
from tests.end_to_end.screen import of_colour, rgb

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def program(start):
    running = start()
    yield running
    running.quit()


@pytest.fixture
def page(program):
    program.focus()
    return program.settled()


def test_that_it_opens_on_generated_rectangles_with_five_rows_of_four_painted_tiles(program):
    page = program.settled(rows=5)
    assert program.title == "Rectangles (generated) – slide-gui"
    assert [len(row) for row in page.rows] == [4] * 5
    assert page.image.width == page.image.height == 280
    assert all(page.ring(number) > 10 for number in range(4))
    assert page.ring(4) == 0


def test_that_the_first_row_follows_the_mouse_and_only_that(program, page):
    program.move(page.image.pixel(6, 22))
    now = until(
        lambda: (now := program.page()) and not np.array_equal(now.tile(0, 1), page.tile(0, 1)) and now, "hover", 3
    )
    for layer in (1, 2, 3, 4):
        assert not np.array_equal(now.tile(0, layer), page.tile(0, layer))
        assert all(np.array_equal(now.tile(row, layer), page.tile(row, layer)) for row in range(1, 5))
    # The largest weights of a row lie beside its own pixel.
    values = now.rows[0][0].values(now.picture)
    near = values[3:10, 19:26].sum()
    assert near > values[16:23, 3:10].sum() + 100


def test_that_a_command_is_chosen_from_the_menu_bar_by_keys_and_by_mouse(program, page):
    names = [spec.name for spec in COMMANDS if spec.menu == "View"]
    program.key("alt+v", *["Down"] * names.index("theme_dark"), "Return")
    until(lambda: of_colour(program.picture(), DARK.background).any(), "the dark theme")
    columns = np.flatnonzero(~of_colour(program.still()[10:30, 8:200], DARK.panel).all(axis=0)) + 8
    words = np.split(columns, np.flatnonzero(np.diff(columns) > 8) + 1)
    assert len(words) == 4
    program.click((int(words[2].mean()), 20))  # File, Edit, View, Help
    program.key(*["Down"] * (names.index("theme_light") + 1), "Return")
    until(lambda: of_colour(program.picture(), LIGHT.background).any(), "the light theme")
    assert program.settled(rows=5).ring(0) > 10


def test_that_a_click_pins_in_the_next_colour_and_undo_releases(program, page):
    program.click(page.image.pixel(4, 12))
    pinned = program.settled(rows=6)
    assert pinned.ring(4) > 10
    assert all(pinned.ring(number) > 10 for number in range(4))
    program.key("ctrl+z")
    released = program.settled(rows=5)
    assert released.ring(4) == 0


def test_that_dragging_the_noise_repaints_layer_one_at_once_and_the_others_soon_after(program, page):
    handle = program.sliders()[0]
    x, y = handle.left + handle.width - handle.height // 2, handle.center[1]
    program.xdotool("mousemove", x, y, "mousedown", 1)
    try:
        for step in range(1, 11):
            program.move((x + 8 * step, y))
        until(lambda: program.sliders()[0].width > handle.width + 60, "the slider at the pointer", 5)
        until(
            lambda: (
                (now := program.page())
                and all(not np.array_equal(new, old) for new, old in zip(now.tiles(1), page.tiles(1), strict=True))
            ),
            "layer one anew while the button is held",
            5,
        )
    finally:
        program.xdotool("mouseup", 1)
    rested = program.settled(rows=5)
    ground = np.array(rgb(LIGHT.background))
    for layer in (2, 3, 4):
        for new, old in zip(rested.tiles(layer), page.tiles(layer), strict=True):
            greyed = 0.65 * old + 0.35 * ground
            assert np.abs(new - greyed).max() > 30  # neither the old weights nor the old ones greyed
            assert np.abs(new.astype(int) - old).max() > 30
    program.key("ctrl+z")
    back = until(lambda: (now := program.settled(rows=5)) and program.sliders()[0] == handle and now, "undo")
    for layer in (1, 2, 3, 4):
        assert all(np.array_equal(new, old) for new, old in zip(back.tiles(layer), page.tiles(layer), strict=True))


def test_that_the_palette_runs_a_command_found_by_its_name(program, page):
    program.key("ctrl+shift+p")
    program.wait_for("Commands")
    program.type("remove a layer")
    program.key("Return")
    program.wait_gone("Commands")
    until(lambda: [len(row) for row in program.settled(rows=5).rows] == [3] * 5, "three layers")
    program.key("ctrl+z")
    until(lambda: [len(row) for row in program.settled(rows=5).rows] == [4] * 5, "four layers")


def test_that_a_shortcut_changes_the_theme(program, page):
    program.key("ctrl+alt+2")
    try:
        until(lambda: of_colour(program.picture(), DARK.background).mean() > 0.2, "a dark page")
        program.use_theme(DARK)
        dark = program.settled(rows=5)
        assert not of_colour(dark.picture, LIGHT.background).mean() > 0.01
        assert dark.rows[0][0].of(dark.picture).mean() < 90
    finally:
        program.key("ctrl+alt+1")
        program.use_theme(LIGHT)
    light = program.settled(rows=5)
    assert of_colour(light.picture, LIGHT.background).mean() > 0.2
    assert all(np.array_equal(new, old) for new, old in zip(light.tiles(1), page.tiles(1), strict=True))


def test_that_export_writes_a_pdf_at_the_path_typed(program, page):
    written = program.export("Export the weight figure", program.home / "figure.pdf")
    assert written.startswith(b"%PDF")
    assert b"%%EOF" in written[-32:]
