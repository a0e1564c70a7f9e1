import pytest
from PySide6.QtGui import QColor, QFontMetricsF

from slide_gui.figures.color_scale import ColorScale
from slide_gui.gui.theme import LIGHT, SECONDARY, figure_font
from slide_gui.gui.widgets.color_bar import ColorBar

SCALE = ColorScale.symmetric("blue-white-red", 0.6)


@pytest.fixture
def bar(shown):
    made = shown(ColorBar(), 68, 300)
    made.set_scale(SCALE)
    return made


@pytest.mark.parametrize("horizontal", [False, True])
def test_that_each_value_has_its_colour_with_all_labels_inside_and_no_scale_leaves_an_empty_frame(shown, horizontal):
    bar = shown(ColorBar(horizontal=horizontal), *((204, 60) if horizontal else (68, 300)))
    bar.set_scale(SCALE, "per layer", ("−limit", "0", "+limit"))
    shot, box = bar.grab().toImage(), bar.bar()
    start, end = (box.left(), box.right()) if horizontal else (box.top(), box.bottom())
    for value in (-0.6, -0.3, 0.0, 0.2, 0.6):
        at = int(min(max(bar.position_of(value), start + 1), end - 1))
        middle = box.center().toPoint()
        found = shot.pixelColor(at, middle.y()) if horizontal else shot.pixelColor(middle.x(), at)
        wanted = SCALE.lut()[SCALE.indices(value)].tolist()
        assert max(abs(a - b) for a, b in zip(found.getRgb()[:3], wanted, strict=True)) <= 8
    edges = {shot.pixelColor(x, y).name() for x in (0, shot.width() - 1) for y in range(shot.height())}
    assert edges == {QColor(LIGHT.background).name()}
    bar.set_scale(None, "no rows yet")
    assert bar.grab().toImage().pixelColor(bar.bar().center().toPoint()) == QColor(LIGHT.background)


def test_that_a_note_does_not_move_the_bar(bar):
    before = bar.bar()
    assert bar.accessibleDescription() == "−0.60 to +0.60"
    bar.set_scale(SCALE, "per tile", ("−max", "0", "+max"))
    assert bar.bar() == before
    assert bar.accessibleDescription() == "per tile −max 0 +max"


def test_that_the_bar_is_wider_only_for_long_labels(bar):
    bar.set_scale(SCALE, labels=("−limit", "0", "+limit"))
    assert bar.sizeHint().width() == 68
    bar.set_scale(SCALE, labels=("−a much longer limit", "0", "+a much longer limit"))
    label = QFontMetricsF(figure_font(bar, SECONDARY)).horizontalAdvance("+a much longer limit")
    assert bar.sizeHint().width() > bar.bar().right() + label
