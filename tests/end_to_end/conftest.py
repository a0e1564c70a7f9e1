"""Fixtures that run real windows under Xvfb, each with its own home folder."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from slide_gui.data.generators.rectangles import rectangles
from tests.end_to_end.program import Program, virtual_display


@pytest.fixture(scope="session")
def display():
    """Start a virtual display and return its name."""
    for tool in ("Xvfb", "xdotool"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed (Debian and Ubuntu: apt-get install {tool.lower()})")
    with virtual_display() as name:
        yield name


@pytest.fixture(scope="session")
def outlines(tmp_path_factory):
    """Return a file of small outlines of rectangles, 60 to train and 80 to test, which takes no time to fit."""
    data = rectangles(500, 1, seed=3)
    images = data.train.reshape(-1, 14, 2, 14, 2).max(axis=(2, 4)).reshape(len(data.train), -1)
    rows = np.sort(np.unique(images, axis=0, return_index=True)[1])[:140]
    X, y = images[rows].reshape(-1, 14, 14), data.train_labels[rows]
    path = tmp_path_factory.mktemp("outlines") / "outlines.npz"
    np.savez(path, X_train=X[:60], y_train=y[:60], X_test=X[60:], y_test=y[60:])
    return path


@pytest.fixture(scope="module")
def start(display, tmp_path_factory):
    """Return a function that ends the running program and starts a new one on some files."""
    started: list[Program] = []

    def run(*arguments: Path, home: Path | None = None) -> Program:
        for earlier in started:
            earlier.kill()
        started.append(Program(display, home or tmp_path_factory.mktemp("home"), *arguments))
        return started[-1]

    yield run
    for program in started:
        program.kill()
