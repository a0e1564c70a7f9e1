"""Labels, buttons and combo boxes, each built by one call."""

import textwrap
from collections.abc import Callable, Iterable
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Slot
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QButtonGroup,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QToolTip,
    QWidget,
)

from slide_gui.core.choices import Choice
from slide_gui.gui.widgets.layouts import VerticalScroll, flush
from slide_gui.text import isolated

_TEXT_MARGINS = 4  # These are the margins in pixels of the text in a combo box. Qt's size hint does not include them.
_TIP = 80  # A line of a tooltip has at most this number of characters.
Receiver = Callable[..., object]  # A receiver of a signal is a slot or another signal.


def wrapped(text: str) -> str:
    """Return a tooltip with line breaks in long lines, because Qt wraps only rich text."""
    return isolated("\n".join(textwrap.fill(line, _TIP, break_on_hyphens=False) for line in text.splitlines()))


def keys_text(keys: str | int) -> str:
    """Return a shortcut, given as text or key code, in the platform's notation, such as ⌘K for Ctrl+K on macOS."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def with_keys(text: str, keys: str) -> str:
    """Return a text followed by a shortcut in parentheses."""
    return f"{text} ({keys_text(keys)})"


def wrap_tips(parent: QWidget) -> None:
    """Break the long lines in the tooltips of all widgets inside `parent`."""
    for each in parent.findChildren(QWidget):
        each.setToolTip(wrapped(each.toolTip()))


class PlainLabel(QLabel):
    """A label that shows plain text.

    QLabel would render text that looks like HTML, and open the files that an ``<img>`` element names. `properties` are
    properties of QLabel other than its text.
    """

    def __init__(self, text: str, parent: QWidget | None, **properties: Any) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText, **properties)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(isolated(text))


def label(
    text: str, parent: QWidget, role: str = "secondary", *, wraps: bool = False, height: int = 0, **properties: Any
) -> PlainLabel:
    """Return a label with a role from the style sheet. With a minimum `height`, its text is aligned to the top.

    `properties` are properties of QLabel, such as `accessibleName`.
    """
    shown = PlainLabel(text, parent, wordWrap=wraps, **properties)
    shown.setProperty("role", role)
    if height:
        shown.setMinimumHeight(height)
        shown.setAlignment(Qt.AlignmentFlag.AlignTop)
    return shown


def set_look(widget: QWidget, name: str, value: str) -> None:
    """Set a property that the style sheet uses, and apply the style sheet again if the value has changed."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().polish(widget)


class ElidedLabel(PlainLabel):
    """A one-line label that can become narrower than its text.

    If the text does not fit, it is shortened with … at the end, and the tooltip begins with the full text.

    Parameters
    ----------
    role : str
        A role of the style sheet.
    """

    def __init__(self, text: str, parent: QWidget, role: str = "secondary") -> None:
        super().__init__(text, parent)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def shown_text(self) -> str:
        """Return the visible part of the text."""
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())

    def event(self, event: QEvent) -> bool:
        """Show the full text at the top of the tooltip if the text does not fit."""
        return _show_tip(self, event, self.text()) or super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
            painter.drawText(self.contentsRect(), int(Qt.AlignmentFlag.AlignVCenter), self.shown_text())


class ElidedBox(QComboBox):
    """A combo box whose selected text or placeholder is shortened with … in the middle if it does not fit.

    If the text is shortened, the tooltip begins with the full text.

    Parameters
    ----------
    name, tip : str
        Accessible name and tooltip.
    least : int
        Minimum width in characters.
    """

    def __init__(self, parent: QWidget, name: str = "", tip: str = "", least: int = 9) -> None:
        super().__init__(parent, minimumContentsLength=least)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        # With this policy, the mouse wheel does not move the focus to the box.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(name)
        self.setToolTip(tip)

    def sizeHint(self) -> QSize:
        return super().sizeHint() + QSize(_TEXT_MARGINS, 0)

    def shown_text(self) -> str:
        """Return the visible text, shortened to fit into the box."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        box, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(box, option, field, self).width() - _TEXT_MARGINS
        return self.fontMetrics().elidedText(self._text(), Qt.TextElideMode.ElideMiddle, room)

    def _text(self) -> str:
        return self.currentText() or self.placeholderText()

    def event(self, event: QEvent) -> bool:
        """Show the full text at the top of the tooltip if the text does not fit."""
        return _show_tip(self, event, self._text()) or super().event(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Scroll the area around the box, instead of changing the selection, if the box has no keyboard focus."""
        event.ignore()
        if self.hasFocus():
            super().wheelEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        option, painter = QStyleOptionComboBox(), QStylePainter(self)
        self.initStyleOption(option)
        option.currentText = self.shown_text()
        # `with` ends the painter even after an exception, because Qt would crash if the painter stayed active.
        with painter:
            painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
            painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


def _show_tip(widget: ElidedLabel | ElidedBox, event: QEvent, text: str) -> bool:
    """Show a tooltip that begins with the full text, if the event requests a tooltip and the widget shortens its text.

    Otherwise, return False; the widget must then handle the event.
    """
    if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip or widget.shown_text() == text:
        return False
    QToolTip.showText(event.globalPos(), "\n".join(filter(None, (wrapped(text), widget.toolTip()))), widget)
    return True


def add_button(
    parent: QWidget, row: QBoxLayout, text: str, tip: str = "", kind: str = "", *, clicked: Receiver | None = None
) -> QPushButton:
    """Add a button to a row, and connect it to the slot `clicked`. `kind` selects its look in the style sheet."""
    button = QPushButton(text, parent)
    if kind:
        button.setProperty("kind", kind)
    button.setToolTip(tip)
    if clicked is not None:
        button.clicked.connect(clicked)
    row.addWidget(button)
    return button


def literal(text: str) -> str:
    """Return a name as text for a button, with & escaped, because Qt uses & to mark a shortcut."""
    return isolated(text).replace("&", "&&")


def add_choices(box: QComboBox, choices: Iterable[Choice]) -> None:
    """Add choices with their texts and tooltips to a combo box, and store the key of each choice as item data."""
    for choice in choices:
        box.addItem(choice.text, choice.key)
        box.setItemData(box.count() - 1, wrapped(choice.tip), Qt.ItemDataRole.ToolTipRole)


def name_box(box: QComboBox, name: str) -> None:
    """Set the accessible name of a box without a visible label. The box must already be in its layout.

    Before version 6.11, Qt takes this name only from a label with the same parent.
    """
    box.setAccessibleName(name)
    caption = PlainLabel(name, box.parentWidget())
    caption.setBuddy(box)
    caption.hide()


def spin_box(name: str, low: int, high: int, parent: QWidget, **properties: Any) -> QSpinBox:
    """Return a spin box for an integer, with an accessible name and properties of QSpinBox, such as `suffix`."""
    box = QSpinBox(parent, minimum=low, maximum=high, **properties)
    box.setAccessibleName(name)
    # The style sheet cannot set the text margin of a spin box. Set it here to the margin of other fields.
    box.lineEdit().setTextMargins(7, 0, 0, 0)
    return box


class UndoOfWindow(QObject):
    """Passes the shortcuts for undo and redo to the window while a text field has the focus.

    Parameters
    ----------
    line : QLineEdit
        Text field. While the user is editing the text, the shortcuts undo the typing.
    always : bool
        True if the window's history records every typed letter; the window then always gets the shortcuts.
    """

    def __init__(self, line: QLineEdit, *, always: bool = False) -> None:
        super().__init__(line)
        self._line, self._always = line, always
        line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Pass the shortcuts for undo and redo to the window, unless the user is editing the text of the field."""
        keys = QKeySequence.StandardKey
        passes = (
            isinstance(event, QKeyEvent)
            and event.type() == QEvent.Type.ShortcutOverride
            and (event.matches(keys.Undo) or event.matches(keys.Redo))
            and (self._always or not self._line.isModified())
        )
        if passes:
            event.ignore()
        return passes


def stop_at_checked(button: QAbstractButton, checked: bool) -> None:
    """Let the Tab key reach a button of an exclusive group only while the button is checked."""
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if checked else Qt.FocusPolicy.NoFocus)


class ChoiceButtons(QButtonGroup):
    """A group of numbered buttons that look like one control; `idClicked` reports the button that the user pressed.

    The Tab key reaches only the checked button; the arrow keys move from there to the other buttons.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.buttonToggled.connect(self._follow)

    @Slot(QAbstractButton, bool)
    def _follow(self, button: QAbstractButton, checked: bool) -> None:
        stop_at_checked(button, checked)
        if checked and any(each.hasFocus() for each in self.buttons()):
            button.setFocus()

    def add(self, number: int, text: str, parent: QWidget) -> QPushButton:
        """Add and return a button. The first button is checked. The caller must place it in a layout of `parent`."""
        button = QPushButton(text, parent)
        button.setProperty("kind", "segment")
        button.setCheckable(True)
        button.setChecked(not self.buttons())
        self.addButton(button, number)
        stop_at_checked(button, button.isChecked())
        return button


class StartPause(QWidget):
    """A button that starts and cancels a job, and a button that pauses and resumes the job.

    Parameters
    ----------
    words : tuple of (str, str)
        Texts of the first button before and during the job.
    tip : str
        Tooltip of the first button.
    work : str
        Name of the job in the tooltip of the second button.
    """

    def __init__(self, words: tuple[str, str], tip: str, work: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = words
        row = flush(QHBoxLayout(self))
        self.start = add_button(self, row, words[0], tip, "primary")
        self.pause = add_button(self, row, "Pause", f"Pause or resume the {work}")
        # Each button is wide enough for all of its texts, so that the layout does not change with the text.
        self.start.setMinimumWidth(widest(self.start, 80, words))
        self.pause.setMinimumWidth(widest(self.pause, 72, ("Pause", "Resume")))

    def follow(self, running: bool, paused: bool, ready: bool = True) -> None:
        """Show the state of the job on the buttons. `ready` is True if the job can be started."""
        self.start.setText(self._words[running])
        self.start.setEnabled(running or ready)
        self.pause.setEnabled(running)
        self.pause.setText("Resume" if paused else "Pause")


def widest(button: QPushButton, least: int, words: tuple[str, ...]) -> int:
    """Return the width that a button needs for the longest text in `words`, but at least `least`."""
    button.ensurePolished()
    beside = button.sizeHint().width() - button.fontMetrics().horizontalAdvance(button.text())
    return max(least, *(button.fontMetrics().horizontalAdvance(word) + beside for word in words))


class LowScroll(VerticalScroll):
    """A scroll area for the widget `inner`. It scrolls only if its height is less than `least_height`."""

    def __init__(self, least_height: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.filled = _Filled(self)
        self.filled.setMinimumHeight(least_height)
        self.inner = self.filled.inner
        self.setWidget(self.filled)


class _Filled(QWidget):
    """A widget filled by its child `inner`. A layout is not used, because it would add height for wrapped text."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.inner = QWidget(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.inner.setGeometry(self.rect())
        super().resizeEvent(event)
