"""All texts have enough contrast as drawn on every page in both themes; test_theme tests the palette."""

import numpy as np
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QLabel, QWidget

from slide_gui.gui.plots.axes import Plot
from slide_gui.gui.theme import contrast, theme_of
from slide_gui.gui.widgets.painted import CachedPixmap
from tests.gui.helpers import at_rest, every_view, labelled, train

OPENED = labelled

LEAST = 4.5


class Written:
    """Records each text that Python paints, with its position in the widget, its colour and its opacity."""

    def __init__(self, monkeypatch):
        self.texts = []
        draw = QPainter.drawText

        def note(painter, *args):
            text = next((each for each in args if isinstance(each, str)), "")
            place = QRectF(args[0]) if not isinstance(args[0], QPointF | int | float) else None
            if place is None and isinstance(args[0], QPointF):
                metrics = painter.fontMetrics()
                place = QRectF(metrics.boundingRect(text)).translated(args[0])
            if place is not None and any(c.isalnum() for c in text):
                flags = next((int(each) for each in args[1:] if isinstance(each, int)), 0)
                place = QRectF(painter.boundingRect(place, flags, text))
                colour = QColor(painter.pen().color())
                colour.setAlphaF(colour.alphaF() * painter.opacity())
                self.texts.append((painter.device(), text, painter.combinedTransform().mapRect(place), colour))
            return draw(painter, *args)

        monkeypatch.setattr(QPainter, "drawText", note)


def pixels_of(picture):
    """Return the colours of a picture, by row and column."""
    image = picture.toImage().convertToFormat(QImage.Format.Format_RGB32)
    return np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), -1)[:, : image.width()].copy()


def ground_of(pixels, place):
    """Return the most frequent colour of a region, the background of its text; None outside of the picture."""
    box = place.toAlignedRect().intersected(QRect(0, 0, pixels.shape[1], pixels.shape[0]))
    if box.width() < 3 or box.height() < 5:
        return None
    seen, counts = np.unique(pixels[box.top() : box.bottom(), box.left() : box.right()], return_counts=True)
    return QColor(int(seen[counts.argmax()]))


def over(colour, ground):
    share = colour.alphaF()
    pairs = zip(colour.getRgb()[:3], ground.getRgb()[:3], strict=True)
    return QColor(*(round(share * a + (1 - share) * b) for a, b in pairs))


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
            inks = (
                [each.palette().color(each.foregroundRole())]
                if isinstance(each, QLabel)
                else map(QColor, seen.tolist())
            )
            yield each, max(contrast(ink, ground) for ink in inks)


def test_that_what_is_painted_on_every_page_has_a_contrast_of_4_5_in_both_themes(window, monkeypatch):
    window.workspace.select(pins=(3, 20))
    train(window)
    window.workspace.set_parameters(noise=0.5)  # the earlier results are now grey
    at_rest(window)
    faults = []
    written = Written(monkeypatch)
    for theme in ("light", "dark"):
        window.set_theme(theme)
        many = 0
        for view in every_view(window):
            where = f"{theme}, {view}"
            whole = pixels_of(window.grab())
            for each, ratio in least_of_words(whole, window):
                many += 1
                if ratio < LEAST:
                    faults.append(f"{where}: {type(each).__name__} {each.text()!r} {ratio:.2f}")
            for each in painted(window):
                written.texts.clear()
                each.grab()
                corner = QPointF(each.mapTo(window, each.rect().topLeft()))
                for device, text, place, colour in list(written.texts):
                    if isinstance(device, QWidget) and device is not each:
                        continue  # a child, which is painted on its own
                    ground = ground_of(whole, place.translated(corner))
                    if ground is not None:
                        many += 1
                        ratio = contrast(over(colour, ground), ground)
                        if ratio < LEAST:
                            faults.append(f"{where}: {type(each).__name__} {text!r} {ratio:.2f}")
        assert theme_of(window).name == window.settings.value("theme") == theme
        assert many > 400, many
    assert not faults, "\n".join(dict.fromkeys(faults))
