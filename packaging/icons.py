"""Draw the icon of the program in the formats of all systems: `python packaging/icons.py FOLDER`.

The icon in resources/icons/slide-gui.svg is drawn as PNG in several sizes for Linux, as .ico for Windows, and as .icns
for macOS.
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

from PIL import Image
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

SOURCE = Path(__file__).resolve().parent.parent / "resources" / "icons" / "slide-gui.svg"
SIZES = (16, 24, 32, 48, 64, 128, 256, 512)
WINDOWS_SIZES = tuple((side, side) for side in SIZES if side <= 256)


def drawn(side: int) -> Image.Image:
    """Return the icon in `side` × `side` pixels on a transparent background."""
    image = QImage(side, side, QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(str(SOURCE)).render(painter)
    painter.end()
    content = QByteArray()
    buffer = QBuffer(content)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, "PNG")
    return Image.open(io.BytesIO(content.data()))


def write_icons(folder: Path) -> None:
    """Write slide-gui-SIDE.png for each size, slide-gui.ico and slide-gui.icns."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication.instance() or QGuiApplication([])
    folder.mkdir(parents=True, exist_ok=True)
    for side in SIZES:
        drawn(side).save(folder / f"slide-gui-{side}.png", optimize=True)
    largest = drawn(max(SIZES))
    largest.save(folder / "slide-gui.ico", sizes=WINDOWS_SIZES)
    largest.save(folder / "slide-gui.icns")
    del application


if __name__ == "__main__":
    write_icons(Path(sys.argv[1]))
