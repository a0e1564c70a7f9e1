from itertools import combinations

import numpy as np
import pytest
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.pages.weights.flow_view import FlowColumn, FlowLayout, FlowTile, FlowView
from slide_gui.gui.widgets.color_bar import BesideColorBar
from slide_gui.gui.widgets.image import MARGIN
from tests.gui.helpers import record

WEIGHTS = ColorScale.symmetric("blue-white-red", 1.0)


def columns(depth, shape):
    def values(k):
        return np.linspace(0, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape) * (1 + k) / 5

    made = [FlowColumn(FlowTile("x", values(4)), FlowTile("x̃", values(3), lines=("3 blanked",)), "corrupt", "T")]
    for k in range(1, depth + 1):
        lower = FlowTile(f"h{k}", -values(k), WEIGHTS, (f"0.0{k} from x",))
        made.append(FlowColumn(FlowTile(f"T{k}", values(0)), lower, f"W{k}", "T"))
    return tuple(made)


@pytest.fixture
def view(shown):
    made = shown(FlowView(), 860, 500)
    made.canvas.set_image(np.zeros((28, 28), np.float32))
    made.set_columns(columns(4, (28, 28)))
    return made


def test_that_the_place_of_the_colour_bar_does_not_depend_on_earlier_heights(shown):
    host, view = QWidget(), FlowView()
    beside, below = BesideColorBar(view, view.layout_of, host), QLabel(host)
    below.setFixedHeight(150)
    rows = QVBoxLayout(host)
    rows.addWidget(beside, 1)
    rows.addWidget(below)
    shown(host, 960, 600)
    view.set_columns(columns(2, (6, 6)))
    beside.set_scale(WEIGHTS)
    sizes = []
    for visible in (True, False, True):
        below.setVisible(visible)
        QTest.qWait(20)
        sizes.append(view.size())
    assert sizes[0] == sizes[2]
    assert sizes[1].width() > sizes[0].width()


@pytest.mark.parametrize("shape", [(28, 28), (12, 40), (40, 12), (8, 8), (96, 96), (300, 200), (50,), (900,)])
@pytest.mark.parametrize("depth", [0, 1, 4, 8])
@pytest.mark.parametrize("size", [(840, 480), (1480, 840), (480, 320)])
def test_that_no_two_tiles_overlap_and_all_are_inside(shape, depth, size):
    layout = FlowLayout(size[0], 1.0, shape, height=size[1], depth=depth)
    boxes = [box for k in range(depth + 1) for box in (layout.upper(k), layout.lower(k))]
    assert not any(one.intersects(other) for one, other in combinations(boxes, 2))
    assert max(box.right() for box in boxes) <= size[0]
    assert len({layout.lower(k).top() for k in range(1, depth + 1)}) == (2 if depth > 5 else min(depth, 1))
    if len(shape) == 2:  # the ring of the tour is 3 pixels around the canvas, which has a margin around its image
        ring = layout.canvas.adjusted(-MARGIN - 3, -MARGIN - 3, MARGIN + 3, MARGIN + 3)
        assert not ring.intersects(layout.head(layout.canvas))
        assert not ring.intersects(layout.captions(layout.canvas))
    for box in boxes:
        assert layout.captions(box).top() >= box.bottom()
        if size[0] > 500 and len(shape) == 1:
            assert layout.captions(box).right() <= size[0]
        if shape == (28, 28) and depth <= 4 and size[0] >= 840:
            assert box.width() >= 112
            assert layout.captions(layout.lower(0)).bottom() <= size[1]


@pytest.mark.parametrize(("size", "scale"), [((600, 350), 1), ((900, 450), 2), ((1500, 800), 4)])
def test_that_eight_layers_and_their_texts_fit_small_windows_without_overlaps(size, scale):
    layout = FlowLayout(size[0], 1.0, (28, 28), height=size[1], depth=8)
    tiles = [box for k in range(9) for box in (layout.upper(k), layout.lower(k))]
    texts = [layout.head(box) for box in tiles] + [layout.captions(layout.lower(k)) for k in range(9)]
    assert layout.scale >= scale
    assert not any(one.intersects(other) for one, other in combinations(tiles + texts, 2))
    assert max(box.right() for box in tiles + texts) <= size[0]
    assert max(box.bottom() for box in tiles + texts) <= size[1]
    corners = layout.across(4)
    assert max(corner.x() for corner in corners) <= size[0]
    between = corners[2].y()
    assert all(not box.top() < between < box.bottom() for box in tiles[2:] + texts[2:-9] + texts[-8:])


def test_that_hovering_any_tile_crosses_all_and_shows_their_values(view):
    (hovered,) = record(view.pixel_hovered)
    layout, grid = view.layout_of(), view.canvas.grid()
    assert view.canvas.mapTo(view, grid.frame.topLeft()) == layout.canvas.topLeft()
    spot = layout.grid(layout.lower(3)).rect(5 * 28 + 7).center().toPoint()
    before = view.grab().toImage()
    QTest.mouseMove(view, spot)
    assert hovered[-1] == 5 * 28 + 7
    assert view.canvas.cursor_index == 5 * 28 + 7
    after = view.grab().toImage()
    for k in range(1, 5):
        head = layout.head(layout.lower(k)).toAlignedRect()
        assert before.copy(head) != after.copy(head)
    lower = view.columns[3].lower
    assert view.value_text(lower) == f"{float(lower.values[5, 7]):+.2f}".replace("-", "−")
    blanked = FlowTile("x̃", np.full((28, 28), np.nan, np.float32))
    view.set_columns((FlowColumn(view.columns[0].upper, blanked), *view.columns[1:]))
    assert view.value_text(blanked) == "set to 0"
    assert "h1: 0.01 from x" in view.accessibleDescription()


def test_that_plain_features_are_bars_without_a_canvas(view):
    view.set_columns(columns(2, (50,)))
    assert not view.canvas.isVisible()
    layout = view.layout_of()
    middle = layout.upper(1).center().toPoint()
    (hovered,) = record(view.pixel_hovered)
    QTest.mouseMove(view, middle)
    assert hovered == [25]
    picture = view.grab().toImage()
    assert len({picture.pixel(x, middle.y() - 5) for x in range(middle.x() - 40, middle.x() + 40)}) > 1
