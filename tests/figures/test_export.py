"""Exports have the same bytes for the same input, complete files, text stored as text, and exact numbers."""

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest

from slide_gui.figures.export import FORMATS, save_figure, weights_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights
from tests.figures.drawings import weight_rows

WEIGHTS = [weight_rows(), weight_rows("plain, features", shape=None, generated=False)]


def draw(figure):
    draw_weights(figure, WEIGHTS, Style(bias=True))


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Return the bytes written in each format."""
    folder = tmp_path_factory.mktemp("exported")
    for suffix in FORMATS:
        save_figure(draw, folder / f"a{suffix}", Style(bias=True))
    return {suffix: (folder / f"a{suffix}").read_bytes() for suffix in FORMATS}


@pytest.mark.parametrize("suffix", FORMATS)
def test_that_two_exports_are_the_same_bytes_whatever_matplotlib_is_set_to(tmp_path, exported, suffix):
    changed = {
        "font.size": 30,
        "axes.facecolor": "pink",
        "pdf.fonttype": 3,
        "lines.linewidth": 9,
        "image.origin": "lower",
    }
    with matplotlib.rc_context(changed):
        save_figure(draw, tmp_path / f"b{suffix}", Style(bias=True))
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / f"b{suffix}").read_bytes() == exported[suffix]
    assert os.listdir(tmp_path) == [f"b{suffix}"]


def test_that_another_process_writes_the_same_bytes(tmp_path, exported):
    script = (
        "import sys; from tests.figures.test_export import *\n"
        "for s in FORMATS: save_figure(draw, f'{sys.argv[1]}/b{s}', Style(bias=True))\n"
        "assert 'matplotlib.pyplot' not in sys.modules and 'PySide6' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "1", "SOURCE_DATE_EPOCH": "99999"}
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, cwd=root, env=environment)
    for suffix in FORMATS:
        assert (tmp_path / f"b{suffix}").read_bytes() == exported[suffix]


def test_that_svg_keeps_text_as_text_and_has_no_date(exported):
    text = exported[".svg"].decode()
    assert re.search(r"<text[^>]*>Rectangles \(generated\)</text>", text)
    assert "DejaVu Sans" in text
    assert "dc:date" not in text


def test_that_pdf_embeds_truetype_fonts_and_has_no_date(exported):
    data = exported[".pdf"]
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data


def test_that_png_has_the_requested_resolution(tmp_path):
    save_figure(draw, tmp_path / "a.png", Style(dpi=127))
    from matplotlib.image import imread

    assert imread(tmp_path / "a.png").shape[1] == pytest.approx(89 * 5, abs=1)


def test_that_an_unknown_suffix_is_refused_and_nothing_written(tmp_path):
    with pytest.raises(ValueError, match=r"a\.jpg"):
        save_figure(draw, tmp_path / "a.jpg", Style())
    assert os.listdir(tmp_path) == []


def test_that_the_table_reads_back_to_the_bit(tmp_path):
    weights_csv(tmp_path / "w.csv", WEIGHTS)
    with (tmp_path / "w.csv").open(newline="", encoding="utf-8") as file:
        head, *lines = list(csv.reader(file))
    assert head[:7] == ["dataset", "pixel row", "pixel column", "layer", "bias", "w_0", "w_1"]
    assert len(lines) == sum(len(rows.pixels) * rows.depth for rows in WEIGHTS)
    images, plain = WEIGHTS
    assert lines[2][:4] == ["Rectangles (generated)", "2", "4", "1"]
    assert lines[-1][:4] == ["plain, features", "", "37", "2"]
    for line, rows, i, j in ((lines[2], images, 1, 0), (lines[-1], plain, 2, 1)):
        assert float(line[4]) == rows.biases[i, j]
        np.testing.assert_array_equal([float(cell) for cell in line[5:]], rows.rows[i, j])
