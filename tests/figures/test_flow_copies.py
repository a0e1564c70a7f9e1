from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from slide_gui.cli import main
from slide_gui.core.slide.parameters import StackParameters
from slide_gui.data.dataset import Dataset
from slide_gui.experiments.files.model_file import fit_model
from slide_gui.experiments.files.source import DataSource
from slide_gui.experiments.inspection.closed_form import CopiesResult, CopiesStudy
from slide_gui.experiments.inspection.flow import flow_result
from slide_gui.figures.copies import copies_export, draw_copies
from slide_gui.figures.export import FigureExport, save_bundle
from slide_gui.figures.flow import draw_flow, flow_export
from slide_gui.figures.style import WIDTHS, Style
from tests.experiments.tiny import rectangles
from tests.scripts import run_script

PARAMETERS = StackParameters(noise=0.3, depth=2)


def flow_of(dataset: Dataset, seed: int | None = 1):
    return flow_result(fit_model(dataset, PARAMETERS), dataset.train[0], "training image 1", seed)


def copies_of(dataset: Dataset):
    model = fit_model(dataset, PARAMETERS)
    copies = CopiesStudy(model.stack, dataset.train, 2, seeds=2, most=16).run()
    return CopiesResult(model, copies, 19, 8)


def plain() -> Dataset:
    rows = np.random.default_rng(0).random((80, 20)).astype(np.float32)
    return Dataset("plain", rows[:60], rows[60:])


def texts(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.texts]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("data", [rectangles(60, 10), plain()], ids=["images", "plain"])
def test_that_figures_have_their_width_and_nothing_outside(width: str, data: Dataset) -> None:
    for draw, result in ((draw_flow, flow_of(data)), (draw_copies, copies_of(data))):
        figure = Figure()
        draw(figure, result, Style(width=width))  # type: ignore[operator]
        assert figure.get_figwidth() * 25.4 == pytest.approx(WIDTHS[width])
        for axes in figure.axes:
            box = axes.get_position()
            assert -1e-9 <= box.x0 < box.x1 <= 1 + 1e-9
            assert -1e-9 <= box.y0 < box.y1 <= 1 + 1e-9


def test_that_the_flow_figure_shows_the_values_and_says_the_errors() -> None:
    result, figure = flow_of(rectangles(60, 10)), Figure()
    draw_flow(figure, result, Style())
    assert len(figure.axes) == 6
    shown = texts(figure)
    second = result.flow.layers[1]
    assert f"{second.target_error:.4f} from h¹" in shown
    assert f"{second.input_error:.4f} from x" in shown
    squashed = next(axes for axes in figure.axes if axes.get_label().startswith("T(h¹)")).images[0].get_array()
    dark = np.asarray(squashed)[::8, ::8].sum(axis=-1) < 200
    np.testing.assert_array_equal(dark.reshape(-1), second.squashed == 1)


def test_that_a_flow_that_was_not_corrupted_says_so() -> None:
    figure = Figure()
    draw_flow(figure, flow_of(rectangles(60, 10), None), Style())
    assert any("not corrupted" in text for text in texts(figure))
    assert "corrupt" not in texts(figure)


def test_that_the_copies_figure_has_both_lines_and_their_references() -> None:
    result, figure = copies_of(rectangles(60, 10)), Figure()
    draw_copies(figure, result, Style())
    lines = figure.axes[0].get_lines()
    assert len(lines) == 4
    np.testing.assert_allclose(lines[0].get_ydata(), [mean for _, mean, _, _ in result.copies.curve()])
    dashed = np.asarray(lines[1].get_ydata())
    np.testing.assert_allclose(dashed[0] / dashed[-1], 4.0)
    assert "Wₘ, m = 8, seed 0" in texts(figure)


@pytest.mark.parametrize("name", ["flow", "copies"])
def test_that_a_bundle_makes_itself_again_by_script_and_by_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("tiny.npz", X_train=rectangles(60, 10).train.reshape(-1, 8, 8))
    source = DataSource(paths=("tiny.npz",))
    dataset = source.load()
    export: FigureExport
    if name == "flow":
        drawn = dataset.train[0].copy()
        drawn[5:20] = 1.0
        model = fit_model(dataset, PARAMETERS)
        export = flow_export(flow_result(model, drawn, "training image 1, drawn on", 3), source)
    else:
        export = copies_export(copies_of(dataset), source)
    save_bundle(Path("bundle"), export, Style(width="double", dpi=120))
    figures = [f"{name}{suffix}" for suffix in (".csv", ".pdf", ".png", ".svg")]
    before = {file: Path("bundle", file).read_bytes() for file in figures}
    os.makedirs("script")
    os.link("tiny.npz", "script/tiny.npz")
    for file in figures:
        os.remove(f"bundle/{file}")
    if name == "flow":
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        subprocess.run([sys.executable, "../bundle/flow.py"], check=True, cwd="script", env=environment)
        os.rename("bundle/flow-image.csv", "flow-image.csv")
    else:
        run_script(Path("bundle/copies.py"), Path("script"))
    assert main(shlex.split(Path("bundle/commands.txt").read_text(encoding="utf-8"))[1:]) == 0
    assert os.listdir("script") == ["tiny.npz"], "the script writes next to itself"
    for file, content in before.items():
        assert Path("bundle", file).read_bytes() == content
        assert Path(file).read_bytes() == content
