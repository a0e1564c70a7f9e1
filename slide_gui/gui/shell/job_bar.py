"""The part of the status bar that shows the running job, its progress and remaining time, and a Cancel button."""

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QSizePolicy, QWidget

from slide_gui.gui.state.jobs import JobStatus
from slide_gui.gui.widgets.controls import ElidedLabel, add_button, label, literal, named
from slide_gui.gui.widgets.layouts import flush, placed
from slide_gui.text import time_left


class JobBar(QWidget):
    """A widget with the name of the running job, a thin progress bar, the remaining time and a Cancel button.

    While no job is running, these parts are hidden, but the height remains the same. Temporary messages are shown to
    the right of the button.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        layout = flush(QHBoxLayout(self), 12, (12, 0, 12, 0))
        self._text = placed(layout, ElidedLabel("", self, ""))
        self._text.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._bar = placed(layout, named(QProgressBar(self, textVisible=False, maximum=1000), "Progress"))
        self._bar.setFixedWidth(120)
        self._left = placed(layout, label("", self, minimumWidth=104))
        self._cancel = add_button(self, layout, "Cancel", kind="small", clicked=self._stop)
        for each in (self._text, self._bar, self._left, self._cancel):
            policy = each.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            each.setSizePolicy(policy)
        self._message = placed(layout, ElidedLabel("", self, ""), 1)
        self.setFixedHeight(26)  # With this height, the status bar is 32 pixels high, including its margins.
        self.setAccessibleName("Running job")
        self.show_status(None)

    def sizeHint(self) -> QSize:
        return QSize(640, 26)

    @Slot(object)
    def show_status(self, status: JobStatus | None) -> None:
        """Show the status of the running job, or an empty bar if `status` is None."""
        self._status = status
        self._text.setText("" if status is None else status.title)
        if status is not None:
            text = f"Cancel {status.title[:1].lower()}{status.title[1:]}"
            shown = self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, self.width() // 3)
            self._cancel.setText(literal(shown))
            named(self._cancel, text, text)
            self._bar.setValue(round(1000 * status.fraction))
            self._left.setText(time_left(status.seconds_left))
        for each in (self._bar, self._left, self._cancel):
            each.setVisible(status is not None)

    @Slot(str)
    def show_message(self, text: str) -> None:
        """Show a temporary message, or none if `text` is empty."""
        self._message.setText(text)

    @Slot()
    def _stop(self) -> None:
        if self._status is not None:
            self._status.stop()
