"""One window on generated Rectangles, used with a real mouse and keyboard."""

import numpy as np
import pytest

from slide_gui.experiments.files.session import read_session
from slide_gui.gui.shell.commands import MENUS
from slide_gui.gui.theme import DARK, LIGHT, THEMES
from tests.end_to_end.program import of_colour, until

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def program(start):
    running = start()
    running.wait_page(layers=4)
    offered = running.panel_parts(LIGHT.accent_text)
    running.key("alt+j")  # the button Just look
    until(lambda: len(running.panel_parts(LIGHT.accent_text)) < len(offered), "the offer of a tour dismissed")
    yield running
    running.quit()


@pytest.fixture
def page(program):
    program.focus()
    return program.wait_page(layers=4)


def test_that_dragging_the_noise_repaints_layer_one_at_once_and_the_others_soon_after(program, page):
    slider = program.noise_slider()
    x, y = slider.left + slider.width - slider.height // 2, slider.center[1]

    def changed(layers):
        now = program.page()
        return now and all(not np.array_equal(now.tile(i, k), page.tile(i, k)) for i in (1, 2) for k in layers)

    program.drag((x, y), (x + 80, y))
    until(lambda: program.noise_slider().width > slider.width + 60, "the slider at the pointer")
    until(lambda: changed([1]), "other weights of layer 1 while the button is held")
    program.release()
    until(lambda: changed([1, 2, 3, 4]), "other weights of all layers")
    program.key("ctrl+z")
    until(lambda: program.noise_slider() == slider and program.page().same_tiles(page), "the tiles as before")


def test_that_a_theme_is_chosen_from_the_menu_bar(program, page):
    def words():
        columns = np.flatnonzero(~of_colour(program.picture()[10:30, 8:200], LIGHT.panel).all(axis=0)) + 8
        split = np.split(columns, np.flatnonzero(np.diff(columns) > 8) + 1)
        return len(split) == 4 and split

    _, _, view, _ = until(words, "File, Edit, View and Help in the menu bar")
    program.click((int(view.mean()), 20))
    above = list(dict.fromkeys(command.submenu or command.name for command in MENUS["View"])).index("Theme")
    program.key(*["Down"] * (above + 1), "Right", *["Down"] * THEMES.index("dark"), "Return")
    until(lambda: of_colour(program.picture(), DARK.background).mean() > 0.2, "the dark theme")
    program.key(f"ctrl+alt+{THEMES.index('light')}")
    assert program.wait_page(layers=4).same_tiles(page)


def test_that_a_damaged_file_leaves_the_tiles_and_another_is_opened(program, page, outlines, tmp_path):
    damaged = tmp_path / "damaged.npz"
    damaged.write_bytes(outlines.read_bytes()[:5000])
    program.open_by_dialog(damaged)
    notice = until(lambda: program.notice(LIGHT.danger_wash), "the notice")
    program.click((notice.left + notice.width - 20, notice.top + 20))
    until(lambda: not program.notice(LIGHT.danger_wash), "the notice dismissed")
    assert program.title == "Rectangles (generated) – slide-gui"
    assert program.wait_page(layers=4).same_tiles(page)
    program.open_by_dialog(outlines)
    program.wait_title("outlines")
    program.wait_page(layers=4)


def test_that_an_exported_figure_restores_what_it_shows(program, tmp_path):
    usual = program.noise_slider()
    program.key("ctrl+Up", "ctrl+Up")
    moved = until(lambda: (now := program.noise_slider()).width > usual.width + 15 and now, "two steps more noise")
    program.wait_page(layers=4)  # an export needs the new fit
    figure = tmp_path / "figure.pdf"
    assert program.export("Export the weight figure", figure).startswith(b"%PDF")
    assert read_session(figure).parameters.noise == pytest.approx(0.4)
    program.key("ctrl+z", "ctrl+z")
    until(lambda: program.noise_slider() == usual, "the usual noise")
    program.open_by_dialog(figure)
    until(lambda: program.noise_slider() == moved, "the noise of the figure")
