"""Control a running slide-gui by mouse and keyboard, and read the pictures of its window and its store."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import ImageGrab

from slide_gui.gui.theme import LIGHT

SIZE = (1280, 800)
_ROOT = Path(__file__).parents[2]
_IDLE = (640, 12)  # in the menu bar, where nothing reacts to the mouse
_PANEL, _CONTENT = slice(76, 312), 312  # columns of the panel, and the first column of the page
_SMALLEST_FRAME = 40
_DESKTOP = ("QT_", "XDG_", "DBUS_", "GTK_", "KDE_", "GNOME_", "DESKTOP_", "WAYLAND_", "SLIDE_GUI_")
Answer = TypeVar("Answer")
Picture = NDArray[np.uint8]
"""Red, green and blue of every pixel, shape (height, width, 3)."""


def environment(home: Path, display: str) -> dict[str, str]:
    """Return the environment of a first start, without variables of a desktop."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_DESKTOP)}
    return {**variables, "DISPLAY": display, "QT_QPA_PLATFORM": "xcb", "HOME": str(home), "PYTHONPATH": str(_ROOT)}


def bare_environment(home: Path, display: str | None) -> dict[str, str]:
    """Return the environment of a computer without Python and other programs."""
    variables = {"HOME": str(home), "PATH": str(home / "no-programs"), "LANG": "C.UTF-8"}
    return variables | ({} if display is None else {"DISPLAY": display})


def until(ask: Callable[[], Answer | None], what: str, seconds: float = 100.0) -> Answer:
    """Call a function until its result is true, and return the result."""
    end = time.monotonic() + seconds
    while True:
        result = ask()
        if result:
            return result
        assert time.monotonic() < end, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.05)


@contextmanager
def virtual_display() -> Iterator[str]:
    """Start Xvfb, and return the name of its display, e.g. ``":99"``."""
    reader, writer = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24", "-nolisten", "tcp", "-noreset"],
        pass_fds=[writer],
        stderr=subprocess.DEVNULL,
    )
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        assert number, "Xvfb did not start"
        yield f":{number}"
    finally:
        server.terminate()
        server.wait(timeout=100)


@dataclass(frozen=True)
class Box:
    """A rectangle in a picture."""

    left: int
    top: int
    width: int
    height: int

    @property
    def center(self) -> tuple[int, int]:
        return self.left + self.width // 2, self.top + self.height // 2

    def of(self, picture: Picture) -> Picture:
        return picture[self.top : self.top + self.height, self.left : self.left + self.width]


@dataclass(frozen=True)
class WeightsPage:
    """The image, the mosaics and the completely visible rows of tiles on the Weights page."""

    picture: Picture
    image: Box
    rows: tuple[tuple[Box, ...], ...]

    def tile(self, row: int, layer: int) -> Picture:
        """Return the tile of a row (0 for the mosaics) and a layer (from 1)."""
        return self.rows[row][layer - 1].of(self.picture)

    def same_tiles(self, other: WeightsPage) -> bool:
        """Return True if all tiles are equal."""
        mine, theirs = ([tile.of(page.picture) for row in page.rows for tile in row] for page in (self, other))
        return len(mine) == len(theirs) and all(map(np.array_equal, mine, theirs))


def of_colour(picture: Picture, colour: str) -> NDArray[np.bool_]:
    """Return a mask of the pixels with exactly this colour, shape (height, width)."""
    return np.asarray((picture == np.frombuffer(bytes.fromhex(colour[1:]), np.uint8)).all(axis=-1))


def extent(mask: NDArray[np.bool_]) -> Box | None:
    """Return the smallest box around the true elements of a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not rows.size:
        return None
    return Box(int(columns[0]), int(rows[0]), int(np.ptp(columns)) + 1, int(np.ptp(rows)) + 1)


def frames(picture: Picture) -> list[Box]:
    """Return the interiors of the framed images of the page, from the left."""
    mask = of_colour(picture, LIGHT.line)
    mask[:60] = mask[:, : _CONTENT + 4] = False
    lines: dict[tuple[int, int], list[int]] = {}
    for y in np.flatnonzero(mask.sum(axis=1) >= _SMALLEST_FRAME):
        places = np.flatnonzero(mask[y])
        for line in np.split(places, np.flatnonzero(np.diff(places) > 3) + 1):  # a cross-hair may interrupt a line
            if line[-1] - line[0] > _SMALLEST_FRAME:
                lines.setdefault((int(line[0]), int(line[-1])), []).append(int(y))
    boxes = []
    for (left, right), rows in lines.items():
        for top, bottom in pairwise(rows):
            sides = mask[top : bottom + 1, left].mean(), mask[top : bottom + 1, right].mean()
            if bottom - top > _SMALLEST_FRAME and min(sides) > 0.9:
                boxes.append(Box(left + 1, top + 1, right - left - 1, bottom - top - 1))
    return sorted(boxes, key=lambda box: (box.left, box.top))


class Program:
    """The process and its window at the top left of the screen, run from the source or from a bundle."""

    def __init__(self, display: str, home: Path, *arguments: object, bundle: Path | None = None) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.display, self.home = display, home
        self._image: Box | None = None
        command = [sys.executable, "-m", "slide_gui"] if bundle is None else [bundle]
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)],
            env=environment(home, display) if bundle is None else bare_environment(home, display),
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # background jobs of a shell ignore it
        )
        try:
            self.window = until(lambda: self.find("slide-gui"), "the window")
            self.xdotool("windowmove", self.window, 0, 0)
            self.xdotool("windowsize", self.window, *SIZE)
            self.focus()
        except BaseException:
            self.kill()
            raise

    # Windows, keyboard and mouse ---------------------------------------------------------------------------------

    def xdotool(self, *words: object, check: bool = True) -> str:
        done = subprocess.run(
            ["xdotool", *map(str, words)],
            env={**os.environ, "DISPLAY": self.display},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        assert done.returncode == 0 or not check, f"xdotool {words}: {done.stderr}"
        return done.stdout.strip()

    def find(self, name: str) -> str | None:
        """Return the visible window whose title contains this name."""
        assert self.process.poll() is None, f"the program has ended: {self.process.communicate()}"
        windows = self.xdotool("search", "--onlyvisible", "--name", name, check=False).split()
        return windows[0] if windows else None

    def wait_for(self, name: str) -> None:
        """Wait for a window whose title contains this name, and focus it."""
        self.xdotool("windowfocus", "--sync", until(lambda: self.find(name), f"a window called {name!r}"))

    def wait_gone(self, name: str) -> None:
        until(lambda: self.find(name) is None, f"the end of the window called {name!r}")
        self.focus()

    @property
    def title(self) -> str:
        return self.xdotool("getwindowname", self.window)

    def wait_title(self, begins: str) -> None:
        until(lambda: self.title.startswith(begins), f"the title {begins!r}")

    def focus(self) -> None:
        self.xdotool("windowfocus", "--sync", self.window)

    def key(self, *keys: str) -> None:
        self.xdotool("key", *keys)

    def type(self, text: object) -> None:
        self.xdotool("type", "--delay", 4, str(text))

    def move(self, place: tuple[int, int]) -> None:
        self.xdotool("mousemove", *place)

    def click(self, place: tuple[int, int]) -> None:
        self.xdotool("mousemove", *place, "click", 1)

    def drag(self, start: tuple[int, int], end: tuple[int, int], steps: int = 10) -> None:
        """Press the mouse button at one place and move to another; `release` ends the drag."""
        self.xdotool("mousemove", *start, "mousedown", 1)
        for step in range(1, steps + 1):
            self.move(tuple(round(a + (b - a) * step / steps) for a, b in zip(start, end, strict=True)))

    def release(self) -> None:
        self.xdotool("mouseup", 1)

    # What is shown -----------------------------------------------------------------------------------------------

    def picture(self) -> Picture:
        return np.asarray(ImageGrab.grab(xdisplay=self.display).convert("RGB"))

    def page(self) -> WeightsPage | None:
        """Return the Weights page, or None if it is not shown or has empty tiles.

        The ring of the keyboard focus may cover the frame of the image, so its last position is used.
        """
        picture = self.picture()
        boxes = frames(picture)
        if boxes and boxes[0].left < _CONTENT + 40:
            self._image = boxes[0]
        if self._image is None:
            return None
        tiles = [box for box in boxes if box.left > self._image.left + self._image.width]
        if not all(int(np.ptp(box.of(picture).reshape(-1, 3), axis=0).max()) > 30 for box in tiles):
            return None
        rows = tuple(tuple(box for box in tiles if box.top == top) for top in sorted({box.top for box in tiles}))
        return WeightsPage(picture, self._image, rows)

    def wait_page(self, layers: int) -> WeightsPage:
        """Wait until the page has tiles of the given number of layers and no longer changes."""
        self.move(_IDLE)
        before: list[WeightsPage | None] = [None]

        def unchanged() -> WeightsPage | None:
            time.sleep(0.2)
            page = self.page()
            if page is not None and {len(row) for row in page.rows} != {layers}:
                page = None
            previous, before[0] = before[0], page
            return page if page and previous and page.same_tiles(previous) and not self.busy() else None

        return until(unchanged, f"tiles of {layers} layers")

    def busy(self) -> bool:
        """Return True if the status bar shows a job."""
        return int(np.ptp(self.picture()[-22:-6, 12:320].reshape(-1, 3), axis=0).max()) > 40

    def noise_slider(self) -> Box | None:
        """Return the box of the filled part and the handle of the first slider."""
        return next((box for box in self.panel_parts(LIGHT.accent) if box.height >= 8), None)

    def panel_parts(self, colour: str) -> list[Box]:
        """Return the boxes of the parts of the panel in this colour, from the top."""
        mask = of_colour(self.picture()[:, _PANEL], colour)
        lines = np.flatnonzero(mask.any(axis=1))
        groups = np.split(lines, np.flatnonzero(np.diff(lines) > 6) + 1) if lines.size else []
        boxes = [(int(group[0]), extent(mask[group[0] : group[-1] + 1])) for group in groups]
        return [Box(_PANEL.start + box.left, top, box.width, box.height) for top, box in boxes if box is not None]

    def notice(self, colour: str) -> Box | None:
        """Return the box of a notice of this colour."""
        mask = of_colour(self.picture(), colour)
        mask[:, :_CONTENT] = False
        return extent(mask) if mask.sum() > 5000 else None

    # Files -------------------------------------------------------------------------------------------------------

    def open_by_dialog(self, path: Path) -> None:
        """Type the path of a file into the dialog."""
        self.focus()
        self.key("ctrl+o")
        self.wait_for("Open data")
        self.type(path)
        self.key("Return")
        self.wait_gone("Open data")

    def export(self, title: str, target: Path) -> bytes:
        """Export the current page in the dialog, and return the bytes of the file."""
        target.parent.mkdir(exist_ok=True)
        self.key("ctrl+e")
        self.wait_for(title)
        self.key("Return")
        self.wait_for("Export as")
        self.key("ctrl+a")
        self.type(target)
        self.key("Return")
        self.wait_gone("Export as")
        until(lambda: self.notice(LIGHT.accent_wash), "the notice that it was written")
        return target.read_bytes()

    def stored(self) -> list[tuple[Any, ...]]:
        """Return hash, date and file of each stored run, oldest first; another process may be writing."""
        path = self.home / ".local/share/slide-gui/runs.sqlite"
        try:
            with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
                return connection.execute("SELECT hash, created, file FROM runs ORDER BY created").fetchall()
        except sqlite3.OperationalError:  # the store does not exist yet
            return []

    # Ending ------------------------------------------------------------------------------------------------------

    def wait_end(self) -> tuple[int, str, str]:
        """Return exit code, output and error output."""
        out, err = self.process.communicate(timeout=200)
        return self.process.returncode, out, err

    def quit(self) -> None:
        """Quit by the shortcut, and check that nothing is printed."""
        self.focus()
        self.key("ctrl+q")
        ended = self.wait_end()
        assert ended == (0, "", ""), ended

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
