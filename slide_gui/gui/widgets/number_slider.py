"""A slider with a number field, for a parameter that the user sets by dragging, by typing or in steps."""

import math
from collections.abc import Sequence

from PySide6.QtCore import QRect, QSignalBlocker, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QGridLayout, QLineEdit, QSizePolicy, QSlider, QStyle, QStyleOptionSlider, QWidget

from slide_gui.gui.widgets.controls import Explanation, PlainLabel, UndoOfWindow, label, named, wrapped
from slide_gui.gui.widgets.layouts import flush, placed

Limits = tuple[float, float, float, float]
# A value set with keys or the mouse wheel is final after this number of milliseconds without further input.
SETTLE_MS = 250
_NOTCH = 120  # Angle of one step of a mouse wheel in eighths of a degree; touchpads report smaller angles.


class NumberSlider(QWidget):
    """A slider with a label, a number field, and additional text such as a unit.

    While the slider has the focus, the mouse wheel and the arrow keys move it in steps. A typed number is rounded to
    the nearest step. If it is outside the range, a tooltip states the range. A double-click on the slider or a label
    restores the default. The Tab key stops at the slider but not at the number field. To edit the number, the user
    clicks it, or types a digit while the slider has the focus.

    Parameters
    ----------
    limits : tuple of (low, high, step, default)
        Lower and upper limit, step and default value; `high` − `low` must be an integer multiple of `step`. If `step`
        is less than 1, numbers are shown with two decimals.
    tip : str
        Tooltip with the parameter's formula, its range, and the place in the paper that defines it.
    values : sequence of float
        Values in increasing order that the slider offers instead of evenly spaced steps. They are shown with as few
        digits as possible.

    Signals
    -------
    value_changed(float)
        The user changed the value to this number. The signal is also emitted while the user drags the slider.
    value_settled(float)
        The user has finished setting the value to this number: the slider was released, a number was typed, or the
        last step was 250 ms ago.
    """

    value_changed = Signal(float)
    value_settled = Signal(float)

    def __init__(
        self, label: str, limits: Limits, tip: str, parent: QWidget | None = None, values: Sequence[float] = ()
    ) -> None:
        super().__init__(parent)
        low, high, step, default = limits
        even = [round(low + i * step, 10) for i in range(round((high - low) / step) + 1)]
        self._values, self._default = tuple(values or even), default
        self._decimals = None if values else 2 if step < 1 else 0
        self._settled, self._shown_text = default, ""
        self._label = PlainLabel(label, self)
        self._number = named(QLineEdit(self, alignment=Qt.AlignmentFlag.AlignRight), f"{label}, number")
        self._number.setProperty("kind", "number")
        self._number.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._slider = named(_Slider(self), label)
        self._slider.setRange(0, len(self._values) - 1)
        self._slider.setPageStep(max(1, self._slider.maximum() // 10))
        self.setFocusProxy(self._slider)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._rest = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._arrange()
        self.setToolTip(wrapped(tip))
        self.set_value(default)
        self._slider.valueChanged.connect(self._moved)
        self._slider.sliderReleased.connect(self._settle)
        self._slider.reset.connect(self.reset)
        self._slider.typed.connect(self._type)
        self._number.editingFinished.connect(self._typed)
        self._number.returnPressed.connect(self._slider.setFocus)
        self._rest.timeout.connect(self._settle)
        UndoOfWindow(self._number)
        self._explanation = Explanation(self._number)

    def _arrange(self) -> None:
        layout = flush(QGridLayout(self), 2)
        layout.setHorizontalSpacing(4)
        layout.setColumnStretch(0, 1)
        layout.addWidget(self._label, 0, 0)
        layout.addWidget(self._number, 0, 1)
        self._extra = placed(layout, label("", self), 0, 2)
        layout.addWidget(self._slider, 1, 0, 1, 3)
        widest = max(len(self._text(end)) for end in (self._values[0], self._values[-1]))
        self._number.setFixedWidth(self._number.fontMetrics().horizontalAdvance("0" * widest) + 22)

    def value(self) -> float:
        """Return the current value."""
        return self._values[self._slider.value()]

    def set_value(self, value: float) -> None:
        """Set the value to the nearest step within the range without emitting a signal.

        If the slider was created with `values`, the number field shows `value` itself instead of the nearest step.
        """
        before = self._slider.value()
        with QSignalBlocker(self._slider):
            self._slider.setValue(self._position_of(value))
        # `_settled` is the last final value. If the slider has not moved, do not change `_settled`. During a drag, it
        # must remain the value before the drag, so that `value_settled` is emitted when the drag ends.
        if self._slider.value() != before:
            self._settled = self.value()
        self._show_text(value if self._decimals is None else self.value())

    def set_extra(self, text: str) -> None:
        """Show additional text to the right of the number field, such as a unit or "p = 0.70"."""
        self._extra.setText(text)

    @Slot()
    def reset(self) -> None:
        """Restore the default value."""
        self._go(self._default)

    def _position_of(self, value: float) -> int:
        if not math.isfinite(value):
            raise ValueError(f"{value} is not a finite number")
        return min(range(len(self._values)), key=lambda i: abs(self._values[i] - value))

    def _text(self, value: float) -> str:
        return _shortest(value) if self._decimals is None else f"{value:.{self._decimals}f}".replace("-", "−")

    def _show_text(self, value: float) -> None:
        self._shown_text = self._text(value)
        self._number.setText(self._shown_text)
        # Without this description, a screen reader would announce the index of the step instead of the value.
        self._slider.setAccessibleDescription("; ".join(filter(None, (self._shown_text, self.toolTip()))))

    def _go(self, value: float) -> None:
        """Move the slider to the step nearest to a value that the user chose, and emit the signals of the slider."""
        before, text_before = self._slider.value(), self._shown_text
        self._slider.setValue(self._position_of(value))
        self._show_text(self.value())
        # If the previous value was between two steps, rounding changes the value although the slider does not move.
        # The slider then emits no signal, so emit `value_changed` here.
        if self._slider.value() == before and self._shown_text != text_before:
            self._settled = math.nan
            self.value_changed.emit(self.value())
        self._settle()

    @Slot()
    def _moved(self) -> None:
        self._show_text(self.value())
        self.value_changed.emit(self.value())
        if not self._slider.isSliderDown():
            self._rest.start()

    @Slot()
    def _settle(self) -> None:
        self._rest.stop()
        if self.value() != self._settled:
            self._settled = self.value()
            self.value_settled.emit(self._settled)

    @Slot(str)
    def _type(self, text: str) -> None:
        """Move the focus to the number field, and replace its contents by `text`, the first key that the user typed."""
        self._number.setFocus()
        self._number.selectAll()
        self._number.insert(text)

    @Slot()
    def _typed(self) -> None:
        if self._number.text() == self._shown_text:
            # The user has left the field without editing its text. Do not round a value between two steps.
            return
        text = self._number.text().strip().replace("−", "-").replace(",", ".")
        try:
            self._go(typed := float(text))
        except ValueError:  # Restore the previous text, because the new text is not a finite number.
            self._number.setText(self._shown_text)
            typed = math.nan
        span = f"from {self._text(self._values[0])} to {self._text(self._values[-1])}"
        if not self._values[0] <= typed <= self._values[-1]:
            self._explanation.give(f"{self._label.text()}: enter a number {span}.")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """While the user edits the number, step with the keys Up and Down, and revert the number with Escape."""
        steps = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()))
        if steps is not None:
            self._slider.setValue(self._slider.value() + steps)
        elif event.key() == Qt.Key.Key_Escape:
            self._number.setText(self._shown_text)
            self._slider.setFocus()
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, _event: QMouseEvent) -> None:
        """Restore the default value after a double-click on the slider or on a label."""
        self.reset()


def _shortest(value: float) -> str:
    """Format a number with at most four digits. Very small and very large numbers are written with a power of ten."""
    if value == 0 or 0.1 <= abs(value) < 10000:
        return f"{value:.4g}".replace("-", "−")
    digits, power = f"{value:.3e}".split("e")
    return f"{float(digits):g}e{int(power)}".replace("-", "−")


class _Slider(QSlider):
    """A horizontal slider that also reacts to the Delete key and to typed digits. Its parent handles double-clicks.

    A click moves the handle to the mouse pointer. The signal `reset` reports the Delete key. The signal `typed` reports
    a digit typed while the slider has the focus.
    """

    reset = Signal()
    typed = Signal(str)

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._turned = 0  # Angle by which the mouse wheel has turned since the last step.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def handle(self) -> QRect:
        """Return the rectangle of the handle."""
        option = QStyleOptionSlider()
        self.initStyleOption(option)
        return self.style().subControlRect(
            QStyle.ComplexControl.CC_Slider, option, QStyle.SubControl.SC_SliderHandle, self
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self.handle().contains(event.position().toPoint()):
            # Turn a left click outside the handle into a middle click. After a middle click, Qt moves the handle to the
            # mouse pointer and starts to drag it.
            middle, place = Qt.MouseButton.MiddleButton, event.position()
            event = QMouseEvent(event.type(), place, event.globalPosition(), middle, middle, event.modifiers())
        super().mousePressEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.reset.emit()
        elif event.text() and event.text() in "0123456789.,-−":
            self.typed.emit(event.text())
        else:
            super().keyPressEvent(event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        event.ignore()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Move the handle in steps if the slider has the keyboard focus; otherwise let the surrounding area scroll."""
        event.setAccepted(self.hasFocus())
        if event.isAccepted():
            turned = self._turned + event.angleDelta().y()
            self._turned = int(math.fmod(turned, _NOTCH))
            self.setValue(self.value() + int(turned / _NOTCH))
