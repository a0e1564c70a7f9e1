"""Every figure has the requested width and fits on its page."""

from dataclasses import replace

import pytest
from matplotlib.figure import Figure

from slide_gui.experiments.evaluation.table import EvaluationState
from slide_gui.experiments.runs.run import run
from slide_gui.figures.curves import draw_curves
from slide_gui.figures.evaluation import draw_errors, draw_times
from slide_gui.figures.run_figures import draw_widths
from slide_gui.figures.style import WIDTHS, Style
from slide_gui.figures.weights import draw_weights
from tests.experiments.tiny import spec
from tests.figures.drawings import CURVES, DATA, DRAWINGS, drawn, weight_rows


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", DRAWINGS)
def test_that_a_figure_has_its_width_and_all_of_it_is_on_the_page(name, width):
    figure = drawn(DRAWINGS[name], Style(width=width, bias=True))
    wide, high = figure.get_size_inches()
    assert wide * 25.4 == pytest.approx(WIDTHS[width])
    assert width != "slide" or wide / high == pytest.approx(16 / 9)
    box = figure.get_tightbbox()  # inches
    assert min(box.x0, box.y0) >= -0.01
    assert box.x1 <= wide + 0.01
    assert box.y1 <= high + 0.01


def test_that_an_empty_figure_is_refused():
    for draw, content in (
        (draw_curves, replace(CURVES, points=())),
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
