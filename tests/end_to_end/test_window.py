"""The program in a real window under Xvfb, with real mouse and keyboard events."""

import os
import shutil
import signal
import subprocess
import sys
import time

import pytest

pytestmark = pytest.mark.display


def xdotool(display, *words):
    done = subprocess.run(
        ["xdotool", *map(str, words)],
        env={**os.environ, "DISPLAY": display},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


class Program:
    """A running slide-gui and its window."""

    def __init__(self, display, home, *arguments):
        self.display = display
        environment = {
            **os.environ,
            "DISPLAY": display,
            "QT_QPA_PLATFORM": "xcb",
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_DATA_HOME": str(home / "data"),
            "XDG_STATE_HOME": str(home / "state"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-m", "slide_gui", *map(str, arguments)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.window = self.wait_for_title("slide-gui")
        xdotool(display, "windowsize", "--sync", self.window, 1280, 800)
        xdotool(display, "windowmove", self.window, 0, 0)
        xdotool(display, "windowfocus", "--sync", self.window)

    def wait_for_title(self, part, seconds=40):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            assert self.process.poll() is None, self.process.communicate()[1]
            done = subprocess.run(
                ["xdotool", "search", "--onlyvisible", "--name", part],
                env={**os.environ, "DISPLAY": self.display},
                capture_output=True,
                text=True,
                check=False,
            )
            if done.stdout.split():
                return done.stdout.split()[0]
            time.sleep(0.1)
        raise AssertionError(f"no window is called {part!r}")

    def move(self, x, y):
        xdotool(self.display, "mousemove", "--window", self.window, x, y)

    def click(self, x, y):
        self.move(x, y)
        time.sleep(0.05)
        xdotool(self.display, "click", 1)

    def key(self, *keys):
        xdotool(self.display, "key", *keys)

    def picture(self, path):
        """Return the window's pixels as (width, height, bytes of RGB) by the X server itself."""
        from PIL import Image

        raw = path.with_suffix(".xwd")
        subprocess.run(
            ["import", "-window", "root", str(path)], env={**os.environ, "DISPLAY": self.display}, check=True
        ) if shutil.which("import") else None
        return Image.open(path) if path.exists() else raw

    def close(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            out, err = self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        return out, err
