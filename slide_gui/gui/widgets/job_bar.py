"""The status bar's display of the running job with its progress, remaining time and a button that cancels it."""

from __future__ import annotations

from PySide6.QtCore import QSize, Signal
from PySide6.QtWidgets import QHBoxLayout, QProgressBar, QPushButton, QSizePolicy, QWidget

from slide_gui.gui.widgets.controls import ElidedLabel, label
from slide_gui.gui.widgets.layouts import flush


class JobBar(QWidget):
    """Text, thin progress bar, remaining time and Cancel; without a job only the text is visible.

    The height never changes.
    """

    cancel_requested = Signal()
    """The user pressed Cancel."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ElidedLabel("", self, "")
        self._text.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Preferred)
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, 1000)
        self._bar.setFixedWidth(180)
        self._bar.setAccessibleName("Progress")
        self._left = label("", self)
        self._left.setMinimumWidth(104)
        self._cancel = QPushButton("Cancel", self)
        self._cancel.setProperty("kind", "flat")
        layout = flush(QHBoxLayout(self), 12, (12, 0, 12, 0))
        for each in (self._text, self._bar, self._left, self._cancel):
            layout.addWidget(each)
            policy = each.sizePolicy()
            policy.setRetainSizeWhenHidden(True)
            each.setSizePolicy(policy)
        layout.addStretch()
        self.setFixedHeight(26)  # fits into the 32 pixels of the status bar with its margins
        self.setAccessibleName("Running job")
        self._cancel.clicked.connect(self.cancel_requested)
        self.clear()

    def sizeHint(self) -> QSize:
        return QSize(640, 26)

    def set_job(self, text: str, fraction: float | None, time_left: str = "") -> None:
        """Show a running job.

        Parameters
        ----------
        fraction : float or None
            0 to 1; None if it is unknown.
        time_left : str
            Text such as "2 min 10 s left".
        """
        self._text.setText(text)
        self._cancel.setToolTip(f"Cancel this job: {text}")
        self._cancel.setAccessibleName(f"Cancel: {text}")
        if fraction is None:
            self._bar.setRange(0, 0)  # indeterminate: a moving bar
        else:
            self._bar.setRange(0, 1000)
            self._bar.setValue(round(1000 * min(max(fraction, 0.0), 1.0)))
        self._left.setText(time_left)
        self._show(True)

    def clear(self) -> None:
        """Show that no job is running."""
        self._bar.setRange(0, 1000)
        self._text.setText("")
        self._show(False)

    def _show(self, running: bool) -> None:
        for each in (self._bar, self._left, self._cancel):
            each.setVisible(running)
