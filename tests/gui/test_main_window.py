import sys

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QComboBox, QLabel, QLineEdit, QMenu, QMenuBar, QSlider, QTreeWidget

from slide_gui.figures.color_scale import signed
from slide_gui.gui.pages.weights.sample import Readout, SamplePanel
from slide_gui.gui.shell.commands import COMMANDS, MENUS
from slide_gui.gui.shell.palette import CommandPalette
from slide_gui.gui.widgets.number_slider import NumberSlider
from tests.gui.helpers import at_rest, image_and_tiles, labelled, open_data, record, settle, wait


def pixel_at(image, row, column):
    grid = image.grid()
    return grid.rect(row * grid.shape[1] + column).center().toPoint()


def test_that_every_command_has_its_own_name_and_shortcut(window):
    shortcuts = [command.shortcut for command in COMMANDS]
    assert all(shortcuts)
    assert len(set(shortcuts)) == len({command.name for command in COMMANDS}) == len(COMMANDS)
    for command in COMMANDS:
        assert window.actions_by_name[command.name].shortcut().toString() == command.shortcut


def test_that_the_menu_bar_has_every_command_in_the_menu_of_its_group(window):
    (bar,) = window.findChildren(QMenuBar)
    menus = {action.text().replace("&", ""): action.menu() for action in bar.actions()}
    for title, commands in MENUS.items():
        submenus = {action.text(): action.menu() for action in menus[title].actions() if action.menu()}
        assert set(submenus) == {command.submenu for command in commands} - {""}
        for name, menu in {"": menus[title], **submenus}.items():
            listed = [action.objectName() for action in menu.actions() if action.objectName()]
            assert listed == [command.name for command in commands if command.submenu == name]


def test_that_the_view_menu_is_short_and_holds_pages_images_and_themes_in_submenus(window):
    menu = next(each for each in window.findChildren(QMenu) if each.title() == "&View")
    entries = [action.text() for action in menu.actions() if not action.isSeparator()]
    assert len(entries) <= 12
    assert {"Page", "Image", "Theme", "Weights"} <= set(entries)


def test_that_the_palette_lists_every_available_command_with_its_shortcut(window):
    listed = [(item.text(0), item.text(1)) for item in lines_of(ask_palette(window))]
    for action in window.actions_by_name.values():
        if action.isEnabled() and action.objectName() != "palette":
            assert (action.text().rstrip(" …"), action.keys) in listed
    window.findChild(CommandPalette).reject()


def test_that_moving_over_the_image_shows_the_rows_of_that_pixel_and_a_click_pins_it(window):
    image, tiles = image_and_tiles(window)
    QTest.mouseMove(image, pixel_at(image, 2, 5))
    settle(0.05)
    assert [row.title for row in tiles.rows[:2]] == ["All rows", "2, 5"]
    expected = window.workspace.fitting.stack.layers[1].weights[21, :-1].astype("float32").reshape(8, 8)
    np.testing.assert_array_equal(tiles.rows[1].tiles[1].values, expected)
    QTest.mouseClick(image, Qt.MouseButton.LeftButton, pos=pixel_at(image, 2, 5))
    assert window.workspace.state.selection.pins[-1] == 21
    assert tiles.rows[-1].title == "2, 5"
    assert tiles.rows[-1].removable


def test_that_each_drag_of_the_ridge_fits_with_it_and_undoes_in_one_step(window):
    slider = window.panel.sliders["ridge"].findChild(QSlider)
    before = slider.value()
    (settled,) = record(window.panel.sliders["ridge"].value_settled)
    for drags, steps in enumerate(((1, 2), (3, 12, 21)), start=1):
        for step in steps:
            slider.setValue(before + step)
        wait(lambda drags=drags: len(settled) == drags)
    at_rest(window)
    assert window.workspace.model().stack.parameters.ridge == 100.0
    window.actions_by_name["undo"].trigger()
    assert slider.value() == before + 2
    window.actions_by_name["undo"].trigger()
    assert (window.workspace.state.parameters.ridge, slider.value()) == (1e-5, before)
    assert window.workspace.history.undoText() == ""


def test_that_the_full_screen_shows_only_the_weights_with_a_noise_slider_and_escape_returns(window):
    before, page, panel = window.geometry(), window.weights_page, window.panel
    page.set_view("flow")
    window.actions_by_name["full_screen"].trigger()
    settle(0.05)
    assert window.isFullScreen()
    assert window.geometry() == window.screen().geometry()
    assert page.mapTo(window, page.rect().topLeft()).toTuple() == (0, 0)
    assert (page.width(), page.height()) == (window.width(), window.height() - 8)  # the margin around notices
    assert not panel.isVisible()
    assert not page.tabs.button(0).isVisible()
    slider = page.findChild(SamplePanel).findChild(NumberSlider)
    QTest.keyClick(slider.findChild(QSlider), Qt.Key.Key_Right)
    at_rest(window)
    assert window.workspace.state.parameters.noise == 0.31
    QTest.keyClick(slider.findChild(QSlider), Qt.Key.Key_Escape)
    settle(0.05)
    assert not window.isFullScreen()
    assert window.geometry() == before
    assert panel.isVisible()
    assert page.tabs.button(0).isVisible()
    assert not slider.isVisible()
    window.actions_by_name["full_screen"].trigger()
    window.actions_by_name["page_runs"].trigger()
    assert not window.isFullScreen()


def lines_of(palette):
    lines = palette.findChild(QTreeWidget)
    return [lines.topLevelItem(row) for row in range(lines.topLevelItemCount())]


def ask_palette(window, words=""):
    window.actions_by_name["palette"].trigger()
    palette = window.findChild(CommandPalette)
    QTest.keyClicks(palette.findChild(QLineEdit), words)
    return palette


def test_that_the_palette_lists_the_commands_that_apply_each_time_it_opens(window):
    def listed():
        palette = ask_palette(window)
        texts = [item.text(0) for item in lines_of(palette)]
        current = palette.findChild(QTreeWidget).currentItem().text(0)
        assert (palette.findChild(QLineEdit).text(), current) == ("", texts[0])
        return texts

    palette = ask_palette(window, "undo")
    palette.reject()
    assert not any(text.startswith("Undo") for text in listed())
    palette.reject()
    window.workspace.set_parameters(depth=3)
    assert "Undo change of depth" in listed()
    assert window.findChildren(CommandPalette) == [palette]
    palette.reject()


def test_that_the_palette_reports_that_nothing_matches_and_ignores_return(window):
    palette = ask_palette(window, "more zzz")
    (note,) = palette.findChildren(QLabel)
    assert (note.text(), note.isVisible()) == ("No entry matches “more zzz”", True)
    noise = window.workspace.state.parameters.noise
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Return)
    assert palette.isVisible()
    assert window.workspace.state.parameters.noise == noise
    palette.findChild(QLineEdit).clear()
    assert not note.isVisible()
    palette.reject()


def test_that_the_palette_lists_views_of_pages_that_were_never_shown_without_creating_them(window):
    palette = ask_palette(window)
    lines = {item.text(0): item for item in lines_of(palette)}
    for title, view in (("Error curves", "Heat map"), ("Benchmark", "Running time"), ("Runs", "Comparison")):
        assert f"{title}: {view}" in lines
    assert "noise and depth" in lines["Error curves: Heat map"].toolTip(0)
    assert window.pages.count() == 1
    QTest.keyClicks(palette.findChild(QLineEdit), "runs: comp")
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Return)
    assert window.pages.name == "runs"
    page = window.pages.page("runs")
    assert page.tabs.checkedButton().text() == "Comparison"
    assert page.comparison.isVisible()


def test_that_words_of_a_tooltip_find_its_command_after_matching_names(window):
    palette = ask_palette(window, "table 1")
    assert [item.text(0) for item in lines_of(palette)] == ["Benchmark: Error rates"]
    palette.reject()
    texts = [item.text(0) for item in lines_of(ask_palette(window, "noise"))]
    assert texts.index("More noise") < texts.index("Full screen")
    palette.reject()


def test_that_the_palette_sweeps_and_trains(window):
    open_data(window, labelled())
    palette = ask_palette(window, "sweep")
    assert "Sweep noise and depth" in [item.text(0) for item in lines_of(palette)]
    palette.reject()
    palette = ask_palette(window, "train the")
    QTest.keyClick(palette.findChild(QLineEdit), Qt.Key.Key_Return)
    assert window.pages.name == "classifier"
    wait(lambda: window.session.runs.result is not None and not window.queue.busy, 60)


def test_that_an_uncaught_error_ends_in_the_panel_and_the_log(window, faults, capsys):
    error = RuntimeError("the unexpected")
    sys.excepthook(RuntimeError, error, None)
    settle(0.02)
    assert window.notice.isVisible()
    for text in (faults.pop()[0], window.notice.accessibleName(), capsys.readouterr().err):
        assert "the unexpected" in text


def test_that_the_panel_shows_contributions_and_page_and_readout_name_them(window):
    _, tiles = image_and_tiles(window)
    (box,) = (box for box in window.panel.findChildren(QComboBox) if box.accessibleName() == "Show")
    box.setCurrentIndex(box.findData("contribution"))
    box.activated.emit(box.currentIndex())
    layer = window.workspace.fitting.stack.layers[0]
    feature = window.weights_page.pixels.features()[0]
    rms = np.sqrt(layer.scatter[feature, feature] / layer.scatter[-1, -1])
    weight = layer.weights[feature, feature]
    assert tiles.rows[1].tiles[0].values.ravel()[feature] == pytest.approx(weight * rms, rel=1e-6)
    assert window.weights_page.subtitle.text() == "contributions: weights × RMS of the input pixel"
    readout = window.weights_page.findChild(Readout).accessibleDescription()
    assert f"weight {signed(weight, 2)}," in readout
    assert f"× RMS {signed(weight * rms, 2)}," in readout
    window.actions_by_name["undo"].trigger()
    assert box.currentData() == "auto"
    assert "contributions" not in window.weights_page.subtitle.text()
