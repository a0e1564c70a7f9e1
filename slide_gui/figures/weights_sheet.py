"""The weight figure with everything that is needed to make it again."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from slide_gui import __version__
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.weights import WeightRows
from slide_gui.figures.export import weights_csv
from slide_gui.figures.sheet import Sheet, all_forms, fit_words, sheet_of, style_words
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights

__all__ = ["weights_commands", "weights_script", "weights_sheet"]

_SCRIPT = '''"""Makes weights.pdf, .svg, .png and .csv again; written by slide-gui {version}.

Run it in the folder from which the data's paths start.
"""

from slide_gui.core.stack import StackParameters
from slide_gui.experiments.fit import fit_model
from slide_gui.experiments.source import DataSource
from slide_gui.experiments.weights import weight_rows
from slide_gui.figures.export import save_figure, weights_csv
from slide_gui.figures.style import Style
from slide_gui.figures.weights import draw_weights

STYLE = {style!r}
# Data, SHA-256 of the data, parameters, pixels (features in row-major order).
SETS = [
{sets}]

weights = []
for source, fingerprint, parameters, pixels in SETS:
    model = fit_model(source.load(), parameters)
    if model.fingerprint != fingerprint:
        raise SystemExit(f"{{source.argument}} is no longer the data of the figure")
    weights.append(weight_rows(model, pixels))

for name in ("weights.pdf", "weights.svg", "weights.png"):
    save_figure(lambda figure: draw_weights(figure, weights, STYLE), name, STYLE)
weights_csv("weights.csv", weights)
'''


def weights_sheet(weights: Sequence[WeightRows], sources: Sequence[DataSource]) -> Sheet:
    """Return the weight figure as what can be exported.

    Parameters
    ----------
    weights : sequence of WeightRows
    sources : sequence of DataSource
        Where the data of each of `weights` came from.
    """
    return sheet_of(
        "weights",
        weights,
        draw_weights,
        weights_csv,
        commands=lambda style: weights_commands(weights, sources, style),
        script=lambda style: weights_script(weights, sources, style),
    )


def weights_script(weights: Sequence[WeightRows], sources: Sequence[DataSource], style: Style) -> str:
    """Return a Python script that fits the same stacks and writes the same bytes."""
    sets = "".join(
        f"    (\n        {source!r},\n        {rows.fingerprint!r},\n        {rows.parameters!r},\n"
        f"        {rows.pixels!r},\n    ),\n"
        for rows, source in zip(weights, sources, strict=True)
    )
    return _SCRIPT.format(version=__version__, style=style, sets=sets)


def weights_commands(weights: Sequence[WeightRows], sources: Sequence[DataSource], style: Style) -> str:
    """Return the command lines that fit the same stacks and write the same figure: a fit each, then the figure."""
    lines, models = [], []
    figure: list[object] = ["weights"]
    for number, (rows, source) in enumerate(zip(weights, sources, strict=True), start=1):
        p, model = rows.parameters, f"model-{number}.npz"
        models.append(model)
        fit = ["slide-gui", "fit", source.argument, *fit_words(source, p)]
        fit += ["-o", model]
        lines.append(shlex.join(map(str, fit)))
    figure += models
    for rows in weights:
        figure += ["--pixels", *(_pixel_argument(rows, pixel) for pixel in rows.pixels)]
    figure += style_words(style) + ["--bias"] * style.bias
    return "".join(f"{line}\n" for line in lines) + all_forms("weights", figure)


def _pixel_argument(rows: WeightRows, pixel: int) -> str:
    if rows.image_shape is None:
        return str(pixel)
    y, x = divmod(pixel, rows.image_shape[1])
    return f"{y},{x}"
