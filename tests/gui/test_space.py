"""Nothing is cut in a small window, and a large one leaves no space unused."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from slide_gui.data.dataset import Dataset
from slide_gui.gui.shell.page_stack import PAGES
from slide_gui.gui.shell.panel import ParameterPanel
from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.theme import LIGHT
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.image import DrawingCanvas
from tests.gui.helpers import every_view, open_data, refit, settle, wait


def drawn(height, width, name="given"):
    """Return random images of a shape."""
    rows = (np.random.default_rng(0).random((90, height * width)) < 0.2).astype("float32")
    return Dataset(name, rows[:60], rows[60:], image_shape=(height, width))


OPENED = partial(drawn, 12, 12)
of_the_usual_size = pytest.mark.parametrize("data", [drawn(28, 28)], ids=["28 × 28"])


@pytest.mark.parametrize("data", [drawn(12, 12, "measurements_of_the_whole_year_2026_third_version")], ids=["long"])
def test_that_the_menu_shows_the_beginning_and_the_end_of_a_long_data_set_name(window):
    panel = window.findChild(ParameterPanel)
    menu = next(box for box in panel.findChildren(QtWidgets.QComboBox) if box.accessibleName() == "Data set")
    beginning, end = menu.shown_text().split("…")
    assert window.workspace.dataset.title.startswith(beginning)
    assert window.workspace.dataset.title.endswith(end)
    assert min(len(beginning), len(end)) > 3


def test_that_the_panel_has_one_ground_and_no_line_of_a_tooltip_is_longer_than_80_letters(with_shipped, window):
    picture = window.panel.grab().toImage()
    assert {picture.pixelColor(x, picture.height() - 60).name() for x in (2, 100, 238)} == {LIGHT.panel.lower()}
    tips = [each.toolTip() for _ in every_view(window) for each in window.findChildren(QtWidgets.QWidget)]
    cells = window.pages.page("evaluation").errors
    tips += [cells.item(row, 0).toolTip() for row in range(cells.rowCount())]
    assert max(len(line) for tip in tips for line in tip.splitlines()) <= 80
    assert any("\n" in tip for tip in tips)


@of_the_usual_size
def test_that_tiles_grow_with_the_window_and_nothing_is_cut(window):
    view = window.weights_page.shown_view()
    tiles = view.tiles
    for size, least in (((960, 500), 56), ((960, 640), 84), ((1280, 720), 150), ((1920, 1080), 280)):
        window.resize(*size)
        settle(0.1)
        layout = tiles.layout_of()
        assert layout.size[0] >= least
        assert layout.tile(0, 3).right() <= tiles.width()
        parts = [each for each in (view.image, view.readout, view.findChild(ColorBar), view.hint) if each.isVisible()]
        corners = [each.mapTo(view, each.rect().bottomRight()) for each in parts]
        assert max(corner.x() for corner in corners) < tiles.mapTo(view, QPoint()).x()
        assert max(corner.y() for corner in corners) <= view.height()
        assert view.readout.height() >= view.readout.sizeHint().height()
        assert all(layout.tile(r, c).bottom() <= view.height() for r, c in product(range(2), range(4)))
        assert len(parts) == 4 or size[1] < 600


def test_that_the_image_has_its_final_size_when_it_is_first_painted(closed_window, data, monkeypatch):
    sizes, paint = [], DrawingCanvas.paintEvent
    monkeypatch.setattr(DrawingCanvas, "paintEvent", lambda own, event: sizes.append(own.size()) or paint(own, event))
    closed_window.show()
    settle(0.1)
    open_data(closed_window, data)
    settle(0.1)
    final = closed_window.weights_page.shown_view().image.size()
    assert sizes
    assert all(size == final for size in sizes)


@of_the_usual_size
def test_that_tiles_and_numbers_of_any_depth_fit_into_a_small_window(window):
    window.resize(960, 640)
    for depth in (8, 6, 4, 1):  # the deepest first, because it contains the others
        refit(window, depth=depth)
        for view in ("weights", "explain"):
            part = window.weights_page.set_view(view)
            settle(0.05)
            layout, area = part.tiles.layout_of(), part.tiles.parentWidget()
            assert view != "weights" or part.readout.height() >= part.readout.sizeHint().height()
            assert part.tiles.width() <= area.width()
            assert max(layout.tile(0, c).right() for c in layout.shown_columns()) <= area.width()


def test_that_the_first_and_smallest_window_fit_a_small_screen_and_a_narrow_one_labels_its_panel_button(closed_window):
    assert closed_window.height() <= closed_window.screen().availableSize().height() - 48
    assert closed_window.minimumSize().height() <= 480
    assert closed_window.minimumSize().width() <= 900
    closed_window.resize(853, 480)
    closed_window.show()
    settle()
    names = {each.accessibleName(): each.text() for each in closed_window.findChildren(QtWidgets.QToolButton)}
    assert names["Show panel"] == "Show"


def test_that_the_panel_shows_only_controls_that_affect_the_page(window):
    window.panel.more.click()
    stack, tiles = {"Data set", "Noise", "Squashing", "Fit on", "Weights"}, {"Show", "Colour limits", "Colour map"}
    wanted = {
        "view_weights": stack | tiles,
        "view_flow": stack | {"Colour limits", "Colour map"},
        "view_explain": stack | {"Colour map"},
        "page_curves": stack,
        "page_classifier": stack,
        "page_evaluation": set(),
        "page_runs": {"Data set"},
    }
    for command, controls in wanted.items():
        window.actions_by_name[command].trigger()
        boxes = {box.accessibleName() for box in window.panel.findChildren(QtWidgets.QComboBox) if box.isVisible()}
        sliders = {"Noise"} if window.panel.sliders["noise"].isVisible() else set()
        assert boxes | sliders == controls, command
    assert {f"page_{spec.name}" for spec in PAGES} - set(wanted) == {"page_weights"}


def test_that_the_panel_folds_by_button_and_keys_which_is_stored_and_in_a_narrow_window_which_is_not(window):
    button = next(each for each in window.findChildren(QtWidgets.QToolButton) if each.text() == "Hide")
    wide = window.weights_page.width()
    window.panel.sliders["noise"].setFocus()
    button.click()
    assert window.focusWidget() is window.centralWidget(), "not the button that cancels the job"
    wait(lambda: window.weights_page.width() == wide + window.panel.width())
    assert (window.panel.isVisible(), button.text()) == (False, "Show")
    window.actions_by_name["page_runs"].trigger()
    assert not window.panel.isVisible()
    assert window.settings.value("panel_folded", False, bool)
    QTest.keyClick(window, Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier)
    for size, folded in (((853, 480), True), ((1280, 720), False)):
        window.resize(*size)
        settle()
        assert window.panel.isVisible() is not folded
        if folded:
            for shown in (True, False):
                window.actions_by_name["panel"].trigger()
                assert window.panel.isVisible() is shown
        assert not window.settings.value("panel_folded", False, bool)
    window.actions_by_name["page_evaluation"].trigger()
    assert not window.actions_by_name["panel"].isEnabled()
    assert "no parameters" in window.actions_by_name["panel"].toolTip()


def test_that_escape_restores_an_enlarged_tile_before_it_dismisses_a_notice(window):
    tiles = window.weights_page.shown_view().tiles
    tiles.enlarge(1, 2)
    window.notice.show_message(UserMessage("Exported", "somewhere", kind="information"))
    QTest.keyClick(tiles, Qt.Key.Key_Escape)
    assert (tiles.enlarged, window.notice.isVisible()) == (None, True)
    QTest.keyClick(tiles, Qt.Key.Key_Escape)
    assert not window.notice.isVisible()


def test_that_a_notice_is_shown_in_full_and_covers_nothing_nor_the_title_of_an_axis(window):
    notice, pages, image = window.notice, window.pages, window.weights_page.shown_view().image
    width = image.width()
    for name in ("view_weights", "page_curves"):
        window.actions_by_name[name].trigger()
        notice.show_message(UserMessage("A title", "A sentence about what happened. " * 8, "Locate…"))
        settle(0.05)
        top = notice.mapTo(window, QPoint()).y()
        assert pages.mapTo(window, QPoint()).y() + pages.height() <= top
        assert top + notice.height() <= window.statusBar().y()
        assert notice.height() >= notice.heightForWidth(notice.width())
        assert image.width() <= width
        notice.hide()
    window.resize(900, 540)
    window.reading_preview.show_reading()
    notice.show_message(UserMessage("Title", "Sentence."))
    settle()
    curves = pages.page("curves")
    plot = curves.stack.currentWidget()
    assert window.height() == 540
    assert plot.mapTo(curves, plot.rect().bottomLeft()).y() <= curves.height()
    window.actions_by_name["page_weights"].trigger()
    formula = window.weights_page.set_view("explain")
    settle(0.05)
    assert formula.table.geometry().bottom() < formula.tiles.mapTo(formula, QPoint()).y()


def test_that_a_layer_that_is_not_fitted_yet_has_no_limit_and_no_time(window, every_payload):
    seen, marks, view = [], [], window.weights_page.shown_view()

    def look():
        stack = window.workspace.fitting.stack
        titles = [title.removeprefix("≈ ") for title in window.weights_page._source.tiles((0,)).titles]
        texts = [each.text() for each in window.panel.findChildren(QtWidgets.QLabel)]
        notes = [text for text in texts if text.startswith("Fitted")]
        seen.append((0 if stack is None else len(stack.layers), titles, notes))
        view._show_numbers()
        marks.append(view.readout.accessibleDescription().count("≈h"))

    refit(window, depth=1)
    look()
    assert "→" not in seen.pop()[2][0]
    window.workspace.fitting.changed.connect(look)
    refit(window, depth=4, ridge=1e-3)
    assert (3 in marks, marks[-1]) == (True, 0)  # number of layers with approximate numbers
    assert {fitted for fitted, _, _ in seen} >= {1, 2, 3, 4}
    for fitted, titles, notes in seen:
        assert titles[fitted:] == [f"layer {k}" for k in range(fitted + 1, 5)]
        assert not any("0.00" in text for text in titles + notes)
        assert fitted == 4 or notes == []


def test_that_ctrl_z_undoes_changes_while_a_number_has_the_focus(window):
    number = window.panel.sliders["noise"].findChild(QtWidgets.QLineEdit)
    window.activateWindow()
    number.setFocus()
    number.selectAll()
    QTest.keyClicks(number, "0.45\r")
    number.setFocus()
    assert window.workspace.state.parameters.noise == 0.45
    QTest.keyClick(number, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert window.workspace.state.parameters.noise == 0.3
    QTest.keyClick(number, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert window.workspace.state.parameters.noise == 0.45


def test_that_commands_that_do_not_apply_are_disabled_with_the_reason(window):
    actions, set_parameters = window.actions_by_name, window.workspace.set_parameters

    def reasons(*names):
        window.follow()
        return {"" if actions[name].isEnabled() else actions[name].toolTip().split(" (")[0] for name in names}

    assert reasons("redo") == {"There is nothing to redo"}
    assert reasons("cancel") == {"No job is running"}
    assert "the rows have no labels" in reasons("train").pop().lower()
    assert reasons("fit_again") == {"The layers already match the parameters"}
    assert reasons("next_sample", "corrupt", "release_pins") == {""}
    window.workspace.select(pins=())
    set_parameters(noise=0.0, depth=0)
    wanted = "Nothing is pinned", "The noise level is already 0", "The depth is already 0"
    assert reasons("release_pins", "less_noise", "shallower") == set(wanted)
    set_parameters(noise=0.2, depth=1)
    assert reasons("cancel", "fit_again", "less_noise") == {""}
    actions["page_runs"].trigger()
    assert reasons("corrupt_again", "mean_image") == {"Available only on the Weights page"}
    assert all(menu.toolTipsVisible() for menu in window.findChildren(QtWidgets.QMenu) if menu.title().startswith("&"))


_ELIDES = QtWidgets.QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon


def cut(window):
    """Return the texts of buttons, boxes, labels and empty fields that do not fit into their widget."""
    found = []
    for each in window.findChildren(QtWidgets.QWidget):
        kind = type(each)
        if not each.isVisible() or ("paintEvent" in vars(kind) and kind.__module__ != QtWidgets.__name__):
            continue
        words, room = "", each.width()
        if isinstance(each, QtWidgets.QAbstractButton) or (isinstance(each, QtWidgets.QLabel) and not each.wordWrap()):
            words = each.text()
        elif isinstance(each, QtWidgets.QLineEdit):
            words, room = each.placeholderText(), room - 24  # 24: the padding
        elif isinstance(each, QtWidgets.QComboBox) and each.sizeAdjustPolicy() != _ELIDES:
            words, option = each.currentText(), QtWidgets.QStyleOptionComboBox()
            each.initStyleOption(option)
            box, field = QtWidgets.QStyle.ComplexControl.CC_ComboBox, QtWidgets.QStyle.SubControl.SC_ComboBoxEditField
            room = each.style().subControlRect(box, option, field, each).width()
        if each.fontMetrics().horizontalAdvance(words) > room:
            found.append(f"{type(each).__name__} {words!r}")
    return found


@pytest.mark.parametrize("size", [(853, 480), (960, 640)])  # the first is 1280 × 720 at a scale of 150 %
def test_that_no_word_is_cut_on_a_small_screen(window, size):
    window.resize(*size)
    settle()
    assert (window.width(), window.height()) == size
    seen = [f"{view}: {words}" for view in every_view(window) for words in cut(window)]
    assert not seen, "\n".join(seen)
