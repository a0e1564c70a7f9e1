"""The paper's sensitivity figure, alive: error against noise, one line a depth."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPointF, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QApplication, QSizePolicy, QWidget

from slide_gui.gui.theme import theme_of
from slide_gui.gui.widgets._callout import paint_callout, paint_placeholder
from slide_gui.gui.widgets._curve_layout import CurveLayout
from slide_gui.gui.widgets._curve_painter import (
    paint_axes,
    paint_bands,
    paint_cursor,
    paint_cursor_values,
    paint_end_labels,
    paint_lines,
    paint_marks,
    paint_noise_axis,
    paint_point,
    paint_ring,
)
from slide_gui.gui.widgets._layer import Layer
from slide_gui.gui.widgets._motion import Pulse
from slide_gui.gui.widgets._numbers import fixed, per_cent
from slide_gui.gui.widgets._paint import focus_ring
from slide_gui.gui.widgets._painted import CLICKS, Painted
from slide_gui.gui.widgets._points import ErrorMark, ErrorPoint, best_of, lines_of, spoken

__all__ = ["ErrorMark", "ErrorPlot", "ErrorPoint"]

REACH = 12
NOISE_STEP = 0.01


class ErrorPlot(Painted):
    """Error in per cent against noise, with intervals, published values and a cursor.

    Left and Right move along a line, Up and Down from line to line, Enter clicks the point; Shift+Left and
    Shift+Right move the cursor, which the mouse drags.
    """

    point_clicked = Signal(object)
    """The ErrorPoint clicked."""
    point_hovered = Signal(object)
    """The ErrorPoint under mouse or keys, or None."""
    cursor_moved = Signal(float)
    """Noise, in steps of 0.01, while the cursor is dragged."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._points: tuple[ErrorPoint, ...] = ()
        self._marks: tuple[ErrorMark, ...] = ()
        self._legend, self._measure = "", "Test error"
        self._placeholder = "No points yet."
        self._noise: float | None = None
        self._selected = ""
        self._current: ErrorPoint | None = None
        self._mark: ErrorMark | None = None
        self._pressed: tuple[QPointF, ErrorPoint | None] | None = None
        self._dragging = False
        self._layout: CurveLayout | None = None
        self._layer = Layer()
        self._pulse = Pulse(self, self._update_running)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setMinimumSize(320, 220)
        self.setAccessibleName("Error against noise, one line a depth")

    def sizeHint(self) -> QSize:
        return QSize(760, 420)

    # What is shown

    def set_points(self, points: Sequence[ErrorPoint]) -> None:
        """Show points in place of those before; keys are unique."""
        points = tuple(points)
        if points == self._points:
            return
        self._points, self._layout = points, None
        if self._current is not None:
            self._current = next((p for p in points if p.key == self._current.key), None)
        self._pulse.set_wanted(any(p.state == "running" for p in points))
        self._describe()
        self.update()

    def set_marks(self, marks: Sequence[ErrorMark], legend: str = "paper") -> None:
        """Show published values as hollow marks with one entry in the legend."""
        self._marks, self._legend, self._layout = tuple(marks), legend, None
        self._mark = None
        self.update()

    def set_measure(self, name: str) -> None:
        """Say what the error is, e.g. "Test error" or "Validation error"."""
        self._measure = name
        self.update()

    def set_cursor(self, noise: float | None) -> None:
        """Put the cursor at a noise, or take it away, without emitting anything."""
        if noise != self._noise:
            self._noise = noise
            self.update()

    def set_selected(self, key: str) -> None:
        """Ring the point whose model is the one shown on the other pages; "" for none."""
        if key != self._selected:
            self._selected = key
            self.update()

    def current(self) -> ErrorPoint | None:
        """Return the point under mouse or keys."""
        return self._current

    def is_pulsing(self) -> bool:
        """Return whether the timer of the pulse runs."""
        return self._pulse.is_running()

    def layout_of(self) -> CurveLayout:
        """Return the geometry for the present size."""
        if self._layout is None or (self._layout.width, self._layout.height) != (self.width(), self.height()):
            self._layout = CurveLayout(self.width(), self.height(), self._points, self._marks)
        return self._layout

    def _describe(self) -> None:
        best = best_of(self._points)
        text = f"{len(self._points)} points" if self._points else self._placeholder
        if best is not None:
            text += f"; best {per_cent(best.error)} at noise {fixed(best.noise, 2)}, depth {best.depth}"
        self.setAccessibleDescription(spoken(self._current) if self._current is not None else text)

    # Painting

    def _update_running(self) -> None:
        layout = self.layout_of()
        for point in self._points:
            if point.state == "running":
                at = layout.position(point).toPoint()
                self.update(QRect(at.x() - 11, at.y() - 11, 22, 22))

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, layout = theme_of(self), self.layout_of()
        painter = QPainter(self)
        if not self._points and not self._marks:
            paint_placeholder(painter, self, self._placeholder)
            focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
            return
        self._layer.draw(painter, self, (layout, self._measure, self._legend), self._paint_still)
        paint_noise_axis(painter, self, layout, self._noise)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        if self._noise is not None:
            paint_cursor(painter, self, layout, self._noise, self._dragging)
        for point in self._points:
            paint_point(painter, theme, layout, point, self._pulse.level)
        if self._noise is not None:
            paint_cursor_values(painter, self, layout, self._noise)
        paint_marks(painter, theme, layout)
        self._paint_pointed(painter, layout)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        focus_ring(painter, self, QRectF(self.rect()).adjusted(3, 3, -3, -3), theme)
        painter.end()

    def _paint_still(self, painter: QPainter) -> None:
        """Draw what neither cursor nor pulse changes."""
        theme, layout = theme_of(self), self.layout_of()
        paint_axes(painter, self, layout, ("Noise 1 − p", f"{self._measure} (%)"), self._legend)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, True)
        painter.save()
        painter.setClipRect(layout.box.adjusted(-6, -6, 6, 0))
        paint_bands(painter, theme, layout)
        painter.restore()
        paint_end_labels(painter, self, layout)
        paint_lines(painter, theme, layout)

    def _paint_pointed(self, painter: QPainter, layout: CurveLayout) -> None:
        theme = theme_of(self)
        for point in self._points:
            if point.key == self._selected:
                paint_ring(painter, theme, layout.position(point), theme.accent)
        if self._dragging:
            return
        if self._current is not None:
            at = layout.position(self._current)
            if self._current.key != self._selected:
                paint_ring(painter, theme, at, theme.text)
            paint_callout(painter, self, at, lines_of(self._current))
        elif self._mark is not None:
            place = f"noise {fixed(self._mark.noise, 2)}"
            paint_callout(
                painter, self, layout.mark_position(self._mark), [per_cent(self._mark.error), self._mark.label, place]
            )

    # Mouse

    def _on_cursor(self, place: QPointF) -> bool:
        layout = self.layout_of()
        inside = layout.box.top() - 8 <= place.y() <= layout.box.bottom() + 24
        return self._noise is not None and inside and abs(layout.x.at(self._noise) - place.x()) <= 6

    def _point_at(self, place: QPointF) -> None:
        """Highlight what is under the mouse."""
        found = self.layout_of().nearest(place, REACH)
        self._mark = None if found is not None else self.layout_of().nearest_mark(place, REACH)
        self._show(found)

    def _show(self, point: ErrorPoint | None) -> None:
        if point != self._current:
            self._current = point
            self._describe()
            self.point_hovered.emit(point)
        self.update()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        place = event.position()
        if self._pressed is not None and not self._dragging:
            far = (place - self._pressed[0]).manhattanLength() >= QApplication.startDragDistance()
            self._dragging = far and self._noise is not None
        if self._dragging:
            self._drag_to(place)
            return
        self._point_at(place)
        shape = Qt.CursorShape.ArrowCursor
        if self._current is not None:
            shape = Qt.CursorShape.PointingHandCursor
        elif self._on_cursor(place):
            shape = Qt.CursorShape.SizeHorCursor
        self.setCursor(shape)

    def _drag_to(self, place: QPointF) -> None:
        self._go(self.layout_of().x.value(place.x()))

    def _go(self, noise: float) -> None:
        noise = min(max(round(round(noise / NOISE_STEP) * NOISE_STEP, 10), 0.0), 1.0)
        if noise != self._noise:
            self.set_cursor(noise)
            self.cursor_moved.emit(noise)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() != Qt.MouseButton.LeftButton or not self._points:
            return
        place = event.position()
        found, layout = self.layout_of().nearest(place, REACH), self.layout_of()
        if found is None and not self._on_cursor(place):
            if self._noise is None or not layout.box.adjusted(0, 0, 0, 24).contains(place):
                return
            self._dragging = True
            self._drag_to(place)
        self._pressed = (place, found)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, dragged = self._pressed, self._dragging
        self._pressed, self._dragging = None, False
        self.update()
        if pressed is not None and pressed[1] is not None and not dragged:
            # As it is now: it may have been refined since it was pressed.
            point = next((p for p in self._points if p.key == pressed[1].key), None)
            if point is not None:
                self._show(point)
                self.point_clicked.emit(point)

    def _leave(self) -> None:
        self._mark = None
        self._show(None)

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, layout = Qt.Key(event.key()), self.layout_of()
        sideways = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(key)
        upwards = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(key)
        if not self._points:
            super().keyPressEvent(event)
        elif sideways and event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._noise is not None:
            self._go(self._noise + sideways * NOISE_STEP)
        elif key in CLICKS and self._current is not None:
            self.point_clicked.emit(self._current)
        elif key == Qt.Key.Key_Escape and self._current is not None:
            self._show(None)
        elif sideways or upwards or key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            self._mark = None
            self._show(self._next(layout, key, sideways or 0, upwards or 0))
        else:
            super().keyPressEvent(event)

    def _next(self, layout: CurveLayout, key: Qt.Key, sideways: int, upwards: int) -> ErrorPoint:
        if self._current is None:
            noise = 0.0 if self._noise is None else self._noise
            return min(self._points, key=lambda p: (abs(p.noise - noise), p.error if p.is_known else 1e9))
        if key in (Qt.Key.Key_Home, Qt.Key.Key_End):
            return layout.lines[self._current.depth][0 if key == Qt.Key.Key_Home else -1]
        return layout.beside(self._current, sideways) if sideways else layout.above(self._current, upwards)


def _demo() -> QWidget:
    from slide_gui.gui.widgets._demo_points import marks, points

    plot = ErrorPlot()
    plot.set_points(points())
    plot.set_marks(marks(), "paper, Table 1")
    plot.set_cursor(0.37)
    plot.set_selected("0.5/2")
    plot.cursor_moved.connect(plot.set_cursor)
    plot.point_clicked.connect(lambda point: plot.set_selected(point.key))
    return plot


if __name__ == "__main__":
    from slide_gui.gui.widgets._demo import show

    show(_demo, 900, 520)
