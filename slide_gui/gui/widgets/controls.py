"""Labels, buttons, combo boxes and small controls that can be created by a single call, and dialogs with a form."""

import textwrap
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeVar

from PySide6.QtCore import QEvent, QObject, QSize, Qt, QTimer, Slot
from PySide6.QtGui import (
    QHelpEvent,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QPalette,
    QResizeEvent,
    QValidator,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QBoxLayout,
    QButtonGroup,
    QComboBox,
    QDialog,
    QGridLayout,
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
    QVBoxLayout,
    QWidget,
)

from slide_gui.core.choices import Choice
from slide_gui.gui.widgets.layouts import VerticalScroll, flush, nested
from slide_gui.text import count, isolated

_TEXT_MARGINS = 4  # Margins in pixels around the text of a combo box; Qt's size hint omits them.
# Margins around the entries in the list of a combo box, and maximum width of this list, in pixels.
_ENTRY_MARGINS, _WIDEST_LIST = 24, 560
_TIP = 80  # Maximum number of characters in a line of a tooltip.
Field = TypeVar("Field", bound=QWidget)
Receiver = Callable[..., object]  # Receiver of a signal: a slot or another signal.


@lru_cache(maxsize=64)  # The result is cached, because the same tooltips are wrapped again while a slider moves.
def wrapped(text: str) -> str:
    """Insert line breaks into long lines of a plain-text tooltip, because Qt wraps only rich text."""
    return isolated("\n".join(textwrap.fill(line, _TIP, break_on_hyphens=False) for line in text.splitlines()))


def keys_text(keys: str | int) -> str:
    """Return a keyboard shortcut (a string or key code) in the platform's notation, such as ⌘K for Ctrl+K on macOS."""
    return QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText)


def with_keys(text: str, keys: str) -> str:
    """Append a keyboard shortcut in parentheses to a label or tooltip."""
    return f"{text} ({keys_text(keys)})"


def named(widget: Field, name: str, tip: str = "") -> Field:
    """Set the accessible name and the tooltip of a widget, and return the widget."""
    widget.setAccessibleName(name)
    widget.setToolTip(wrapped(tip))
    return widget


class PlainLabel(QLabel):
    """A label that displays its text literally.

    By default, a QLabel renders text that looks like HTML, and even opens the files named in ``<img>`` elements.
    `properties` are values of QLabel properties other than the text.
    """

    def __init__(self, text: str, parent: QWidget | None, **properties: Any) -> None:
        super().__init__(parent, textFormat=Qt.TextFormat.PlainText, **properties)
        self.setText(text)

    def setText(self, text: str) -> None:
        super().setText(isolated(text))

    def setToolTip(self, text: str) -> None:
        super().setToolTip(wrapped(text))


def label(
    text: str, parent: QWidget, role: str = "secondary", *, wraps: bool = False, height: int = 0, **properties: Any
) -> PlainLabel:
    """Return a label with the appearance that the style sheet defines for `role`.

    If `height` is positive, it is the label's minimum height, and the text is aligned to the top. `properties` are
    values of QLabel properties, such as `accessibleName`.
    """
    shown = PlainLabel(text, parent, wordWrap=wraps, **properties)
    shown.setProperty("role", role)
    if height:
        shown.setMinimumHeight(height)
        shown.setAlignment(Qt.AlignmentFlag.AlignTop)
    return shown


def set_look(widget: QWidget, name: str, value: str) -> None:
    """Set a widget's property to which the style sheet refers. If its value has changed, reapply the style sheet."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().polish(widget)


class ElidedLabel(PlainLabel):
    """A one-line label that can become narrower than its text.

    If the text does not fit, its end is replaced by …, and the tooltip begins with the full text.

    Parameters
    ----------
    role : str
        Role for which the style sheet defines the appearance of the label.
    """

    def __init__(self, text: str, parent: QWidget, role: str = "secondary") -> None:
        super().__init__(text, parent)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def shown_text(self) -> str:
        """Return the text as displayed, shortened if it does not fit."""
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())

    def event(self, event: QEvent) -> bool:
        """If the text is shortened, show a tooltip that begins with the full text."""
        return _show_tip(self, event, self.text()) or super().event(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
            painter.drawText(self.contentsRect(), int(Qt.AlignmentFlag.AlignVCenter), self.shown_text())


class ElidedBox(QComboBox):
    """A combo box that replaces the middle of its displayed text by … if the text does not fit.

    The tooltip of a shortened text begins with the full text.

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
        # With the policy StrongFocus, a click or the Tab key moves the focus to the box, but the mouse wheel does not.
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        named(self, name, tip)

    def sizeHint(self) -> QSize:
        return super().sizeHint() + QSize(_TEXT_MARGINS, 0)

    def shown_text(self) -> str:
        """Return the text as displayed, shortened if it does not fit."""
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        box, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        room = self.style().subControlRect(box, option, field, self).width() - _TEXT_MARGINS
        return self.fontMetrics().elidedText(self._text(), Qt.TextElideMode.ElideMiddle, room)

    def _text(self) -> str:
        return self.currentText() or self.placeholderText()

    def event(self, event: QEvent) -> bool:
        """If the text is shortened, show a tooltip that begins with the full text."""
        return _show_tip(self, event, self._text()) or super().event(event)

    def showPopup(self) -> None:
        """Open the list of entries, which may be wider than the box, up to a maximum width."""
        self.view().setMinimumWidth(min(self.view().sizeHintForColumn(0) + _ENTRY_MARGINS, _WIDEST_LIST))
        super().showPopup()

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Change the selection if the box has the keyboard focus; otherwise let the surrounding area scroll."""
        event.ignore()
        if self.hasFocus():
            super().wheelEvent(event)

    def paintEvent(self, _event: QPaintEvent) -> None:
        option, painter = QStyleOptionComboBox(), QStylePainter(self)
        self.initStyleOption(option)
        option.currentText = self.shown_text()
        # The `with` statement ends the painter even after an exception. Qt would crash if the painter remained active.
        with painter:
            painter.drawComplexControl(QStyle.ComplexControl.CC_ComboBox, option)
            painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


def _show_tip(widget: ElidedLabel | ElidedBox, event: QEvent, text: str) -> bool:
    """If `event` requests a tooltip and the widget's text is shortened, show a tooltip that begins with the full text.

    Return True if the tooltip was shown. Otherwise return False, so that the widget handles the event itself.
    """
    if not isinstance(event, QHelpEvent) or event.type() != QEvent.Type.ToolTip or widget.shown_text() == text:
        return False
    QToolTip.showText(event.globalPos(), "\n".join(filter(None, (wrapped(text), widget.toolTip()))), widget)
    return True


def add_button(
    parent: QWidget, row: QBoxLayout, text: str, tip: str = "", kind: str = "", *, clicked: Receiver | None = None
) -> QPushButton:
    """Add a button to the layout `row`, connect its signal `clicked` to the receiver `clicked`, and return the button.

    The style sheet defines the appearance of the button for each `kind`, such as "primary".
    """
    button = QPushButton(text, parent)
    if kind:
        button.setProperty("kind", kind)
    button.setToolTip(wrapped(tip))
    if clicked is not None:
        button.clicked.connect(clicked)
    row.addWidget(button)
    return button


def literal(text: str) -> str:
    """Escape each & in the text of a button or menu item, because Qt uses the letter after an & as a shortcut."""
    return isolated(text).replace("&", "&&")


def add_choices(box: QComboBox, choices: Iterable[Choice]) -> None:
    """Add choices with their labels and tooltips to a combo box, and store the key of each choice as item data."""
    for choice in choices:
        box.addItem(choice.text, choice.key)
        box.setItemData(box.count() - 1, wrapped(choice.tip), Qt.ItemDataRole.ToolTipRole)


def name_box(box: QComboBox, name: str) -> None:
    """Set the accessible name of a combo box without a visible label. The box must already be in its layout.

    Before version 6.11, Qt ignores the accessible name of a combo box and uses the text of its label instead.
    Therefore, a hidden label with the same parent is also created.
    """
    box.setAccessibleName(name)
    caption = PlainLabel(name, box.parentWidget())
    caption.setBuddy(box)
    caption.hide()


class Explanation(QTimer):
    """A tooltip below a field whose text is not accepted."""

    def __init__(self, field: QWidget) -> None:
        # A change of the focus hides tooltips, so the text is shown a short time after the change.
        super().__init__(field, singleShot=True, interval=100)
        self._field, self._text = field, ""
        self.timeout.connect(self._show)

    def give(self, text: str) -> None:
        self._text = text
        self.start()

    @Slot()
    def _show(self) -> None:
        QToolTip.showText(self._field.mapToGlobal(self._field.rect().bottomLeft()), self._text, self._field)


class IntegerBox(QSpinBox):
    """A spin box that accepts any text while the user types. It explains if the text is not an integer in its range.

    Qt's spin box would ignore single keys, so that "1e9" would become 19. If the text is not accepted, the Return key
    has no effect. The previous value is restored by the Escape key, or when the box loses the focus. `properties` are
    values of QSpinBox properties, such as `suffix`.
    """

    def __init__(self, name: str, low: int, high: int, parent: QWidget | None, **properties: Any) -> None:
        super().__init__(parent, minimum=low, maximum=high, **properties)
        self.setKeyboardTracking(False)
        self.setAccessibleName(name)
        # Set the text margin of text fields here, because the style sheet cannot set it in a spin box.
        self.lineEdit().setTextMargins(7, 0, 0, 0)
        self._explanation = Explanation(self)

    def value(self) -> int:
        """Return the integer that the user has typed, or the previous value if the text is not accepted."""
        return self.valueFromText(self.text()) if self.hasAcceptableInput() else super().value()

    def expected(self) -> str:
        """Return the range of the box as a request to the user, for messages about wrong text."""
        return f"{self.accessibleName()}: enter an integer from {count(self.minimum())} to {count(self.maximum())}"

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        typed = text.removeprefix(self.prefix()).removesuffix(self.suffix()).strip()
        is_integer = typed.isascii() and typed.isdecimal() and self.minimum() <= int(typed[:10]) <= self.maximum()
        is_valid = is_integer or (text and text == self.specialValueText())
        return QValidator.State.Acceptable if is_valid else QValidator.State.Intermediate, text, position

    def fixup(self, text: str) -> str:
        """Explain why the text is not accepted. Qt's spin box would instead remove the comma from "2,5"."""
        self._explanation.give(f"{self.expected()}.")
        return text

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and not self.hasAcceptableInput():
            self.fixup(self.text())
        elif event.key() == Qt.Key.Key_Escape and self.lineEdit().isModified():
            self.setValue(super().value())
        else:
            super().keyPressEvent(event)


class UndoOfWindow(QObject):
    """An event filter that lets the window handle undo and redo while a text field has the focus.

    Parameters
    ----------
    line : QLineEdit
        The text field. While its text is being edited, the field itself handles the shortcuts and undoes typing.
    always : bool
        If True, the window handles the shortcuts even while the text is being edited. Its undo history must then record
        every typed character.
    """

    def __init__(self, line: QLineEdit, *, always: bool = False) -> None:
        super().__init__(line)
        self._line, self._always = line, always
        line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Return True if the event is an undo or redo shortcut that the window must handle."""
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
    """Let the Tab key reach a button of an exclusive group only if the button is checked."""
    button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if checked else Qt.FocusPolicy.NoFocus)


class ChoiceButtons(QButtonGroup):
    """A group of numbered buttons, one of which is checked. The buttons together look like a single control.

    The signal `idClicked` reports the number of the button that the user clicked. The Tab key reaches only the checked
    button; the arrow keys move from it to the other buttons.
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
        """Create a button and return it. The caller must add the button to a layout of `parent`.

        The first button of the group is checked initially.
        """
        button = QPushButton(text, parent)
        button.setProperty("kind", "segment")
        button.setCheckable(True)
        button.setChecked(not self.buttons())
        self.addButton(button, number)
        stop_at_checked(button, button.isChecked())
        return button


class StartPause(QWidget):
    """Two buttons for a job: the first starts or cancels the job, the second pauses or resumes it.

    Parameters
    ----------
    words : tuple of (str, str)
        Labels of the first button: one while the job is not running, and one while it is running.
    tip : str
        Tooltip of the first button.
    work : str
        Name of the job, such as "sweep", for the tooltip of the second button.
    """

    def __init__(self, words: tuple[str, str], tip: str, work: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = words
        row = flush(QHBoxLayout(self))
        self.start = add_button(self, row, words[0], tip, "primary")
        self.pause = add_button(self, row, "Pause", f"Pause or resume the {work}")
        # Make each button wide enough for all its labels, so that a new label does not change the layout.
        self.start.setMinimumWidth(widest(self.start, 80, words))
        self.pause.setMinimumWidth(widest(self.pause, 72, ("Pause", "Resume")))

    def follow(self, running: bool, paused: bool, ready: bool = True) -> None:
        """Update the labels and the availability of both buttons. `ready` is True if the job can be started."""
        self.start.setText(self._words[running])
        self.start.setEnabled(running or ready)
        self.pause.setEnabled(running)
        self.pause.setText("Resume" if paused else "Pause")


def widest(button: QPushButton, least: int, words: tuple[str, ...]) -> int:
    """Return the width in pixels that a button needs for the longest of the labels `words`, but at least `least`."""
    button.ensurePolished()
    beside = button.sizeHint().width() - button.fontMetrics().horizontalAdvance(button.text())
    return max(least, *(button.fontMetrics().horizontalAdvance(word) + beside for word in words))


class FormDialog(QDialog):
    """The base class of dialogs with a form, whose columns contain captions, controls and hints.

    Attributes
    ----------
    column : QVBoxLayout
        The layout of the dialog, which begins with the form.
    grid : QGridLayout
        The layout of the form.
    """

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.column = flush(QVBoxLayout(self), 16, (20, 18, 20, 16))
        self.grid = nested(self.column, QGridLayout(), spacing=8)
        self.grid.setHorizontalSpacing(12)
        self.grid.setColumnStretch(1, 1)

    def add_row(self, name: str, field: Field, hint: str = "") -> Field:
        """Add a control with a caption and a hint. Without a hint, the control also covers the column of the hints."""
        caption, row = PlainLabel(name, self), self.grid.rowCount()
        caption.setBuddy(field)
        named(field, name, hint[:1].upper() + hint[1:])
        self.grid.addWidget(caption, row, 0)
        self.grid.addWidget(field, row, 1, 1, 1 if hint else 2)
        if hint:
            self.grid.addWidget(label(hint, self), row, 2)
        return field

    def add_buttons(self, leave: str, text: str, tip: str, clicked: Receiver) -> QPushButton:
        """Add a button `leave` that closes the dialog, and the default button `text`. Return the default button."""
        row = nested(self.column, QHBoxLayout())
        row.addStretch(1)
        add_button(self, row, leave, clicked=self.reject).setAutoDefault(False)
        button = add_button(self, row, text, tip, "primary", clicked=clicked)
        button.setDefault(True)
        return button


class LowScroll(VerticalScroll):
    """A scroll area with the widget `inner`. It scrolls only if fewer than `least_height` pixels are available."""

    def __init__(self, least_height: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.filled = _Filled(self)
        self.filled.setMinimumHeight(least_height)
        self.inner = self.filled.inner
        self.setWidget(self.filled)


class _Filled(QWidget):
    """A widget whose area is filled completely by its child `inner`.

    A layout is not used, because it would reserve additional height for wrapped text.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.inner = QWidget(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.inner.setGeometry(self.rect())
        super().resizeEvent(event)
