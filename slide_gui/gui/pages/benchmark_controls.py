"""What is asked of the benchmark: protocol, splits, data sets and methods; start, pause, cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Slot
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QSpinBox,
    QWidget,
    QWidgetAction,
)

from slide_gui.data.entries import entry
from slide_gui.experiments.methods import METHODS
from slide_gui.gui.benchmark_desk import BenchmarkChoice, BenchmarkDesk
from slide_gui.gui.pages.header import add_button

__all__ = ["BenchmarkControls"]

_MOST_SPLITS = 50  # as many as the paper has


class BenchmarkControls(QWidget):
    """One row of controls over the desk of the benchmark."""

    def __init__(self, desk: BenchmarkDesk, parent: QWidget) -> None:
        super().__init__(parent)
        self._desk = desk
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        self._start = add_button(self, row, "Start", "", kind="primary")
        self._start.setToolTip("Run what is chosen and not done yet; finished runs are kept, also after a crash")
        self._start.setMinimumWidth(80)
        self._start.clicked.connect(self._toggle)
        self._hold = add_button(self, row, "Pause", "Hold the benchmark, or let it go on")
        self._hold.setMinimumWidth(72)
        self._hold.clicked.connect(desk.pause)
        row.addSpacing(8)
        self._extent = QComboBox(self)
        for key, title in (("full", "Full protocol"), ("quick", "Quick protocol")):
            self._extent.addItem(title, key)
        self._extent.setToolTip(
            "Full: all rows, the candidates of the protocol, hours. Quick: 600 training and 2\u202f000 test rows, few "
            "candidates, about a minute; not the paper’s figures"
        )
        self._extent.setAccessibleName("Protocol")
        self._extent.currentIndexChanged.connect(self._chosen)
        row.addWidget(self._extent)
        label = QLabel("Splits", self)
        label.setProperty("role", "secondary")
        row.addWidget(label)
        self._splits = QSpinBox(self)
        self._splits.setRange(0, _MOST_SPLITS)
        self._splits.setSpecialValueText("protocol’s")
        self._splits.setFixedWidth(120)
        self._splits.setToolTip(
            "80/20 splits of each data set; 0: the protocol’s (10 on Rectangles, 3 on Convex and Rectangles-Images, "
            "1 on MNIST). The paper has 50, 10, 10 and 1"
        )
        self._splits.setAccessibleName("Splits")
        self._splits.valueChanged.connect(self._chosen)
        row.addWidget(self._splits)
        data = {key: entry(key).title for key in desk.choice.data}
        methods = {key: METHODS[key].text for key in desk.choice.methods}
        self._data = _Several("Data sets", data, self._chosen, self)
        self._methods = _Several("Methods", methods, self._chosen, self)
        for button in (self._data, self._methods):
            row.addWidget(button)
        row.addStretch(1)

    @Slot()
    def _toggle(self) -> None:
        if self._desk.running:
            self._desk.stop()
        else:
            self._desk.start()

    @Slot()
    def _chosen(self) -> None:
        choice = BenchmarkChoice(
            self._extent.currentData(), self._data.chosen(), self._methods.chosen(), self._splits.value() or None
        )
        self._desk.choose(choice)

    @Slot()
    def refresh(self) -> None:
        """Show what the desk is asked, and what can be done now."""
        desk, choice = self._desk, self._desk.choice
        self._start.setText("Cancel" if desk.running else "Start")
        self._start.setEnabled(desk.running or not desk.why_not())
        self._hold.setEnabled(desk.running)
        self._hold.setText("Go on" if desk.paused else "Pause")
        controls = (self._extent, self._splits, self._data, self._methods)
        for control in controls:
            control.setEnabled(not desk.running)
            control.blockSignals(True)
        self._extent.setCurrentIndex(self._extent.findData(choice.extent))
        self._splits.setValue(choice.splits or 0)
        for control in controls:
            control.blockSignals(False)
        self._data.choose(choice.data)
        self._methods.choose(choice.methods)


class _Several(QPushButton):
    """A button with a menu of check boxes, which stays open while they are ticked."""

    def __init__(self, title: str, choices: Mapping[str, str], changed: Callable[[], None], parent: QWidget) -> None:
        super().__init__(parent)
        self._title = title
        menu = QMenu(self)
        self._boxes: dict[str, QCheckBox] = {}
        for key, text in choices.items():
            box = QCheckBox(text, menu)
            box.setChecked(True)
            box.setStyleSheet("QCheckBox { padding: 5px 12px; }")
            action = QWidgetAction(menu)
            action.setDefaultWidget(box)
            menu.addAction(action)
            box.toggled.connect(changed)
            self._boxes[key] = box
        self.setMenu(menu)
        self.setToolTip(f"Which {title.lower()} are run; the others show what is in the store")
        self.choose(tuple(choices))

    def chosen(self) -> tuple[str, ...]:
        """Return the keys that are ticked."""
        return tuple(key for key, box in self._boxes.items() if box.isChecked())

    def choose(self, keys: tuple[str, ...]) -> None:
        """Tick these."""
        for key, box in self._boxes.items():
            box.blockSignals(True)
            box.setChecked(key in keys)
            box.blockSignals(False)
        names = [box.text() for key, box in self._boxes.items() if key in keys]
        said = "all" if len(names) == len(self._boxes) else names[0] if len(names) == 1 else f"{len(names)}"
        self.setText(f"{self._title}: {said if names else 'none'}")
