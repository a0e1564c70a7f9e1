"""Exports and animations have the same bytes for the same input, exact numbers, the given width, and names as text."""

import csv
import io
import os
import re
from dataclasses import replace
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image, ImageSequence

from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.evaluation.table import EvaluationState
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.session import SessionRecord, picture_text, read_session
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.rows import rows_by_noise
from slide_gui.experiments.inspection.rows import weight_rows as fitted_rows
from slide_gui.experiments.runs.run import run
from slide_gui.figures import canvas, weights
from slide_gui.figures.canvas import SMALLEST, fitted, width_mm
from slide_gui.figures.color_scale import ColorScale
from slide_gui.figures.evaluation import TextTable, draw_errors, draw_times, latex, markdown
from slide_gui.figures.export import FORMATS, figure_bytes, fit_words, save_export, save_figure, weights_csv
from slide_gui.figures.run_figures import confusion_csv, draw_confusion, draw_widths
from slide_gui.figures.style import WIDTHS, Style
from slide_gui.figures.tables import save_table
from slide_gui.figures.weights import NOISES, draw_weights, noise_animation
from slide_gui.progress import NO_PROGRESS, Cancelled
from tests.core.svm_data import StopAfter
from tests.experiments.tiny import rectangles, spec
from tests.figures.drawings import DATA, DRAWINGS, drawn, weight_rows

WEIGHTS = [weight_rows(), weight_rows("plain, features", shape=None, generated=False)]


def draw(figure):
    draw_weights(figure, WEIGHTS, Style(bias=True))


@pytest.fixture(scope="module")
def exported():
    """Return the content of a file of each format."""
    return {suffix: figure_bytes(draw, suffix, Style(bias=True)) for suffix in FORMATS}


@pytest.mark.parametrize("suffix", FORMATS)
def test_that_two_exports_are_the_same_bytes_whatever_matplotlib_is_set_to(tmp_path, exported, suffix):
    rc = {"font.size": 30, "axes.facecolor": "pink", "pdf.fonttype": 3, "lines.linewidth": 9, "image.origin": "lower"}
    with matplotlib.rc_context(rc):
        save_figure(draw, tmp_path / f"b{suffix}", Style(bias=True))
        assert matplotlib.rcParams["font.size"] == 30
    assert (tmp_path / f"b{suffix}").read_bytes() == exported[suffix]
    assert os.listdir(tmp_path) == [f"b{suffix}"]


def test_that_svg_keeps_text_as_text_pdf_embeds_truetype_fonts_and_neither_has_a_date(exported):
    text = exported[".svg"].decode()
    assert re.search(r"<text[^>]*>Rectangles \(generated\)</text>", text)
    assert "DejaVu Sans" in text
    assert "dc:date" not in text
    data = exported[".pdf"]
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data


def test_that_png_has_the_requested_resolution_and_an_unknown_suffix_is_refused_and_nothing_written(tmp_path):
    save_figure(draw, tmp_path / "a.png", Style(dpi=127))
    with Image.open(tmp_path / "a.png") as image:
        assert image.width == pytest.approx(89 * 5, abs=1)
    with pytest.raises(ValueError, match=r"a\.jpg"):
        save_figure(draw, tmp_path / "a.jpg", Style())
    assert os.listdir(tmp_path) == ["a.png"]


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


def test_that_commands_name_features_whose_names_are_numbers_and_have_no_unused_window_or_threshold():
    rows = weight_rows(shape=None, pixels=(1, 47))
    rows = replace(rows, parameters=replace(rows.parameters, window=5, threshold=-1e-6))
    for names, words in ((tuple(map(str, range(1, 49))), "2 48"), (tuple("ab" * 24), "1 47")):
        export = weights.weights_export([replace(rows, feature_names=names)], [DataSource(paths=("a.csv",))])
        assert f"--pixels {words} --show" in export.commands(Style())
        assert "--window" not in export.commands(Style())
        assert "--threshold=-1e-06 " in export.commands(Style())  # a separate word would be taken for an option
    assert "--threshold" not in str(fit_words(DataSource(), replace(rows.parameters, squashing="tanh")))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", DRAWINGS)
def test_that_a_figure_has_its_width_and_all_of_it_is_on_the_page(name, width):
    figure = drawn(DRAWINGS[name], style=Style(width=width, bias=True))
    wide, high = figure.get_size_inches()
    assert wide * 25.4 == pytest.approx(WIDTHS[width])
    assert width != "slide" or wide / high == pytest.approx(16 / 9)
    box = figure.get_tightbbox()  # inches
    assert min(box.x0, box.y0) >= -0.01
    assert box.x1 <= wide + 0.01
    assert box.y1 <= high + 0.01


def test_that_an_empty_figure_is_refused():
    for draw, content in (
        (draw_errors, EvaluationState((), ())),
        (draw_times, ()),
        (draw_weights, []),
        (draw_weights, [weight_rows(pixels=())]),
        (draw_widths, run(DATA, spec(DATA, widths="median", C=1.0))),
    ):
        with pytest.raises(ValueError, match="nothing to draw"):
            draw(Figure(), content, Style())


@pytest.mark.parametrize("change", [{"width": "huge"}, {"colors": "viridis"}, {"levels": "row"}, {"dpi": 10}])
def test_that_an_unknown_style_is_refused_by_name(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        replace(Style(), **change)


STYLE = Style(width="single", dpi=80)
COLORS = ColorScale.symmetric(STYLE.colors, 1.0).lut()[:, :3]
PARAMETERS = StackParameters(depth=2)
ONE_LAYER = StackParameters(depth=1)
FEW_NOISES = (*NOISES[::4], NOISES[-1])
SESSION = picture_text(SessionRecord(choices=(("runs", "filter", "n" * 900),)))


def data():
    rows = (np.random.default_rng(0).random((60, 30)) < 0.4).astype(np.float32)
    return Dataset("made up", rows, rows[:0], image_shape=(5, 6))


def rows_of(parameters):
    return fitted_rows(fit_model(data(), parameters), (7, 20))


def against_noise():
    return noise_animation([data()], [rows_of(ONE_LAYER)])


@pytest.fixture
def few_noises(monkeypatch):
    monkeypatch.setattr(weights, "NOISES", FEW_NOISES)


def test_that_the_rows_at_each_noise_are_those_of_a_fit_to_the_bit():
    for rows, noise in zip(rows_by_noise(data(), PARAMETERS, (7, 20), NOISES, NO_PROGRESS), NOISES, strict=True):
        alone = rows_of(replace(PARAMETERS, noise=noise))
        np.testing.assert_array_equal(rows.rows, alone.rows)
        np.testing.assert_array_equal(rows.biases, alone.biases)
        assert rows.parameters == alone.parameters


def test_that_a_gif_shows_each_figure_in_the_nearest_of_its_colours_and_zero_exactly(tmp_path, few_noises):
    save_export(tmp_path / "a.gif", against_noise(), STYLE)
    with Image.open(tmp_path / "a.gif") as image:
        assert image.info["loop"] == 0
        frames = [(frame.info["duration"], np.asarray(frame.convert("RGB"))) for frame in ImageSequence.Iterator(image)]
    assert [duration for duration, _ in frames] == [250] * 5 + [1500]
    style = replace(STYLE, show="weights")
    steps = np.abs(np.diff(COLORS.astype(int), axis=0)).max()
    for (_, frame), noise in list(zip(frames, FEW_NOISES, strict=True))[::2]:
        rows = rows_of(replace(ONE_LAYER, noise=noise))
        content = figure_bytes(lambda figure, rows=rows: draw_weights(figure, [rows], style), ".png", style)
        exact = np.asarray(Image.open(io.BytesIO(content)).convert("RGB"))
        difference = np.abs(frame.astype(int) - exact).max(axis=2)
        of_map = (exact[:, :, None] == COLORS).all(axis=3).any(axis=2)
        assert of_map.mean() > 0.2
        assert difference[of_map].max() <= steps
        assert difference.max() <= 48
        zero = (exact == (247, 247, 248)).all(axis=2)
        assert zero.any()
        assert difference[zero].max() == 0


def test_that_two_exports_are_the_same_bytes_with_the_session(tmp_path, few_noises):
    for name in ("a.gif", "b.gif"):
        save_export(tmp_path / name, against_noise(), STYLE, SESSION)
    assert (tmp_path / "a.gif").read_bytes() == (tmp_path / "b.gif").read_bytes()
    assert picture_text(read_session(tmp_path / "a.gif")) == SESSION
    save_export(tmp_path / "c.gif", against_noise(), STYLE)
    assert read_session(tmp_path / "c.gif") is None


@pytest.mark.parametrize("after", [0.2, 0.7, 0.99])
def test_that_a_cancelled_animation_leaves_no_file(tmp_path, few_noises, after):
    listener = StopAfter(fraction=after)
    with pytest.raises(Cancelled):
        save_export(tmp_path / "a.gif", against_noise(), STYLE, progress=listener)
    assert list(tmp_path.iterdir()) == []
    assert listener.fractions == sorted(listener.fractions)


HOSTILE = r"<img src=x> $\foo{$ | _a_ & \input{b} ^~#%"
TABLE = TextTable(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "1"),), frozenset({(0, 0)}), (HOSTILE,))


@pytest.fixture(scope="module")
def result():
    dataset = rectangles(40, 40)
    return run(dataset, spec(dataset, depth=0, widths="median", C=1.0))


def svg_texts(result, names):
    drawn = figure_bytes(lambda figure: draw_confusion(figure, result, Style(), names), ".svg", Style())
    return [each.text for each in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]


def test_that_names_are_text_in_installed_fonts_and_a_picture_is_valid_xml(result, monkeypatch):
    monkeypatch.setattr(canvas, "_FALLBACKS", ("STIXGeneral",))
    texts = svg_texts(result, ["$\\foo{$", "$10-$20"])
    assert texts.count("$\\foo{$") == texts.count("$10-$20") == 2
    assert r"a\x1b[31m\x00\x07" in svg_texts(result, ["a\x1b[31m\x00\x07", "b\ufffe<&>"])
    weights = [weight_rows(r"cost $\frac$ of_data", generated=False)]
    figure_bytes(lambda figure: draw_weights(figure, weights, Style()), ".pdf", Style())
    drawn = figure_bytes(lambda figure: draw_confusion(figure, result, Style(), ["ℊ", "b"]), ".pdf", Style())
    assert b"STIXGeneral" in drawn
    with pytest.warns(UserWarning, match="boxes instead of 𒀀𓀀, which their fonts lack") as warned:
        [figure_bytes(lambda figure: draw_confusion(figure, result, Style(), "𓀀𒀀"), each, Style()) for each in FORMATS]
    assert len(warned) == 1


def test_that_a_long_name_is_cut_quickly_and_fills_the_available_width(monkeypatch):
    measured = []
    monkeypatch.setattr(canvas, "width_mm", lambda text, *given: measured.append(text) or width_mm(text, *given))
    text, size = fitted("Wi" * 2000, 6.0, 30.0, SMALLEST)
    assert len(measured) < 20  # cutting letter by letter would measure thousands
    assert text.endswith("…")
    assert width_mm(text, size) <= 30.0 < width_mm(f"{text[:-1]}Wi…", size)


def test_that_only_texts_are_protected_from_being_read_as_formulas(tmp_path, result):
    texts = ["=1+1", "+a", "-2+3", "@SUM(A1)", "\tb", "\rc", "＝1", "-5", "+1.5e-3", "-12.5%", "a=b", "'quoted", "−3"]
    save_table(tmp_path / "t.csv", texts, [[*texts], [-1, -2.5, None, True, float("-inf"), 0, -0.0]])
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        head, cells, numbers = csv.reader(file)
    assert head == cells == [f"'{text}" for text in texts[:7]] + texts[7:]
    assert numbers == ["-1", "-2.5", "", "True", "-inf", "0", "-0.0"]
    confusion_csv(tmp_path / "c.csv", result, ["=a", "b"])
    assert (tmp_path / "c.csv").read_text(encoding="utf-8").splitlines()[1].startswith("'=a,")


def test_that_tables_escape_what_their_language_would_read():
    text = markdown(TABLE)
    assert text.count(r"\<img src=x\> \$\\foo{\$ \| \_a\_ \& \\input{b} ^\~#%") == 4
    assert len(re.findall(r"(?<!\\)\|", text.splitlines()[4])) == 3
    tex = latex(TABLE)
    assert r"\foo{" not in tex
    assert r"\input" not in tex
    escaped = r"$<$img src=x$>$ \$\textbackslash{}foo\{\$ | \_a\_ \& \textbackslash{}input\{b\} \textasciicircum{}"
    assert tex.count(escaped) == 4
