"""The base class of plots, which show curves, dots and axes in the style of the program's window.

pyqtgraph draws the curves, dots and axes, and keeps zooming and panning within the full range of the data. The plot
itself handles mouse and key events, and paints pyqtgraph's scene from a cached picture. If the scene received the
events, it would search its items after each move of the mouse, which takes 0.2 ms. It would also print the exceptions
of event handlers instead of raising them.

Importing pyqtgraph is slow. Therefore, each page imports its plots only when the page is created.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QMargins, QPointF, QRectF, QSizeF, Qt, Slot
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QApplication, QPushButton, QSizePolicy, QWidget

from slide_gui.figures.canvas import apart
from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import (
    ARROWS,
    MIDDLE,
    STALE,
    CachedPixmap,
    HoverWidget,
    focus_ring,
    paint_callout,
    paint_placeholder,
    write,
)
from slide_gui.text import count, fixed, number, significant

_MOST_TICKS = 12  # Maximum number of ticks on an axis; more would be hard to read.
_LEAST_SIZE = QSizeF(40.0, 40.0)
_TICK_GAPS = (48.0, 44.0)  # Minimum distances in pixels between the ticks of the horizontal and of the vertical axis.

pg.setConfigOptions(imageAxisOrder="row-major", antialias=True, useOpenGL=False)

TICK = 4

# The zoom factor of one step of the mouse wheel, and of one press of the key + or −.
STEP = 1.25
_ZOOMS = {Qt.Key.Key_Plus: STEP, Qt.Key.Key_Equal: STEP, Qt.Key.Key_Minus: 1.0 / STEP}
# The user can zoom in until this fraction of the full range fills the plot.
DEEPEST = 1e-3

# A function that returns the values and labels of about n ticks, given the lower and upper end of an axis and n.
Ticks = Callable[[float, float, int], Sequence[tuple[float, str]]]


def nice_ticks(low: float, high: float, most: int = 6) -> tuple[float, ...]:
    """Return evenly spaced round values that enclose `low` and `high`. Their spacing is 1, 2 or 5 times a power of ten.

    There are at most `most` + 2 values. The first value is at or below `low`, the last at or above `high`.
    """
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        low, high = (low, low + 1.0) if math.isfinite(low) else (0.0, 1.0)
    rough = (high - low) / max(most, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(f * power for f in (1.0, 2.0, 5.0, 10.0) if f * power >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    digits = 6 - math.floor(math.log10(step))
    return tuple(round(k * step, digits) + 0.0 for k in range(first, max(last, first + 1) + 1))


def linear_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return ticks at round values between the ends of a linear axis.

    >>> [text for _, text in linear_ticks(1.4, 3.1, 6)]
    ['1.5', '2.0', '2.5', '3.0']
    >>> [text for _, text in linear_ticks(4.2e-9, 5e-9, 3)]
    ['4.5·10⁻⁹', '5.0·10⁻⁹']
    """
    enclosing, slack = nice_ticks(low, high, most), 1e-6 * (high - low)
    decimals = max(0, -math.floor(math.log10(enclosing[1] - enclosing[0]) + 1e-9))
    power = math.floor(math.log10(max(map(abs, enclosing))))
    shown = [t for t in enclosing if low - slack <= t <= high + slack]
    return [(t, fixed(t, decimals) if power > -5 else significant(t, decimals + power + 1)) for t in shown]


def decade_ticks(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return the ticks of a logarithmic axis, given the decimal logarithms `low` and `high` of its ends.

    The ticks are 1, 2 and 5 times powers of ten, or only powers of ten if the axis spans many decades.

    >>> [text for _, text in decade_ticks(0.0, 3.0, 6)]
    ['1', '10', '100', '1\u202f000']
    """
    first, last = math.floor(low), math.ceil(high)
    places: list[float] = []
    for factors, stride in (((1.0, 2.0, 5.0), 1), ((1.0,), 1), ((1.0,), 2), ((1.0,), 3), ((1.0,), 6), ((1.0,), 12)):
        every = [power + math.log10(f) for power in range(first, last + 1, stride) for f in factors]
        places = [p for p in every if low - 1e-9 <= p <= high + 1e-9]
        if len(places) <= most:
            break
    if len(places) < 2:  # The axis is too short for two logarithmic ticks, so use linear ticks.
        return [(math.log10(value), text) for value, text in linear_ticks(10.0**low, 10.0**high, most) if value > 0.0]
    values = [round(10.0**p, 12 - math.floor(p)) for p in places]
    return [(p, count(round(v)) if v >= 1.0 else number(v)) for p, v in zip(places, values, strict=True)]


def evenly_apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return positions close to those in `wanted`, but between `low` and `high` and at least `gap` apart.

    The order of the positions does not change. If there is too little space, the gap between them is reduced.
    """
    gap = min(gap, (high - low) / max(len(wanted) - 1, 1))
    return apart(wanted, [gap] * len(wanted), low, high + gap)


# Pens and brushes are cached, because pyqtgraph reuses the picture of a dot only for the same pen and brush objects.
@cache
def _cached_pen(colour: str, width: float, dash: tuple[float, ...]) -> QPen:
    pen: QPen = pg.mkPen(QColor(colour), width=width, dash=list(dash) or None)
    return pen


@cache
def _cached_brush(colour: str) -> QBrush:
    return QBrush(QColor(colour))


def _axis(side: str) -> Any:
    axis = pg.AxisItem(side, maxTickLength=TICK)
    axis.enableAutoSIPrefix(False)
    offset = 4 if side == "bottom" else 4 + TICK
    # The labels of the outermost ticks may extend up to 24 pixels beyond the ends of the axis.
    axis.setStyle(autoExpandTextSpace=False, hideOverlappingLabels=24, tickAlpha=255, tickTextOffset=offset)
    axis.setZValue(-10)
    return axis


class Plot(HoverWidget):
    """The base class of plots: a view with two axes, which the user can zoom and pan.

    The mouse wheel zooms about the mouse pointer; the keys + and − zoom about the centre of the plot. Dragging, or Alt
    with an arrow key, pans the plot. A double-click, the key 0 or the button at the top shows the full range again.

    Parameters
    ----------
    margins : QMargins
        Space in pixels around the area between the axes, for labels and titles.
    titles : tuple of (str, str)
        Titles below the horizontal axis and above the vertical axis.

    Attributes
    ----------
    is_stale : bool
        True if the plot is outdated and is therefore drawn in grey.
    """

    def __init__(self, margins: QMargins, titles: tuple[str, str], parent: QWidget | None) -> None:
        super().__init__(parent)
        self._margins, self._titles = margins, titles
        # Functions that compute the ticks of the horizontal and of the vertical axis.
        self._ticks: list[Ticks] = [linear_ticks, linear_ticks]
        self._tick_texts: list[list[tuple[float, str]]] = [[], []]
        self._full_range = self._visible = ((0.0, 1.0), (0.0, 1.0))
        self._frame = QRectF(0.0, 0.0, 1.0, 1.0)
        self._pressed: QPointF | None = None
        self._dragging, self._grabbed = False, False
        self._filled = False
        self._still, self._version = CachedPixmap(), 0
        # The screen's device pixel ratio, the theme and the font for which the axes were last drawn.
        self._look: object = None
        # True if the curves and dots must be updated before the next repaint.
        self._is_outdated = True
        self.is_stale = False
        self._curves: dict[Hashable, Any] = {}
        # The scene of this view contains the curves and axes. The view stays hidden; `paint_still` renders its scene.
        self._view = pg.GraphicsView(self, background=None)
        self._view.hide()
        self._box = pg.ViewBox(enableMouse=False, enableMenu=False, defaultPadding=0.0)
        self._box.disableAutoRange()
        self._box.sigRangeChanged.connect(self._update_visible)
        self._x_axis, self._y_axis = _axis("bottom"), _axis("left")
        for item in (self._box, self._x_axis, self._y_axis):
            self._view.addItem(item)
        self._box.setZValue(0)
        self._x_axis.setHeight(24)
        for axis in (self._x_axis, self._y_axis):
            axis.linkToView(self._box)
        self._back = QPushButton("Show all", self)
        self._back.setProperty("kind", "small")
        self._back.setToolTip("Show the full range again (0 or double-click)")
        self._back.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._back.clicked.connect(self.show_full_range)
        self._back.hide()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    # Methods that the pages call

    def box(self) -> QRectF:
        """Return the rectangle enclosed by the axes, in pixels."""
        return self._frame

    def shown(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return the visible ranges of the horizontal and of the vertical axis."""
        return self._visible

    def at(self, x: float, y: float) -> QPointF:
        """Return the position in the widget of the point with the coordinates (x, y).

        This method replaces `ViewBox.mapViewToScene`, which takes 2.6 times as long.
        """
        box, ((left, right), (low, high)) = self._frame, self._visible
        return QPointF(
            box.left() + (x - left) / (right - left) * box.width(),
            box.bottom() - (y - low) / (high - low) * box.height(),
        )

    def values(self, place: QPointF) -> tuple[float, float]:
        """Return the values on the horizontal and on the vertical axis at a position in the widget."""
        box, ((left, right), (low, high)) = self._frame, self._visible
        return (
            left + (place.x() - box.left()) / box.width() * (right - left),
            low + (box.bottom() - place.y()) / box.height() * (high - low),
        )

    def is_zoomed(self) -> bool:
        """Return True if less than the full range of an axis is visible."""
        pairs = zip(self.shown(), self._full_range, strict=True)
        return any(seen[1] - seen[0] < (1.0 - 1e-6) * (full[1] - full[0]) for seen, full in pairs)

    @Slot()
    def show_full_range(self) -> None:
        """Zoom out until the full ranges of both axes are visible."""
        self._box.setRange(xRange=self._full_range[0], yRange=self._full_range[1], padding=0)

    # Methods that subclasses call

    def _set_full_range(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Set the full ranges of both axes. A zoomed plot keeps its visible range as far as possible."""
        zoomed = self.is_zoomed()
        self._full_range = (x, y)
        self._box.setLimits(
            xMin=x[0], xMax=x[1], yMin=y[0], yMax=y[1],
            minXRange=DEEPEST * (x[1] - x[0]), minYRange=DEEPEST * (y[1] - y[0]),
        )  # fmt: skip
        if not zoomed:
            self.show_full_range()
        self._update_visible()

    def _set_filled(self, filled: bool) -> None:
        """Show the axes and curves if `filled` is True, otherwise the placeholder text of an empty plot."""
        self._filled = filled
        self._back.setVisible(filled and self.is_zoomed())
        self._redraw()

    def set_stale(self, stale: bool) -> None:
        """Draw the curves in grey if they are outdated, or else in colour."""
        if stale != self.is_stale:
            self.is_stale = stale
            self._box.setOpacity(STALE if stale else 1.0)
            self._changed()

    def _curve(self, key: Hashable, z: float) -> Any:
        """Make the curve with the key `key` visible, and return the curve. Create it if it does not exist."""
        if key not in self._curves:
            self._curves[key] = pg.PlotCurveItem(connect="finite")
            self._curves[key].setZValue(z)
            self._box.addItem(self._curves[key], ignoreBounds=True)
        self._curves[key].show()
        return self._curves[key]

    def _pen(self, colour: str | QColor, width: float = 1.0, dash: tuple[float, ...] = ()) -> QPen:
        """Return a pen with a width in logical pixels. The width does not depend on the zoom."""
        return _cached_pen(QColor(colour).name(QColor.NameFormat.HexArgb), width * self.devicePixelRatioF(), dash)

    def _brush(self, colour: str | QColor) -> QBrush:
        return _cached_brush(QColor(colour).name(QColor.NameFormat.HexArgb))

    def _scatter(self, z: float, **style: Any) -> Any:
        dots = pg.ScatterPlotItem(**style)
        dots.setZValue(z)
        self._box.addItem(dots, ignoreBounds=True)
        return dots

    def _reveal(self, x: float, y: float) -> None:
        """Pan just far enough to make the point with the coordinates (x, y) visible."""
        moves = []
        for value, (low, high) in zip((x, y), self.shown(), strict=True):
            margin = 0.06 * (high - low)
            moves.append(min(value - low - margin, 0.0) + max(value - high + margin, 0.0))
        if any(moves) and self.is_zoomed():
            self._box.translateBy(x=moves[0], y=moves[1])

    # Methods that subclasses override

    def _draw(self, theme: Theme) -> None:
        """Update curves and dots after the data have changed or another theme has been chosen."""

    def _paint_below(self, painter: QPainter, theme: Theme) -> None:
        """Draw moving marks, such as a cursor, below the curves. They are not part of the cached picture."""

    def _paint_labels(self, painter: QPainter, theme: Theme) -> None:
        """Draw the labels in the margins of the plot."""

    def _paint_marks(self, painter: QPainter, theme: Theme) -> None:
        """Draw moving marks, such as rings around dots, above the curves. They are not part of the cached picture."""

    def _note(self) -> tuple[QPointF, Sequence[str]] | None:
        """Return the position to which the callout points, and its lines of text, or None if there is no callout."""
        return None

    def _at(self, place: QPointF) -> Any:
        """Return the data point at a position in the widget, or None if there is none."""

    def _values_of(self, target: Any) -> tuple[float, float]:
        """Return the coordinates (x, y) of a data point that the user has selected with the keyboard."""
        raise NotImplementedError

    def _click_at(self, target: Any, place: QPointF) -> None:
        """Respond to a click at `place`. `target` is the data point at this position, or None if there is none."""
        if target is not None:
            self._hover(target)
            self._click(target)

    def _grab(self, place: QPointF) -> bool:
        """Return True if dragging from this position moves a mark, such as a cursor, instead of panning the plot."""
        return False

    def _drag(self, place: QPointF) -> None:
        """Move the dragged mark to this position."""

    def _pointer(self, target: Any, place: QPointF) -> Qt.CursorShape:
        """Return the shape of the mouse pointer over the data point `target`, or over empty space if it is None."""
        return Qt.CursorShape.ArrowCursor if target is None else self.shape

    # Appearance

    def _dress_axes(self, theme: Theme) -> None:
        line, grid = self._pen(theme.muted), self._pen(theme.line)
        for axis, pen, tick_pen in ((self._x_axis, line, line), (self._y_axis, None, grid)):
            axis.setPen(pen)
            axis.setTickPen(tick_pen)
            axis.setTextPen(line)
            axis.setTickFont(figure_font(self, SECONDARY))

    def _redraw(self) -> None:
        """Request a repaint that first updates the curves and dots."""
        self._is_outdated = True
        self.update()

    @Slot()
    def _update_visible(self) -> None:
        (left, right), (low, high) = self._box.viewRange()
        self._visible = (float(left), float(right)), (float(low), float(high))
        self._back.setVisible(self._filled and self.is_zoomed())
        self._changed()

    def _changed(self) -> None:
        """Request a repaint with a new cached picture, after the visible range or a label has changed."""
        self._version += 1
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme = theme_of(self)
        look = self.devicePixelRatioF(), theme, self.font().key()
        # Draw everything again if the screen, the theme or the font, on which pens and labels depend, has changed.
        if look != self._look:
            self._look, self._is_outdated = look, True
            self._dress_axes(theme)
        if self._is_outdated:
            self._is_outdated = False
            for curve in self._curves.values():
                curve.hide()
            self._draw(theme)
            self._version += 1
        with QPainter(self) as painter:
            if not self._filled:
                paint_placeholder(painter, self, self._placeholder)
            else:
                self._paint_below(painter, theme)
                self._still.draw(painter, self, self._version, self.paint_still)
                self.paint_moving(painter)
            focus_ring(painter, self)

    def paint_still(self, painter: QPainter) -> None:
        """Draw the curves, axes and labels into the cached picture. This takes 10 to 18 ms."""
        box, area = self.box(), QRectF(self.rect())
        self._update_ticks()
        painter.save()
        self._view.scene().render(painter, area, area)
        painter.restore()
        title, font = QRectF(8, 2, box.right() - 8, 20), figure_font(self, SECONDARY)
        write(painter, title, MIDDLE, self._titles[1], theme_of(self).text, font)
        foot = QRectF(box.left(), self._x_axis.geometry().bottom(), box.width(), 18)
        painter.drawText(foot, int(Qt.AlignmentFlag.AlignHCenter | Qt.TextFlag.TextDontClip), self._titles[0])
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._paint_labels(painter, theme_of(self))

    def paint_moving(self, painter: QPainter) -> None:
        """Draw the moving marks and the callout on top of the cached picture."""
        painter.setFont(figure_font(self, SECONDARY))
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        self._paint_marks(painter, theme_of(self))
        note = self._note()
        if note is not None and not self._dragging:
            paint_callout(painter, self, *note)

    def _update_ticks(self) -> None:
        # The vertical axis comes first, because the width of its labels determines the length of the horizontal axis.
        for i, axis in ((1, self._y_axis), (0, self._x_axis)):
            extent = self._frame.height() if i else self._frame.width()
            most = max(2, min(int(extent / _TICK_GAPS[i]), _MOST_TICKS))
            ticks = list(self._ticks[i](*self._visible[i], most))
            if ticks != self._tick_texts[i]:
                self._tick_texts[i] = ticks
                axis.setTicks([ticks])
            if i:
                self._lay_out()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()
        hint = self._back.sizeHint()
        self._back.setGeometry(self.width() - hint.width() - 8, 6, hint.width(), hint.height())

    def _lay_out(self) -> None:
        metrics = QFontMetricsF(figure_font(self, SECONDARY))
        widths = [metrics.horizontalAdvance(text) for _, text in self._tick_texts[1]]
        margins = QMargins(self._margins)
        # The vertical axis must be wide enough for its labels, because pyqtgraph hides labels that do not fit.
        margins.setLeft(max(margins.left(), math.ceil(max(widths, default=0.0)) + 4 + 2 * TICK))
        box = QRectF(self.rect().marginsRemoved(margins))
        box.setSize(box.size().expandedTo(_LEAST_SIZE))
        if box == self._frame:
            return
        self._frame = box
        self._y_axis.setWidth(box.left())
        self._box.setGeometry(box)
        self._x_axis.setGeometry(QRectF(box.left(), box.bottom(), box.width(), 24))
        self._y_axis.setGeometry(QRectF(0, box.top(), box.left(), box.height()))
        # The ticks of the vertical axis extend across the plot and serve as grid lines.
        self._y_axis.setStyle(tickLength=-int(box.width()))

    # Mouse

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        # End the drag, because a hidden plot is not notified when the mouse button is released.
        self._pressed, self._dragging = None, False

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._filled:
            self._pressed, self._dragging = event.position(), False
            self._grabbed = self._grab(event.position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        if self._pressed is None:
            target = self._at(place) if self._filled else None
            self.setCursor(self._pointer(target, place))
            self._hover(target)
            return
        far = (place - self._pressed).manhattanLength() >= QApplication.startDragDistance()
        self._dragging = self._dragging or far
        if self._dragging and self._grabbed:
            self._drag(place)
        elif self._dragging:
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
            (x, y), (to_x, to_y) = self.values(self._pressed), self.values(place)
            self._pressed = place
            self._box.translateBy(x=x - to_x, y=y - to_y)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or self._pressed is None:
            return
        pressed, dragged = self._pressed, self._dragging
        self._pressed, self._dragging = None, False
        self.update()
        if not dragged:
            self._click_at(self._at(pressed), pressed)

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        if self.is_zoomed():
            self.show_full_range()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self._filled:
            self._zoom(STEP ** min(max(event.angleDelta().y() / 120.0, -8.0), 8.0), event.position())
        event.accept()

    def _zoom(self, factor: float, about: QPointF) -> None:
        self._box.scaleBy((1.0 / factor, 1.0 / factor), center=QPointF(*self.values(about)))

    # Keys

    def _go(self, target: Any) -> None:
        self._reveal(*self._values_of(target))
        self._hover(target)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._filled:
            event.ignore()
        elif key in ARROWS and event.modifiers() & Qt.KeyboardModifier.AltModifier:
            (down, right), view = ARROWS[key], self._box.viewRect()
            self._box.translateBy(x=0.1 * right * view.width(), y=-0.1 * down * view.height())
        elif key in _ZOOMS:
            self._zoom(_ZOOMS[key], self.box().center())
        elif key == Qt.Key.Key_0:
            self.show_full_range()
        else:
            super().keyPressEvent(event)
