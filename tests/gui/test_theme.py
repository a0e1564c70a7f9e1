"""The palette, and the contrast of all texts as drawn on every page in both themes."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSettings, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLabel, QWidget

from slide_gui.gui.plots.axes import Plot
from slide_gui.gui.theme import (
    BLUE,
    DARK,
    LIGHT,
    ORANGE,
    apply_theme,
    ink_on,
    luminance,
    sequential,
    stored_theme,
    style_sheet,
    theme_of,
    towards,
)
from slide_gui.gui.widgets.painted import STALE, CachedPixmap
from tests.gui.helpers import every_view, labelled, refit, train

# The program shows text in the first colour on the second.
TEXT_ON = [
    *((t, g) for t in ("text", "muted") for g in ("background", "panel", "hover", "accent_wash", "paper")),
    *(("text", g) for g in ("danger_wash", "line")),
    *(("accent_text", g) for g in ("background", "panel", "accent_wash", "hover")),
    ("on_accent", "accent"),
    ("on_accent", "accent_hover"),
    *(("danger", g) for g in ("background", "panel", "danger_wash")),
    ("background", "text"),
]

# The program draws informative edges, rings or lines in the first colour on the second.
DRAWN_ON = [
    *(("accent", g) for g in ("background", "panel", "hover", "accent_wash", "paper", "line")),
    *(("edge", g) for g in ("background", "panel")),
    *((line, g) for line in ("text", "muted", "danger") for g in ("background", "panel", "paper")),
]


def contrast(a, b):
    """Return the contrast ratio of two colours, from 1 to 21 (WCAG 2)."""
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def ratio(theme, one, other):
    return contrast(QColor(getattr(theme, one)), QColor(getattr(theme, other)))


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
def test_that_text_has_a_contrast_of_4_5_edges_lines_pins_one_of_3_and_the_style_sheet_every_token_and_picture(theme):
    assert contrast(QColor("#777777"), QColor("white")) == pytest.approx(4.48, abs=0.01)  # known value by WCAG 2
    assert [pair for pair in TEXT_ON if ratio(theme, *pair) < 4.5] == []
    assert [pair for pair in DRAWN_ON if ratio(theme, *pair) < 3.0] == []
    pins = [theme.pin(number) for number in range(7)]
    assert len({pin.name() for pin in pins}) == 6
    assert pins[6] == pins[0]
    for ground in (theme.background, theme.panel, theme.paper):
        assert min(contrast(pin, QColor(ground)) for pin in pins) >= 3.0
    sheet = style_sheet(theme)
    assert "$" not in sheet
    pictures = [line.split('url("')[1].split('"')[0] for line in sheet.splitlines() if "url(" in line]
    assert pictures
    assert all(Path(p).is_file() for p in pictures)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda t: t.name)
@pytest.mark.parametrize("hue", [BLUE, ORANGE])
def test_that_magnitudes_change_lightness_one_way_and_ink_reads_on_every_colour(theme, hue):
    page = QColor(theme.background)
    colours = [sequential(theme, entry / 255, hue) for entry in range(256)]
    steps = [contrast(colour, page) for colour in colours[::6]]
    assert all(b > a for a, b in pairwise(steps))
    assert steps[0] < 1.5
    assert contrast(colours[-1], page) > 7.0
    for colour in colours:
        for shown in (colour, towards(colour, page, STALE)):
            assert contrast(ink_on(shown), shown) >= 4.5


def test_that_system_follows_the_system_and_a_choice_does_not(app):
    hints = app.styleHints()
    for choice, shown in (("system", DARK), ("light", LIGHT)):
        apply_theme(app, choice)
        hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
        assert theme_of(QWidget()) is shown


def test_that_an_unknown_stored_theme_is_that_of_the_system(tmp_path):
    for number, name in enumerate(("@Invalid()", "@Variant(\\0\\0\\0\\x7f)", "blue", "light, dark", "@Size(1 2)", "")):
        path = tmp_path / f"{number}.ini"
        path.write_text(f"[General]\ntheme={name}\n")
        assert stored_theme(QSettings(str(path), QSettings.Format.IniFormat)) == "system"


OPENED = labelled

LEAST = 4.5


@pytest.fixture
def written(monkeypatch):
    """Return a list to which each text that Python paints is appended, with its widget, position and colour."""
    texts, draw = [], QPainter.drawText

    def note(painter, place, *args):
        text = next(each for each in args if isinstance(each, str))
        if not isinstance(place, QPointF) and any(map(str.isalnum, text)):
            flags = int(args[0]) if len(args) > 1 else 0
            colour = QColor(painter.pen().color())
            colour.setAlphaF(colour.alphaF() * painter.opacity())
            place = painter.combinedTransform().mapRect(QRectF(painter.boundingRect(QRectF(place), flags, text)))
            texts.append((painter.device(), text, place, colour))
        return draw(painter, place, *args)

    monkeypatch.setattr(QPainter, "drawText", note)
    return texts


def ground_of(pixels, place):
    """Return the most frequent colour of a region, the background of its text; None outside of the picture."""
    box = place.toAlignedRect().intersected(QRect(0, 0, pixels.shape[1], pixels.shape[0]))
    if box.width() < 3 or box.height() < 5:
        return None
    seen, counts = np.unique(pixels[box.top() : box.bottom(), box.left() : box.right()], return_counts=True)
    return QColor(int(seen[counts.argmax()]))


def painted(root):
    """Yield the widgets that paint themselves and the viewports of tables, and drop their cached pictures."""
    for each in root.findChildren(QWidget):
        kind = type(each)
        if not each.isVisible() or min(each.width(), each.height()) <= 8 or not kind.__module__.startswith("slide_gui"):
            continue
        if isinstance(getattr(each, "_still", None), CachedPixmap):
            vars(each)["_still"] = CachedPixmap()
        if isinstance(each, QAbstractItemView):
            yield each.viewport()
        elif isinstance(each, Plot) or "paintEvent" in vars(kind):
            yield each


def least_of_words(pixels, root):
    """Yield each label and button painted by Qt with its contrast; thin letters of a label may look paler."""
    for each in root.findChildren(QWidget):
        box = each.visibleRegion().boundingRect().translated(each.mapTo(root, QPoint())).adjusted(3, 3, -3, -3)
        if not isinstance(each, QLabel | QAbstractButton) or not each.isEnabled() or not each.text() or box.isEmpty():
            continue
        seen = np.unique(pixels[box.top() : box.bottom(), box.left() : box.right()])
        if "paintEvent" not in vars(type(each)) and len(seen) > 1:
            ground = ground_of(pixels, QRectF(box))
            label_ink = each.palette().color(each.foregroundRole())
            inks = [label_ink] if isinstance(each, QLabel) else map(QColor, seen.tolist())
            yield each, max(contrast(ink, ground) for ink in inks)


def test_that_what_is_painted_on_every_page_has_a_contrast_of_4_5_in_both_themes(window, written):
    window.workspace.select(pins=(3, 20))
    train(window)
    refit(window, noise=0.5)  # the earlier results are now grey
    faults = []
    for theme in ("light", "dark"):
        window.set_theme(theme)
        many = 0
        for view in every_view(window):
            where = f"{theme}, {view}"
            image = window.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
            whole = np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)[:, : image.width()]
            for each, ratio in least_of_words(whole, window):
                many += 1
                if ratio < LEAST:
                    faults.append(f"{where}: {type(each).__name__} {each.text()!r} {ratio:.2f}")
            for each in painted(window):
                written.clear()
                each.grab()
                corner = QPointF(each.mapTo(window, each.rect().topLeft()))
                for device, text, place, colour in list(written):
                    if isinstance(device, QWidget) and device is not each:
                        continue  # a child, which is painted on its own
                    ground = ground_of(whole, place.translated(corner))
                    if ground is not None:
                        many += 1
                        ratio = contrast(towards(colour, ground, colour.alphaF()), ground)
                        if ratio < LEAST:
                            faults.append(f"{where}: {type(each).__name__} {text!r} {ratio:.2f}")
        assert theme_of(window).name == window.settings.value("theme") == theme
        assert many > 400, many
    assert not faults, "\n".join(dict.fromkeys(faults))
