"""Figures and tables write names as text: not as mathematics, markup, formulas or control characters."""

import csv
import re
import time
from xml.etree import ElementTree

import pytest

from slide_gui.experiments.runs.run import run
from slide_gui.figures.canvas import fitted, width_mm
from slide_gui.figures.evaluation import TextTable, latex, markdown
from slide_gui.figures.export import figure_bytes
from slide_gui.figures.run_figures import confusion_csv, draw_confusion
from slide_gui.figures.style import Style
from slide_gui.figures.tables import save_table
from slide_gui.figures.weights import draw_weights
from slide_gui.reproduction.figures import ReproducedItem
from slide_gui.reproduction.page import reading_page
from tests.experiments.tiny import rectangles, spec
from tests.figures.drawings import weight_rows

HOSTILE = r"<img src=x> $\foo{$ | _a_ & \input{b} ^~#%"
TABLE = TextTable(HOSTILE, (HOSTILE, "b"), ((HOSTILE, "1"),), frozenset({(0, 0)}), (HOSTILE,))


@pytest.fixture(scope="module")
def result():
    dataset = rectangles(40, 40)
    return run(dataset, spec(dataset, depth=0, widths="median", C=1.0))


def svg_texts(result, names):
    drawn = figure_bytes(lambda figure: draw_confusion(figure, result, Style(), names), ".svg", Style())
    return [each.text for each in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.filterwarnings("ignore:Glyph")
def test_that_names_of_classes_are_text_and_a_picture_is_valid_xml(result):
    texts = svg_texts(result, ["$\\foo{$", "$10-$20"])
    assert texts.count("$\\foo{$") == texts.count("$10-$20") == 2
    assert r"a\x1b[31m\x00\x07" in svg_texts(result, ["a\x1b[31m\x00\x07", "b\ufffe<&>"])
    weights = [weight_rows(r"cost $\frac$ of_data", generated=False)]
    figure_bytes(lambda figure: draw_weights(figure, weights, Style()), ".pdf", Style())


def test_that_a_long_name_is_cut_quickly_and_fills_the_available_width():
    start = time.process_time()
    text, size = fitted("Wi" * 2000, 6.0, 30.0)
    assert time.process_time() - start < 5.0  # cutting letter by letter would take minutes
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
    row = text.splitlines()[4]
    assert len(re.findall(r"(?<!\\)\|", row)) == 3
    tex = latex(TABLE)
    assert r"\foo" not in tex
    assert r"\input" not in tex
    escaped = r"$<$img src=x$>$ \$\textbackslash{}foo\{\$ | \_a\_ \& \textbackslash{}input\{b\} \textasciicircum{}"
    assert tex.count(escaped) == 4


def test_that_the_page_of_the_paper_escapes_every_text():
    tag = "<script>alert('x')</script>\"&"
    page = reading_page([ReproducedItem(tag, (f"{tag}.png",), tag, tag, tag, (TABLE,), title=tag)], [tag], False)
    ElementTree.fromstring(re.sub(r"<!DOCTYPE html>|<meta[^>]*>|<img [^>]*>", "", page))
    assert "<script" not in page
    assert page.count("<img ") == 1
