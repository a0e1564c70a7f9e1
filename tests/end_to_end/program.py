"""A running slide-gui in a real window, its mouse and its keys."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

from slide_gui.gui.theme import LIGHT, Theme
from tests.end_to_end.screen import Box, Page, Picture, extent, of_colour, read_page, sliders

SIZE = (1280, 800)
_ROOT = Path(__file__).parents[2]
_RESTING = (640, 12)  # over the bar, where nothing answers the mouse, not even with a tooltip
_FOREIGN = ("QT_", "XDG_", "DBUS_", "GTK_", "KDE_", "GNOME_", "DESKTOP_", "WAYLAND_", "SLIDE_GUI_")
Answer = TypeVar("Answer")


def environment(home: Path, display: str | None) -> dict[str, str]:
    """Return the variables of a person who starts the program for the first time, at no particular desktop."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    variables.pop("DISPLAY", None)
    if display is not None:
        variables |= {"DISPLAY": display, "QT_QPA_PLATFORM": "xcb"}
    return {**variables, "HOME": str(home), "PYTHONPATH": str(_ROOT)}


def bare_environment(home: Path, display: str | None) -> dict[str, str]:
    """Return the variables of a person who has no Python, nor any other program."""
    variables = {"HOME": str(home), "PATH": str(home / "no-programs"), "LANG": "C.UTF-8"}
    data = os.environ.get("SLIDE_GUI_DATA")
    return variables | ({} if display is None else {"DISPLAY": display}) | ({"SLIDE_GUI_DATA": data} if data else {})


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "slide_gui", *map(str, arguments)]


def until(ask: Callable[[], Answer | None], what: str, seconds: float = 60.0) -> Answer:
    """Return the first result that is neither None nor False."""
    end = time.monotonic() + seconds
    while True:
        result = ask()
        if result is not None and result is not False:
            return result
        assert time.monotonic() < end, f"{what}: not within {seconds:.0f} s"
        time.sleep(0.1)


class Program:
    """The process and its window, at the top left of the screen, focused; of these sources, or of a bundle of them."""

    def __init__(
        self,
        display: str,
        home: Path,
        *arguments: object,
        ignores_interrupt: bool = False,
        bundle: Path | None = None,
    ) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self.display, self.home, self.theme = display, home, LIGHT
        self._image: Box | None = None  # the image's place
        self.process = subprocess.Popen(
            command(*arguments) if bundle is None else [bundle, *map(str, arguments)],
            env=environment(home, display) if bundle is None else bare_environment(home, display),
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # As the terminal starts it, or a shell in the background, whichever of the two started the tests.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN if ignores_interrupt else signal.SIG_DFL),
        )
        try:
            self.window = until(lambda: self.find("slide-gui"), "the window", 40)
            self.xdotool("windowmove", self.window, 0, 0)
            self.xdotool("windowsize", self.window, *SIZE)
            self.focus()
        except BaseException:
            self.kill()
            raise

    # X ---------------------------------------------------------------------------------------------------------

    def xdotool(self, *words: object, check: bool = True) -> str:
        done = subprocess.run(
            ["xdotool", *map(str, words)],
            env={**os.environ, "DISPLAY": self.display},
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0 or not check, f"xdotool {words}: {done.stderr}"
        return done.stdout.strip()

    def find(self, name: str) -> str | None:
        """Return the visible window with this in its title."""
        assert self.process.poll() is None, f"the program has ended: {self.process.communicate()}"
        windows = self.xdotool("search", "--onlyvisible", "--name", name, check=False).split()
        return windows[0] if windows else None

    def wait_for(self, name: str) -> str:
        """Wait for a window with this in its title, focus it and return it."""
        window = until(lambda: self.find(name), f"a window called {name!r}")
        self.xdotool("windowfocus", "--sync", window)
        return window

    def wait_gone(self, name: str) -> None:
        until(lambda: self.find(name) is None, f"the window called {name!r} gone")
        self.focus()

    @property
    def title(self) -> str:
        return self.xdotool("getwindowname", self.window)

    def focus(self) -> None:
        self.xdotool("windowfocus", "--sync", self.window)

    def key(self, *keys: str) -> None:
        self.xdotool("key", *keys)

    def type(self, text: object) -> None:
        self.xdotool("type", "--delay", 4, str(text))

    def move(self, place: tuple[int, int]) -> None:
        self.xdotool("mousemove", *place)

    def click(self, place: tuple[int, int]) -> None:
        self.xdotool("mousemove", *place, "sleep", 0.05, "click", 1)

    def rest(self) -> None:
        """Take the mouse away."""
        self.move(_RESTING)

    # Looking ---------------------------------------------------------------------------------------------------

    def picture(self) -> Picture:
        from PIL import ImageGrab

        return np.asarray(ImageGrab.grab(xdisplay=self.display).convert("RGB"))

    def page(self) -> Page | None:
        return self.read(self.picture())

    def read(self, picture: Picture) -> Page | None:
        page = read_page(picture, self.theme, self._image)
        if page is not None:
            self._image = page.image
        return page

    def sliders(self) -> list[Box]:
        return sliders(self.picture(), self.theme)

    def notice(self, wash: str) -> Box | None:
        """Return where the notice is, if it is shown in this colour."""
        mask = of_colour(self.picture(), wash)
        mask[:, :320] = False
        return extent(mask) if mask.sum() > 5000 else None

    def busy(self, picture: Picture) -> bool:
        """Whether the status bar shows a job."""
        return int(np.ptp(picture[-22:-6, 12:320].reshape(-1, 3), axis=0).max()) > 40

    def still(self, seconds: float = 60.0) -> Picture:
        """Wait until nothing runs and nothing changes, and return the picture."""
        return self._at_rest(lambda picture: picture, "a window at rest", seconds)

    def settled(self, rows: int | None = None, seconds: float = 60.0) -> Page:
        """Wait until nothing runs and nothing changes, and return the page."""

        def whole(picture: Picture) -> Page | None:
            page = self.read(picture)
            return page if page is not None and rows in (None, len(page.rows)) and _painted(page) else None

        return self._at_rest(whole, f"a page at rest with {rows or 'its'} rows", seconds)

    def _at_rest(self, read: Callable[[Picture], Answer | None], what: str, seconds: float) -> Answer:
        self.rest()
        before: list[Picture] = [self.picture()]

        def same() -> Answer | None:
            time.sleep(0.35)
            now = self.picture()
            still, before[0] = bool((now == before[0]).all()), now
            return read(now) if still and not self.busy(now) else None

        return until(same, what, seconds)

    def use_theme(self, theme: Theme) -> None:
        self.theme = theme

    def export(self, title: str, target: Path, *keys: str) -> bytes:
        """Export what is shown by its dialog, in which `keys` are pressed first, and return what was written."""
        target.parent.mkdir(exist_ok=True)
        self.key("ctrl+e")
        self.wait_for(title)
        if keys:
            self.key(*keys)
        self.key("Return")
        self.wait_for("Export as")
        self.key("ctrl+a")
        self.type(target)
        self.key("Return")
        self.wait_gone("Export as")
        until(target.is_file, "the export")
        until(lambda: self.notice(LIGHT.accent_wash), "the notice that it was written")
        return target.read_bytes()

    # Ending ----------------------------------------------------------------------------------------------------

    def press_close(self) -> None:
        """Ask the window to close, as the button in its frame does; there is no window manager to have one."""
        ask_to_close(self.display, int(self.window))

    def wait_end(self, seconds: float = 10.0) -> tuple[int, str, str]:
        """Return exit code, output and error output."""
        out, err = self.process.communicate(timeout=seconds)
        return self.process.returncode, out, err

    def spent(self) -> float:
        """Return the seconds of processors that it has used, all its threads together."""
        times = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")

    def end_by(self, number: int) -> tuple[int, str, str]:
        """Send a signal, and return what `wait_end` does; what it does until its end must take less than two seconds.

        Of a processor: how long that is on the clock depends on what else runs.
        """
        before, others = self.spent(), _spent_by_ended()
        self.process.send_signal(number)
        ended = self.wait_end()
        assert _spent_by_ended() - others - before < 2.0
        return ended

    def quit(self, seconds: float = 10.0) -> None:
        """End it by its keys; it must go without an error and without a word."""
        self.focus()
        self.key("ctrl+q")
        assert self.wait_end(seconds) == (0, "", "")

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def _spent_by_ended() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class _ClientMessage(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("serial", ctypes.c_ulong),
        ("send_event", ctypes.c_int),
        ("display", ctypes.c_void_p),
        ("window", ctypes.c_ulong),
        ("message_type", ctypes.c_ulong),
        ("format", ctypes.c_int),
        ("data", ctypes.c_long * 5),
        ("rest", ctypes.c_long * 16),  # an XEvent is longer
    )


def ask_to_close(display: str, window: int) -> None:
    """Send WM_DELETE_WINDOW, as a window manager does."""
    x11 = ctypes.CDLL("libX11.so.6")
    x11.XOpenDisplay.restype = ctypes.c_void_p
    x11.XInternAtom.restype = ctypes.c_ulong
    connection = ctypes.c_void_p(x11.XOpenDisplay(display.encode()))
    protocols, delete = (x11.XInternAtom(connection, name, 0) for name in (b"WM_PROTOCOLS", b"WM_DELETE_WINDOW"))
    message = _ClientMessage(type=33, window=window, message_type=protocols, format=32, data=(delete, 0, 0, 0, 0))
    x11.XSendEvent(connection, ctypes.c_ulong(window), 0, ctypes.c_long(0), ctypes.byref(message))
    x11.XCloseDisplay(connection)


def _painted(page: Page) -> bool:
    """Whether every tile shows weights of either sign, not a plain ground."""
    return all(int(np.ptp(box.of(page.picture).reshape(-1, 3), axis=0).max()) > 30 for row in page.rows for box in row)


def open_by_dialog(program: Program, path: Path) -> None:
    """Open a file by typing its path into the dialog."""
    program.focus()
    program.key("ctrl+o")
    program.wait_for("Open data")
    program.type(path)
    program.key("Return")
    program.wait_gone("Open data")
