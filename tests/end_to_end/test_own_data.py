"""A person's own tables in a real window: opened, divided, classified, and opened again as they were read."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from contextlib import closing

import numpy as np
import pytest

from slide_gui.gui.theme import LIGHT
from tests.end_to_end.program import command, environment, open_by_dialog, until
from tests.end_to_end.run_pages import main_button, store_of, turn_to
from tests.end_to_end.screen import Box, extent, of_colour

pytestmark = pytest.mark.display


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a table of flowers, one of images without a word on them, and a broken one."""
    place, random = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    lines = ["stem length,leaf width,petal width,height,kind"]
    for k in range(60):
        numbers = [*random.random(3).round(3).tolist(), round(0.6 * (k % 2) + 0.3 * random.random(), 3)]
        lines.append(",".join(map(str, [*numbers, ("rose", "tulip")[k % 2]])))
    (place / "flowers.csv").write_text("\n".join(lines) + "\n")
    images = random.integers(0, 9, (30, 64))
    np.savetxt(place / "doubtful.csv", np.column_stack([images, np.arange(30) % 3]), fmt="%d", delimiter=",")
    (place / "broken.csv").write_text("a,b,c,d,label\n1,2,3,4,0\n1,2,3\n")
    return place


@pytest.fixture(scope="module")
def program(start, folder):
    return start(folder / "broken.csv")


def open_button(program) -> Box | None:
    """Return the button of the preview above the page, if that is shown."""
    mask = of_colour(program.picture(), LIGHT.accent)
    mask[:48] = mask[260:] = mask[:, :1080] = False
    return extent(mask) if mask.sum() > 1500 else None


def test_that_a_file_that_fails_at_the_start_leaves_the_example_and_says_why(program):
    until(lambda: program.title == "Rectangles (generated) – slide-gui", "the example")
    notice = until(lambda: program.notice(LIGHT.danger_wash), "the notice")
    program.still()
    program.click((notice.left + notice.width - 20, notice.top + 20))
    until(lambda: program.notice(LIGHT.danger_wash) is None, "the notice dismissed")


def test_that_a_table_without_a_test_part_is_classified_as_on_the_command_line(program, folder):
    open_by_dialog(program, folder / "flowers.csv")
    until(lambda: program.title == "flowers – slide-gui", "the new title")
    program.still()
    assert open_button(program) is None
    turn_to(program, "classifier")
    program.still()
    program.click(main_button(program))
    store = store_of(program)
    until(lambda: store.is_file() and len(runs(store)) > 0, "the run", 90)
    program.still()
    ((key, n_test, error),) = runs(store)
    assert n_test == 15
    done = subprocess.run(
        command("train", folder / "flowers.csv", "--depth", 4, "--held-out", 0.25, "--split-seed", 0, "--json"),
        env=environment(program.home, None), capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    said = json.loads(done.stdout)
    assert (said["hash"], said["error"]) == (key, error)
    assert said["label_names"] == ["rose", "tulip"]


def runs(store: os.PathLike[str]) -> list[tuple[str, int, float]]:
    with closing(sqlite3.connect(store)) as database:
        try:
            return database.execute("SELECT hash, n_test, error FROM runs").fetchall()
        except sqlite3.OperationalError:  # it is only being made
            return []


def test_that_a_doubtful_table_is_open_at_once_and_asked_about_once(program, folder):
    turn_to(program, "weights")
    open_by_dialog(program, folder / "doubtful.csv")
    until(lambda: program.title == "doubtful – slide-gui", "the new title")
    page = program.settled()
    assert page.image.width == page.image.height
    button = until(lambda: open_button(program), "the preview")
    program.click(button.center)
    until(lambda: open_button(program) is None, "the preview gone")
    open_by_dialog(program, folder / "flowers.csv")
    until(lambda: program.title == "flowers – slide-gui", "the table before")
    open_by_dialog(program, folder / "doubtful.csv")
    until(lambda: program.title == "doubtful – slide-gui", "the title again")
    program.settled()
    assert open_button(program) is None
