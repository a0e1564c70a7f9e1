"""Make the pictures of the window that README, AppStream and the documentation show, from generated Rectangles.

`.venv/bin/python packaging/make_pictures.py` writes one picture per page and the moving picture to
packaging/pictures, without a display. To make only some pictures, name pages, `moving`, or cards of the tour, such as
`tour-2`. `--to FOLDER` selects another folder.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
import time
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from PySide6.QtCore import QPoint, QPointF, QSettings, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter, QPolygonF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from slide_gui.gui.app import make_application, tear_down
from slide_gui.gui.pages.weights.weights_view import WeightsView
from slide_gui.gui.shell.main_window import MainWindow
from slide_gui.gui.shell.page_stack import PAGES
from slide_gui.gui.theme import apply_theme

PICTURES = Path(__file__).parent / "pictures"
MOVING = "moving"
CARDS: dict[str, dict[str, Any]] = {
    "tour-2": {}, "tour-3": {"noise": 0.8}, "tour-4": {"squashing": "threshold"}, "tour-9": {}, "tour-10": {},
}  # fmt: skip
"""Name of the picture of a card of the tour → the parameters that the card asks for."""

_SIZE = QSize(1040, 650)
_ARROW = QPolygonF([QPointF(*at) for at in ((0, 0), (0, 17), (4, 13), (7, 20), (10, 19), (7, 12), (12, 12))])


def settle(window: MainWindow, done: Callable[[], bool] | None = None, seconds: float = 300.0) -> None:
    """Process events until a condition holds, by default until nothing is computed."""
    end = time.monotonic() + seconds
    while not (done or (lambda: window.workspace.model() is not None and not window.queue.busy))():
        QApplication.processEvents()
        time.sleep(0.01)
        if time.monotonic() > end:
            raise TimeoutError(f"the window was not ready within {seconds:g} s")
    for _ in range(5):
        QApplication.processEvents()


def turn_to(window: MainWindow, name: str) -> QWidget:
    """Show a page and wait until it has read the results that come with the program."""
    page, library = window.pages.turn_to(name), window.session.library
    settle(window, lambda: library.listed and not library.reading)
    QTest.qWait(500)  # some timers start when the window is at rest
    settle(window)
    return page


def hide_time(window: MainWindow) -> None:
    """Hide the time of the last fit, so that the same version gives the same pictures."""
    settle(window)
    window.workspace.fitting.seconds = 0.0
    window.workspace.fitting.changed.emit()
    settle(window)


@contextmanager
def opened() -> Iterator[MainWindow]:
    """Yield a light window with the settings of a first start and fitted layers."""
    apply_theme(make_application(), "light")
    with tempfile.TemporaryDirectory() as folder:
        settings = QSettings(f"{folder}/settings.ini", QSettings.Format.IniFormat)
        window = MainWindow(settings, Path(folder) / "runs.sqlite")
        window.resize(_SIZE)
        window.show()
        window.start([])
        settle(window)
        window.notice.hide()
        hide_time(window)
        yield window
        tear_down(window)


def take_pictures(folder: Path, pages: list[str] | None = None) -> None:
    """Write PAGE.png of each page, filled with the results that come with the program."""
    with opened() as window:
        for page in PAGES:
            if pages is None or page.name in pages:
                turn_to(window, page.name)
                save(window.grab().toImage(), folder / f"{page.name}.png")


def take_cards(folder: Path, cards: Container[str]) -> None:
    """Write pictures of cards of the tour with their results; the mouse points at the upper edge of the rectangle."""
    with opened() as window:
        tour, page = window.tour, window.weights_page
        tour.pause = math.inf
        tour.start()
        settle(window)
        image = page.findChild(WeightsView).image
        edge = next(pixel for pixel in range(14, 784, 28) if page.shown.values[pixel] > 0.5)
        QTest.mouseMove(image, image.grid().rect(edge).center().toPoint())
        for name, parameters in CARDS.items():
            while tour.number + 1 < int(name.partition("-")[2]):
                tour.next()
            turn_to(window, window.pages.name)
            window.workspace.set_parameters(**parameters)
            hide_time(window)
            for _ in range(3):  # timers start one after the other: prediction, its explanation, the state of the card
                QTest.qWait(500)
                settle(window)
            if name in cards:
                save(window.grab().toImage(), folder / f"{name}.png")


def save(image: QImage, path: Path) -> None:
    """Write a picture with 256 colours. They suffice for the window, and reduce the size of the file to a third."""
    picture = as_pillow(image).quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    picture.save(path, optimize=True)


def as_pillow(image: QImage) -> Image.Image:
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    data, size = bytes(image.constBits()), (image.width(), image.height())
    return Image.frombuffer("RGB", size, data, "raw", "RGB", image.bytesPerLine(), 1)


class Film:
    """The frames of the moving picture. Each shows the mouse pointer and has a duration."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self._pointer = QPointF(window.width() / 2, window.height() / 2)
        self._frames: list[Image.Image] = []
        self._milliseconds: list[int] = []

    def take(self, milliseconds: int = 120) -> None:
        """Append a picture of the window, to be shown for the given time."""
        image = self.window.grab().toImage()
        painter = QPainter(image)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.translate(self._pointer)
        painter.setPen(QColor("white"))
        painter.setBrush(QColor("black"))
        painter.drawPolygon(_ARROW)
        painter.end()
        self._frames.append(as_pillow(image))
        self._milliseconds.append(milliseconds)

    def move(self, widget: QWidget, at: QPoint, steps: int = 4) -> None:
        """Move the pointer to a position of a widget."""
        start, end = self._pointer, QPointF(widget.mapTo(self.window, at))
        for step in range(1, steps + 1):
            self._pointer = start + (end - start) * step / steps
            self.take(60)

    def save(self, path: Path) -> None:
        """Write the frames with one palette. Pillow stores only the parts of a frame that changed."""
        few = [*self._frames[:: max(len(self._frames) // 8, 1)], self._frames[-1]]
        sheet = Image.new("RGB", (few[0].width, few[0].height * len(few)))
        for number, frame in enumerate(few):
            sheet.paste(frame, (0, number * frame.height))
        palette = sheet.quantize(256, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        first, *rest = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in self._frames]
        first.save(path, save_all=True, append_images=rest, duration=self._milliseconds, loop=0, optimize=False)


def make_moving(path: Path) -> None:
    """Film how the noise slider is dragged, pixels are clicked, and kernel widths are learned."""
    with opened() as window:
        film, handle = Film(window), window.panel.sliders["noise"].focusProxy()
        window.workspace.select(pins=())
        settle(window)
        film.take(1000)
        for number in (*range(10, 85, 5), *range(80, 45, -5)):
            window.workspace.set_parameters(noise=number / 100)
            settle(window)
            film.move(handle, handle.handle().center(), 1)
        film.take(800)
        image = window.weights_page.findChild(WeightsView).image
        for row, column, click in ((9, 8, False), (9, 14, False), (9, 20, True), (15, 20, False), (19, 14, True)):
            at = image.grid().rect(row * 28 + column).center().toPoint()
            film.move(image, at, 2)
            QTest.mouseMove(image, at)
            settle(window)
            film.take(300)
            if click:
                QTest.mouseClick(image, Qt.MouseButton.LeftButton, pos=at)
                settle(window)
                film.take(1000)
        page = turn_to(window, "classifier")
        film.take(800)
        film.move(page.train_button, page.train_button.rect().center())
        page.train_button.click()
        training, shown = window.session.runs.training, page.criterion.grab().toImage()
        while training.running:
            end = time.monotonic() + 0.1
            settle(window, lambda end=end: time.monotonic() > end or not training.running)
            before, shown = shown, page.criterion.grab().toImage()
            if shown != before:
                film.take(400)
        settle(window)
        film.take(3000)
        film.save(path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    pages = [page.name for page in PAGES]
    names = [*pages, MOVING, *CARDS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"pictures to make: {', '.join(names)}")
    parser.add_argument("--to", type=Path, default=PICTURES, metavar="FOLDER")
    arguments = parser.parse_args()
    chosen = arguments.names or [*pages, MOVING]
    if unknown := set(chosen) - set(names):
        parser.error(f"{', '.join(sorted(unknown))}: choose from {', '.join(names)}")
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    arguments.to.mkdir(parents=True, exist_ok=True)
    if set(chosen) & set(pages):
        take_pictures(arguments.to, chosen)
    if set(chosen) & set(CARDS):
        take_cards(arguments.to, chosen)
    if MOVING in chosen:
        make_moving(arguments.to / f"{MOVING}.gif")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
