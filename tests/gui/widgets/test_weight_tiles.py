"""Tiles of weights, mosaics, and the columns of Flow."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.weights.flow_view import FlowColumn, FlowLayout, FlowTile, FlowView
from slide_gui.gui.theme import LIGHT, towards
from slide_gui.gui.widgets.image import MARGIN
from slide_gui.gui.widgets.painted import INK
from slide_gui.gui.widgets.tiles import Mosaic, Tile, TileRow
from slide_gui.gui.widgets.weight_tiles import TileScroll, WeightTiles
from tests.gui.helpers import press, record, spread

COLUMNS = ("layer 1", "layer 2")
SCALE = ColorScale.symmetric("blue-white-red", 1.0)


def tile(seed, shape=(8, 6)):
    values = np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)
    values.flat[0], values.flat[1], values.flat[2] = 0.0, 1.0, -1.0
    return Tile(values, SCALE, "max 0.29 · bias +0.02", 20)


def row(*tiles, title="14, 9", pin=True):
    return TileRow(title, "pinned", LIGHT.pin(0), pin, tiles)


@pytest.fixture
def view(shown):
    made = shown(WeightTiles(), 420, 420)
    made.set_content(COLUMNS, (row(tile(1), tile(2)), row(tile(3), None, title="6, 20")))
    return made


def spot(view, row, column, index):
    layout = view.layout_of()
    return layout.spot(layout.tile(row, column), index).center().toPoint()


def test_that_weights_are_painted_in_the_scales_colours_and_a_stale_tile_is_paler_and_moves_nothing(view):
    lut, page = SCALE.lut().tolist(), LIGHT.background
    places = []
    for opacity in (1.0, 0.65):
        view.set_content(COLUMNS, (row(replace(tile(1), stale=opacity < 1), tile(2)), row(tile(3), None)))
        for index, entry in ((0, 128), (1, 255), (2, 1)):
            wanted = towards(QColor(*lut[entry]), QColor(page), opacity)
            assert spread(view.grab().toImage().pixelColor(spot(view, 0, 0, index)), wanted) <= 2
        places.append((spot(view, 0, 0, 1), view.sizeHint().height()))
    assert places[0] == places[1]


def test_that_only_tiles_that_changed_are_rendered_again_and_no_mosaic_for_a_moved_ring(view, monkeypatch):
    fields, made = np.random.default_rng(0).normal(size=(48, 8, 6)).astype(np.float32), []
    indices = ColorScale.indices
    monkeypatch.setattr(ColorScale, "indices", lambda self, v: made.append(v) or indices(self, v))
    for marker, other, rendered in ((3, 6, 3), (40, 6, 3), (47, 7, 4)):
        view.set_content(COLUMNS, (above(mosaic(fields, marker), None), row(tile(5), tile(other))))
        view.grab()
        assert len(made) == rendered
    assert view.accessibleDescription().startswith("All rows, layer 1")


def test_that_hover_and_ctrl_click_report_row_column_and_pixel_also_of_an_enlarged_tile(view):
    hovered, clicked = record(view.pixel_hovered, view.pixel_clicked)
    for enlarge in (lambda: None, lambda: view.enlarge(0, 1)):
        enlarge()
        QTest.mouseMove(view, spot(view, 0, 1, 33))
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ControlModifier, spot(view, 0, 1, 33))
        QTest.mouseMove(view, view.layout_of().captions(0, 1).center().toPoint())
    view.step_back()
    QTest.mouseMove(view, view.layout_of().tile(1, 1).center().toPoint())
    QTest.mouseMove(view, spot(view, 1, 0, 0))
    QApplication.sendEvent(view, QEvent(QEvent.Type.Leave))
    assert hovered == [(0, 1, 33), None, (0, 1, 33), None, (1, 0, 0), None]
    assert clicked == [(0, 1, 33), (0, 1, 33)]


def test_that_the_remove_button_and_delete_remove_a_pinned_row_only(view):
    clicked, removed = record(view.pixel_clicked, view.row_removed)
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.layout_of().remove(1).center().toPoint())
    press(view, Qt.Key.Key_Down, Qt.Key.Key_Delete)
    assert removed == [1, 1]
    view.set_content(COLUMNS, ())
    press(view, Qt.Key.Key_Right)
    view.set_content(COLUMNS, (row(tile(1), None, pin=False), row(tile(3), None)))
    QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=view.layout_of().remove(0).center().toPoint())
    press(view, Qt.Key.Key_Delete)
    assert (removed, clicked) == ([1, 1], [])


def test_that_keys_select_tiles_and_ctrl_enter_clicks_the_marked_pixel(view):
    (clicked,) = record(view.pixel_clicked)
    press(view, Qt.Key.Key_Right, Qt.Key.Key_Right)
    QTest.keyClick(view, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert clicked == [(0, 1, 20)]
    assert view.accessibleDescription() == "14, 9, layer 2: max 0.29 · bias +0.02"
    QTest.keyClick(view, Qt.Key.Key_Down)
    QTest.keyClick(view, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert clicked == [(0, 1, 20)]


def test_that_a_click_enlarges_a_tile_and_four_ways_restore_it(view):
    view.set_height(420)
    small, back = view.layout_of().size, view.findChild(QPushButton)
    ways = (
        lambda: QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=spot(view, 0, 1, 33)),
        lambda: QTest.keyClick(view, Qt.Key.Key_Escape),
        lambda: QTest.keyClick(view, Qt.Key.Key_Return),
        back.click,
    )
    for way in ways:
        QTest.mouseClick(view, Qt.MouseButton.LeftButton, pos=spot(view, 0, 1, 5))
        assert view.enlarged == (0, 1)
        assert back.isVisible()
        assert view.layout_of().size[1] > max(2 * small[1], 300)
        assert view.layout_of().tile(0, 1).right() <= view.width()
        assert view.accessibleDescription().endswith(", enlarged")
        way()
        assert view.enlarged is None
        assert not back.isVisible()
        assert view.layout_of().size == small
    view.enlarge(0, 1)
    press(view, Qt.Key.Key_Left)
    assert view.enlarged == (0, 0)
    view.set_content(COLUMNS, ())
    assert view.enlarged is None


SIZES = [(304, 512), (680, 600), (1180, 950), (1640, 1300)]
LAYOUTS = [(rows, 4, *size) for rows in (1, 3, 5, 7, 17) for size in SIZES]
LAYOUTS += [(3, 8, width, 512) for width in (240, 304, 420)]


@pytest.mark.parametrize(("rows", "columns", "width", "height"), LAYOUTS)
def test_that_tiles_of_any_layout_are_apart_inside_and_found_by_position(app, rows, columns, width, height):
    view = WeightTiles()
    view.set_content(("layer",) * columns, (row(*(tile(c, (28, 28)) for c in range(columns))),) * rows)
    layout, places = view.layout_of(width, height), list(product(range(rows), range(columns)))
    boxes = [layout.tile(r, c) for r, c in places] + [layout.captions(r, c) for r, c in places]
    boxes += [box for r in range(rows) for box in (layout.label(r), layout.remove(r))]
    assert max(box.right() for box in boxes) <= width
    assert max(box.bottom() for box in boxes) <= layout.height
    if columns == 8:  # each row takes two lines
        assert layout.lines == 2
        assert layout.size[0] >= 28
    assert not any(a.intersects(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert layout.size[0] >= 84 or width < 600
    assert [layout.at(layout.tile(r, c).center()) for r, c in places] == places


def mosaic(fields, marker=5, **options):
    return Mosaic(fields, SCALE, "", marker, key=id(fields), **options)


def above(*mosaics):
    return TileRow("All rows", "", QColor("red"), False, mosaics, is_mosaics=True)


def test_that_a_field_is_at_the_place_of_its_pixel_and_shows_its_largest_weights(view):
    fields = np.zeros((64, 8, 8), np.float32)
    fields[10, 2, 5], fields[53, 6, 0] = 1.0, -1.0
    view.set_content(COLUMNS, (above(mosaic(fields), None), row(tile(1), None)))
    layout, shot, lut = view.layout_of(), view.grab().toImage(), SCALE.lut().tolist()
    box = layout.tile(0, 0)

    def colours(field):
        spot = layout.spot(box, field, of_field=True)
        dots = product(range(int(spot.left()), int(spot.right())), range(int(spot.top()), int(spot.bottom())))
        return {shot.pixelColor(*dot).getRgb()[:3] for dot in dots}

    assert tuple(lut[255]) in colours(10)
    assert tuple(lut[1]) in colours(53)
    assert not {tuple(lut[1]), tuple(lut[255])} & colours(30)
    assert layout.index(box, layout.spot(box, 10, of_field=True).center(), of_field=True) == 10
    (hovered,) = record(view.pixel_hovered)
    QTest.mouseMove(view, layout.spot(box, 53, of_field=True).center().toPoint())
    assert hovered == [(0, 0, 53)]
    assert view.tip_at(layout.spot(box, 53, of_field=True).center()).startswith("All rows · layer 1\nthe row of 6, 5\n")


def test_that_mosaics_that_arrive_after_their_rows_move_nothing_and_rows_without_layers_change(view):
    view.set_content(COLUMNS[:1], (above(None), row(None)), (8, 6))
    arranged, layout = [], view.layout_of()
    view.arranged.connect(lambda: arranged.append(1))
    view.set_content(COLUMNS[:1], (above(mosaic(np.zeros((48, 8, 6), np.float32))), row(tile(1))), (8, 6))
    assert view.layout_of() is layout
    assert not arranged
    for title in ("4, 4", "5, 5"):
        view.set_content((), (above(), row(title=title)))
    assert view.rows[1].title == "5, 5"


def test_that_fields_of_features_are_the_rows_of_a_matrix(view):
    matrix = np.eye(6, dtype=np.float32)
    view.set_content(("layer 1",), (above(mosaic(matrix, 2)), row(Tile(matrix[2], SCALE, "", 2))))
    layout, shot = view.layout_of(), view.grab().toImage()
    box = layout.tile(0, 0)
    for k in range(6):
        at = QPointF(box.x() + (k + 0.5) * box.width() / 6, box.y() + (k + 0.5) * box.height() / 6)
        assert shot.pixelColor(at.toPoint()).getRgb()[:3] == tuple(SCALE.lut()[255].tolist())
        assert layout.index(box, at, of_field=True) == k
    assert box.bottom() < layout.label(1).top()


@pytest.mark.parametrize(("size", "columns", "least"), [((706, 584), 4, 150), ((650, 584), 8, 99), ((360, 504), 4, 80)])
def test_that_mosaics_and_two_rows_fit_and_further_pins_change_no_sizes(app, size, columns, least):
    view, sizes = WeightTiles(), set()
    first = above(*[mosaic(np.zeros((784, 28, 28), np.float32))] * columns)
    for pins in range(5):
        below = (row(*(tile(c, (28, 28)) for c in range(columns))),) * (pins + 1)
        view.set_content(("layer",) * columns, (first, *below))
        layout = view.layout_of(*size)
        sizes.add(layout.size)
        assert max(layout.tile(1, c).bottom() for c in range(columns)) <= size[1]
    assert len(sizes) == 1
    assert layout.size[0] >= least


def test_that_long_names_of_pins_remain_distinct_and_use_the_space_without_captions(view, monkeypatch):
    names = [f"concentration in the blood of the patient of {salt} (mmol/l)" for salt in ("sodium", "calcium")]
    view.set_content(COLUMNS, tuple(row(tile(1), tile(2), title=name) for name in names))
    boxes = [view.layout_of().label(number).toRect().adjusted(0, 0, 0, -4) for number in range(2)]
    assert len({view.grab(box).toImage().constBits().tobytes() for box in boxes}) == 2
    view.set_content(("layer",) * 4, (row(*[tile(1, (10,))] * 4),))
    assert view.layout_of(392, 500).remove(0).right() == view.layout_of(392, 500).tile(0, 1).right()
    texts, first = [], replace(tile(1), caption="0.29 · b 0.02")
    monkeypatch.setattr(QPainter, "drawText", lambda *drawn: texts.append(drawn[-1]))
    view.set_content(COLUMNS, (row(first, None, pin=False), row(first, None)))
    view.grab()
    assert texts[-2:] == [first.caption, "b 0.02"], "a row without a × button has more space for its first caption"


def test_that_the_crosshair_is_on_every_tile_and_leaves_its_pixel_free(view):
    before = view.grab().toImage()
    view.set_crosshair(9)
    after = view.grab().toImage()
    for r, c in ((0, 0), (0, 1), (1, 0)):
        assert after.pixelColor(spot(view, r, c, 9)) == before.pixelColor(spot(view, r, c, 9))
        far = QPoint(int(view.layout_of().tile(r, c).right()) - 3, spot(view, r, c, 9).y())
        column = [QPoint(far.x(), far.y() + d) for d in (-1, 0, 1)]
        assert any(after.pixelColor(p) != before.pixelColor(p) for p in column)


def test_that_plain_features_are_bars_in_their_colours_of_which_the_largest_are_drawn_if_they_share_a_pixel(view):
    values = np.array([1.0, -1.0, 0.0, 0.5], np.float32)
    view.set_content(("layer 1",), (row(Tile(values, SCALE, "", None)),))
    box, shot, lut = view.layout_of().tile(0, 0), view.grab().toImage(), SCALE.lut().tolist()

    def at(index, height):
        x = view.layout_of().spot(box, index).center().x()
        return list(shot.pixelColor(int(x), int(box.y() + height * box.height())).getRgb()[:3])

    page = list(QColor(LIGHT.background).getRgb()[:3])
    assert [(at(index, 0.2), at(index, 0.8)) for index in range(3)] == [(lut[255], page), (page, lut[1]), (page, page)]
    assert (at(3, 0.2), at(3, 0.4)) == (page, lut[SCALE.indices(0.5)])
    (hovered,) = record(view.pixel_hovered)
    QTest.mouseMove(view, spot(view, 0, 0, 3))
    assert hovered == [(0, 0, 3)]
    view.set_content(("row",), (row(Tile(np.where(values == 0, np.nan, values), INK, "", None)),))
    shot = view.grab().toImage()
    assert at(0, 0.2) == INK.lut()[1].tolist(), "the values of a row are dark on light paper, as the pixels of an image"
    assert at(2, 0.2) == at(2, 0.8) == INK.lut()[0].tolist(), "a hidden value has the colour of NaN"
    many = np.zeros(5000, np.float32)
    many[2503] = -1.0
    view.set_content(("layer 1",), (row(Tile(many, SCALE)),))
    box, shot = view.layout_of().tile(0, 0), view.grab().toImage()
    line = [shot.pixelColor(x, int(box.y() + 0.8 * box.height())).getRgb()[:3] for x in range(shot.width())]
    assert line.count(tuple(lut[1])) == 1


def test_that_tooltips_give_value_and_position_of_the_pixel(view):
    point = view.layout_of().spot(view.layout_of().tile(0, 1), 1).center()
    assert view.tip_at(point) == "14, 9 · layer 2\n+1.000 at 0, 1\nClick to enlarge"
    assert view.tip_at(view.layout_of().label(1).center()) == "6, 20\npinned"
    assert view.tip_at(view.layout_of().remove(1).center()) == "Remove 6, 20 (Delete)"
    assert view.tip_at(view.layout_of().captions(0, 0).center()) == ""


@pytest.mark.parametrize(("rows", "columns"), [(1, 6), (2, 8), (3, 6), (4, 6), (5, 1), (8, 6), (12, 4)])
def test_that_tiles_in_a_scroll_area_of_any_size_stop_resizing(shown, monkeypatch, rows, columns):
    host, resized, resize = QWidget(), [], WeightTiles.updateGeometry
    monkeypatch.setattr(WeightTiles, "updateGeometry", lambda tiles: resized.append(1) or resize(tiles))
    tiles = WeightTiles(host)
    scroll = TileScroll(tiles, host)
    shown(host, 1000, 800)
    line = TileRow("", "", QColor("red"), False, (None,) * columns)
    tiles.set_content(tuple(map(str, range(columns))), (line,) * rows)
    for height in range(131, 720, 38):
        for width in range(200, 560, 22):
            resized.clear()
            scroll.resize(width, height)
            assert len(resized) < 10, f"{rows} × {columns} tiles in {width} × {height}"
            bar = scroll.verticalScrollBar()
            assert bar.isVisible() or bar.maximum() == 0


def test_that_tab_scrolls_to_the_current_tile_and_leaves_the_tiles_where_they_are(shown):
    host = QWidget()
    tiles, after = WeightTiles(host), QPushButton(host)
    scroll = TileScroll(tiles, host)
    scroll.resize(400, 300)
    shown(host, 600, 400)
    tiles.set_content(("layer 1",), (TileRow("", "", QColor("red"), False, (None,)),) * 9)
    bar = scroll.verticalScrollBar()
    for widget, key in ((after, Qt.Key.Key_Backtab), (tiles, Qt.Key.Key_Tab)):
        bar.setValue(bar.maximum())
        widget.setFocus()
        press(widget, key)
        assert (bar.value() <= tiles.layout_of().tile(0, 0).top()) == tiles.hasFocus() == (widget is after)
    assert bar.value() == bar.maximum()


def columns(depth, shape):
    def values(k):
        return np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape) * (1 + k) / 5

    made = [FlowColumn(FlowTile("x", values(4)), FlowTile("x̃", values(3), lines=("3 blanked",)), "corrupt", "T")]
    for k in range(1, depth + 1):
        lower = FlowTile(f"h{k}", -values(k), SCALE, (f"0.0{k} from x",))
        made.append(FlowColumn(FlowTile(f"T{k}", values(0)), lower, f"W{k}", "T"))
    return tuple(made)


@pytest.fixture
def flow_view(shown):
    made = shown(FlowView(), 860, 500)
    made.canvas.set_image(np.zeros((28, 28), np.float32))
    made.set_columns(columns(4, (28, 28)))
    return made


@pytest.mark.parametrize("shape", [(28, 28), (12, 40), (40, 12), (8, 8), (96, 96), (300, 200), (50,), (900,)])
@pytest.mark.parametrize("depth", [0, 1, 4, 8])
@pytest.mark.parametrize("size", [(840, 480), (1480, 840), (480, 320)])
def test_that_no_two_tiles_overlap_and_all_are_inside(shape, depth, size):
    layout = FlowLayout(size[0], 1.0, shape, height=size[1], depth=depth)
    boxes = [box for k in range(depth + 1) for box in (layout.upper(k), layout.lower(k))]
    assert not any(one.intersects(other) for one, other in combinations(boxes, 2))
    assert max(box.right() for box in boxes) <= size[0]
    assert len({layout.lower(k).top() for k in range(1, depth + 1)}) == (2 if layout.wraps else min(depth, 1))
    if len(shape) == 2:  # the ring of the tour is 3 pixels around the canvas, which has a margin around its image
        ring = layout.canvas.adjusted(-MARGIN - 3, -MARGIN - 3, MARGIN + 3, MARGIN + 3)
        assert not ring.intersects(layout.head(layout.canvas))
        assert not ring.intersects(layout.captions(layout.canvas))
    for box in boxes:
        assert layout.captions(box).top() >= box.bottom()
        if size[0] > 500 and len(shape) == 1:
            assert layout.captions(box).right() <= size[0]
            assert box.height() == 144 or (box.height() % 2 == 0 and size[1] < 840), "bars end at the zero line"
        if shape == (28, 28) and depth <= 4 and size[0] >= 840:
            assert box.width() >= 112
        if depth <= 4 and (len(shape) == 1 or (shape == (28, 28) and size[0] >= 840)):
            assert layout.captions(layout.lower(0)).bottom() <= size[1]


@pytest.mark.parametrize(("size", "scale"), [((600, 350), 1), ((900, 450), 2), ((936, 345), 2), ((1500, 800), 4)])
def test_that_eight_layers_and_their_texts_fit_small_windows_without_overlaps(size, scale):
    layout = FlowLayout(size[0], 1.0, (28, 28), height=size[1], depth=8)
    tiles = [box for k in range(9) for box in (layout.upper(k), layout.lower(k))]
    texts = [layout.head(box) for box in tiles] + [layout.captions(layout.lower(k)) for k in range(9)]
    assert layout.scale >= scale
    assert not any(one.intersects(other) for one, other in combinations(tiles + texts, 2))
    assert max(box.right() for box in tiles + texts) <= size[0]
    assert max(box.bottom() for box in tiles + texts) <= size[1]
    assert min(text.width() for text in texts[-8:]) > 85.3, "the width of “−0.50 to +0.73”"
    corners = layout.across(4)
    assert max(corner.x() for corner in corners) <= size[0]
    between = corners[2].y() if layout.wraps else 0.0
    assert all(not box.top() < between < box.bottom() for box in tiles[2:] + texts[2:-9] + texts[-8:])


def test_that_hovering_any_tile_crosses_all_and_shows_their_values(flow_view):
    (hovered,) = record(flow_view.pixel_hovered)
    layout, grid = flow_view.layout_of(), flow_view.canvas.grid()
    assert flow_view.canvas.mapTo(flow_view, grid.frame.topLeft()) == layout.canvas.topLeft()
    before = flow_view.grab().toImage()
    QTest.mouseMove(flow_view, layout.grid(layout.lower(3)).rect(5 * 28 + 7).center().toPoint())
    assert hovered[-1] == flow_view.canvas._current == 5 * 28 + 7
    after = flow_view.grab().toImage()
    heads = [layout.head(layout.lower(k)).toAlignedRect() for k in range(1, 5)]
    assert all(before.copy(head) != after.copy(head) for head in heads)
    lower = flow_view.columns[3].lower
    assert flow_view.value_text(lower) == f"{float(lower.values[5, 7]):+.2f}".replace("-", "−")
    blanked = FlowTile("x̃", np.full((28, 28), np.nan, np.float32))
    flow_view.set_columns((FlowColumn(flow_view.columns[0].upper, blanked), *flow_view.columns[1:]))
    assert flow_view.value_text(blanked) == "set to 0"
    assert "h1: 0.01 from x" in flow_view.accessibleDescription()


def test_that_plain_features_are_bars_without_a_canvas(flow_view):
    flow_view.set_columns(columns(2, (50,)))
    assert not flow_view.canvas.isVisible()
    middle = flow_view.layout_of().upper(1).center().toPoint()
    (hovered,) = record(flow_view.pixel_hovered)
    QTest.mouseMove(flow_view, middle)
    assert hovered == [25]
    picture = flow_view.grab().toImage()
    assert len({picture.pixel(x, middle.y() - 5) for x in range(middle.x() - 40, middle.x() + 40)}) > 1
