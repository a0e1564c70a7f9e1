"""A dismissible panel that reports an event and offers a remedy."""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from slide_gui.gui.state.jobs import UserMessage
from slide_gui.gui.theme import figure_font
from slide_gui.gui.widgets.controls import PlainLabel, add_button, literal, named, set_look
from slide_gui.gui.widgets.layouts import nested, placed


class Notice(QFrame):
    """A panel with a title, one sentence, details that the user can unfold and copy, and a button for the remedy.

    The panel is hidden until `show_message` is called, and the Esc key hides it again. It is part of the window's
    layout and therefore never covers other widgets.

    Attributes
    ----------
    message : UserMessage
        The message that was shown last.
    remedy : QPushButton
        The button that runs the remedy of the current message.

    Signals
    -------
    shown_changed()
        The notice was shown or hidden.
    """

    shown_changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.message = UserMessage("", "")
        self._title, self._text = PlainLabel("", self), PlainLabel("", self, wordWrap=True)
        self._title.setFont(figure_font(self, strong=True))
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QGridLayout(self)
        layout.setContentsMargins(16, 10, 8, 12)
        layout.setVerticalSpacing(4)
        layout.setColumnStretch(0, 1)
        layout.addWidget(self._title, 0, 0)
        layout.addWidget(self._text, 1, 0)
        buttons = nested(layout, QHBoxLayout(), 2, 0, spacing=8)
        self.remedy = add_button(self, buttons, "", clicked=self._run_remedy)
        self._fold = add_button(self, buttons, "Details", kind="flat")
        self._fold.setCheckable(True)
        self._copy = add_button(self, buttons, "", kind="flat", clicked=self._to_clipboard)
        buttons.addStretch()
        self._details = placed(layout, named(QPlainTextEdit(self, readOnly=True), "Details"), 3, 0, 1, 2)
        self._details.setFixedHeight(120)
        close = placed(layout, named(QToolButton(self), "Dismiss", "Dismiss (Esc)"), 0, 1)
        close.setText("×")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self._fold.toggled.connect(self._details.setVisible)
        close.clicked.connect(self.hide)
        self.hide()

    @Slot(object)
    def show_message(self, message: UserMessage) -> None:
        """Show a message in place of the previous one. The details are hidden until the user unfolds them."""
        self.message = message
        set_look(self, "kind", message.kind)
        self._title.setText(message.title)
        self._text.setText(message.sentence)
        self._details.setPlainText(message.details)
        self.remedy.setText(literal(message.remedy))
        self.remedy.setVisible(bool(message.remedy))
        self._fold.setVisible(bool(message.details))
        self._copy.setVisible(bool(message.details or message.path))
        self._copy.setText("Copy path" if message.path else "Copy")
        self._copy.setToolTip("Copy the path" if message.path else "Copy the title, message and details")
        self._fold.setChecked(False)
        self._details.hide()
        self.setAccessibleName(f"{message.title}: {message.sentence}")
        self.show()

    @Slot()
    def _run_remedy(self) -> None:
        self.message.run()

    @Slot()
    def _to_clipboard(self) -> None:
        text = self.message.path or "\n\n".join((self.message.title, self.message.sentence, self.message.details))
        QGuiApplication.clipboard().setText(text)

    @Slot(bool)
    def setVisible(self, visible: bool) -> None:
        super().setVisible(visible)
        self.shown_changed.emit()
