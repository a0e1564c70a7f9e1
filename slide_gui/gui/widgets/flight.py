"""Pixels that fly between two places: those of scrambled images, and their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractAnimation, QEasingCurve, QRectF, QSize, Qt, QVariantAnimation, Signal, Slot
from PySide6.QtGui import QColor, QFontMetricsF, QHideEvent, QImage, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from slide_gui.gui.theme import BODY, SECONDARY, figure_font, theme_of
from slide_gui.gui.widgets.motion import motion_allowed
from slide_gui.gui.widgets.painted import frame
from slide_gui.gui.widgets.tiles import TileLayout

__all__ = ["FlyingImage", "FlyingImages", "flown"]

_SPREAD = 0.45  # by how much of the flight the last pixel leaves after the first


def flown(
    colours: NDArray[np.uint32], ways: NDArray[np.float32], cell: int, size: tuple[int, int], ground: int
) -> NDArray[np.uint32]:
    """Return an image of square pixels at any places, shape (rows, columns) of `size`.

    Parameters
    ----------
    colours : ndarray of shape (d,)
        0xFFRRGGBB; of pixels that meet, the last is seen.
    ways : ndarray of shape (d, 2)
        Upper left corner of each, down and across, in dots.
    cell : int
        Side of a pixel in dots.
    ground : int
        Colour where no pixel is.
    """
    canvas = np.full(size, ground, np.uint32)
    corners = np.clip(np.rint(ways).astype(np.intp), 0, np.array(size) - cell)
    steps = np.arange(cell)
    down, across = corners[:, 0, None, None] + steps[:, None], corners[:, 1, None, None] + steps
    canvas[down, across] = colours[:, None, None]
    return canvas


@dataclass(frozen=True, eq=False)
class FlyingImage:
    """One image of scrambled pixels, and the one that it should become.

    Attributes
    ----------
    title, caption : str
        Above the column, and below the upper image.
    scrambled : ndarray of shape (d,), uint32, or None
        Colours in the order of the scrambled places; None while there are none.
    below : ndarray of shape (d,), uint32, or None
        Colours of the lower image, in their own order.
    """

    title: str
    caption: str
    scrambled: NDArray[np.uint32] | None
    below: NDArray[np.uint32] | None


class FlyingImages(QWidget):
    """Above, images whose pixels fly between scrambled places and their own; below, those that do not move.

    Signals
    -------
    landed()
        All pixels are where they were to go.
    """

    landed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._images: tuple[FlyingImage, ...] = ()
        self._labels = ("", "")
        self._order: NDArray[np.int64] = np.zeros(0, np.int64)
        self._grid = (1, 1)
        self._layout: TileLayout | None = None
        self.scrambledness = 0.0
        """How far pixels are from their own places: 0 there, 1 all scrambled."""
        self._flight = QVariantAnimation(self)
        self._flight.setEasingCurve(QEasingCurve.Type.InOutSine)
        self._flight.valueChanged.connect(self._fly)
        self._flight.finished.connect(self.landed)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName("Scrambled pixels and where they belong: images")

    def sizeHint(self) -> QSize:
        return QSize(560, 400)

    def minimumSizeHint(self) -> QSize:
        return QSize(280, 160)

    def set_images(
        self,
        images: tuple[FlyingImage, ...],
        labels: tuple[str, str],
        order: NDArray[np.int64],
        grid: tuple[int, int],
    ) -> None:
        """Show images.

        Parameters
        ----------
        labels : tuple of (str, str)
            Of the upper and of the lower ones.
        order : ndarray of shape (d,)
            Place j, row by row, holds the pixel that belongs to place ``order[j]``.
        grid : tuple of (rows, columns)
            Of the places, at least d.
        """
        self._images, self._labels, self._order, self._grid = images, labels, order, grid
        self._layout = None
        said = (f"{image.title}: {image.caption}" for image in images if image.caption)
        self.setAccessibleDescription("; ".join([*filter(None, labels), *said]))
        self.update()

    # Motion

    @property
    def is_flying(self) -> bool:
        """Whether pixels are on their way."""
        return self._flight.state() == QAbstractAnimation.State.Running

    def fly(self, scrambledness: float, milliseconds: int) -> None:
        """Let pixels go there in so long; at once where nothing may move."""
        self._flight.stop()
        if not milliseconds or not self.isVisible() or not motion_allowed(self):
            self._fly(scrambledness)
            self.landed.emit()
            return
        self._flight.setStartValue(self.scrambledness)
        self._flight.setEndValue(float(scrambledness))
        self._flight.setDuration(milliseconds)
        self._flight.start()

    @Slot(object)
    def _fly(self, scrambledness: float) -> None:
        self.scrambledness = float(scrambledness)
        self.update()

    def hideEvent(self, event: QHideEvent) -> None:
        """Nothing moves that is not seen."""
        super().hideEvent(event)
        self._flight.stop()

    # Painting

    def layout_of(self) -> TileLayout:
        """Return where the images stand."""
        ratio = self.devicePixelRatioF()
        layout = TileLayout(
            *(self.width(), ratio, self._grid), rows=2, columns=max(len(self._images), 1),
            caption=self._caption_widths, height_room=self.height(),
        )  # fmt: skip
        if self._layout is None or layout != self._layout:
            self._layout = layout
        return self._layout

    @cached_property
    def _caption_widths(self) -> tuple[float, float]:
        advance = QFontMetricsF(figure_font(self, SECONDARY)).horizontalAdvance
        usual = "differs by 8.8·10⁻¹⁵"
        return advance(usual), advance(usual.rsplit(" ", 1)[0])

    def _ways(self, cell: int) -> NDArray[np.float32]:
        """Return where each pixel is now, in dots, shape (d, 2)."""
        many = len(self._order)
        start = np.stack(np.divmod(np.arange(many), self._grid[1]), axis=1)
        end = np.stack(np.divmod(self._order, self._grid[1]), axis=1)
        # They leave one after the other, so that the eye can follow some of them.
        late = _SPREAD * (np.arange(many) * 0.6180339887 % 1.0)
        passed = np.clip((1.0 - self.scrambledness) * (1.0 + _SPREAD) - late, 0.0, 1.0)[:, None]
        passed = passed * passed * (3.0 - 2.0 * passed)
        return np.asarray((start + (end - start) * passed) * cell, np.float32)

    def paintEvent(self, _event: QPaintEvent) -> None:
        theme, layout = theme_of(self), self.layout_of()
        painter = QPainter(self)
        cell = max(round(layout.scale * layout.ratio), 1)
        size = self._grid[0] * cell, self._grid[1] * cell
        ground = QColor(theme.background).rgb()
        ways = self._ways(cell)
        places = np.stack(np.divmod(np.arange(len(self._order)), self._grid[1]), axis=1) * np.float32(cell)
        for column, image in enumerate(self._images):
            for row, (colours, where) in enumerate(((image.scrambled, ways), (image.below, places))):
                box = layout.tile(row, column)
                if colours is not None:
                    dots = flown(colours, where, cell, size, ground)
                    painter.drawImage(box, QImage(dots.data, size[1], size[0], 4 * size[1], QImage.Format.Format_RGB32))
                if colours is not None or row == 0:
                    frame(painter, box, theme.line)
        self._paint_words(painter, layout)
        painter.end()

    def _paint_words(self, painter: QPainter, layout: TileLayout) -> None:
        theme = theme_of(self)
        left = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        painter.setFont(figure_font(self, BODY))
        painter.setPen(QColor(theme.muted))
        for column, image in enumerate(self._images):
            painter.drawText(layout.heading(column), left, image.title)
        painter.setFont(figure_font(self, SECONDARY))
        for column, image in enumerate(self._images):
            text = image.caption if layout.lines == 1 else "\n".join(image.caption.rsplit(" ", 1))
            painter.drawText(layout.captions(0, column), int(Qt.AlignmentFlag.AlignTop), text)
        painter.setPen(QColor(theme.text))
        for row, text in enumerate(self._labels):
            box = layout.label(row)
            wide = QRectF(box.x(), layout.tile(row, 0).y(), box.width(), layout.tile(row, 0).height())
            painter.drawText(wide, int(Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextWordWrap), text)
