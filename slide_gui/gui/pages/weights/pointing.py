"""What the mouse points at on the Weights page, shared by the image and every view."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal, Slot

from slide_gui.data.dataset import Dataset
from slide_gui.gui.state.workspace import Workspace

__all__ = ["Pointing"]


class Pointing(QObject):
    """The pixel whose rows lead the views, and the weight under the cursor.

    Signals
    -------
    moved()
        `feature` is another one.
    crossed()
        `target` or `source` changed.
    """

    moved = Signal()
    crossed = Signal()

    def __init__(self, workspace: Workspace, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._workspace = workspace
        self.feature: int | None = None
        self._target: int | None = None
        self.source: int | None = None
        workspace.dataset_changed.connect(self._forget)

    @property
    def target(self) -> int:
        """The pixel whose rows the numbers are of."""
        return self.features()[0] if self._target is None else self._target

    def features(self) -> tuple[int, ...]:
        """Return the pixel pointed at, or the one in the middle, and the pins."""
        first = _center(self._workspace.dataset) if self.feature is None else self.feature
        return (first, *self._workspace.state.selection.pins)

    def watch(self) -> None:
        """Say to the workspace whose rows are wanted while the noise moves."""
        self._workspace.watch(self.features())

    @Slot(object)
    def point_at(self, feature: int | None) -> None:
        """Let the rows of a pixel lead; None, where the mouse left, changes nothing."""
        if feature is None or feature == self.feature:
            return
        self.feature = feature
        self._target = self.source = None
        self.watch()
        self.moved.emit()

    def cross(self, target: int | None, source: int | None) -> None:
        """Look at the weight with which `target` is made from `source`, or at none."""
        if (target, source) != (self._target, self.source):
            self._target, self.source = target, source
            self.crossed.emit()

    @Slot(object)
    def _forget(self, _dataset: object) -> None:
        self.feature = self._target = self.source = None


def _center(dataset: Dataset | None) -> int:
    if dataset is None:
        return 0
    if dataset.image_shape is None:
        return dataset.n_features // 2
    rows, columns = dataset.image_shape
    return (rows // 2) * columns + columns // 2
