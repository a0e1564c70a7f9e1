"""Buttons 1 … l, one a layer."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from slide_gui.gui.widgets.choice_buttons import ChoiceButtons

__all__ = ["LayerChoice"]


class LayerChoice(QWidget):
    """Which layer a view shows."""

    chosen = Signal(int)
    """The layer that was pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.layer = 1
        self._buttons = ChoiceButtons(self)
        self._buttons.idClicked.connect(self._choose)
        caption = QLabel("layer", self)
        caption.setProperty("role", "secondary")
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(0, 0, 0, 0)
        self._row.setSpacing(4)
        self._row.addWidget(caption)

    def set_depth(self, depth: int) -> None:
        """Offer layers 1 to `depth`; one that is no longer there gives way to the last."""
        self.layer = max(1, min(self.layer, depth))
        for k in range(len(self._buttons.buttons()) + 1, depth + 1):
            button = self._buttons.add(k, str(k), self)
            button.setAccessibleName(f"layer {k}")
            self._row.addWidget(button)
        for k, each in enumerate(self._buttons.buttons(), start=1):
            each.setVisible(k <= depth)
        if depth:
            self._buttons.choose(self.layer)

    @Slot(int)
    def _choose(self, layer: int) -> None:
        self.layer = layer
        self.chosen.emit(layer)
