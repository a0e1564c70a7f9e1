"""Real windows: one program that most tests share, and one that a test may end."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.end_to_end.program import Program
from tests.end_to_end.run_pages import write_rectangles


@pytest.fixture(scope="session")
def display(xvfb_display: str) -> str:
    """Return a display on which mouse and keys can be moved."""
    if shutil.which("xdotool") is None:
        pytest.skip("xdotool is not installed (Debian and Ubuntu: apt-get install xdotool)")
    return xvfb_display


@pytest.fixture(scope="session")
def outlines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of a few small outlines of rectangles, which is open and fitted at once."""
    return write_rectangles(tmp_path_factory.mktemp("outlines") / "outlines.npz", 60, 80, side=14)


@pytest.fixture(scope="module")
def start(display: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Program]]:
    """Return a function that starts the program on the files given, with a home of its own; none is left running."""
    started: list[Program] = []

    def run(*arguments: Path, home: Path | None = None, ignores_interrupt: bool = False) -> Program:
        for earlier in started:
            earlier.kill()
        place = home or tmp_path_factory.mktemp("home")
        started.append(Program(display, place, *arguments, ignores_interrupt=ignores_interrupt))
        return started[-1]

    yield run
    for program in started:
        program.kill()
