"""Labels, buttons and choices, made in one line each."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QEvent, QObject, QSize, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QButtonGroup,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QSpinBox,
    QWidget,
)

from slide_gui.core.choices import Choice
from slide_gui.gui.layouts import flush

__all__ = [
    "ChoiceButtons",
    "ElidedLabel",
    "LowScroll",
    "PlainLabel",
    "StartPause",
    "UndoOfWindow",
    "add_button",
    "add_choices",
    "label",
    "spin_box",
]


class PlainLabel(QLabel):
    """A label that shows its text as it is.

    Qt reads other labels as HTML where a text looks like it, and opens the files that an ``<img>`` in it names.
    """

    def __init__(self, text: str, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)


def label(text: str, parent: QWidget, role: str = "secondary", *, wraps: bool = False) -> PlainLabel:
    """Return a label; its role is one of those of the style sheet."""
    shown = PlainLabel(text, parent)
    shown.setProperty("role", role)
    shown.setWordWrap(wraps)
    return shown


class ElidedLabel(PlainLabel):
    """One line that gives way to what stands beside it: what does not fit ends in …, and is told by the tooltip.

    Parameters
    ----------
    role : str
        One of those of the style sheet.
    """

    def __init__(self, text: str, parent: QWidget, role: str = "secondary") -> None:
        super().__init__(text, parent)
        self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def shown_text(self) -> str:
        """Return as much of the text as there is room for."""
        return self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.contentsRect().width())

    def paintEvent(self, _event: QPaintEvent) -> None:
        text = self.shown_text()
        self.setToolTip("" if text == self.text() else self.text())
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
        painter.drawText(self.contentsRect(), int(Qt.AlignmentFlag.AlignVCenter), text)
        painter.end()


def add_button(parent: QWidget, row: QBoxLayout, text: str, tip: str = "", kind: str = "") -> QPushButton:
    """Add a button to a row; its kind is one of those of the style sheet."""
    button = QPushButton(text, parent)
    if kind:
        button.setProperty("kind", kind)
    button.setToolTip(tip)
    row.addWidget(button)
    return button


def add_choices(box: QComboBox, choices: Iterable[Choice]) -> None:
    """Add choices by their texts, with their tips; the data of an item is the key."""
    for choice in choices:
        box.addItem(choice.text, choice.key)
        box.setItemData(box.count() - 1, choice.tip, Qt.ItemDataRole.ToolTipRole)


def name_box(box: QComboBox, name: str) -> None:
    """Name a box that has no label in sight: where names of boxes are what is chosen in them, a label names them."""
    box.setAccessibleName(name)
    caption = PlainLabel(name, box.parentWidget())
    caption.setBuddy(box)
    caption.hide()


def spin_box(name: str, low: int, high: int, parent: QWidget) -> QSpinBox:
    """Return a field for a whole number, with its name for who cannot see it."""
    box = QSpinBox(parent)
    box.setRange(low, high)
    box.setAccessibleName(name)
    box.lineEdit().setTextMargins(7, 0, 0, 0)  # as other fields; no style sheet reaches it
    return box


class UndoOfWindow(QObject):
    """Lets the keys of undo and redo mean the window's also while a line has the focus.

    Parameters
    ----------
    line : QLineEdit
        While something is half typed in it, they mean its text.
    always : bool
        Also then, because the window knows what is typed letter by letter.
    """

    def __init__(self, line: QLineEdit, *, always: bool = False) -> None:
        super().__init__(line)
        self._line, self._always = line, always
        line.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Keep these keys from the line, which would take them for its own."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.ShortcutOverride:
            for keys in (QKeySequence.StandardKey.Undo, QKeySequence.StandardKey.Redo):
                if event.matches(keys) and (self._always or not self._line.isModified()):
                    event.ignore()
                    return True
        return super().eventFilter(watched, event)


class ChoiceButtons(QButtonGroup):
    """A group of numbered buttons that look like one control; `idClicked` says which one a person pressed.

    Parameters
    ----------
    parent : QWidget
        Owner of the group; the buttons belong to the widget in whose layout they are put.
    """

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)

    def add(self, number: int, text: str, parent: QWidget) -> QPushButton:
        """Make the button of a number, checked if it is the first, to be put into a layout of `parent`."""
        button = QPushButton(text, parent)
        button.setProperty("kind", "segment")
        button.setCheckable(True)
        button.setChecked(not self.buttons())
        self.addButton(button, number)
        return button

    def choose(self, number: int) -> None:
        """Check a button, as if it had been pressed, without saying so."""
        self.button(number).setChecked(True)


class StartPause(QWidget):
    """The button that starts some work or breaks it off, and the one that holds it.

    Parameters
    ----------
    words : tuple of (str, str)
        On the first button, before the work and while it goes.
    tip : str
        Of the first button.
    work : str
        What the second one holds.
    """

    def __init__(self, words: tuple[str, str], tip: str, work: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._words = words
        row = flush(QHBoxLayout(self))
        self.start = add_button(self, row, words[0], tip, "primary")
        self.pause = add_button(self, row, "Pause", f"Hold the {work}, or let it go on")
        # So that nothing moves when their words change, and none is cut.
        self.start.setMinimumWidth(_widest(self.start, 80, words))
        self.pause.setMinimumWidth(_widest(self.pause, 72, ("Pause", "Go on")))

    def follow(self, running: bool, paused: bool, ready: bool = True) -> None:
        """Show what can be done now; `ready` is whether the work could be started."""
        self.start.setText(self._words[running])
        self.start.setEnabled(running or ready)
        self.pause.setEnabled(running)
        self.pause.setText("Go on" if paused else "Pause")


def _widest(button: QPushButton, least: int, words: tuple[str, ...]) -> int:
    """Return the width that a button needs for the longest of the words it will say."""
    button.ensurePolished()
    beside = button.sizeHint().width() - button.fontMetrics().horizontalAdvance(button.text())
    return max(least, *(button.fontMetrics().horizontalAdvance(word) + beside for word in words))


class LowScroll(QScrollArea):
    """Gives what stands in `inner` all its room, and scrolls it only where that is lower than it can be."""

    def __init__(self, least_height: int, parent: QWidget) -> None:
        super().__init__(parent)
        whole = _Filled(self)
        whole.setMinimumHeight(least_height)
        self.inner = whole.inner
        self.setWidget(whole)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # what has the keyboard inside is brought into sight
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)


class _Filled(QWidget):
    """Filled by its one child, however large that would be: a scroll area asks a layout, and wrapped text, for more."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.inner = QWidget(self)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.inner.setGeometry(self.rect())
        super().resizeEvent(event)
