"""What the pages of runs show, read from pictures, and what the store of a program holds."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from slide_gui.data.generators.rectangles import rectangles
from slide_gui.gui.shell.commands import COMMANDS
from slide_gui.gui.shell.page_stack import PAGES
from tests.end_to_end.program import Program, until
from tests.end_to_end.screen import CONTENT, Box, Picture, extent, of_colour

PLOT = slice(150, 700)  # lines of the picture in which the error curves are drawn


def write_rectangles(path: Path, n_train: int, n_test: int, side: int = 28) -> Path:
    """Write different generated rectangles, of which few are tested on, as a file of one's own; `side` divides 28."""
    n, step = n_train + n_test, 28 // side
    data = rectangles(3 * n, 1, seed=3)
    images = data.train.reshape(-1, side, step, side, step).max(axis=(2, 4)).reshape(3 * n, -1)
    chosen = np.sort(np.unique(images, axis=0, return_index=True)[1])[:n]
    assert len(chosen) == n
    assert data.train_labels is not None
    rows, labels = images[chosen].reshape(n, side, side), data.train_labels[chosen]
    np.savez(path, X_train=rows[:n_train], X_test=rows[n_train:], y_train=labels[:n_train], y_test=labels[n_train:])
    return path


def turn_to(program: Program, name: str) -> None:
    """Turn to a page by its keys, and wait until the navigation marks it."""
    (keys,) = [action.shortcut.lower() for action in COMMANDS if action.name == f"page_{name}"]
    place = [page.name for page in PAGES].index(name)
    program.focus()
    program.rest()
    program.key(keys)

    def marked() -> bool:
        box = extent(of_colour(program.picture()[:, :3], program.theme.accent))
        return box is not None and abs(box.center[1] - (76 + 56 * place)) < 8

    until(marked, f"the page {name}")


def begin_sweep(program: Program) -> None:
    """Start a sweep over `write_rectangles` data, once they are fitted."""
    until(lambda: program.title.startswith("outlines"), "the data")
    program.settled(rows=5)
    turn_to(program, "curves")
    program.click(main_button(program))
    program.rest()
    program.wait_for("Sweep")
    program.key("Return")  # Start, with the usual choices
    program.wait_gone("Sweep")


def store_of(program: Program) -> Path:
    return program.home / ".local/share/slide-gui/runs.sqlite"


def stored(program: Program, columns: str = "hash, created, file, noise, depth") -> list[tuple[Any, ...]]:
    """Return some columns of each run kept, oldest first; another process may be writing."""
    path = store_of(program)
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchall():
            return []
        return connection.execute(f"SELECT {columns} FROM runs ORDER BY created").fetchall()


def main_button(program: Program) -> tuple[int, int]:
    """Return where the first button of a page is, the one in the accent's colour, once the page is there."""

    def button() -> Box | None:
        mask = of_colour(program.picture(), program.theme.accent)
        mask[:80] = mask[120:] = False
        mask[:, :76] = mask[:, 600:] = False  # beside the navigation: the panel may be folded away
        return extent(mask)

    program.rest()  # under the mouse the button has another colour
    return until(button, "the page with its button").center


def shares(program: Program, picture: Picture, depth: int) -> tuple[int, ...]:
    """Return how many pixels the bar of each layer's share has."""
    part = picture[400:760, CONTENT:800]
    return tuple(int(of_colour(part, program.theme.pin(layer).name()).sum()) for layer in range(depth + 1))


def colourful(picture: Picture) -> int:
    """Return how many pixels of the right half of the page are neither grey nor nearly so."""
    part = picture[120:760, 800:1270].astype(int)
    return int((np.ptp(part, axis=-1) > 60).sum())


def cursor(program: Program, picture: Picture) -> int | None:
    """Return the column of the cursor of the error curves."""
    mask = of_colour(picture, program.theme.accent)[PLOT]
    mask[:, : CONTENT + 40] = False
    counts = mask.sum(axis=0)
    return int(np.argmax(counts)) if counts.max() > 150 else None


def dot(program: Program, picture: Picture, column: int, depth: int) -> tuple[int, int] | None:
    """Return where a point of this depth is drawn in a column of the error curves."""
    return _spot(picture, column, program.theme.pin(depth).name())


def estimate(program: Program, picture: Picture, column: int) -> int | None:
    """Return the line of the picture where a live estimate, a hollow point, interrupts the cursor."""
    line = of_colour(picture, program.theme.accent)[PLOT, column - 1 : column + 2].any(axis=1)
    (drawn,) = np.nonzero(line)
    (gaps,) = np.nonzero(np.diff(drawn) > 4)
    return int(drawn[gaps[0]] + drawn[gaps[0] + 1]) // 2 + PLOT.start if gaps.size == 1 else None


def _spot(picture: Picture, column: int, colour: str) -> tuple[int, int] | None:
    mask = of_colour(picture, colour)
    mask[: PLOT.start] = mask[PLOT.stop :] = False
    mask[:, : column - 6] = mask[:, column + 7 :] = False
    if mask.sum() < 10:
        return None
    box: Box | None = extent(mask)
    assert box is not None
    return box.center
