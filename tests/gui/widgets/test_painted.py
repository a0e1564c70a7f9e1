"""Painted widgets: facts that hold for all, and color bar, shares, thumbnails, canvas, formula and confusion matrix."""

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QFontMetrics
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget

from slide_gui.core.slide.denoiser import denoiser_weights
from slide_gui.experiments.inspection.rows import explain
from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.classifier.learning import CriterionPlot, ShareBars
from slide_gui.gui.pages.classifier.thumbnails import Thumbnail, Thumbnails
from slide_gui.gui.pages.curves.error_curves import ErrorPlot
from slide_gui.gui.pages.curves.heat_map import HeatMap
from slide_gui.gui.pages.curves.points import ErrorPoint
from slide_gui.gui.pages.weights.copies import CopiesPlot
from slide_gui.gui.pages.weights.explained import FormulaTable, lines_of
from slide_gui.gui.theme import DARK, LIGHT, SECONDARY, apply_theme, figure_font
from slide_gui.gui.widgets.color_bar import ColorBar
from slide_gui.gui.widgets.confusion_matrix import ConfusionMatrix
from slide_gui.gui.widgets.image import DrawingCanvas
from tests.gui.helpers import centre, press, rate, record, settle, spread


@pytest.mark.parametrize("kind", [ErrorPlot, CriterionPlot, CopiesPlot])
def test_that_an_empty_widget_describes_the_next_step_and_ignores_keys_and_clicks(kind, shown):
    view = shown(kind(), 400, 300)
    view.set_placeholder("Start a sweep.")
    press(view, Qt.Key.Key_Right, Qt.Key.Key_Return)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=QPoint(200, 150))
    assert view.accessibleDescription() == "Start a sweep."
    assert not view.grab().isNull()


def test_that_each_value_has_its_colour_with_all_labels_inside_and_no_scale_leaves_an_empty_frame(shown):
    bar, scale = shown(ColorBar(), 204, 34), ColorScale.symmetric("blue-white-red", 0.6)
    bar.set_scale(scale)
    assert bar.accessibleDescription() == "−0.60 to +0.60"
    bar.set_scale(scale, "per layer", ("−limit", "0", "+limit"))
    assert bar.accessibleDescription() == "per layer −limit 0 +limit"
    shot, box = bar.grab().toImage(), bar.bar()
    for value in (-0.6, -0.3, 0.0, 0.2, 0.6):
        at = int(min(max(bar.position_of(value), box.left() + 1), box.right() - 1))
        found = shot.pixelColor(at, box.center().toPoint().y())
        wanted = scale.lut()[scale.indices(value)].tolist()
        assert max(abs(a - b) for a, b in zip(found.getRgb()[:3], wanted, strict=True)) <= 8
    edges = {shot.pixelColor(x, y).name() for x in (0, shot.width() - 1) for y in range(shot.height())}
    assert edges == {QColor(LIGHT.background).name()}
    bar.set_scale(None, "no rows yet")
    assert bar.grab().toImage().pixelColor(bar.bar().center().toPoint()) == QColor(LIGHT.background)


NAMES, SHARES, WIDTHS = ("h⁰", "h¹", "white"), (0.5, 0.3, 0.2), (3.18, 12.6, math.inf)


@pytest.fixture
def bars(shown):
    made = shown(ShareBars(), 400, 160)
    made.set_shares(NAMES, SHARES, WIDTHS)
    return made


def test_that_bars_are_as_long_as_their_shares_in_the_colour_of_their_layer_and_paler_if_stale(app, bars):
    assert [bar.value() / bar.maximum() for bar in bars.bars] == list(SHARES)
    settle()
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        apply_theme(app, name)
        assert [ink_of(bar) for bar in bars.bars] == [theme.pin(layer) for layer in range(3)]
    bars.set_shares(("h¹", "h²"), (0.6, 0.4), (1.0, 1.0))
    assert [ink_of(bar) for bar in bars.bars if bar.isVisible()] == [LIGHT.pin(layer) for layer in (1, 2)]
    bars.set_shares(("h¹", "h²"), (0.6, 0.4), (1.0, 1.0), stale=True)
    assert ink_of(bars.bars[0]).lightness() > LIGHT.pin(1).lightness()


def ink_of(bar):
    return bar.grab().toImage().pixelColor(6, bar.height() // 2)


def test_that_widths_have_the_same_decimals_and_an_unused_layer_is_infinite(bars):
    texts = "h⁰: 50.0\u202f%, σ 3.18; h¹: 30.0\u202f%, σ 12.60; white: 20.0\u202f%, σ ∞"
    assert bars.accessibleDescription() == texts
    bars.set_shares(NAMES, SHARES, (3.18, 4.2e-7, math.inf))
    assert "σ 3.1800; h¹: 30.0\u202f%, σ 4.20·10⁻⁷" in bars.accessibleDescription()
    bars.set_placeholder("Press Train.")
    bars.set_shares((), (), ())
    assert bars.accessibleDescription() == "Press Train."


ACTIVE_ROWS = np.column_stack([np.random.default_rng(0).random((60, 5)) > 0.5, np.ones(60)]).astype(float)
SCATTER = ACTIVE_ROWS.T @ ACTIVE_ROWS
WEIGHTS = denoiser_weights(SCATTER, 0.3)


def test_that_the_inserted_numbers_give_the_value_shown_and_small_sums_have_all_their_digits():
    small = np.ones((50, 4)) * np.array([1.0, 0.0, 0.0, 1.0])
    small[0, 1], small[1:3, 2] = 0.013, 0.5
    S = small.T @ small
    W = denoiser_weights(S, 0.3, 1e-5)
    for a, b, first, last in ((0, 1, "0.01300", "0.009100"), (1, 2, "0.00", "0.00")):
        shown = [line.value for line in lines_of(explain(S, W[a], 0.3, 1e-5, a, b))]
        assert (shown[0], shown[1], shown[-1]) == (first, last, last)
    lines = lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3))
    for line in lines[1:4]:
        product = np.prod([float(part) for part in line.numbers.split(" · ")])
        assert abs(product - float(line.value)) < 0.006
    assert lines[4].value == f"{WEIGHTS[1, 3]:+.4f}".replace("-", "−")
    assert lines[-1].value == lines[1].value
    assert lines_of(explain(SCATTER, np.full(6, 3.14e-5), 0.3, 1e-5, 1, 3))[4].value == "+3.1·10⁻⁵"
    assert "E[Q]_{ab}" not in {line.name for line in lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 1))}


def test_that_the_table_reads_formulas_aloud_escapes_names_and_omits_meanings_that_do_not_fit(shown):
    window = QWidget()
    table = FormulaTable(window)
    QVBoxLayout(window).addWidget(table)
    shown(window, 800, 300)
    table.set_lines("<img src='x.png'>", "", lines_of(explain(SCATTER, WEIGHTS[1], 0.3, 1e-5, 1, 3)))
    assert "E[P]_ab = S_ab p = " in table.accessibleDescription()
    assert "<img src='x.png'>" in table.toPlainText()
    assert "Both a and b are kept" in table.toPlainText()
    window.resize(480, 300)
    settle()
    assert "Both a and b are kept" not in table.toPlainText()
    assert table.document().idealWidth() <= table.width()
    assert table.document().size().height() <= table.height()


def items(n):
    pixels = np.random.default_rng(0).integers(0, 2, (n, 28, 28)).astype(np.float32)
    return [Thumbnail(7 * i + 3, pixels[i], f"{i % 10} → {(i + 1) % 10}", f"sample {7 * i + 3}") for i in range(n)]


@pytest.fixture
def thumbnails(shown):
    made = shown(Thumbnails(), 420, 300)
    made.set_images(items(5000))
    return made


def cell(view, row, column=0):
    return view.visualRect(view.model().index(row, column))


def test_that_pixels_are_enlarged_by_an_integer_and_inverted_in_the_dark_theme(app, thumbnails):
    pixels = items(1)[0].pixels
    for name, theme in (("dark", DARK), ("light", LIGHT)):
        apply_theme(app, name)
        shot = thumbnails.model().index(0, 0).data(Qt.ItemDataRole.DecorationRole).pixmap(58, 58).toImage()
        assert shot.width() == 58
        for row, column in ((0, 1), (13, 20), (27, 27)):
            for corner in (1, 2):
                found = shot.pixelColor(2 * column + corner, 2 * row + corner)
                wanted = QColor(theme.ink if pixels[row, column] else theme.paper)
                assert abs(found.lightness() - wanted.lightness()) <= 8


def test_that_only_visible_images_are_rendered_and_the_columns_stay_when_images_arrive(thumbnails):
    rendered = thumbnails.model().icons
    thumbnails.grab()
    assert 0 < len(rendered) < 60
    thumbnails.verticalScrollBar().setValue(4000)
    thumbnails.grab()
    assert len(rendered) < 120
    before = [cell(thumbnails, i).left() for i in range(3)]
    thumbnails.set_images(items(3))
    assert [cell(thumbnails, i).left() for i in range(3)] == before
    assert thumbnails.verticalScrollBar().maximum() == 0


def test_that_a_click_and_enter_report_the_index_stale_images_are_paler_and_an_empty_gallery_gives_advice(thumbnails):
    (indices,) = record(thumbnails.image_clicked)
    QTest.mouseClick(thumbnails.viewport(), Qt.MouseButton.LeftButton, pos=cell(thumbnails, 1).center())
    press(thumbnails, Qt.Key.Key_Right, Qt.Key.Key_Return)
    assert indices == [10, 17]
    assert thumbnails.model().index(2, 0).data(Qt.ItemDataRole.ToolTipRole) == "sample 17"
    for stale, ink in ((False, QColor(LIGHT.ink).lightness()), (True, QColor(LIGHT.ink).lightness() + 60)):
        thumbnails.set_images([Thumbnail(0, np.ones((28, 28), np.float32), "→ Iris-setosa", "")], stale)
        assert cell(thumbnails, 0).width() >= 10 + thumbnails.fontMetrics().horizontalAdvance("→ Iris-setosa")
        icon = thumbnails.model().index(0, 0).data(Qt.ItemDataRole.DecorationRole)
        assert abs(icon.pixmap(58, 58).toImage().pixelColor(30, 30).lightness() - ink) < 40
    thumbnails.set_placeholder("No errors.")
    thumbnails.set_images([])
    QTest.keyClick(thumbnails, Qt.Key.Key_Return)
    assert thumbnails.accessibleDescription() == "No errors."


LEFT, RIGHT = Qt.MouseButton.LeftButton, Qt.MouseButton.RightButton


@pytest.fixture
def canvas(shown):
    made = shown(DrawingCanvas(), 248, 168)
    made.set_image(np.zeros((8, 12), np.float32))
    made.setFocus()
    return made


def stroke(canvas, *cells, button=LEFT, shift=False):
    held = Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier
    spots = [centre(canvas, 12 * row + column) for row, column in cells]
    QTest.mousePress(canvas, button, held, spots[0])
    for spot in spots[1:]:
        QTest.mouseMove(canvas, spot)
    QTest.mouseRelease(canvas, button, held, spots[-1])


def lit(canvas):
    return set(zip(*(part.tolist() for part in np.nonzero(canvas.image)), strict=True))


def test_that_a_fast_stroke_has_no_gaps_the_right_button_and_shift_erase_and_brushes_are_cut_at_the_border(canvas):
    (images,) = record(canvas.drawn)
    stroke(canvas, (2, 1), (2, 9))
    assert lit(canvas) == {(2, column) for column in range(1, 10)}
    assert images[0].sum() == 1
    assert images[-1] is canvas.image
    stroke(canvas, (2, 3), button=RIGHT)
    stroke(canvas, (2, 7), (2, 9), shift=True)
    assert lit(canvas) == {(2, 1), (2, 2), (2, 4), (2, 5), (2, 6)}
    canvas.blank()
    canvas.set_brush(3)
    stroke(canvas, (0, 0))
    canvas.set_brush(2)
    stroke(canvas, (5, 5))
    assert lit(canvas) == {(0, 0), (0, 1), (1, 0), (1, 1), (5, 5), (5, 6), (6, 5), (6, 6)}
    QTest.mousePress(canvas, LEFT, pos=centre(canvas, 0))
    for shown in (False, True):
        canvas.setVisible(shown)
    before = canvas.image
    QTest.mouseMove(canvas, centre(canvas, 40))
    assert canvas.image is before, "a stroke ends when the canvas is hidden"


def test_that_strokes_that_change_something_are_reported_and_can_be_shown_again(canvas):
    (strokes,) = record(canvas.stroked)
    stroke(canvas, (1, 1), button=RIGHT)
    canvas.blank()
    assert not strokes
    stroke(canvas, (1, 1), (1, 3))
    stroke(canvas, (4, 4))
    given = np.zeros((8, 12), np.float32)
    canvas.set_image(given, strokes[0])
    assert lit(canvas) == {(1, 1), (1, 2), (1, 3)}
    canvas.blank()
    assert not lit(canvas)
    assert [image.sum() for image in strokes] == [3, 4, 0]
    for image, is_drawn_on in ((strokes[1], True), (None, False), (strokes[1], True)):
        canvas.set_image(given, image)
        assert canvas.is_drawn_on == is_drawn_on
    canvas.set_image(np.ones((8, 12), np.float32))
    assert not canvas.is_drawn_on
    assert len(strokes) == 3


def test_that_an_image_with_pins_takes_a_click_as_click_and_draws_when_the_mouse_reaches_another_pixel(shown):
    canvas, clicked = shown(DrawingCanvas(pins=True), 248, 168), []
    canvas.pixel_clicked.connect(clicked.append)
    canvas.set_image(np.zeros((8, 12), np.float32))
    stroke(canvas, (1, 1))
    assert clicked == [13]
    assert not lit(canvas)
    stroke(canvas, (2, 1), (2, 4), (2, 1))
    stroke(canvas, (2, 2), button=RIGHT)
    assert lit(canvas) == {(2, 1), (2, 3), (2, 4)}
    press(canvas, Qt.Key.Key_Space)
    assert clicked == [13, 26]
    QTest.mousePress(canvas, LEFT, pos=centre(canvas, 0))
    QTest.mouseMove(canvas, QPoint(-5, -5))
    QTest.mouseRelease(canvas, LEFT, pos=QPoint(-5, -5))
    assert len(clicked) == 2, "a click ends on its pixel"
    assert "image of 8 × 12 pixels" in canvas.accessibleDescription()


def test_that_keys_move_the_cell_and_space_toggles_it(canvas):
    canvas.set_cursor(3 * 12 + 3)
    press(canvas, Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Space)
    assert lit(canvas) == {(4, 4)}
    assert "row 4, column 4: 1.00; 1 of 96" in canvas.accessibleDescription()
    QTest.keyClick(canvas, Qt.Key.Key_Space)
    assert not lit(canvas)


COUNTS = [[998, 12, 0], [3, 200, 1], [0, 0, 0]]
LABELS = ("3", "5", "8")


@pytest.fixture
def matrix(shown):
    made = shown(ConfusionMatrix(), 420, 360)
    made.set_counts(COUNTS, LABELS)
    return made


def test_that_a_cell_is_described_in_words_and_an_empty_matrix_describes_the_next_step(matrix):
    for role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
        assert matrix.item(0, 1).data(role) == "true 3, predicted 5: 12 of 1\u202f010 (1.2\u202f%)"
    assert matrix.item(2, 0).toolTip() == "true 8, predicted 3: 0 of 0 (no samples)"
    assert matrix.accessibleDescription() == "16 of 1\u202f214 misclassified (1.32\u202f%)"
    matrix.set_placeholder("Press Train.")
    matrix.set_counts([], ())
    assert matrix.accessibleDescription() == "Press Train."


def test_that_mistakes_are_coloured_by_their_share_of_the_row_not_by_count_and_greyed_if_stale(matrix):
    shot, page = matrix.viewport().grab().toImage(), QColor(LIGHT.background)
    more, less, none, right = (
        shot.pixelColor(cell(matrix, *place).topLeft() + QPoint(4, 4)) for place in ((1, 0), (0, 1), (0, 2), (0, 0))
    )
    assert more.lightness() < less.lightness()
    assert none == page
    assert 200 < right.hue() < 230
    assert 10 < more.hue() < 40
    matrix.set_counts(COUNTS, LABELS, worst=0.5)
    assert matrix.color(1, 0).lightness() > less.lightness(), "the scale of another matrix"
    matrix.set_counts(COUNTS, LABELS, stale=True)
    assert matrix.color(1, 0).lightness() > more.lightness()


def test_that_names_of_classes_fit_into_low_cells_and_next_to_their_errors_and_the_legend_next_to_them(matrix):
    matrix.resize(420, 150)
    matrix.set_counts(np.eye(8), ["seven"] * 8)
    assert matrix.columnWidth(0) > matrix.fontMetrics().horizontalAdvance("seven")
    matrix.resize(280, 240)
    matrix.set_counts([[50, 50], [40, 60]], ["Amphibians 1", "Amphibians 2"])
    legend, metrics = matrix.legend_box().toRect(), QFontMetrics(figure_font(matrix, SECONDARY))
    text = "columns: predicted; errors: 0–50.0 % of the true class"
    assert legend.contains(metrics.boundingRect(legend, Qt.TextFlag.TextWordWrap, text))
    matrix.set_counts([[50, 50], [40, 60]], ["benign", "malignant"])
    assert matrix.verticalHeader().width() > 8 + metrics.horizontalAdvance("40.0 %  malignant")


def test_that_mouse_and_keys_report_cells_and_new_counts_keep_the_current_one(matrix):
    (clicked,) = record(matrix.cell_clicked)
    QTest.mouseClick(matrix.viewport(), Qt.MouseButton.LeftButton, pos=cell(matrix, 1, 2).center())
    QTest.mouseClick(matrix.viewport(), Qt.MouseButton.LeftButton, pos=matrix.viewport().rect().bottomRight())
    matrix.set_counts(np.array(COUNTS) + 1, LABELS)
    keys = Qt.Key
    press(matrix, keys.Key_Right, keys.Key_Up, keys.Key_Left, keys.Key_Return)
    matrix.activated.emit(matrix.currentIndex())  # follows a click where a single click activates
    assert clicked == [(1, 2), (0, 1)]


@pytest.mark.parametrize(("many", "size"), [(2, (300, 240)), (10, (420, 420)), (26, (300, 240)), (26, (900, 700))])
def test_that_every_matrix_fits_with_its_legend_and_long_names_are_told_apart(shown, many, size):
    matrix = shown(ConfusionMatrix(), *size)
    matrix.set_counts(np.eye(many, dtype=int) * 1000 + 1, [f"a rather long class name {i}" for i in range(many)])
    area, last = matrix.viewport().rect(), cell(matrix, many - 1, many - 1)
    assert area.adjusted(0, 0, 0, -30).contains(last)
    heads = [matrix.horizontalHeaderItem(i) for i in range(many)]
    assert [head.text() for head in heads] == [f"…{i}" for i in range(many)]
    assert heads[1].toolTip() == "predicted a rather long class name 1"
    matrix.grab()


@pytest.fixture
def heat_map(shown):
    errors = {(0.0, 0): 2.2, (0.3, 0): 2.2, (0.3, 1): 1.5, (0.1 * 3, 2): 3.0}
    made = shown(HeatMap(), 600, 240)
    made.set_points([ErrorPoint(x, d, rate(e), f"{x:g}/{d}", chosen=d == 1) for (x, d), e in errors.items()])
    return made


def test_that_more_error_is_darker_and_noise_levels_that_differ_by_rounding_share_a_column(heat_map):
    assert (heat_map.rowCount(), heat_map.columnCount()) == (3, 2)
    least, middle, most = (heat_map.color(row, 1).lightness() for row in (1, 0, 2))
    assert least > middle > most
    assert heat_map.color(2, 0) == QColor(LIGHT.background), "a hole"
    assert [heat_map.item(row, 1).text() for row in range(3)] == ["2.20", "1.50", "3.00"]
    for state, bounds in (("done", " 1.00 %,"), ("refining", "")):  # no range without a result
        heat_map.set_points([ErrorPoint(0.5, 1, rate(1.0), "a", state), ErrorPoint(0.6, 1, None, "", "running")])
        assert heat_map._legend[0] == f"test error,{bounds} by depth and noise level 1 − p"
    assert [heat_map.item(0, column).text() for column in range(2)] == ["≈ 1.00", "…"]
    assert heat_map.color(0, 0) == QColor(LIGHT.background)


def test_that_the_selected_point_is_framed_the_current_one_is_highlighted_and_a_click_reports_a_point(heat_map):
    heat_map.set_current(0.3, 2)
    assert (heat_map.outlined, heat_map.selectedIndexes()) == (((1, 1),), [heat_map.model().index(2, 1)])
    edge = cell(heat_map, 1, 1).topLeft() + QPoint(1, 12)
    assert spread(heat_map.viewport().grab().toImage().pixelColor(edge), QColor(LIGHT.text)) < 60
    assert "best on validation: noise 0.30, depth 1: 1.50\u202f%" in heat_map.accessibleDescription()
    assert heat_map.item(2, 1).toolTip().startswith("3.00 % (2.90–3.10)")
    (clicked,) = record(heat_map.point_clicked)
    for place in ((2, 0), (2, 1)):
        QTest.mouseClick(heat_map.viewport(), Qt.MouseButton.LeftButton, pos=cell(heat_map, *place).center())
    assert [point.key for point in clicked] == ["0.3/2"]
