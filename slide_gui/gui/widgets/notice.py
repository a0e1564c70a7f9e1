"""A dismissible panel that reports an event and offers a remedy."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication, QHideEvent, QKeyEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from slide_gui.gui.theme import figure_font
from slide_gui.gui.widgets.controls import PlainLabel
from slide_gui.gui.widgets.layouts import nested


class Notice(QFrame):
    """Title, one sentence, foldable details that can be copied, and a button with the remedy.

    It is hidden until `show_message`, and Escape dismisses it. It takes its space in a layout and covers nothing.
    """

    shown_changed = Signal()
    """The notice was shown or hidden."""

    remedy_requested = Signal()
    """The user pressed the button of the remedy."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title, self._text = PlainLabel("", self), PlainLabel("", self)
        self._title.setFont(figure_font(self, strong=True))
        self._text.setWordWrap(True)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._remedy = QPushButton(self)
        self._fold = QPushButton("Details", self)
        self._fold.setCheckable(True)
        self._copy = QPushButton(self)
        self._copied = ""
        self._details = QPlainTextEdit(self)
        self._details.setReadOnly(True)
        self._details.setFixedHeight(120)
        self._details.setAccessibleName("Details")
        self._close = QToolButton(self)
        self._close.setText("×")
        self._close.setToolTip("Dismiss (Esc)")
        self._close.setAccessibleName("Dismiss")
        for each in (self._fold, self._copy):
            each.setProperty("kind", "flat")
        self._arrange()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self._fold.toggled.connect(self._unfold)
        self._copy.clicked.connect(self._to_clipboard)
        self._remedy.clicked.connect(self.remedy_requested)
        self._close.clicked.connect(self.dismiss)
        self.hide()

    @Slot(bool)
    def _unfold(self, shown: bool) -> None:
        self._details.setVisible(shown)

    def _arrange(self) -> None:
        layout = QGridLayout(self)
        layout.setContentsMargins(16, 10, 8, 12)
        layout.setVerticalSpacing(4)
        layout.setColumnStretch(0, 1)
        layout.addWidget(self._title, 0, 0)
        layout.addWidget(self._close, 0, 1)
        layout.addWidget(self._text, 1, 0)
        buttons = nested(layout, QHBoxLayout(), 2, 0)
        buttons.setSpacing(8)
        for each in (self._remedy, self._fold, self._copy):
            buttons.addWidget(each)
        buttons.addStretch()
        layout.addWidget(self._details, 3, 0, 1, 2)

    def show_message(
        self, kind: str, title: str, text: str, details: str = "", remedy: str = "", path: str = ""
    ) -> None:
        """Show a message instead of the previous one.

        Parameters
        ----------
        kind : {"error", "information"}
        title, text : str
            Event, and one sentence about it.
        details : str
            Details for a report, folded at first; without them there is no button.
        remedy : str
            Text of the button; no button if empty.
        path : str
            File whose path can be copied; no button if empty.
        """
        self.setProperty("kind", kind)
        self.style().polish(self)  # the colours of the kind
        self._title.setText(title)
        self._text.setText(text)
        self._details.setPlainText(details)
        self._remedy.setText(remedy)
        self._remedy.setVisible(bool(remedy))
        self._fold.setVisible(bool(details))
        self._copy.setVisible(bool(details or path))
        self._copy.setText("Copy path" if path else "Copy")
        self._copy.setToolTip("Copy the path" if path else "Copy title, sentence and details")
        self._copied = path or "\n\n".join((title, text, details))
        self._fold.setChecked(False)
        self._details.hide()
        self.setAccessibleName(f"{title}: {text}")
        self.show()

    @Slot()
    def dismiss(self) -> None:
        """Hide the notice."""
        self.hide()

    @Slot()
    def _to_clipboard(self) -> None:
        QGuiApplication.clipboard().setText(self._copied)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.shown_changed.emit()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.shown_changed.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismiss()
        else:
            super().keyPressEvent(event)
