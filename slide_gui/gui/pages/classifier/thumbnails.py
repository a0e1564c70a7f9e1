"""A gallery of small images with captions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QIcon, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QListView, QWidget

from slide_gui.gui.theme import SECONDARY, Theme, figure_font, theme_of
from slide_gui.gui.widgets.painted import INK, STALE, image_of, integer_scale, paint_placeholder
from slide_gui.text import counted, isolated

_SIDE = 64
_GAP, _CAPTION, _NARROWEST = 8, 22, 48
_NONE = QModelIndex()


@dataclass(frozen=True, eq=False)
class Thumbnail:
    """One image in the gallery, with its caption and tooltip.

    Parameters
    ----------
    index : int
        Index that the signal `image_clicked` reports, such as the row of the image in the data set.
    pixels : ndarray of shape (rows, columns), float32
        Pixel values from 0 to 1.
    caption : str
        Text below the image, such as "4 → 9".
    note : str
        Tooltip.
    """

    index: int
    pixels: NDArray[np.float32]
    caption: str
    note: str


class _ImageModel(QAbstractListModel):
    """The Qt model of a gallery. An image is rendered when it first becomes visible."""

    def __init__(self, view: "Thumbnails") -> None:
        super().__init__(view)
        self._view = view
        self.icons: dict[tuple[int, str], QIcon] = {}

    def rowCount(self, parent: QModelIndex | QPersistentModelIndex = _NONE) -> int:
        return 0 if parent.isValid() else len(self._view.images)

    def data(self, index: QModelIndex | QPersistentModelIndex, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        image = self._view.images[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return isolated(image.caption)
        if role == Qt.ItemDataRole.DecorationRole:
            theme = theme_of(self._view)
            key = index.row(), theme.name
            if key not in self.icons:
                self.icons[key] = self._render(image.pixels, theme)
            return self.icons[key]
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole):
            return image.note
        return None

    def _render(self, pixels: NDArray[np.float32], theme: Theme) -> QIcon:
        """Return an icon with the enlarged image in a thin frame."""
        ratio = self._view.devicePixelRatioF()
        icon, drawn = QIcon(), QPixmap(self._view.iconSize() * ratio)
        drawn.fill(QColor(theme.line))
        with QPainter(drawn) as painter:
            inner = drawn.rect().adjusted(1, 1, -1, -1)
            painter.fillRect(inner, QColor(theme.background))
            painter.setOpacity(STALE if self._view.stale else 1.0)
            painter.drawImage(inner, image_of(pixels, INK, theme))
        drawn.setDevicePixelRatio(ratio)
        # If the icon had no pixmap for the mode Selected, Qt would tint the image of a selected item.
        for mode in (QIcon.Mode.Normal, QIcon.Mode.Selected):
            icon.addPixmap(drawn, mode)
        return icon


class Thumbnails(QListView):
    """A gallery of images in rows that fill the width of the widget.

    A click on an image, or Enter, emits `image_clicked`.

    Attributes
    ----------
    images : tuple of Thumbnail
    stale : bool
        True if the images are drawn pale, because they are outdated.

    Signals
    -------
    image_clicked(int)
        The user clicked the image with this `Thumbnail.index`.
    """

    image_clicked = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, uniformItemSizes=True, viewMode=QListView.ViewMode.IconMode)
        self.images: tuple[Thumbnail, ...] = ()
        self.stale = False
        self._content, self._placeholder = _ImageModel(self), ""
        self.setModel(self._content)
        self.setResizeMode(QListView.ResizeMode.Adjust)
        self.setMovement(QListView.Movement.Static)
        self.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        # The scroll bar is always visible, so that the number of columns does not depend on the number of images.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setMouseTracking(True)
        self.setFont(figure_font(self, SECONDARY))
        self.setMinimumSize(160, 88)
        self.setAccessibleName("Gallery")
        self.clicked.connect(self._report)
        self.activated.connect(self._report)

    def sizeHint(self) -> QSize:
        return QSize(420, 320)

    def set_images(self, images: Sequence[Thumbnail], stale: bool = False) -> None:
        """Replace the images, which must all have the same shape. If `stale` is True, they are drawn pale."""
        if images:
            height, width = images[0].pixels.shape
            scale = integer_scale(max(height, width), _SIDE, self.devicePixelRatioF())
            size = QSize(round(width * scale), round(height * scale))
            self.setIconSize(size + QSize(2, 2))
            longest = 4 + max(map(self.fontMetrics().horizontalAdvance, {each.caption for each in images}))  # 4: border
            # Qt shortens captions that are wider than 1.5 times the icon, so a wider grid would not show more of them.
            width = max(size.width(), _NARROWEST, min(longest, round(1.5 * self.iconSize().width())))
            self.setGridSize(QSize(width + _GAP, size.height() + _CAPTION + _GAP))
        self._content.beginResetModel()
        self.images, self.stale = tuple(images), stale
        self._content.icons.clear()
        self._content.endResetModel()
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if images else Qt.CursorShape.ArrowCursor)
        self._describe()

    def set_placeholder(self, text: str) -> None:
        """Set the text that is shown while the gallery is empty, for example instructions for filling it."""
        self._placeholder = text
        self._describe()

    def _describe(self) -> None:
        self.setAccessibleDescription(counted(len(self.images), "picture") if self.images else self._placeholder)
        self.viewport().update()

    @Slot(QModelIndex)
    def _report(self, index: QModelIndex) -> None:
        self.image_clicked.emit(self.images[index.row()].index)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.images:
            with QPainter(self.viewport()) as painter:
                paint_placeholder(painter, self.viewport(), self._placeholder)
